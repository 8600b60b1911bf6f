package call

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/eligibility"
	"dialler/engine/journal"
	"dialler/engine/window"
)

// Input is one event or command, a pointer, with the time at which it is handled and the process's
// answers then.
type Input struct {
	Now     time.Time
	Boot    engine.BootTime
	Event   any
	Process Process
}

// Process answers what only the process as a whole knows. It is queried while an event is applied
// and changes nothing.
type Process interface {
	// LeaseEnds is when another node may dial the same contact; 0 means never.
	LeaseEnds() engine.BootTime
	// Destination says why a number must not be called from a caller ID; nil means that it may.
	Destination(to, from engine.PhoneNumber) error
	// Calling says that a call to a number is live in this process, whatever the database says: it
	// may have lost its last second.
	Calling(to engine.PhoneNumber) bool
	// CalleeCap limits how often a number is called; nil means no limit.
	CalleeCap(to engine.PhoneNumber, now time.Time) *journal.CalleeCap
	// ResultToken returns the bearer token for a call's result.
	ResultToken(engine.CallID) string
	// Carrier is the node that should carry a campaign's call over a trunk, and Here is this node;
	// 0 outside a cluster.
	Carrier(engine.TrunkID) engine.Incarnation
	Here() engine.Incarnation
	// Elsewhere says that the attempt's legs are on another node, and Unheard that this node cannot
	// be heard.
	Elsewhere(engine.AttemptID) bool
	Unheard(engine.AttemptID) bool
	// Shared says that other nodes use the same trunks, bots and numbers, and that the database
	// knows when a leftover leg is gone.
	Shared() bool
	// Endpoints are the endpoints of a bot in the current order of preference.
	Endpoints(*engine.Bot) []string
	// AsksEligibility says whether a hook is asked before a dial in a campaign with the given hook.
	AsksEligibility(eligibility.Hook) bool
	// TellsRinging says that somebody is to be told when a call of a campaign rings; "" stands for calls
	// outside campaigns.
	TellsRinging(engine.CampaignID) bool
	// Home is where a number is at home (engine/number).
	Home(engine.PhoneNumber) window.Home
}

// Alone is a process outside any cluster that restricts nothing: a shell embeds it and overrides
// what it knows better.
type Alone struct{}

func (Alone) LeaseEnds() engine.BootTime                                 { return 0 }
func (Alone) Destination(_, _ engine.PhoneNumber) error                  { return nil }
func (Alone) Calling(engine.PhoneNumber) bool                            { return false }
func (Alone) CalleeCap(engine.PhoneNumber, time.Time) *journal.CalleeCap { return nil }
func (Alone) ResultToken(engine.CallID) string                           { return "" }
func (Alone) Carrier(engine.TrunkID) engine.Incarnation                  { return 0 }
func (Alone) Here() engine.Incarnation                                   { return 0 }
func (Alone) Elsewhere(engine.AttemptID) bool                            { return false }
func (Alone) Unheard(engine.AttemptID) bool                              { return false }
func (Alone) Shared() bool                                               { return false }
func (Alone) Endpoints(b *engine.Bot) []string                           { return b.Endpoints }
func (Alone) AsksEligibility(eligibility.Hook) bool                      { return false }
func (Alone) TellsRinging(engine.CampaignID) bool                        { return false }
func (Alone) Home(engine.PhoneNumber) window.Home                        { return window.Home{} }

// Limits are the settings of the process that calls need.
type Limits struct {
	RingGrace     time.Duration // for how long a lost leg is watched beyond its ring timeout
	ResultLinger  time.Duration // for how long a contact stays up for the result of its call
	SendByTimeout time.Duration // how long after its intent the INVITE of a dialout may leave
	DialoutRing   time.Duration // ring timeout of a dialout
	OptOutDigit   byte          // for dialouts, 0 means none; campaigns have it in their rules
	ResultBase    string        // base URL for the results that bots post; "" means that bots get none
}

// Events of a call and its owner, besides *engine.LegEvent, *engine.MediaEvent and the commands of
// messages.go.
type (
	// Started is the first event of a contact, and of a dialout that was not placed by this
	// process. Lost is the attempt of an earlier process, if there is one.
	Started struct{ Lost *attempt.Attempt }
	// Restarted follows a crash of the shell. A contact has lost its state and loads what is
	// durable; a dialout has kept its state.
	Restarted struct{}
	// PlaceDialout begins a dialout whose seat, trunk and number are held.
	PlaceDialout struct {
		Command  campaign.Dialout
		Request  engine.Request
		Attempt  engine.AttemptID
		Trunk    engine.TrunkID
		Media    *engine.MediaProfile // the trunk's
		From     engine.PhoneNumber
		Validity Validity
		Socket   engine.SocketID // opened for the call, or ""
		// Scheduled says that it has waited for its time: the request was answered then, and a refused intent
		// leaves it waiting.
		Scheduled bool
	}
	// TakeCall begins a call that came in: Call.To is the number of ours that was called, Caller that of
	// the person, "" when it is withheld. Returns is what they call back; without Bot it hears Message.
	TakeCall struct {
		Call      engine.IncomingCall
		To        engine.PhoneNumber
		Caller    engine.PhoneNumber
		Media     *engine.MediaProfile // the trunk's
		Returns   engine.AttemptID
		Variables map[string]string
		Message   engine.VoicemailID
		Bot       engine.BotID
		By        engine.BootTime // until when it may begin with its seat, 0 = no limit
	}
	// Durable reports the fate of a write: it is in the database, was refused by it (Err), or is in
	// the spool. A spooled write is reported again once the database has it.
	Durable struct {
		Step    int
		Err     error
		Spooled bool
	}
	// TimerFired comes back from Arm.
	TimerFired struct {
		Attempt engine.AttemptID
		Timer   attempt.Timer
		Epoch   int
	}
	// TrunkReserved answers ReserveTrunk.
	TrunkReserved struct {
		Attempt    engine.AttemptID
		Leg        engine.LegID
		Trunk      engine.TrunkID // "" when refused
		Media      *engine.MediaProfile
		Validity   Validity // of the INVITE through it
		Constraint engine.Constraint
		RetryAt    time.Time
	}
	// PeerJoined answers attempt.JoinPeer.
	PeerJoined struct {
		Attempt engine.AttemptID
		Leg     engine.LegID
		Err     error
	}
	// MediaOpened answers OpenMedia and OpenPeer: the SDP offer, or why there is no
	// media path. It follows at once, as do the next two.
	MediaOpened struct {
		Leg   engine.LegID
		Offer []byte
		Err   error
	}
	// MediaClosed answers attempt.CloseMedia.
	MediaClosed struct{ Quality engine.MediaQuality }
	// LegsAttached answers AttachLegs with the number of known legs.
	LegsAttached struct{ Known int }
	// EligibilityKnown answers AskEligibility.
	EligibilityKnown struct {
		Dial    *Dial
		Verdict eligibility.Verdict
	}
	// ContactLoaded answers LoadContact: the stored row and its attempt, live or with legs that are
	// watched. If the contact is not stored, Err has the code "contact_not_found".
	ContactLoaded struct {
		Row     contact.Contact
		Attempt *attempt.Attempt
		Err     error
	}
	// NumbersSuppressed tells a dialout about newly suppressed numbers; DialoutSuppressed follows.
	NumbersSuppressed struct {
		Numbers map[engine.PhoneNumber]struct{}
		Op      int
	}
	// Erased says that the person with a number was erased; a dialout forgets the number.
	Erased struct{ Number, Tombstone engine.PhoneNumber }
	// SayAgain asks a dialout that is over to report that again. Results were passed on to it before, of which a
	// crash may have cost some.
	SayAgain struct{ Results int }
)

// Timers besides those of the attempt.
const (
	// TimerHeld releases an INVITE that was held back.
	TimerHeld attempt.Timer = "held"
	// TimerLinger ends a contact's wait for the result of its call.
	TimerLinger attempt.Timer = "linger"
	// TimerLoad retries loading a contact.
	TimerLoad attempt.Timer = "load"
)

// Timers lists every timer that a shell is asked to arm.
var Timers = []attempt.Timer{
	attempt.TimerRing, attempt.TimerBridge, attempt.TimerScreen, attempt.TimerCall, attempt.TimerPeer,
	attempt.TimerRevise, attempt.TimerTrunk, TimerHeld, TimerLinger, TimerLoad,
}
