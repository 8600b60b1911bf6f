package process

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

// The judge of what a dialler says of itself. It knows the carrier's and the bot's side, and
// the settings; of the dialler it knows only what it says.

// outside is what carrier and bot see at one moment.
type outside struct {
	at                time.Time
	ringing, answered int
	sessions          int
	invites           []time.Time // all, in order
	last              time.Time   // time of the latest event
	ends              []time.Time // of the ended calls
}

// see reads the state of the calls to some numbers at the carrier and the bot.
func see(w *world, model *carrier.Carrier, of map[engine.PhoneNumber]bool) outside {
	o := outside{at: time.Now()}
	note := func(ts ...time.Time) {
		for _, t := range ts {
			if t.After(o.last) {
				o.last = t
			}
		}
	}
	for _, c := range model.Ledger().Calls() {
		if !of[c.Number] {
			continue
		}
		o.invites = append(o.invites, c.InviteAt)
		note(c.InviteAt, c.RingingAt, c.AnsweredAt, c.ByeAt, c.EndedAt)
		switch c.State {
		case carrier.StateTrying, carrier.StateRinging, carrier.StateSilent:
			o.ringing++
		case carrier.StateAnswered:
			o.answered++
		case carrier.StateEnded:
			o.ends = append(o.ends, c.EndedAt)
		}
	}
	for _, s := range w.bot.Sessions() {
		if !of[s.Number] {
			continue
		}
		note(s.OpenedAt, s.StartedAt, s.EndedAt)
		if s.EndedAt.IsZero() {
			o.sessions++
		}
	}
	slices.SortFunc(o.invites, time.Time.Compare)
	return o
}

// dials counts the INVITEs of a span that ends at a given time.
func (o *outside) dials(until time.Time, span time.Duration) (n int) {
	for _, at := range o.invites {
		if at.After(until.Add(-span)) && !at.After(until) {
			n++
		}
	}
	return n
}

// still says whether both readings are equal, with no event shortly before.
func still(before, after *outside) bool {
	return before.ringing == after.ringing && before.answered == after.answered && before.sessions == after.sessions &&
		before.at.Sub(before.last) > settles && before.last.Equal(after.last)
}

// settles is how long events on the wire may take to show in the figures.
const settles = 700 * time.Millisecond

// whyJudge judges the samples of one campaign.
type whyJudge struct {
	fails   map[string]int
	first   map[string]string
	samples int
	told    campaign.Why
	changed time.Time
}

func (j *whyJudge) fail(rule, format string, args ...any) {
	if j.fails == nil {
		j.fails, j.first = map[string]int{}, map[string]string{}
	}
	if j.fails[rule]++; j.fails[rule] == 1 {
		j.first[rule] = fmt.Sprintf(format, args...)
	}
}

// same requires two figures with the same meaning to be equal.
func (j *whyJudge) same(what string, a, b any) {
	if a != b {
		j.fail("two figures of one thing", "%s: %v and %v", what, a, b)
	}
}

// atOnce says whether a constraint is shown and removed without delay, as outages and decisions
// are.
func atOnce(c engine.Constraint) bool {
	switch c { //nolint:exhaustive // the others keep still for 3 s
	case engine.ConstraintPaused, engine.ConstraintWindow, engine.ConstraintDatabase, engine.ConstraintTrunkHealth,
		engine.ConstraintOverload:
		return true
	}
	return false
}

// record judges one picture by itself: every figure that it contains twice must be the same.
func (j *whyJudge) record(d *detail, listed bool) {
	l, c := d.Live, &d.Counters
	if l == nil || d.Status != "running" {
		return
	}
	j.samples++
	sum, done := 0, 0
	for s, n := range c.States {
		sum += n
		if s.Processed() {
			done += n
		}
	}
	j.same("contacts by state, total", sum, c.Total)
	if c.Progress != nil {
		j.same("progress", math.Round(*c.Progress*1e9), math.Round(float64(done)/float64(c.Total-c.Excluded)*1e9))
	}
	for i := range l.Ledgers {
		v := &l.Ledgers[i]
		if v.Period != "run" {
			continue
		}
		j.same("live answers, of the ledger", c.LiveAnswers, v.LiveAnswers)
		j.same("abandoned, of the ledger", c.Abandoned, v.Abandoned)
		j.same("capacity loss, of the ledger", c.CapacityLoss, v.CapacityLoss)
		j.same("abandon rate, of the ledger", rateOf(c.AbandonRate), rateOf(v.AbandonRate))
	}
	binding := 0
	for _, r := range l.Resources {
		if r.Resource == campaign.ResourceSeats {
			j.same("seats", r.Used, float64(max(l.Seats-l.FreeSeats, 0)))
			j.same("seats that may be used", r.Of, float64(l.Seats))
		}
		if r.Binding {
			binding++
			marks := map[engine.Constraint]string{
				engine.ConstraintSeats:         "seats",
				engine.ConstraintConcurrency:   "seats",
				engine.ConstraintTrunkCPS:      "trunk_cps",
				engine.ConstraintTrunkChannels: "trunk_channels",
				engine.ConstraintTrunkHealth:   "trunk_channels",
				engine.ConstraintNumberPool:    "numbers",
			}
			j.same("what is marked", r.Resource, marks[l.Constraint])
		}
	}
	if binding > 1 {
		j.fail("two are marked", "%+v", l.Resources)
	}
	if len(l.Resources) != 4 && !listed {
		j.fail("figures are missing", "%+v", l.Resources)
	}
	if l.Seats-l.FreeSeats < l.InProgress {
		j.fail("two figures of one thing", "%d in progress, %d of %d seats free", l.InProgress, l.FreeSeats, l.Seats)
	}
	j.words(d)
}

func rateOf(p *float64) float64 {
	if p == nil {
		return -1
	}
	return *p
}

// words checks that texts agree with the figures beside them.
func (j *whyJudge) words(d *detail) {
	l := d.Live
	var a, b, n int
	switch {
	case l.Title == "" || l.Line == "" || l.Explanation == "":
		j.fail("no words", "%+v", l.Why)
	case l.Constraint == engine.ConstraintConcurrency && strings.HasPrefix(l.Explanation, "Concurrency is"):
		if k, _ := fmt.Sscanf(l.Explanation, "Concurrency is %d: %d workers are in calls, %d line", &n, &a, &b); k == 3 {
			j.same("workers in calls, in words", a, l.Seats-l.FreeSeats)
			j.same("lines that ring, in words", b, l.Ringing+l.Dialling+l.Waiting)
		}
	case l.Constraint == engine.ConstraintTrunkCPS && len(l.Resources) > 1:
		var used, of float64
		if k, _ := fmt.Sscanf(l.Explanation, "%f of %f calls", &used, &of); k == 2 {
			r := l.Resources[1]
			j.same("calls a second, in words", [2]string{fmt.Sprintf("%.1f", used), fmt.Sprintf("%.1f", of)},
				[2]string{fmt.Sprintf("%.1f", r.Used), fmt.Sprintf("%.1f", r.Of)})
		}
	}
	if stops := l.Standing == campaign.StandingStopped; stops != (l.Indicator == campaign.IndicatorStopped) ||
		stops != (l.Severity == campaign.SeverityOutage) || stops && l.ETASeconds != nil {
		j.fail("it stands in two ways", "%+v, indicator %s, eta %v", l.Why, l.Indicator, l.ETASeconds)
	}
	if e := l.ETASeconds; e != nil && (*e < 60 || math.Mod(*e, 60) != 0) {
		j.fail("the end is not told in minutes", "%v", *e)
	}
	if l.Standing == campaign.StandingWaiting && l.Until != nil && l.Until.Before(l.At) {
		j.fail("it waits for the past", "at %v until %v", l.At, *l.Until)
	}
}

// steady checks that nothing shown changes within 3 s.
func (j *whyJudge) steady(l *campaign.Live, now time.Time) {
	was := &j.told
	if l.Constraint == was.Constraint && l.Title == was.Title && l.Standing == was.Standing &&
		l.Severity == was.Severity {
		return
	}
	const seen = 300 * time.Millisecond // between two samples
	if !j.changed.IsZero() && !atOnce(l.Constraint) && l.Severity != campaign.SeverityOutage &&
		now.Sub(j.changed) < 3*time.Second-seen {
		j.fail(
			"it changes faster than 3 s",
			"after %v: %q, %s (%s) for %q, %s (%s)",
			now.Sub(j.changed),
			l.Title,
			l.Standing,
			l.Constraint,
			was.Title,
			was.Standing,
			was.Constraint,
		)
	}
	if was.Title != "" { // the first thing seen was shown before
		j.changed = now
	}
	j.told = l.Why
}

// facts checks the figures against the carrier's and the bot's.
func (j *whyJudge) facts(l *campaign.Live, before, after *outside) {
	if still(before, after) {
		// A line counts as dialling even before its INVITE leaves.
		if n := before.ringing; n < l.Ringing || n > l.Ringing+l.Dialling {
			j.fail(
				"a figure is not that of carrier and bot",
				"%d lines ring and %d are dialled, the carrier has %d",
				l.Ringing,
				l.Dialling,
				n,
			)
		}
		if l.InProgress != before.sessions {
			j.fail(
				"a figure is not that of carrier and bot",
				"%d conversations, the bot has %d",
				l.InProgress,
				before.sessions,
			)
		}
	}
	if l.DialsPerSec == nil || len(after.invites) == 0 {
		return
	}
	// The buckets are whole seconds, and an INVITE takes time to reach the carrier: one may be in
	// flight.
	most, least := after.dials(after.at, 61*time.Second)+1, before.dials(before.at.Add(-settles), 58*time.Second)
	passed := min(max(l.At.Sub(after.invites[0]).Seconds(), 1), 60)
	if *l.DialsPerSec > float64(most)/max(passed-settles.Seconds(), 1)+0.001 ||
		*l.DialsPerSec < float64(least)/(passed+1)-0.001 {
		j.fail("the rate is not of the time that passed", "%.3f dials a second, and the carrier saw %d to %d in %.1f s",
			*l.DialsPerSec, least, most, passed)
	}
}

// expects checks that the reason shown is one of these, with the right words.
func (j *whyJudge) expects(l *campaign.Live, want ...engine.Constraint) {
	if !slices.Contains(want, l.Constraint) {
		j.fail(
			"the reason is wrong",
			"%q (%s. %s) for %.2f, want %v",
			l.Constraint,
			l.Title,
			l.Explanation,
			l.ConstraintShare,
			want,
		)
	}
}

// A judge that never finds anything wrong proves nothing.
func TestTheJudgeOfReasonsFindsWhatIsWrong(t *testing.T) {
	start := time.Now()
	right := func() (*detail, *outside) {
		rate, none := 1.0/6, 0.0
		eta := 120.0
		d := &detail{
			Status: "running",
			Live: &campaign.Live{Ringing: 1, InProgress: 4, Seats: 5, FreeSeats: 1, At: start.Add(6 * time.Second),
				DialsPerSec: &rate, ETASeconds: &eta, Indicator: campaign.IndicatorLive,
				Ledgers: []campaign.LedgerView{
					{Period: "run", CountsView: campaign.CountsView{LiveAnswers: 4, AbandonRate: &none}},
				}},
		}
		d.Counters.Total, d.Counters.LiveAnswers, d.Counters.AbandonRate = 9, 4, &none
		d.Counters.States = map[contact.State]int{contact.Pending: 5, contact.Connected: 4}
		d.Live.Explain(&campaign.Campaign{State: campaign.Running, Settings: campaign.Settings{Concurrency: 5}},
			&campaign.Reason{Constraint: engine.ConstraintConcurrency, Supplies: campaign.SuppliesOf(nil, nil)})
		o := &outside{
			at:       start.Add(6 * time.Second),
			ringing:  1,
			answered: 4,
			sessions: 4,
			last:     start,
			invites:  []time.Time{start},
		}
		return d, o
	}
	finds := func(rule string, breaks func(*detail, *outside)) {
		t.Helper()
		d, o := right()
		breaks(d, o)
		j := &whyJudge{}
		j.record(d, false)
		j.facts(d.Live, o, o)
		j.expects(d.Live, engine.ConstraintConcurrency)
		if rule == "" && len(j.fails) > 0 || rule != "" && j.fails[rule] == 0 {
			t.Errorf("want %q, found %v", rule, j.first)
		}
	}
	const twice, wire = "two figures of one thing", "a figure is not that of carrier and bot"
	finds("", func(*detail, *outside) {})
	finds(twice, func(d *detail, _ *outside) { d.Counters.Total++ })
	finds(twice, func(d *detail, _ *outside) { d.Counters.Abandoned++ })
	finds(twice, func(d *detail, _ *outside) { d.Live.Ledgers[0].LiveAnswers-- })
	finds(twice, func(d *detail, _ *outside) { d.Live.Resources[0].Used++ })
	finds(twice, func(d *detail, _ *outside) { d.Live.FreeSeats = 2 })
	finds(twice, func(d *detail, _ *outside) { d.Live.Ringing++ })
	finds(twice, func(d *detail, _ *outside) { d.Live.Constraint = engine.ConstraintTrunkCPS })
	finds("two are marked", func(d *detail, _ *outside) { d.Live.Resources[1].Binding = true })
	finds("figures are missing", func(d *detail, _ *outside) { d.Live.Resources = d.Live.Resources[:1] })
	finds("no words", func(d *detail, _ *outside) { d.Live.Line = "" })
	finds("it stands in two ways", func(d *detail, _ *outside) { d.Live.Standing = campaign.StandingStopped })
	finds("the end is not told in minutes", func(d *detail, _ *outside) { *d.Live.ETASeconds = 90 })
	finds(wire, func(_ *detail, o *outside) { o.ringing++ })
	finds(wire, func(_ *detail, o *outside) { o.sessions-- })
	finds("the rate is not of the time that passed", func(d *detail, _ *outside) { *d.Live.DialsPerSec = 1.0 / 60 })
	finds("the rate is not of the time that passed", func(d *detail, _ *outside) { *d.Live.DialsPerSec = 1 })
	finds("the reason is wrong", func(d *detail, _ *outside) { d.Live.Constraint = engine.ConstraintAbandonCredit })

	j, d := &whyJudge{}, &detail{}
	for i, c := range []engine.Constraint{engine.ConstraintSeats, engine.ConstraintConcurrency, engine.ConstraintSeats,
		engine.ConstraintPaused} {
		d.Live = &campaign.Live{Why: campaign.Why{Constraint: c, Title: string(c)}}
		j.steady(d.Live, start.Add([]time.Duration{0, time.Second, 4500 * time.Millisecond, 5 * time.Second}[i]))
	}
	if len(j.fails) != 0 {
		t.Errorf("what keeps still for 3 s changes too fast: %v", j.first)
	}
	d.Live = &campaign.Live{Why: campaign.Why{Constraint: engine.ConstraintSeats, Title: "seats"}}
	if j.steady(d.Live, start.Add(6*time.Second)); j.fails["it changes faster than 3 s"] != 1 {
		t.Error("a change after a second is none too fast")
	}
}
