package attempt

import (
	"time"

	"dialler/engine"
	"dialler/engine/disposition"
)

// This file holds the actions from the answer to the end of the conversation.

func (m *Machine) takeSeat(ev Event) {
	m.A.Seated = true
	if m.callBot(ev.At) {
		return
	}
	m.emit(AttachBot{Deadline: m.bridgeDeadline()})
}

// returnSeat gives a seat back that nobody here wants (any more). The line
// stands where it stood.
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

// verdictSequential: the 2 s begin with the end of the greeting; a callee who
// said nothing is greeted from the verdict on.
func (m *Machine) verdictSequential(ev Event) {
	m.noteVerdict(ev)
	if m.A.GreetingEndAt == nil {
		m.A.GreetingEndAt = at(ev.At)
	}
	m.emit(lineWaiting)
	m.arm(TimerBridge, m.bridgeDeadline())
}

// undecided: classification never decided. Media is nil, so the verdict is
// unknown, which goes to the bot.
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

// verdictLeave: a machine that a message is left on. The seat goes back, the
// line stays until the message was played.
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

// revise: the bot talks to no person.
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

// noteRevision takes the live answer back as if it had never been one, where it does
// not count yet. One that stands has moved the cap's books and stays in them: a later
// word must not undo what dials were placed on.
func (m *Machine) noteRevision(ev Event) {
	back := m.takesBack(ev)
	m.noteVerdict(ev)
	if back {
		m.A.ServedAt, m.A.RevisableUntil = nil, nil
	}
}

// takesBack says whether a verdict of that moment finds a live answer that does not
// count yet. A bot that has given its result, or hands the callee over, has taken it
// for a conversation, and that was told.
func (m *Machine) takesBack(ev Event) bool {
	a := &m.A
	return m.Tentative() && !ev.At.After(*a.RevisableUntil) && a.Result == nil && a.Transfer == nil
}

// stand: the live answer can no longer be taken back.
func (m *Machine) stand() {
	if m.A.RevisableUntil != nil && !m.stood {
		m.stood = true
		m.emit(effectCountLive)
	}
}

func (m *Machine) stands(Event) { m.stand() }

// voicemailLeft: the message was heard by the machine to its end.
func (m *Machine) voicemailLeft(ev Event) {
	m.A.VoicemailLeftAt = at(ev.At)
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

// serve makes the call a live answer that a bot served.
func (m *Machine) serve(ev Event) {
	if ev.Kind == BotConnected {
		m.noteBot(ev)
	}
	m.A.ServedAt = at(ev.At)
	m.disarm(TimerBridge)
	m.arm(TimerCall, m.A.BotConnectedAt.Add(m.Config.CallLimit))
	m.served()
}

// revisableUntil is until when what is heard may take the live answer back.
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
		// A result that came while classification listened was that of no
		// conversation; from here on it is, and is recorded with it.
		r := *m.A.Result
		r.Revision, r.Wished, m.A.Result = 0, false, &r
	}
	m.emit(recordConnected)
}

// serveThenBotHungUp: the bot had the caller before classification decided and
// ended the call, so it was served.
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

// abandon: a live answer that no bot served in time. The information message
// is played at once, then the call ends.
func (m *Machine) abandon(ev Event, cause engine.AbandonCause) {
	m.decide(ev.At, engine.OutcomeAbandoned, cause, engine.PartySystem)
	missed := cause == engine.AbandonLateConnect || ev.Kind == BotFailed || ev.Kind == BotClosed
	m.emit(Line{Phase: PhaseAbandoned, Cause: cause, BotMissed: missed})
	m.arm(TimerCall, ev.At.Add(MessageLimit))
	m.emit(recordAbandoned)
	m.emit(effectPlayMessage)
}

// optOut: the caller asks never to be called again. The message plays on: it
// may say that the wish was heard.
func (m *Machine) optOut(Event) {
	e := *m.A.Ending // snapshots share the one before
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

// closedUnserved: our side let go of a live answer that no bot had; that is an
// abandon, whoever is to blame.
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

// conversationOutcome: completed once a result is stored.
func (m *Machine) conversationOutcome() engine.Outcome {
	if m.A.Result != nil {
		return engine.OutcomeCompleted
	}
	return engine.OutcomeConnectedNoResult
}

func (m *Machine) calleeHungUp(ev Event) { m.conversationOver(ev, engine.PartyCallee) }

// closedServed: the leg was closed on our side, without a decision of ours.
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

// hangUpServed: the bot closed its socket, or somebody asks for the end.
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

func (m *Machine) mediaSilent(ev Event) {
	m.decide(ev.At, engine.OutcomeMediaError, "", engine.PartySystem)
	m.hangUp(engine.HangUpCause{Q850: 41, Text: "Media timeout"})
}

// sessionChanged: the session may outlast what was recorded with the answer.
func (m *Machine) sessionChanged(ev Event) {
	m.leg(ev.Leg.Leg).Dialog = ev.Leg.Dialog
	m.emit(recordLeg)
}

func (m *Machine) hearDigit(ev Event) { m.emit(HearDigit{Digit: ev.Media.Digit}) }
