package process

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	nethttp "net/http"
	"net/http/pprof"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"dialler/actors"
	callactor "dialler/actors/call"
	campaignactor "dialler/actors/campaign"
	"dialler/actors/cluster/gateway"
	"dialler/actors/cluster/link"
	"dialler/actors/cluster/sharedcaps"
	"dialler/actors/inventory"
	"dialler/actors/writer"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/eligibility"
	"dialler/engine/ownership"
	"dialler/engine/seal"
	"dialler/http"
	"dialler/media/recording"
	"dialler/persistence"
	"dialler/persistence/spool"
	"dialler/persistence/webhooks"
	"dialler/process/configfile"
	"dialler/process/keys"
	"dialler/process/metrics"
	"dialler/process/outgoing"
)

func (p *Process) open(ctx context.Context, name string) error {
	if err := p.flags.Check(); err != nil {
		return err
	}
	flags, log := p.flags, p.log
	optOut, err := optOutDigit(flags.OptOutDigit)
	if err != nil {
		return err
	}
	trunks, err := configfile.Trunks(flags.ConfigPath, keys.Variable)
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
	rtp := rtpHosts(flags.RTPHost, listeners)
	p.families = familiesOf(rtp)
	if err := configfile.CheckNames(flags.ConfigPath, trunks, p.listeners, p.families); err != nil {
		return err
	}
	if flags.Cluster == "" {
		p.alone = newOwnLease(p.clock)
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
	if err := p.presence.Record(ctx); err != nil {
		return err
	}
	if flags.Cluster == "" { // in a cluster, a campaign may move to another node
		p.store.OnReplaced(func() {
			p.presence.replaced(
				"another process took over the campaigns of this database (stale_epoch); " +
					"stop one of the two, and start this one again",
			)
		})
	}
	p.background(p.presence.stay)
	data, err := DataDir(flags.DataDir, name)
	if err != nil {
		return err
	}
	notes, err := useDatabase(ctx, p.store, data, &p.treeUp, log)
	if err != nil {
		return err
	}
	p.background(notes.run)
	if err := p.openSpine(ctx, data); err != nil {
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
	base, err := publicURL(flags.PublicURL, p.scheme(), p.listener.Addr(), listeners, log)
	if err != nil {
		return err
	}
	if err := flags.checkOIDC(base); err != nil {
		return err
	}
	if err := p.secureAPI(base); err != nil {
		return err
	}

	if err := p.openRecorder(name); err != nil {
		return err
	}
	p.openFlights(data)
	if _, err := configfile.Apply(ctx, p.store, trunks); err != nil {
		return err
	}
	if flags.Cluster != "" {
		p.lease = &lease{clock: p.clock}
	}
	if err := p.telephony(ctx, listeners, rtp); err != nil {
		return err
	}
	if err := p.openSpool(name, derive(secret, "spool")); err != nil {
		return err
	}
	p.histograms = metrics.NewHistograms()
	p.holidays = outgoing.NewHolidays(flags.WebhookAllowPrivate)
	tokens := resultTokens(derive(secret, "results"))
	ports := actors.Ports{
		Store:     sealingStore{p.store, func() { wake(p.sealing.ends) }},
		Telephony: p.sip,
		Media:     p.media,
		Clock:     p.clock,
		Configs:   outgoing.NewConfigs(flags.ConfigAllowPrivate),
	}
	if err := p.openEligibility(&ports); err != nil {
		return err
	}
	if p.spool != nil {
		ports.Spool = p.spool
	}
	if flags.Cluster != "" {
		p.capacity = newCapacity(p)
		p.links = link.New(link.Config{Clock: p.clock, Log: log, Speaks: p.tuning.linkVersion})
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
				Taken: func(a engine.AttemptID) {
					if t := p.treeUp.Load(); t != nil {
						t.Ownership().Taken(a)
					}
				},
				Carried: func() []engine.AttemptID { return carried(p.sip, p.media) },
				Owned: func(a engine.AttemptID) bool {
					t := p.treeUp.Load()
					return t == nil || t.Has(a)
				},
				Log: log,
			},
		)
		p.lease.gateway.Store(p.gateway)
		p.closing = append(p.closing, p.gateway.Close)
		ports.Membership, ports.Telephony, ports.Media, ports.RemoteLegs = p.lease, p.gateway, p.gateway, p.gateway
		p.sharedCaps = sharedcaps.New(p.clock, log)
		ports.SharedCaps = p.sharedCaps
	}
	rules, err := p.noteFrequency(ctx, &flags)
	if err != nil {
		return err
	}
	cfg := actors.Config{
		Writers: writer.Config{Writers: writers,
			OnCommit: func(_ int, took time.Duration) { p.histograms.Commits.Observe(took.Seconds()) }},
		Calls: callactor.Config{ResultBase: base, ResultToken: tokens, OptOutDigit: optOut,
			OnQuality: func(t engine.TrunkID, q engine.MediaQuality) {
				p.histograms.Heard(t, &q)
				p.origins.heard(t, &q)
			},
			OnStage: func(s callactor.Stage, took time.Duration) {
				p.histograms.Stages.WithLabelValues(string(s)).Observe(took.Seconds())
			},
			OnInvite:     func(waited time.Duration) { p.histograms.Delays.Observe(waited.Seconds()) },
			TellsRinging: p.store.Endpoints.TellsRinging,
			PlacedHere:   func(t engine.TrunkID, contact string) bool { return p.sip.SentBy()[t] == contact },
			Returned: func(ctx context.Context, cmd campaign.SubmitResult) error {
				if t := p.treeUp.Load(); t == nil {
					return context.Canceled // the tree is not there yet: it is told again
				} else if p.results.Load() == nil { // nor is the front
					return t.SubmitResult(ctx, cmd)
				}
				return p.front.commands.SubmitResult(ctx, cmd)
			},
			DialoutRing: p.tuning.dialoutRing, EligibilityBudget: p.tuning.eligibilityBudget},
		Campaigns: campaignactor.Config{RecordRun: p.recordRun()}, AllowedCountries: flags.AllowedCountries,
		Frequency: rules, Log: log,
	}
	if p.tuning.tree != nil {
		p.tuning.tree(&cfg)
	}
	if _, err := p.store.Endpoints.Webhooks(ctx); err != nil { // the first calls know already who is told that they ring
		return err
	}
	p.tree, err = actors.Start(ctx, cfg, ports)
	if err != nil {
		return err
	}
	p.treeUp.Store(p.tree)
	if p.presence.refusal() != nil {
		p.tree.Drain()
	}
	for _, h := range p.sip.Health() { // found before the tree was up
		p.tree.TrunkHealth(h)
	}
	p.closing = append(p.closing, p.tree.Close)
	if flags.Cluster != "" {
		if err := p.join(ctx, base, derive(secret, "cluster")); err != nil {
			return err
		}
	}

	p.inventory = inventory.New(inventory.Config{Telephony: p.sip, Media: p.media, Clock: p.clock,
		Carried: func() []engine.AttemptID { return carried(p.sip, p.media) }, Owned: p.tree.Has, Log: log})
	if flags.Cluster == "" { // in a cluster, the gateway does this
		p.background(p.inventory.Run)
	}

	p.openOutbox()
	if err := p.openAnchors(); err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(
		// Live memory, without garbage since the last collection.
		collectors.WithGoCollectorRuntimeMetrics(
			collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/gc/heap/live:bytes$`)},
		),
	), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := metrics.Register(registry, p.sources()); err != nil {
		return err
	}
	front := &Front{Store: p.store, Accounts: p.store.Accounts, Records: p.store.Records, Lists: p.store.Lists,
		Recordings: p.store.Recordings, Endpoints: p.store.Endpoints,
		commands: p.tree, tree: p.tree, p: p}
	if p.several != nil {
		front.commands = p.several.router
	}
	p.front = front
	proxies, err := networks(flags.TrustedProxies)
	if err != nil {
		return err
	}
	p.api, err = http.New(
		http.Config{
			Proxies:         proxies,
			Refuses:         p.presence.refusal,
			SharedKeys:      flags.Cluster != "",
			JWTSecret:       derive(secret, "log-in"),
			SecureCookies:   encrypted(base) || encrypted(flags.OIDCRedirect),
			StrictTransport: encrypted(base) && !flags.TLSOwn,
			ResultToken:     tokens,
			KeyRate:         flags.KeyRate,
			PlainWebhooks:   flags.WebhookAllowPrivate,
			OIDC:            flags.identityProvider(base),
			ConnectionCap:   p.connectionCap(),
			IntakeCap:       flags.IntakeCap,
			StreamPatience:  p.tuning.streamPatience,
			ReportPatience:  p.tuning.reportPatience,
			Log:             log,
			Registry:        registry,
			Now:             p.clock.Now,
		},
		http.Deps{
			Campaigns:      front,
			Imports:        front,
			Calls:          front,
			Reports:        front,
			Activity:       front,
			Keys:           front,
			Users:          front,
			Sessions:       front,
			Replies:        front,
			Bots:           front,
			Cadences:       front,
			Calendars:      front,
			Trunks:         front,
			Numbers:        front,
			SetUp:          front,
			Health:         front,
			Destinations:   p.tree,
			Suppressions:   front,
			Recordings:     front,
			Classification: front,
			Evidence:       front,
			Persons:        front,
			People:         front,
			Webhooks:       front,
			Simulations:    front,
			Hours:          front,
		},
	)
	if err != nil {
		return err
	}
	p.results.Store(p.api)
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
	p.background(p.maintain)
	p.background(p.tidySearch)
	if p.spool != nil {
		p.background(func(ctx context.Context) { submitKept(ctx, p.spool, front.commands.SubmitResult, log) })
	}
	p.background((&recordingKeeper{
		rows: storedRecordings{p.store.Recordings, p.store}, files: p.recorder, strays: &p.strays,
		now: p.clock.Now, log: log, several: p.several != nil,
	}).run)
	p.background(func(ctx context.Context) { keepTime(ctx, p.store.Records, p.settings, p.signingKey, log) })
	if p.anchorer != nil {
		p.background(p.anchorer.Run)
	}
	p.background(p.refreshCalendars)
	back := backTester{store: p.store, clock: p.clock, log: p.log, question: p.front.questionAt,
		every: p.tuning.backTestEvery, plays: p.tuning.backTestPlays}
	p.background(back.run)
	hours := hourLearner{store: p.store, clock: p.clock, log: p.log, tell: p.tree.HoursLearned,
		every: p.tuning.learnEvery, pause: learnPause}
	p.background(hours.run)
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
	if !p.pg.Adopted() { // an adopted one may be another process's
		p.closing = append(p.closing, p.stopPrivate)
	}
	return p.pg.URL(), nil
}

// keepPrivate keeps the private PostgreSQL running as long as this process, which uses it.
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

// optOutDigit parses one telephone key; "" means none.
func optOutDigit(s string) (byte, error) {
	switch {
	case s == "":
		return 0, nil
	case len(s) == 1 && strings.Contains("0123456789*#", s):
		return s[0], nil
	}
	return 0, fmt.Errorf("--opt-out-digit must be one key, 0-9, * or #; got %q", s)
}

// connectionCap returns how many connections the API may have, because calls need descriptors too.
func (p *Process) connectionCap() int {
	var limit syscall.Rlimit
	n := p.flags.HTTPConnections
	if n <= 0 || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return n
	}
	most := int(min(limit.Cur/4, 1<<20))
	if n > most {
		p.log.Warn().
			Int("connections", most).
			Msg("the API may have a quarter of the process's descriptors; raise its limit (ulimit -n) for more")
	}
	return min(n, most)
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

// derive derives a key for one purpose from the installation's secret.
func derive(secret []byte, purpose string) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte(purpose))
	return m.Sum(nil)
}

// resultTokens returns the bearer token of a call's result: an HMAC of the call, so that only the
// installation's secret must be stored for it.
func resultTokens(key []byte) func(engine.CallID) string {
	return func(id engine.CallID) string {
		m := hmac.New(sha256.New, key)
		m.Write([]byte(id))
		return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
	}
}

// openStore opens the database, with the keys of its secrets.
func (p *Process) openStore(ctx context.Context, url string) error {
	keys, err := keys.Secrets(p.flags.SecretsKeyFile)
	if err != nil {
		return err
	}
	if p.store, err = persistence.Open(ctx, url, persistence.Config{Log: p.log, Dial: p.tuning.toDatabase,
		Readers: p.tuning.readers, Secrets: keys, Migrations: p.tuning.schema}); err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	p.closing = append(p.closing, p.store.Close)
	return p.checkSecrets(ctx)
}

// checkSecrets refuses to start if secrets cannot be opened, and reports if some are stored
// unencrypted.
func (p *Process) checkSecrets(ctx context.Context) error {
	c, err := p.store.CheckSecrets(ctx)
	switch {
	case err != nil:
		return err
	case c.Plain > 0:
		p.log.Warn().
			Int("secrets", c.Plain).
			Msg("passwords of trunks, tokens of bots or secrets of webhooks are stored unencrypted; " +
				"give --secrets-key-file and run dialler db encrypt-secrets")
	case c.Old > 0:
		p.log.Warn().
			Int("secrets", c.Old).
			Msg("passwords of trunks, tokens of bots or secrets of webhooks are encrypted with an old key; " +
				"run dialler db encrypt-secrets")
	}
	return nil
}

// openRecorder opens the folder of the recordings.
func (p *Process) openRecorder(name string) error {
	dir := p.flags.RecordingsDir
	if dir == "" {
		data, err := DataDir(p.flags.DataDir, name)
		if err != nil {
			return err
		}
		dir = filepath.Join(data, "recordings")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	p.recorder = recording.New(recording.Config{Dir: dir, Log: p.log})
	p.closing = append(p.closing, p.recorder.Close)
	return nil
}

// openSpool opens the spool, where data of live calls waits while the database is down.
func (p *Process) openSpool(name string, owner []byte) error {
	size := p.flags.SpoolSize
	if err := p.flags.checkSpool(); err != nil || size == 0 {
		return err
	}
	dir := p.flags.SpoolDir
	if dir == "" {
		data, err := DataDir(p.flags.DataDir, name)
		if err != nil {
			return err
		}
		dir = filepath.Join(data, "spool")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if p.spool, err = spool.Open(spool.Config{Dir: dir, Size: int64(size) << 20, Lanes: writers,
		Owner: owner, Log: p.log}); err != nil {
		return fmt.Errorf("%w (--spool-size 0 turns the spool off: live calls then wait while the database is unavailable)",
			err)
	}
	p.closing = append(p.closing, func() { _ = p.spool.Close() })
	return nil
}

// openOutbox makes events go to webhooks from now on.
func (p *Process) openOutbox() {
	timeout := cmp.Or(p.tuning.webhookTimeout, outgoing.DeliveryTimeout)
	post := outgoing.NewDeliveries(p.flags.WebhookAllowPrivate, timeout, p.clock.Now)
	p.hooks = outgoing.NewDeliveryMetrics()
	p.hooks.Outbox = p.store.Endpoints.OpenOutbox(
		webhooks.OutboxConfig{Deliver: post.Deliver, OnTry: p.hooks.Tried, Alone: p.flags.Cluster == "",
			Every: p.tuning.webhookEvery, Log: p.log},
	)
	p.closing = append(p.closing, post.Close, p.hooks.Outbox.Close)
}

// openEligibility gives the tree the client for the eligibility hook of the flags, if set, and
// those of campaigns.
func (p *Process) openEligibility(ports *actors.Ports) error {
	f := &p.flags
	secret, err := f.eligibilitySecret()
	if err != nil {
		return err
	}
	p.eligibility = outgoing.NewEligibility(
		f.EligibilityURL,
		secret,
		f.EligibilityFail == eligibility.Closed,
		f.EligibilityAllowPrivate,
		p.clock.Now,
		cmp.Or(p.tuning.eligibilityBudget, eligibility.Budget),
	)
	ports.Eligibility = p.eligibility
	p.closing = append(p.closing, p.eligibility.Close)
	return nil
}

// secureAPI makes the API's listener use TLS if the flags say so; public is where bots reach it.
func (p *Process) secureAPI(public string) error {
	f := &p.flags
	files, err := f.certificate()
	switch {
	case err != nil:
		return err
	case f.TLSOwn:
		cert, err := keys.OwnCertificate(keys.HostsOf(f.ListenHTTP, public), time.Now())
		if err != nil {
			return fmt.Errorf("--tls-own: %w", err)
		}
		fingerprint := sha256.Sum256(cert.Certificate[0])
		p.log.Info().Str("sha256", hex.EncodeToString(fingerprint[:])).Msg("the API uses its own self-signed certificate")
		p.listenTLS(func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return cert, nil })
	case files != nil:
		p.listenTLS(files.Get)
	}
	return nil
}

func (p *Process) listenTLS(get func(*tls.ClientHelloInfo) (*tls.Certificate, error)) {
	p.listener = tls.NewListener(
		p.listener,
		&tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: get, NextProtos: []string{"http/1.1"}},
	)
}

// signingKey returns the running dialler's key.
func (p *Process) signingKey() (seal.Key, error) {
	dir, err := DataDir(p.flags.DataDir, p.name)
	if err != nil {
		return seal.Key{}, err
	}
	return keys.Signing(p.flags.SigningKey, dir)
}

// sources returns the parts of the process with metrics.
func (p *Process) sources() metrics.Sources {
	s := metrics.Sources{
		Tree:       p.tree,
		SIP:        p.sip,
		Media:      p.media,
		Recorder:   p.recorder,
		Clock:      p.clock,
		Histograms: p.histograms,
		Checks:     func(ctx context.Context) []http.Check { return p.front.Checks(ctx) },
		Others:     append(p.eligibility.Collectors(), p.hooks.Collectors()...),
	}
	if p.anchorer != nil {
		s.Others = append(s.Others, p.anchorer)
	}
	s.Others = append(s.Others, ThisBuild().metric(), metrics.Gauge("dialler_recordings_stray",
		"Recordings here whose calls the database does not know, as after a restore; counted daily.",
		func() float64 { return float64(p.strays.Load()) }))
	unowned := &p.inventory.Unowned
	if p.gateway != nil {
		unowned = &p.gateway.Unowned
	}
	s.Others = append(s.Others, metrics.Counter("dialler_unowned_calls_total",
		"Calls here that the process found without an owner: each one is a fault.",
		func() float64 { return float64(unowned.Load()) }))
	s.Others = append(s.Others, p.sealing.metrics()...)
	if p.spool != nil {
		s.Others = append(s.Others, metrics.Spool(p.spool.Stats)...)
	}
	if p.several != nil {
		s.Others = append(append(s.Others, p.several.metrics(p.sharedCaps.Stats())...), p.capacity.metrics()...)
	}
	if p.ladders != nil {
		s.Others = append(s.Others, metrics.Counter("dialler_sip_ladders_dropped_total",
			"SIP ladders of failed calls that were not stored because the database was too slow or unavailable.",
			func() float64 { return float64(p.ladders.dropped.Load()) }))
	}
	return s
}

// callsOver says whether every call here has ended, and its outcome is in the database.
func (p *Process) callsOver(ctx context.Context) bool {
	t := p.treeUp.Load()
	return t == nil || t.LiveCalls() == 0 && len(carried(p.sip, p.media)) == 0 && t.Flush(ctx) == nil
}

// attend makes this process the only one on the database, asking another to end.
func (p *Process) attend(ctx context.Context, url string) (err error) {
	name, err := p.flags.nodeName()
	if err != nil {
		name = p.name
	}
	p.presence, err = attend(ctx, url, persistence.Config{Log: p.log, Dial: p.tuning.toDatabase},
		ownership.Presence{Name: name, Since: p.started, Cluster: p.flags.Cluster != "", TakesOver: p.flags.TakeOver},
		func() {
			if t := p.treeUp.Load(); t != nil {
				t.Drain()
			}
		}, p.callsOver, p.alone)
	if err == nil {
		p.closing = append(p.closing, p.presence.Close)
	}
	return err
}
