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
	"dialler/http"
	"dialler/media"
	"dialler/media/recording"
	"dialler/persistence"
	"dialler/persistence/failure"
	"dialler/persistence/private"
	"dialler/persistence/spool"
	"dialler/process/metrics"
	"dialler/process/outgoing"
	"dialler/sipstack"
)

// Process is one running dialler: the database, the telephony and media
// adapters, the campaign tree and the API, wired together. Close undoes
// everything in the opposite order.
type Process struct {
	flags  Flags
	tuning tuning
	log    zerolog.Logger
	clock  host.Clock

	pg       *private.Server
	presence *attendance
	store    *persistence.Store
	// spool is nil when nothing is kept on disk.
	spool *spool.Spool
	sip   *sipstack.Stack
	// ladders is nil when none are kept.
	ladders  *ladderKeeper
	media    *media.Engine
	recorder *recording.Recorder
	tree     *actors.Tree
	lease    *lease    // nil: not of a cluster
	alone    *ownLease // nil: of a cluster
	several  *several  // nil: as above
	links    *link.Links
	gateway  *gateway.Gateway
	capacity *capacity // nil: as above
	hooks    *outgoing.DeliveryMetrics
	// eligibility asks before a dial, where the installation or the campaign wants it.
	eligibility *outgoing.Eligibility
	sharedCaps  *sharedcaps.Caps
	inventory   *inventory.Keeper
	api         *http.Server
	front       *Front

	name       string   // of the instance: of its folder of data
	listeners  []string // names of the SIP listeners
	listener   net.Listener
	profiles   net.Listener
	started    time.Time
	closing    []func()
	once       sync.Once
	draining   bool
	mu         sync.Mutex
	unsettled  atomic.Bool // what is configured may have changed, and nobody heard of it
	settling   sync.Mutex  // held while it is read anew
	histograms *metrics.Histograms
	treeUp     atomic.Pointer[actors.Tree] // for adapters that report before the tree is up
}

// databaseName is the private cluster's folder below the data folder.
const databaseName = "postgresql"

// tuning are times that no operator sets: the zero value is production, tests
// of the whole process shorten them.
type tuning struct {
	timers      sipstack.Timers
	dialoutRing time.Duration
	// eligibilityBudget is what the answer of an eligibility hook may take.
	eligibilityBudget time.Duration
	rtpTimeout        time.Duration
	// streamPatience is how long the client of a live stream may take to read.
	streamPatience time.Duration
	reportPatience time.Duration // of the reader of a report
	webhookTimeout time.Duration // of one try
	webhookEvery   time.Duration // how often events are looked for
	backTestEvery  time.Duration // how often is looked for a run that is over
	backTestPlays  int           // of each question of a back-test; 0: the usual
	// toDatabase replaces the way to the database: faults are put in there.
	toDatabase func(ctx context.Context, network, addr string) (net.Conn, error)
	clock      host.Clock
	schema     fs.FS // its steps, nil: this program's
	// recordRun keeps the inputs of the campaigns' runs.
	recordRun func(engine.CampaignID, run.Config) campaignactor.RunRecorder
	// tree changes the settings of the tree: actors are made to fault there.
	tree func(*actors.Config)
}

// Start brings a dialler up; name is its instance: main, sandbox. On an error everything that was up is down again.
func Start(ctx context.Context, flags Flags, name string, log zerolog.Logger) (*Process, error) {
	return startTuned(ctx, flags, name, log, production)
}

// production is what the program runs with: the zero value, but in tests that run
// it as a program.
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

// doubt notes that a change of what is configured may have been stored though
// nobody was told.
func (p *Process) doubt(err error) {
	if failure.Why(err) != "" {
		p.unsettled.Store(true)
	}
}

// settle reads what is configured anew when a change of it was not answered by
// the database: it may have been stored all the same.
func (p *Process) settle(ctx context.Context) {
	p.settling.Lock()
	defer p.settling.Unlock()
	if !p.unsettled.Swap(false) {
		return
	}
	numbers, err := p.store.Numbers(ctx)
	for _, f := range []func() error{
		func() error { return p.tree.BotsChanged(ctx) },
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
	for _, n := range numbers {
		p.tree.NumberChanged(n)
	}
}

// settleEvery is how often settle is tried.
const settleEvery = time.Second

// orphansEvery is how often imports that nobody will finish are looked for:
// those of a database that was restarted under them, among others.
const orphansEvery = 5 * time.Second

// maintain has the store do its daily work: partitions of the coming months,
// stored replies and number holds that ran out. It also closes what is left of
// imports that were interrupted.
func (p *Process) maintain(ctx context.Context) {
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
			// While the database is away others say so.
			if n, err := p.store.CloseOrphanedImports(ctx, now); err == nil && n > 0 {
				p.log.Warn().Int("imports", n).Msg("interrupted imports closed; nothing of them was added")
			}
		case now := <-tick.C:
			if err := p.store.Maintain(ctx, now); err != nil {
				p.log.Error().Err(err).Msg("daily work of the database not done; it is tried again")
			}
		}
	}
}

// StartPrivate starts the private PostgreSQL of an instance in its data folder,
// or adopts the one that runs there.
func StartPrivate(ctx context.Context, dataDir, instance string, log zerolog.Logger) (*private.Server, error) {
	dir, err := DataDir(dataDir, instance)
	if err != nil {
		return nil, err
	}
	return private.Start(ctx, private.Config{Dir: dir, Name: databaseName, Log: log})
}

// PrivateExists refuses when an instance has no private PostgreSQL in its data
// folder yet: who looks after a database must not be given an empty one.
func PrivateExists(dataDir, instance string) error {
	dir, err := DataDir(dataDir, instance)
	if err != nil {
		return err
	}
	folder, ok, err := private.Exists(dir, databaseName)
	if err == nil && !ok {
		err = engine.NotFound("database_missing", "the data folder "+dir+" has no private database (there is none in "+folder+"), and none was made; give the installation's settings "+
			"(--config, DATABASE_URL or --data-dir), or start a new one with dialler serve")
	}
	return err
}

// background runs something until the process closes.
func (p *Process) background(run func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	p.closing = append(p.closing, func() { cancel(); running.Wait() })
}

// Store is the dialler's database.
func (p *Process) Store() *persistence.Store { return p.store }

// Tree is the campaign tree.
func (p *Process) Tree() *actors.Tree { return p.tree }

// Front is what the API knows of the dialler.
func (p *Process) Front() *Front { return p.front }

// URL is the base address of the API.
func (p *Process) URL() string { return p.scheme() + p.listener.Addr().String() }

func (p *Process) scheme() string {
	if p.flags.TLSOwn || p.flags.TLSCert != "" {
		return "https://"
	}
	return "http://"
}

// Replaced brings why this process is to end: another one had taken its place, and has
// ended.
func (p *Process) Replaced() <-chan error { return p.presence.ended }

// Drain places no new call and waits for the live ones, at most the drain
// timeout, or until ctx ends.
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
			p.log.Warn().Int64("calls", p.liveCalls()).Msg("drain timeout; the calls still live are closed as lost at the next start")
			return
		case <-tick.C:
		}
	}
	if p.several != nil {
		p.several.node.Leave(ctx) // no call is live any more
	}
}

// Abandon is for a process that ends at once: it says what it leaves, and stops
// the private PostgreSQL, which would outlive it.
func (p *Process) Abandon() {
	p.log.Warn().Int64("calls", p.liveCalls()).Msg("ended at once by a second signal; the calls still live are closed as lost at the next start")
	if p.pg != nil {
		p.stopPrivate()
	}
}

// liveCalls counts those of this process, and those that it carries for others.
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
