package call

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/disposition"
	"dialler/engine/eligibility"
	"dialler/engine/numberpool"
)

// Effect is something to do, carried out by the shell in the order in which effects
// are handed out. It is
//
//   - a message to the contact's run (ToRun), *Persist among them, which a dialout's
//     shell takes to a writer instead;
//   - one of the types below, by pointer or by value as Effects lists them; or
//   - an effect of the attempt's machine about the call as it stands: Confirm, Cancel,
//     HangUp, AnswerMedia, DetachBot, JoinPeer, ClosePeer, AnswerRefer, NotifyRefer,
//     PlayMessage, LeaveVoicemail, HearDigit, CloseMedia, and Over.
//
// OpenMedia, OpenPeer, CloseMedia and AttachLegs are answered by an event at once,
// before the effects that follow them are carried out.
type Effect any

// ToRun is a message of a contact to its run.
type ToRun interface{ toRun() }

func (*Up) toRun()           {}
func (*Idle) toRun()         {}
func (*NotIdle) toRun()      {}
func (*Stopped) toRun()      {}
func (*LineMoved) toRun()    {}
func (*AnswerStands) toRun() {}
func (*InviteLeft) toRun()   {}
func (*Persist) toRun()      {}
func (*MayDial) toRun()      {}
func (*Excluded) toRun()     {}
func (*Lifted) toRun()       {}
func (*Stored) toRun()       {}
func (*Reported) toRun()     {}

type (
	// Owns: the attempt is this owner's from now on, in place of the one before.
	Owns struct{ Attempt engine.AttemptID }
	// Answer answers a request; with Err, Value does not count.
	Answer struct {
		Request engine.Request
		Value   any
		Err     error
	}
	// WhenSettled sends a message once the node with an attempt's legs has carried out
	// what it was told, or never will.
	WhenSettled struct {
		Attempt engine.AttemptID
		Message any // ToRun or *DialoutSuppressed
	}
	// OpenMedia opens the media path of a call to the callee, again for each leg;
	// MediaOpened follows. OpenPeer does so for a far leg, and ends with it in
	// attempt.ClosePeer.
	OpenMedia struct {
		Leg  engine.LegID
		Open engine.OpenMedia
	}
	OpenPeer struct {
		Attempt engine.AttemptID
		Leg     engine.LegID
		Profile engine.MediaProfile
	}
	// PlaceLeg sends an INVITE: to the callee, or with Peer to a far leg.
	PlaceLeg struct {
		Leg  engine.PlaceLeg
		Peer bool
	}
	// AttachBot opens the bot's socket, since a moment.
	AttachBot struct {
		Bot    engine.BotID
		Since  engine.BootTime
		Attach engine.AttachBot
	}
	// BotSettled: the socket is being opened no more. Telling: how long that took says
	// how fast the bot answers.
	BotSettled struct {
		Bot     engine.BotID
		Attempt engine.AttemptID
		Since   engine.BootTime
		Telling bool
	}
	// BotTried tells the fleet what became of a call's way to its bot.
	BotTried struct {
		Bot     engine.BotID
		Reached string // the endpoint that took the call, "" for none
		Missed  []engine.EndpointMiss
	}
	// SendDigits sends keys to the callee, by INFO of the leg where the media path
	// cannot, and answers the request.
	SendDigits struct {
		Attempt engine.AttemptID
		Leg     engine.LegID
		Digits  string
		Request engine.Request
	}
	// AttachLegs takes over the legs that live under the attempt; LegsAttached follows,
	// and after that their events from the first on. AttachMedia does so for its media.
	AttachLegs  struct{ Attempt engine.AttemptID }
	AttachMedia struct{ Attempt engine.AttemptID }
	// RecoverLeg ends what may be left at the carrier of a leg; its last event follows.
	RecoverLeg struct{ Leg engine.RecoveredLeg }
	// Replaced: another owner acts for the attempt. Its legs here end, unless that one
	// has them.
	Replaced struct {
		Attempt engine.AttemptID
		Legs    []engine.LegID
		Peers   []engine.LegID
	}
	// ForgetLegs: nobody asks for the attempt's legs any more.
	ForgetLegs struct{ Attempt engine.AttemptID }
	// ReserveTrunk asks for a channel and a token for one leg; TrunkReserved follows.
	ReserveTrunk struct {
		Leg     engine.LegID
		Attempt engine.AttemptID
		Tried   []engine.TrunkID
		Only    engine.TrunkID // no other; "" = any
	}
	// TrunkEvent tells a trunk of one of its legs: that its INVITE left, how its first
	// answer was, or that its channel is free.
	TrunkEvent struct {
		Trunk engine.TrunkID
		Leg   engine.LegID
		From  engine.PhoneNumber // the caller ID
		To    engine.PhoneNumber
		Class *disposition.Result
		Sent  bool
		Over  bool
		At    time.Time
	}
	// ReleaseNumber gives a caller ID back.
	ReleaseNumber struct {
		Attempt engine.AttemptID
		Number  engine.PhoneNumber
		End     numberpool.End
		IfHeld  bool // else it was given back before
	}
	// Suppress has everybody told of a number that this call put on the suppression
	// list, and then answers the request, "": nobody.
	Suppress struct {
		Number  engine.PhoneNumber
		Request engine.Request
	}
	// Abandoned: a call to the number was abandoned.
	Abandoned struct{ Number engine.PhoneNumber }
	// Arm starts a timer, in place of one with the same name; TimerFired comes back.
	Arm struct {
		After time.Duration
		Fired TimerFired
	}
	// Disarm stops a timer.
	Disarm struct{ Timer attempt.Timer }
	// ToSelf hands an event back, behind those that wait already.
	ToSelf struct{ Event any }
	// AskEligibility asks the hooks whether the contact may be dialled;
	// EligibilityKnown follows.
	AskEligibility struct {
		Question eligibility.Question
		Dial     *Dial
	}
	// FetchAttempt reads the attempt that a result is about, and its contact if that is in
	// another run by now. The same command follows, Fetched.
	FetchAttempt struct {
		Attempt engine.AttemptID
		Run     int // that the contact is in, 0 of a dialout
		Result  *StoreResult
	}
	// LoadContact reads the contact and its attempt, behind every write that is
	// queued; ContactLoaded follows.
	LoadContact struct{ Contact engine.ContactID }
	// DialoutSuppressed answers NumbersSuppressed: no INVITE to them leaves any more.
	DialoutSuppressed struct {
		Attempt engine.AttemptID
		Op      int
	}
	// DialoutOver: the dialout has nothing to do any more; it has taken so many results.
	DialoutOver struct {
		Attempt engine.AttemptID
		Results int
	}
	// Refused: an event was illegal and has changed nothing.
	Refused struct {
		Attempt engine.AttemptID
		Contact engine.ContactID
		Err     error
	}
	// Count counts something for the figures.
	Count string
)

// What is counted; ends, answers and messages of abandoned calls are counted where
// their effects are carried out.
const (
	CountAttempt   Count = "attempt"    // begun
	CountLegPlaced Count = "leg_placed" // to a callee
	CountLegSent   Count = "leg_sent"   // its INVITE left
	CountServed    Count = "served"     // a live answer that the bot has
	CountResult    Count = "result"     // stored
	CountRecovered Count = "recovered"  // an attempt of an earlier process life was taken over
)

// Effects has one of each kind of effect, in the form in which it is handed out.
var Effects = []Effect{
	&Up{}, &Idle{}, &NotIdle{}, &Stopped{}, &Reported{}, &LineMoved{}, &AnswerStands{}, &InviteLeft{},
	&Persist{}, &MayDial{}, &Excluded{}, &Lifted{}, &Stored{},
	&Owns{}, &Answer{}, &WhenSettled{}, &OpenMedia{}, &OpenPeer{}, &PlaceLeg{}, &AttachBot{},
	&BotSettled{}, &BotTried{}, &SendDigits{}, &AttachLegs{}, &AttachMedia{}, &RecoverLeg{}, &Replaced{},
	&ForgetLegs{}, &ReserveTrunk{}, &TrunkEvent{}, &ReleaseNumber{},
	&Suppress{}, &Abandoned{}, &Arm{}, &Disarm{}, &ToSelf{}, &AskEligibility{}, &FetchAttempt{}, &LoadContact{},
	&DialoutSuppressed{}, &DialoutOver{}, &Refused{}, CountAttempt,
	attempt.Confirm{}, attempt.Cancel{}, attempt.HangUp{}, attempt.AnswerMedia{}, attempt.DetachBot{},
	attempt.JoinPeer{}, attempt.ClosePeer{}, attempt.AnswerRefer{}, attempt.NotifyRefer{}, attempt.PlayMessage{},
	attempt.LeaveVoicemail{},
	attempt.HearDigit{}, attempt.CloseMedia{}, attempt.Over{},
}
