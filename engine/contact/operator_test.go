package contact

import (
	"testing"
	"time"

	"dialler/engine"
)

// refused checks that an operator's action is refused, and with which code.
func (w *world) refused(ev Event, code string) {
	w.tb.Helper()
	probe := ev
	if probe.At.IsZero() {
		probe.At = w.now
	}
	probe.Policy = w.p
	if got := engine.ErrorCode(w.m.Refusal(probe)); w.m.Refusal(probe) == nil || got != code {
		w.fail("%s: refused with %q, want %q", ev.Kind, got, code)
	}
	if w.apply(ev) == nil {
		w.fail("%s was granted", ev.Kind)
	}
}

func TestAnOperatorHasAWaitingContactDialledNext(t *testing.T) {
	w := newWorld(t).dial(noAnswer, rang).dueAt(t0.Add(10*time.Minute+30*time.Second), DueRetry)
	w.wait(time.Minute).must(Event{Kind: Hastened}).is(Waiting, "").dueAt(w.now, DueTrigger)
	if w.dial(noAnswer, rang); w.m.C.Used != 2 {
		t.Errorf("%d attempts, want both", w.m.C.Used)
	}
	// Its callback comes now, and is completed by it.
	w = newWorld(t).dial(done, withResult("later"), wish(t0p(time.Hour))).must(Event{Kind: Hastened}).callback(
		CallbackPending).dueAt(newWorld(t).dial(done).now, DueCallback)
	w.dial(noAnswer).callback(CallbackCompleted)
	// It no longer waits for the same thing.
	w = newWorld(t).reserve()
	w.must(w.ended(engine.OutcomeCancelled, unconsumed, func(a *Attempt) {
		a.Refusal, a.RetryAfter = engine.CodeCalleeCap, time.Hour
	})).is(Pending, engine.CodeCalleeCap)
	w.must(Event{Kind: Hastened}).is(Pending, "").dueAt(w.now, DueTrigger)
	// Outside its window it is dialled when the window opens.
	opens := t0.Add(20 * time.Hour)
	newWorld(t, func(p *Policy) { p.Clip = func(time.Time) (time.Time, bool) { return opens, true } }).must(
		Event{Kind: Hastened}).dueAt(opens, DueTrigger)
}

func TestAnOperatorReopensAFinalContact(t *testing.T) {
	for _, ev := range []Event{{Kind: Hastened}, {Kind: CallbackSet, Until: t0.Add(5 * time.Hour)}} {
		for name, w := range map[string]*world{
			"completed": newWorld(t).dial(done, withResult("sold")),
			"failed":    newWorld(t).dial(engine.OutcomeRejected),
			"machine":   newWorld(t).dial(engine.OutcomeMachine),
			"abandoned": newWorld(t).dial(engine.OutcomeAbandoned),
			"stopped":   newWorld(t).must(Event{Kind: RunStopped}),
		} {
			w.must(ev).is(Pending, "")
			if c := &w.m.C; c.Used != 0 || c.DueAt == nil {
				t.Errorf("%s, %s: %d attempts used, due %v", ev.Kind, name, c.Used, c.DueAt)
			}
		}
	}
}

func TestAnOperatorPromisesACallAtATime(t *testing.T) {
	at := t0.Add(3 * time.Hour)
	set := Event{Kind: CallbackSet, Until: at}
	newWorld(t).must(set).is(Pending, "").callback(CallbackPending).dueAt(at, DueCallback)
	newWorld(t).dial(noAnswer, rang).must(set).is(Waiting, "").dueAt(at, DueCallback)
	// The newest wins.
	newWorld(t).dial(done, withResult("later"), wish(t0p(time.Hour))).must(set).callback(CallbackPending).dueAt(at,
		DueCallback)
	// The awaited result still comes, and does not cancel the callback.
	w := newWorld(t).dial(talk, talked(time.Minute)).must(set).dueAt(at, DueCallback)
	w.must(w.result(1, "sold")).callback(CallbackPending).dueAt(at, DueCallback)
	// One beyond Max Attempts.
	w = newWorld(t, func(p *Policy) { p.MaxAttempts = 1 }).dial(talk, talked(time.Minute)).must(set)
	if !w.m.C.CallbackExtra {
		t.Error("the attempt beyond Max Attempts is not granted")
	}
	// Clipped into the window.
	opens := t0.Add(20 * time.Hour)
	newWorld(t, func(p *Policy) { p.Clip = func(time.Time) (time.Time, bool) { return opens, true } }).must(set).dueAt(
		opens, DueCallback)
	// A form with minute precision.
	w = newWorld(t)
	w.must(Event{Kind: CallbackSet, Until: t0.Add(-30 * time.Second)}).dueAt(t0, DueCallback)
}

func TestWhatAnOperatorIsRefused(t *testing.T) {
	set := func(w *world) Event { return Event{Kind: CallbackSet, Until: w.now.Add(time.Hour)} }
	both := func(code string, w *world) {
		t.Helper()
		w.refused(Event{Kind: Hastened}, code)
		w.refused(set(w), code)
	}
	both("contact_excluded", newWorld(t).must(Event{Kind: ExcludedBy}))
	both("contact_excluded", newWorld(t).reserve().must(Event{Kind: Reached}, Event{Kind: ExcludedBy, InCall: true}))
	both("call_in_progress", newWorld(t).reserve())
	both("call_in_progress", newWorld(t).reserve().must(Event{Kind: Reached}))
	both("outside_window", newWorld(t, func(p *Policy) {
		p.Clip = func(t time.Time) (time.Time, bool) { return t, false }
	}))

	newWorld(t).dial(talk, talked(time.Minute)).refused(Event{Kind: Hastened}, "result_awaited")
	off := newWorld(t, func(p *Policy) { p.Callbacks = false })
	off.refused(set(off), "callbacks_off")
	w := newWorld(t)
	w.refused(Event{Kind: CallbackSet, Until: t0.Add(-2 * time.Minute)}, "validation_failed")
	w.refused(Event{Kind: CallbackSet, Until: t0.Add(CallbackHorizon + time.Minute)}, "validation_failed")
	w.refused(Event{Kind: CallbackSet}, "validation_failed")
	// The attempt beyond Max Attempts was used, and its result is awaited.
	over := newWorld(t, func(p *Policy) { p.MaxAttempts = 1 }).dial(done, withResult("later"),
		wish(t0p(time.Hour))).dial(talk, talked(time.Minute))
	over.refused(set(over), ReasonExhausted)
}
