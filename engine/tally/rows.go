package tally

import (
	"dialler/engine"
	"dialler/engine/attempt"
)

// Attempt counts an attempt as it is stored: what Apply made of its events. A
// count from rows begins with New, takes the facts of the run's contacts (Contacts)
// and each of its attempts, once.
func (t *Tally) Attempt(a *attempt.Attempt) { t.attempt(a, 1) }

// Withdraw takes back what Attempt counted, before the attempt is counted as it
// is stored now. The range of its pass's dials stays as it is.
func (t *Tally) Withdraw(a *attempt.Attempt) { t.attempt(a, -1) }

func (t *Tally) attempt(a *attempt.Attempt, sign int) {
	p := t.C.Pass(a.Pass)
	if a.ReservedAt != nil {
		p.Dialled(*a.ReservedAt)
	}
	if a.WasConnected() {
		p.Connected += sign
		t.C.ConnectedCalls += sign
		t.C.LiveAnswers += sign
		if a.Result != nil {
			t.C.ResultCalls += sign
		}
	}
	if a.AnsweredAt != nil {
		t.C.Answered += sign
		t.C.Decided += sign
	}
	if a.Live() {
		p.Live += sign
		return
	}
	if a.Consumed && a.AnsweredAt == nil {
		t.C.Decided += sign
	}
	if a.WasConnected() {
		t.C.Conversations += sign
		t.C.TalkMS += int64(sign) * a.TalkMS()
	}
	switch a.Outcome { //nolint:exhaustive // the others count as attempts alone
	case engine.OutcomeMachine:
		t.C.MachineDetected += sign
	case engine.OutcomeAbandoned:
		t.C.LiveAnswers += sign
		if a.Cause == engine.AbandonCapacityLoss {
			t.C.CapacityLoss += sign
		}
	}
	if a.Consumed {
		t.C.Attempts += sign
		p.Consumed += sign
		if ms, ok := a.CallbackDelayMS(); ok {
			t.C.Callbacks.Calls += sign
			t.C.Callbacks.DelayMS += int64(sign) * ms
		}
	}
}
