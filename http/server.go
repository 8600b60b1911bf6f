package http

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/fasthttp/router"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"dialler/engine"
	"dialler/http/access"
	"dialler/http/amd"
	"dialler/http/calls"
	"dialler/http/campaigns"
	"dialler/http/contacts"
	"dialler/http/download"
	"dialler/http/exclusions"
	"dialler/http/idempotency"
	"dialler/http/live"
	"dialler/http/reports"
	"dialler/http/telephony"
	"dialler/http/webhooks"
	"dialler/http/wire"
)

// Config configures the API. Zero values mean the default in parentheses.
type Config struct {
	// JWTSecret is the secret from which the keys of log-in tokens (HS256) are derived; at least 32
	// bytes. Required.
	JWTSecret []byte
	// TokenTTL is how long a log-in token is valid (12 h).
	TokenTTL time.Duration
	// SecureCookies says that browsers reach the API by https only.
	SecureCookies bool
	// Proxies are the networks of the proxies in front of the API, whose X-Forwarded-For is trusted
	// for the client's address.
	Proxies []netip.Prefix

	// CommandTimeout bounds the work of every request and becomes the command's Deadline (10 s).
	CommandTimeout time.Duration
	ReadTimeout    time.Duration // whole request (30 s)
	WriteTimeout   time.Duration // whole answer (30 s)
	IdleTimeout    time.Duration // between requests of a connection (2 min)

	BodyCap         int   // bytes (1 MiB)
	ContactsBodyCap int   // bytes, of POST /campaigns/{id}/contacts and contacts:batch (20 MiB)
	ImportBodyCap   int64 // bytes, of POST /campaigns/{id}/imports (1 GiB)
	HeaderCap       int   // bytes (16 KiB)
	ConnectionCap   int   // simultaneous connections (4,096); each takes some 20 KiB and a descriptor
	ConnsPerIPCap   int   // simultaneous connections per address (no cap)
	// UploadRate is the minimum average rate at which a client must send a file (16 KiB a second);
	// it must not pause for longer than ReadTimeout.
	UploadRate int

	// IntakeCap is the maximum of concurrent requests that add calls (256).
	IntakeCap     int
	StreamCap     int // simultaneous live streams (1,000)
	StreamCapEach int // per user or key (30)
	// StreamPatience is how long the client of a stream may take to read (10 s).
	StreamPatience time.Duration
	// ReportPatience is how long a reader of a report, a recording or evidence may take for what it
	// was sent, and how far it may fall behind 16 KiB a second (60 s).
	ReportPatience time.Duration
	// SimulationTime is how long a simulation may take (3 min).
	SimulationTime time.Duration

	// ResultToken returns the bearer token with which a call's bot may post its result; nil if only
	// the hash stored with the call is known.
	ResultToken func(engine.CallID) string
	// KeyCacheTTL is how long a key is trusted without querying the store; never more than a second
	// (1 s).
	KeyCacheTTL time.Duration
	// SharedKeys says that other nodes serve the same keys: a deactivation is
	// answered only after their caches must have dropped the key too.
	SharedKeys bool
	// KeyRate is how many requests a second a key may send, KeyBurst how many
	// at once (0: no limit; burst: KeyRate rounded up).
	KeyRate  float64
	KeyBurst int
	// StrictTransport makes browsers use only HTTPS from the first response on. Do not set it with
	// a certificate that they do not trust, because then no user could get past the warning.
	StrictTransport bool
	// OIDC is the identity provider by which people may log in; nil if there is none.
	OIDC *access.OIDC
	// PlainWebhooks allows webhooks to http URLs.
	PlainWebhooks bool

	Log zerolog.Logger
	// Refuses, unless nil, returns the error with which every API request except health is
	// answered; nil means it is served.
	Refuses func() error
	// Registry is served at /metrics and gets the API's own metrics. Required.
	Registry *prometheus.Registry
	// Now is the wall clock (time.Now).
	Now func() time.Time
}

func (c Config) withDefaults() (Config, error) {
	if len(c.JWTSecret) < 32 {
		return c, errors.New("http: the JWT secret must have at least 32 bytes")
	}
	if c.Registry == nil {
		return c, errors.New("http: a metrics registry is required")
	}
	or := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	orInt := func(n *int, def int) {
		if *n <= 0 {
			*n = def
		}
	}
	or(&c.TokenTTL, 12*time.Hour)
	or(&c.CommandTimeout, 10*time.Second)
	or(&c.ReadTimeout, 30*time.Second)
	or(&c.WriteTimeout, 30*time.Second)
	or(&c.IdleTimeout, 2*time.Minute)
	or(&c.StreamPatience, live.StreamPatience)
	or(&c.ReportPatience, wire.ReportPatience)
	or(&c.SimulationTime, 3*time.Minute)
	or(&c.KeyCacheTTL, time.Second)
	c.KeyCacheTTL = min(c.KeyCacheTTL, time.Second)
	orInt(&c.BodyCap, 1<<20)
	orInt(&c.ContactsBodyCap, 20<<20)
	orInt(&c.HeaderCap, 16<<10)
	orInt(&c.ConnectionCap, 4096)
	orInt(&c.IntakeCap, 256)
	orInt(&c.StreamCap, 1000)
	orInt(&c.StreamCapEach, 30)
	orInt(&c.UploadRate, 16<<10)
	if c.ImportBodyCap <= 0 {
		c.ImportBodyCap = 1 << 30
	}
	if c.KeyRate > 0 {
		orInt(&c.KeyBurst, int(c.KeyRate+0.999))
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}

// Server is the API.
type Server struct {
	Config
	Deps

	routes   []*route
	unrouted *route // requests that match no template
	router   *router.Router
	http     *fasthttp.Server
	metrics  *metrics
	requests sync.Pool

	gate *access.Gate

	console *console
	host    *wire.Host
	feeds   *live.Feeds
	conns   connections
	gates   gates

	files   *download.Files
	replays *idempotency.Replays

	campaigns  *campaigns.API
	calls      *calls.API
	amd        *amd.API
	contacts   *contacts.API
	exclusions *exclusions.API
	lines      *telephony.API
	webhooks   *webhooks.API
	reports    *reports.API

	mu        sync.Mutex
	listeners []net.Listener
	closed    bool

	// base ends when the server has shut down.
	base   context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
	// closing ends when Shutdown begins, and with it everything that lasts as long as a client
	// likes.
	closing context.Context
	close   context.CancelFunc
}

// New sets the API up; it does not serve yet.
func New(cfg Config, deps Deps) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{Config: cfg, Deps: deps}
	if s.metrics, err = newMetrics(cfg.Registry, &s.conns); err != nil {
		return nil, err
	}
	s.base, s.cancel = context.WithCancel(context.Background())
	s.closing, s.close = context.WithCancel(s.base)
	s.host = &wire.Host{
		Base:           s.base,
		Closing:        s.closing,
		CommandTimeout: cfg.CommandTimeout,
		ReadTimeout:    cfg.ReadTimeout,
		UploadRate:     cfg.UploadRate,
		DrainCap:       2 * cfg.ContactsBodyCap,
		Now:            cfg.Now,
		Log:            cfg.Log,
		Panics:         s.metrics.panics,
		Leisure:        wire.NewLeisure(s.base),
		Proxies:        cfg.Proxies,
	}
	s.conns.cap, s.conns.least = cfg.ConnectionCap, waitLeast
	s.gates.cap = [...]int64{intakeCalls: int64(cfg.IntakeCap), intakeWords: wordsCap, intakeCommands: commandsCap,
		intakeLooks: looksCap, intakeLogIns: logInsCap}
	s.requests.New = func() any { return new(wire.Request) }
	s.files = download.New(s.host, cfg.ReportPatience, s.metrics.cut)
	s.gate = access.NewGate(access.Config{JWTSecret: cfg.JWTSecret, TokenTTL: cfg.TokenTTL,
		SecureCookies: cfg.SecureCookies,
		OIDC:          cfg.OIDC,
		KeyCacheTTL:   cfg.KeyCacheTTL, SharedKeys: cfg.SharedKeys, KeyRate: cfg.KeyRate, KeyBurst: cfg.KeyBurst,
		Log: cfg.Log, Now: cfg.Now}, access.Stores{Keys: deps.Keys, Users: deps.Users, Sessions: deps.Sessions},
		s.metrics.limited)
	s.feeds = live.New(s.host, s.gate, deps.Campaigns, cfg.StreamCap, cfg.StreamCapEach,
		live.Figures{Open: s.metrics.streams, Dropped: s.metrics.dropped})
	s.feeds.Patience = cfg.StreamPatience
	s.replays = idempotency.New(deps.Replies, s.metrics.replayed)
	s.campaigns = campaigns.New(s.host, campaigns.Ports{Campaigns: deps.Campaigns, Activity: deps.Activity,
		Charts:      deps.Reports,
		Simulations: deps.Simulations, Hours: deps.Hours, Bots: deps.Bots, Cadences: deps.Cadences,
		Calendars: deps.Calendars, Trunks: deps.Trunks,
		Numbers: deps.Numbers, Messages: deps.Classification},
		campaigns.Limits{SimulationTime: cfg.SimulationTime, Patience: cfg.ReportPatience})
	s.calls = calls.New(s.host, s.gate, s.replays, calls.Ports{Calls: deps.Calls, Bots: deps.Bots,
		Destinations: deps.Destinations,
		Recordings:   deps.Recordings}, calls.Options{ResultToken: cfg.ResultToken, Patience: cfg.ReportPatience})
	s.amd = amd.New(deps.Classification, s.files)
	s.contacts = contacts.New(
		s.host,
		s.replays,
		s.feeds,
		s.files,
		contacts.Ports{
			Campaigns:    deps.Campaigns,
			People:       deps.People,
			Imports:      deps.Imports,
			Destinations: deps.Destinations,
		},
		cfg.ImportBodyCap,
	)
	s.exclusions = exclusions.New(s.host, s.replays, s.files, exclusions.Ports{Campaigns: deps.Campaigns,
		Suppressions: deps.Suppressions, Persons: deps.Persons}, cfg.ImportBodyCap)
	s.lines = telephony.New(s.host, telephony.Ports{Bots: deps.Bots, Trunks: deps.Trunks, Numbers: deps.Numbers,
		Messages: deps.Classification, Calls: deps.Calls,
		Destinations: deps.Destinations, SetUp: deps.SetUp})
	s.webhooks = webhooks.New(s.host, deps.Webhooks, cfg.PlainWebhooks)
	s.reports = reports.New(s.host, s.files, deps.Reports, deps.Evidence)
	site, err := fs.Sub(consoleDist, "console/dist/site")
	if err != nil {
		return nil, err
	}
	if s.console, err = readConsole(site); err != nil {
		return nil, err
	}
	s.route()
	s.http = &fasthttp.Server{
		Handler:            s.handler(),
		ErrorHandler:       s.unreadable,
		HeaderReceived:     s.limits,
		ReadTimeout:        cfg.ReadTimeout,
		WriteTimeout:       cfg.WriteTimeout,
		IdleTimeout:        cfg.IdleTimeout,
		MaxRequestBodySize: 1, // the server reads the rest itself; see limits
		ReadBufferSize:     cfg.HeaderCap,
		ConnState:          connState,
		MaxConnsPerIP:      cfg.ConnsPerIPCap,
		CloseOnShutdown:    true,
		StreamRequestBody:  true, // see wire/upload.go

		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		DisablePreParseMultipartForm: true,
		SecureErrorLogMessage:        true, // a request line may contain a number
		Logger:                       quiet{},
	}
	return s, nil
}

// strictTransport is how long browsers use only HTTPS (RFC 6797): a year.
const strictTransport = "max-age=31536000"

func (s *Server) handler() fasthttp.RequestHandler {
	if !s.StrictTransport {
		return s.router.Handler
	}
	const name = "Strict-Transport-Security"
	return func(rc *fasthttp.RequestCtx) {
		rc.Response.Header.Set(name, strictTransport) // set early, for responses of the handler's own
		s.router.Handler(rc)
		rc.Response.Header.Set(name, strictTransport) // again, because a panic replaces the response
	}
}

// ResultOnSocket takes a result from the bot that holds the call's socket and returns the answer as
// JSON: what the route of results answers, or status refused with code, detail and errors.
func (s *Server) ResultOnSocket(ctx context.Context, id engine.CallID, body []byte) []byte {
	return s.calls.ResultOnSocket(ctx, id, body)
}

// Serve accepts connections until Shutdown; it may be called with several
// listeners. After Shutdown it closes the listener and returns at once.
func (s *Server) Serve(l net.Listener) error {
	l = &listener{Listener: l, server: s}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return l.Close()
	}
	if len(s.listeners) == 0 {
		s.done.Go(s.noteUsage)
	}
	s.listeners = append(s.listeners, l)
	s.mu.Unlock()
	return s.http.Serve(l)
}

// Shutdown stops listening, ends the live streams, lets current requests finish (until ctx ends)
// and stores when keys and sessions were last used.
func (s *Server) Shutdown(ctx context.Context) error {
	// fasthttp knows a listener only once its Serve runs: closing them here covers a Shutdown that
	// comes first.
	s.close()
	s.mu.Lock()
	s.closed = true
	listeners := s.listeners
	s.mu.Unlock()
	var err error
	for _, l := range listeners {
		err = errors.Join(err, l.Close())
	}
	s.feeds.Stop(ctx)
	err = errors.Join(err, s.http.ShutdownWithContext(ctx))
	s.cancel()
	s.done.Wait()
	s.gate.Flush(ctx)
	return err
}

// usageInterval is how often the last use of keys and sessions is stored, so that requests do not
// pay for a write.
const usageInterval = 30 * time.Second

func (s *Server) noteUsage() {
	tick := time.NewTicker(usageInterval)
	defer tick.Stop()
	for {
		select {
		case <-s.base.Done():
			return
		case <-tick.C:
			ctx, cancel := context.WithTimeout(s.base, s.CommandTimeout)
			s.gate.Flush(ctx)
			cancel()
		}
	}
}

// limits gives the routes for long lists more time, but only to clients with credentials. fasthttp
// reads one byte of a body before the request is handled: a request is refused without waiting for
// the rest.
func (s *Server) limits(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	c := fasthttp.RequestConfig{MaxRequestBodySize: 1}
	if takesLists(h) {
		c.ReadTimeout = 4 * s.ReadTimeout
	}
	return c
}

// bodyCap returns how long the body of an unstreamed request may be.
func (s *Server) bodyCap(h *fasthttp.RequestHeader) int {
	if takesLists(h) {
		return s.ContactsBodyCap
	}
	return s.BodyCap
}

func takesLists(h *fasthttp.RequestHeader) bool {
	return h.IsPost() && isContactsPath(h.RequestURI()) && (len(h.Peek("Authorization")) > 0 ||
		len(h.Peek("X-Api-Key")) > 0 || len(h.Cookie(access.SessionCookie)) > 0)
}

// unreadable answers input that did not become a request.
func (s *Server) unreadable(rc *fasthttp.RequestCtx, err error) {
	rc.Response.Reset()
	r := s.acquire(rc, s.unrouted)
	defer s.release(r)
	r.Fail(s.whyUnreadable(rc, err))
	s.metrics.answered(s.unrouted, rc.Response.StatusCode(), 0)
}

// whyUnreadable returns what is wrong with a request that could not be read.
func (s *Server) whyUnreadable(rc *fasthttp.RequestCtx, err error) *engine.Error {
	var small *fasthttp.ErrSmallBuffer
	var netErr net.Error
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		wire.Drain(rc.Conn(), 2*s.ContactsBodyCap)
		return &engine.Error{Kind: engine.KindTooLarge, Code: "body_too_large",
			Detail: "The body is larger than this route accepts."}
	case errors.Is(err, errOverloaded):
		s.metrics.overloaded.WithLabelValues(bodiesLabel).Inc()
		return errOverloaded
	case errors.As(err, &small):
		return &engine.Error{
			Kind:   wire.KindHeaders,
			Code:   "headers_too_large",
			Detail: "The header fields are too large.",
		}
	case errors.As(err, &netErr) && netErr.Timeout():
		return &engine.Error{
			Kind:   wire.KindTimeout,
			Code:   "request_timeout",
			Detail: "The request did not arrive in time.",
		}
	}
	return &engine.Error{Kind: wire.KindBadRequest, Code: "bad_request", Detail: "The request is not valid HTTP."}
}

// quiet suppresses fasthttp's own log lines, which may quote requests.
type quiet struct{}

func (quiet) Printf(string, ...any) {}
