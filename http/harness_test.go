package http

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp/fasthttputil"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// bench is a served API over fake ports, and a client that holds every answer
// against openapi.yaml.
type bench struct {
	t      testing.TB
	server *Server
	client *nethttp.Client
	clock  *clock
	ports  *ports
	log    *logbook

	key   string // of an unrestricted API key
	admin string // a token
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
	hashOnce   = sync.OnceValue(func() string { return HashPassword(password) })
	theAttempt = engine.AttemptID(strings.Repeat("ab", 16))
	theCall    = theAttempt.Call()
	theAccount = "AC" + strings.Repeat("0f", 16)
)

func newBench(t testing.TB, change ...func(*Config)) *bench {
	b := &bench{t: t, clock: &clock{now: testAt}, ports: newPorts(), log: &logbook{}}
	cfg := Config{
		JWTSecret: secret, Now: b.clock.Now, Registry: prometheus.NewRegistry(),
		Log: zerolog.New(b.log).Level(zerolog.DebugLevel),
	}
	for _, f := range change {
		f(&cfg)
	}
	s, err := New(cfg, Deps{
		Campaigns: b.ports, Calls: b.ports, Keys: b.ports, Users: b.ports, Replies: b.ports,
		Bots: b.ports, Trunks: b.ports, Numbers: b.ports, Health: b.ports,
	})
	if err != nil {
		t.Fatal(err)
	}
	b.server = s
	ln := fasthttputil.NewInmemoryListener()
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	transport := &nethttp.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return ln.Dial() }}
	b.client = &nethttp.Client{Transport: transport, Timeout: 20 * time.Second}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
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
		{ID: "usr_admin", Email: "admin@example.org", Role: "admin", Active: true, PasswordHash: hashOnce()},
		{ID: "usr_oper", Email: "oper@example.org", Role: "operator", Active: true, PasswordHash: hashOnce()},
		{ID: "usr_view", Email: "view@example.org", Role: "viewer", Active: true, PasswordHash: hashOnce()},
	}
	b.admin = b.token("usr_admin")
	return b
}

// addKey stores a key and gives its full text.
func (b *bench) addKey(change func(*engine.APIKey)) string {
	full, key := NewAPIKey("crm", b.clock.Now())
	change(&key)
	b.ports.mu.Lock()
	defer b.ports.mu.Unlock()
	b.ports.keys = append(b.ports.keys, key)
	return full
}

func (b *bench) token(id engine.UserID) string {
	b.t.Helper()
	token, _, err := b.server.tokens.issue(engine.User{ID: id})
	if err != nil {
		b.t.Fatal(err)
	}
	return token
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

// byKey and byAdmin send with the unrestricted key, as the administrator.
func (b *bench) byKey(method, path, body string, fields ...string) answer {
	b.t.Helper()
	return b.do(method, path, body, append([]string{"X-API-Key", b.key}, fields...)...)
}

func (b *bench) byAdmin(method, path, body string, fields ...string) answer {
	b.t.Helper()
	return b.do(method, path, body, append([]string{"Authorization", "Bearer " + b.admin}, fields...)...)
}

// is holds the answer to a status and, for problems, a code; want names fields
// that must be among the errors.
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

func (a answer) problem() problem {
	a.t.Helper()
	var p problem
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

// ports are the rest of the dialler, faked: what was asked is kept, what is
// answered can be replaced.
type ports struct {
	mu      sync.Mutex
	keys    []engine.APIKey
	users   []engine.User
	replies map[engine.Idempotency]journal.Reply
	used    map[engine.KeyID]time.Time
	logins  []engine.UserID
	lookups int

	triggers []campaign.Trigger
	excludes []campaign.Exclude
	dialouts []campaign.Dialout
	creates  []campaign.Create
	adds     []campaign.AddContacts
	acts     []campaign.Act
	pages    []campaign.Page
	results  []campaign.SubmitResult
	hungUp   []engine.CallID
	bots     []engine.Bot
	trunks   []engine.TrunkSettings
	numbers  []engine.NumberSettings
	keep     bool

	fail      error // what every campaign and call command answers
	onTrigger func(context.Context, campaign.Trigger) (campaign.TriggerReply, error)
	findFail  error
	storeFail error
	userFail  error
	alive     error
	checks    []Check
	attempt   attempt.Attempt
}

func newPorts() *ports {
	p := &ports{
		replies: map[engine.Idempotency]journal.Reply{}, used: map[engine.KeyID]time.Time{},
		bots: []engine.Bot{{ID: "bot_1", Name: "Anna", Active: true, Seats: 5, Account: theAccount, AuthToken: "bot-secret",
			Endpoints: []string{"ws://127.0.0.1:7000/ws"}, CreatedAt: testAt}},
		trunks:  []engine.TrunkSettings{{ID: "t1", Host: "sip.example.org", Port: 5060, Transport: "udp", Username: "u", Password: "trunk-secret", NumberFormat: "e164", Active: true}},
		numbers: []engine.NumberSettings{{Number: "+493023125000", State: "resting"}},
		checks:  []Check{{Name: "database", OK: true}, {Name: "trunks", OK: true}, {Name: "rtp_ports", OK: true}, {Name: "draining", OK: true}},
	}
	sum := sha256.Sum256([]byte("call-token"))
	at := testAt
	p.attempt = attempt.Attempt{
		ID: theAttempt, Campaign: "cmp_1", Contact: "c1", Bot: "bot_1", To: mobile, From: "+493023125000",
		State: attempt.Connected, ReservedAt: &at, InviteAt: &at, ResultToken: hex.EncodeToString(sum[:]),
	}
	return p
}

func (p *ports) lock() func() { p.mu.Lock(); return p.mu.Unlock }

func detail(id engine.CampaignID, s campaign.Settings, state campaign.State) campaign.Detail {
	s = s.WithDefaults()
	s.Window.Zone = "Europe/Berlin"
	if s.Bot == "" {
		s.Bot, s.Concurrency = "bot_1", 2
	}
	at := testAt
	return campaign.Detail{
		Campaign: campaign.Campaign{ID: id, Settings: s, State: state, Version: 1, Run: 1, CreatedAt: testAt,
			CreatedBy: engine.Who{Name: "admin@example.org", User: "usr_admin"}},
		Live: &campaign.Live{At: testAt, LastDialAt: &at, Constraint: engine.ConstraintWindow},
	}
}

func (p *ports) Create(_ context.Context, c campaign.Create) (campaign.Detail, error) {
	defer p.lock()()
	p.creates = append(p.creates, c)
	return detail("cmp_1", c.Settings, campaign.Draft), p.fail
}

func (p *ports) Detail(_ context.Context, id engine.CampaignID) (campaign.Detail, error) {
	defer p.lock()()
	if id == "cmp_none" {
		return campaign.Detail{}, errNoCampaign
	}
	return detail(id, campaign.Settings{Name: "n", Bot: "bot_1", Concurrency: 2}, campaign.Running), p.fail
}

func (p *ports) List(_ context.Context, page campaign.Page) ([]campaign.Detail, int, error) {
	defer p.lock()()
	p.pages = append(p.pages, page)
	return []campaign.Detail{detail("cmp_1", campaign.Settings{Name: "n"}, campaign.Running)}, 1, p.fail
}

func (p *ports) AddContacts(_ context.Context, c campaign.AddContacts) (campaign.AddReport, error) {
	defer p.lock()()
	p.adds = append(p.adds, c)
	return campaign.AddReport{Added: len(c.Contacts), Total: len(c.Contacts)}, p.fail
}

func (p *ports) Act(_ context.Context, c campaign.Act) (campaign.Detail, error) {
	defer p.lock()()
	p.acts = append(p.acts, c)
	return detail(c.Campaign, campaign.Settings{Name: "n"}, campaign.Running), p.fail
}

func (p *ports) Contacts(_ context.Context, _ engine.CampaignID, page campaign.Page) (campaign.ContactList, error) {
	defer p.lock()()
	p.pages = append(p.pages, page)
	a := p.attempt
	ended := testAt.Add(time.Minute)
	unmapped := attempt.Attempt{ID: theAttempt, Number: 1, State: attempt.Ended, Outcome: engine.OutcomeSystemError,
		From: "+493023125000", SIPCode: 499, SIPReason: "Strange", ReservedAt: &ended, EndedAt: &ended}
	return campaign.ContactList{Total: 1, Contacts: []campaign.ContactView{{
		Contact:  contact.Contact{ID: "c1", Number: mobile, State: contact.Connected, Used: 1, Max: 3, Run: 1, Source: "api", CreatedAt: testAt, UpdatedAt: testAt, Callback: contact.CallbackPending, LastOutcome: engine.OutcomeBusy},
		Attempts: []attempt.Attempt{unmapped, a},
	}}}, p.fail
}

func (p *ports) Trigger(ctx context.Context, c campaign.Trigger) (campaign.TriggerReply, error) {
	p.mu.Lock()
	p.triggers = append(p.triggers, c)
	hook, fail := p.onTrigger, p.fail
	p.mu.Unlock()
	if hook != nil {
		return hook(ctx, c)
	}
	if fail != nil {
		return campaign.TriggerReply{}, fail
	}
	reply := campaign.TriggerReply{Status: "dialled", ContactID: "c1", CampaignID: c.Campaign, AttemptID: theAttempt}
	return reply, p.commit(c.Idempotency, 200, reply)
}

// commit stores a success as the campaign tree does, with what it did.
func (p *ports) commit(id engine.Idempotency, status int, reply any) error {
	if !id.Present() {
		return nil
	}
	body, err := json.Marshal(reply)
	if err != nil {
		return err
	}
	return p.StoreReply(context.Background(), journal.Reply{Idempotency: id, Status: status, Body: body})
}

func (p *ports) Exclude(_ context.Context, c campaign.Exclude) (campaign.ExcludeReply, error) {
	p.mu.Lock()
	p.excludes = append(p.excludes, c)
	fail := p.fail
	p.mu.Unlock()
	if fail != nil {
		return campaign.ExcludeReply{}, fail
	}
	reply := campaign.ExcludeReply{Matched: 1, Excluded: 1}
	return reply, p.commit(c.Idempotency, 200, reply)
}

func (p *ports) Dialout(_ context.Context, c campaign.Dialout) (campaign.DialoutReply, error) {
	p.mu.Lock()
	p.dialouts = append(p.dialouts, c)
	fail := p.fail
	p.mu.Unlock()
	if fail != nil {
		return campaign.DialoutReply{}, fail
	}
	reply := campaign.DialoutReply{Status: "ok", CallID: theCall, AttemptID: theAttempt, BotID: c.Bot,
		ToNumber: c.To.E164(), FromNumber: "+493023125000", CreatedAt: testAt}
	return reply, p.commit(c.Idempotency, 201, reply)
}

func (p *ports) Call(_ context.Context, id engine.CallID) (attempt.Attempt, error) {
	defer p.lock()()
	if id != theCall {
		return attempt.Attempt{}, errNoCall
	}
	return p.attempt, p.fail
}

func (p *ports) SubmitResult(_ context.Context, c campaign.SubmitResult) error {
	defer p.lock()()
	p.results = append(p.results, c)
	return p.fail
}

func (p *ports) HangUp(_ context.Context, id engine.CallID) error {
	defer p.lock()()
	p.hungUp = append(p.hungUp, id)
	return p.fail
}

func (p *ports) KeyByHash(_ context.Context, hash [32]byte) (engine.APIKey, bool, error) {
	defer p.lock()()
	p.lookups++
	for _, k := range p.keys {
		if k.Hash == hash {
			return k, true, nil
		}
	}
	return engine.APIKey{}, false, nil
}

func (p *ports) Keys(context.Context) ([]engine.APIKey, error) {
	defer p.lock()()
	return append([]engine.APIKey(nil), p.keys...), nil
}

func (p *ports) CreateKey(_ context.Context, key engine.APIKey, _ engine.Who) error {
	defer p.lock()()
	p.keys = append(p.keys, key)
	return nil
}

func (p *ports) ChangeKey(_ context.Context, id engine.KeyID, c KeyChange, _ engine.Who) (engine.APIKey, error) {
	defer p.lock()()
	for i := range p.keys {
		k := &p.keys[i]
		if k.ID != id {
			continue
		}
		if c.Active != nil {
			k.Active = *c.Active
		}
		if c.ExpiresAt != nil {
			k.ExpiresAt = *c.ExpiresAt
		}
		if c.Name != nil {
			k.Name = *c.Name
		}
		if c.Scopes != nil {
			k.Scopes = *c.Scopes
		}
		if c.Campaigns != nil {
			k.Campaigns = *c.Campaigns
		}
		return *k, nil
	}
	return engine.APIKey{}, engine.NotFound("key_not_found", "There is no such key.")
}

func (p *ports) KeysUsed(_ context.Context, used map[engine.KeyID]time.Time) error {
	defer p.lock()()
	for id, at := range used {
		p.used[id] = at
	}
	return nil
}

func (p *ports) UserByEmail(_ context.Context, email string) (engine.User, bool, error) {
	defer p.lock()()
	for _, u := range p.users {
		if u.Email == email {
			return u, true, nil
		}
	}
	return engine.User{}, false, p.userFail
}

func (p *ports) User(_ context.Context, id engine.UserID) (engine.User, bool, error) {
	defer p.lock()()
	for _, u := range p.users {
		if u.ID == id {
			return u, true, nil
		}
	}
	return engine.User{}, false, nil
}

func (p *ports) LoggedIn(_ context.Context, id engine.UserID, _ time.Time) error {
	defer p.lock()()
	p.logins = append(p.logins, id)
	return nil
}

func replyKey(id engine.Idempotency) engine.Idempotency { id.BodyHash = ""; return id }

func (p *ports) FindReply(_ context.Context, id engine.Idempotency) (journal.Reply, bool, error) {
	defer p.lock()()
	r, ok := p.replies[replyKey(id)]
	return r, ok, p.findFail
}

func (p *ports) StoreReply(_ context.Context, r journal.Reply) error {
	defer p.lock()()
	if p.storeFail != nil {
		return p.storeFail
	}
	if _, ok := p.replies[replyKey(r.Idempotency)]; ok {
		return journal.ErrReplyExists
	}
	p.replies[replyKey(r.Idempotency)] = r
	return nil
}

func (p *ports) Bots(context.Context) ([]engine.Bot, error) {
	defer p.lock()()
	return append([]engine.Bot(nil), p.bots...), nil
}

func (p *ports) PutBot(_ context.Context, b engine.Bot, keep bool, _ engine.Who) (engine.Bot, bool, error) {
	defer p.lock()()
	p.keep = keep
	for i := range p.bots {
		if p.bots[i].ID == b.ID {
			if keep {
				b.AuthToken = p.bots[i].AuthToken
			}
			p.bots[i] = b
			return b, false, nil
		}
	}
	p.bots = append(p.bots, b)
	return b, true, nil
}

func (p *ports) Trunks(context.Context) ([]engine.TrunkSettings, error) {
	defer p.lock()()
	return append([]engine.TrunkSettings(nil), p.trunks...), nil
}

func (p *ports) PutTrunk(_ context.Context, t engine.TrunkSettings, keep bool, _ engine.Who) (bool, error) {
	defer p.lock()()
	p.keep = keep
	for i := range p.trunks {
		if p.trunks[i].ID == t.ID {
			if keep {
				t.Password = p.trunks[i].Password
			}
			p.trunks[i] = t
			return false, nil
		}
	}
	p.trunks = append(p.trunks, t)
	return true, nil
}

func (p *ports) Numbers(context.Context) ([]engine.NumberSettings, error) {
	defer p.lock()()
	return append([]engine.NumberSettings(nil), p.numbers...), nil
}

func (p *ports) PutNumber(_ context.Context, n engine.NumberSettings, _ engine.Who) (bool, error) {
	defer p.lock()()
	p.numbers = append(p.numbers, n)
	return true, nil
}

func (p *ports) Alive() error                   { defer p.lock()(); return p.alive }
func (p *ports) Checks(context.Context) []Check { defer p.lock()(); return p.checks }

var errBoom = errors.New("pq: key (number)=(+4915112345678) is broken")
