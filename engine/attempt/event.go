package attempt

import (
	"time"

	"dialler/engine"
	"dialler/engine/disposition"
)

// Kind names an event of the machine, in the past tense.
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
	Intercepted      Kind = "intercepted"        // before the answer the network announced that it cannot be reached
	MediaFailed      Kind = "media_failed"       // unusable SDP answer
	RingTimedOut     Kind = "ring_timed_out"     //
	BridgeTimedOut   Kind = "bridge_timed_out"   // the 2 s rule
	ScreenTimedOut   Kind = "screen_timed_out"   // classification never decided
	CallTimedOut     Kind = "call_timed_out"     // call limit
	RevisionTimedOut Kind = "revision_timed_out" // the live answer can no longer be revoked
	TrunkDue         Kind = "trunk_due"          // the awaited token is available
	CancelRequested  Kind = "cancel_requested"   // campaign stop: ringing legs only
	ExcludeRequested Kind = "exclude_requested"  // exclusion or suppression: ringing legs only
	HangUpRequested  Kind = "hang_up_requested"  // API or operator: any phase
	DigitPressed     Kind = "digit_pressed"      //
	PeerJoined       Kind = "peer_joined"        // a far leg's SDP answer was taken
	PeerUnfit        Kind = "peer_unfit"         // it is unusable
	PeerTimedOut     Kind = "peer_timed_out"     // a far leg's share of the time is used up
	PeerDropped      Kind = "peer_dropped"       // the call no longer needs a far leg
	PeerSilent       Kind = "peer_silent"        // RTP time-out of a far leg
	LegFenced        Kind = "leg_fenced"         // its node's lease is over: the port ends it
	LegReferred      Kind = "leg_referred"       // REFER: the far side wants the call transferred
	LegSession       Kind = "leg_session"        // its session may outlast the recorded one

	TransferRequested Kind = "transfer_requested" // the bot wants to hand the callee over
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
	VerdictNotLive, BotConnected, BotFailed, BotFirstAudio, BotClosed, MessagePlayed, MediaSilent, Intercepted,
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
	// Profile is the media profile of the granted trunk, of Began and TrunkGranted; nil means no
	// special requirements.
	Profile *engine.MediaProfile
	Dialog  *engine.DialogState // of Began, for a call that came in
	Epoch   int                 // of timer events; a stale one is dropped
	Err     string              // of IntentRefused, BotFailed, TrunkRefused
	Result  *Result             // of ResultStored
	By      engine.Party        // of HangUpRequested: who asks, "" = the bot; of VerdictNotLive: PartyBot when it says so
	Peer    engine.LegID        // of PeerJoined, PeerUnfit, Transfer…; "" when the API asked
	To      string              // of TransferRequested: +… or sip:…
	Until   time.Time           // of IntentRefused and TrunkRefused: when it would be accepted; zero if unknown
	Unheard bool                // of BridgeTimedOut: the node with the legs cannot be heard
}

// FromLeg turns an adapter's leg event into a machine event; ok is false for a kind that the
// machine does not need.
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

// FromMedia turns an adapter's media event into a machine event.
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
	case engine.MediaIntercepted:
		ev.Kind = Intercepted
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

// Fired returns the event of a timer that fired.
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

// Effect is an instruction to the contact actor, as data.
type Effect interface{ effect() }

type (
	// Record makes the attempt durable in its current state, with an event of that type. Gated
	// effects that follow it in the same step wait for it.
	Record struct{ What What }
	// Dial opens the media path with the trunk's profile, once for each leg, and places the leg.
	// Gated.
	Dial struct {
		Leg     engine.LegID
		Trunk   engine.TrunkID
		Profile *engine.MediaProfile // nil means no special requirements
	}
	// Confirm sends the ACK. Gated.
	Confirm struct{ Leg engine.LegID }
	// Cancel sends CANCEL, or makes sure that the INVITE never leaves. It may be emitted twice.
	Cancel struct{ Leg engine.LegID }
	// HangUp ends an answered leg with BYE, after the ACK if that is still due. It may be emitted
	// twice, and for a leg that the port is already ending.
	HangUp struct {
		Leg   engine.LegID
		Cause engine.HangUpCause
	}
	// HearEarly lets the audio before the answer be heard, for an announcement of the network;
	// Intercepted may follow. It may be emitted again.
	HearEarly struct{ SDP []byte }
	// AnswerMedia starts the audio with the far side's SDP.
	AnswerMedia struct{ SDP []byte }
	// AttachBot opens the bot's socket; Deadline bounds all tries together.
	AttachBot struct{ Deadline time.Time }
	DetachBot struct{}
	// DialPeer opens a second media path and places a far leg, not later than SendBy. Gated. The
	// URI is sip:…, or tel:+… through the trunk.
	DialPeer struct {
		Leg   engine.LegID
		Kind  PeerKind
		URI   string
		Trunk engine.TrunkID
		// Profile is that trunk's media profile; nil means no special requirements.
		Profile *engine.MediaProfile
		SendBy  time.Time
	}
	// AnswerRefer accepts or declines a REFER; NotifyRefer reports the transfer's progress to its
	// sender, by the status code of the call to the target.
	AnswerRefer struct {
		Leg    engine.LegID
		Accept bool
	}
	NotifyRefer struct {
		Leg    engine.LegID
		Code   int
		Reason string
	}
	// JoinPeer connects the callee with a far leg by its SDP answer; PeerJoined or PeerUnfit
	// follows. It may be emitted twice.
	JoinPeer struct {
		Leg engine.LegID
		SDP []byte
	}
	// ClosePeer ends a far leg's media path. It may be emitted twice.
	ClosePeer   struct{ Leg engine.LegID }
	PlayMessage struct{}
	// LeaveVoicemail plays the campaign's message to the answering machine, after its beep, or with
	// AtOnce a message to a caller; MessagePlayed follows.
	LeaveVoicemail struct {
		Message engine.VoicemailID
		AtOnce  bool
	}
	// HearDigit tells the bot about a digit that came by signalling (INFO); digits in the media
	// path reach the bot there.
	HearDigit  struct{ Digit byte }
	CloseMedia struct{}
	// Arm starts a timer; its epoch invalidates an earlier timer of that name.
	Arm struct {
		Timer Timer
		At    time.Time
		Epoch int
	}
	// TrunkEvent tells the trunk the result of the leg's first response; Over gives the leg's
	// channel back.
	TrunkEvent struct {
		Trunk engine.TrunkID
		Leg   engine.LegID
		Class *disposition.Result
		Over  bool
	}
	// NextTrunk asks for a trunk other than those tried.
	NextTrunk struct{ Tried []engine.TrunkID }
	// Line reports the line's new phase to the campaign's run (pacing, seats).
	Line struct {
		Phase Phase
		Cause engine.AbandonCause
		// BotMissed says that the call was abandoned because the bot did not take it, rather than
		// because the call was lost or ended on our side.
		BotMissed bool
		// Tentative says that the call is served, but a later verdict may revoke that; CountLive
		// follows when it no longer can.
		Tentative bool
	}
	// CountLive says that the line's answer is finally a live one.
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
func (HearEarly) effect()      {}
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
	WhatRinging   What = "ringing"  // only with Config.RecordRinging
	WhatAnswered  What = "answered"
	WhatConnected What = "connected"
	WhatRevised   What = "revised" // a later verdict: it was not a person
	WhatAbandoned What = "abandoned"
	WhatOptedOut  What = "opted_out" // together with the suppression of the number
	WhatEnded     What = "ended"
	WhatResult    What = "result"
)

// Phase is the phase of a line for pacing and live counters.
type Phase string

const (
	PhaseDialling  Phase = "dialling" // an INVITE is out or about to be
	PhaseRinging   Phase = "ringing"
	PhaseListening Phase = "listening" // answered, sequential classification, no seat
	PhaseWaiting   Phase = "waiting"   // answered, wants a seat
	PhaseServed    Phase = "served"    // connected: a live answer served
	PhaseAbandoned Phase = "abandoned" // a live answer not served; any seat is given back
	PhaseReleased  Phase = "released"  // no longer needs a seat; the leg may still be closing
	PhaseOver      Phase = "over"      // the line is free
)
