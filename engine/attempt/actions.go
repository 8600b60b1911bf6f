package attempt

import (
	"time"

	"dialler/engine"
	"dialler/engine/disposition"
)

// --- before the answer ------------------------------------------------------

func (m *Machine) begin(ev Event) {
	a := &m.A
	a.ReservedAt = at(ev.At)
	leg := Leg{ID: a.ID.Leg(1), Trunk: a.Trunk}
	a.Legs = append(a.Legs, leg)
	m.emit(Line{Phase: PhaseDialling})
	m.emit(Record{What: WhatReserved})
	m.emit(Dial{Leg: leg.ID, Trunk: leg.Trunk})
}

func (m *Machine) intentRefused(ev Event) {
	a := &m.A
	a.Outcome, a.HungUpBy, a.Friendly = engine.OutcomeCancelled, engine.PartySystem, ev.Err
	if ev.Err == engine.CodeSuppressed {
		a.Outcome = engine.OutcomeBlocked
	}
	if l := m.last(); l != nil {
		l.EndedAt = at(ev.At)
		m.emit(TrunkEvent{Trunk: l.Trunk, Leg: l.ID, Over: true})
	}
	m.close(ev.At, false, false)
}

func (m *Machine) sent(ev Event) {
	l := m.leg(ev.Leg.Leg)
	l.SentAt = at(ev.At)
	if m.A.InviteAt == nil {
		m.A.InviteAt = at(ev.At)
	}
	m.A.Consumed = true // until the table of final responses says otherwise
	m.arm(TimerRing, ev.At.Add(m.Config.RingTimeout))
}

func (m *Machine) trying(ev Event) {
	if m.A.TryingAt == nil {
		m.A.TryingAt = at(ev.At)
	}
	m.impliesSent(ev)
}

func (m *Machine) ringing(ev Event) {
	if m.A.TryingAt == nil {
		m.A.TryingAt = at(ev.At)
	}
	m.impliesSent(ev)
	if m.A.RingingAt == nil {
		m.A.RingingAt = at(ev.At)
		m.emit(Line{Phase: PhaseRinging})
	}
}

// impliesSent: a response proves that the INVITE left.
func (m *Machine) impliesSent(ev Event) {
	if l := m.leg(ev.Leg.Leg); l.SentAt == nil {
		m.sent(ev)
	}
}

func (m *Machine) answerCommon(ev Event) {
	a := &m.A
	m.impliesSent(ev)
	l := m.leg(ev.Leg.Leg)
	l.Dialog, l.SIPCode, l.SIPReason = ev.Leg.Dialog, ev.Leg.Code, ev.Leg.Reason
	a.SIPCode, a.SIPReason = ev.Leg.Code, ev.Leg.Reason
	a.AnsweredAt, a.Trunk = at(ev.At), l.Trunk
	m.disarm(TimerRing)
	m.emit(TrunkEvent{Trunk: l.Trunk, Leg: l.ID})
	m.emit(AnswerMedia{SDP: ev.Leg.SDP})
}

func (m *Machine) answered(ev Event) {
	m.answerCommon(ev)
	m.emit(Line{Phase: PhaseWaiting})
	m.arm(TimerBridge, m.bridgeDeadline())
	if m.Config.AMD == engine.AMDParallel {
		m.arm(TimerScreen, ev.At.Add(ScreenLimit))
	}
	m.emit(Record{What: WhatAnswered})
	m.emit(Confirm{Leg: ev.Leg.Leg})
}

func (m *Machine) answeredSequential(ev Event) {
	m.answerCommon(ev)
	m.emit(Line{Phase: PhaseListening})
	m.arm(TimerScreen, ev.At.Add(ScreenLimit))
	m.emit(Record{What: WhatAnswered})
	m.emit(Confirm{Leg: ev.Leg.Leg})
}

// noteRefusal keeps what the wire said and ends the leg.
func (m *Machine) noteRefusal(ev Event) *disposition.Result {
	a, r := &m.A, m.classify(ev)
	l := m.leg(ev.Leg.Leg)
	if l.EndedAt == nil {
		l.EndedAt = at(ev.At)
	}
	l.SIPCode, l.SIPReason, l.Q850 = ev.Leg.Code, ev.Leg.Reason, ev.Leg.Q850
	a.SIPCode, a.SIPReason, a.Q850, a.Friendly = ev.Leg.Code, ev.Leg.Reason, ev.Leg.Q850, r.Friendly
	a.RetryAfter = r.MinRetryAfter
	m.emit(TrunkEvent{Trunk: l.Trunk, Leg: l.ID, Class: r, Over: true})
	return r
}

func (m *Machine) tryNext(ev Event) {
	r := m.noteRefusal(ev)
	m.disarm(TimerRing)
	m.A.Outcome = r.Outcome // stands if no other trunk is found
	m.A.Consumed = r.Consumes && m.A.InviteAt != nil
	tried := make([]engine.TrunkID, len(m.A.Legs))
	for i := range m.A.Legs {
		tried[i] = m.A.Legs[i].Trunk
	}
	m.emit(NextTrunk{Tried: tried})
}

func (m *Machine) nextLeg(ev Event) {
	a := &m.A
	a.Outcome, a.Trunk = "", ev.Trunk
	leg := Leg{ID: a.ID.Leg(len(a.Legs) + 1), Trunk: ev.Trunk}
	a.Legs = append(a.Legs, leg)
	m.emit(Record{What: WhatLeg})
	m.emit(Dial{Leg: leg.ID, Trunk: leg.Trunk})
}

func (m *Machine) noTrunk(ev Event) {
	m.A.HungUpBy = engine.PartySystem
	m.close(ev.At, m.A.Consumed, false)
}

func (m *Machine) notSent(ev Event) {
	r := m.noteRefusal(ev)
	m.A.Outcome, m.A.HungUpBy = r.Outcome, engine.PartySystem
	m.close(ev.At, false, false)
}

func (m *Machine) refused(ev Event) {
	m.impliesSent(ev)
	r := m.noteRefusal(ev)
	m.A.Outcome, m.A.HungUpBy = r.Outcome, engine.PartyCallee
	if r.Fault != disposition.FaultCallee && r.Fault != disposition.FaultNumber {
		m.A.HungUpBy = engine.PartySystem
	}
	m.close(ev.At, r.Consumes, r.Strike)
}

// silent: nobody answered the INVITE at all. The end is decided, the leg goes
// on being owned until sipstack closes it.
func (m *Machine) silent(ev Event) {
	r := m.classify(ev)
	l := m.leg(ev.Leg.Leg)
	m.A.Friendly = r.Friendly
	m.emit(TrunkEvent{Trunk: l.Trunk, Leg: l.ID, Class: r})
	m.decide(ev.At, r.Outcome, "", engine.PartySystem)
}

// gone: the leg closed without a final answer.
func (m *Machine) gone(ev Event) {
	m.A.Outcome, m.A.HungUpBy = engine.OutcomeTrunkError, engine.PartySystem
	m.endLeg(ev)
	m.close(ev.At, m.A.Consumed, false)
}

func (m *Machine) ringTimedOut(ev Event) {
	outcome := engine.OutcomeNoAnswer
	if m.A.TryingAt == nil {
		outcome = engine.OutcomeTrunkError // not one response: the trunk, not the callee
	}
	m.decide(ev.At, outcome, "", engine.PartySystem)
	m.emit(Cancel{Leg: m.last().ID})
}

func (m *Machine) cancelOutcome(k Kind) engine.Outcome {
	if k == ExcludeRequested {
		return engine.OutcomeExcluded
	}
	return engine.OutcomeCancelled
}

func (m *Machine) cancel(ev Event) {
	m.decide(ev.At, m.cancelOutcome(ev.Kind), "", engine.PartySystem)
	m.emit(Cancel{Leg: m.last().ID})
}

func (m *Machine) cancelBetween(ev Event) {
	m.A.Outcome, m.A.HungUpBy = m.cancelOutcome(ev.Kind), engine.PartySystem
	m.close(ev.At, m.A.Consumed, false)
}

// --- answered ---------------------------------------------------------------

func (m *Machine) takeSeat(ev Event) {
	m.A.Seated = true
	m.emit(AttachBot{Deadline: m.bridgeDeadline()})
}

func (m *Machine) returnSeat(Event) { m.emit(Line{Phase: PhaseReleased}) }

func (m *Machine) returnTrunk(ev Event) {
	m.emit(TrunkEvent{Trunk: ev.Trunk, Leg: m.A.ID.Leg(len(m.A.Legs) + 1), Over: true})
}

func (m *Machine) noteVerdict(ev Event) {
	a := &m.A
	a.VerdictAt, a.Verdict = at(ev.At), engine.VerdictUnknown
	if e := ev.Media; e != nil {
		a.Verdict, a.Confidence, a.AMDTook, a.Features = e.Verdict, e.Confidence, e.AMDTook, e.Features
		if !e.GreetingEnd.IsZero() {
			a.GreetingEndAt = at(e.GreetingEnd)
		}
	}
	m.disarm(TimerScreen)
}

func (m *Machine) verdictLive(ev Event)     { m.noteVerdict(ev) }
func (m *Machine) verdictAndServe(ev Event) { m.noteVerdict(ev); m.serve(ev) }

func (m *Machine) verdictSequential(ev Event) {
	m.noteVerdict(ev)
	if m.A.GreetingEndAt == nil {
		m.A.GreetingEndAt = at(ev.At)
	}
	m.emit(Line{Phase: PhaseWaiting})
	m.arm(TimerBridge, m.bridgeDeadline())
}

func (m *Machine) undecided(ev Event) {
	if m.A.Seated || m.Config.AMD != engine.AMDSequential {
		m.noteVerdict(ev)
		return
	}
	m.verdictSequential(ev)
}

func (m *Machine) undecidedAndServe(ev Event) { m.noteVerdict(ev); m.serve(ev) }

func (m *Machine) verdictNotLive(ev Event) {
	m.noteVerdict(ev)
	m.decide(ev.At, disposition.ForVerdict(m.A.Verdict), "", engine.PartySystem)
	m.hangUp(engine.HangUpCause{Q850: 16, Text: "Normal call clearing"})
}

func (m *Machine) botUpWhileScreening(ev Event) { m.noteBot(ev) }

func (m *Machine) noteBot(ev Event) {
	a := &m.A
	a.BotUp = true
	if a.BotConnectedAt == nil {
		a.BotConnectedAt = at(ev.At)
	}
	if ev.Media != nil && ev.Media.Session != "" {
		a.Session = ev.Media.Session
	}
}

// serve makes the call a live answer that a bot served.
func (m *Machine) serve(ev Event) {
	if ev.Kind == BotConnected {
		m.noteBot(ev)
	}
	m.A.ServedAt = at(ev.At)
	m.disarm(TimerBridge)
	m.arm(TimerCall, m.A.BotConnectedAt.Add(m.Config.CallLimit))
	m.emit(Line{Phase: PhaseServed})
	m.emit(Record{What: WhatConnected})
}

func (m *Machine) serveThenBotHungUp(ev Event) {
	m.noteVerdict(Event{Kind: ScreenTimedOut, At: ev.At})
	m.serve(ev)
	m.botHungUp(ev)
}

func (m *Machine) firstAudio(ev Event) {
	if m.A.BotFirstAudioAt == nil {
		m.A.BotFirstAudioAt = at(ev.At)
	}
}

// abandon: a live answer that no bot served in time. The information message
// is played at once, then the call ends.
func (m *Machine) abandon(ev Event, cause engine.AbandonCause) {
	m.decide(ev.At, engine.OutcomeAbandoned, cause, engine.PartySystem)
	m.arm(TimerCall, ev.At.Add(MessageLimit))
	m.emit(Record{What: WhatAbandoned})
	m.emit(PlayMessage{})
}

func (m *Machine) abandonNoSeat(ev Event) { m.abandon(ev, engine.AbandonNoSeat) }
func (m *Machine) abandonLate(ev Event)   { m.abandon(ev, engine.AbandonLateConnect) }
func (m *Machine) abandonLost(ev Event)   { m.abandon(ev, engine.AbandonCapacityLoss) }

func (m *Machine) callerHungUp(ev Event) {
	m.A.Outcome, m.A.HungUpBy = engine.OutcomeCallerHungUp, engine.PartyCallee
	m.endLeg(ev)
	m.close(ev.At, true, false)
}

func (m *Machine) mediaFailed(ev Event) {
	m.decide(ev.At, engine.OutcomeMediaError, "", engine.PartySystem)
	m.hangUp(engine.HangUpCause{Q850: 88, Text: "Incompatible destination"})
}

func (m *Machine) hangUpUnserved(ev Event) {
	m.decide(ev.At, engine.OutcomeCancelled, "", engine.PartySystem)
	m.hangUp(engine.HangUpCause{Q850: 16, Text: "Normal call clearing"})
}

// --- connected --------------------------------------------------------------

// conversationOutcome: completed once a result is stored.
func (m *Machine) conversationOutcome() engine.Outcome {
	if m.A.Result != nil {
		return engine.OutcomeCompleted
	}
	return engine.OutcomeConnectedNoResult
}

func (m *Machine) calleeHungUp(ev Event) {
	m.A.Outcome, m.A.HungUpBy = m.conversationOutcome(), engine.PartyCallee
	m.endLeg(ev)
	m.close(ev.At, true, false)
}

func (m *Machine) endConversation(ev Event, by engine.Party, cause engine.HangUpCause) {
	m.decide(ev.At, m.conversationOutcome(), "", by)
	m.hangUp(cause)
}

func (m *Machine) botHungUp(ev Event) {
	m.endConversation(ev, engine.PartyBot, engine.HangUpCause{Q850: 16, Text: "Normal call clearing"})
}

func (m *Machine) callLimit(ev Event) {
	m.endConversation(ev, engine.PartySystem, engine.HangUpCause{Q850: 16, Text: "Call limit"})
}

func (m *Machine) hangUpServed(ev Event) {
	m.endConversation(ev, engine.PartyBot, engine.HangUpCause{Q850: 16, Text: "Normal call clearing"})
}

func (m *Machine) mediaSilent(ev Event) {
	m.decide(ev.At, engine.OutcomeMediaError, "", engine.PartySystem)
	m.hangUp(engine.HangUpCause{Q850: 41, Text: "Media timeout"})
}

// --- the end ----------------------------------------------------------------

// decide fixes what the attempt comes to and gives the seat back; the attempt
// is over when its leg is.
func (m *Machine) decide(now time.Time, o engine.Outcome, cause engine.AbandonCause, by engine.Party) {
	m.A.Ending = &Ending{Outcome: o, Cause: cause, HungUpBy: by, At: now}
	for t := range timerIndex {
		m.disarm(t)
	}
	phase := PhaseReleased
	if o == engine.OutcomeAbandoned {
		phase = PhaseAbandoned
	}
	if m.A.AnsweredAt != nil {
		m.emit(DetachBot{})
	}
	m.A.Seated = false
	m.emit(Line{Phase: phase, Cause: cause})
}

func (m *Machine) hangUp(c engine.HangUpCause) {
	if l := m.last(); l != nil && l.EndedAt == nil {
		m.emit(HangUp{Leg: l.ID, Cause: c})
	}
}

func (m *Machine) hangUpNow(Event) {
	m.hangUp(engine.HangUpCause{Q850: 16, Text: "Normal call clearing"})
}

// crossedAnswer: sipstack ends the call by itself; what it needs for that is
// recorded in case this process dies before.
func (m *Machine) crossedAnswer(ev Event) {
	l := m.leg(ev.Leg.Leg)
	l.Dialog, l.SIPCode, l.SIPReason = ev.Leg.Dialog, ev.Leg.Code, ev.Leg.Reason
	m.A.SIPCode, m.A.SIPReason = ev.Leg.Code, ev.Leg.Reason
	m.emit(Record{What: WhatLeg})
}

// endLeg notes the end of the leg that the event is about.
func (m *Machine) endLeg(ev Event) {
	l := m.last()
	if ev.Leg != nil {
		l = m.leg(ev.Leg.Leg)
	}
	if l == nil || l.EndedAt != nil {
		return
	}
	l.EndedAt = at(ev.At)
	if ev.Leg != nil && ev.Leg.Q850 != 0 {
		l.Q850 = ev.Leg.Q850
		m.A.Q850 = ev.Leg.Q850
	}
	m.emit(TrunkEvent{Trunk: l.Trunk, Leg: l.ID, Over: true})
}

// legOver: the leg of an attempt whose end was decided is over.
func (m *Machine) legOver(ev Event) {
	e := m.A.Ending
	m.A.Outcome, m.A.Cause, m.A.HungUpBy = e.Outcome, e.Cause, e.HungUpBy
	consumed, strike := m.A.Consumed || m.A.InviteAt != nil, false
	switch ev.Kind {
	case LegRefused:
		m.impliesSent(ev)
		l := m.leg(ev.Leg.Leg)
		l.SIPCode, l.SIPReason, l.Q850 = ev.Leg.Code, ev.Leg.Reason, ev.Leg.Q850
		m.A.SIPCode, m.A.SIPReason, m.A.Q850 = ev.Leg.Code, ev.Leg.Reason, ev.Leg.Q850
		consumed = true
		// The callee refused just before our CANCEL arrived: what it said is
		// truer than our reason to cancel, unless a rule wanted the cancel.
		if ev.Leg.Code != 487 && e.Outcome == engine.OutcomeNoAnswer {
			r := m.classify(ev)
			m.A.Outcome, m.A.HungUpBy, m.A.Friendly = r.Outcome, engine.PartyCallee, r.Friendly
			consumed, strike = r.Consumes, r.Strike
		}
	case LegNotSent:
		consumed = m.A.InviteAt != nil && len(m.A.Legs) > 1
	}
	m.endLeg(ev)
	m.close(ev.At, consumed, strike)
}

// lost: the process that owned the leg died, or the leg is not to be found.
func (m *Machine) lost(ev Event) {
	a := &m.A
	a.HungUpBy = engine.PartySystem
	switch {
	case a.Ending != nil:
		a.Outcome, a.Cause = a.Ending.Outcome, a.Ending.Cause
	case a.State == Connected:
		a.Outcome = engine.OutcomeLost
		if a.Result != nil {
			a.Outcome = engine.OutcomeCompleted
		}
	case a.AnsweredAt != nil:
		a.Outcome, a.Cause = engine.OutcomeAbandoned, engine.AbandonCapacityLoss
		m.emit(Line{Phase: PhaseAbandoned, Cause: a.Cause})
	default:
		a.Outcome = engine.OutcomeLost
		if ev.Err != "" { // the leg is gone while the process lived on
			a.Outcome = engine.OutcomeSystemError
		}
	}
	if l := m.last(); l != nil && l.EndedAt == nil {
		m.emit(TrunkEvent{Trunk: l.Trunk, Leg: l.ID, Over: true})
	}
	m.close(ev.At, true, false) // an intent that may have left counts as consumed
}

// close is the one way into Ended: everything is given back, once.
func (m *Machine) close(now time.Time, consumed, strike bool) {
	a := &m.A
	a.Consumed = consumed || m.Config.MustConsume
	if !a.Consumed {
		a.Number = 0
	}
	a.EndedAt = at(now)
	if a.Ending != nil && a.Ending.At.Before(now) && a.BotConnectedAt != nil {
		// The conversation ended when its end was decided; the BYE's answer
		// belongs to the wire.
		a.EndedAt = at(a.Ending.At)
	}
	a.Seated = false
	for t := range timerIndex {
		m.disarm(t)
	}
	m.emit(CloseMedia{})
	m.emit(NumberFree{Strike: strike})
	m.emit(Line{Phase: PhaseOver})
	m.emit(Over{})
}

func (m *Machine) storeResult(ev Event) {
	a := &m.A
	a.Result = ev.Result
	if a.Outcome == engine.OutcomeConnectedNoResult {
		a.Outcome = engine.OutcomeCompleted
	}
	if a.Ending != nil && a.Ending.Outcome == engine.OutcomeConnectedNoResult {
		a.Ending.Outcome = engine.OutcomeCompleted
	}
	m.emit(Record{What: WhatResult})
}
