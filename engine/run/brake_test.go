package run

import (
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

func TestAPulseIsSentEvery50MillisecondsAtMost(t *testing.T) {
	w := seated(t)
	w.deaf = true
	w.boot = w.s.Pace.Pulses.Sent
	for _, c := range []struct {
		after time.Duration
		sent  int
	}{{50*time.Millisecond - 1, 0}, {1, 1}, {time.Second, 0}} { // the last pulse is still on its way
		w.boot = w.boot.Add(c.after)
		w.do(&DatabaseChanged{})
		eq(w, c.after.String(), len(sent[SendPulse](w)), c.sent)
	}
}

func TestNobodyIsDialledWhileTheDiallerIsLate(t *testing.T) {
	for _, c := range []struct {
		what string
		late func(*world)
	}{
		{"commits", func(w *world) { w.proc.commit = time.Second }},
		{"connections", func(w *world) { w.proc.bot = 2 * time.Second }},
		{"messages", func(w *world) { w.s.Pace.Pulses.Took = time.Second }},
	} {
		w := seated(t)
		w.deaf = true
		w.s.Pace.Pulses.OnItsWay = false
		c.late(w)
		w.s.Queue.Push(w.row("c1"))
		w.do(&DatabaseChanged{})
		none[ReserveTrunks](w)
		live := granted[campaign.Detail](w, w.ask(&Detail{})).Live
		eq(w, "why", live.Constraint, engine.ConstraintOverload)
		if !strings.Contains(strings.ToLower(live.Explanation), c.what) {
			t.Errorf("%s: %s", c.what, live.Explanation)
		}
	}
}

func TestALateRunLooksAgainEvery50Milliseconds(t *testing.T) {
	w := seated(t)
	w.proc.commit = time.Second
	w.s.Queue.Push(w.row("c1"))
	before := len(w.alarms)
	for range 3 {
		w.do(&DatabaseChanged{})
		eq(w, "alarms", len(w.alarms), before+1)
	}
	w.pass(50 * time.Millisecond)
	eq(w, "alarms", len(w.alarms), before+1)
	w.goTo(w.now.Add(50*time.Millisecond - 1))
	w.do(&DatabaseChanged{})
	eq(w, "alarms", len(w.alarms), before+1)
	w.goTo(w.now.Add(1)) // the timer is due, but fires late
	w.do(&DatabaseChanged{})
	eq(w, "alarms", len(w.alarms), before+2)
	w.proc.commit = 0
	w.pass(50 * time.Millisecond)
	one[ReserveTrunks](w)
}

func TestTheBrakeIsToldUntilItHasLetGoFor3Seconds(t *testing.T) {
	w := seated(t, set(func(s *campaign.Settings) { s.Concurrency = 1 }))
	w.s.Queue.Push(w.row("c1"))
	w.s.Queue.Push(w.row("c2"))
	w.proc.commit = time.Second
	w.do(&DatabaseChanged{})
	w.goTo(w.now.Add(50 * time.Millisecond))
	w.proc.commit = 0
	w.do(&DatabaseChanged{})
	w.round()
	why := func(want engine.Constraint) {
		t.Helper()
		w.do(&DatabaseChanged{})
		eq(w, "why", granted[campaign.Detail](w, w.ask(&Detail{})).Live.Constraint, want)
	}
	why(engine.ConstraintOverload)
	w.goTo(w.now.Add(3 * time.Second))
	why(engine.ConstraintConcurrency)
	// A more telling constraint is shown even so.
	w.proc.commit = time.Second
	w.do(&DatabaseChanged{})
	w.proc.commit, w.proc.away = 0, true
	why(engine.ConstraintDatabase)
}

func TestTheRatesAreOfTheLast60Seconds(t *testing.T) {
	var r Rates
	show := func(at time.Duration) campaign.Live {
		var v campaign.Live
		r.Show(&v, t0.Add(at))
		return v
	}
	w := empty(t)
	eq(w, "idle", show(0).DialsPerSec == nil && show(0).LastDialAt == nil && show(0).AvgRingSeconds == nil, true)
	r.Dialled(t0.Add(-60 * time.Second))
	for range 6 {
		r.Dialled(t0)
	}
	r.Dialled(t0.Add(-time.Second))
	r.Served(t0)
	r.Note(&journal.Event{Type: journal.AttemptAnswered, At: t0, Data: journal.Data{RingMS: 2000}})
	r.Note(&journal.Event{Type: journal.AttemptEnded, At: t0, Data: journal.Data{RingMS: 4000}})
	r.Note(&journal.Event{Type: journal.AttemptEnded, At: t0, Data: journal.Data{RingMS: 9000, Answered: true}})
	r.Note(&journal.Event{Type: journal.AttemptEnded, At: t0})
	r.Note(&journal.Event{Type: journal.AttemptConnected, At: t0, Data: journal.Data{RingMS: 9000}})
	v := show(0)
	eq(w, "rates", []any{*v.DialsPerSec * 60, *v.ConnectedPerHour, *v.AvgRingSeconds, v.LastDialAt.Equal(t0)},
		"[7 60 3 true]")
	v = show(59 * time.Second)
	eq(w, "a minute later", *v.AvgRingSeconds, 3)
	eq(w, "dials", r.Dials(t0.Add(59*time.Second), time.Minute), 6)
	eq(w, "dials", r.Dials(t0.Add(60*time.Second), time.Minute), 0)
	eq(w, "dials", r.Dials(t0.Add(-time.Second), time.Minute), 2) // none of later
	eq(w, "rings", show(60*time.Second).AvgRingSeconds == nil, true)
	eq(w, "idle", []any{show(campaign.IdleAfter).DialsPerSec != nil, show(campaign.IdleAfter+1).DialsPerSec != nil},
		"[true false]")
	// Buckets are reused after five minutes.
	r.Dialled(t0.Add(300 * time.Second))
	eq(w, "dials", r.Dials(t0.Add(300*time.Second), 5*time.Minute), 1)
	r.Dialled(t0.Add(299 * time.Second))
	eq(w, "the newest", r.LastDial(), t0.Add(300*time.Second))
}

func TestRatesAreOverTheTimeThatHasPassedSinceDiallingBegan(t *testing.T) {
	var r Rates
	w := empty(t)
	begin := t0
	for range 2 { // the second time after an idle period of more than a minute
		for i := range 7 {
			r.Dialled(begin.Add(time.Duration(i) * 200 * time.Millisecond))
		}
		r.Served(begin.Add(time.Second))
		var v campaign.Live
		r.Show(&v, begin.Add(1400*time.Millisecond))
		eq(w, "dials a second", *v.DialsPerSec, 5)
		eq(w, "connected an hour", int(*v.ConnectedPerHour), 2571)
		begin = begin.Add(2 * time.Minute)
	}
}

func TestTheTimeThatIsLeftIsEstimatedByTheRateOfTheLast5Minutes(t *testing.T) {
	w := dialling(t, 1)
	w.s.Tally.C.Passes = []campaign.Pass{{Number: 1, Waiting: 600, Consumed: 10}}
	f := func(what string, change func(), want bool) *float64 {
		t.Helper()
		w.s.now, w.s.proc = w.now, w.proc
		if change != nil {
			change()
		}
		eta := w.s.eta()
		eq(w, what, eta != nil, want)
		return eta
	}
	f("nobody was dialled", nil, false)
	for i := range 290 {
		w.s.Rates.Dialled(w.now.Add(-time.Duration(i) * time.Second))
	}
	slow := f("dialling", nil, true)
	eq(w, "600 dials at 290 in 5 minutes", *slow, 660)
	since := w.now.Add(-time.Minute)
	fast := f("dialling for a minute", func() { w.s.M.C.RunningSince = &since }, true)
	if *fast >= *slow {
		t.Errorf("%v s with a faster rate, %v s with a slower", *fast, *slow)
	}
	f("always on", func() { w.s.M.C.Settings.AlwaysOn = true }, false)
	w.s.M.C.Settings.AlwaysOn = false
	f("not running", func() { w.s.M.C.RunningSince = nil }, false)
	w.s.M.C.RunningSince = &since
	f("paused", func() { w.s.M.C.State = campaign.Paused }, false)
	w.s.M.C.State = campaign.Running
	// Nobody is due before tomorrow, so the estimate is at least that long.
	next := w.now.Add(20 * time.Hour)
	w.s.NextDue = &next
	now := f("a line is up", nil, true)
	w.s.dropLine(w.s.Lines["c1"])
	then := f("nobody is due before tomorrow", nil, true)
	if *then < (20*time.Hour).Seconds() || *now >= *then {
		t.Errorf("%v s, with a line up %v s", *then, *now)
	}
}
