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
	"dialler/engine/eligibility"
	"dialler/engine/journal"
	"dialler/engine/number"
)

// Config are the settings of calls.
type Config struct {
	Timeout time.Duration // of a call of the store, that of a commit
	// SendByTimeout is how long after its intent an INVITE may still leave, 10 s.
	SendByTimeout time.Duration
	ResultBase    string // base URL that bots post results to
	// ResultLinger is how long the actor of a contact whose call has ended waits
	// for its result before it goes idle, 3 s. A later result finds the contact by the
	// database.
	ResultLinger time.Duration
	RingGrace    time.Duration // for how long a lost leg is watched beyond its ring timeout, 35 s
	DialoutRing  time.Duration // ring timeout of a call outside campaigns, 30 s
	// EligibilityBudget is what the answer of an eligibility hook may take, 300 ms.
	EligibilityBudget time.Duration
	// OptOutDigit is the key that suppresses the number of somebody who hears the
	// information message, 0 = none.
	OptOutDigit byte
	// ResultToken gives the bearer token of a call's result.
	ResultToken func(engine.CallID) string
	// OnInvite sees how long each attempt waited from its admission until its
	// first INVITE left, OnQuality how the audio of each call was that had some,
	// OnStage how long after the answer each call reached a stage; the
	// information message counts from the moment of the 2 s rule. They must not
	// block.
	OnInvite  func(waited time.Duration)
	OnQuality func(engine.MediaQuality)
	OnStage   func(s Stage, took time.Duration)
	// PlacedHere says whether a leg over a trunk, whose Contact has this address, was
	// placed at this process's address; nil: none was that is told of.
	PlacedHere func(trunk engine.TrunkID, contact string) bool
}

// WithDefaults fills in what is not set.
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
		c.OnQuality = func(engine.MediaQuality) {}
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

// Lease is this node's lease, where several share the campaigns: LeaseEnds is when the
// node begins nothing any more unless its lease is renewed before, for another may act
// for its campaigns from then on.
type Lease interface {
	LeaseEnds() engine.BootTime
}

// Eligibility asks a system of the operator's own whether a contact may be called
// now. It blocks, not much longer than Config.EligibilityBudget, and always has a
// verdict.
type Eligibility interface {
	// Asks says whether anybody is asked about contacts of a campaign with this hook.
	Asks(own eligibility.Hook) bool
	Eligible(ctx context.Context, q eligibility.Question) eligibility.Verdict
}

// Process is what all calls of this process share, and what their cores ask it.
type Process struct {
	*host.System
	Config
	Store       Store
	Phone       ports.Telephony
	Media       ports.Media
	Remote      ports.RemoteLegs // nil: all legs are here
	Lease       Lease            // nil: the process is alone
	Eligibility Eligibility      // nil: nobody is asked
	SharesCaps  bool             // other nodes use the same trunks, bots and numbers
	Reach       *fleet.Reach

	Fleet, Trunks *actor.PID
	// Held notes that this process holds the number of a call that it has adopted; nil:
	// nobody does.
	Held func(attempt.Attempt)
	// Suppress follows a suppression that a call brought about and that is stored: then,
	// if any, hears whether everybody confirmed.
	Suppress func(n engine.PhoneNumber, then func(error))

	Owners       Owners
	Abandoned    AbandonedNumbers
	Connects     Connects
	Destinations Destinations
	CalleeLimit  CalleeLimit
	Draining     atomic.Bool // no new call is placed
	Stats        Stats
}

// Fenced says that this node's lease ran out.
func (p *Process) Fenced() bool { return p.Lease != nil && p.Clock.Boot() >= p.Lease.LeaseEnds() }

// Limits are what bounds each call.
func (p *Process) Limits() call.Limits {
	return call.Limits{
		RingGrace: p.RingGrace, ResultLinger: p.ResultLinger, SendByTimeout: p.SendByTimeout,
		DialoutRing: p.DialoutRing, OptOutDigit: p.OptOutDigit, ResultBase: p.ResultBase,
	}
}

// LeaseEnds is when another node may dial what this one dials, 0: never.
func (p *Process) LeaseEnds() engine.BootTime {
	if p.Lease == nil {
		return 0
	}
	return max(p.Lease.LeaseEnds(), 1)
}

// Destination says why a number must not be called.
func (p *Process) Destination(to, from engine.PhoneNumber) error {
	return p.Destinations.Judge(to, from)
}

// Calling says that a call to a number lives in this process.
func (p *Process) Calling(to engine.PhoneNumber) bool { return p.Phone.Calling(to) }

// CalleeCap is what bounds how often a number is called, for an intent of now; nil
// when nothing does.
func (p *Process) CalleeCap(now time.Time) *journal.CalleeCap { return p.CalleeLimit.at(now) }

// ResultToken is the bearer token of a call's result.
func (p *Process) ResultToken(id engine.CallID) string { return p.Config.ResultToken(id) }

// Carrier is the node for a new call of a campaign, 0 outside a cluster.
func (p *Process) Carrier(trunk engine.TrunkID) engine.Incarnation {
	if p.Remote == nil {
		return 0
	}
	return p.Remote.Carrier(trunk)
}

// Here is this node, 0 outside a cluster. It carries the dialouts that it owns: nobody
// takes one over, so that its legs must not outlive its actor.
func (p *Process) Here() engine.Incarnation {
	if p.Remote == nil {
		return 0
	}
	return p.Remote.Here()
}

// Elsewhere says that the legs of an attempt are on another node.
func (p *Process) Elsewhere(a engine.AttemptID) bool { return p.Remote != nil && p.Remote.Away(a) }

// Unheard says that they are, and that nothing is heard of that node.
func (p *Process) Unheard(a engine.AttemptID) bool { return p.Remote != nil && p.Remote.Unheard(a) }

// Shared says whether other nodes use the same trunks, bots and numbers.
func (p *Process) Shared() bool { return p.SharesCaps }

// Endpoints are those of a bot, in the order in which they are tried now.
func (p *Process) Endpoints(b *engine.Bot) []string { return p.Reach.Of(b) }

// AsksEligibility says whether a hook is asked about contacts of a campaign.
func (p *Process) AsksEligibility(h eligibility.Hook) bool {
	return p.Eligibility != nil && p.Eligibility.Asks(h)
}

// Zones are the time zones of a number.
func (p *Process) Zones(n engine.PhoneNumber) []string { return number.Zones(n) }
