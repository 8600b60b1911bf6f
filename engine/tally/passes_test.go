package tally

import (
	"math"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

var nine = time.Date(2030, 3, 1, 9, 0, 0, 0, time.UTC)

// reserved and over are the events at the beginning and end of an attempt of a pass.
func reserved(pass int, at time.Time) journal.Event {
	before := contact.Facts{State: contact.Pending, Used: pass - 1, Max: 3, Open: true, Awaits: pass}
	after := before
	after.Live, after.Awaits = true, 0
	return journal.Event{Type: journal.AttemptReserved, At: at,
		Data: journal.Data{Pass: pass, Before: &before, After: &after}}
}

func over(pass int, at time.Time, o engine.Outcome, after contact.Facts) journal.Event {
	before := contact.Facts{State: contact.Pending, Used: pass - 1, Max: 3, Open: true, Live: true}
	return journal.Event{Type: journal.AttemptEnded, At: at.Add(time.Minute),
		Data: journal.Data{Pass: pass, ReservedAt: &at, Before: &before, After: &after, Outcome: o,
			Consumed: after.Used == pass}}
}

func pass(t *testing.T, c campaign.Counters, n, attempted, eligible int) *campaign.Pass {
	t.Helper()
	if len(c.Passes) < n {
		t.Fatalf("there is no pass %d: %+v", n, c.Passes)
	}
	p := &c.Passes[n-1]
	if p.Number != n || p.Attempted != attempted || p.Eligible != eligible {
		t.Errorf("pass %d: %d attempted of %d eligible, want %d of %d", p.Number, p.Attempted, p.Eligible, attempted,
			eligible)
	}
	return p
}

func TestPassOneIsTheFirstAttemptForEveryContact(t *testing.T) {
	c := folded(added(10))
	if p := pass(t, c, 1, 0, 10); p.Running || p.FirstDialAt != nil || p.ConnectedRate != nil || len(c.Passes) != 1 {
		t.Errorf("before the first dial: %+v", c.Passes)
	}
	c = folded(added(10), reserved(1, nine))
	if p := pass(t, c, 1, 1, 10); !p.Running || !p.FirstDialAt.Equal(nine) {
		t.Errorf("while the first call lives: %+v", p)
	}
}

func TestAContactIsEligibleForAPassOnceItIsInLineForIt(t *testing.T) {
	again := contact.Facts{State: contact.Waiting, Used: 1, Max: 3, Open: true, Awaits: 2}
	given := contact.Facts{State: contact.Failed, Used: 1, Max: 3}
	c := folded(added(3), reserved(1, nine), over(1, nine, engine.OutcomeNoAnswer, again), reserved(1, nine),
		over(1, nine, engine.OutcomeRejected, given))
	pass(t, c, 1, 2, 3)
	pass(t, c, 2, 0, 1)
	pass(t, folded(added(3), reserved(1, nine), over(1, nine, engine.OutcomeNoAnswer, again), reserved(2, nine)), 2, 1, 1)
}

func TestAnAttemptThatDoesNotCountIsNotOfItsPass(t *testing.T) {
	c := folded(added(1), reserved(1, nine), over(1, nine, engine.OutcomeThrottled, fresh))
	if p := pass(t, c, 1, 0, 1); p.FirstDialAt == nil {
		t.Error("its dial is told nowhere")
	}
}

func TestWhoIsExcludedWhileWaitingIsInNoPassWhoIsClosedStaysInHis(t *testing.T) {
	closed := contact.Facts{State: contact.ManuallyStopped, Max: 3, Awaits: 1}
	c := folded(added(4), changed(fresh, contact.Facts{State: contact.Excluded, Max: 3}), changed(fresh, closed),
		reserved(1, nine), over(1, nine, engine.OutcomeBusy, contact.Facts{State: contact.Failed, Used: 1, Max: 3}))
	pass(t, c, 1, 1, 3)
	c = folded(added(2), reserved(1, nine), over(1, nine, engine.OutcomeBusy,
		contact.Facts{State: contact.Failed, Used: 1, Max: 3}), changed(fresh, closed))
	if p := pass(t, c, 1, 1, 2); p.Running {
		t.Error("a pass of which nobody will be called any more is running")
	}
}

func TestConnectedShareAndRangeOfAPass(t *testing.T) {
	done := contact.Facts{State: contact.Completed, Used: 1, Max: 3, Connected: true, Result: true}
	late := nine.Add(2 * time.Hour)
	c := folded(added(2), reserved(1, late), journal.Event{Type: journal.AttemptConnected, Data: journal.Data{Pass: 1}},
		over(1, late, engine.OutcomeCompleted, done), reserved(1, nine),
		over(1, nine, engine.OutcomeBusy, contact.Facts{State: contact.Failed, Used: 1, Max: 3}))
	p := pass(t, c, 1, 2, 2)
	rate(t, "connected share", p.ConnectedRate, 0.5)
	if !p.FirstDialAt.Equal(nine) || !p.LastDialAt.Equal(late) || p.Running {
		t.Errorf("from %v to %v, running %v", p.FirstDialAt, p.LastDialAt, p.Running)
	}
}

func TestAReservationThatIsTakenBackWasNone(t *testing.T) {
	tl := New()
	first, second := added(2), reserved(1, nine)
	tl.Apply(&first)
	want := tl.Counters()
	tl.Apply(&second)
	tl.Revoke(&second)
	if d := Compare(tl.Counters(), want); len(d) != 2 { // its range stays until the event of its end
		t.Errorf("%+v", d)
	}
}

func TestCallbacksAreRequestedPendingCompletedAndCancelled(t *testing.T) {
	with := func(s contact.CallbackState) journal.Event {
		return changed(fresh, contact.Facts{State: contact.Connected, Used: 1, Max: 3, Open: true, Connected: true,
			Callback: s})
	}
	c := folded(added(6), with(contact.CallbackRequested), with(contact.CallbackPending), with(contact.CallbackCompleted),
		with(contact.CallbackCompleted), with(contact.CallbackCancelled))
	// Dialled callbacks are the calls placed for them.
	if b := c.Callbacks; b.Requested != 3 || b.Pending != 2 || b.Completed != 0 || b.Cancelled != 1 {
		t.Errorf("%+v", b)
	}
	rate(t, "delay of none", c.Callbacks.MeanDelaySeconds, math.NaN())
}

func TestTheDelayOfACallbackIsItsDialMinusItsTime(t *testing.T) {
	dialled := func(ms int64, consumed bool) journal.Event {
		return journal.Event{Type: journal.AttemptEnded, Data: journal.Data{Pass: 2, Consumed: consumed,
			CallbackDelayMS: &ms}}
	}
	c := folded(added(3), dialled(1500, true), dialled(500, true), dialled(90_000, false),
		journal.Event{Type: journal.AttemptEnded, Data: journal.Data{Pass: 1, Consumed: true}})
	rate(t, "mean delay", c.Callbacks.MeanDelaySeconds, 1)
}
