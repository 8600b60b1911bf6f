package process

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	nethttp "net/http"
	"net/http/pprof"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/rs/zerolog"

	"dialler/actors"
	callactor "dialler/actors/call"
	campaignactor "dialler/actors/campaign"
	"dialler/actors/cluster/gateway"
	"dialler/actors/cluster/link"
	"dialler/actors/cluster/sharedcaps"
	"dialler/actors/host"
	"dialler/actors/writer"
	"dialler/engine"
	"dialler/engine/run"
	"dialler/http"
	"dialler/media"
	"dialler/media/recording"
	"dialler/persistence"
	"dialler/persistence/failure"
	"dialler/persistence/nodes"
	"dialler/persistence/private"
	"dialler/persistence/spool"
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
	presence *nodes.Presence
	replaced atomic.Pointer[string] // why another process serves the database, nil: none does
	store    *persistence.Store
	// spool is nil when nothing is kept on disk.
	spool *spool.Spool
	sip   *sipstack.Stack
	// ladders is nil when none are kept.
	ladders  *ladderKeeper
	media    *media.Engine
	recorder *recording.Recorder
	tree     *actors.Tree
	lease    *lease   // nil: not of a cluster
	several  *several // nil: as above
	links    *link.Links
	gateway  *gateway.Gateway
	capacity *capacity // nil: as above
	hooks    *webhookMetrics
	// eligibility asks before a dial, where the installation or the campaign wants it.
	eligibility *eligibilityHook
	keepers     *sharedcaps.Keepers
	api         *http.Server
	front       *Front

	name      string   // of the instance: of its folder of data
	listeners []string // names of the SIP listeners
	listener  net.Listener
	profiles  net.Listener
	started   time.Time
	closing   []func()
	once      sync.Once
	draining  bool
	mu        sync.Mutex
	unsettled atomic.Bool                 // what is configured may have changed, and nobody heard of it
	settling  sync.Mutex                  // held while it is read anew
	commits   prometheus.Histogram        // seconds
	delays    prometheus.Histogram        // seconds
	opinions  prometheus.Histogram        // of audio, 1 to 4.5
	stages    *prometheus.HistogramVec    // seconds from the answer
	treeUp    atomic.Pointer[actors.Tree] // for adapters that report before the tree is up
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

func (p *Process) open(ctx context.Context, name string) error {
	flags, log := p.flags, p.log
	optOut, err := optOutDigit(flags.OptOutDigit)
	if err != nil {
		return err
	}
	if err := flags.check(); err != nil {
		return err
	}
	trunks, err := readFileTrunks(flags.ConfigPath, os.LookupEnv)
	if err != nil {
		return err
	}
	listeners, err := flags.sipListeners()
	if err != nil {
		return err
	}
	for _, l := range listeners {
		p.listeners = append(p.listeners, l.Name)
	}
	if err := checkFileListeners(flags.ConfigPath, trunks, p.listeners); err != nil {
		return err
	}
	url, err := p.database(ctx, name)
	if err != nil {
		return err
	}
	if err := p.attend(ctx, url); err != nil {
		return err
	}
	if p.pg != nil {
		p.keepPrivate()
	}
	if err := p.openStore(ctx, url); err != nil {
		return err
	}
	if err := p.stayPresent(ctx); err != nil {
		return err
	}
	if err := p.useDatabase(ctx, name); err != nil {
		return err
	}

	secret, err := p.store.Secret(ctx, "installation")
	if err != nil {
		return fmt.Errorf("read the installation's secret: %w", err)
	}
	if p.listener, err = net.Listen("tcp", flags.ListenHTTP); err != nil {
		return fmt.Errorf("the API cannot listen on %s (choose another with --listen-http): %w", flags.ListenHTTP, err)
	}
	p.closing = append(p.closing, func() { _ = p.listener.Close() })
	base, err := p.publicURL(listeners)
	if err != nil {
		return err
	}
	if err := p.secureAPI(base); err != nil {
		return err
	}

	if err := p.openRecorder(name); err != nil {
		return err
	}
	if _, err := applyFileTrunks(ctx, p.store, trunks); err != nil {
		return err
	}
	if err := p.telephony(ctx, listeners); err != nil {
		return err
	}
	if err := p.openSpool(name, derive(secret, "spool")); err != nil {
		return err
	}
	p.commits, p.delays, p.opinions = newCommitHistogram(), newDelayHistogram(), newOpinionHistogram()
	p.stages = newStageHistogram()
	tokens := resultTokens(derive(secret, "results"))
	ports := actors.Ports{Store: p.store, Telephony: p.sip, Media: p.media, Clock: p.clock, Configs: newConfigFetcher(flags.ConfigAllowPrivate)}
	if err := p.openEligibility(&ports); err != nil {
		return err
	}
	if p.spool != nil {
		ports.Spool = p.spool
	}
	if flags.Cluster != "" {
		p.lease = new(lease)
		p.capacity = newCapacity(p)
		p.links = link.New(link.Config{Clock: p.clock, Log: log})
		p.closing = append(p.closing, p.links.Close)
		p.gateway = gateway.New(
			gateway.Config{
				Telephony: p.sip,
				Media:     p.media,
				Clock:     p.clock,
				Links:     p.links,
				LeaseEnd:  p.lease.LeaseEnds,
				Carrier:   p.capacity.carriers.Choose,
				Failed:    p.capacity.carriers.Failed,
				SentBy:    p.lease.SentBy,
				Log:       log,
			},
		)
		p.closing = append(p.closing, p.gateway.Close)
		ports.Membership, ports.Telephony, ports.Media, ports.RemoteLegs = p.lease, p.gateway, p.gateway, p.gateway
		p.keepers = sharedcaps.New(p.clock, log)
		ports.SharedCaps = p.keepers
	}
	cfg := actors.Config{
		Writers: writer.Config{Writers: writers,
			OnCommit: func(_ int, took time.Duration) { p.commits.Observe(took.Seconds()) }},
		Calls: callactor.Config{ResultBase: base, ResultToken: tokens, OptOutDigit: optOut, OnQuality: p.heard,
			OnStage: func(s callactor.Stage, took time.Duration) {
				p.stages.WithLabelValues(string(s)).Observe(took.Seconds())
			},
			OnInvite:    func(waited time.Duration) { p.delays.Observe(waited.Seconds()) },
			PlacedHere:  func(t engine.TrunkID, contact string) bool { return p.sip.SentBy()[t] == contact },
			DialoutRing: p.tuning.dialoutRing, EligibilityBudget: p.tuning.eligibilityBudget},
		Campaigns: campaignactor.Config{RecordRun: p.tuning.recordRun}, AllowedCountries: flags.AllowedCountries,
		CalleeCap: flags.CalleeCap, CalleePeriod: flags.CalleePeriod, Log: log,
	}
	if p.tuning.tree != nil {
		p.tuning.tree(&cfg)
	}
	p.tree, err = actors.Start(ctx, cfg, ports)
	if err != nil {
		return err
	}
	p.treeUp.Store(p.tree)
	if p.replaced.Load() != nil {
		p.tree.Drain()
	}
	for _, h := range p.sip.Health() { // what was found before the tree was up
		p.tree.TrunkHealth(h)
	}
	p.closing = append(p.closing, p.tree.Close)
	if flags.Cluster != "" {
		if err := p.join(ctx, base, derive(secret, "cluster")); err != nil {
			return err
		}
	}

	p.openOutbox()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(
		// What is alive, without the garbage since the last collection.
		collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/gc/heap/live:bytes$`)})), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := registerMetrics(registry, p); err != nil {
		return err
	}
	front := &Front{Store: p.store, Accounts: p.store.Accounts, Records: p.store.Records, Lists: p.store.Lists,
		Recordings: p.store.Recordings, Endpoints: p.store.Endpoints,
		tree: p.tree, p: p}
	p.front = front
	p.api, err = http.New(http.Config{Refuses: p.refusesRequests, SharedKeys: flags.Cluster != "", JWTSecret: derive(secret, "log-in"), SecureCookies: strings.HasPrefix(strings.ToLower(base), "https://"),
		StrictTransport: strings.HasPrefix(strings.ToLower(base), "https://") && !flags.TLSOwn,
		ResultToken:     tokens, KeyRate: flags.KeyRate, PlainWebhooks: flags.WebhookAllowPrivate, ConnectionCap: p.connectionCap(), IntakeCap: flags.IntakeCap, StreamPatience: p.tuning.streamPatience, ReportPatience: p.tuning.reportPatience, Log: log, Registry: registry, Now: p.clock.Now},
		http.Deps{Campaigns: front, Imports: front, Calls: front, Reports: front, Activity: front, Keys: front, Users: front, Sessions: front, Replies: front, Bots: front, Trunks: front, Numbers: front, Health: front, Destinations: p.tree, Suppressions: front, Recordings: front, Classification: front, Evidence: front, Persons: front, Webhooks: front, Simulations: front})
	if err != nil {
		return err
	}
	go func() {
		if err := p.api.Serve(p.listener); err != nil && !errors.Is(err, net.ErrClosed) {
			log.Error().Err(err).Msg("the API stopped")
		}
	}()
	p.closing = append(p.closing, func() {
		c, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = p.api.Shutdown(c)
	})
	p.maintain()
	p.keepRecordings()
	p.keepTime()
	if err := p.serveProfiles(); err != nil {
		return err
	}
	log.Info().Str("api", p.URL()).Str("sip", p.sip.Addr()).Msg("dialler up")
	return nil
}

// database gives the URL of the operator's PostgreSQL, or starts a private one.
func (p *Process) database(ctx context.Context, name string) (string, error) {
	if p.flags.DatabaseURL != "" {
		return p.flags.DatabaseURL, nil
	}
	var err error
	if p.pg, err = StartPrivate(ctx, p.flags.DataDir, name, p.log); err != nil {
		return "", err
	}
	if !p.pg.Adopted() { // else it may be another process's
		p.closing = append(p.closing, p.stopPrivate)
	}
	return p.pg.URL(), nil
}

// keepPrivate has the private PostgreSQL run as long as this process, which is
// the one that serves it.
func (p *Process) keepPrivate() {
	p.pg.Keep()
	if p.pg.Adopted() {
		last := len(p.closing) - 1 // the presence ends before its server
		p.closing = slices.Insert(p.closing, last, p.stopPrivate)
	}
}

func (p *Process) stopPrivate() {
	if err := p.pg.Stop(); err != nil {
		p.log.Error().Err(err).Msg("private PostgreSQL did not stop")
	}
}

// optOutDigit reads one key of a telephone; "" is none.
func optOutDigit(s string) (byte, error) {
	switch {
	case s == "":
		return 0, nil
	case len(s) == 1 && strings.Contains("0123456789*#", s):
		return s[0], nil
	}
	return 0, fmt.Errorf("--opt-out-digit must be one key, 0-9, * or #; got %q", s)
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
func (p *Process) maintain() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
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
	}()
	p.closing = append(p.closing, func() { cancel(); <-done })
}

// connectionCap is how many connections the API may have: calls need
// descriptors, too.
func (p *Process) connectionCap() int {
	var limit syscall.Rlimit
	n := p.flags.HTTPConnections
	if n <= 0 || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return n
	}
	most := int(min(limit.Cur/4, 1<<20))
	if n > most {
		p.log.Warn().Int("connections", most).Msg("the API may have a quarter of the process's descriptors; raise its limit (ulimit -n) for more")
	}
	return min(n, most)
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
		p.keepers.HandOver(ctx)
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

func (p *Process) serveProfiles() (err error) {
	if p.flags.Pprof == "" {
		return nil
	}
	if p.profiles, err = net.Listen("tcp", p.flags.Pprof); err != nil {
		return fmt.Errorf("--pprof cannot listen on %s: %w", p.flags.Pprof, err)
	}
	mux := nethttp.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	srv := &nethttp.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(p.profiles) }()
	p.closing = append(p.closing, func() { _ = srv.Close() })
	return nil
}

// derive makes a purpose's own key from the installation's secret.
func derive(secret []byte, purpose string) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte(purpose))
	return m.Sum(nil)
}

// resultTokens gives the bearer token of a call's result: an HMAC of the call,
// so that nothing but the installation's secret has to be kept for it.
func resultTokens(key []byte) func(engine.CallID) string {
	return func(id engine.CallID) string {
		m := hmac.New(sha256.New, key)
		m.Write([]byte(id))
		return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
	}
}
