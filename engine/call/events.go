package call

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/eligibility"
	"dialler/engine/journal"
)

// Input is one event or command, a pointer, with the time at which it is handled and
// what the process knows then.
type Input struct {
	Now     time.Time
	Boot    engine.BootTime
	Event   any
	Process Process
}

// Process answers what only the process as a whole knows. It is asked while an event
// is applied and changes nothing.
type Process interface {
	// LeaseEnds is when another node may dial the same contact; 0: never.
	LeaseEnds() engine.BootTime
	// Destination says why a number must not be called from a caller ID, nil: it may.
	Destination(to, from engine.PhoneNumber) error
	// Calling says that a call to a number lives in this process, whatever the database
	// says: that may have lost its last second.
	Calling(to engine.PhoneNumber) bool
	// CalleeCap bounds how often a number is called, nil: nothing does.
	CalleeCap(now time.Time) *journal.CalleeCap
	// ResultToken is the bearer token of a call's result.
	ResultToken(engine.CallID) string
	// Carrier is the node that is to carry a campaign's call over a trunk, and Here
	// is this node; 0 outside a cluster.
	Carrier(engine.TrunkID) engine.Incarnation
	Here() engine.Incarnation
	// Elsewhere says that the legs of an attempt are on another node, and Unheard
	// that nothing is heard of that node.
	Elsewhere(engine.AttemptID) bool
	Unheard(engine.AttemptID) bool
	// Shared: other nodes use the same trunks, bots and numbers, and the database
	// says when a leg that may be left over is gone.
	Shared() bool
	// Endpoints are those of a bot, in the order in which they are tried now.
	Endpoints(*engine.Bot) []string
	// AsksEligibility says whether a hook is asked before a contact of a campaign
	// with this one is dialled.
	AsksEligibility(eligibility.Hook) bool
	// Zones are the time zones of a number (engine/number).
	Zones(engine.PhoneNumber) []string
}

// Alone is a process that is in no cluster and restricts nothing: a shell embeds it and
// answers what it knows better.
type Alone struct{}

func (Alone) LeaseEnds() engine.BootTime                { return 0 }
func (Alone) Destination(_, _ engine.PhoneNumber) error { return nil }
func (Alone) Calling(engine.PhoneNumber) bool           { return false }
func (Alone) CalleeCap(time.Time) *journal.CalleeCap    { return nil }
func (Alone) ResultToken(engine.CallID) string          { return "" }
func (Alone) Carrier(engine.TrunkID) engine.Incarnation { return 0 }
func (Alone) Here() engine.Incarnation                  { return 0 }
func (Alone) Elsewhere(engine.AttemptID) bool           { return false }
func (Alone) Unheard(engine.AttemptID) bool             { return false }
func (Alone) Shared() bool                              { return false }
func (Alone) Endpoints(b *engine.Bot) []string          { return b.Endpoints }
func (Alone) AsksEligibility(eligibility.Hook) bool     { return false }
func (Alone) Zones(engine.PhoneNumber) []string         { return nil }

// Limits are the settings of the process that calls need.
type Limits struct {
	RingGrace     time.Duration // for how long a lost leg is watched beyond its ring timeout
	ResultLinger  time.Duration // for how long a contact stays up for the result of its call
	SendByTimeout time.Duration // how long after its intent the INVITE of a dialout may leave
	DialoutRing   time.Duration // ring timeout of a dialout
	OptOutDigit   byte          // of dialouts, 0: none; those of campaigns have it in their rules
	ResultBase    string        // base URL that bots post results to, "": they are told none
}

// What happens to a call and its owner, beside *engine.LegEvent, *engine.MediaEvent
// and the commands of messages.go.
type (
	// Started is the first event of a contact, and of a dialout that was not placed in
	// this process life. Lost is the attempt of an earlier life, if there is one.
	Started struct{ Lost *attempt.Attempt }
	// Restarted follows a crash of the shell. A contact has lost its state with it and
	// loads what is durable; a dialout has kept it.
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
	}
	// Durable says what became of a write: it is in the database, was refused by it
	// (Err), or is in the spool. A spooled one is told of again once the database has
	// it.
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
		Validity   Validity // of the INVITE over it
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
	// LegsAttached answers AttachLegs: how many legs are known.
	LegsAttached struct{ Known int }
	// EligibilityKnown answers AskEligibility.
	EligibilityKnown struct {
		Dial    *Dial
		Verdict eligibility.Verdict
	}
	// ContactLoaded answers LoadContact: the stored row and its attempt, live or with legs
	// that are watched. A contact that is not stored is told with the code
	// "contact_not_found".
	ContactLoaded struct {
		Row     contact.Contact
		Attempt *attempt.Attempt
		Err     error
	}
	// NumbersSuppressed tells a dialout of numbers on the suppression list;
	// DialoutSuppressed follows.
	NumbersSuppressed struct {
		Numbers map[engine.PhoneNumber]struct{}
		Op      int
	}
	// Erased: the person with a number was erased; a dialout forgets it.
	Erased struct{ Number, Tombstone engine.PhoneNumber }
	// SayAgain asks a dialout that is over to say so once more.
	SayAgain struct{}
)

// Timers beside those of the attempt.
const (
	// TimerHeld: an INVITE that was held back may leave.
	TimerHeld attempt.Timer = "held"
	// TimerLinger: a contact no longer waits for the result of its call.
	TimerLinger attempt.Timer = "linger"
	// TimerLoad: a contact that could not be loaded is loaded again.
	TimerLoad attempt.Timer = "load"
)

// Timers lists every timer that a shell is asked to arm.
var Timers = []attempt.Timer{
	attempt.TimerRing, attempt.TimerBridge, attempt.TimerScreen, attempt.TimerCall, attempt.TimerPeer,
	attempt.TimerRevise, attempt.TimerTrunk, TimerHeld, TimerLinger, TimerLoad,
}
