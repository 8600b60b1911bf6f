package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/callee"
	"dialler/engine/campaign"
	"dialler/engine/pacing"
	"dialler/engine/redial"
)

// failingBots draws a campaign whose bot fails: it refuses, is 4 s late, dies in conversation,
// loses waiting sockets, flaps, recovers, at 5 to 90 %.
func failingBots(seed uint64) Installation {
	d := &dice{c: callee.ChanceOf(callee.Mix(seed^0xb07), 1)}
	in := plain(pick(d, 300, 600))
	s := &in.Campaigns[0].Settings
	s.PacingMode = pick(
		d,
		campaign.PacingStrict,
		campaign.PacingStrict,
		campaign.PacingStrict,
		campaign.PacingProgressive,
	)
	s.AbandonCapPPM = pick(d, 10_000, 30_000, 50_000)
	s.Concurrency = pick(d, 20, 20, 20, 200)
	if s.Concurrency == 200 {
		in.Campaigns[0].Contacts = 1500
	}
	s.AMD = pick(d, engine.AMDParallel, engine.AMDOff, engine.AMDSequential)
	s.MaxAttempts = d.in(1, 2)
	s.RetryOnSystem = redial.DefaultOnSystem()
	in.People = callee.Standard()
	in.People.Answer = callee.Always(pick(d, 0.3, 0.6, 0.95))
	in.Length = 5 * time.Hour
	share := pick(d, 0.01, 0.05, 0.25, 0.5, 0.9)
	b := &in.Bot
	kinds := pick(d, []*float64{&b.Fails}, []*float64{&b.Late}, []*float64{&b.Dies}, []*float64{&b.Falls},
		[]*float64{&b.Fails, &b.Late}, []*float64{&b.Fails, &b.Late, &b.Dies, &b.Falls})
	for _, kind := range kinds {
		*kind = share
		if share > 0.5 { // of all tries
			*kind = share / float64(len(kinds))
		}
	}
	if d.chance(0.3) { // it flaps
		at := d.span(time.Minute, time.Hour)
		for range d.in(1, 20) {
			length := d.span(time.Second, 2*time.Minute)
			in.Faults = append(in.Faults, Fault{Kind: FaultBot, At: at, Length: length})
			at += length + d.span(time.Second, 3*time.Minute)
		}
	}
	if d.chance(0.2) {
		in.Faults = append(
			in.Faults,
			Fault{Kind: FaultSeats, At: d.span(time.Minute, time.Hour), Length: 10 * time.Minute,
				Value: d.in(0, s.Concurrency)},
		)
	}
	return in
}

// SEMANTICS §6: "What the guarantee does not cover is what a crash of a process or node, or
// the loss of every bot of the campaign at once, takes from lines already ringing." The
// checker holds the cap after every event.
func TestStrictHoldsTheCapWhateverTheBotMisses(t *testing.T) {
	for i := range uint64(*campaigns) { //nolint:gosec // a count
		seed := *seedFrom + i
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			if res := RunCampaigns(failingBots(seed), seed); res.Broken != nil {
				t.Error(res.Broken)
			}
		})
	}
}

// Half of the answers are missed, refused or late, and people are still served.
func TestABotThatMissesHalfOfItsAnswersServesPeopleAndAbandonsFew(t *testing.T) {
	for _, c := range []struct {
		name string
		bot  callee.Bot
	}{{"refused", callee.Bot{Fails: 0.5}}, {"late", callee.Bot{Late: 0.5}}, {"both", callee.Bot{Fails: 0.2, Late: 0.3}},
		{"lost", callee.Bot{Falls: 0.5}}} {
		for _, mode := range []string{campaign.PacingStrict, campaign.PacingHybrid} {
			in := plain(1500)
			in.People = callee.Standard()
			in.People.Answer = callee.Always(0.6)
			in.Bot, in.Length = c.bot, 3*time.Hour
			in.Campaigns[0].Settings.Concurrency, in.Campaigns[0].Settings.PacingMode = 20, mode
			r := played(t, in, 1).result().Campaigns[0]
			if r.State != campaign.Completed || r.Counts.Live < 500 ||
				mode == campaign.PacingStrict && !r.Counts.Within(30_000, 0) {
				t.Errorf(
					"%s, %s: %s, %+v, seats busy %.2f, %s",
					c.name,
					mode,
					r.State,
					r.Counts,
					r.Utilisation(),
					r.Ended,
				)
			}
			t.Logf("%s, %s: %+v, seats busy %.2f, %s", c.name, mode, r.Counts, r.Utilisation(), r.Ended)
		}
	}
}

// "After the bot's recovery full speed within 60 s."
func TestABotThatIsBackIsDialledForInFullWithinAMinute(t *testing.T) {
	for _, c := range []struct {
		name string
		bot  callee.Bot
	}{{"gone", callee.Bot{}}, {"refused", callee.Bot{Fails: 0.9}}, {"late", callee.Bot{Late: 0.9}}} {
		in := plain(6000)
		in.People = callee.Standard()
		in.People.Answer = callee.Always(0.6)
		in.Bot, in.Length = c.bot, 30*time.Minute
		in.Campaigns[0].Settings.Concurrency = 20
		if c.name == "gone" {
			in.Faults = []Fault{{Kind: FaultBot, At: 5 * time.Minute, Length: 15 * time.Minute}}
		}
		busy := 0
		w := played(
			t,
			in,
			1,
			at(
				20*time.Minute,
				func(w *campaignWorld) { w.in.Bot = in.WithDefaults().Bot; w.in.Bot.Fails, w.in.Bot.Late = 0, 0 },
			),
			at(21*time.Minute, func(w *campaignWorld) {
				s := w.runner(w.campaigns[0]).state
				busy = s.Busy + s.Phases[0] + s.Phases[1]
			}),
		)
		p := w.runner(w.campaigns[0]).state.Pace.Proof
		if busy < 20 || p != (pacing.Proof{}) {
			t.Errorf("%s: %d lines and conversations a minute after it is back, 20 seats; %+v", c.name, busy, p)
		}
	}
}

// Healthy bots are not held back: a socket is opened ahead of each call while the ledger is empty,
// none once it covers every line.
func TestAHealthyBotsSocketsAreOpenedAheadOnlyWhileTheLedgerIsThin(t *testing.T) {
	in := plain(4000)
	in.People = callee.Standard()
	in.People.Answer = callee.Always(0.6)
	in.Campaigns[0].Settings.Concurrency = 5
	in.Length = 8 * time.Hour
	var opened []uint64
	var look []func(*campaignWorld)
	for hour := range 8 {
		look = append(
			look,
			at(
				time.Duration(hour)*time.Hour+time.Minute,
				func(w *campaignWorld) { opened = append(opened, w.socketsOpened) },
			),
		)
	}
	w := played(t, in, 1, look...)
	r := w.result().Campaigns[0]
	if n := len(opened); opened[0] == 0 || opened[n-1]-opened[n-2] > 20 || !slices.IsSorted(opened) ||
		w.socketsOpened > uint64(r.Counts.Live) {
		t.Errorf("sockets opened ahead by hour %v, of %d answers", opened, r.Counts.Live)
	}
}
