package sipstack

import (
	"time"

	"dialler/engine"
)

// The commands for legs; leg.Table documents what each guarantees.

// PlaceLeg sends the INVITE of a leg; its events follow.
func (s *Stack) PlaceLeg(p engine.PlaceLeg, sink func(engine.LegEvent)) { s.legs.Place(p, sink) }

// Calling says whether a leg to a number is live here.
func (s *Stack) Calling(to engine.PhoneNumber) bool { return s.legs.Calling(to) }

// ConfirmLeg sends the ACK of the leg's 2xx: call it when the dialog state of
// LegAnswered is durable.
func (s *Stack) ConfirmLeg(id engine.LegID) { s.legs.Confirm(id) }

// CancelLeg stops an unanswered leg.
func (s *Stack) CancelLeg(id engine.LegID) engine.CancelOutcome { return s.legs.Cancel(id) }

// HangUpLeg ends an answered leg with BYE; an unanswered one is cancelled.
func (s *Stack) HangUpLeg(id engine.LegID, cause engine.HangUpCause) { s.legs.HangUp(id, cause) }

// AttachLeg gives the legs of an attempt a new owner.
func (s *Stack) AttachLeg(a engine.AttemptID, sink func(engine.LegEvent)) []engine.LegID {
	return s.legs.Attach(a, sink)
}

// DetachLegs removes the owner of an attempt's legs.
func (s *Stack) DetachLegs(a engine.AttemptID) { s.legs.Detach(a) }

// ForgetLegs says that the end of the attempt is durable.
func (s *Stack) ForgetLegs(a engine.AttemptID) { s.legs.Forget(a) }

// RecoverLeg ends a leg placed by an earlier process.
func (s *Stack) RecoverLeg(r engine.RecoveredLeg, sink func(engine.LegEvent)) {
	s.legs.Recover(r, sink)
}

// Legs lists the legs that are known here, for reconciliation.
func (s *Stack) Legs() []LegStatus { return s.legs.List() }

// Ladder lists the messages of an attempt's legs that are still known here.
func (s *Stack) Ladder(a engine.AttemptID) []engine.SIPMessage { return s.legs.Ladder(a) }

// SendDigit sends one key of an answered leg in an INFO.
func (s *Stack) SendDigit(id engine.LegID, key byte, duration time.Duration) bool {
	return s.legs.SendDigit(id, key, duration)
}

// AnswerRefer answers the REFER that LegReferred reported.
func (s *Stack) AnswerRefer(id engine.LegID, accept bool) bool { return s.legs.AnswerRefer(id, accept) }

// NotifyRefer reports the progress of the transfer that the far side asked for.
func (s *Stack) NotifyRefer(id engine.LegID, code int, reason string) {
	s.legs.NotifyRefer(id, code, reason)
}
