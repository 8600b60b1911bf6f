package truth

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/draw"
)

// TestADeadCarrierIsNamed checks that an outage is shown as such, and takes precedence over
// waiting.
func TestADeadCarrierIsNamed(t *testing.T) {
	t.Parallel()
	w := open(t, 10, 1)
	n := number(30, 1)
	w.knows(t, n, busy())
	id := w.run(
		t,
		map[string]any{
			"always_on":       true,
			"max_attempts":    50,
			"retry_delay_s":   2,
			"retry_on_system": []string{"busy", "trunk_error"},
		},
		n,
	)
	w.settled(t, n, 1, 15*second)
	w.mu.Lock()
	w.people.Dead = true
	err := w.carrier.Configure(w.people)
	w.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	// OPTIONS are sent every five seconds and time out after 64·T1.
	died := time.Now()
	w.until(t, 60*second, "the carrier's death is noticed", func() bool {
		return text(w.state(t, id), "live", "constraint") == "trunk_health"
	})
	t.Logf("noticed after %v", time.Since(died).Round(second))
	w.stays(t, 10*second, "the campaign is stopped by its trunk", func() bool {
		c := w.state(t, id)
		return text(c, "live", "indicator") == "stopped" && text(c, "live", "constraint") == "trunk_health"
	})
}

// TestFailingBotsKeepTheAbandonCap checks that after each answer, no more than the cap of the calls
// served or abandoned so far were abandoned, whatever share of the sockets is refused or late: near
// the cap a line is only dialled once its bot's socket is open (ADR 47). A machine busy with other
// tests connects late by itself.
func TestFailingBotsKeepTheAbandonCap(t *testing.T) {
	t.Parallel()
	if os.Getenv("TRUTH_LONG") == "" {
		t.Skip("it dials for twenty minutes; TRUTH_LONG=1 asks for it")
	}
	late := func(share float64) bot.Door { return bot.Door{SlowShare: share, Slow: draw.Exactly(4 * second)} }
	rows := []failing{{seats: 20, most: 0.03, door: bot.Door{RefuseShare: 0.2, SlowShare: 0.3, Slow: late(0).Slow}}}
	caps := []float64{0.01, 0.03, 0.05}
	for i, share := range []float64{0.05, 0.25, 0.5, 0.9} {
		for k, f := range []failing{{door: bot.Door{RefuseShare: share}}, {door: late(share)}, {dies: share}} {
			for _, f.most = range caps {
				f.seats = 20
				rows = append(rows, f)
			}
			f.seats, f.most = 200, caps[(i+k)%len(caps)]
			rows = append(rows, f)
		}
	}
	for _, f := range rows {
		t.Run(f.String(), func(t *testing.T) {
			if f.seats < 100 { // the others need the machine to themselves
				t.Parallel()
			}
			f.keepsTheCap(t)
		})
	}
}

// TestABotThatIsBackIsDialledForInFullWithinAMinute checks the recovery after a minute in which
// nine of ten sockets were refused, or late.
func TestABotThatIsBackIsDialledForInFullWithinAMinute(t *testing.T) {
	t.Parallel()
	if os.Getenv("TRUTH_LONG") == "" {
		t.Skip("it dials for two minutes; TRUTH_LONG=1 asks for it")
	}
	for i, door := range []bot.Door{{RefuseShare: 0.9}, {SlowShare: 0.9, Slow: draw.Exactly(4 * second)}} {
		t.Run([]string{"refused", "late"}[i], func(t *testing.T) {
			t.Parallel()
			recovers(t, door)
		})
	}
}

func recovers(t *testing.T, fails bot.Door) {
	const seats = 20
	w := open(t, seats, 1)
	door := func(d bot.Door) {
		t.Helper()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.people.Profile = []carrier.Behaviour{{Kind: carrier.Human, Ring: draw.Between(second/2, 2*second)}}
		w.voices.Door = d
		w.voices.Conversations = []bot.Conversation{{Talk: draw.Between(5*second, 10*second), Mute: true}}
		if err := cmp.Or(w.carrier.Configure(w.people), w.bot.Configure(w.voices)); err != nil {
			t.Fatal(err)
		}
	}
	door(fails)
	people := make([]string, 2000)
	for i := range people {
		people[i] = number(32, i)
	}
	id := w.run(t, map[string]any{"concurrency": seats, "abandon_cap_pct": 3}, people...)
	engaged := func() (n float64) {
		live, _ := w.state(t, id)["live"].(map[string]any)
		for _, of := range []string{"dialling", "ringing", "waiting", "in_progress"} {
			n += live[of].(float64)
		}
		return n
	}
	most, failing := 0.0, time.Now()
	w.until(t, 70*second, "a minute is over", func() bool {
		most = max(most, engaged())
		return time.Since(failing) > 60*second
	})
	door(bot.Door{})
	back := time.Now()
	w.until(t, 60*second, "each seat has a line or a conversation", func() bool { return engaged() >= seats })
	t.Logf("%.0f lines and conversations at most before, %d after %v", most, seats, time.Since(back).Round(second/10))
	if most >= seats && fails.RefuseShare > 0 {
		t.Error("the bot that refused was dialled for in full")
	}
}

// failing is a bot that fails, with the cap that must hold.
type failing struct {
	seats int
	most  float64 // share of live answers that may be abandoned
	door  bot.Door
	dies  float64 // share of conversations that die half a second after their start
}

func (f *failing) String() string {
	return fmt.Sprintf("%d seats, cap %.0f %%, %.0f %% refused, %.0f %% late, %.0f %% dying", f.seats, 100*f.most,
		100*f.door.RefuseShare, 100*f.door.SlowShare, 100*f.dies)
}

func (f *failing) keepsTheCap(t *testing.T) {
	w := open(t, f.seats, 1)
	w.mu.Lock()
	w.people.Profile = []carrier.Behaviour{{Kind: carrier.Human, Ring: draw.Between(second/2, 2*second)}}
	w.voices.Door = f.door
	w.voices.Conversations = []bot.Conversation{
		{Weight: 1 - f.dies, Talk: draw.Between(second, 4*second), Mute: true},
		{Weight: f.dies, Die: draw.Exactly(second / 2), Mute: true},
	}
	err := cmp.Or(w.carrier.Configure(w.people), w.bot.Configure(w.voices))
	w.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	people := make([]string, 20*f.seats)
	for i := range people {
		people[i] = number(31, i)
	}
	id := w.run(t, map[string]any{"concurrency": f.seats, "abandon_cap_pct": 100 * f.most}, people...)
	until := time.Now().Add(60 * second)
	w.until(t, 70*second, "a minute is over, or all were called", func() bool {
		return time.Now().After(until) || text(w.state(t, id), "status") == "completed"
	})
	if text(w.state(t, id), "status") != "completed" {
		w.must(t, http.MethodPost, "/campaigns/"+id+"/stop", nil)
	}
	w.completed(t, id, patience)

	type answer struct {
		at, cause string
	}
	var answers []answer
	for cursor, more := "", true; more; {
		page := w.must(t, http.MethodGet, "/calls?campaign_id="+id+cursor, nil)
		list, _ := page["calls"].([]any)
		for _, x := range list {
			row, _ := x.(map[string]any)
			switch {
			case text(row, "outcome") == "abandoned":
				answers = append(answers, answer{text(row, "ended_at"), text(row, "abandon_cause")})
			case text(row, "connected_at") != "":
				answers = append(answers, answer{text(row, "connected_at"), ""})
			}
		}
		more = text(page, "next_cursor") != ""
		cursor = "&cursor=" + text(page, "next_cursor")
	}
	slices.SortFunc(answers, func(a, b answer) int { return cmp.Compare(a.at, b.at) })
	live, abandoned := 0, 0
	for _, a := range answers {
		live++
		if a.cause != "" {
			abandoned++
		}
		if float64(abandoned) > f.most*float64(live) {
			t.Errorf("%d abandoned of %d live answers at %s, the last for %s", abandoned, live, a.at, a.cause)
			break
		}
	}
	t.Logf("%d live answers, %d abandoned; the bot was asked %d times", len(answers), abandoned, len(w.bot.Sessions()))
	if len(answers) == 0 {
		t.Error("nobody was served")
	}
}
