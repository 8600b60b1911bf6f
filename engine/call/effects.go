package call

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/disposition"
	"dialler/engine/eligibility"
	"dialler/engine/numberpool"
)

// Effect is something to do, carried out by the shell in the order in which effects are handed out.
// It is
//
//   - a message to the contact's run (ToRun), *Persist among them, which a dialout's
//     shell takes to a writer instead;
//   - one of the types below, by pointer or by value as Effects lists them; or
//   - an effect of the attempt's machine on the current call: Confirm, Cancel,
//     HangUp, HearEarly, AnswerMedia, DetachBot, JoinPeer, ClosePeer, AnswerRefer, NotifyRefer,
//     PlayMessage, LeaveVoicemail, HearDigit, CloseMedia, and Over.
//
// OpenMedia, OpenPeer, CloseMedia and AttachLegs are answered by an event at once, before the
// effects that follow them are carried out.
type Effect any

// ToRun is a message of a contact to its run.
type ToRun interface{ toRun() }

func (*Up) toRun()           {}
func (*Idle) toRun()         {}
func (*NotIdle) toRun()      {}
func (*Watches) toRun()      {}
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
	// Owns says that the attempt is this owner's from now on, replacing the previous one.
	Owns struct{ Attempt engine.AttemptID }
	// Answer answers a request; Value is ignored if Err is set.
	Answer struct {
		Request engine.Request
		Value   any
		Err     error
	}
	// WhenSettled sends a message once the node with an attempt's legs has carried out its
	// instructions, or never will.
	WhenSettled struct {
		Attempt engine.AttemptID
		Message any // ToRun or *DialoutSuppressed
	}
	// OpenMedia opens the media path of a call to the callee, once for each leg; MediaOpened
	// follows. OpenPeer does so for a far leg, until attempt.ClosePeer.
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
	// AttachBot opens the bot's socket; Since is when that began.
	AttachBot struct {
		Bot    engine.BotID
		Since  engine.BootTime
		Attach engine.AttachBot
	}
	// BotSettled says that the socket is no longer being opened. Telling says that the time it took
	// shows how fast the bot answers.
	BotSettled struct {
		Bot     engine.BotID
		Attempt engine.AttemptID
		Since   engine.BootTime
		Telling bool
	}
	// BotTried tells the fleet how a call's attempt to reach its bot went.
	BotTried struct {
		Bot     engine.BotID
		Reached string // the endpoint that took the call, "" for none
		Missed  []engine.EndpointMiss
	}
	// SendDigits sends keys to the callee, by INFO on the leg if the media path cannot, and answers
	// the request.
	SendDigits struct {
		Attempt engine.AttemptID
		Leg     engine.LegID
		Digits  string
		Request engine.Request
	}
	// AttachLegs takes over the attempt's live legs; LegsAttached follows, and then their events
	// from the first on. AttachMedia does the same for its media.
	AttachLegs  struct{ Attempt engine.AttemptID }
	AttachMedia struct{ Attempt engine.AttemptID }
	// RecoverLeg ends whatever may be left of a leg at the carrier; the leg's last event follows.
	RecoverLeg struct{ Leg engine.RecoveredLeg }
	// Replaced says that another owner has the attempt. Its legs here end unless that owner has
	// them.
	Replaced struct {
		Attempt engine.AttemptID
		Legs    []engine.LegID
		Peers   []engine.LegID
	}
	// RefuseLeg refuses a call that came in, unless it was answered.
	RefuseLeg struct {
		Leg  engine.LegID
		Code int // 0 = what the trunk's calls get
	}
	// ForgetLegs says that the attempt's legs are no longer needed.
	ForgetLegs struct{ Attempt engine.AttemptID }
	// ReserveTrunk asks for a channel and a token for one leg; TrunkReserved follows.
	ReserveTrunk struct {
		Leg     engine.LegID
		Attempt engine.AttemptID
		Tried   []engine.TrunkID
		Only    engine.TrunkID // no other trunk; "" = any
	}
	// TrunkEvent tells a trunk about one of its legs: that its INVITE left, the result of its first
	// response, or that its channel is free.
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
	// Suppress announces a number that this call put on the suppression list, and then answers the
	// request, unless that is "".
	Suppress struct {
		Number  engine.PhoneNumber
		Request engine.Request
	}
	// Abandoned reports that a call to the number was abandoned.
	Abandoned struct{ Number engine.PhoneNumber }
	// Arm starts a timer and replaces one with the same name; TimerFired comes back.
	Arm struct {
		After time.Duration
		Fired TimerFired
	}
	// Disarm stops a timer.
	Disarm struct{ Timer attempt.Timer }
	// ToSelf returns an event, behind those already waiting.
	ToSelf struct{ Event any }
	// AskEligibility asks the hooks whether the contact may be dialled;
	// EligibilityKnown follows.
	AskEligibility struct {
		Question eligibility.Question
		Dial     *Dial
	}
	// FetchAttempt reads the attempt that a result is about, and its contact if that is in a later
	// run. The same command follows, with Fetched set.
	FetchAttempt struct {
		Attempt engine.AttemptID
		Run     int // run of the contact, 0 for a dialout
		Result  *StoreResult
	}
	// LoadContact reads the contact and its attempt after all queued writes; ContactLoaded follows.
	LoadContact struct{ Contact engine.ContactID }
	// DialoutSuppressed answers NumbersSuppressed: no more INVITEs to these numbers leave.
	DialoutSuppressed struct {
		Attempt engine.AttemptID
		Op      int
	}
	// DialoutReturned says that a scheduled dialout was not placed (Err): it waits on, or is not to be placed
	// from here.
	DialoutReturned struct {
		Attempt engine.AttemptID
		Times   contact.Times // that limit when it is dialled
		Err     error
	}
	// Returned tells the contact who called us back that the call has begun, or is over.
	Returned struct{ Command campaign.SubmitResult }
	// DialoutOver says that the dialout has nothing left to do; Results is how many results it has
	// taken.
	DialoutOver struct {
		Attempt engine.AttemptID
		Results int
	}
	// Refused says that an event was illegal and has changed nothing.
	Refused struct {
		Attempt engine.AttemptID
		Contact engine.ContactID
		Err     error
	}
	// Count counts something for the metrics.
	Count string
)

// Values of Count; ends, answers and messages of abandoned calls are counted where their effects
// are carried out.
const (
	CountAttempt   Count = "attempt"    // begun
	CountLegPlaced Count = "leg_placed" // to a callee
	CountLegSent   Count = "leg_sent"   // its INVITE left
	CountServed    Count = "served"     // a live answer that the bot has
	CountResult    Count = "result"     // stored
	CountRecovered Count = "recovered"  // an attempt of an earlier process was taken over
	// Of a call that came in, which counts in none of the others but recovered: it has begun, it has its bot or
	// hears its message, or it has ended without.
	CountCaller           Count = "caller"
	CountCallerServed     Count = "caller_served"
	CountCallerTurnedAway Count = "caller_turned_away"
)

// Effects has one of each kind of effect, as a pointer or value as it is handed out.
var Effects = []Effect{
	&Up{}, &Idle{}, &NotIdle{}, &Watches{}, &Stopped{}, &Reported{}, &LineMoved{}, &AnswerStands{},
	&InviteLeft{}, &Persist{}, &MayDial{}, &Excluded{}, &Lifted{}, &Stored{},
	&Owns{}, &Answer{}, &WhenSettled{}, &OpenMedia{}, &OpenPeer{}, &PlaceLeg{}, &AttachBot{},
	&BotSettled{}, &BotTried{}, &SendDigits{}, &AttachLegs{}, &AttachMedia{}, &RecoverLeg{}, &Replaced{},
	&RefuseLeg{}, &ForgetLegs{}, &ReserveTrunk{}, &TrunkEvent{}, &ReleaseNumber{},
	&Suppress{}, &Abandoned{}, &Arm{}, &Disarm{}, &ToSelf{}, &AskEligibility{}, &FetchAttempt{}, &LoadContact{},
	&DialoutSuppressed{}, &DialoutReturned{}, &Returned{}, &DialoutOver{}, &Refused{}, CountAttempt,
	attempt.Confirm{}, attempt.Cancel{}, attempt.HangUp{}, attempt.HearEarly{}, attempt.AnswerMedia{}, attempt.DetachBot{},
	attempt.JoinPeer{}, attempt.ClosePeer{}, attempt.AnswerRefer{}, attempt.NotifyRefer{}, attempt.PlayMessage{},
	attempt.LeaveVoicemail{},
	attempt.HearDigit{}, attempt.CloseMedia{}, attempt.Over{},
}
