package contact

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/redial"
)

var t0 = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

// reporter is what testing.T and rapid.T have in common.
type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world drives one contact and checks the invariants of the package after each
// event.
type world struct {
	tb  reporter
	m   Machine
	p   Policy
	now time.Time
	n   int // attempts so far
	log []string

	callbacks int // callback attempts that were consumed
	backs     int // calls of the person to us
	called    engine.PhoneNumber
}

// newWorld is a campaign with three attempts, a retry delay of 10 min, no
// answer and busy listed, and callbacks on; its contact waits for the first
// dial.
func newWorld(tb reporter, edit ...func(*Policy)) *world {
	w := &world{tb: tb, now: t0, p: Policy{
		MaxAttempts: 3, ResultTimeout: 15 * time.Minute, Callbacks: true,
		Redial: redial.Rule{Delay: 10 * time.Minute, OnCustom: []string{"Call Again"},
			OnSystem: []engine.Outcome{engine.OutcomeNoAnswer, engine.OutcomeBusy}},
	}}
	for _, f := range edit {
		f(&w.p)
	}
	due := t0
	w.m.C = Contact{ID: "c", Run: 1, State: Pending, Max: w.p.MaxAttempts, DueAt: &due, DueClass: DueFirst, Version: 1}
	return w
}

func (w *world) clone(tb reporter) *world {
	c := *w
	c.tb = tb
	c.log = append([]string(nil), w.log...)
	return &c
}

func (w *world) fail(format string, args ...any) {
	w.tb.Helper()
	w.tb.Fatalf("%s\nafter\n  %s", fmt.Sprintf(format, args...), strings.Join(w.log, "\n  "))
}

func (w *world) apply(ev Event) error {
	w.tb.Helper()
	if ev.At.IsZero() {
		ev.At = w.now
	}
	ev.Policy = w.p
	before := w.m.C
	err := w.m.Apply(ev)
	note := string(ev.Kind)
	if a := ev.Attempt; a != nil {
		note += fmt.Sprintf(" %s %s consumed %v connected %v result %v", a.ID, a.Outcome, a.Consumed, a.Connected,
			a.HasResult)
	}
	w.log = append(w.log, fmt.Sprintf("%s %s → %s", ev.At.Sub(t0), note, w.situation()))
	if err != nil {
		w.log[len(w.log)-1] += " (illegal)"
		if !reflect.DeepEqual(before, w.m.C) {
			w.fail("an illegal event changed something")
		}
		return err
	}
	if w.m.C.Version == before.Version && !reflect.DeepEqual(before, w.m.C) {
		w.fail("a change without a new version")
	}
	w.check(ev, &before)
	return nil
}

func (w *world) check(ev Event, before *Contact) {
	w.tb.Helper()
	c := &w.m.C
	final := c.State.Processed() || c.State == Excluded
	switch {
	case final && c.DueAt != nil:
		w.fail("%s, but due", c.State)
	case final && (c.ResultDueAt != nil || c.ExcludeAfterCall):
		w.fail("%s, but waits for a result or an exclusion", c.State)
	case final && (c.Callback == CallbackPending || c.Callback == CallbackRequested) && c.Attempt == "":
		w.fail("%s with a callback that is %s", c.State, c.Callback)
	case c.Attempt != "" && c.DueAt != nil:
		w.fail("due while an attempt lives")
	case c.DueAt != nil && c.ResultDueAt != nil && c.LastTalk >= w.p.Redial.OnlyUnder:
		w.fail("waits for a dial and for a result, and its conversation was not short")
	case c.Attempt != "" && c.ResultDueAt != nil:
		w.fail("waits for a result while an attempt lives")
	case c.ResultDueAt != nil && (c.LastOutcome != engine.OutcomeConnectedNoResult || c.Awaited() == ""):
		w.fail("waits for a result, and the outcome is %q, final", c.LastOutcome)
	case before.Attempt != "" && c.Attempt != "" && before.Attempt != c.Attempt:
		w.fail("a second live attempt")
	case !final && c.Attempt == "" && c.DueAt == nil && c.ResultDueAt == nil:
		w.fail("%s, and nothing will ever happen to it", c.State)
	case c.Callback == CallbackPending && c.CallbackAt == nil:
		w.fail("a callback without a time")
	case c.Callback == CallbackPending && c.Attempt == "" && (c.DueAt == nil || c.DueClass != DueCallback ||
		!c.DueAt.Equal(*c.CallbackAt)) && c.Unconsumed == 0 && c.Reason != engine.CodeCalleeCap:
		w.fail("a pending callback that is not due")
	case c.State == Failed && c.Reason == "":
		w.fail("failed without a reason")
	case c.State == Completed && !c.HasResult:
		w.fail("completed without a result")
	case c.DueAt != nil && c.AwaitsCallBack(ev.At) && c.DueAt.Before(*c.CallsBackUntil):
		w.fail("due while the person calls us back")
	case ev.Kind == Attempted && c.Reason == ReasonCallsBack && c.DueOtherwise == nil:
		w.fail("it waits for a call back, and nothing says since when")
	case c.DueAt != nil && c.DueAt.Before(ev.At) && (before.DueAt == nil || !before.DueAt.Equal(*c.DueAt)) &&
		(before.DueOtherwise == nil || !before.DueOtherwise.Equal(*c.DueAt)):
		w.fail("due in the past")
	case c.DueAt != nil && c.NotYet(*c.DueAt):
		w.fail("due before its not_before")
	case c.DueAt != nil && c.DueClass == DueRetry && w.p.Cadence != nil && w.p.Cadence.PerDay > 0 &&
		c.Tries.On(w.p.Window.CallingDay(*c.DueAt)) >= w.p.Cadence.PerDay:
		w.fail("a redial on a day that has its attempts")
	case c.NotBefore != nil && c.ExpiresAt != nil && !c.NotBefore.Before(*c.ExpiresAt):
		w.fail("it may be called at no time")
	case c.Alternates == "" && c.Choice&^ChoiceKept != 0:
		w.fail("a choice among one number")
	case c.Choice.Place() > c.Alternates.Len():
		w.fail("number %d of %d", c.Choice.Place()+1, 1+c.Alternates.Len())
	case ev.Kind == Reserved && before.Choice.Out(before.Choice.Place()) && before.Choice.left(1+c.Alternates.Len()):
		w.fail("a number is called that must not be called any more")
	case ev.Kind != RunReset && ev.Kind != Readmitted && ev.Kind != Triggered && c.Choice.Stopped() && c.DueAt != nil &&
		(before.DueAt == nil || before.Attempt != ""):
		w.fail("due, though the person asked not to be called")
	case c.Used > w.p.MaxAttempts+1:
		w.fail("%d of %d attempts", c.Used, w.p.MaxAttempts)
	case c.Used > w.p.MaxAttempts && w.callbacks == 0 && before.DueClass != DueCallback:
		w.fail("%d of %d attempts without a callback", c.Used, w.p.MaxAttempts)
	}
	if ev.Kind == Attempted && before.Attempt == ev.Attempt.ID && before.DueClass == DueCallback && ev.Attempt.Consumed {
		w.callbacks++
	}
}

// situation is the state together with everything that a decision can ask.
func (w *world) situation() string {
	c := &w.m.C
	s := []string{string(c.State)}
	add := func(on bool, what string) {
		if on {
			s = append(s, what)
		}
	}
	add(c.Attempt != "", "attempt lives")
	add(c.DueAt != nil, fmt.Sprintf("due %s", [...]string{"callback", "trigger", "first", "retry"}[c.DueClass]))
	add(c.ResultDueAt != nil, "result owed")
	add(c.ExcludeAfterCall, "exclude after call")
	add(c.Callback == CallbackPending || c.Callback == CallbackRequested, "callback "+string(c.Callback))
	add(c.Reason == ReasonReadmitted, "readmitted")
	switch {
	case c.Used > w.p.MaxAttempts:
		s = append(s, "over max")
	case c.Used == w.p.MaxAttempts:
		s = append(s, "used up")
	case c.Used > 0:
		s = append(s, "some used")
	}
	return strings.Join(s, ", ")
}

func (w *world) must(evs ...Event) *world {
	w.tb.Helper()
	for _, ev := range evs {
		if err := w.apply(ev); err != nil {
			w.fail("%v", err)
		}
	}
	return w
}

func (w *world) wait(d time.Duration) *world { w.now = w.now.Add(d); return w }

func attemptName(n int) engine.AttemptID { return engine.AttemptID(fmt.Sprintf("attempt-%d", n)) }

func (w *world) reserve() *world {
	w.tb.Helper()
	w.n++
	w.called = w.m.C.NextNumber()
	return w.must(Event{Kind: Reserved, Attempt: &Attempt{ID: attemptName(w.n)}})
}

// ended is the end of the live attempt, now.
func (w *world) ended(o engine.Outcome, edit ...func(*Attempt)) Event {
	a := &Attempt{ID: attemptName(w.n), To: w.called, Outcome: o, Consumed: true, EndedAt: w.now}
	for _, f := range edit {
		f(a)
	}
	return Event{Kind: Attempted, Attempt: a}
}

// dial waits until the contact is due, dials it and ends the attempt.
func (w *world) dial(o engine.Outcome, edit ...func(*Attempt)) *world {
	w.tb.Helper()
	if w.m.C.DueAt == nil {
		w.fail("not due")
	}
	if w.now.Before(*w.m.C.DueAt) {
		w.now = *w.m.C.DueAt
	}
	w.reserve()
	w.wait(30 * time.Second)
	return w.must(w.ended(o, edit...))
}

// result is a result of the n-th attempt, counting from 1.
func (w *world) result(n int, disposition string, edit ...func(*Attempt)) Event {
	a := &Attempt{ID: attemptName(n), Outcome: engine.OutcomeCompleted, Consumed: true, Connected: true, HasResult: true,
		Disposition: disposition, EndedAt: w.now}
	for _, f := range edit {
		f(a)
	}
	return Event{Kind: ResultStored, Attempt: a}
}

// callsUs is what the contact hears of the person's latest call to us; another one begins with BackBegins.
func (w *world) callsUs(back Back, most time.Duration) Event {
	if back == BackBegins {
		w.backs++
	}
	return Event{Kind: CalledUs, Back: back, Until: w.now.Add(most), Attempt: &Attempt{ID: backName(w.backs)}}
}

func backName(n int) engine.AttemptID { return engine.AttemptID(fmt.Sprintf("back-%04d", n)) }

func talked(d time.Duration) func(*Attempt) {
	return func(a *Attempt) { a.Connected, a.Talk = true, d }
}

func endedAt(t time.Time) func(*Attempt) { return func(a *Attempt) { a.EndedAt = t } }

func unconsumed(a *Attempt) { a.Consumed = false }

func rang(a *Attempt) { a.Rang = true }

func withResult(disposition string) func(*Attempt) {
	return func(a *Attempt) { a.Connected, a.HasResult, a.Disposition = true, true, disposition }
}

func wish(at *time.Time) func(*Attempt) {
	return func(a *Attempt) { a.Callback = &CallbackWish{At: at} }
}

func (w *world) after(d time.Duration) *time.Time { t := w.now.Add(d); return &t }

func (w *world) is(s State, reason string) *world {
	w.tb.Helper()
	if w.m.C.State != s || w.m.C.Reason != reason {
		w.fail("%s (%q), want %s (%q)", w.m.C.State, w.m.C.Reason, s, reason)
	}
	return w
}

func (w *world) dueAt(t time.Time, class DueClass) *world {
	w.tb.Helper()
	c := &w.m.C
	if c.DueAt == nil || !c.DueAt.Equal(t) || c.DueClass != class {
		w.fail("due %v in class %d, want %v in class %d", c.DueAt, c.DueClass, t, class)
	}
	return w
}

func (w *world) callback(s CallbackState) *world {
	w.tb.Helper()
	if w.m.C.Callback != s {
		w.fail("callback %q, want %q", w.m.C.Callback, s)
	}
	return w
}

// untilSix clips into a window that is open from 10:00 to 18:00 on one day.
func untilSix(t time.Time) (time.Time, bool) {
	return t, t.Before(t0.Add(8 * time.Hour))
}
