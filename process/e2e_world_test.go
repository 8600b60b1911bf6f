package process

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/bench/ports"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/persistence/storetest"
	"dialler/process/keys"
)

// The tests of e2e_*_test.go run the whole process: real HTTP, SIP, RTP, bot
// socket and PostgreSQL, all on loopback. Nothing of it may be left over.

// automanagedProvider is the package and receiver of goroutines of Proto.Actor's cluster provider.
const automanagedProvider = "github.com/asynkron/protoactor-go/cluster/clusterproviders/automanaged." +
	"(*AutoManagedProvider)."

// Lingering goroutines do not belong to the process.
var Lingering = append([]goleak.Option{
	// Sleeping for a second when it was told to end.
	goleak.IgnoreAnyFunction(automanagedProvider + "monitorStatuses"),
	goleak.IgnoreAnyFunction(automanagedProvider + "checkNodes.func1"),
	goleak.IgnoreAnyFunction(automanagedProvider + "monitorMemberStatusChanges.func1"),
}, lasting...)

// lasting are goroutines that go on for longer, or forever.
var lasting = []goleak.Option{
	// The test database outlives its tests; its starter waits for it.
	goleak.IgnoreAnyFunction("dialler/persistence/private.(*Server).reap"),
	// fasthttp's date updater lives as long as the program; the cleaner of a stopped worker pool
	// sleeps for its full ten seconds.
	goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
	goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
	// One second of silence after a message to a stopped actor.
	goleak.IgnoreAnyFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1"),
}

// Ended waits for the end of all goroutines except those that the options ignore, because ending
// may take a while on a busy machine.
func Ended(options ...goleak.Option) (err error) {
	storetest.EndSessions()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if err = goleak.Find(options...); err == nil {
			return nil
		}
	}
	return err
}

// splitHostPort splits the address of a model.
func splitHostPort(addr string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(p)
	return host, port, err
}

// patience bounds every wait; it is generous because the tests share their
// machine.
const patience = 30 * time.Second

// eventually waits for a condition that has no event.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	within(t, patience, what, ok)
}

// within is eventually for a condition that may take long for its own reason.
func within(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

// logbook records what the process logs.
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

// personal matches what must never be in a log: a number of a callee, or ours. Digits within random
// hexadecimal text, such as a request's ID, do not count.
var personal = regexp.MustCompile(`(^|[^0-9a-f])\+?(4915112[0-9]{4,}|0?15112[0-9]{6}|(4930|0?30)23125000)`)

// telling matches words that occur in callees' variables, bots' answers and passwords in these
// tests, and the beginning of an API key. It matches whole words, because random identifiers may
// contain the same letters.
var telling = regexp.MustCompile(`\b(Ada|wonderland|gold)\b|\bvx_`)

// discreet fails if the log reveals a number, a variable or a secret.
func (w *world) discreet() {
	w.t.Helper()
	secrets := append([]string{w.key, w.admin, ourToken}, w.hidden...)
	for _, s := range w.bot.Sessions() {
		secrets = append(secrets, s.Parameters["result_token"])
	}
	for line := range strings.Lines(w.log.String()) {
		leaked := personal.MatchString(line) || telling.MatchString(line)
		for _, secret := range secrets {
			leaked = leaked || secret != "" && strings.Contains(line, secret)
		}
		if leaked {
			w.t.Errorf("the log gives away a number, a variable or a secret: %s", line)
		}
	}
}

// without removes the lines that contain a text.
func (l *logbook) without(text string) string {
	var b strings.Builder
	for line := range strings.Lines(l.String()) {
		if !strings.Contains(line, text) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Names used in every world.
const (
	ourBot    = "anna"
	ourNumber = "+493023125000"
	ourToken  = "f5c1a0a2d87b41de9e1b6c6a1f5b77aa"
)

var ourAccount = "AC" + strings.Repeat("7e", 16)

// world is a dialler with a bot, an outbound number, an administrator and an
// API key, on a database schema of its own.
type world struct {
	t      *testing.T
	url    string
	times  tuning
	flags  Flags
	log    *logbook
	p      *Process
	bot    *bot.Bot
	key    string   // of all scopes
	admin  string   // an administrator's token
	hidden []string // additional texts that must not be in the log
	// tampered says that rows were changed without the dialler's knowledge, so that its events do
	// not cover them.
	tampered bool
	client   *nethttp.Client
	api      string // of another node; "" means that of p
}

// at returns the world as seen through another node's API.
func (w *world) at(api string) *world {
	o := *w
	o.api = api
	return &o
}

// newWorld starts a world; conversations last as long as talk says, with 0 until the callee hangs
// up.
func newWorld(t *testing.T, times tuning, talk time.Duration) *world {
	t.Helper()
	return newWorldOn(t, storetest.URL(t), times, talk)
}

// newWorldOn starts a world on a database of the test's own.
func newWorldOn(t *testing.T, url string, times tuning, talk time.Duration) *world {
	t.Helper()
	return bringUp(t, &world{url: url, flags: Flags{DatabaseURL: url}}, times, talk)
}

// newPrivateWorld starts a world on a private server in a folder.
func newPrivateWorld(t *testing.T, dir string, times tuning) *world {
	t.Helper()
	return bringUp(t, &world{flags: Flags{DataDir: dir}}, times, 0)
}

func bringUp(t *testing.T, w *world, times tuning, talk time.Duration) *world {
	t.Helper()
	w.t, w.times, w.log, w.client = t, times, &logbook{}, &nethttp.Client{Timeout: patience}
	// A start asks much at once: most of its sessions would take the server longer to begin than they are of use.
	w.times.readers = cmp.Or(times.readers, 3)
	t.Cleanup(w.client.CloseIdleConnections)
	var err error
	w.bot, err = bot.Start(bot.Config{AuthToken: ourToken, Conversations: []bot.Conversation{conversation(talk)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.bot.Close() })
	f := &w.flags
	// The next process must listen at the same address: no other may take the port in between.
	f.ListenHTTP, f.SIP = cmp.Or(f.ListenHTTP, "127.0.0.1:0"), cmp.Or(f.SIP, ports.AddressOf(t))
	f.DrainTimeout, f.RecordingsDir = patience, filepath.Join(t.TempDir(), "recordings")
	f.SigningKey = cmp.Or(f.SigningKey, sharedKey(t))
	f.DataDir = cmp.Or(f.DataDir, t.TempDir())
	f.WebhookAllowPrivate, f.ConfigAllowPrivate = true, true // their servers are on this machine
	f.SpoolDir, f.SpoolSize = filepath.Join(t.TempDir(), "spool"), 4
	w.start()
	if w.p.pg != nil {
		w.url = w.p.pg.URL()
	}
	t.Cleanup(func() {
		if !w.tampered {
			w.audited()
		}
		w.p.Close()
		w.discreet()
		if t.Failed() {
			t.Logf("log of the process:\n%s", w.log.without(`"level":"debug"`))
		}
	})
	password, err := w.p.FirstAdmin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	w.hidden = append(w.hidden, password)
	var login struct{ Token string }
	w.send("POST", "/api/v1/auth/token", map[string]any{"email": FirstAdminEmail,
		"password": password}).expect(200).into(&login)
	w.admin = login.Token
	w.operator("PUT", "/api/v1/bots/"+ourBot, map[string]any{"name": "Anna", "seats": 10,
		"endpoints":  []string{w.bot.URL()},
		"auth_token": ourToken, "account": ourAccount}).expect(201)
	w.operator("PUT", "/api/v1/numbers/"+ourNumber, map[string]any{}).expect(201)
	w.key = w.newKey(nil)
	return w
}

// sharedKey is the file with the signing key of every process of these tests: all that use one
// database must have the same.
func sharedKey(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(os.TempDir(), "dialler-test-key-"+strconv.Itoa(os.Geteuid()))
	if _, err := keys.Signing("", dir); err != nil { // created if there is none
		t.Fatal(err)
	}
	return filepath.Join(dir, keys.SigningFile)
}

// conversation talks from the first moment and posts a result.
func conversation(talk time.Duration) bot.Conversation {
	c := bot.Conversation{Utterance: draw.Exactly(time.Second), Pause: draw.Exactly(20 * time.Millisecond),
		Result: &bot.Result{Disposition: "interested", Variables: map[string]string{"plan": "gold"}}}
	if talk > 0 {
		c.Talk = draw.Exactly(talk)
	}
	return c
}

// start starts the process on the world's database.
func (w *world) start() {
	w.t.Helper()
	p, err := startTuned(context.Background(), w.flags, "main", zerolog.New(w.log).Level(zerolog.DebugLevel), w.times)
	if err != nil {
		w.t.Fatal(err)
	}
	w.p = p
}

// restart ends the process without draining and starts another on the same
// database and the same SIP port.
func (w *world) restart() {
	w.t.Helper()
	w.p.Close()
	w.start()
}

// newKey makes an API key the way a console does; fields adds to the request.
func (w *world) newKey(fields map[string]any) string {
	w.t.Helper()
	body := map[string]any{"name": "crm"}
	for k, v := range fields {
		body[k] = v
	}
	var key struct{ Key string }
	w.operator("POST", "/api/v1/api-keys", body).expect(201).into(&key)
	return key.Key
}

// trunk adds or changes a carrier connection.
func (w *world) trunk(id, host string, port int, fields map[string]any) {
	w.t.Helper()
	body := map[string]any{"host": host, "port": port, "cps_cap": 100}
	for k, v := range fields {
		body[k] = v
	}
	if r := w.operator("PUT", "/api/v1/trunks/"+id, body); r.status != 201 && r.status != 200 {
		w.t.Fatalf("trunk %s: %s", id, r)
	}
}

// carrier starts a model carrier and makes it the world's trunk.
func (w *world) carrier(c carrier.Config) *carrier.Carrier {
	w.t.Helper()
	c.Media = true
	m, err := carrier.Start(c)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = m.Close() })
	host, port, err := splitHostPort(m.Addr())
	if err != nil {
		w.t.Fatal(err)
	}
	w.trunk("model", host, port, nil)
	if !c.Dead && c.Options == 0 {
		eventually(w.t, "the trunk is up", func() bool { return w.shownTrunk("model").Status.Health == "up" })
	}
	return m
}

// --- requests ---------------------------------------------------------------

type answer struct {
	t      testing.TB
	status int
	header nethttp.Header
	body   []byte
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.body) }

func (a answer) expect(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("answered %s, want %d", a, status)
	}
	return a
}

func (a answer) into(v any) {
	a.t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		a.t.Fatalf("%s: %v", a, err)
	}
}

// code returns the stable code of a problem.
func (a answer) code() string {
	var p struct{ Code string }
	_ = json.Unmarshal(a.body, &p)
	return p.Code
}

// send sends a request. A string body is sent as it is; headers alternate name and value.
func (w *world) send(method, path string, body any, headers ...string) answer {
	w.t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			w.t.Fatal(err)
		}
		r = bytes.NewReader(raw)
	}
	req, err := nethttp.NewRequestWithContext(context.Background(), method, cmp.Or(w.api, w.p.URL())+path, r)
	if err != nil {
		w.t.Fatal(err)
	}
	if r != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := w.client.Do(req)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer{t: w.t, status: resp.StatusCode, header: resp.Header, body: raw}
}

// operator sends a request as the administrator.
func (w *world) operator(method, path string, body any) answer {
	w.t.Helper()
	return w.send(method, path, body, "Authorization", "Bearer "+w.admin)
}

// crm sends a request with the API key.
func (w *world) crm(method, path string, body any, headers ...string) answer {
	w.t.Helper()
	return w.send(method, path, body, append([]string{"X-API-Key", w.key}, headers...)...)
}

// numbersMade counts the German mobile numbers made so far; no two tests dial the same one.
var numbersMade atomic.Int64

func newNumber() string { return fmt.Sprintf("+4915112%06d", 100_000+numbersMade.Add(1)) }

// dialout places a call and gives its identifier.
func (w *world) dialout(to string) engine.CallID {
	w.t.Helper()
	var rep campaign.DialoutReply
	w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": to}).expect(201).into(&rep)
	return rep.CallID
}

// heard has the bot take a call: it is opened at the answers of calls that follow, not before them.
func (w *world) heard() {
	w.t.Helper()
	w.ended(w.dialout(newNumber()), engine.OutcomeCompleted)
}

// call is what GET /api/v1/calls/{call_id} shows.
type call struct {
	State       string
	Outcome     engine.Outcome
	Trunk       string
	SIPCode     int    `json:"sip_code"`
	SIPReason   string `json:"sip_reason"`
	HungUpBy    string `json:"hung_up_by"`
	Disposition string
	AnsweredAt  *time.Time `json:"answered_at"`
	Awaiting    bool       `json:"awaiting_result"`
}

func (w *world) call(id engine.CallID) (c call) {
	w.t.Helper()
	w.crm("GET", "/api/v1/calls/"+string(id), nil).expect(200).into(&c)
	return c
}

// ended waits until the API shows the call ended with the outcome, and until that is stored,
// because a live call is shown before it is durable. While a result is awaited the API shows no
// outcome, and the row is that of a call without one.
func (w *world) ended(id engine.CallID, want engine.Outcome) (c call) {
	w.t.Helper()
	var last call
	defer func() {
		if w.t.Failed() {
			w.t.Logf("the API showed %+v", last)
		}
	}()
	eventually(w.t, fmt.Sprintf("call %s ends as %s", id, want), func() bool {
		last = w.call(id)
		awaits := want == engine.OutcomeConnectedNoResult && last.Awaiting && last.Outcome == ""
		return last.State == "ended" && (last.Outcome == want || awaits)
	})
	eventually(w.t, "the row agrees", func() bool {
		a := w.stored(id)
		return a.State == attempt.Ended && a.Outcome == want
	})
	return last
}

// stored returns the row of a call, with its legs.
func (w *world) stored(id engine.CallID) attempt.Attempt {
	w.t.Helper()
	aid, _ := id.Attempt()
	a, ok, err := w.p.store.Attempt(context.Background(), aid)
	if err != nil || !ok {
		w.t.Fatalf("call %s is not stored: %v", id, err)
	}
	return a
}

// session waits for the bot's session of a call.
func (w *world) session(id engine.CallID, what string, ok func(bot.Session) bool) bot.Session {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var s bot.Session
	if err := w.bot.Wait(ctx, func(b *bot.Bot) bool {
		var found bool
		s, found = b.Session(id)
		return found && ok(s)
	}); err != nil {
		w.t.Fatalf("no bot session of %s: %s; last %+v", id, what, s)
	}
	return s
}

// rows counts the rows of a table.
func (w *world) rows(table string) (n int) {
	w.t.Helper()
	w.query("SELECT count(*) FROM "+table, &n)
	return n
}

func (w *world) query(sql string, into ...any) {
	w.t.Helper()
	storetest.Row(w.t, w.url, into, sql)
}

// metric returns a value from /metrics; a figure whose owner does not answer in time is missing
// from a scrape.
func (w *world) metric(name string) (v float64) {
	w.t.Helper()
	eventually(w.t, "/metrics has "+name, func() (ok bool) {
		v, ok = figure(w.t, string(w.send("GET", "/metrics", nil).expect(200).body), name)
		return ok
	})
	return v
}

// figure finds a value in the output of /metrics.
func figure(t *testing.T, figures, name string) (v float64, ok bool) {
	t.Helper()
	for line := range strings.Lines(figures) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			if _, err := fmt.Sscan(rest, &v); err != nil {
				t.Fatal(err)
			}
			return v, true
		}
	}
	return 0, false
}

// quiet waits until no call is live and nothing is leased any more; with seats, also those of idle
// campaigns.
func (w *world) quiet() {
	w.t.Helper()
	st := w.p.tree.Stats()
	defer func() {
		if w.t.Failed() {
			w.t.Logf(
				"%d live calls, leases: %d seats, %d channels, %d numbers",
				w.p.tree.LiveCalls(),
				st.Fleet.SeatsHeld.Load(),
				st.Trunks.Leases.Load(),
				st.Numbers.Leases.Load(),
			)
		}
	}()
	eventually(w.t, "every lease is back", func() bool {
		return w.p.tree.LiveCalls() == 0 && st.Fleet.SeatsHeld.Load() == 0 && st.Trunks.Leases.Load() == 0 &&
			st.Numbers.Leases.Load() == 0
	})
}
