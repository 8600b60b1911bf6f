package attempt

import (
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

func ending(m *Machine, _ Event) bool { return m.A.Ending != nil }
func seated(m *Machine, _ Event) bool { return m.A.Seated }
func botUp(m *Machine, _ Event) bool  { return m.A.BotUp }
func judged(m *Machine, _ Event) bool {
	return m.A.Verdict != "" || m.Config.AMD == engine.AMDOff
}
func sequential(m *Machine, _ Event) bool { return m.Config.AMD == engine.AMDSequential }
func parallel(m *Machine, _ Event) bool   { return m.Config.AMD == engine.AMDParallel }
func nextTrunk(m *Machine, ev Event) bool {
	return m.classify(ev).NextTrunk
}

var table = fsm.New("attempt", States, Kinds, rows())

func rows() []row {
	var rs []row
	add := func(r ...row) { rs = append(rs, r...) }

	// --- an attempt that is ending only waits for its leg -------------------
	overKinds := []Kind{LegNotSent, LegRefused, LegHungUp, LegClosed}
	for _, k := range overKinds {
		add(row{From: alive, On: k, Guard: "ending", When: ending, To: Ended, Do: (*Machine).legOver,
			Why: "the leg's last event ends an attempt whose end is decided"})
	}
	add(
		row{From: alive, On: OwnerLost, Guard: "ending", When: ending, To: Ended, Do: (*Machine).lost,
			Why: "the leg is gone"},
		row{From: alive, On: LegAnswered, Guard: "ending", When: ending, Do: (*Machine).crossedAnswer,
			Why: "a 200 that crosses our CANCEL is ACKed and ended with BYE (RFC 3261 §9.1)"},
		row{From: alive, On: LegSilent, Guard: "ending", When: ending, Ignore: true,
			Why: "no answer to CANCEL or BYE; the leg stays owned until it closes"},
		row{From: alive, On: MessagePlayed, Guard: "ending", When: ending, Do: (*Machine).hangUpNow,
			Why: "after the information message the call ends"},
		row{From: alive, On: MediaSilent, Guard: "ending", When: ending, Do: (*Machine).hangUpNow,
			Why: "nobody hears the message any more"},
		row{From: alive, On: CallTimedOut, Guard: "ending", When: ending, Do: (*Machine).hangUpNow,
			Why: "a message that never ends must not keep the line"},
		row{From: alive, On: HangUpRequested, Guard: "ending", When: ending, Do: (*Machine).hangUpNow},
		row{From: alive, On: SeatGranted, Guard: "ending", When: ending, Do: (*Machine).returnSeat,
			Why: "a seat that comes too late goes back at once"},
		row{From: alive, On: TrunkGranted, Guard: "ending", When: ending, Do: (*Machine).returnTrunk,
			Why: "a channel that comes too late goes back at once"},
		row{From: alive, On: ResultStored, Guard: "ending", When: ending, Do: (*Machine).storeResult},
	)
	for _, k := range []Kind{LegSent, LegTrying, LegRinging, TrunkRefused, VerdictLive, VerdictNotLive,
		BotConnected, BotFailed, BotFirstAudio, BotClosed, MediaFailed, RingTimedOut, BridgeTimedOut, ScreenTimedOut,
		CancelRequested, ExcludeRequested, DigitPressed, IntentRefused} {
		add(row{From: alive, On: k, Guard: "ending", When: ending, Ignore: true, Why: "the end is decided"})
	}

	// --- reserved -----------------------------------------------------------
	add(
		row{From: []State{Reserved}, On: Began, Do: (*Machine).begin,
			Why: "the intent is durable before the INVITE leaves"},
		row{From: []State{Reserved}, On: IntentRefused, To: Ended, Do: (*Machine).intentRefused},
		row{From: []State{Reserved, Dialling}, On: LegSent, To: Dialling, Do: (*Machine).sent},
		row{From: []State{Reserved, Dialling}, On: LegNotSent, Guard: "another trunk", When: nextTrunk, To: Dialling, Do: (*Machine).tryNext,
			Why: "a send that certainly failed goes to the next trunk in the same attempt"},
		row{From: []State{Reserved, Dialling}, On: LegNotSent, To: Ended, Do: (*Machine).notSent},
	)

	// --- dialling, ringing --------------------------------------------------
	add(
		row{From: []State{Reserved, Dialling}, On: LegTrying, To: Dialling, Do: (*Machine).trying},
		row{From: []State{Ringing}, On: LegTrying, Ignore: true, Why: "a late 100 or 183 changes nothing"},
		row{From: []State{Reserved, Dialling, Ringing}, On: LegRinging, To: Ringing, Do: (*Machine).ringing,
			Why: "18x; repeated ones are common"},
		row{From: beforeAnswer, On: LegAnswered, Guard: "sequential", When: sequential, To: Screening, Do: (*Machine).answeredSequential,
			Why: "sequential: listen first, no seat"},
		row{From: beforeAnswer, On: LegAnswered, To: Answered, Do: (*Machine).answered,
			Why: "the dialog is durable before the ACK leaves"},
		row{From: beforeAnswer, On: LegRefused, Guard: "another trunk", When: nextTrunk, To: Dialling, Do: (*Machine).tryNext,
			Why: "a final refusal of the network: no phone rings, the next trunk may be tried"},
		row{From: beforeAnswer, On: LegRefused, To: Ended, Do: (*Machine).refused},
		row{From: beforeAnswer, On: LegSilent, Do: (*Machine).silent,
			Why: "silence: not the next trunk, the phone may be ringing"},
		row{From: beforeAnswer, On: LegClosed, To: Ended, Do: (*Machine).gone},
		row{From: beforeAnswer, On: LegHungUp, To: Ended, Do: (*Machine).gone},
		row{From: []State{Dialling}, On: TrunkGranted, Do: (*Machine).nextLeg},
		row{From: []State{Dialling}, On: TrunkRefused, To: Ended, Do: (*Machine).noTrunk},
		row{From: beforeAnswer, On: RingTimedOut, Do: (*Machine).ringTimedOut},
		row{From: []State{Reserved, Dialling}, On: CancelRequested, Guard: "between trunks", When: betweenLegs, To: Ended, Do: (*Machine).cancelBetween},
		row{From: []State{Reserved, Dialling}, On: ExcludeRequested, Guard: "between trunks", When: betweenLegs, To: Ended, Do: (*Machine).cancelBetween},
		row{From: []State{Reserved, Dialling}, On: HangUpRequested, Guard: "between trunks", When: betweenLegs, To: Ended, Do: (*Machine).cancelBetween},
		row{From: beforeAnswer, On: CancelRequested, Do: (*Machine).cancel, Why: "Stop cancels ringing legs"},
		row{From: beforeAnswer, On: ExcludeRequested, Do: (*Machine).cancel, Why: "Exclude cancels ringing legs"},
		row{From: beforeAnswer, On: HangUpRequested, Do: (*Machine).cancel},
		row{From: beforeAnswer, On: OwnerLost, To: Ended, Do: (*Machine).lost},
		row{From: beforeAnswer, On: DigitPressed, Ignore: true, Why: "early media is not listened to"},
	)

	// --- answered, not yet connected ----------------------------------------
	add(
		row{From: []State{Answered}, On: SeatGranted, Guard: "parallel, not judged yet", When: func(m *Machine, ev Event) bool {
			return parallel(m, ev) && m.A.Verdict == ""
		}, To: Screening, Do: (*Machine).takeSeat,
			Why: "parallel: the bot is attached at once while classification listens"},
		row{From: []State{Answered, Bridging}, On: SeatGranted, To: Bridging, Do: (*Machine).takeSeat},
		row{From: []State{Screening}, On: SeatGranted, Do: (*Machine).returnSeat, Why: "a second grant goes back"},
		row{From: unserved, On: VerdictNotLive, Do: (*Machine).verdictNotLive,
			Why: "machine, fax and SIT are torn down"},
		row{From: []State{Screening}, On: VerdictLive, Guard: "bot up", When: botUp, To: Connected, Do: (*Machine).verdictAndServe,
			Why: "a live answer, served"},
		row{From: []State{Screening}, On: VerdictLive, Guard: "seated", When: seated, To: Bridging, Do: (*Machine).verdictLive},
		row{From: []State{Screening}, On: VerdictLive, To: Bridging, Do: (*Machine).verdictSequential,
			Why: "sequential: now a seat is wanted"},
		row{From: []State{Answered}, On: VerdictLive, To: Bridging, Do: (*Machine).verdictLive,
			Why: "judged while it waits for a seat"},
		row{From: []State{Bridging}, On: VerdictLive, Ignore: true, Why: "already judged"},
		row{From: []State{Screening}, On: BotConnected, Do: (*Machine).botUpWhileScreening},
		row{From: []State{Bridging}, On: BotConnected, To: Connected, Do: (*Machine).serve},
		row{From: []State{Answered}, On: BotConnected, Ignore: true, Why: "no bot is attached before a seat"},
		row{From: []State{Screening, Bridging}, On: BotFailed, Do: (*Machine).abandonLost,
			Why: "no endpoint of the bot took the call: capacity_loss"},
		row{From: []State{Answered}, On: BotFailed, Ignore: true, Why: "no bot is attached before a seat"},
		row{From: []State{Screening}, On: BotClosed, Guard: "bot up", When: botUp, To: Connected, Do: (*Machine).serveThenBotHungUp,
			Why: "the bot took the call and hung up before classification decided"},
		row{From: []State{Answered, Screening, Bridging}, On: BotClosed, Do: (*Machine).abandonLost},
		row{From: unserved, On: BotFirstAudio, Do: (*Machine).firstAudio},
		row{From: []State{Screening}, On: BridgeTimedOut, Guard: "bot up", When: botUp, Ignore: true,
			Why: "the bot's path stands in time; classification may go on"},
		row{From: []State{Screening}, On: BridgeTimedOut, Guard: "seated", When: seated, Do: (*Machine).abandonLate},
		row{From: []State{Screening}, On: BridgeTimedOut, Ignore: true, Why: "sequential: the deadline starts with the verdict"},
		row{From: []State{Answered, Bridging}, On: BridgeTimedOut, Guard: "seated", When: seated, Do: (*Machine).abandonLate},
		row{From: []State{Answered, Bridging}, On: BridgeTimedOut, Do: (*Machine).abandonNoSeat},
		row{From: []State{Screening}, On: ScreenTimedOut, Guard: "bot up", When: botUp, To: Connected, Do: (*Machine).undecidedAndServe,
			Why: "unknown goes to the bot"},
		row{From: []State{Screening}, On: ScreenTimedOut, To: Bridging, Do: (*Machine).undecided},
		row{From: []State{Answered, Bridging}, On: ScreenTimedOut, Ignore: true, Why: "the 2 s rule decides first"},
		row{From: unserved, On: LegHungUp, To: Ended, Do: (*Machine).callerHungUp,
			Why: "a callee who hangs up before the bot is there is outside the rate"},
		row{From: unserved, On: LegClosed, To: Ended, Do: (*Machine).callerHungUp},
		row{From: unserved, On: MediaFailed, Do: (*Machine).mediaFailed},
		row{From: unserved, On: MediaSilent, Do: (*Machine).mediaFailed},
		row{From: unserved, On: HangUpRequested, Do: (*Machine).hangUpUnserved},
		row{From: unserved, On: OwnerLost, To: Ended, Do: (*Machine).lost,
			Why: "answered but not connected and lost counts as abandoned, capacity_loss"},
	)

	// --- connected ----------------------------------------------------------
	add(
		row{From: []State{Connected}, On: LegHungUp, To: Ended, Do: (*Machine).calleeHungUp},
		row{From: []State{Connected}, On: LegClosed, To: Ended, Do: (*Machine).calleeHungUp},
		row{From: []State{Connected}, On: BotClosed, Do: (*Machine).botHungUp, Why: "the bot closing the socket means hang up"},
		row{From: []State{Connected}, On: CallTimedOut, Do: (*Machine).callLimit},
		row{From: []State{Connected}, On: MediaSilent, Do: (*Machine).mediaSilent,
			Why: "30 s with neither RTP nor RTCP ends the call as media_error"},
		row{From: []State{Connected}, On: HangUpRequested, Do: (*Machine).hangUpServed},
		row{From: []State{Connected}, On: BotFirstAudio, Do: (*Machine).firstAudio},
		row{From: []State{Connected}, On: OwnerLost, To: Ended, Do: (*Machine).lost},
		row{From: []State{Connected}, On: SeatGranted, Ignore: true, Why: "a repeated grant of the seat it holds"},
		row{From: []State{Connected}, On: VerdictNotLive, Ignore: true, Why: "a revision after the connect is left to the bot"},
		row{From: []State{Connected}, On: VerdictLive, Ignore: true},
		row{From: []State{Connected}, On: BotConnected, Ignore: true},
		row{From: []State{Connected}, On: BotFailed, Ignore: true},
		row{From: []State{Connected}, On: BridgeTimedOut, Ignore: true},
		row{From: []State{Connected}, On: ScreenTimedOut, Ignore: true},
		row{From: []State{Connected}, On: MediaFailed, Ignore: true},
	)

	// --- in several ---------------------------------------------------------
	add(
		row{From: answeredUp, On: CancelRequested, Ignore: true, Why: "Stop lets conversations finish"},
		row{From: answeredUp, On: ExcludeRequested, Ignore: true, Why: "a live conversation is left alone"},
		row{From: answeredUp, On: RingTimedOut, Ignore: true},
		row{From: answeredUp, On: DigitPressed, Ignore: true, Why: "digits go to the bot on the media path"},
		row{From: answeredUp, On: LegTrying, Ignore: true},
		row{From: answeredUp, On: LegRinging, Ignore: true},
		row{From: alive, On: ResultStored, Do: (*Machine).storeResult, Why: "a result may come before the call's end"},
		row{From: []State{Ended}, On: ResultStored, Do: (*Machine).storeResult, Why: "a late result"},
		row{From: []State{Ended}, On: SeatGranted, Do: (*Machine).returnSeat},
		row{From: []State{Ended}, On: TrunkGranted, Do: (*Machine).returnTrunk},
	)
	for _, k := range Kinds {
		switch k {
		case ResultStored, SeatGranted, TrunkGranted, Began:
		default:
			add(row{From: []State{Ended}, On: k, Ignore: true, Why: "the attempt is over"})
		}
	}
	return rs
}

// betweenLegs: the last leg ended and the next trunk is awaited, or there was
// no leg yet.
func betweenLegs(m *Machine, _ Event) bool {
	l := m.last()
	return l == nil || l.EndedAt != nil
}

// classify asks the one table of final responses what the event means.
func (m *Machine) classify(ev Event) *disposition.Result {
	if m.class != nil {
		return m.class
	}
	in := disposition.Input{AfterRinging: m.A.RingingAt != nil, AuthTried: true}
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
