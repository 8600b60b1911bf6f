package tally

import (
	"dialler/engine"
	"dialler/engine/attempt"
)

// Attempt counts an attempt as it is stored: what Apply made of its events. A
// count from rows begins with New, takes the facts of the run's contacts (Contacts)
// and each of its attempts, once.
func (t *Tally) Attempt(a *attempt.Attempt) {
	p := t.C.Pass(a.Pass)
	if a.ReservedAt != nil {
		p.Dialled(*a.ReservedAt)
	}
	if a.WasConnected() {
		p.Connected++
		t.C.ConnectedCalls++
		t.C.LiveAnswers++
		if a.Result != nil {
			t.C.ResultCalls++
		}
	}
	if a.Live() {
		p.Live++
		return
	}
	if a.AnsweredAt != nil {
		t.C.Answered++
	}
	if a.WasConnected() {
		t.C.Conversations++
		t.C.TalkMS += a.TalkMS()
	}
	if a.Outcome == engine.OutcomeAbandoned {
		t.C.LiveAnswers++
		if a.Cause == engine.AbandonCapacityLoss {
			t.C.CapacityLoss++
		}
	}
	if a.Consumed {
		t.C.Attempts++
		p.Consumed++
		if ms, ok := a.CallbackDelayMS(); ok {
			t.C.Callbacks.Calls++
			t.C.Callbacks.DelayMS += ms
		}
	}
}
