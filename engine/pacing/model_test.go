package pacing

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
)

var t0 = time.Date(2030, 5, 1, 9, 0, 0, 0, time.UTC)

// crowd is a steady stream of lines: every second some are dialled, of which every `of`th answers
// after ten seconds, every third fails after two, and the others ring until the timeout.
type crowd struct {
	m    *Model
	now  time.Time
	n    int
	due  map[int][]func() // by the second
	busy int
	hold int // s that a call holds its worker
	each int // lines a second
	of   int
}

func newCrowd(m *Model, now time.Time) *crowd {
	return &crowd{m: m, now: now, due: map[int][]func(){}, hold: 60, each: 4, of: 4}
}

// run advances the given number of seconds.
func (c *crowd) run(seconds int) *crowd {
	for range seconds {
		s := int(c.now.Sub(t0) / time.Second)
		for range c.each {
			c.m.Dialled(c.now)
			dialled := c.now
			switch c.n++; {
			case c.n%c.of == 0:
				c.in(s+10, func() {
					c.m.Answered(c.now, c.now.Sub(dialled))
					c.m.Seated(c.now)
					c.m.Served()
					c.busy++
					seated := c.now
					c.in(s+10+c.hold, func() { c.m.Ended(c.now, c.now.Sub(seated)); c.busy-- })
				})
			case c.n%3 == 0:
				c.in(s+2, func() { c.m.Failed(c.now, c.now.Sub(dialled)) })
			default:
				c.in(s+30, func() { c.m.Failed(c.now, c.now.Sub(dialled)) })
			}
		}
		c.m.Tick(c.now.Add(time.Second / 2))
		c.now = c.now.Add(time.Second)
		c.m.Tick(c.now)
		c.m.prepare(0)
		for _, f := range c.due[s+1] {
			f()
		}
		delete(c.due, s+1)
	}
	return c
}

func (c *crowd) in(second int, f func()) { c.due[second] = append(c.due[second], f) }

func fresh() *Model { return NewModel(t0, 30*time.Second, 2*time.Second, nil) }

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > within {
		t.Errorf("%s: %.3f, want %.3f ± %.3f", what, got, want, within)
	}
}

func TestAModelLearnsHowLinesAnswerAndHowLongCallsLast(t *testing.T) {
	m := fresh()
	m.prepare(0)
	near(t, "answers before anything was seen", m.f.answer, 0.48, 0.1)
	c := newCrowd(m, t0).run(1800)
	m.prepare(0)
	near(t, "answers", m.f.answer, 0.25, 0.03)
	near(t, "line time", m.f.lineTime, 0.25*10+0.25*2+0.5*30, 1.5)
	near(t, "mean hold", m.talk.mean, 60, 8) // as coarse as its buckets
	if m.lines.known != c.lines() || m.talk.known != c.busy {
		t.Errorf("%d lines and %d calls known, want %d and %d", m.lines.known, m.talk.known, c.lines(), c.busy)
	}
	// A call of 50 s will be over within half a minute, a fresh one will not.
	near(t, "a call of 50 s stays for 30 s", m.talk.stays(100, 60), 0, 0.1)
	near(t, "a fresh call stays for 30 s", m.talk.stays(0, 60), 1, 0.1)
	// A line that has rung for fifteen seconds will hardly be answered any more.
	near(t, "a line of 15 s answers", m.f.ever[15], 0, 0.05)
}

// lines is how many of the crowd's lines ring: of each second's, those that end later.
func (c *crowd) lines() (n int) {
	age := 0
	for i := c.n; i > 0 && age < 30; i-- {
		// Lines of one second end together by kind.
		age = (c.n - i) / c.each
		switch {
		case i%c.of == 0:
			if age < 9 {
				n++
			}
		case i%3 == 0:
			if age < 1 {
				n++
			}
		case age < 29:
			n++
		}
	}
	return n
}

func TestALevelThatChangesAtOnceIsNoticedWithinHalfAMinute(t *testing.T) {
	m := fresh()
	c := newCrowd(m, t0)
	c.each = 8
	c.run(900)
	m.prepare(0)
	before := m.f.answer
	c.of = 2 // from now on twice as many answer, ten seconds after their dial
	c.run(10 + 25)
	m.prepare(0)
	if m.f.answer < 1.35*before {
		t.Errorf("after 25 s the answer probability is %.2f, it was %.2f", m.f.answer, before)
	}
	if m.relapse() < peakTimes {
		t.Errorf("it may come again %.2f times as high", m.relapse())
	}
}

func TestTheGateRemembersHowManyLatelyAnswered(t *testing.T) {
	m := fresh()
	c := newCrowd(m, t0)
	c.of = 2
	c.run(1800)
	c.of = 1 << 30 // an outage: nobody answers
	c.run(600)
	m.prepare(0)
	if m.f.answer > 0.05 {
		t.Fatalf("the outage is not noticed: %.2f", m.f.answer)
	}
	// Lines still count as if half of them might answer.
	if p := m.relapse() * m.f.answer; p < 0.4 {
		t.Errorf("stressed answer probability %.2f", p)
	}
}

func TestWhatAModelHasLearntCanBeKept(t *testing.T) {
	m := fresh()
	newCrowd(m, t0).run(300)
	m.at = situation{mode: Strict, cap: 0.03, workers: 10}
	m.Abandoned()
	m.Machine()
	b, err := json.Marshal(m.State())
	if err != nil {
		t.Fatal(err)
	}
	var s State
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s, m.State()) || s.Theta == 0 || s.Machines == 0 {
		t.Fatalf("%+v", s)
	}
	again := NewModel(t0.Add(time.Hour), 30*time.Second, 2*time.Second, &s)
	m.estimate()
	if again.lines.level != m.lines.level || !reflect.DeepEqual(again.lines.answer, m.lines.answer) {
		t.Error("the kept model knows other hazards")
	}
	again.Served()
	newCrowd(again, t0.Add(time.Hour)).run(60)
	if !reflect.DeepEqual(s, m.State()) {
		t.Error("a model changed the state that it was made from")
	}
	// A different ring timeout: what fits is kept.
	if other := NewModel(t0, 15*time.Second, 2*time.Second, &s); len(other.State().Answers.Exposure) != 15 {
		t.Error("ring timeout not followed")
	}
}

// Events of unknown lines and calls (after a restart), repeated or late events, and clock jumps
// leave the model usable.
func TestAModelSurvivesWhateverItIsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := NewModel(t0, time.Duration(rapid.IntRange(0, 300).Draw(t, "ring"))*time.Second, 2*time.Second, nil)
		now := t0
		for range rapid.IntRange(1, 200).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(-2000, 40_000).Draw(t, "ms")) * time.Millisecond)
			if rapid.IntRange(0, 50).Draw(t, "sleep") == 0 {
				now = now.Add(100 * time.Hour)
			}
			age := time.Duration(rapid.IntRange(-1000, 5_000_000).Draw(t, "age")) * time.Millisecond
			switch rapid.IntRange(0, 8).Draw(t, "event") {
			case 0:
				m.Dialled(now)
			case 1:
				m.Answered(now, age)
			case 2:
				m.Failed(now, age)
			case 3:
				m.Seated(now)
			case 4:
				m.Ended(now, age)
			case 5:
				m.Served()
			case 6:
				m.Abandoned()
			case 7:
				m.Machine()
			default:
				m.Tick(now)
			}
			in := calm()
			in.Mode = rapid.SampledFrom([]Mode{Strict, Hybrid, Progressive}).Draw(t, "mode")
			in.Concurrency, in.Busy, in.Ringing = 30, rapid.IntRange(0, 40).Draw(t, "busy"), rapid.IntRange(0, 100).Draw(t,
				"ringing")
			in.Model, in.Left, in.DialsLeft = m, time.Hour, rapid.IntRange(0, 1000).Draw(t, "left")
			in.Ledgers[0].Counts = Counts{Live: rapid.IntRange(0, 1000).Draw(t, "live"),
				Abandoned: rapid.IntRange(0, 30).Draw(t, "abandoned")}
			d := Decide(&in)
			if d.Dials < 0 || d.Dials > 100 || m.lines.known < 0 || m.talk.known < 0 {
				t.Fatalf("%+v", d)
			}
			for _, v := range []float64{m.f.answer, m.f.lineTime, m.talk.mean, m.theta(), m.future(), m.state.Required,
				m.lines.doubt()} {
				if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
					t.Fatalf("a figure of the model is %v", v)
				}
			}
		}
	})
}

func TestTheForecastBindsBeforeTheCreditIsWasted(t *testing.T) {
	m := fresh()
	c := newCrowd(m, t0).run(1800)
	in := Input{Mode: Strict, Concurrency: c.busy + 5, Seats: c.busy + 5, Busy: c.busy, Ringing: m.lines.known,
		CapPPM:      30_000,
		TrunkTokens: Unlimited, NumberSlots: Unlimited, DueContacts: Unlimited, Model: m,
		Ledgers: []Ledger{{Period: PeriodRun, Counts: Counts{Live: 100_000}}}}
	d := Decide(&in)
	if d.Constraint != engine.ConstraintConcurrency || !d.Why.Forecast || d.Why.Risk <= d.Why.Theta {
		t.Fatalf("%+v", d)
	}
	// With nobody talking, the same lines are too few.
	idle := in
	idle.Busy, idle.Concurrency, idle.Seats = 0, 200, 200
	if more := Decide(&idle); more.Dials <= d.Dials {
		t.Errorf("%d dials for idle workers, %d for busy ones", more.Dials, d.Dials)
	}
	// A trunk with one token left is then the constraint.
	in.TrunkTokens, in.Busy = 1, 0
	if d := Decide(&in); d.Constraint != engine.ConstraintTrunkCPS || d.Dials != 1 || d.Why.Forecast {
		t.Errorf("%+v", d)
	}
	// Without credit it is the gate: a line for each worker.
	in.TrunkTokens, in.Ledgers[0].Live, in.Ringing = Unlimited, 0, 0
	if d := Decide(&in); d.Constraint != engine.ConstraintConcurrency || d.Dials != in.Concurrency || d.Why.Forecast {
		t.Errorf("%+v", d)
	}
}

func TestHybridOverTheCapPaysBackWithHardlyAnyRisk(t *testing.T) {
	m := fresh()
	newCrowd(m, t0).run(600)
	in := Input{Mode: Hybrid, Concurrency: 100, Seats: 100, Busy: 40, CapPPM: 30_000, TrunkTokens: Unlimited,
		NumberSlots: Unlimited,
		DueContacts: Unlimited, Model: m, Left: 4 * time.Hour, DialsLeft: Unlimited, Ringing: m.lines.known,
		Ledgers: []Ledger{{Period: PeriodRun, Counts: Counts{Live: 1000, Abandoned: 20}}}}
	within := Decide(&in)
	in.Ledgers[0].Abandoned = 35
	over := Decide(&in)
	if over.Dials > within.Dials || over.Dials <= over.Seated || over.Why.Theta > spendSlow*0.03 ||
		over.Constraint != engine.ConstraintAbandonCredit {
		t.Errorf("within the cap %+v, over it %+v", within, over)
	}
	// Less is risked when there is no time left to repay it.
	in.Left = time.Minute
	if end := Decide(&in); end.Dials >= over.Dials {
		t.Errorf("at the end %+v, before %+v", end, over)
	}
}

func TestHybridCountsOnLessAsTheWindowCloses(t *testing.T) {
	m := fresh()
	c := newCrowd(m, t0)
	c.of = 8
	c.run(1800)
	in := Input{Mode: Hybrid, Concurrency: 100, Seats: 100, CapPPM: 30_000, TrunkTokens: Unlimited, NumberSlots: Unlimited,
		DueContacts: Unlimited, Model: m, DialsLeft: Unlimited, Ringing: m.lines.known,
		Ledgers: []Ledger{{Period: PeriodRun, Counts: Counts{Live: 200, Abandoned: 6}}}}
	dials := func(left time.Duration, list int) int {
		in.Left, in.DialsLeft = left, list
		return Decide(&in).Dials
	}
	long, short, end := dials(8*time.Hour, Unlimited), dials(20*time.Minute, Unlimited), dials(time.Minute, Unlimited)
	if long < short || short < end || long == end {
		t.Errorf("%d dials with eight hours left, %d with twenty minutes, %d with one", long, short, end)
	}
	if few := dials(8*time.Hour, 50); few > long || few != end {
		t.Errorf("%d dials with a list of 50 left, %d at the end", few, end)
	}
}

func TestThetaFollowsTheCap(t *testing.T) {
	m := fresh()
	m.at = situation{mode: Strict, cap: 0.03, workers: 10, live: 1000}
	begin := m.theta()
	near(t, "theta at the start", begin, 0.06, 1e-9)
	m.Abandoned()
	if m.theta() >= begin {
		t.Error("an abandon does not lower theta")
	}
	low := m.theta()
	m.at.surplus = 1000 // nothing is held back
	for range 100 {
		m.Served()
	}
	if m.theta() <= low {
		t.Error("credit does not raise theta")
	}
	for range 100_000 {
		m.Served()
	}
	near(t, "theta at its most", m.theta(), thetaMost, 1e-9)
	for range 100_000 {
		m.Abandoned()
	}
	near(t, "theta at its least", m.theta(), thetaLeast, 1e-12)
	m.at.cap, low = 0, m.theta()
	m.Served()
	if m.theta() != low {
		t.Error("theta moves at cap 0")
	}
}

func TestCallsWhoseEndWasMissedAreForgotten(t *testing.T) {
	m := fresh()
	for range 20 {
		m.Seated(t0)
	}
	m.Tick(t0.Add(time.Second))
	in := calm()
	in.Model, in.Busy = m, 3
	Decide(&in)
	if m.talk.known != 3 {
		t.Errorf("%d calls known, 3 workers busy", m.talk.known)
	}
	m.Ended(t0.Add(time.Minute), time.Minute)
	if m.talk.known != 2 {
		t.Errorf("%d calls known", m.talk.known)
	}
}

func TestFirstFindsTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.IntRange(0, 50).Draw(t, "lo")
		hi := rapid.IntRange(-5, 2000).Draw(t, "hi")
		bound := rapid.IntRange(0, 3000).Draw(t, "bound")
		want := min(max(bound, lo), hi)
		if lo >= hi {
			want = hi
		}
		if got := first(lo, hi, func(k int) bool { return k < bound }); got != want {
			t.Fatalf("from %d to %d, bound %d: %d, want %d", lo, hi, bound, got, want)
		}
	})
}
