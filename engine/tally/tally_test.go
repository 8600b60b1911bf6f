package tally

import (
	"math"
	"reflect"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// folded applies events to an empty campaign.
func folded(events ...journal.Event) campaign.Counters {
	t := New()
	for i := range events {
		t.Apply(&events[i])
	}
	return t.Counters()
}

func added(n int) journal.Event {
	after := contact.Fresh(3)
	return journal.Event{Type: journal.ContactsAdded, Data: journal.Data{Count: n, After: &after}}
}

func changed(from, to contact.Facts) journal.Event {
	return journal.Event{Type: journal.ContactChanged, Data: journal.Data{Before: &from, After: &to}}
}

func rate(t *testing.T, name string, got *float64, want float64) {
	t.Helper()
	switch {
	case got == nil && math.IsNaN(want):
	case got == nil || math.IsNaN(want) || math.Abs(*got-want) > 1e-9:
		t.Errorf("%s: %v, want %v", name, got, want)
	}
}

var fresh = contact.Fresh(3)

func TestTotalAndPending(t *testing.T) {
	c := folded(added(5),
		changed(fresh, contact.Facts{State: contact.Waiting, Used: 1, Max: 3, Open: true}),
		changed(fresh, contact.Facts{State: contact.Excluded, Max: 3}),
		changed(fresh, contact.Facts{State: contact.ManuallyStopped, Max: 3}))
	// Contacts without a consumed attempt that are neither final nor excluded.
	if c.Total != 5 || c.Pending != 2 || c.Excluded != 1 || c.ManuallyStopped != 1 {
		t.Errorf("%+v", c)
	}
}

// An attempt is consumed once its INVITE left, unless its end says no; the intent is the last
// durable trace before that.
func TestAContactThatIsBeingCalledIsNotPendingAndItsAttemptIsNotLeft(t *testing.T) {
	live := contact.Facts{State: contact.Pending, Max: 3, Open: true, Live: true}
	if c := folded(added(5), changed(fresh, live)); c.Pending != 4 || c.RetriesLeft != 4*3+2 {
		t.Errorf("%d pending, %d left", c.Pending, c.RetriesLeft)
	}
	if c := folded(added(5), changed(fresh, live), changed(live, fresh)); c.Pending != 5 || c.RetriesLeft != 15 {
		t.Errorf("unconsumed: %d pending, %d left", c.Pending, c.RetriesLeft)
	}
}

func TestRetriesLeftIsTheSumOverOpenContacts(t *testing.T) {
	c := folded(added(3),
		changed(fresh, contact.Facts{State: contact.Waiting, Used: 1, Max: 3, Open: true}),
		changed(fresh, contact.Facts{State: contact.Failed, Used: 1, Max: 3}))
	if c.RetriesLeft != 3+2 {
		t.Errorf("%d", c.RetriesLeft)
	}
	// A callback may have used one beyond the maximum: never below zero.
	c = folded(added(1), changed(fresh, contact.Facts{State: contact.Connected, Used: 4, Max: 3, Open: true}))
	if c.RetriesLeft != 0 {
		t.Errorf("%d", c.RetriesLeft)
	}
}

func TestConnectedCompletedAndUnansweredCountFactsNotPresentStates(t *testing.T) {
	c := folded(added(3),
		changed(fresh, contact.Facts{State: contact.Failed, Used: 3, Max: 3, Connected: true}),
		changed(fresh, contact.Facts{State: contact.WindowClosed, Used: 1, Max: 3, Connected: true, Result: true}),
		changed(fresh, contact.Facts{State: contact.Failed, Used: 3, Max: 3, Unanswered: true}))
	if c.Connected != 2 || c.Completed != 1 || c.Unanswered != 1 || c.Failed != 2 || c.WindowClosed != 1 {
		t.Errorf("%+v", c)
	}
}

func ended(d journal.Data) journal.Event { return journal.Event{Type: journal.AttemptEnded, Data: d} }

func TestAnswerRateIsAnsweredOfTheAttemptsThatCanNoLongerChange(t *testing.T) {
	answer := journal.Event{Type: journal.AttemptAnswered}
	rate(t, "answer rate of the first answer, which lives", folded(reserved(1, nine), answer).AnswerRate, 1)
	c := folded(reserved(1, nine), answer,
		ended(journal.Data{Consumed: true, Answered: true, Outcome: engine.OutcomeMachine}),
		reserved(1, nine), ended(journal.Data{Consumed: true, Outcome: engine.OutcomeNoAnswer}),
		ended(journal.Data{Consumed: true, Outcome: engine.OutcomeBusy}),
		ended(journal.Data{Outcome: engine.OutcomeThrottled}), // not consumed
		reserved(1, nine), answer, // a conversation in progress
		reserved(1, nine)) // it rings
	rate(t, "answer rate", c.AnswerRate, 2.0/4)
	if c.Answered != 2 || c.Decided != 4 || c.Attempts != 3 {
		t.Errorf("%+v", c)
	}
	rate(t, "answer rate of nothing", folded().AnswerRate, math.NaN())
}

func TestCompletionRateIsConnectedAttemptsWithAResult(t *testing.T) {
	connected := journal.Event{Type: journal.AttemptConnected}
	stored := journal.Event{Type: journal.ResultStored, Data: journal.Data{Connected: true}}
	repeated := journal.Event{Type: journal.ResultStored}
	c := folded(connected, connected, connected, connected, stored, repeated, repeated)
	rate(t, "completion rate", c.CompletionRate, 0.25)
}

func TestAbandonRateIsOfLiveAnswersMachinesOutside(t *testing.T) {
	connected := journal.Event{Type: journal.AttemptConnected}
	c := folded(connected, connected, connected,
		ended(journal.Data{Consumed: true, Outcome: engine.OutcomeAbandoned, Cause: engine.AbandonNoSeat}),
		ended(journal.Data{Consumed: true, Outcome: engine.OutcomeAbandoned, Cause: engine.AbandonCapacityLoss}),
		ended(journal.Data{Consumed: true, Outcome: engine.OutcomeMachine}),
		ended(journal.Data{Consumed: true, Outcome: engine.OutcomeFax}),
		ended(journal.Data{Consumed: true, Outcome: engine.OutcomeCallerHungUp}))
	rate(t, "abandon rate", c.AbandonRate, 2.0/5)
	// capacity_loss counts, and is shown separately.
	if c.CapacityLoss != 1 || c.LiveAnswers != 5 {
		t.Errorf("%+v", c)
	}
}

func TestAbandonedAndMachinesCountCallsWhateverBecomesOfTheContact(t *testing.T) {
	connected := journal.Event{Type: journal.AttemptConnected}
	is := func(s contact.State, open bool) contact.Facts {
		return contact.Facts{State: s, Used: 1, Max: 3, Open: open}
	}
	end := func(o engine.Outcome, after contact.Facts) journal.Event {
		return ended(journal.Data{Consumed: true, Answered: true, Outcome: o, Before: &fresh, After: &after})
	}
	c := folded(added(3), connected,
		end(engine.OutcomeAbandoned, is(contact.Abandoned, false)),
		end(engine.OutcomeMachine, is(contact.MachineDetected, false)),
		changed(is(contact.Abandoned, false), is(contact.Excluded, false)),
		changed(is(contact.MachineDetected, false), is(contact.Pending, true)))
	if c.Abandoned != 1 || c.MachineDetected != 1 || c.States[contact.Abandoned] != 0 {
		t.Errorf("%+v", c)
	}
	rate(t, "abandon rate", c.AbandonRate, 1.0/2)
}

func TestAHTIsTheMeanConversation(t *testing.T) {
	connected := journal.Event{Type: journal.AttemptConnected}
	c := folded(connected, connected,
		ended(journal.Data{Consumed: true, Connected: true, TalkMS: 90_000}),
		ended(journal.Data{Consumed: true, Connected: true, TalkMS: 30_500}))
	rate(t, "AHT", c.AHTSeconds, 60.25)
}

func TestProgressIsProcessedOfAllButTheExcluded(t *testing.T) {
	final := func(s contact.State) journal.Event { return changed(fresh, contact.Facts{State: s, Max: 3}) }
	c := folded(added(10), final(contact.Completed), final(contact.Failed), final(contact.Abandoned),
		final(contact.MachineDetected), final(contact.WindowClosed), final(contact.ManuallyStopped), final(contact.Excluded),
		final(contact.Excluded))
	rate(t, "progress", c.Progress, 6.0/8)
	rate(t, "progress of nobody", folded().Progress, math.NaN())
}

func TestAnEventAboutSeveralContactsCountsThemAll(t *testing.T) {
	stopped := contact.Facts{State: contact.ManuallyStopped, Max: 3, Awaits: 1}
	c := folded(added(5), journal.Event{Type: journal.ContactsClosed,
		Data: journal.Data{Moves: []journal.Move{{Before: &fresh, After: &stopped, Count: 4}}}})
	if c.Total != 5 || c.ManuallyStopped != 4 || c.Pending != 1 || c.RetriesLeft != 3 {
		t.Errorf("%+v", c)
	}
	if want := map[contact.State]int{contact.Pending: 1, contact.ManuallyStopped: 4}; !reflect.DeepEqual(c.States, want) {
		t.Errorf("states %v", c.States)
	}
}

// A run that was prepared, discarded and prepared again has the same number.
func TestARunIsCountedFromItsLastPreparation(t *testing.T) {
	out := contact.Facts{State: contact.Excluded, Max: 3}
	reset := journal.Event{Type: journal.ContactsReset,
		Data: journal.Data{Moves: []journal.Move{{After: &fresh, Count: 4}, {After: &out, Count: 1}}}}
	c := folded(reset, changed(fresh, out), reserved(1, nine), reset)
	if c.Total != 5 || c.Pending != 4 || c.Excluded != 1 || len(c.Passes) != 1 || c.Passes[0].Attempted != 0 ||
		c.Passes[0].FirstDialAt != nil {
		t.Errorf("%+v", c)
	}
}

func TestAFoldGoesOnFromWhatTheTablesSay(t *testing.T) {
	at := time.Date(2030, 3, 1, 9, 0, 0, 0, time.UTC)
	events := []journal.Event{added(3), {Type: journal.AttemptReserved, At: at, Data: journal.Data{Pass: 1}},
		{Type: journal.AttemptConnected, Data: journal.Data{Pass: 1}},
		changed(fresh, contact.Facts{State: contact.Completed, Used: 1, Max: 3, Result: true}),
		ended(journal.Data{Consumed: true, TalkMS: 1500})}
	for split := range events {
		half := From(folded(events[:split]...))
		for i := split; i < len(events); i++ {
			half.Apply(&events[i])
		}
		if got, want := half.Counters(), folded(events...); !reflect.DeepEqual(got, want) {
			t.Errorf("split after %d:\n got %+v\nwant %+v", split, got, want)
		}
	}
	From(campaign.Counters{}).Apply(&events[0]) // counters without a map of states
}

func TestTheCountersThatWereGivenOutDoNotChange(t *testing.T) {
	tl := New()
	e := added(1)
	tl.Apply(&e)
	c := tl.Counters()
	tl.Apply(&e)
	if c.States[contact.Pending] != 1 {
		t.Error("a reader's counters changed under it")
	}
}

func BenchmarkApply(b *testing.B) {
	tl := New()
	before, after := fresh, contact.Facts{State: contact.Waiting, Used: 1, Max: 3, Open: true}
	there, back := changed(before, after), changed(after, before)
	b.ReportAllocs()
	for b.Loop() {
		tl.Apply(&there)
		tl.Apply(&back)
	}
}
