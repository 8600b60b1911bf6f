package contact

import (
	"testing"
	"time"
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
