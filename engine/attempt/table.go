package attempt

import (
	"slices"

	"dialler/engine"
	"dialler/engine/disposition"
	"dialler/engine/fsm"
)

type row = fsm.Row[State, Kind, *Machine, Event]

// Table is the machine's transition table: the one place that assigns the
// state of an attempt.
func Table() *fsm.Table[State, Kind, *Machine, Event] { return table }

var (
	beforeAnswer = []State{Reserved, Dialling, Ringing}
	unserved     = []State{Answered, Screening, Bridging} // answered, not yet connected
	answeredUp   = []State{Answered, Screening, Bridging, Connected}
	alive        = []State{Reserved, Dialling, Ringing, Answered, Screening, Bridging, Connected}
)

func ending(m *Machine, _ Event) bool         { return m.A.Ending != nil }
func seated(m *Machine, _ Event) bool         { return m.A.Seated }
func seatedUnheard(m *Machine, ev Event) bool { return m.A.Seated && ev.Unheard }
func botUp(m *Machine, _ Event) bool          { return m.A.BotUp }
func onHold(_ *Machine, ev Event) bool        { return ev.Media.OnHold }
func bySystem(_ *Machine, ev Event) bool      { return ev.By == engine.PartySystem }
func unjudged(m *Machine, _ Event) bool {
	return m.Config.AMD == engine.AMDParallel && m.A.Verdict == ""
}

// leaves says that a message is left on the machine that answered.
func leaves(m *Machine, ev Event) bool {
	return m.Config.Listen.Voicemail != "" && ev.Media != nil && ev.Media.Verdict == engine.VerdictMachine
}

// revises says that the verdict that sent the call to its bot was wrong. The bot may say so at any
// time; audio can only while the answer may be revoked.
func revises(m *Machine, ev Event) bool {
	a := &m.A
	return a.BotUp && a.Verdict != "" && ev.Media != nil && (ev.By == engine.PartyBot || m.takesBack(ev))
}

func revisesAndLeaves(m *Machine, ev Event) bool { return revises(m, ev) && leaves(m, ev) }

// leaving says that the message for a machine was played.
func leaving(m *Machine, ev Event) bool {
	return m.A.Ending != nil && m.A.Ending.Voicemail && ev.Media != nil && ev.Media.Error == ""
}

// playing says that a message is being played to a caller.
func playing(m *Machine, _ Event) bool { return m.A.Ending != nil && m.A.Ending.Playing }

// plays says that the call is answered with a message alone.
func plays(m *Machine, _ Event) bool { return m.Config.Plays }

func endingUnsent(m *Machine, _ Event) bool {
	return m.A.Ending != nil && (m.A.InviteAt == nil || m.A.Inbound)
}

func sequential(m *Machine, _ Event) bool { return m.Config.AMD == engine.AMDSequential }

func notBegun(m *Machine, _ Event) bool { return len(m.A.Legs) == 0 }

// betweenLegs says that the last leg has ended and the next trunk is awaited, or that there was no
// leg yet.
func betweenLegs(m *Machine, _ Event) bool {
	l := m.last()
	return l == nil || l.EndedAt != nil
}

// trunkInTime says that another trunk has a token between two legs, while the attempt's INVITEs may
// still leave.
func trunkInTime(m *Machine, ev Event) bool {
	return betweenLegs(m, ev) && !ev.Until.IsZero() && ev.Until.Before(m.A.SendBy)
}

// targetTrunkInTime is the same for a leg to the target of a transfer.
func targetTrunkInTime(m *Machine, ev Event) bool {
	return m.wantsTrunk() && !ev.Until.IsZero() && ev.Until.Before(m.transferDeadline())
}

// anotherChannel is a grant that does not merely repeat the one in use.
func anotherChannel(m *Machine, ev Event) bool {
	l := m.last()
	return l == nil || l.EndedAt != nil || l.Trunk != ev.Trunk
}

// optsOut is the opt-out digit while a message to a caller can be heard.
func optsOut(m *Machine, ev Event) bool {
	e := m.A.Ending
	return m.Config.OptOut != 0 && e != nil && (e.Outcome == engine.OutcomeAbandoned || e.Playing) && !e.OptedOut &&
		ev.Media != nil && ev.Media.Digit == m.Config.OptOut
}

// signalled says that the digit came by INFO, so that the media path does not know it.
func signalled(_ *Machine, ev Event) bool { return ev.Leg != nil }

// nextTrunk says that another trunk may be tried, while the attempt's INVITEs may leave. A call that came
// in is on one.
func nextTrunk(m *Machine, ev Event) bool {
	return !m.A.Inbound && m.classify(ev).NextTrunk && ev.At.Before(m.A.SendBy)
}

// transferable says that the bot has the call and may hand it over now.
func transferable(m *Machine, ev Event) bool { return m.JudgeTransfer(ev.To) == nil }

func bridged(m *Machine, _ Event) bool { return m.bridged() }

// botless says that the conversation continues without a bot.
func botless(m *Machine, _ Event) bool { return m.bridged() || !m.A.BotUp }

func callingAlone(m *Machine, ev Event) bool { return calling(m, ev) && !m.A.BotUp }

func wantsTrunk(m *Machine, _ Event) bool { return m.wantsTrunk() }

func wantsTrunkAlone(m *Machine, _ Event) bool { return m.wantsTrunk() && !m.A.BotUp }

func calling(m *Machine, _ Event) bool {
	t := m.A.Transfer
	return t != nil && t.Result == TransferCalling
}

// tooLate says that the bot was connected only after its deadline, though its timer has not fired
// yet.
func tooLate(m *Machine, ev Event) bool { return m.A.Seated && ev.At.After(m.bridgeDeadline()) }

var table = fsm.New("attempt", States, Kinds, rows())

func rows() []row {
	return slices.Concat(endingRows(), beforeAnswerRows(), unservedRows(), connectedRows(), commonRows())
}

// endingRows are for an attempt whose end is decided and which only waits for its leg. They come
// first, so that nothing else happens to it.
func endingRows() []row {
	on := func(k Kind, to State, do func(*Machine, Event), why string) row {
		return row{From: alive, On: k, Guard: "ending", When: ending, To: to, Do: do, Why: why}
	}
	rs := []row{
		{From: unserved, On: DigitPressed, Guard: "a message, the opt-out digit", When: optsOut, Do: (*Machine).optOut,
			Why: "the number goes on the suppression list"},
		on(LegNotSent, Ended, (*Machine).legOver, "the leg's last event ends an attempt whose end is decided"),
		on(LegRefused, Ended, (*Machine).legOver, "487, or a refusal that crossed our CANCEL"),
		on(LegHungUp, Ended, (*Machine).legOver, ""),
		on(LegClosed, Ended, (*Machine).legOver, ""),
		on(OwnerLost, Ended, (*Machine).lost, "the leg is gone"),
		on(LegSent, "", (*Machine).lateProgress, "what happened is reported, though the end is decided"),
		on(LegTrying, "", (*Machine).lateProgress, ""),
		on(LegRinging, "", (*Machine).lateProgress, ""),
		on(LegAnswered, "", (*Machine).crossedAnswer,
			"a 200 that crosses our CANCEL is ACKed and ended with BYE (RFC 3261 §9.1)"),
		{From: unserved, On: MessagePlayed, Guard: "a voicemail was left", When: leaving, Do: (*Machine).voicemailLeft,
			Why: "played to the end after the beep"},
		{From: []State{Connected}, On: MessagePlayed, Guard: "a voicemail was left", When: leaving,
			Do: (*Machine).voicemailLeft},
		{From: []State{Answered}, On: MessagePlayed, Guard: "a message to a caller", When: playing,
			Do: (*Machine).messageOver, Why: "played, or it cannot be: the call ends"},
		on(MessagePlayed, "", (*Machine).hangUpNow, "after the information message the call ends"),
		on(MediaSilent, "", (*Machine).hangUpNow, "nobody hears the message any more"),
		on(CallTimedOut, "", (*Machine).hangUpNow, "a message that never ends must not keep the line"),
		on(HangUpRequested, "", (*Machine).hangUpNow, "whoever asks again wants it now"),
		on(SeatGranted, "", (*Machine).returnSeat, "a seat that comes too late goes back at once"),
		on(TrunkGranted, "", (*Machine).returnTrunk, "a channel that comes too late goes back at once"),
		on(ResultStored, "", (*Machine).storeResult, ""),
		{From: []State{Reserved}, On: IntentRefused, Guard: "ending, nothing sent", When: endingUnsent, To: Ended,
			Do:  (*Machine).intentRefused,
			Why: "no INVITE left and none will: there is no leg to wait for"},
		{From: alive, On: LegSilent, Guard: "ending", When: ending, Ignore: true,
			Why: "no answer to CANCEL or BYE; the leg stays owned until it closes"},
		{From: alive, On: IntentRefused, Guard: "ending", When: ending, Ignore: true},
	}
	for _, k := range []Kind{TrunkRefused, VerdictLive, VerdictNotLive, BotConnected, BotFailed, BotFirstAudio, BotClosed,
		MediaFailed, Intercepted, RingTimedOut, BridgeTimedOut, ScreenTimedOut, RevisionTimedOut, TrunkDue, LegFenced,
		CancelRequested, ExcludeRequested, DigitPressed} {
		rs = append(rs, row{From: alive, On: k, Guard: "ending", When: ending, Ignore: true, Why: "the end is decided"})
	}
	return rs
}

func beforeAnswerRows() []row {
	early := []State{Reserved, Dialling}
	rs := []row{
		{From: []State{Reserved}, On: Began, Guard: "not begun", When: notBegun, Do: (*Machine).begin,
			Why: "the intent is durable before the INVITE leaves"},
		{From: []State{Reserved}, On: IntentRefused, To: Ended, Do: (*Machine).intentRefused,
			Why: "number held or suppressed, or another owner took over"},
		{From: early, On: LegSent, To: Dialling, Do: (*Machine).sent,
			Why: "from here the attempt is consumed, unless the final response says no"},
		{From: early, On: LegNotSent, Guard: "another trunk", When: nextTrunk, To: Dialling, Do: (*Machine).tryNext,
			Why: "a send that certainly failed goes to the next trunk in the same attempt"},
		{From: early, On: LegNotSent, To: Ended, Do: (*Machine).notSent},
		{From: early, On: LegTrying, To: Dialling, Do: (*Machine).trying},
		{From: []State{Ringing}, On: LegTrying, Ignore: true, Why: "a late 100 or 183 changes nothing"},
		{From: beforeAnswer, On: LegRinging, To: Ringing, Do: (*Machine).ringing, Why: "18x; repeated ones are common"},
		{From: beforeAnswer, On: LegAnswered, Guard: "a message alone", When: plays, To: Answered,
			Do:  (*Machine).answeredToPlay,
			Why: "a call that came in hears a message and no bot"},
		{From: beforeAnswer, On: LegAnswered, Guard: "sequential", When: sequential, To: Screening,
			Do:  (*Machine).answeredSequential,
			Why: "sequential: listen first, no seat"},
		{From: beforeAnswer, On: LegAnswered, To: Answered, Do: (*Machine).answered,
			Why: "the dialog is durable before the ACK leaves"},
		{From: beforeAnswer, On: LegRefused, Guard: "another trunk", When: nextTrunk, To: Dialling, Do: (*Machine).tryNext,
			Why: "a final refusal of the network: no phone rings, the next trunk may be tried"},
		{From: beforeAnswer, On: LegRefused, To: Ended, Do: (*Machine).refused},
		{From: beforeAnswer, On: LegSilent, Do: (*Machine).silent,
			Why: "silence: not the next trunk, the phone may be ringing"},
		{From: beforeAnswer, On: LegClosed, To: Ended, Do: (*Machine).gone},
		{From: beforeAnswer, On: LegHungUp, To: Ended, Do: (*Machine).gone},
		{From: []State{Dialling}, On: TrunkGranted, Guard: "between trunks", When: betweenLegs, Do: (*Machine).nextLeg},
		{From: []State{Dialling}, On: TrunkRefused, Guard: "between trunks, a token comes in time", When: trunkInTime,
			Do:  (*Machine).awaitTrunk,
			Why: "a trunk at its calls-per-second limit is waited for; the contact is not lost over a few milliseconds"},
		{From: []State{Dialling}, On: TrunkRefused, Guard: "between trunks", When: betweenLegs, To: Ended,
			Do: (*Machine).noTrunk},
		{From: []State{Dialling}, On: TrunkDue, Guard: "between trunks", When: betweenLegs, Do: (*Machine).askAgain},
		{From: beforeAnswer, On: RingTimedOut, Guard: "between trunks", When: betweenLegs, Ignore: true,
			Why: "nothing rings"},
		{From: beforeAnswer, On: RingTimedOut, Do: (*Machine).ringTimedOut},
		{From: beforeAnswer, On: LegFenced, Do: (*Machine).cancel,
			Why: "no answer after the node's lease has ended becomes a conversation"},
		{From: beforeAnswer, On: OwnerLost, To: Ended, Do: (*Machine).lost},
		{From: beforeAnswer, On: DigitPressed, Ignore: true, Why: "nobody can be asked for a key before the answer"},
		{From: beforeAnswer, On: Intercepted, Guard: "between trunks", When: betweenLegs, Ignore: true,
			Why: "it was another trunk's"},
		{From: beforeAnswer, On: Intercepted, Do: (*Machine).intercept,
			Why: "a refusal that follows means that the number is out of service"},
		{From: beforeAnswer, On: SeatGranted, Do: (*Machine).returnSeat, Why: "there is nobody to serve yet"},
	}
	for _, k := range []Kind{CancelRequested, ExcludeRequested, HangUpRequested} {
		rs = append(rs,
			row{From: early, On: k, Guard: "between trunks", When: betweenLegs, To: Ended, Do: (*Machine).cancelBetween},
			row{From: beforeAnswer, On: k, Do: (*Machine).cancel, Why: "Stop and Exclude cancel ringing legs"})
	}
	return rs
}

func unservedRows() []row {
	return []row{
		{From: unserved, On: SeatGranted, Guard: "seated", When: seated, Ignore: true,
			Why: "a repeated grant of the seat it holds"},
		{From: []State{Answered}, On: SeatGranted, Guard: "parallel, not judged yet", When: unjudged, To: Screening,
			Do:  (*Machine).takeSeat,
			Why: "parallel: the bot is attached at once while classification listens"},
		{From: []State{Answered, Bridging}, On: SeatGranted, To: Bridging, Do: (*Machine).takeSeat},
		{From: []State{Screening}, On: SeatGranted, Do: (*Machine).returnSeat, Why: "sequential: no seat while listening"},

		{From: unserved, On: VerdictNotLive, Guard: "a message is left", When: leaves, Do: (*Machine).verdictLeave,
			Why: "voicemail drop: wait for the beep, play, hang up"},
		{From: unserved, On: VerdictNotLive, Do: (*Machine).verdictNotLive, Why: "machine, fax and SIT are torn down"},
		{From: []State{Screening}, On: VerdictLive, Guard: "bot up", When: botUp, To: Connected,
			Do:  (*Machine).verdictAndServe,
			Why: "a live answer, served"},
		{From: []State{Screening}, On: VerdictLive, Guard: "seated", When: seated, To: Bridging, Do: (*Machine).verdictLive},
		{From: []State{Screening}, On: VerdictLive, To: Bridging, Do: (*Machine).verdictSequential,
			Why: "sequential: now a seat is wanted"},
		{From: []State{Answered}, On: VerdictLive, To: Bridging, Do: (*Machine).verdictLive,
			Why: "judged while it waits for a seat"},
		{From: []State{Bridging}, On: VerdictLive, Ignore: true, Why: "already judged"},
		{From: []State{Screening}, On: ScreenTimedOut, Guard: "bot up", When: botUp, To: Connected,
			Do:  (*Machine).undecidedAndServe,
			Why: "unknown goes to the bot"},
		{From: []State{Screening}, On: ScreenTimedOut, To: Bridging, Do: (*Machine).undecided},
		{From: []State{Answered, Bridging}, On: ScreenTimedOut, Ignore: true, Why: "the 2 s rule decides first"},

		{From: []State{Screening, Bridging}, On: BotConnected, Guard: "too late", When: tooLate, Do: (*Machine).abandonLate,
			Why: "the path must be up in time, whichever message is first in the queue"},
		{From: []State{Screening}, On: BotConnected, Guard: "seated", When: seated, Do: (*Machine).botUpWhileScreening},
		{From: []State{Bridging}, On: BotConnected, Guard: "seated", When: seated, To: Connected, Do: (*Machine).serve},
		{From: unserved, On: BotConnected, Ignore: true, Why: "no bot is attached before a seat"},
		{From: unserved, On: BotFailed, Guard: "seated", When: seated, Do: (*Machine).abandonLost,
			Why: "no endpoint of the bot took the call: capacity_loss"},
		{From: unserved, On: BotFailed, Ignore: true, Why: "no bot is attached before a seat"},
		{From: []State{Screening}, On: BotClosed, Guard: "bot up", When: botUp, To: Connected,
			Do:  (*Machine).serveThenBotHungUp,
			Why: "the bot took the call and hung up before classification decided"},
		{From: unserved, On: BotClosed, Guard: "seated", When: seated, Do: (*Machine).abandonLost},
		{From: unserved, On: BotClosed, Ignore: true, Why: "no bot is attached before a seat"},
		{From: unserved, On: BotFirstAudio, Do: (*Machine).firstAudio},

		{From: []State{Screening}, On: BridgeTimedOut, Guard: "bot up", When: botUp, Ignore: true,
			Why: "the bot's path is up in time; classification may go on"},
		{From: unserved, On: BridgeTimedOut, Guard: "seated, the node with the call is silent", When: seatedUnheard,
			Do:  (*Machine).abandonLost,
			Why: "whether its bot was there is not known: the node is dead, or cut off"},
		{From: unserved, On: BridgeTimedOut, Guard: "seated", When: seated, Do: (*Machine).abandonLate},
		{From: []State{Answered, Bridging}, On: BridgeTimedOut, Do: (*Machine).abandonNoSeat},

		{From: unserved, On: LegHungUp, To: Ended, Do: (*Machine).callerHungUp,
			Why: "a callee who hangs up before the bot is there is outside the rate"},
		{From: unserved, On: LegClosed, To: Ended, Do: (*Machine).closedUnserved,
			Why: "dropped on our side without a decision: capacity_loss"},
		{From: unserved, On: MediaFailed, Do: (*Machine).mediaFailed},
		{From: unserved, On: MediaSilent, Do: (*Machine).mediaFailed},
		{From: unserved, On: HangUpRequested, Guard: "by a Stop", When: bySystem, Ignore: true,
			Why: "it ends conversations; whoever has just picked up is still connected, not abandoned"},
		{From: []State{Screening}, On: HangUpRequested, Guard: "bot up", When: botUp, To: Connected,
			Do:  (*Machine).serveThenBotHungUp,
			Why: "a bot that ends its call through the API"},
		{From: unserved, On: HangUpRequested, Do: (*Machine).abandonLost,
			Why: "a live answer that we end unserved is an abandon, also on an operator's word"},
		{From: unserved, On: OwnerLost, To: Ended, Do: (*Machine).lost,
			Why: "answered but not connected and lost counts as abandoned, capacity_loss"},
	}
}

func connectedRows() []row {
	in := []State{Connected}
	rs := []row{
		{From: in, On: LegHungUp, To: Ended, Do: (*Machine).calleeHungUp},
		{From: in, On: LegClosed, To: Ended, Do: (*Machine).closedServed},
		{From: in, On: TransferRequested, Guard: "allowed", When: transferable, Do: (*Machine).transfer,
			Why: "the target is called; the bot talks on meanwhile"},
		{From: in, On: TrunkGranted, Guard: "for the target", When: wantsTrunk, Do: (*Machine).callTarget},
		{From: in, On: TrunkRefused, Guard: "for the target, a token comes in time", When: targetTrunkInTime,
			Do:  (*Machine).awaitTrunk,
			Why: "callee and bot talk on meanwhile"},
		{From: in, On: TrunkDue, Guard: "for the target", When: wantsTrunk, Do: (*Machine).askForTarget},
		{From: in, On: TrunkRefused, Guard: "for the target, the bot is gone", When: wantsTrunkAlone,
			Do: (*Machine).transferFailedAlone, Why: "nobody is left for the callee to talk to"},
		{From: in, On: TrunkRefused, Guard: "for the target", When: wantsTrunk, Do: (*Machine).noTrunkForTarget,
			Why: "the bot goes on and is told"},
		{From: in, On: TransferAnswered, Guard: "calling", When: calling, Do: (*Machine).handOver,
			Why: "callee and target are connected, the bot is taken off and its seat goes back"},
		{From: in, On: TransferFailed, Guard: "calling, the bot is gone", When: callingAlone,
			Do: (*Machine).transferFailedAlone, Why: "nobody is left for the callee to talk to"},
		{From: in, On: TransferFailed, Guard: "calling", When: calling, Do: (*Machine).transferFailed,
			Why: "the bot goes on and is told"},
		{From: in, On: TransferEnded, Guard: "bridged", When: bridged, Do: (*Machine).targetHungUp,
			Why: "either side's end ends both"},
		{From: in, On: BotClosed, Guard: "bridged", When: bridged, Ignore: true, Why: "the bot was taken off"},
		{From: in, On: BotClosed, Guard: "a target is called", When: calling, Do: (*Machine).botLeft,
			Why: "a bot may hang up once it has handed over (RFC 5589 §6.1); the callee waits for the target"},
		{From: in, On: BotClosed, Do: (*Machine).hangUpServed, Why: "the bot closing the socket means hang up"},
		{From: in, On: MessagePlayed, Do: (*Machine).takenOff,
			Why: "an owner that was replaced had taken the call off its bot, and did not get to tell"},
		{From: in, On: CallTimedOut, Do: (*Machine).callLimit},
		{From: in, On: MediaSilent, Guard: "on hold", When: onHold, Do: (*Machine).holdOver,
			Why: "nobody came back for the hold time-out: the conversation is over"},
		{From: in, On: MediaSilent, Do: (*Machine).mediaSilent,
			Why: "30 s with neither RTP nor RTCP ends the call as media_error"},
		{From: in, On: HangUpRequested, Do: (*Machine).hangUpServed,
			Why: "asked for by the bot through the API, or by a Stop that ends calls"},
		{From: in, On: BotFirstAudio, Do: (*Machine).firstAudio},
		{From: in, On: OwnerLost, To: Ended, Do: (*Machine).lost},
		{From: in, On: SeatGranted, Guard: "no bot", When: botless, Do: (*Machine).returnSeat,
			Why: "no bot is there any more"},
		{From: in, On: SeatGranted, Ignore: true, Why: "a repeated grant of the seat it holds"},
		{From: in, On: VerdictNotLive, Guard: "revised, a message is left", When: revisesAndLeaves,
			Do:  (*Machine).reviseAndLeave,
			Why: "the bot is taken off, the seat goes back"},
		{From: in, On: VerdictNotLive, Guard: "revised", When: revises, Do: (*Machine).revise,
			Why: "what is heard later, or the bot's word, revises the verdict: the bot is taken off"},
		{From: in, On: VerdictNotLive, Ignore: true,
			Why: "a live answer that stands stays one; the bot hears the beep itself"},
		{From: in, On: RevisionTimedOut, Do: (*Machine).stands,
			Why: "the abandon rate uses only answers that can no longer be revised"},
	}
	for _, k := range []Kind{VerdictLive, BotConnected, BotFailed, BridgeTimedOut, ScreenTimedOut, MediaFailed} {
		rs = append(rs, row{From: in, On: k, Ignore: true, Why: "the conversation is under way"})
	}
	return rs
}

func commonRows() []row {
	notAwaiting := append([]State{Reserved, Dialling, Ringing}, answeredUp...)
	rs := []row{
		{From: alive, On: LegReferred, Do: (*Machine).declineRefer,
			Why: "the callee's side does not say where the call goes"},
		{From: States, On: TransferRequested, Do: (*Machine).declineTransfer,
			Why: "not allowed, or not now: only a conversation is handed over"},
		{From: alive, On: TransferAnswered, Ignore: true, Why: "late"},
		{From: alive, On: TransferFailed, Ignore: true, Why: "late"},
		{From: alive, On: TransferEnded, Ignore: true, Why: "late"},
		{From: answeredUp, On: CancelRequested, Ignore: true, Why: "Stop lets conversations finish"},
		{From: answeredUp, On: ExcludeRequested, Ignore: true, Why: "a live conversation is left alone"},
		{From: answeredUp, On: RingTimedOut, Ignore: true},
		{From: answeredUp, On: Intercepted, Ignore: true, Why: "somebody answered"},
		{From: answeredUp, On: DigitPressed, Guard: "by signalling", When: signalled, Do: (*Machine).hearDigit},
		{From: answeredUp, On: DigitPressed, Ignore: true, Why: "digits go to the bot on the media path"},
		{From: answeredUp, On: LegFenced, Ignore: true, Why: "its end follows"},
		{From: answeredUp, On: LegSession, Do: (*Machine).sessionChanged,
			Why: "the hold of a lost call outlasts its session"},
		{From: beforeAnswer, On: LegSession, Ignore: true, Why: "there is no session yet, or it is being ended"},
		{From: answeredUp, On: LegTrying, Ignore: true},
		{From: answeredUp, On: LegRinging, Ignore: true},
		{From: notAwaiting, On: TrunkGranted, Guard: "another channel", When: anotherChannel, Do: (*Machine).returnTrunk,
			Why: "a channel that nobody waits for goes back"},
		{From: notAwaiting, On: TrunkGranted, Ignore: true, Why: "a repeated grant of the channel in use"},
		{From: notAwaiting, On: TrunkRefused, Ignore: true, Why: "no other trunk is awaited"},
		{From: notAwaiting, On: TrunkDue, Ignore: true, Why: "no other trunk is awaited"},
		{From: alive, On: ResultStored, Do: (*Machine).storeResult, Why: "a result may come before the call's end"},
		{From: []State{Ended}, On: ResultStored, Do: (*Machine).storeResult, Why: "a late result"},
		{From: []State{Ended}, On: SeatGranted, Do: (*Machine).returnSeat},
		{From: []State{Ended}, On: TrunkGranted, Do: (*Machine).returnTrunk},
	}
	for _, k := range Kinds {
		switch k {
		case ResultStored, SeatGranted, TrunkGranted, Began, TransferRequested:
		default:
			rs = append(rs, row{From: []State{Ended}, On: k, Ignore: true, Why: "the attempt is over"})
		}
	}
	return rs
}

// classify looks up the meaning of the event in the one table of final responses.
func (m *Machine) classify(ev Event) *disposition.Result {
	if m.class != nil {
		return m.class
	}
	in := disposition.Input{AfterRinging: m.A.State == Ringing, AuthTried: true, Intercepted: m.intercepted}
	if l := ev.Leg; l != nil {
		in.Code, in.Reason, in.Q850 = l.Code, l.Reason, l.Q850
		in.NetworkBlocked, in.LimitReached, in.RetryAfter = l.NetworkBlocked, l.LimitReached, l.RetryAfter
		in.NotSent = l.NotSent
		in.Silent = l.Kind == engine.LegSilent
	}
	r := disposition.Classify(in)
	m.class = &r
	return m.class
}
