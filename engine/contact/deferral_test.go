package contact

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/window"
)

func (w *world) turn() *world {
	w.tb.Helper()
	return w.must(Event{Kind: Deferred})
}

// opensAt is a window that is closed until a time.
func opensAt(at time.Time) func(*Policy) {
	return func(p *Policy) {
		p.Clip = func(t time.Time) (time.Time, bool) {
			if t.Before(at) {
				return at, true
			}
			return t, true
		}
	}
}

func neverOpen(p *Policy) { p.Clip = func(t time.Time) (time.Time, bool) { return t, false } }

func TestAContactWhoseTurnComesOutsideItsWindowWaitsForItsOpening(t *testing.T) {
	w := newWorld(t, opensAt(t0.Add(3*time.Hour))).turn()
	w.is(Pending, "").dueAt(t0.Add(3*time.Hour), DueFirst)
	// It keeps its place in the order.
	w.wait(3 * time.Hour).dial(noAnswer)
	w.p.Clip = nil
	opensAt(t0.Add(5 * time.Hour))(&w.p)
	w.wait(time.Hour).turn().is(Waiting, "").dueAt(t0.Add(5*time.Hour), DueRetry)
	// Once the window is open nothing changes any more.
	w.wait(2 * time.Hour)
	version := w.m.C.Version
	if w.turn(); w.m.C.Version != version {
		t.Error("an open window changed the contact")
	}
}

func TestAContactWhoseWindowDoesNotOpenBeforeASingleDayEndsIsClosedWithTheOthers(t *testing.T) {
	end := t0.Add(time.Hour)
	w := newWorld(t, neverOpen, func(p *Policy) { p.Ends = &end }).turn()
	w.is(Pending, "").dueAt(end, DueFirst)
	w.must(Event{Kind: WindowEnded}).is(WindowClosed, "")
}

func TestAContactWhoseWindowNeverOpensIsFailed(t *testing.T) {
	newWorld(t, neverOpen).turn().is(Failed, ReasonNeverOpens)
	// A contact that waits for its callback has a result.
	w := newWorld(t).dial(done, withResult("later"), wish(t0p(time.Hour)))
	neverOpen(&w.p)
	w.turn().is(Completed, "").callback(CallbackCancelled)
}

// shut is a window that its calendar keeps closed.
func shut(p *Policy) {
	neverOpen(p)
	p.Window = window.Window{Zone: "UTC"}.With([]*window.Calendar{{Hours: map[window.Day][]window.Span{}}}, nil)
}

func TestAContactWhoseCalendarsNeverOpenWaitsDayByDayForAnEditOfThem(t *testing.T) {
	w := newWorld(t, shut).turn().is(Pending, "").dueAt(t0.Add(24*time.Hour), DueFirst)
	w.wait(24*time.Hour).turn().is(Pending, "").dueAt(t0.Add(48*time.Hour), DueFirst)
	w.p.Clip = nil
	w.wait(24*time.Hour).dial(noAnswer).is(Waiting, "")
	// So does one that waits for its callback, and one whose result asks for one now.
	w = newWorld(t).dial(done, withResult("later"), wish(t0p(time.Hour)))
	shut(&w.p)
	w.wait(time.Hour)
	w.turn().is(Connected, "").callback(CallbackPending).dueAt(w.now.Add(24*time.Hour), DueCallback)
	w = newWorld(t)
	shut(&w.p)
	w.dial(done, withResult("later"), wish(t0p(time.Hour))).is(Connected, "").callback(CallbackPending)
	// What the window alone never allows is final, whatever the calendars say.
	w = newWorld(t, shut)
	w.p.Window.Zone = "No/Where"
	w.turn().is(Failed, ReasonNeverOpens)
	// An operator is told, and may ask again after the edit.
	w = newWorld(t, shut)
	for _, ev := range []Event{{Kind: Hastened}, {Kind: CallbackSet, Until: t0.Add(time.Hour)}} {
		ev.At, ev.Policy = t0, w.p
		if err := w.m.Refusal(ev); engine.ErrorCode(err) != "outside_window" {
			t.Errorf("%s: %v", ev.Kind, err)
		}
	}
}

func TestAContactThatSomebodyWantsCalledLaterWaitsAndLosesNothing(t *testing.T) {
	later := func(d time.Duration) Event {
		return Event{Kind: Deferred, Until: t0.Add(d), Reason: "not_eligible"}
	}
	w := newWorld(t).must(later(2 * time.Hour))
	w.is(Pending, "not_eligible").dueAt(t0.Add(2*time.Hour), DueFirst)
	// Its window may open even later.
	w = newWorld(t, opensAt(t0.Add(3*time.Hour))).must(later(2 * time.Hour))
	w.is(Pending, "not_eligible").dueAt(t0.Add(3*time.Hour), DueFirst)
	// The reason is cleared by the dial, and by another wait.
	w.wait(3*time.Hour).dial(noAnswer).is(Waiting, "")
	w = newWorld(t).must(later(2 * time.Hour)).wait(2 * time.Hour)
	opensAt(t0.Add(5 * time.Hour))(&w.p)
	w.turn().is(Pending, "").dueAt(t0.Add(5*time.Hour), DueFirst)
}
