package process

import (
	"context"
	"io/fs"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors"
	campaignactor "dialler/actors/campaign"
	"dialler/actors/cluster/gateway"
	"dialler/actors/cluster/link"
	"dialler/actors/cluster/sharedcaps"
	"dialler/actors/host"
	"dialler/actors/inventory"
	"dialler/engine"
	"dialler/engine/run"
	"dialler/engine/setup"
	"dialler/http"
	"dialler/media"
	"dialler/media/recording"
	"dialler/persistence"
	"dialler/persistence/failure"
	"dialler/persistence/private"
	"dialler/persistence/spool"
	"dialler/process/flights"
	"dialler/process/metrics"
	"dialler/process/outgoing"
	"dialler/process/witness"
	"dialler/sipstack"
)

// Process is one running dialler: the database, the telephony and media adapters, the campaign tree
// and the API, wired together. Close undoes everything in reverse order.
type Process struct {
	flags  Flags
	tuning tuning
	log    zerolog.Logger
	clock  host.Clock

	pg       *private.Server
	presence *attendance
	store    *persistence.Store
	sealing  *sealing
	// spool is nil when nothing is kept on disk.
	spool *spool.Spool
	sip   *sipstack.Stack
	// ladders is nil when none are kept.
	ladders  *ladderKeeper
	media    *media.Engine
	recorder *recording.Recorder
	// externalWatches ask STUN servers for our external addresses.
	externalWatches []*watched
	flights         *flights.Keeper
	tree            *actors.Tree
	lease           *lease    // nil outside a cluster
	alone           *ownLease // nil in a cluster
	several         *several  // nil: as above
	links           *link.Links
	gateway         *gateway.Gateway
	capacity        *capacity // nil: as above
	hooks           *outgoing.DeliveryMetrics
	anchorer        *witness.Anchorer // nil without witnesses
	holidays        *outgoing.Holidays
	// eligibility asks before a dial, if the installation or the campaign wants it.
	eligibility *outgoing.Eligibility
	sharedCaps  *sharedcaps.Caps
	inventory   *inventory.Keeper
	api         *http.Server
	front       *Front

	name       string                      // of the instance, and thus of its data folder
	listeners  []string                    // names of the SIP listeners
	families   []string                    // that audio can have, of the address family
	results    atomic.Pointer[http.Server] // takes results of bots on their sockets; nil until it is up
	listener   net.Listener
	profiles   net.Listener
	started    time.Time
	closing    []func()
	once       sync.Once
	draining   bool
	mu         sync.Mutex
	unsettled  atomic.Bool // the configuration may have changed without anyone being told
	settling   sync.Mutex  // held while it is reloaded
	histograms *metrics.Histograms
	origins    origins
	strays     atomic.Int64                // recordings whose calls the database does not know
	treeUp     atomic.Pointer[actors.Tree] // for adapters that report before the tree is up
	model      atomic.Pointer[setup.Model] // nil where no model carrier and bot run beside it
}

// databaseName is the private server's folder below the data folder.
const databaseName = "postgresql"

// tuning are times that operators cannot set: the zero value is production, tests of the whole
// process shorten them.
type tuning struct {
	timers      sipstack.Timers
	dialoutRing time.Duration
	// eligibilityBudget is how long an eligibility hook may take to answer.
	eligibilityBudget time.Duration
	rtpTimeout        time.Duration
	stunEvery         time.Duration // interval of asking for our external address
	stunPatience      time.Duration // of one question
	// streamPatience is how long the client of a live stream may take to read.
	streamPatience time.Duration
	reportPatience time.Duration // of the reader of a report
	webhookTimeout time.Duration // of one try
	webhookEvery   time.Duration // interval of looking for events
	backTestEvery  time.Duration // interval of looking for finished runs
	learnEvery     time.Duration // interval of looking for dials to learn from
	calendarsEvery time.Duration // interval of looking for files of holidays that are due
	backTestPlays  int           // per question of a back-test; 0 means the default
	sealEvery      time.Duration // interval of sealing
	linkVersion    uint64        // that other nodes are told; 0 means this program's
	// toDatabase replaces the connection to the database, to inject faults.
	toDatabase func(ctx context.Context, network, addr string) (net.Conn, error)
	readers    int // connections for queries; 0 means the default
	clock      host.Clock
	schema     fs.FS // its migrations; nil means this program's
	// recordRun records the inputs of the campaigns' runs.
	recordRun func(engine.CampaignID, run.Config) campaignactor.RunRecorder
	seals     witness.Port // in place of those of the history
	// tree changes the settings of the tree, to inject actor faults.
	tree func(*actors.Config)
}

// Start starts a dialler; name is its instance: main, sandbox. After an error everything that was
// started is stopped again.
func Start(ctx context.Context, flags Flags, name string, log zerolog.Logger) (*Process, error) {
	return startTuned(ctx, flags, name, log, production)
}

// production is the program's tuning: the zero value, except in tests that run it as a program.
var production tuning

func startTuned(ctx context.Context, flags Flags, name string, log zerolog.Logger, times tuning) (*Process, error) {
	p := &Process{name: name, flags: flags, tuning: times, log: log, clock: times.clock, started: time.Now()}
	if p.clock == nil {
		p.clock = systemClock{}
	}
	if err := p.open(ctx, name); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// doubt records that a configuration change may have been stored without anyone being told.
func (p *Process) doubt(err error) {
	if failure.Why(err) != "" {
		p.unsettled.Store(true)
	}
}

// settle reloads the configuration if the database did not answer a change of it, which may have
// been stored nevertheless.
func (p *Process) settle(ctx context.Context) {
	p.settling.Lock()
	defer p.settling.Unlock()
	if !p.unsettled.Swap(false) {
		return
	}
	numbers, err := p.store.Numbers(ctx)
	for _, f := range []func() error{
		func() error { return p.tree.BotsChanged(ctx) },
		func() error { return p.tree.CadencesChanged(ctx) },
		func() error { return p.tree.CalendarsChanged(ctx) },
		func() error { return p.setTrunks(ctx) },
		func() error { return p.tree.TrunksChanged(ctx) },
	} {
		if err == nil {
			err = f()
		}
	}
	if err != nil {
		p.unsettled.Store(true)
		return
	}
	p.tree.NumbersKnown(numbers)
}

// settleEvery is the interval of settle.
const settleEvery = time.Second

// orphansEvery is the interval of looking for imports that no process will finish, such as those
// interrupted by a database restart.
const orphansEvery = 5 * time.Second

// maintain makes the store do its daily work: partitions for the coming months, expired replies and
// number holds. It also closes interrupted imports.
func (p *Process) maintain(ctx context.Context) {
	if numbers, err := p.store.Numbers(ctx); err == nil {
		p.tree.NumbersKnown(numbers)
	} else {
		p.unsettled.Store(true)
	}
	tick, orphans, settle := time.NewTicker(6*time.Hour), time.NewTicker(orphansEvery), time.NewTicker(settleEvery)
	defer tick.Stop()
	defer settle.Stop()
	defer orphans.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-settle.C:
			p.settle(ctx)
		case now := <-orphans.C:
			// A database outage is logged elsewhere.
			if n, err := p.store.CloseOrphanedImports(ctx, now); err == nil && n > 0 {
				p.log.Warn().Int("imports", n).Msg("interrupted imports closed; nothing of them was added")
			}
		case now := <-tick.C:
			if err := p.store.Maintain(ctx, now); err != nil {
				p.log.Error().Err(err).Msg("daily database maintenance not done; it is tried again")
			}
		}
	}
}

// searchEvery is the interval of tidying what contacts are searched in.
const searchEvery = time.Minute

// tidySearch keeps what contacts are searched in tidy, and reads contacts from before an update into it.
func (p *Process) tidySearch(ctx context.Context) {
	tick := time.NewTicker(searchEvery)
	defer tick.Stop()
	for {
		more, err := p.store.TidySearch(ctx)
		if err != nil && ctx.Err() == nil && failure.Why(err) == "" {
			p.log.Error().Err(err).Msg("what contacts are searched in was not tidied; it is tried again")
		}
		if more && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// StartPrivate starts the private PostgreSQL of an instance in its data folder, or adopts a running
// one.
func StartPrivate(ctx context.Context, dataDir, instance string, log zerolog.Logger) (*private.Server, error) {
	dir, err := DataDir(dataDir, instance)
	if err != nil {
		return nil, err
	}
	return private.Start(ctx, private.Config{Dir: dir, Name: databaseName, Log: log})
}

// PrivateExists refuses if an instance has no private PostgreSQL in its data folder yet: a
// maintenance command must not be given an empty database.
func PrivateExists(dataDir, instance string) error {
	dir, err := DataDir(dataDir, instance)
	if err != nil {
		return err
	}
	folder, ok, err := private.Exists(dir, databaseName)
	if err == nil && !ok {
		err = engine.NotFound("database_missing", "the data folder "+dir+" has no private database (there is none in "+folder+
			"), and none was made; give the installation's settings "+
			"(--config, DATABASE_URL or --data-dir), or start a new one with dialler serve")
	}
	return err
}

// background runs a function until the process closes.
func (p *Process) background(run func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	p.closing = append(p.closing, func() { cancel(); running.Wait() })
}

// Store returns the dialler's database.
func (p *Process) Store() *persistence.Store { return p.store }

// Tree returns the campaign tree.
func (p *Process) Tree() *actors.Tree { return p.tree }

// Front returns the dialler as the API sees it.
func (p *Process) Front() *Front { return p.front }

// URL returns the base address of the API.
func (p *Process) URL() string { return p.scheme() + p.listener.Addr().String() }

func (p *Process) scheme() string {
	if p.flags.TLSOwn || p.flags.TLSCert != "" {
		return "https://"
	}
	return "http://"
}

// KeyLost returns a channel with the reason why this process must end: its signing key is no longer
// the installation's.
func (p *Process) KeyLost() <-chan error { return p.sealing.lost }

// Replaced returns a channel with the reason why this process must end: another one had taken its
// place, and has ended.
func (p *Process) Replaced() <-chan error { return p.presence.ended }

// Drain places no new calls and waits for the live ones, at most for the drain timeout, or until
// ctx ends.
func (p *Process) Drain(ctx context.Context) {
	p.mu.Lock()
	p.draining = true
	p.mu.Unlock()
	p.tree.Drain()
	if p.several != nil {
		p.gateway.Drain()
		p.capacity.carriers.Tell()
		p.several.keeper.HandOver(ctx)
		p.sharedCaps.HandOver(ctx)
	}
	deadline := time.NewTimer(p.settings().DrainTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for p.liveCalls() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-deadline.C:
			p.log.Warn().Int64("calls", p.liveCalls()).Msg("drain timeout; the calls still live are closed as lost at the " +
				"next start")
			return
		case <-tick.C:
		}
	}
	if p.several != nil {
		p.several.node.Leave(ctx) // no calls are live any more
	}
}

// Abandon is for a process that ends at once: it reports what it leaves behind, and stops the
// private PostgreSQL, which would outlive it.
func (p *Process) Abandon() {
	p.log.Warn().Int64("calls", p.liveCalls()).Msg("ended at once by a second signal; the calls still live are closed " +
		"as lost at the next start")
	if p.pg != nil {
		p.stopPrivate()
	}
}

// liveCalls counts this process's calls, and those that it carries for others.
func (p *Process) liveCalls() int64 {
	n := p.tree.LiveCalls()
	if p.gateway != nil {
		n += int64(p.gateway.Hosted())
	}
	return n
}

// Close stops everything.
func (p *Process) Close() {
	p.once.Do(func() {
		for i := len(p.closing) - 1; i >= 0; i-- {
			p.closing[i]()
		}
	})
}
