package sipstack

import (
	"time"

	"dialler/engine"
	"dialler/sipstack/leg"
)

// PlaceLeg sends the INVITE of a leg; the events say how it went, the first
// one being LegSent or LegNotSent. It may call sink before it returns. A leg
// that is known already, ended or not, is left as it is, and sink is not
// called.
func (s *Stack) PlaceLeg(p engine.PlaceLeg, sink func(engine.LegEvent)) { s.legs.Place(p, sink) }

// ConfirmLeg sends the ACK of the leg's 2xx: call it when the dialog state of
// LegAnswered is durable. From then on a repeated 2xx is acknowledged again.
func (s *Stack) ConfirmLeg(id engine.LegID) { s.legs.Confirm(id) }

// CancelLeg stops a leg that is not answered. CancelNotSent: no INVITE left
// and none will. CancelOwed: CANCEL was sent, or goes out after the first
// provisional response; what comes of the leg follows as events. A 2xx that
// crosses the CANCEL is reported as LegAnswered and ended with ACK and BYE
// without being asked; LegClosed follows.
func (s *Stack) CancelLeg(id engine.LegID) engine.CancelOutcome { return s.legs.Cancel(id) }

// HangUpLeg ends an answered leg with BYE, after its ACK if ConfirmLeg was not
// called; LegClosed follows when the BYE is answered or given up. A leg that
// is not answered is cancelled instead; on an ended one it does nothing.
func (s *Stack) HangUpLeg(id engine.LegID, cause engine.HangUpCause) { s.legs.HangUp(id, cause) }

// AttachLeg gives the legs of an attempt a new owner: sink gets all their
// events from Seq 1 and those to come. It lists the legs that are known here.
func (s *Stack) AttachLeg(a engine.AttemptID, sink func(engine.LegEvent)) []engine.LegID {
	return s.legs.Attach(a, sink)
}

// DetachLegs takes the owner away from an attempt's legs; they go on, and
// their events wait for AttachLeg.
func (s *Stack) DetachLegs(a engine.AttemptID) { s.legs.Detach(a) }

// ForgetLegs says that the end of the attempt is durable: the events of its
// legs need not be kept. A leg that still lives is kept until its end.
func (s *Stack) ForgetLegs(a engine.AttemptID) { s.legs.Forget(a) }

// RecoverLeg ends a leg of an earlier process life and reports only its
// LegClosed, with Seq 1 (see leg.Table.Recover).
func (s *Stack) RecoverLeg(r engine.RecoveredLeg, sink func(engine.LegEvent)) {
	s.legs.Recover(r, sink)
}

// LegStatus is one leg of the inventory.
type LegStatus = leg.Status

// Legs lists the legs that are known here, ended ones that nobody has
// forgotten included, for reconciliation.
func (s *Stack) Legs() []LegStatus { return s.legs.List() }

// Ladder lists the messages of an attempt's legs that are still known here, in
// the order in which they crossed the socket.
func (s *Stack) Ladder(a engine.AttemptID) []engine.SIPMessage { return s.legs.Ladder(a) }

// SendDigit sends one key (0-9, *, #, A-D) of an answered leg in an INFO
// (application/dtmf-relay), after those that were given before it. It is false
// when the leg is not answered, the key is none, or too many keys wait.
func (s *Stack) SendDigit(id engine.LegID, key byte, duration time.Duration) bool {
	return s.legs.SendDigit(id, key, duration)
}

// AnswerRefer answers the REFER that LegReferred told of: 202 or 603. It is
// false when none waits for an answer.
func (s *Stack) AnswerRefer(id engine.LegID, accept bool) bool { return s.legs.AnswerRefer(id, accept) }

// NotifyRefer tells the far side how the transfer goes that it asked for.
func (s *Stack) NotifyRefer(id engine.LegID, code int, reason string) {
	s.legs.NotifyRefer(id, code, reason)
}
