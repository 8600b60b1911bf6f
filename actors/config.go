package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"dialler/actors/call"
	campaignactor "dialler/actors/campaign"
	"dialler/actors/writer"
	"dialler/engine"
	"dialler/engine/eligibility"
	core "dialler/engine/run"
)

// Config are the settings of the tree.
type Config struct {
	Writers       int           // parallel group commits, 4
	CommitTimeout time.Duration // of one transaction, 10 s
	// Gather is the least time between the beginnings of two transactions of a
	// busy writer: what it may add to the latency of a step, 6 ms.
	Gather time.Duration
	// Patience is how long what nobody waits for may wait for others to go with,
	// 25 ms: the connection and the end of a call, its result.
	Patience time.Duration
	// SpoolAfter is how long a transaction may take before what calls under way
	// produce goes to the spool instead of waiting for it, 400 ms: an answer is
	// not confirmed before it is durable, and the callee speaks within 2 s.
	SpoolAfter time.Duration
	LeaseTTL   time.Duration // of a seat allotment, 30 s
	// SendByTimeout is how long after its intent an INVITE may still leave.
	SendByTimeout time.Duration // 10 s
	// ActivateTimeout bounds the switch of an import, 10 min; a file of a million
	// rows has 200 s more.
	ActivateTimeout time.Duration
	ResultBase      string // base URL that bots post results to
	// ResultLinger is how long the actor of a contact whose call has ended waits
	// for its result before it goes idle, 3 s. A later result finds the
	// contact by the database.
	ResultLinger time.Duration
	RingGrace    time.Duration // for how long a lost leg is watched beyond its ring timeout, 35 s
	DialoutCap   int           // simultaneous dialouts a bot, 0 = its seats
	DialoutRing  time.Duration // ring timeout of a call outside campaigns, 30 s
	// EligibilityBudget is what the answer of an eligibility hook may take, 300 ms.
	EligibilityBudget time.Duration
	// OptOutDigit is the key that suppresses the number of somebody who hears the
	// information message, 0 = none.
	OptOutDigit byte
	// AllowedCountries are where calls may go, ISO 3166; none: the countries of
	// the configured numbers (package destination).
	AllowedCountries []string
	// CalleeCap bounds the attempts to one number within CalleePeriod, over all
	// campaigns and the calls outside them; 0 = as often as may be.
	CalleeCap    int
	CalleePeriod time.Duration
	// ResultToken gives the bearer token of a call's result.
	ResultToken func(engine.CallID) string
	// OnCommit sees every group commit that succeeded: its writes and how long
	// the transaction took. It must not block.
	OnCommit func(writes int, took time.Duration)
	// OnInvite sees how long each attempt waited from its admission until its
	// first INVITE left, OnQuality how the audio of each call was that had some.
	// They must not block.
	OnInvite  func(waited time.Duration)
	OnQuality func(engine.MediaQuality)
	// PlacedHere says whether a leg over a trunk, whose Contact has this address, was
	// placed at this process's address; nil: none was that is told of.
	PlacedHere func(trunk engine.TrunkID, contact string) bool
	// OnStage sees how long after the answer each call reached a stage; the
	// information message counts from the moment of the 2 s rule.
	OnStage func(s call.Stage, took time.Duration)
	// Tick is how often a run looks at its pace without other cause, 500 ms.
	Tick time.Duration
	// Reconcile is how often leases, legs and attempts are compared, 30 s.
	Reconcile time.Duration
	// LookAhead is how many due contacts a run holds in memory, 2000: it asks
	// for more when half of them are dialled, a second before the last one at
	// 1000 dials a second.
	LookAhead int
	// WritesCap is how many writes may lie in memory on their way to a database
	// that takes less than it is given, 20,000; beyond it nothing is begun that
	// adds some.
	WritesCap int
	Log       zerolog.Logger
	// RecordRun gives who keeps the inputs of a campaign's run, for each of its activations;
	// nil: nobody does.
	RecordRun func(engine.CampaignID, core.Config) campaignactor.RunRecorder
	// Actors are options of every actor, for tests: they inject faults by them.
	Actors []actor.PropsOption
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	if c.LookAhead == 0 {
		c.LookAhead = 2000
	}
	if c.WritesCap == 0 {
		c.WritesCap = 20_000
	}
	c.CommitTimeout = c.writers().CommitTimeout
	set(&c.ActivateTimeout, 10*time.Minute)
	set(&c.LeaseTTL, 30*time.Second)
	set(&c.SendByTimeout, 10*time.Second)
	set(&c.ResultLinger, 3*time.Second)
	set(&c.RingGrace, 35*time.Second)
	set(&c.DialoutRing, 30*time.Second)
	set(&c.EligibilityBudget, eligibility.Budget)
	set(&c.Tick, 500*time.Millisecond)
	set(&c.Reconcile, 30*time.Second)
	if c.OnStage == nil {
		c.OnStage = func(call.Stage, time.Duration) {}
	}
	if c.OnInvite == nil {
		c.OnInvite = func(time.Duration) {}
	}
	if c.PlacedHere == nil {
		c.PlacedHere = func(engine.TrunkID, string) bool { return false }
	}
	if c.OnQuality == nil {
		c.OnQuality = func(engine.MediaQuality) {}
	}
	if c.ResultToken == nil {
		c.ResultToken = func(engine.CallID) string { return "" }
	}
	return c
}

// writers are the settings of the writers.
func (c Config) writers() writer.Config {
	return writer.Config{Writers: c.Writers, CommitTimeout: c.CommitTimeout, Gather: c.Gather, Patience: c.Patience,
		SpoolAfter: c.SpoolAfter, OnCommit: c.OnCommit}.WithDefaults()
}

// calls are the settings of calls.
func (c Config) calls() call.Config {
	return call.Config{Timeout: c.CommitTimeout, SendByTimeout: c.SendByTimeout, ResultBase: c.ResultBase,
		ResultLinger: c.ResultLinger, RingGrace: c.RingGrace, DialoutRing: c.DialoutRing,
		EligibilityBudget: c.EligibilityBudget, OptOutDigit: c.OptOutDigit, ResultToken: c.ResultToken,
		OnInvite: c.OnInvite, OnQuality: c.OnQuality, OnStage: c.OnStage, PlacedHere: c.PlacedHere}
}

// campaigns are the settings of campaigns.
func (c Config) campaigns() campaignactor.Config {
	return campaignactor.Config{ActivateTimeout: c.ActivateTimeout, Tick: c.Tick, Reconcile: c.Reconcile,
		LookAhead: c.LookAhead, RecordRun: c.RecordRun}
}
