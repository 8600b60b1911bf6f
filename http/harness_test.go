package http

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp/fasthttputil"
	"golang.org/x/crypto/argon2"

	"dialler/engine"
	"dialler/http/access"
	"dialler/http/wire"
)

// cheapHash is a hash of password that is cheap to verify: otherwise, with the race detector, a
// log-in takes half a second of a core.
var cheapHash = func() string {
	salt, enc := make([]byte, 16), base64.RawStdEncoding
	hash := argon2.IDKey([]byte(password), salt, 1, 8, 1, 32)
	return fmt.Sprintf("$argon2id$v=%d$m=8,t=1,p=1$%s$%s", argon2.Version, enc.EncodeToString(salt),
		enc.EncodeToString(hash))
}()

// bench is a served API over fake ports, and a client that checks every response against
// openapi.yaml.
type bench struct {
	t      testing.TB
	server *Server
	client *nethttp.Client
	clock  *clock
	ports  *ports
	log    *logbook

	key   string // of an unrestricted API key
	admin string // a token
	path  string // of the row under test
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

type logbook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

const (
	mobile   = "+4915112345678"
	password = "correct horse battery"
)

var (
	secret     = []byte("0123456789abcdef0123456789abcdef")
	testAt     = time.Date(2030, 3, 1, 12, 0, 0, 0, time.UTC)
	theAttempt = engine.AttemptID(strings.Repeat("ab", 16))
	theCall    = theAttempt.Call()
	theAccount = "AC" + strings.Repeat("0f", 16)
)

func newBench(t testing.TB, change ...func(*Config)) *bench {
	b := &bench{t: t, clock: &clock{now: testAt}, ports: newPorts(), log: &logbook{}}
	b.ports.now = b.clock.Now
	cfg := Config{
		JWTSecret: secret, Now: b.clock.Now, Registry: prometheus.NewRegistry(),
		Log: zerolog.New(b.log).Level(zerolog.DebugLevel),
	}
	for _, f := range change {
		f(&cfg)
	}
	s, err := New(cfg, Deps{
		Campaigns: b.ports, Imports: b.ports, Evidence: b.ports, Calls: b.ports, Keys: b.ports, Users: b.ports,
		Sessions: b.ports, Replies: b.ports, Reports: b.ports, Activity: b.ports, Bots: b.ports, Trunks: b.ports,
		Numbers: b.ports, Health: b.ports, Destinations: b.ports, Suppressions: b.ports, Recordings: b.ports,
		Classification: b.ports, Persons: b.ports, People: b.ports, Webhooks: b.ports, Simulations: b.ports, Hours: b.ports,
		Cadences: b.ports, Calendars: b.ports, SetUp: b.ports,
	})
	if err != nil {
		t.Fatal(err)
	}
	b.server = s
	ln := fasthttputil.NewInmemoryListener()
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	transport := &nethttp.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return ln.Dial()
	}}
	b.client = &nethttp.Client{Transport: transport, Timeout: testTimeout}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	b.key = b.addKey(func(*engine.APIKey) {})
	b.ports.users = []engine.User{
		{ID: "usr_admin", Email: "admin@example.org", Role: "admin", Active: true, PasswordHash: cheapHash},
		{ID: "usr_oper", Email: "oper@example.org", Role: "operator", Active: true, PasswordHash: cheapHash},
		{ID: "usr_view", Email: "view@example.org", Role: "viewer", Active: true, PasswordHash: cheapHash},
	}
	b.admin = b.token("usr_admin")
	return b
}

// addKey stores a key and gives its full text.
func (b *bench) addKey(change func(*engine.APIKey)) string {
	full, key := access.NewAPIKey("crm", b.clock.Now())
	change(&key)
	b.ports.mu.Lock()
	defer b.ports.mu.Unlock()
	b.ports.keys = append(b.ports.keys, key)
	return full
}

func (b *bench) token(id engine.UserID) string {
	b.t.Helper()
	now := b.clock.Now()
	token, err := jwtSigned(
		secret,
		now,
		jwtClaims{RegisteredClaims: jwt.RegisteredClaims{Issuer: jwtIssuer, Subject: string(id),
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(12 * time.Hour))}},
	)
	if err != nil {
		b.t.Fatal(err)
	}
	return token
}

// slowKeys makes every key exceed its rate limit.
func (b *bench) slowKeys() {
	cfg := b.server.gate.Config
	cfg.KeyRate, cfg.KeyBurst = 1e-9, 0
	*b.server.gate = *access.NewGate(cfg, b.server.gate.Stores, b.server.metrics.limited)
}

type answer struct {
	t      testing.TB
	status int
	header nethttp.Header
	body   []byte
}

// fields are pairs of a header's name and value.
func (b *bench) do(method, path, body string, fields ...string) answer {
	b.t.Helper()
	req, err := nethttp.NewRequest(method, "http://api.test"+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == "Content-Type" {
			req.Header.Set(fields[i], fields[i+1])
			continue
		}
		req.Header.Add(fields[i], fields[i+1])
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	a := answer{t: b.t, status: resp.StatusCode, header: resp.Header, body: got}
	checkContract(b.t, b.server, req, body, a)
	return a
}

// byKey and byAdmin send with the unrestricted key, and as the administrator.
func (b *bench) byKey(method, path, body string, fields ...string) answer {
	b.t.Helper()
	return b.do(method, path, body, append([]string{"X-API-Key", b.key}, fields...)...)
}

func (b *bench) byAdmin(method, path, body string, fields ...string) answer {
	b.t.Helper()
	return b.do(method, path, body, append([]string{"Authorization", "Bearer " + b.admin}, fields...)...)
}

// is checks a response's status and, for problems, its code; want names fields that must be among
// the errors.
func (a answer) is(status int, code string, want ...string) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	if code == "" {
		return a
	}
	p := a.problem()
	if p.Code != code {
		a.t.Fatalf("code %q, want %q: %s", p.Code, code, a.body)
	}
	for _, field := range want {
		name, fieldCode, _ := strings.Cut(field, " ")
		found := false
		for _, e := range p.Errors {
			found = found || e.Field == name && (fieldCode == "" || e.Code == fieldCode)
		}
		if !found {
			a.t.Fatalf("no error for %q in %s", field, a.body)
		}
	}
	return a
}

func (a answer) problem() wire.Problem {
	a.t.Helper()
	var p wire.Problem
	if err := json.Unmarshal(a.body, &p); err != nil {
		a.t.Fatalf("not a problem: %v: %s", err, a.body)
	}
	return p
}

func (a answer) get(name string) any {
	a.t.Helper()
	var m map[string]any
	if err := json.Unmarshal(a.body, &m); err != nil {
		a.t.Fatalf("not an object: %v: %s", err, a.body)
	}
	return m[name]
}
