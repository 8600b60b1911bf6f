package process

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/persistence/storetest"
	"dialler/sipstack"
)

var whyFor = flag.Duration("why", 4*time.Second,
	"how long what the dialler says of itself is judged in each of eight situations; 38s are five minutes in all")

// situation is a state of a campaign, and what it should say about it.
type situation struct {
	name      string
	settings  map[string]any
	campaigns int // 0: one
	contacts  int // of each
	callee    carrier.Behaviour
	talk      time.Duration // until the bot hangs up, 0 means never
	trunk     map[string]any
	seats     int
	timers    sipstack.Timers
	// begins causes it once calls are made; nil means it comes by itself.
	begins func(*looking)
	// holds says whether carrier and bot show it.
	holds func(*looking, *outside) bool
	grace time.Duration // delay until it is shown; 0 means the 10 s covered, plus 3 s
	want  []engine.Constraint
	// check examines what is shown more closely.
	check func(*looking, *campaign.Live, *outside)
}

// looking is a situation under observation.
type looking struct {
	*world
	s     *situation
	model *carrier.Carrier
	ids   []engine.CampaignID
	of    []map[engine.PhoneNumber]bool
	j     *whyJudge
	mu    sync.Mutex
	late  [][2]time.Time // when commits were late, as seen on the way to the database
	slow  *storetest.Faults
	blind bool // the carrier cannot be asked
}

func talks(ring time.Duration) carrier.Behaviour {
	return carrier.Behaviour{Kind: carrier.Human, Ring: draw.Exactly(ring)}
}

func situations() []situation {
	held := func(l *looking, n int) bool {
		sessions := 0
		for _, s := range l.bot.Sessions() {
			if s.EndedAt.IsZero() {
				sessions++
			}
		}
		return sessions == n
	}
	return []situation{
		{name: "all talk", settings: map[string]any{"concurrency": 5, "abandon_cap_pct": 3}, contacts: 60,
			callee: talks(300 * time.Millisecond),
			holds:  func(l *looking, _ *outside) bool { return held(l, 5) },
			want:   []engine.Constraint{engine.ConstraintConcurrency},
			check: func(l *looking, v *campaign.Live, _ *outside) {
				if v.Explanation != "Concurrency is 5: 5 workers are in calls, 0 lines are dialled." ||
					v.Standing != campaign.StandingDialling {
					l.j.fail("the sentence is wrong", "%+v", v.Why)
				}
			}},
		{
			name:      "26 campaigns share 24 seats",
			settings:  map[string]any{"concurrency": 4, "abandon_cap_pct": 3},
			campaigns: 26,
			contacts:  6,
			callee:    talks(300 * time.Millisecond),
			seats:     24,
			holds:     func(l *looking, _ *outside) bool { return held(l, 24) },
			want:      []engine.Constraint{engine.ConstraintSeats},
			check: func(l *looking, v *campaign.Live, _ *outside) {
				want := fmt.Sprintf(
					"The bot has 24 seats for all campaigns; this one may use %d of its concurrency of 4 now:",
					v.Seats,
				)
				if v.Constraint == engine.ConstraintSeats && !strings.HasPrefix(v.Explanation, want) {
					l.j.fail("the sentence is wrong", "%+v", v.Why)
				}
			},
		},
		{
			name: "the last attempts ring",
			settings: map[string]any{"concurrency": 6, "max_attempts": 1, "ring_timeout_s": 120,
				"abandon_cap_pct": 3},
			contacts: 4,
			callee:   carrier.Behaviour{Kind: carrier.NoAnswer},
			holds:    func(_ *looking, o *outside) bool { return o.ringing == 4 },
			want:     []engine.Constraint{engine.ConstraintNoDueContacts},
			check: func(l *looking, v *campaign.Live, o *outside) {
				want := fmt.Sprintf("%d lines are dialled, 0 conversations go on", o.ringing)
				if v.Explanation != want+"; the run ends with them." || v.Line != "Ending: "+want ||
					v.Standing != campaign.StandingEnding {
					l.j.fail("the sentence is wrong", "%+v", v.Why)
				}
			},
		},
		{
			name:     "retries wait",
			settings: map[string]any{"concurrency": 5, "retry_delay_s": 600, "retry_on_system": []string{"busy"}},
			contacts: 9,
			callee:   carrier.Busy(),
			holds:    func(_ *looking, o *outside) bool { return len(o.ends) == 9 },
			want:     []engine.Constraint{engine.ConstraintRetryDelay},
			check: func(l *looking, v *campaign.Live, o *outside) {
				first := o.ends[0]
				for _, at := range o.ends {
					if at.Before(first) {
						first = at
					}
				}
				if v.Standing != campaign.StandingWaiting || v.Until == nil ||
					v.Until.Sub(first.Add(600*time.Second)).Abs() > 2*time.Second ||
					v.Explanation != "9 contacts wait for the next attempt; no call is under way." {
					l.j.fail(
						"the sentence is wrong",
						"%+v, until %v; the first call ended at %v",
						v.Why,
						v.Until,
						first,
					)
				}
			},
		},
		{
			name:     "calls a second are used up",
			settings: map[string]any{"concurrency": 50, "max_attempts": 1},
			contacts: 900,
			seats:    60,
			callee:   carrier.Busy(),
			trunk:    map[string]any{"cps_cap": 8},
			holds:    func(_ *looking, o *outside) bool { return o.dials(o.at, 3*time.Second) >= 20 },
			want:     []engine.Constraint{engine.ConstraintTrunkCPS},
			check: func(l *looking, v *campaign.Live, o *outside) {
				if seen := float64(o.dials(o.at, 9*time.Second)) / 9; seen < 0.9*8 ||
					v.Resources[1].Used < 0.9*v.Resources[1].Of {
					l.j.fail("there are calls a second left", "the carrier saw %.2f of 8, %s", seen, v.Explanation)
				}
			},
		},
		{
			name:     "the carrier is dead",
			settings: map[string]any{"concurrency": 5},
			contacts: 200,
			callee:   talks(200 * time.Millisecond),
			talk:     700 * time.Millisecond,
			timers:   sipstack.Timers{T1: 30 * time.Millisecond},
			// Ringing lines may ring for 15 s; the next ones show that nothing answers.
			begins: func(l *looking) { _ = l.model.Close(); l.blind = true },
			grace:  27 * time.Second,
			holds:  func(_ *looking, o *outside) bool { return len(o.invites) >= 10 },
			want:   []engine.Constraint{engine.ConstraintTrunkHealth},
			check: func(l *looking, v *campaign.Live, _ *outside) {
				if v.Standing != campaign.StandingStopped || v.Line != "Stopped: no trunk is usable" {
					l.j.fail("the sentence is wrong", "%+v", v.Why)
				}
			},
		},
		{
			name:     "the bot is dead",
			settings: map[string]any{"concurrency": 5},
			contacts: 200,
			callee:   talks(200 * time.Millisecond),
			talk:     700 * time.Millisecond,
			begins:   func(l *looking) { _ = l.bot.Close() },
			grace:    15 * time.Second,
			holds:    func(_ *looking, o *outside) bool { return len(o.invites) >= 10 },
			want:     []engine.Constraint{engine.ConstraintSeats},
			check: func(l *looking, v *campaign.Live, _ *outside) {
				if v.Standing != campaign.StandingStopped || v.Line != "Stopped: the bot takes no calls" {
					l.j.fail("the sentence is wrong", "%+v", v.Why)
				}
			},
		},
		{
			name:     "the database is slow",
			settings: map[string]any{"concurrency": 5},
			contacts: 400,
			callee:   talks(200 * time.Millisecond),
			talk:     300 * time.Millisecond,
			begins:   (*looking).slowDown,
			holds:    func(_ *looking, o *outside) bool { return len(o.invites) >= 10 },
			want:     []engine.Constraint{engine.ConstraintOverload},
		},
	}
}

const slowCommit = 1200 * time.Millisecond

// slowed says that commits were late.
func (l *looking) slowed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.late) > 0
}

// slowDown makes every commit take more than a second from now on.
func (l *looking) slowDown() {
	l.slow.Slow("commit", func() {
		at := time.Now()
		time.Sleep(slowCommit) // this is the fault itself; the test does not wait for it
		l.mu.Lock()
		defer l.mu.Unlock()
		l.late = append(l.late, [2]time.Time{at, time.Now()})
	})
}

// Every sample of what the dialler says of itself agrees with carrier, bot and settings; nothing
// shown changes within 3 s; and every figure that appears twice is the same.
func TestTheReasonIsRightInEverySample(t *testing.T) {
	t.Parallel()
	for _, s := range situations() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			lookAt(t, &s)
		})
	}
}

func lookAt(t *testing.T, s *situation) {
	l := &looking{s: s, j: &whyJudge{}, slow: &storetest.Faults{}}
	l.world = newWorld(t, tuning{timers: s.timers, toDatabase: l.slow.Dial}, s.talk)
	if s.talk == 0 {
		l.silently(0) // nobody hangs up
	}
	l.model = l.carrier(carrier.Config{Profile: []carrier.Behaviour{s.callee}})
	host, port, err := splitHostPort(l.model.Addr())
	if err != nil {
		t.Fatal(err)
	}
	l.trunk("model", host, port, s.trunk)
	if s.seats > 0 {
		l.operator("PUT", "/api/v1/bots/"+ourBot, map[string]any{"name": "Anna", "seats": s.seats,
			"endpoints":  []string{l.bot.URL()},
			"auth_token": ourToken, "account": ourAccount}).
			expect(200)
	}
	for range max(s.campaigns, 1) {
		settings := map[string]any{"stop_ends_calls": true}
		for k, v := range s.settings {
			settings[k] = v
		}
		id := l.campaign(settings)
		numbers, of := make([]string, s.contacts), map[engine.PhoneNumber]bool{}
		for i := range numbers {
			numbers[i] = newNumber()
			of[engine.PhoneNumber(numbers[i])] = true
		}
		l.addTo(id, numbers...).expect(200)
		l.ids, l.of = append(l.ids, id), append(l.of, of)
	}
	streamed := l.stream(l.ids[0])
	for _, id := range l.ids {
		l.act(id, "start").expect(200)
	}
	l.watch()
	l.j.samples += streamed()
	for rule, n := range l.j.fails {
		t.Errorf("%s: %d times in %d samples, the first: %s", rule, n, l.j.samples, l.j.first[rule])
	}
	t.Logf("%d samples", l.j.samples)
	for _, id := range l.ids {
		l.act(id, "stop").expect(200)
	}
}

// stream judges what a console is shown meanwhile, each picture by itself.
func (l *looking) stream(id engine.CampaignID) (end func() (pictures int)) {
	b := l.browser("vera@example.org", "viewer")
	s := b.follow("/api/v1/campaigns/"+string(id)+"/live", "")
	return func() int {
		var j whyJudge
		for len(s.events) > 0 {
			if !s.next() {
				break
			}
			raw, err := json.Marshal(s.has)
			if err != nil {
				l.t.Fatal(err)
			}
			var d detail
			if err := json.Unmarshal(raw, &d); err != nil {
				l.t.Fatal(err)
			}
			j.record(&d, false)
		}
		if j.samples == 0 {
			l.t.Error("the stream showed nothing")
		}
		for rule, n := range j.fails {
			l.t.Errorf("streamed: %s: %d times, the first: %s", rule, n, j.first[rule])
		}
		return j.samples
	}
}

// watch samples four times a second: until the situation has lasted long enough, by external
// evidence, and then for as long as requested.
func (l *looking) watch() {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	grace := l.s.grace
	if grace == 0 {
		grace = 13500 * time.Millisecond
	}
	var held, end time.Time
	begun := false
	deadline := time.Now().Add(2 * time.Minute)
	judges := make([]*whyJudge, len(l.ids)) // what each shows must be steady
	for i := range judges {
		judges[i] = &whyJudge{}
	}
	for {
		now := <-tick.C
		before := see(l.world, l.model, l.of[0])
		if held.IsZero() && l.s.holds(l, &before) {
			held = now
			if l.s.begins != nil && !begun {
				l.s.begins(l)
				begun = true
			}
		}
		judged := !held.IsZero() && now.Sub(held) >= grace
		if judged && end.IsZero() {
			end = now.Add(*whyFor)
		}
		if !end.IsZero() && now.After(end) {
			break
		}
		if now.After(deadline) {
			l.t.Fatalf(
				"it did not come about: %d ringing, %d answered, %d sessions, %d dials",
				before.ringing,
				before.answered,
				before.sessions,
				len(before.invites),
			)
		}
		d := l.detail(l.ids[0])
		after := see(l.world, l.model, l.of[0])
		l.j.record(&d, false)
		if d.Live == nil || d.Status != "running" {
			continue
		}
		if !l.blind {
			l.j.facts(d.Live, &before, &after)
		}
		l.agree(&d)
		if len(l.ids) == 1 {
			judges[0].steady(d.Live, now)
			l.judged(judged, d.Live, &after)
			continue
		}
		for i, d := range l.list() {
			l.j.record(d, true)
			judges[i].steady(d.Live, now)
			l.judged(judged, d.Live, &after)
		}
	}
	for _, j := range judges {
		for rule, n := range j.fails {
			l.t.Errorf("%s: %d times, the first: %s", rule, n, j.first[rule])
		}
	}
}

func (l *looking) judged(judged bool, v *campaign.Live, o *outside) {
	if !judged || v == nil {
		return
	}
	if l.s.name == "the database is slow" && l.lateShare(o.at) < 0.3 {
		return // too brief to be what holds the campaign back
	}
	want := l.s.want
	if c := l.s.settings["concurrency"]; len(l.ids) > 1 &&
		v.InProgress == c { // it was there first, and has everything it may have
		want = []engine.Constraint{engine.ConstraintConcurrency}
	}
	l.j.expects(v, want...)
	if l.s.check != nil {
		l.s.check(l, v, o)
	}
}

// lateShare is the fraction of the last 10 s during which a commit had been pending for too long.
func (l *looking) lateShare(now time.Time) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	late := 0
	for step := range 100 {
		at := now.Add(-time.Duration(step) * 100 * time.Millisecond)
		for _, c := range l.late {
			if at.Sub(c[0]) > 500*time.Millisecond && at.Before(c[1]) {
				late++
				break
			}
		}
	}
	return float64(late) / 100
}

// list returns the list of campaigns, in order of creation.
func (l *looking) list() []*detail {
	l.t.Helper()
	var page struct {
		Campaigns []struct {
			ID engine.CampaignID `json:"campaign_id"`
			detail
		}
	}
	l.operator("GET", "/api/v1/campaigns?page_size=50", nil).expect(200).into(&page)
	out := make([]*detail, len(l.ids))
	for i := range page.Campaigns {
		for k, id := range l.ids {
			if page.Campaigns[i].ID == id {
				out[k] = &page.Campaigns[i].detail
			}
		}
	}
	return out
}

// agree checks that list and capacity show what the campaign shows. Something may happen between
// two requests, but not every time.
func (l *looking) agree(d *detail) {
	l.t.Helper()
	id := l.ids[0]
	var differ string
	for range 8 {
		var capacity struct {
			Constraint engine.Constraint
			Resources  []campaign.Resource
		}
		listed := l.list()[0]
		l.operator("GET", "/api/v1/campaigns/"+string(id)+"/capacity", nil).expect(200).into(&capacity)
		next := l.detail(id)
		if listed == nil || listed.Live == nil || next.Live == nil {
			return
		}
		one, third := shownFigures(d, d.Live.Resources), shownFigures(d, capacity.Resources)
		other := shownFigures(listed, d.Live.Resources) // a list has none
		if shownFigures(&next, next.Live.Resources) == one && other == one && third == one {
			if capacity.Constraint == d.Live.Constraint && listed.Live.Constraint == d.Live.Constraint &&
				listed.Live.Title == d.Live.Title {
				return
			}
		}
		differ = one + "\n" + other + "\n" + third
		*d = next
	}
	quiet := settles
	if l.slowed() {
		quiet += 2 * slowCommit // the figures change once the events are durable
	}
	if before := see(l.world, l.model, l.of[0]); before.at.Sub(before.last) > quiet {
		l.j.fail("list, capacity and campaign differ", "%s", differ)
	}
}

// shownFigures returns the figures of a picture that change only with events.
func shownFigures(d *detail, resources []campaign.Resource) string {
	c, v := d.Counters, d.Live
	c.TalkSeconds = 0
	text := fmt.Sprintf(
		"%d %d %d %d %d %d %d %d %d %d %v",
		c.Total,
		c.Pending,
		c.Connected,
		c.Completed,
		c.Unanswered,
		c.Failed,
		c.RetriesLeft,
		c.Abandoned,
		c.Attempts,
		c.Answered,
		c.States,
	)
	text += fmt.Sprintf("; %d %d %d %d %d of %d", v.Dialling, v.Ringing, v.Waiting, v.InProgress, v.FreeSeats, v.Seats)
	for _, r := range resources {
		text += fmt.Sprintf("; %s of %v %v %v", r.Resource, r.Of, r.Binding, r.Out)
		if r.Resource == campaign.ResourceSeats {
			text += fmt.Sprintf(" %v", r.Used)
		}
	}
	return text
}
