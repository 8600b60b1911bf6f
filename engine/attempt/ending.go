package attempt

import (
	"time"

	"dialler/engine"
)

// This file holds the actions that decide, carry out and complete the end.

var causeNormal = engine.HangUpCause{Q850: 16, Text: "Normal call clearing"}

// decide fixes the attempt's outcome and gives the seat back; the attempt is over when its leg is.
func (m *Machine) decide(now time.Time, o engine.Outcome, cause engine.AbandonCause, by engine.Party) {
	m.stand()
	m.A.Ending = &Ending{Outcome: o, Cause: cause, HungUpBy: by, At: now}
	m.disarmAll()
	if m.A.AnsweredAt != nil {
		m.emit(effectDetachBot)
		m.dropPeers(now)
	}
	m.A.Seated = false
	if o != engine.OutcomeAbandoned { // an abandon reports its own phase
		m.emit(lineReleased)
	}
}

func (m *Machine) hangUp(c engine.HangUpCause) {
	if l := m.last(); l != nil && l.EndedAt == nil {
		m.emit(HangUp{Leg: l.ID, Cause: c})
	}
}

func (m *Machine) hangUpNow(Event) { m.endLegNow() }

// endLegNow requests the end of the leg of an attempt whose end is decided.
func (m *Machine) endLegNow() {
	l := m.last()
	switch {
	case l == nil || l.EndedAt != nil:
	case m.A.AnsweredAt != nil || l.Dialog != nil || l.SIPCode/100 == 2:
		m.emit(HangUp{Leg: l.ID, Cause: causeNormal})
	default:
		m.emit(Cancel{Leg: l.ID})
	}
}

// crossedAnswer handles a 200 that crossed our CANCEL. Depending on which came first, sipstack ends
// the call by itself or waits for us, so we tell it; what the BYE needs is recorded in case this
// process dies.
func (m *Machine) crossedAnswer(ev Event) {
	m.markSent(ev)
	m.noteAnswer(ev)
	m.emit(recordLeg)
	m.emit(Confirm{Leg: ev.Leg.Leg})
	m.emit(HangUp{Leg: ev.Leg.Leg, Cause: causeNormal})
}

// endLeg notes the end of the event's leg, or of the last leg.
func (m *Machine) endLeg(ev Event) {
	l := m.last()
	if ev.Leg != nil {
		l = m.leg(ev.Leg.Leg)
	}
	if l == nil || l.EndedAt != nil {
		return
	}
	l.EndedAt, l.Proof = at(ev.At), proofOf(ev)
	if ev.Leg != nil && ev.Leg.Q850 != 0 {
		l.Q850 = ev.Leg.Q850
		m.A.Q850 = ev.Leg.Q850
	}
	m.emit(TrunkEvent{Trunk: l.Trunk, Leg: l.ID, Class: m.class, Over: true})
}

// legOver handles the end of the leg of an attempt whose end was decided.
func (m *Machine) legOver(ev Event) {
	a, e := &m.A, m.A.Ending
	a.Outcome, a.Cause, a.HungUpBy = e.Outcome, e.Cause, e.HungUpBy
	if e.Playing && ev.Kind == LegHungUp {
		a.Outcome, a.HungUpBy = engine.OutcomeCallerHungUp, engine.PartyCallee
	}
	strike := false
	switch ev.Kind {
	case LegNotSent:
	case LegRefused:
		m.markSent(ev)
		l := m.leg(ev.Leg.Leg)
		l.SIPCode, l.SIPReason, l.Q850 = ev.Leg.Code, ev.Leg.Reason, ev.Leg.Q850
		a.SIPCode, a.SIPReason, a.Q850 = ev.Leg.Code, ev.Leg.Reason, ev.Leg.Q850
		consumes := true
		// The far side refused just before our CANCEL arrived. Its answer outweighs a timeout of
		// ours, but not a rule that required the CANCEL.
		impatient := e.Outcome == engine.OutcomeNoAnswer || e.Outcome == engine.OutcomeTrunkError ||
			e.Outcome == engine.OutcomeInvalidNumber // by an announcement
		if ev.Leg.Code != 487 && impatient {
			r := m.classify(ev)
			a.Outcome, a.HungUpBy, a.Friendly, a.RetryAfter = r.Outcome, hungUpBy(r), friendly(r, ev.Leg.Code), r.MinRetryAfter
			consumes, strike = r.Consumes, r.Strike
		}
		a.Consumed = a.Consumed || consumes
	default:
		if l := m.leg(ev.Leg.Leg); l.SentAt != nil {
			a.Consumed = true
		}
	}
	m.endLeg(ev)
	m.close(ev.At, strike)
}

// lost ends an attempt whose owner died or whose leg cannot be found. An intent that may have left
// counts as consumed.
func (m *Machine) lost(ev Event) {
	a := &m.A
	a.HungUpBy, a.Consumed = engine.PartySystem, true
	if a.AnsweredAt == nil && a.Ending == nil && betweenLegs(m, ev) {
		m.forget() // no refusal decided this end
	}
	lost := engine.OutcomeLost
	if ev.Err != "" { // the leg is gone although the process lived on
		lost = engine.OutcomeSystemError
	}
	switch {
	case a.Ending != nil:
		a.Outcome, a.Cause, a.HungUpBy = a.Ending.Outcome, a.Ending.Cause, a.Ending.HungUpBy
	case a.State == Connected && a.Result != nil:
		a.Outcome = engine.OutcomeCompleted
	case a.State == Connected:
		a.Outcome = lost
	case a.AnsweredAt != nil:
		a.Outcome, a.Cause = engine.OutcomeAbandoned, engine.AbandonCapacityLoss
		m.emit(Line{Phase: PhaseAbandoned, Cause: a.Cause})
	default:
		a.Outcome = lost
	}
	// The channel goes back; the leg itself stays open in the records until its recovery reports
	// its end.
	if l := m.last(); l != nil && l.EndedAt == nil {
		m.emit(TrunkEvent{Trunk: l.Trunk, Leg: l.ID, Over: true})
	}
	m.close(ev.At, false)
}

// close is the only way into Ended: everything is given back, once.
func (m *Machine) close(now time.Time, strike bool) {
	a := &m.A
	m.stand()
	a.Consumed = !a.Inbound &&
		(a.Consumed || a.AnsweredAt != nil || m.Config.MustConsume && m.Refusal != engine.CodeCalleeCap)
	if !a.Consumed {
		a.Number = 0
	}
	a.EndedAt = at(m.endOf(now))
	a.Seated = false
	m.disarmAll()
	if len(a.Legs) == 0 && a.Trunk != "" {
		// It ended before it began: the first leg's channel was reserved with it.
		m.emit(TrunkEvent{Trunk: a.Trunk, Leg: a.ID.Leg(1), Over: true})
	}
	m.dropPeers(now)
	m.freeChannels()
	m.emit(effectCloseMedia)
	m.emit(NumberFree{Strike: strike})
	m.emit(lineOver)
	m.emit(effectOver)
}

// endOf is when the call ended for the people in it. A conversation ends with the decision to end
// it, not with the answer to the BYE; of a conversation whose end nobody saw, only the limit is
// known.
func (m *Machine) endOf(now time.Time) time.Time {
	a := &m.A
	if a.ServedAt == nil || a.BotConnectedAt == nil {
		return now
	}
	if a.Ending != nil && a.Ending.At.Before(now) {
		return a.Ending.At
	}
	if limit := a.BotConnectedAt.Add(m.Config.CallLimit); m.Config.CallLimit > 0 && limit.Before(now) {
		return limit
	}
	return now
}

func (m *Machine) storeResult(ev Event) {
	a := &m.A
	r := *ev.Result
	r.Revision, r.Wished = 0, false
	if was := a.Result; was != nil {
		r.Revision, r.Wished = was.Revision+1, was.Wished || was.wishes()
	}
	a.Result = &r
	if a.Outcome == engine.OutcomeConnectedNoResult {
		a.Outcome = engine.OutcomeCompleted
	}
	if a.Ending != nil && a.Ending.Outcome == engine.OutcomeConnectedNoResult {
		// Use a new value: earlier copies of the attempt share the old one.
		e := *a.Ending
		e.Outcome = engine.OutcomeCompleted
		a.Ending = &e
	}
	m.emit(recordResult)
}
