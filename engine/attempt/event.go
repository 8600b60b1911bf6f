package attempt

import (
	"time"

	"dialler/engine"
	"dialler/engine/disposition"
)

// Kind names an event of the machine; past tense.
type Kind string

const (
	Began            Kind = "began"              // leases are held; the intent is recorded
	IntentRefused    Kind = "intent_refused"     // the database refused the intent: number held, suppressed, stale owner
	LegSent          Kind = "leg_sent"           //
	LegNotSent       Kind = "leg_not_sent"       //
	LegTrying        Kind = "leg_trying"         // 1xx other than 18x
	LegRinging       Kind = "leg_ringing"        // 18x
	LegAnswered      Kind = "leg_answered"       //
	LegRefused       Kind = "leg_refused"        //
	LegSilent        Kind = "leg_silent"         //
	LegHungUp        Kind = "leg_hung_up"        // by the far side
	LegClosed        Kind = "leg_closed"         // our BYE is done, or the leg was given up
	TrunkGranted     Kind = "trunk_granted"      // another trunk for the next leg
	TrunkRefused     Kind = "trunk_refused"      // no other trunk
	SeatGranted      Kind = "seat_granted"       //
	VerdictLive      Kind = "verdict_live"       // human, unknown, silence, screener
	VerdictNotLive   Kind = "verdict_not_live"   // machine, fax, SIT
	BotConnected     Kind = "bot_connected"      //
	BotFailed        Kind = "bot_failed"         //
	BotFirstAudio    Kind = "bot_first_audio"    //
	BotClosed        Kind = "bot_closed"         //
	MessagePlayed    Kind = "message_played"     //
	MediaSilent      Kind = "media_silent"       // RTP time-out
	MediaFailed      Kind = "media_failed"       // unusable SDP answer
	RingTimedOut     Kind = "ring_timed_out"     //
	BridgeTimedOut   Kind = "bridge_timed_out"   // the 2 s rule
	ScreenTimedOut   Kind = "screen_timed_out"   // classification never decided
	CallTimedOut     Kind = "call_timed_out"     // call limit
	RevisionTimedOut Kind = "revision_timed_out" // nothing takes the live answer back any more
	TrunkDue         Kind = "trunk_due"          // the token that was waited for is there
	CancelRequested  Kind = "cancel_requested"   // campaign stop: ringing legs only
	ExcludeRequested Kind = "exclude_requested"  // exclusion or suppression: ringing legs only
	HangUpRequested  Kind = "hang_up_requested"  // API or operator: any phase
	DigitPressed     Kind = "digit_pressed"      //
	PeerJoined       Kind = "peer_joined"        // a far leg's SDP answer was taken
	PeerUnfit        Kind = "peer_unfit"         // it cannot be used
	PeerTimedOut     Kind = "peer_timed_out"     // a far leg's share of the time is used up
	PeerDropped      Kind = "peer_dropped"       // the call wants a far leg no more
	PeerSilent       Kind = "peer_silent"        // RTP time-out of a far leg
	LegFenced        Kind = "leg_fenced"         // its node's lease is over: the port is ending it
	LegReferred      Kind = "leg_referred"       // REFER: the far side wants the call transferred
	LegSession       Kind = "leg_session"        // its session may outlast what was recorded of it

	TransferRequested Kind = "transfer_requested" // the bot wants the callee handed over to somebody
	TransferAnswered  Kind = "transfer_answered"  // the target took the call, and its audio is joined
	TransferFailed    Kind = "transfer_failed"    // it did not
	TransferEnded     Kind = "transfer_ended"     // the target hung up
	ResultStored      Kind = "result_stored"      //
	OwnerLost         Kind = "owner_lost"         // the process that owned the attempt died, or its leg is gone
)

// Kinds lists every event kind of an attempt; PeerKinds has those of a far leg.
var Kinds = []Kind{
	Began, IntentRefused, LegSent, LegNotSent, LegTrying, LegRinging, LegAnswered, LegRefused,
	LegSilent, LegHungUp, LegClosed, TrunkGranted, TrunkRefused, SeatGranted, VerdictLive,
	VerdictNotLive, BotConnected, BotFailed, BotFirstAudio, BotClosed, MessagePlayed, MediaSilent,
	MediaFailed, RingTimedOut, BridgeTimedOut, ScreenTimedOut, CallTimedOut, CancelRequested,
	ExcludeRequested, HangUpRequested, DigitPressed, ResultStored, OwnerLost,
	LegFenced, LegReferred, LegSession, TransferRequested, TransferAnswered, TransferFailed, TransferEnded,
	RevisionTimedOut, TrunkDue,
}

// Event is one input of the machine.
type Event struct {
	Kind  Kind
	At    time.Time
	Leg   *engine.LegEvent   // of Leg… kinds
	Media *engine.MediaEvent // of Verdict…, Bot…, MediaSilent, MediaFailed, DigitPressed
	Trunk engine.TrunkID     // of TrunkGranted
	// Profile is the granted trunk's, of Began and TrunkGranted; nil: nothing is asked for.
	Profile *engine.MediaProfile
	Epoch   int          // of timer events; a stale one is dropped
	Err     string       // of IntentRefused, BotFailed, TrunkRefused
	Result  *Result      // of ResultStored
	By      engine.Party // of HangUpRequested: who asks, "" = the bot; of VerdictNotLive: PartyBot when it says so
	Peer    engine.LegID // of PeerJoined, PeerUnfit, Transfer…; "" when the API asked
	To      string       // of TransferRequested: +… or sip:…
	Until   time.Time    // of IntentRefused and TrunkRefused: from when on it would be taken or granted; zero when that is not known
	Unheard bool         // of BridgeTimedOut: nothing is heard of the node that has the legs
}

// FromLeg turns an adapter's leg event into the machine's; ok is false for a
// kind that the machine has no use for.
func FromLeg(e engine.LegEvent) (ev Event, ok bool) {
	ev = Event{At: e.At, Leg: &e}
	switch e.Kind {
	case engine.LegSent:
		ev.Kind = LegSent
	case engine.LegNotSent:
		ev.Kind = LegNotSent
	case engine.LegProvisional:
		if e.Code >= 180 && e.Code <= 189 {
			ev.Kind = LegRinging
		} else {
			ev.Kind = LegTrying
		}
	case engine.LegAnswered:
		ev.Kind = LegAnswered
	case engine.LegRefused:
		ev.Kind = LegRefused
	case engine.LegSilent:
		ev.Kind = LegSilent
	case engine.LegHungUp:
		ev.Kind = LegHungUp
	case engine.LegClosed:
		ev.Kind = LegClosed
	case engine.LegFenced:
		ev.Kind = LegFenced
	case engine.LegReferred:
		ev.Kind = LegReferred
	case engine.LegSession:
		ev.Kind = LegSession
	case engine.LegDigit:
		ev.Kind = DigitPressed
		ev.Media = &engine.MediaEvent{Attempt: e.Attempt, At: e.At, Kind: engine.MediaDigit, Digit: e.Digit}
	default:
		return Event{}, false
	}
	return ev, true
}

// FromMedia turns an adapter's media event into the machine's.
func FromMedia(e engine.MediaEvent) (ev Event, ok bool) {
	ev = Event{At: e.At, Media: &e, Err: e.Error}
	switch e.Kind {
	case engine.MediaVerdict:
		if e.Verdict.Live() {
			ev.Kind = VerdictLive
		} else {
			ev.Kind = VerdictNotLive
		}
	case engine.MediaBotVerdict:
		if e.Verdict.Live() {
			return Event{}, false
		}
		ev.Kind, ev.By = VerdictNotLive, engine.PartyBot
	case engine.MediaBotConnected:
		ev.Kind = BotConnected
	case engine.MediaBotFailed:
		ev.Kind = BotFailed
	case engine.MediaBotFirstAudio:
		ev.Kind = BotFirstAudio
	case engine.MediaBotClosed:
		ev.Kind = BotClosed
	case engine.MediaPlayed:
		ev.Kind = MessagePlayed
	case engine.MediaDigit:
		ev.Kind = DigitPressed
	case engine.MediaSilent:
		ev.Kind = MediaSilent
	case engine.MediaFailed:
		ev.Kind = MediaFailed
	case engine.MediaPeerSilent:
		ev.Kind, ev.Peer = PeerSilent, engine.LegID(e.Session)
	default:
		return Event{}, false
	}
	return ev, true
}

// Timer names a deadline of the machine.
type Timer string

const (
	TimerRing   Timer = "ring"
	TimerBridge Timer = "bridge"
	TimerScreen Timer = "screen"
	TimerCall   Timer = "call"
	TimerPeer   Timer = "peer"
	TimerRevise Timer = "revise"
	TimerTrunk  Timer = "trunk"
)

// Fired gives the event of a timer that fired.
func (t Timer) Fired(at time.Time, epoch int) Event {
	ev := Event{At: at, Epoch: epoch}
	switch t {
	case TimerRing:
		ev.Kind = RingTimedOut
	case TimerBridge:
		ev.Kind = BridgeTimedOut
	case TimerScreen:
		ev.Kind = ScreenTimedOut
	case TimerCall:
		ev.Kind = CallTimedOut
	case TimerPeer:
		ev.Kind = PeerTimedOut
	case TimerRevise:
		ev.Kind = RevisionTimedOut
	case TimerTrunk:
		ev.Kind = TrunkDue
	}
	return ev
}

// Effect is imperative data for the contact actor.
type Effect interface{ effect() }

type (
	// Record makes the attempt durable as it stands, with an event of the type.
	// Gated effects that follow it in the same step wait for it.
	Record struct{ What What }
	// Dial opens the media path as the trunk wants it, again for each leg, and
	// places the leg. Gated.
	Dial struct {
		Leg     engine.LegID
		Trunk   engine.TrunkID
		Profile *engine.MediaProfile // nil: nothing is asked for
	}
	// Confirm sends the ACK. Gated.
	Confirm struct{ Leg engine.LegID }
	// Cancel sends CANCEL, or makes sure that the INVITE never leaves. It may
	// come twice.
	Cancel struct{ Leg engine.LegID }
	// HangUp ends an answered leg with BYE, after the ACK where that is still
	// owed. It may come twice, and for a leg that the port is ending by itself.
	HangUp struct {
		Leg   engine.LegID
		Cause engine.HangUpCause
	}
	// AnswerMedia starts the audio with the far side's SDP.
	AnswerMedia struct{ SDP []byte }
	// AttachBot opens the bot's socket; all tries together end at Deadline.
	AttachBot struct{ Deadline time.Time }
	DetachBot struct{}
	// DialPeer opens a second media path and places a far leg, not after SendBy.
	// Gated. The URI is sip:…, or tel:+… through the trunk.
	DialPeer struct {
		Leg   engine.LegID
		Kind  PeerKind
		URI   string
		Trunk engine.TrunkID
		// Profile is that trunk's; nil: nothing is asked for.
		Profile *engine.MediaProfile
		SendBy  time.Time
	}
	// AnswerRefer accepts or declines a REFER; NotifyRefer tells who asked how the
	// transfer goes, by the status code of the call to the target.
	AnswerRefer struct {
		Leg    engine.LegID
		Accept bool
	}
	NotifyRefer struct {
		Leg    engine.LegID
		Code   int
		Reason string
	}
	// JoinPeer connects the callee with a far leg by its SDP answer; PeerJoined or
	// PeerUnfit follows. It may come twice.
	JoinPeer struct {
		Leg engine.LegID
		SDP []byte
	}
	// ClosePeer ends a far leg's media path. It may come twice.
	ClosePeer   struct{ Leg engine.LegID }
	PlayMessage struct{}
	// LeaveVoicemail plays the campaign's message to the machine that answered, at
	// its beep; MessagePlayed follows.
	LeaveVoicemail struct{ Message engine.VoicemailID }
	// HearDigit tells the bot of a digit that came by signalling (INFO); digits
	// of the media path reach it there.
	HearDigit  struct{ Digit byte }
	CloseMedia struct{}
	// Arm starts a timer; an older one of the name is void by its epoch.
	Arm struct {
		Timer Timer
		At    time.Time
		Epoch int
	}
	// TrunkEvent tells the trunk how the leg's first answer went; Over gives
	// the leg's channel back.
	TrunkEvent struct {
		Trunk engine.TrunkID
		Leg   engine.LegID
		Class *disposition.Result
		Over  bool
	}
	// NextTrunk asks for another trunk, those tried excepted.
	NextTrunk struct{ Tried []engine.TrunkID }
	// Line tells the campaign's run of the line's new phase (pacing, seats).
	Line struct {
		Phase Phase
		Cause engine.AbandonCause
		// BotMissed: abandoned because the bot did not take it, and not because it was
		// lost or ended on our side.
		BotMissed bool
		// Tentative: served, but a later verdict may take that back; CountLive says when
		// it no longer can.
		Tentative bool
	}
	// CountLive: the line's answer is a live one for good.
	CountLive struct{}
	// NumberFree gives the number slot back; Strike marks it against the
	// caller ID.
	NumberFree struct{ Strike bool }
	// Over is the last effect of every attempt.
	Over struct{}
)

func (Record) effect()         {}
func (Dial) effect()           {}
func (Confirm) effect()        {}
func (Cancel) effect()         {}
func (HangUp) effect()         {}
func (AnswerMedia) effect()    {}
func (AttachBot) effect()      {}
func (DetachBot) effect()      {}
func (DialPeer) effect()       {}
func (AnswerRefer) effect()    {}
func (NotifyRefer) effect()    {}
func (JoinPeer) effect()       {}
func (ClosePeer) effect()      {}
func (PlayMessage) effect()    {}
func (LeaveVoicemail) effect() {}
func (CountLive) effect()      {}
func (HearDigit) effect()      {}
func (CloseMedia) effect()     {}
func (Arm) effect()            {}
func (TrunkEvent) effect()     {}
func (NextTrunk) effect()      {}
func (Line) effect()           {}
func (NumberFree) effect()     {}
func (Over) effect()           {}

// Gated says whether an effect waits for what was recorded before it.
func Gated(e Effect) bool {
	switch e.(type) {
	case Dial, DialPeer, Confirm:
		return true
	}
	return false
}

// What is recorded.
type What string

const (
	WhatReserved  What = "reserved" // with the intent
	WhatLeg       What = "leg"      // a further leg
	WhatAnswered  What = "answered"
	WhatConnected What = "connected"
	WhatRevised   What = "revised" // a later verdict: no person answered
	WhatAbandoned What = "abandoned"
	WhatOptedOut  What = "opted_out" // with the suppression of the number
	WhatEnded     What = "ended"
	WhatResult    What = "result"
)

// Phase is where a line stands for pacing and live counters.
type Phase string

const (
	PhaseDialling  Phase = "dialling" // an INVITE is out or about to be
	PhaseRinging   Phase = "ringing"
	PhaseListening Phase = "listening" // answered, sequential classification, no seat
	PhaseWaiting   Phase = "waiting"   // answered, wants a seat
	PhaseServed    Phase = "served"    // connected: a live answer served
	PhaseAbandoned Phase = "abandoned" // a live answer not served; the seat, if any, is back
	PhaseReleased  Phase = "released"  // no longer needs a seat; the leg may still be closing
	PhaseOver      Phase = "over"      // the line is free
)
