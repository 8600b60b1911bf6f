package call

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/fleet"
	"dialler/actors/host"
	"dialler/actors/ports"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/eligibility"
	"dialler/engine/journal"
	"dialler/engine/number"
	"dialler/engine/window"
)

// Config configures calls.
type Config struct {
	Timeout time.Duration // of a store call, and of a commit
	// SendByTimeout is how long after its intent an INVITE may still leave, default 10 s.
	SendByTimeout time.Duration
	ResultBase    string // base URL that bots post results to
	// ResultLinger is how long a contact's actor waits for the result of an ended call before it
	// goes idle, default 3 s. A later result finds the contact through the database.
	ResultLinger time.Duration
	RingGrace    time.Duration // how long a lost leg is watched beyond its ring timeout, 35 s
	DialoutRing  time.Duration // ring timeout of a call outside campaigns, 30 s
	// EligibilityBudget is how long an eligibility hook may take to answer, default 300 ms.
	EligibilityBudget time.Duration
	// OptOutDigit is the key that suppresses the number of a callee who hears the information
	// message; 0 = none.
	OptOutDigit byte
	// ResultToken returns the bearer token for a call's result.
	ResultToken func(engine.CallID) string
	// OnInvite reports how long each attempt waited from its admission to its first INVITE;
	// OnQuality the audio quality of each call, and its trunk; OnStage how long after the answer each
	// call reached a stage, where the information message counts from the start of the 2 s rule.
	// They must not block.
	OnInvite  func(waited time.Duration)
	OnQuality func(engine.TrunkID, engine.MediaQuality)
	OnStage   func(s Stage, took time.Duration)
	// PlacedHere says whether a leg over a trunk, with this Contact address, was placed from this
	// process's address; nil means none was.
	PlacedHere func(trunk engine.TrunkID, contact string) bool
	// TellsRinging says that somebody is to be told when a call of a campaign rings, "" for calls outside
	// campaigns; nil means that nobody is.
	TellsRinging func(engine.CampaignID) bool
	// Returned tells the contact who called back of that call, or its result, whichever node has the campaign;
	// nil means that it is here.
	Returned func(context.Context, campaign.SubmitResult) error
}

// WithDefaults fills in unset fields.
func (c Config) WithDefaults() Config {
	c.SendByTimeout = cmp.Or(c.SendByTimeout, 10*time.Second)
	c.ResultLinger = cmp.Or(c.ResultLinger, 3*time.Second)
	c.RingGrace = cmp.Or(c.RingGrace, 35*time.Second)
	c.DialoutRing = cmp.Or(c.DialoutRing, 30*time.Second)
	c.EligibilityBudget = cmp.Or(c.EligibilityBudget, eligibility.Budget)
	if c.OnStage == nil {
		c.OnStage = func(Stage, time.Duration) {}
	}
	if c.OnInvite == nil {
		c.OnInvite = func(time.Duration) {}
	}
	if c.OnQuality == nil {
		c.OnQuality = func(engine.TrunkID, engine.MediaQuality) {}
	}
	if c.PlacedHere == nil {
		c.PlacedHere = func(engine.TrunkID, string) bool { return false }
	}
	if c.ResultToken == nil {
		c.ResultToken = func(engine.CallID) string { return "" }
	}
	return c
}

// Store is what calls need from the database.
type Store interface{ call.Attempts }

// Lease is this node's lease, if several nodes share the campaigns. LeaseEnds is when the node
// stops starting anything unless its lease is renewed, because another node may act for its
// campaigns from then on.
type Lease interface {
	LeaseEnds() engine.BootTime
}

// Eligibility asks an external system of the operator whether a contact may be called now. It
// blocks for not much longer than Config.EligibilityBudget, and always returns a verdict.
type Eligibility interface {
	// Asks says whether contacts of a campaign with this hook are checked at all.
	Asks(own eligibility.Hook) bool
	Eligible(ctx context.Context, q eligibility.Question) eligibility.Verdict
}

// Process is what all calls of this process share, and what their cores query.
type Process struct {
	*host.System
	Config
	Store       Store
	Phone       ports.Telephony
	Media       ports.Media
	Remote      ports.RemoteLegs // nil means all legs are here
	Lease       Lease            // nil means the process runs alone
	Eligibility Eligibility      // nil means no check
	SharesCaps  bool             // other nodes use the same trunks, bots and numbers
	Reach       *fleet.Reach

	Fleet, Trunks *actor.PID
	// Held records that this process holds the number of a call it has adopted; it may be nil.
	Held func(attempt.Attempt)
	// Suppress distributes a suppression that a call caused and that is stored: then, if set, is
	// told whether every node confirmed.
	Suppress func(n engine.PhoneNumber, then func(error))

	Owners       Owners
	Abandoned    AbandonedNumbers
	Connects     Connects
	Destinations Destinations
	CalleeLimit  CalleeLimit
	Draining     atomic.Bool // no new call is placed
	Stats        Stats
}

// Fenced says that this node's lease has run out.
func (p *Process) Fenced() bool { return p.Lease != nil && p.Clock.Boot() >= p.Lease.LeaseEnds() }

// Limits returns the limits of every call.
func (p *Process) Limits() call.Limits {
	return call.Limits{
		RingGrace: p.RingGrace, ResultLinger: p.ResultLinger, SendByTimeout: p.SendByTimeout,
		DialoutRing: p.DialoutRing, OptOutDigit: p.OptOutDigit, ResultBase: p.ResultBase,
	}
}

// LeaseEnds returns when another node may dial what this one dials; 0 means never.
func (p *Process) LeaseEnds() engine.BootTime {
	if p.Lease == nil {
		return 0
	}
	return max(p.Lease.LeaseEnds(), 1)
}

// Destination returns why a number must not be called.
func (p *Process) Destination(to, from engine.PhoneNumber) error {
	return p.Destinations.Judge(to, from)
}

// Calling says whether a call to a number is live in this process.
func (p *Process) Calling(to engine.PhoneNumber) bool { return p.Phone.Calling(to) }

// CalleeCap returns the limits on how often a number is called, for an intent of now; nil means
// there are none.
func (p *Process) CalleeCap(to engine.PhoneNumber, now time.Time) *journal.CalleeCap {
	return p.CalleeLimit.at(to, now)
}

// ResultToken returns the bearer token for a call's result.
func (p *Process) ResultToken(id engine.CallID) string { return p.Config.ResultToken(id) }

// Carrier returns the node for a new call of a campaign, 0 outside a cluster.
func (p *Process) Carrier(trunk engine.TrunkID) engine.Incarnation {
	if p.Remote == nil {
		return 0
	}
	return p.Remote.Carrier(trunk)
}

// Here returns this node's incarnation, 0 outside a cluster. A node carries the dialouts that it
// owns: no node takes one over, so its legs must not outlive its actor.
func (p *Process) Here() engine.Incarnation {
	if p.Remote == nil {
		return 0
	}
	return p.Remote.Here()
}

// Elsewhere says that the legs of an attempt are on another node.
func (p *Process) Elsewhere(a engine.AttemptID) bool { return p.Remote != nil && p.Remote.Away(a) }

// Unheard says that they are, and that the node is silent.
func (p *Process) Unheard(a engine.AttemptID) bool { return p.Remote != nil && p.Remote.Unheard(a) }

// Shared says whether other nodes use the same trunks, bots and numbers.
func (p *Process) Shared() bool { return p.SharesCaps }

// Endpoints returns a bot's endpoints, in the order in which they are tried now.
func (p *Process) Endpoints(b *engine.Bot) []string { return p.Reach.Of(b) }

// AsksEligibility says whether contacts of a campaign with this hook are checked.
func (p *Process) AsksEligibility(h eligibility.Hook) bool {
	return p.Eligibility != nil && p.Eligibility.Asks(h)
}

// TellsRinging says whether the moment at which a call of a campaign rings is recorded.
func (p *Process) TellsRinging(c engine.CampaignID) bool {
	return p.Config.TellsRinging != nil && p.Config.TellsRinging(c)
}

// Home returns where a number is at home.
func (p *Process) Home(n engine.PhoneNumber) window.Home { return number.HomeOf(n) }
