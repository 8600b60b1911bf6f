package tally

import (
	"fmt"
	"math"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/redial"
)

// called is a contact whose events are folded as they happen.
type called struct {
	t     *testing.T
	fold  *Tally
	m     contact.Machine
	p     contact.Policy
	now   time.Time
	calls int
}

func newCalled(t *testing.T, fold *Tally, maxAttempts int) *called {
	t.Helper()
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	k := &called{t: t, fold: fold, now: now, p: contact.Policy{MaxAttempts: maxAttempts, Callbacks: true,
		Redial: redial.Rule{Delay: time.Minute}, ResultTimeout: 15 * time.Minute}}
	k.m.C = contact.Contact{ID: "c", Run: 1, State: contact.Pending, Max: maxAttempts, DueAt: &now,
		DueClass: contact.DueFirst, DuePass: 1}
	after := k.m.C.Facts()
	fold.Apply(&journal.Event{Type: journal.ContactTriggered, Data: journal.Data{After: &after}})
	return k
}

// happens applies an event to the contact's machine and folds it as a journal event.
func (k *called) happens(typ journal.Type, ev contact.Event, d journal.Data) {
	k.t.Helper()
	ev.At, ev.Policy = k.now, k.p
	before := k.m.C.Facts()
	if err := k.m.Apply(ev); err != nil {
		k.t.Fatal(err)
	}
	after := k.m.C.Facts()
	d.Before, d.After = &before, &after
	k.fold.Apply(&journal.Event{Type: typ, At: k.now, Data: d})
}

func (k *called) attempt() *contact.Attempt {
	return &contact.Attempt{ID: engine.AttemptID(fmt.Sprint(k.calls)), Outcome: engine.OutcomeCompleted, Consumed: true,
		Connected: true, HasResult: true, EndedAt: k.now}
}

// begin dials the contact, late after it is due.
func (k *called) begin(late time.Duration) {
	k.t.Helper()
	k.now = k.m.C.DueAt.Add(late)
	k.calls++
	k.happens(
		journal.AttemptReserved,
		contact.Event{Kind: contact.Reserved, Attempt: k.attempt()},
		journal.Data{Pass: 1},
	)
}

// end ends the call.
func (k *called) end(edit func(*contact.Attempt)) {
	k.t.Helper()
	a := k.attempt()
	edit(a)
	d := journal.Data{Pass: 1, Consumed: a.Consumed}
	if k.m.C.CallingBack {
		ms := int64(2000)
		d.CallbackDelayMS = &ms
	}
	k.happens(journal.AttemptEnded, contact.Event{Kind: contact.Attempted, Attempt: a}, d)
}

// talk dials, and the conversation's result asks for a callback after the given time, unless that
// is 0.
func (k *called) talk(callback time.Duration) {
	k.t.Helper()
	k.begin(2 * time.Second)
	k.end(func(a *contact.Attempt) { k.wish(a, callback) })
}

func (k *called) wish(a *contact.Attempt, callback time.Duration) {
	if callback != 0 {
		at := k.now.Add(callback)
		a.Callback = &contact.CallbackWish{At: &at}
	}
}

// result is a result of the n-th call.
func (k *called) result(n int, callback time.Duration, edit ...func(*contact.Attempt)) {
	k.t.Helper()
	a := k.attempt()
	a.ID = engine.AttemptID(fmt.Sprint(n))
	k.wish(a, callback)
	for _, f := range edit {
		f(a)
	}
	k.happens(journal.ResultStored, contact.Event{Kind: contact.ResultStored, Attempt: a}, journal.Data{})
}

func (k *called) comesTo(requested, pending, completed, cancelled int) {
	k.t.Helper()
	b := k.fold.Counters().Callbacks
	if b.Requested != requested || b.Pending != pending || b.Completed != completed || b.Cancelled != cancelled {
		k.t.Errorf("requested %d, pending %d, completed %d, cancelled %d; want %d, %d, %d, %d", b.Requested, b.Pending,
			b.Completed, b.Cancelled, requested, pending, completed, cancelled)
	}
}

func TestEachCallbackCountsAlsoAContactsSecond(t *testing.T) {
	fold := New()
	x, y := newCalled(t, fold, 3), newCalled(t, fold, 3)
	x.talk(time.Hour) // asks for callback 1
	x.talk(time.Hour) // is callback 1, and asks for callback 2
	y.talk(time.Hour)
	y.talk(0)
	y.comesTo(3, 1, 2, 0)
	rate(t, "mean delay over the completed ones", fold.Counters().Callbacks.MeanDelaySeconds, 2)
	x.talk(0)
	x.comesTo(3, 0, 3, 0)
}

func TestAWishThatIsRefusedCountsBesideTheCallbackBeforeIt(t *testing.T) {
	k := newCalled(t, New(), 1)
	k.talk(time.Hour)
	rate(t, "mean delay of none", k.fold.Counters().Callbacks.MeanDelaySeconds, math.NaN())
	k.talk(time.Hour)
	k.comesTo(2, 0, 1, 1)
	// Repeated, it is the same request.
	k.result(2, time.Hour, func(a *contact.Attempt) { a.Repeated = true })
	k.comesTo(2, 0, 1, 1)
}

func TestAWishThatIsRefusedAndToldAgainCountsOnce(t *testing.T) {
	again := func(a *contact.Attempt) { a.Repeated = true }
	k := newCalled(t, New(), 2)
	k.talk(15 * 24 * time.Hour) // beyond the horizon
	k.comesTo(1, 0, 0, 1)
	k.happens(journal.ContactTriggered, contact.Event{Kind: contact.Triggered}, journal.Data{})
	k.talk(15 * 24 * time.Hour)
	k.comesTo(2, 0, 0, 2)
	for n := range 2 {
		k.result(n+1, 15*24*time.Hour, again)
		k.comesTo(2, 0, 0, 2)
	}
	// A dialled callback is not cancelled by a repetition of its request.
	k = newCalled(t, New(), 3)
	k.talk(time.Hour)
	k.talk(0)
	k.result(1, 15*24*time.Hour, again)
	k.comesTo(1, 0, 1, 0)
}

func TestANewerWishCancelsTheCallbackWhosePlaceItTakes(t *testing.T) {
	fold := New()
	k := newCalled(t, fold, 5)
	k.talk(time.Hour)
	k.result(1, 2*time.Hour) // a correction by the same conversation
	k.comesTo(1, 1, 0, 0)
	k.happens(
		journal.ContactCallBackSet,
		contact.Event{Kind: contact.CallbackSet, Until: k.now.Add(time.Hour)},
		journal.Data{},
	)
	k.comesTo(2, 1, 0, 1)
	// Beyond the horizon: the earlier callback stays, and the request is refused.
	k.result(1, 15*24*time.Hour)
	k.comesTo(3, 1, 0, 2)

	// A request during a callback's dial: both callbacks are pending until the dial ends.
	k.begin(0)
	k.result(1, 3*time.Hour)
	k.comesTo(4, 2, 0, 2)
	k.end(func(a *contact.Attempt) { a.HasResult, a.Connected, a.Outcome = false, false, engine.OutcomeNoAnswer })
	k.comesTo(4, 1, 1, 2)
	// The same, but the call does not count: the newer callback replaces it.
	k.begin(0)
	k.result(2, 3*time.Hour)
	k.comesTo(5, 2, 1, 2)
	k.end(func(a *contact.Attempt) {
		a.HasResult, a.Connected, a.Consumed, a.Outcome = false, false, false, engine.OutcomeThrottled
	})
	k.comesTo(5, 1, 1, 3)
}

func TestAnExclusionAndFreshAttemptsTakeNoCallbackAway(t *testing.T) {
	k := newCalled(t, New(), 3)
	k.talk(time.Hour)
	k.talk(time.Hour)
	k.happens(journal.ContactExcluded, contact.Event{Kind: contact.ExcludedBy, Reason: "asked"}, journal.Data{})
	k.comesTo(2, 0, 1, 1)
	k.happens(journal.ContactTriggered, contact.Event{Kind: contact.Triggered}, journal.Data{})
	k.comesTo(2, 0, 1, 1)
	k.talk(time.Hour)
	k.comesTo(3, 1, 1, 1)
	// The next run has its own counts.
	k.happens(journal.ContactChanged, contact.Event{Kind: contact.RunReset, Run: 2}, journal.Data{})
	if c := k.m.C; c.CallbacksCancelled != 0 || c.Callback != contact.CallbackNone {
		t.Errorf("in the next run: %+v", c)
	}
}

func TestHowAContactEndedIsAFactOfTheRun(t *testing.T) {
	failed := func(c *campaign.Counters) int { return c.Failed }
	f := func(end contact.Event, count func(*campaign.Counters) int) {
		t.Helper()
		fold := New()
		is := func(want int, when string) {
			t.Helper()
			if c := fold.Counters(); count(&c) != want {
				t.Errorf("%s: %d, want %d", when, count(&c), want)
			}
		}
		k := newCalled(t, fold, 1)
		if end.Kind == contact.Attempted {
			k.begin(0)
			k.end(func(a *contact.Attempt) { a.Connected, a.HasResult, a.Outcome = false, false, engine.OutcomeBusy })
		} else {
			k.happens(journal.ContactChanged, end, journal.Data{})
		}
		is(1, "it ended so")
		k.happens(journal.ContactTriggered, contact.Event{Kind: contact.Triggered}, journal.Data{})
		is(1, "triggered again")
		k.happens(journal.ContactExcluded, contact.Event{Kind: contact.ExcludedBy, Reason: "asked"}, journal.Data{})
		is(1, "and excluded")
		k.happens(journal.ContactTriggered, contact.Event{Kind: contact.Readmitted}, journal.Data{})
		k.talk(0)
		is(1, "and completed")
	}
	f(contact.Event{Kind: contact.Attempted}, failed)
	f(contact.Event{Kind: contact.WindowEnded}, func(c *campaign.Counters) int { return c.WindowClosed })
	f(contact.Event{Kind: contact.RunStopped}, func(c *campaign.Counters) int { return c.ManuallyStopped })

	// A late result says that it did not end that way.
	fold := New()
	k := newCalled(t, fold, 1)
	k.begin(0)
	k.end(func(a *contact.Attempt) { a.HasResult, a.Outcome = false, engine.OutcomeConnectedNoResult })
	k.now = k.now.Add(time.Hour)
	k.happens(journal.ContactChanged, contact.Event{Kind: contact.ResultTimedOut}, journal.Data{})
	if c := fold.Counters(); c.Failed != 1 {
		t.Errorf("without a result: %d failed", c.Failed)
	}
	k.result(1, 0)
	if c := fold.Counters(); c.Failed != 0 || c.Completed != 1 {
		t.Errorf("after a late result: %d failed, %d completed", c.Failed, c.Completed)
	}
}
