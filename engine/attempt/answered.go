package attempt

import (
	"time"

	"dialler/engine"
	"dialler/engine/disposition"
)

// This file contains the actions from the answer to the end of the conversation.

func (m *Machine) takeSeat(ev Event) {
	m.A.Seated = true
	if m.callBot(ev.At) {
		return
	}
	m.emit(AttachBot{Deadline: m.bridgeDeadline()})
}

// returnSeat returns a seat that is not, or no longer, wanted here. The line keeps its phase.
func (m *Machine) returnSeat(Event) {
	m.emit(lineReleased)
	if p := m.PhaseNow(); p != PhaseReleased && p != PhaseOver {
		m.emit(line(p))
	}
}

func (m *Machine) returnTrunk(ev Event) {
	m.emit(TrunkEvent{Trunk: ev.Trunk, Leg: m.nextLegID(), Over: true})
}

func (m *Machine) noteVerdict(ev Event) {
	a := &m.A
	if a.Verdict != "" {
		a.RevisedFrom = a.Verdict
	}
	a.VerdictAt, a.Verdict = at(ev.At), engine.VerdictUnknown
	if e := ev.Media; e != nil {
		if e.Verdict != "" {
			a.Verdict = e.Verdict
		}
		a.Confidence, a.AMDTook, a.Features = e.Confidence, e.AMDTook, e.Features
		if !e.GreetingEnd.IsZero() {
			a.GreetingEndAt = at(e.GreetingEnd)
		}
	}
	m.disarm(TimerScreen)
}

func (m *Machine) verdictLive(ev Event)     { m.noteVerdict(ev) }
func (m *Machine) verdictAndServe(ev Event) { m.noteVerdict(ev); m.serve(ev) }

// verdictSequential starts the 2 s at the end of the greeting; for a callee who said nothing they
// start at the verdict.
func (m *Machine) verdictSequential(ev Event) {
	m.noteVerdict(ev)
	if m.A.GreetingEndAt == nil {
		m.A.GreetingEndAt = at(ev.At)
	}
	m.emit(lineWaiting)
	m.arm(TimerBridge, m.bridgeDeadline())
}

// undecided handles classification that never decided. Media is nil, so the verdict is unknown, and
// the call goes to the bot.
func (m *Machine) undecided(ev Event) {
	if m.A.Seated {
		m.noteVerdict(ev)
		return
	}
	m.verdictSequential(ev)
}

func (m *Machine) undecidedAndServe(ev Event) { m.noteVerdict(ev); m.serve(ev) }

func (m *Machine) verdictNotLive(ev Event) {
	m.noteVerdict(ev)
	m.decide(ev.At, disposition.ForVerdict(m.A.Verdict), "", engine.PartySystem)
	m.hangUp(causeNormal)
}

// verdictLeave handles a machine on which a message is left. The seat is returned; the line stays
// until the message was played.
func (m *Machine) verdictLeave(ev Event) {
	m.noteVerdict(ev)
	m.leave(ev)
}

func (m *Machine) leave(ev Event) {
	m.decide(ev.At, engine.OutcomeMachine, "", engine.PartySystem)
	m.A.Ending.Voicemail = true
	m.arm(TimerCall, ev.At.Add(VoicemailLimit))
	m.emit(LeaveVoicemail{Message: m.Config.Listen.Voicemail})
}

// revise handles the bot's verdict that it is not talking to a person.
func (m *Machine) revise(ev Event) {
	m.noteRevision(ev)
	m.decide(ev.At, disposition.ForVerdict(m.A.Verdict), "", engine.PartySystem)
	m.emit(recordRevised)
	m.hangUp(causeNormal)
}

func (m *Machine) reviseAndLeave(ev Event) {
	m.noteRevision(ev)
	m.leave(ev)
	m.emit(recordRevised)
}

// noteRevision takes the live answer back as if it had never been one, if it does not count yet.
// One that counts has changed the cap's books and stays in them: a later verdict must not undo
// figures on which dials were based.
func (m *Machine) noteRevision(ev Event) {
	back := m.takesBack(ev)
	m.noteVerdict(ev)
	if back {
		m.A.ServedAt, m.A.RevisableUntil = nil, nil
	}
}

// takesBack says whether a verdict at that moment finds a live answer that does not count yet. A
// bot that has sent its result, or transfers the callee, has treated it as a conversation, and that
// was reported.
func (m *Machine) takesBack(ev Event) bool {
	a := &m.A
	return m.Tentative() && !ev.At.After(*a.RevisableUntil) && a.Result == nil && a.Transfer == nil
}

// stand makes the live answer final: it can no longer be taken back.
func (m *Machine) stand() {
	if m.A.RevisableUntil != nil && !m.stood {
		m.stood = true
		m.emit(effectCountLive)
	}
}

func (m *Machine) stands(Event) { m.stand() }

// voicemailLeft means that the message was played to the machine in full.
func (m *Machine) voicemailLeft(ev Event) {
	m.A.VoicemailLeftAt = at(ev.At)
	m.endLegNow()
}

// messageOver means that the message was played to the caller, or could not be.
func (m *Machine) messageOver(ev Event) {
	e := *m.A.Ending // snapshots share the previous one
	if e.Playing = false; ev.Media != nil && ev.Media.Error != "" {
		e.Outcome = engine.OutcomeMediaError
	}
	m.A.Ending = &e
	m.endLegNow()
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

// serve makes the call a served live answer.
func (m *Machine) serve(ev Event) {
	if ev.Kind == BotConnected {
		m.noteBot(ev)
	}
	m.A.ServedAt = at(ev.At)
	m.disarm(TimerBridge)
	m.arm(TimerCall, m.A.BotConnectedAt.Add(m.Config.CallLimit))
	m.served()
}

// revisableUntil is until when audio may take the live answer back.
func (m *Machine) revisableUntil() time.Time {
	if m.Config.AMD == engine.AMDOff || m.Config.Listen.Revise <= 0 {
		return time.Time{}
	}
	return m.A.AnsweredAt.Add(m.Config.Listen.Revise)
}

func (m *Machine) served() {
	if until := m.revisableUntil(); until.After(*m.A.ServedAt) {
		m.A.RevisableUntil = at(until)
		m.arm(TimerRevise, until)
		m.emit(lineTentative)
	} else {
		m.emit(lineServed)
	}
	if m.A.Result != nil {
		// A result that came while classification was running was not that of a conversation; from
		// here on it is, and is recorded with it.
		r := *m.A.Result
		r.Revision, r.Wished, m.A.Result = 0, false, &r
	}
	m.emit(recordConnected)
}

// serveThenBotHungUp handles a bot that had the caller before classification decided and ended the
// call: the call was served.
func (m *Machine) serveThenBotHungUp(ev Event) {
	m.noteVerdict(Event{At: ev.At})
	m.A.ServedAt = at(ev.At)
	m.served()
	m.hangUpServed(ev)
}

func (m *Machine) firstAudio(ev Event) {
	if m.A.BotFirstAudioAt == nil {
		m.A.BotFirstAudioAt = at(ev.At)
	}
}

// abandon handles a live answer that no bot served in time. The information message is played at
// once, then the call ends.
func (m *Machine) abandon(ev Event, cause engine.AbandonCause) {
	m.decide(ev.At, engine.OutcomeAbandoned, cause, engine.PartySystem)
	missed := cause == engine.AbandonLateConnect || ev.Kind == BotFailed || ev.Kind == BotClosed
	m.emit(Line{Phase: PhaseAbandoned, Cause: cause, BotMissed: missed})
	m.arm(TimerCall, ev.At.Add(MessageLimit))
	m.emit(recordAbandoned)
	m.emit(effectPlayMessage)
}

// optOut means that the caller asks never to be called again. The message continues: it may confirm
// the request.
func (m *Machine) optOut(Event) {
	e := *m.A.Ending // snapshots share the previous one
	e.OptedOut = true
	m.A.Ending = &e
	m.emit(recordOptedOut)
}

func (m *Machine) abandonNoSeat(ev Event) { m.abandon(ev, engine.AbandonNoSeat) }
func (m *Machine) abandonLate(ev Event)   { m.abandon(ev, engine.AbandonLateConnect) }
func (m *Machine) abandonLost(ev Event)   { m.abandon(ev, engine.AbandonCapacityLoss) }

func (m *Machine) callerHungUp(ev Event) {
	m.A.Outcome, m.A.HungUpBy = engine.OutcomeCallerHungUp, engine.PartyCallee
	m.endLeg(ev)
	m.close(ev.At, false)
}

// closedUnserved means that our side ended a live answer that no bot had; that is an abandon,
// whatever the cause.
func (m *Machine) closedUnserved(ev Event) {
	a := &m.A
	a.Outcome, a.Cause, a.HungUpBy = engine.OutcomeAbandoned, engine.AbandonCapacityLoss, engine.PartySystem
	m.emit(Line{Phase: PhaseAbandoned, Cause: a.Cause})
	m.endLeg(ev)
	m.close(ev.At, false)
}

func (m *Machine) mediaFailed(ev Event) {
	m.decide(ev.At, engine.OutcomeMediaError, "", engine.PartySystem)
	m.hangUp(engine.HangUpCause{Q850: 88, Text: "Incompatible destination"})
}

// --- connected --------------------------------------------------------------

// conversationOutcome is completed once a result is stored.
func (m *Machine) conversationOutcome() engine.Outcome {
	if m.A.Result != nil {
		return engine.OutcomeCompleted
	}
	return engine.OutcomeConnectedNoResult
}

func (m *Machine) calleeHungUp(ev Event) { m.conversationOver(ev, engine.PartyCallee) }

// closedServed means that the leg was closed on our side, but not by a decision of ours.
func (m *Machine) closedServed(ev Event) { m.conversationOver(ev, engine.PartySystem) }

func (m *Machine) conversationOver(ev Event, by engine.Party) {
	m.A.Outcome, m.A.HungUpBy = m.conversationOutcome(), by
	m.endLeg(ev)
	m.close(ev.At, false)
}

func (m *Machine) endConversation(now time.Time, by engine.Party, cause engine.HangUpCause) {
	m.decide(now, m.conversationOutcome(), "", by)
	m.hangUp(cause)
}

// hangUpServed means that the bot closed its socket, or that somebody asked for the end of the
// call.
func (m *Machine) hangUpServed(ev Event) {
	by := ev.By
	if by == "" {
		by = engine.PartyBot
	}
	m.endConversation(ev.At, by, causeNormal)
}

func (m *Machine) takenOff(ev Event) { m.endConversation(ev.At, engine.PartySystem, causeNormal) }

func (m *Machine) callLimit(ev Event) {
	m.endConversation(ev.At, engine.PartySystem, engine.HangUpCause{Q850: 16, Text: "Call limit"})
}

func (m *Machine) holdOver(ev Event) {
	m.A.Friendly = "The call was on hold for too long"
	m.endConversation(ev.At, engine.PartySystem, engine.HangUpCause{Q850: 16, Text: "Hold limit"})
}

func (m *Machine) mediaSilent(ev Event) {
	m.decide(ev.At, engine.OutcomeMediaError, "", engine.PartySystem)
	m.hangUp(engine.HangUpCause{Q850: 41, Text: "Media timeout"})
}

// sessionChanged means that the session may outlast what was recorded with the answer.
func (m *Machine) sessionChanged(ev Event) {
	m.leg(ev.Leg.Leg).Dialog = ev.Leg.Dialog
	m.emit(recordLeg)
}

func (m *Machine) hearDigit(ev Event) { m.emit(HearDigit{Digit: ev.Media.Digit}) }
