package attempt

import (
	"time"

	"dialler/engine"
	"dialler/engine/disposition"
)

// This file holds the actions before the answer.

func (m *Machine) begin(ev Event) {
	a := &m.A
	a.ReservedAt = at(ev.At)
	leg := Leg{ID: a.ID.Leg(1), Trunk: a.Trunk, Dialog: ev.Dialog}
	if a.Inbound { // its INVITE came before
		leg.SentAt, a.InviteAt = a.ReservedAt, a.ReservedAt
	}
	a.Legs = append(a.Legs, leg)
	m.emit(lineDialling)
	m.emit(recordReserved)
	m.emit(Dial{Leg: leg.ID, Trunk: leg.Trunk, Profile: ev.Profile})
}

// intentRefused ends the attempt: no INVITE has left, and none will.
func (m *Machine) intentRefused(ev Event) {
	a := &m.A
	if e := a.Ending; e != nil {
		a.Outcome, a.HungUpBy = e.Outcome, e.HungUpBy
	} else {
		a.Outcome, a.HungUpBy, a.Friendly = engine.OutcomeCancelled, engine.PartySystem, ev.Err
		m.Refusal = ev.Err
		switch ev.Err {
		case engine.CodeSuppressed:
			a.Outcome, a.Friendly = engine.OutcomeBlocked, "The number is on the suppression list"
		case engine.CodeDestination:
			a.Outcome, a.Friendly = engine.OutcomeBlocked, "Calls to this destination are not allowed"
		case engine.CodeNumberHeld:
			a.Friendly = "Another call to this number was not over yet"
		case engine.CodeCalleeCap:
			a.Friendly, a.RetryAfter = "The number was called as often as is allowed for now", max(ev.Until.Sub(ev.At), 0)
		}
	}
	m.endLeg(ev)
	m.close(ev.At, false)
}

// markSent notes that the INVITE has left.
func (m *Machine) markSent(ev Event) {
	l := m.leg(ev.Leg.Leg)
	if l.SentAt == nil {
		l.SentAt = at(ev.At)
	}
	if m.A.InviteAt == nil {
		m.A.InviteAt = l.SentAt
	}
}

func (m *Machine) sent(ev Event) {
	m.markSent(ev)
	m.arm(TimerRing, ev.At.Add(m.Config.RingTimeout))
}

// provisional handles a provisional response, which proves that the INVITE left.
func (m *Machine) provisional(ev Event) {
	l := m.leg(ev.Leg.Leg)
	if l.SentAt == nil {
		m.sent(ev)
	}
	m.markTrying(ev)
	m.noteAttestation(ev)
}

// noteAttestation stores the network's latest attestation of our caller ID.
func (m *Machine) noteAttestation(ev Event) {
	if ev.Leg.Attestation != "" {
		m.A.Attestation = ev.Leg.Attestation
	}
}

func (m *Machine) markTrying(ev Event) {
	l := m.leg(ev.Leg.Leg)
	if l.TryingAt == nil {
		l.TryingAt = at(ev.At)
	}
	if m.A.TryingAt == nil {
		m.A.TryingAt = l.TryingAt
	}
}

func (m *Machine) trying(ev Event) { m.provisional(ev) }

func (m *Machine) ringing(ev Event) {
	m.provisional(ev)
	first := m.A.RingingAt == nil
	if first {
		m.A.RingingAt = at(ev.At)
	}
	if len(ev.Leg.SDP) > 0 {
		m.emit(HearEarly{SDP: ev.Leg.SDP})
	}
	if m.A.State != Ringing {
		m.emit(lineRinging)
	}
	if first && m.Config.RecordRinging {
		m.emit(recordRinging)
	}
}

// intercept notes an announcement; the call goes on, for the end of it decides.
func (m *Machine) intercept(Event) { m.intercepted = true }

// lateProgress records progress from before the cancellation took effect: the CANCEL was decided
// before the INVITE left or the phone rang, but the report still says that it did.
func (m *Machine) lateProgress(ev Event) {
	m.markSent(ev)
	if ev.Kind != LegSent {
		m.markTrying(ev)
	}
	if ev.Kind == LegRinging && m.A.RingingAt == nil {
		m.A.RingingAt = at(ev.At)
	}
}

func (m *Machine) answerCommon(ev Event) {
	a := &m.A
	m.markSent(ev)
	m.noteAnswer(ev)
	l := m.leg(ev.Leg.Leg)
	a.AnsweredAt, a.Trunk = at(ev.At), l.Trunk
	m.disarm(TimerRing)
	m.emit(TrunkEvent{Trunk: l.Trunk, Leg: l.ID})
	m.emit(AnswerMedia{SDP: ev.Leg.SDP})
}

func (m *Machine) noteAnswer(ev Event) {
	l := m.leg(ev.Leg.Leg)
	l.Dialog, l.SIPCode, l.SIPReason = ev.Leg.Dialog, ev.Leg.Code, ev.Leg.Reason
	m.A.SIPCode, m.A.SIPReason = ev.Leg.Code, ev.Leg.Reason
	m.noteAttestation(ev)
}

func (m *Machine) answered(ev Event) {
	m.answerCommon(ev)
	m.emit(lineWaiting)
	m.arm(TimerBridge, m.bridgeDeadline())
	if m.Config.AMD == engine.AMDParallel {
		m.arm(TimerScreen, ev.At.Add(m.screenLimit()))
	}
	m.emit(recordAnswered)
	m.emit(Confirm{Leg: ev.Leg.Leg})
}

// answeredToPlay plays a message to a caller, then the call ends.
func (m *Machine) answeredToPlay(ev Event) {
	m.answerCommon(ev)
	m.decide(ev.At, engine.OutcomeCompleted, "", engine.PartySystem)
	m.A.Ending.Playing = true
	m.arm(TimerCall, ev.At.Add(MessageLimit))
	m.emit(recordAnswered)
	m.emit(Confirm{Leg: ev.Leg.Leg})
	if m.Config.Message == "" {
		m.emit(effectPlayMessage)
		return
	}
	m.emit(LeaveVoicemail{Message: m.Config.Message, AtOnce: true})
}

func (m *Machine) answeredSequential(ev Event) {
	m.answerCommon(ev)
	m.emit(lineListening)
	m.arm(TimerScreen, ev.At.Add(m.screenLimit()))
	m.emit(recordAnswered)
	m.emit(Confirm{Leg: ev.Leg.Leg})
}

// noteRefusal records the response, classifies it, and ends the leg.
func (m *Machine) noteRefusal(ev Event) *disposition.Result {
	a, r := &m.A, m.classify(ev)
	if ev.Kind == LegRefused {
		m.markSent(ev)
	}
	l := m.leg(ev.Leg.Leg)
	l.EndedAt, l.Proof = at(ev.At), proofOf(ev)
	l.SIPCode, l.SIPReason, l.Q850 = ev.Leg.Code, ev.Leg.Reason, ev.Leg.Q850
	a.SIPCode, a.SIPReason, a.Q850, a.Friendly = ev.Leg.Code, ev.Leg.Reason, ev.Leg.Q850, friendly(r, ev.Leg.Code)
	a.RetryAfter = r.MinRetryAfter
	m.noteAttestation(ev)
	a.Outcome = r.Outcome
	a.Consumed = a.Consumed || (ev.Kind == LegRefused && r.Consumes)
	m.emit(TrunkEvent{Trunk: l.Trunk, Leg: l.ID, Class: r, Over: true})
	return r
}

// tryNext asks for another trunk; the outcome stands if there is none.
func (m *Machine) tryNext(ev Event) {
	m.noteRefusal(ev)
	m.disarm(TimerRing)
	if m.A.State == Ringing {
		m.emit(lineDialling)
	}
	m.askTrunk()
}

func (m *Machine) askTrunk() {
	tried := make([]engine.TrunkID, len(m.A.Legs))
	for i := range m.A.Legs {
		tried[i] = m.A.Legs[i].Trunk
	}
	m.emit(NextTrunk{Tried: tried})
}

func (m *Machine) nextLeg(ev Event) {
	a := &m.A
	m.disarm(TimerTrunk)
	m.forget()
	m.intercepted = false
	a.Trunk = ev.Trunk
	leg := Leg{ID: a.ID.Leg(len(a.Legs) + 1), Trunk: ev.Trunk}
	a.Legs = append(a.Legs, leg)
	m.emit(recordLeg)
	m.emit(Dial{Leg: leg.ID, Trunk: leg.Trunk, Profile: ev.Profile})
}

// forget clears the last leg's response from the attempt, where it stays only on the leg: another
// leg, or something else, decides the outcome.
func (m *Machine) forget() {
	a := &m.A
	a.Outcome, a.SIPCode, a.SIPReason, a.Q850, a.Friendly, a.RetryAfter = "", 0, "", 0, "", 0
}

// TrunkPause is the least time between two requests for another trunk.
const TrunkPause = 10 * time.Millisecond

// awaitTrunk waits for the next trunk's token, which is near. The line keeps its place for the
// call.
func (m *Machine) awaitTrunk(ev Event) {
	due := ev.At.Add(TrunkPause)
	if ev.Until.After(due) {
		due = ev.Until
	}
	m.arm(TimerTrunk, due)
}

func (m *Machine) askAgain(Event) { m.askTrunk() }

func (m *Machine) noTrunk(ev Event) {
	m.A.HungUpBy = engine.PartySystem
	m.close(ev.At, false)
}

func (m *Machine) notSent(ev Event) {
	m.noteRefusal(ev)
	m.A.HungUpBy = engine.PartySystem
	m.close(ev.At, false)
}

func (m *Machine) refused(ev Event) {
	r := m.noteRefusal(ev)
	m.A.HungUpBy = hungUpBy(r)
	m.close(ev.At, r.Strike)
}

// friendly is the reason in words; "" when it would only repeat the code, which is shown then
// (spec: "The raw SIP error code is displayed when the failure is not one of the mapped friendly
// reasons").
func friendly(r *disposition.Result, code int) string {
	if !r.Mapped && code >= 300 {
		return ""
	}
	return r.Friendly
}

// hungUpBy attributes a refusal to the callee only if it has reasons of the callee's own.
func hungUpBy(r *disposition.Result) engine.Party {
	if r.Fault == disposition.FaultCallee || r.Fault == disposition.FaultNumber {
		return engine.PartyCallee
	}
	return engine.PartySystem
}

// silent handles an INVITE without any response. The end is decided, but the leg keeps its owner
// until sipstack closes it.
func (m *Machine) silent(ev Event) {
	r := m.classify(ev)
	m.markSent(ev)
	l := m.leg(ev.Leg.Leg)
	m.A.Friendly = r.Friendly
	m.emit(TrunkEvent{Trunk: l.Trunk, Leg: l.ID, Class: r})
	m.decide(ev.At, r.Outcome, "", engine.PartySystem)
}

// gone handles a leg that closed without a final response.
func (m *Machine) gone(ev Event) {
	m.A.Outcome, m.A.HungUpBy = engine.OutcomeTrunkError, engine.PartySystem
	if m.A.Inbound && ev.Kind == LegHungUp {
		m.A.Outcome, m.A.HungUpBy = engine.OutcomeCallerHungUp, engine.PartyCallee
	}
	if l := m.leg(ev.Leg.Leg); l.SentAt != nil {
		m.A.Consumed = true
	}
	m.endLeg(ev)
	m.close(ev.At, false)
}

func (m *Machine) ringTimedOut(ev Event) {
	outcome := engine.OutcomeNoAnswer
	if m.last().TryingAt == nil {
		outcome = engine.OutcomeTrunkError // no response at all: the trunk's fault, not the callee's
	}
	if m.intercepted { // the announcement is repeated until the caller hangs up
		r := disposition.Classify(disposition.Input{Code: 487, Intercepted: true})
		outcome, m.A.Friendly = r.Outcome, r.Friendly
	}
	m.decide(ev.At, outcome, "", engine.PartySystem)
	m.emit(Cancel{Leg: m.last().ID})
}

func cancelOutcome(k Kind) engine.Outcome {
	switch k {
	case ExcludeRequested:
		return engine.OutcomeExcluded
	case LegFenced:
		return engine.OutcomeLost
	default:
	}
	return engine.OutcomeCancelled
}

func (m *Machine) cancel(ev Event) {
	m.decide(ev.At, cancelOutcome(ev.Kind), "", engine.PartySystem)
	m.emit(Cancel{Leg: m.last().ID})
}

// cancelBetween ends the attempt between two legs: no leg is open, so there is nothing to wait for.
func (m *Machine) cancelBetween(ev Event) {
	m.forget()
	m.A.Outcome, m.A.HungUpBy = cancelOutcome(ev.Kind), engine.PartySystem
	m.close(ev.At, false)
}
