package actors

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

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
	// for its result before it goes to rest, 3 s. A later result finds the
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
	OnStage func(s Stage, took time.Duration)
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
	// RecordRun gives who keeps the inputs of a campaign's run, for each of its lives;
	// nil: nobody does.
	RecordRun func(engine.CampaignID, core.Config) RunRecorder
}

// RunRecorder keeps what a run is told and what comes of it. It must not block.
type RunRecorder interface {
	// Before is given an input and gives what is applied in its place: the same, with
	// the process asked through the recorder. After is given the effects.
	Before(core.Input) core.Input
	After([]core.Effect)
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	if c.Writers == 0 {
		c.Writers = 4
	}
	if c.LookAhead == 0 {
		c.LookAhead = 2000
	}
	if c.WritesCap == 0 {
		c.WritesCap = 20_000
	}
	set(&c.CommitTimeout, 10*time.Second)
	set(&c.Gather, 6*time.Millisecond)
	set(&c.Patience, 25*time.Millisecond)
	set(&c.SpoolAfter, 400*time.Millisecond)
	set(&c.ActivateTimeout, 10*time.Minute)
	set(&c.LeaseTTL, 30*time.Second)
	set(&c.SendByTimeout, 10*time.Second)
	set(&c.ResultLinger, 3*time.Second)
	set(&c.RingGrace, 35*time.Second)
	set(&c.DialoutRing, 30*time.Second)
	set(&c.EligibilityBudget, eligibility.Budget)
	set(&c.Tick, 500*time.Millisecond)
	set(&c.Reconcile, 30*time.Second)
	if c.OnCommit == nil {
		c.OnCommit = func(int, time.Duration) {}
	}
	if c.OnStage == nil {
		c.OnStage = func(Stage, time.Duration) {}
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

// Ports are what the tree touches the world through.
type Ports struct {
	Store     Store
	Telephony Telephony
	Media     Media
	Clock     Clock
	Configs   Configs // nil: a campaign with a Config URL cannot start
	// Eligibility is asked before each dial of a contact; nil: nobody is.
	Eligibility Eligibility
	Spool       Spool // nil: while the database is away calls wait for it
	// Membership: nil, this process acts for every campaign.
	Membership Membership
	// Elsewhere: nil: all legs are here.
	Elsewhere Elsewhere
	// Keepers: nil: this process alone uses the trunks, bots and numbers.
	Keepers Keepers
}

// deps is what every actor of the tree shares.
type deps struct {
	ctx     context.Context
	cfg     Config
	store   Store
	phone   Telephony
	media   Media
	clock   Clock
	configs Configs
	// eligibility: nil: nobody is asked.
	eligibility Eligibility
	spool       Spool
	member      Membership // nil: alone
	away        Elsewhere
	keepers     Keepers // nil: alone
	log         zerolog.Logger
	system      *actor.ActorSystem
	root        *actor.RootContext

	writers   []*actor.PID
	fleet     *actor.PID
	trunks    *actor.PID
	numbers   *actor.PID
	dialout   *actor.PID
	campaigns *actor.PID

	workers   workers
	mailboxes mailboxes
	imports   importGroup
	stats     Stats
	board     board
	owners    owners
	abandons  abandonedNumbers
	database  databaseWatch
	reach     reach
	late      lateness

	destinations destinations
	callee       atomic.Pointer[calleeLimit]
	draining     atomic.Bool
	dbDown       atomic.Bool
	trunksDown   atomic.Bool // every active trunk is down
}

// writerFor gives the writer that keeps the order of an identity's writes.
func (d *deps) writerFor(id string) *actor.PID { return d.writers[d.laneOf(id)] }

// laneOf is the number of that writer.
func (d *deps) laneOf(id string) int {
	h := uint32(2166136261)
	for i := 0; i < len(id); i++ {
		h = (h ^ uint32(id[i])) * 16777619
	}
	return int(h % uint32(len(d.writers))) //nolint:gosec // a few writers
}

func (d *deps) tell(s databaseState) {
	d.dbDown.Store(!s.Up)
	if d.campaigns != nil {
		d.root.Send(d.campaigns, &s)
	}
}

// after sends a message to an actor once d has passed; the returned function
// stops it.
func (d *deps) after(wait time.Duration, to *actor.PID, msg any) func() {
	t := time.AfterFunc(max(wait, 0), func() {
		if d.ctx.Err() == nil {
			d.root.Send(to, msg)
		}
	})
	return func() { t.Stop() }
}

// Tree is the running campaign tree.
type Tree struct {
	d      *deps
	cancel context.CancelFunc
	once   sync.Once

	watching sync.WaitGroup
}

// Start brings the tree up and recovers what an earlier process life left:
// every attempt that was open is closed as lost and its legs are ended before
// anything new is dialled to their numbers. Legs that the earlier life itself
// had taken over and not yet seen to their end are watched on.
func Start(ctx context.Context, cfg Config, p Ports) (*Tree, error) {
	cfg = cfg.withDefaults()
	dctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d := &deps{ctx: dctx, cfg: cfg, store: p.Store, phone: p.Telephony, media: p.Media, clock: p.Clock, configs: p.Configs, eligibility: p.Eligibility, spool: p.Spool, member: p.Membership, away: p.Elsewhere, keepers: p.Keepers, log: cfg.Log}
	d.system = newSystem()
	d.root = d.system.Root
	d.database.open(d)
	d.late.open(cfg.Writers)
	t := &Tree{d: d, cancel: cancel}

	spawn := func(name string, a func() actor.Actor, fault, children func(*actor.PID) bool, options ...actor.PropsOption) (*actor.PID, error) {
		options = append(options, actor.WithSupervisor(guard(d, name+" child", children)), actor.WithGuardian(guard(d, name, fault)))
		pid, err := d.root.SpawnNamed(d.props(a, options...), name)
		if err != nil {
			return nil, fmt.Errorf("actors: spawn %s: %w", name, err)
		}
		return pid, nil
	}
	// Before anything is loaded and before a campaign is taken over, which would
	// make the earlier life's writes those of a stale owner.
	if err := d.replay(ctx); err != nil {
		cancel()
		return nil, fmt.Errorf("actors: write what the spool holds to the database: %w", err)
	}
	bots, err := p.Store.Bots(ctx)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("actors: load bots: %w", err)
	}
	trunks, err := p.Store.Trunks(ctx)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("actors: load trunks: %w", err)
	}
	open, err := p.Store.OpenAttempts(ctx)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("actors: load open attempts: %w", err)
	}
	watched, err := p.Store.OpenLegs(ctx)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("actors: load the legs of lost calls: %w", err)
	}
	own, err := p.Store.Numbers(ctx)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("actors: load numbers: %w", err)
	}
	d.destinations.configure(cfg.AllowedCountries, own)
	d.callee.Store(&calleeLimit{cfg.CalleeCap, cfg.CalleePeriod})
	active, err := p.Store.ActiveCampaigns(ctx)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("actors: load active campaigns: %w", err)
	}
	for i := range cfg.Writers {
		pid, err := spawn(fmt.Sprintf("writer-%d", i), func() actor.Actor { return &writer{d: d, lane: i, stats: &d.stats.Writer} }, resumes, restarts)
		if err != nil {
			cancel()
			return nil, err
		}
		d.writers = append(d.writers, pid)
	}
	// A restart stops an actor's children, and calls would lose their owners
	// with them: whoever has children goes on with what it knows, and so does who
	// owns leases.
	for _, s := range []struct {
		name            string
		pid             **actor.PID
		fault, children func(*actor.PID) bool
		make            func() actor.Actor
	}{
		{"fleet", &d.fleet, restarts, restarts, func() actor.Actor { return newFleet(d, &bots) }},
		{"trunks", &d.trunks, resumes, resumes, func() actor.Actor { return newTrunks(d, trunks) }},
		{"numbers", &d.numbers, resumes, resumes, func() actor.Actor { return newNumbers(d) }},
		{"dialout", &d.dialout, resumes, restarts, func() actor.Actor { return newDialout(d) }},
		{"campaigns", &d.campaigns, resumes, resumes, func() actor.Actor { return newCampaigns(d) }},
	} {
		var options []actor.PropsOption
		if s.pid == &d.dialout {
			options = append(options, d.mailboxes.of(""))
		}
		if *s.pid, err = spawn(s.name, s.make, s.fault, s.children, options...); err != nil {
			cancel()
			return nil, err
		}
	}
	if d.member != nil { // others may be at it: what this node owns it is told
		open, watched, active = nil, nil, nil
	}
	for _, a := range append(open, watched...) {
		if a.Campaign == "" {
			d.root.Send(d.dialout, &recoverCall{Attempt: a})
		}
	}
	for i := range watched {
		if id := watched[i].Campaign; id != "" && !slices.Contains(active, id) {
			active = append(active, id)
		}
	}
	for _, id := range active {
		d.root.Send(d.campaigns, &wake{Campaign: id})
	}
	t.watching.Go(d.database.watch)
	return t, nil
}

func newSystem() *actor.ActorSystem {
	s := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.NewTextHandler(io.Discard, nil))
	}))
	shrinkRegistry(s)
	return s
}

// Close stops the tree. Calls go on in the adapters; what was not durable is
// recovered by the next life.
func (t *Tree) Close() {
	t.once.Do(func() {
		t.cancel()
		t.watching.Wait()
		d := t.d
		d.imports.close() // while the runs still answer
		for _, pid := range append([]*actor.PID{d.campaigns, d.dialout, d.numbers, d.trunks, d.fleet}, d.writers...) {
			if pid != nil {
				_ = d.root.StopFuture(pid).Wait() // an actor that does not stop in time is left behind
			}
		}
		d.system.Shutdown()
		d.workers.close()
	})
}

// Stats are the tree's figures for /metrics.
type Stats struct {
	Writer     writerStats
	LegsPlaced atomic.Int64 // INVITEs given to the telephony port
	LegsSent   atomic.Int64 // INVITEs that left
	Attempts   atomic.Int64 // attempts begun
	Ended      atomic.Int64 // attempts ended, of those begun and those recovered
	outcomes   [numOutcomes]atomic.Int64
	Recovered  atomic.Int64 // attempts of an earlier process life, taken over to be closed
	Released   atomic.Int64 // attempts that went on under another owner of their campaign
	Answered   atomic.Int64
	Served     atomic.Int64
	Abandoned  atomic.Int64
	Results    atomic.Int64
	Illegal    atomic.Int64 // events that a machine refused
	Restarts   atomic.Int64 // actors restarted after a panic
	Overloads  atomic.Int64 // commands refused because too many waited
	Failing    atomic.Int64 // of them, those that wait because they fault again and again
	SeatsHeld  atomic.Int64
	// Active bots without an endpoint that takes calls, and such endpoints.
	BotsDown, EndpointsDown atomic.Int64
	// TrunksDown are active trunks that take no calls as they should.
	TrunksDown  atomic.Int64
	TrunkLeases atomic.Int64
	SlotLeases  atomic.Int64
	Quarantined atomic.Int64 // outbound numbers
}

// numOutcomes is the length of engine.Outcomes; a test holds them together.
const numOutcomes = 19

// ended counts an attempt by what it came to.
func (s *Stats) ended(o engine.Outcome) {
	s.Ended.Add(1)
	if i := slices.Index(engine.Outcomes, o); i >= 0 {
		s.outcomes[i].Add(1)
	}
}

// Outcome is how many attempts ended with an outcome.
func (s *Stats) Outcome(o engine.Outcome) int64 {
	if i := slices.Index(engine.Outcomes, o); i >= 0 {
		return s.outcomes[i].Load()
	}
	return 0
}

type writerStats struct {
	Commits, Writes, Failures atomic.Int64
	Waiting                   atomic.Int64 // writes that are neither in the database nor in the spool
}

func (s *writerStats) observe(n int, err error) {
	if err != nil {
		s.Failures.Add(1)
		return
	}
	s.Commits.Add(1)
	s.Writes.Add(int64(n))
}

// Stats gives the tree's figures.
func (t *Tree) Stats() *Stats { return &t.d.stats }
