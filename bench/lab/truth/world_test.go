package truth

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/bench/shipped"
	"dialler/bench/site"
	"dialler/engine"
)

// world is one installation of the shipped program with a model carrier, a model bot and a receiver of webhooks.
type world struct {
	api     *site.API
	carrier *carrier.Carrier
	bot     *bot.Bot
	binary  string
	dir     string

	mu     sync.Mutex
	people carrier.Config // including everybody introduced so far
	voices bot.Config
	hooks  []message
}

// message is a message received by a webhook.
type message struct {
	Type string         `json:"type"`
	Data map[string]any `json:"data"`
}

// The callers' numbers; the last is for the row in which it is refused.
var own = []string{"+493012345601", "+493012345602", "+493012345603", "+493012345604"}

const (
	botID  = "bot"
	trunk  = "trunk"
	admin  = "admin@dialler.local"
	second = time.Second

	// patience is how long what must come at last may take on a busy machine.
	patience = 2 * time.Minute
)

// TestMain makes all rows run in parallel: they wait far more than they work.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "64"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// binary builds the program once for all installations; TRUTH_BINARY names one built elsewhere.
var binary = sync.OnceValues(func() (string, error) {
	if other := os.Getenv("TRUTH_BINARY"); other != "" {
		return other, nil
	}
	dir, err := os.MkdirTemp("", "dialler-truth-bin-")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "dialler")
	return out, shipped.Build(context.Background(), out)
})

// open starts an installation: one process, or several nodes of a cluster, which are asked in turn.
// The bot has the given number of seats.
func open(t *testing.T, seats, nodes int) *world {
	t.Helper()
	w := new(world)
	var err error
	if w.binary, err = binary(); err != nil {
		t.Fatal(err)
	}
	if w.dir, err = os.MkdirTemp("", "dialler-truth-"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(w.dir, 0o755); err != nil { // PostgreSQL runs as another user when this process is root
		t.Fatal(err)
	}
	w.people = carrier.Config{
		Listen:      "127.0.0.1:0",
		Seed:        1,
		Media:       true,
		KeepInvites: true,
		Script:      map[engine.PhoneNumber][]carrier.Behaviour{},
		Profile:     []carrier.Behaviour{{Kind: carrier.Human, Talk: draw.Exactly(2 * second)}},
	}
	w.voices = bot.Config{
		Listen:      "127.0.0.1:0",
		Seed:        1,
		ResultTries: 40,
		Script:      map[engine.PhoneNumber][]bot.Conversation{},
		Results:     []bot.Result{{Weight: 1, Disposition: "done"}},
	}
	if w.carrier, err = carrier.Start(w.people); err != nil {
		t.Fatal(err)
	}
	if w.bot, err = bot.Start(w.voices); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if w.api != nil {
			w.api.Close()
		}
		_ = w.bot.Close()
		_ = w.carrier.Close()
		if t.Failed() {
			t.Logf("the logs are in %s", w.dir)
			return
		}
		_ = os.RemoveAll(w.dir)
	})
	w.start(t, nodes)
	w.must(
		t,
		http.MethodPut,
		"/bots/"+botID,
		map[string]any{"name": "Bot", "seats": seats, "endpoints": []string{w.bot.URL()}},
	)
	for _, n := range own {
		w.must(t, http.MethodPut, "/numbers/"+n, map[string]any{})
	}
	host, port, err := net.SplitHostPort(w.carrier.Addr())
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	// All rows dial over it at once: no trigger may be queued for lack of a token.
	w.must(
		t,
		http.MethodPut,
		"/trunks/"+trunk,
		map[string]any{"host": host, "port": n, "cps_cap": 1000, "channel_cap": 1000, "options_s": 5},
	)
	key := w.must(
		t,
		http.MethodPost,
		"/api-keys",
		map[string]any{"name": "crm", "scopes": []string{"trigger", "exclude", "dialout", "results"}},
	)
	w.api.Key, _ = key["key"].(string)
	w.hear(t)
	return w
}

// start runs the program and logs in.
func (w *world) start(t *testing.T, nodes int) {
	t.Helper()
	ctx, args := t.Context(), []string{"--webhook-allow-private", "--config-allow-private"}
	var password string
	if nodes > 1 {
		s, err := site.Open(ctx, site.Config{Binary: w.binary, Dir: w.dir, Nodes: nodes, Args: args})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.closed(t, s.Close()) })
		w.api, password = site.NewAPI(64, s.Addresses()...), <-s.Nodes[0].Password
	} else {
		p, err := site.NewProcess(w.binary, "life", w.dir, args...)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.closed(t, p.Stop()) })
		if err := p.Ready(ctx); err != nil {
			t.Fatal(err)
		}
		w.api, password = site.NewAPI(64, p.HTTP), <-p.Password
	}
	if err := w.api.Login(ctx, admin, password); err != nil {
		t.Fatal(err)
	}
}

// closed checks the error that the program returned when it was stopped.
func (w *world) closed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// hear subscribes a webhook to everything.
func (w *world) hear(t *testing.T) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		var m message
		if err != nil || json.Unmarshal(b, &m) != nil {
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.hooks = append(w.hooks, m)
	}))
	t.Cleanup(srv.Close)
	w.must(t, http.MethodPost, "/webhooks", map[string]any{"url": srv.URL})
}

// told returns the webhook messages about a campaign, by sequence; without a campaign, all of them
// in order of arrival.
func (w *world) told(campaign string) (list []message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.hooks {
		if campaign == "" || m.Data["campaign_id"] == campaign {
			list = append(list, m)
		}
	}
	if campaign != "" {
		slices.SortStableFunc(
			list,
			func(a, b message) int { return int(num(a.Data, "sequence") - num(b.Data, "sequence")) },
		)
	}
	return list
}

// knows introduces a person: their behaviour call by call, and the bot's behaviour to them session
// by session.
func (w *world) knows(t *testing.T, number string, calls []carrier.Behaviour, talks ...bot.Conversation) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.people.Script = maps.Clone(w.people.Script) // the models are reading their copy
	w.people.Script[engine.PhoneNumber(number)] = calls
	if len(talks) > 0 {
		w.voices.Script = maps.Clone(w.voices.Script)
		w.voices.Script[engine.PhoneNumber(number)] = talks
	}
	if err := w.carrier.Configure(w.people); err != nil {
		t.Fatal(err)
	}
	if err := w.bot.Configure(w.voices); err != nil {
		t.Fatal(err)
	}
}

// number is the number of the i-th person in a row.
func number(row, i int) string { return fmt.Sprintf("+49151%04d%04d", row, i) }

// talks is somebody who answers; the conversation ends when either side hangs up.
func talks() []carrier.Behaviour { return []carrier.Behaviour{{Kind: carrier.Human}} }

// rings is somebody who never answers.
func rings() []carrier.Behaviour { return []carrier.Behaviour{{Kind: carrier.NoAnswer}} }

func busy() []carrier.Behaviour { return []carrier.Behaviour{carrier.Busy()} }

// says is a conversation of the given length, with its result.
func says(talk time.Duration, r bot.Result) bot.Conversation {
	return bot.Conversation{Talk: draw.Exactly(talk), Mute: true, Result: &r}
}

// try sends one request, as the administrator.
func (w *world) try(t *testing.T, method, path string, body any) (int, map[string]any) {
	t.Helper()
	return w.ask(t, method, path, "", body)
}

func (w *world) ask(t *testing.T, method, path, token string, body any) (int, map[string]any) {
	t.Helper()
	r, err := w.api.Send(t.Context(), method, "/api/v1"+path, token, body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	var m map[string]any
	_ = json.Unmarshal(r.Body, &m)
	return r.Status, m
}

// must sends a request that must succeed.
func (w *world) must(t *testing.T, method, path string, body any) map[string]any {
	t.Helper()
	status, m := w.try(t, method, path, body)
	if status/100 != 2 {
		t.Fatalf("%s %s: %d %v", method, path, status, m)
	}
	return m
}

// result posts a result for a call, as a bot or a CRM does.
func (w *world) result(t *testing.T, call, disposition string) {
	t.Helper()
	w.post(t, "/calls/"+call+"/result", map[string]any{"disposition": disposition})
}

// post sends a request of the CRM's that must succeed.
func (w *world) post(t *testing.T, path string, body map[string]any) {
	t.Helper()
	if status, answer := w.ask(t, http.MethodPost, path, fmt.Sprint(t.Name(), path, body), body); status/100 != 2 {
		t.Fatalf("POST %s: %d %v", path, status, answer)
	}
}

// campaign creates a campaign of these people, overriding the usual settings, without starting it.
func (w *world) campaign(t *testing.T, settings map[string]any, people ...string) string {
	t.Helper()
	all := map[string]any{
		"name": t.Name(), "bot_id": botID, "concurrency": 50, "number_pool": own[:3], "amd": "off",
		"max_attempts": 1, "retry_delay_s": 1, "retry_on_system": []string{}, "ring_timeout_s": 15, "result_timeout_s": 600,
		"window": map[string]any{"zone": "UTC", "start": "00:00", "end": "00:00"},
	}
	for k, v := range settings {
		all[k] = v
	}
	id, _ := w.must(t, http.MethodPost, "/campaigns", all)["campaign_id"].(string)
	if len(people) == 0 {
		return id
	}
	for some := range slices.Chunk(people, 1000) { // the maximum per request
		rows := make([]map[string]any, len(some))
		for i, n := range some {
			rows[i] = map[string]any{"mobile": n}
		}
		w.must(t, http.MethodPost, "/campaigns/"+id+"/contacts", map[string]any{"contacts": rows})
	}
	return id
}

// run creates a campaign and starts it.
func (w *world) run(t *testing.T, settings map[string]any, people ...string) string {
	t.Helper()
	id := w.campaign(t, settings, people...)
	w.must(t, http.MethodPost, "/campaigns/"+id+"/start", nil)
	return id
}

func (w *world) state(t *testing.T, id string) map[string]any {
	t.Helper()
	return w.must(t, http.MethodGet, "/campaigns/"+id, nil)
}

// contact is the row of a person in a campaign, with its explanation.
func (w *world) contact(t *testing.T, id, number string) map[string]any {
	t.Helper()
	page := w.must(t, http.MethodGet, "/campaigns/"+id+"/contacts?number="+url.QueryEscape(number), nil)
	list, _ := page["contacts"].([]any)
	if len(list) != 1 {
		t.Fatalf("%d contacts with the number, want 1", len(list))
	}
	row, _ := list[0].(map[string]any)
	return w.must(t, http.MethodGet, fmt.Sprintf("/campaigns/%s/contacts/%v", id, row["contact_id"]), nil)
}

// calls returns the calls to a number, as seen by the carrier.
func (w *world) calls(number string) (list []carrier.Call) {
	all := w.carrier.Ledger().Calls()
	for i := range all {
		if all[i].Number == engine.PhoneNumber(number) {
			list = append(list, all[i])
		}
	}
	return list
}

// until waits until is returns true, and fails when that takes longer than limit.
func (w *world) until(t *testing.T, limit time.Duration, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := site.Poll(ctx, 25*time.Millisecond, func() (bool, error) { return is(), nil }); err != nil {
		t.Fatalf("not within %v: %s", limit, what)
	}
}

// completed waits for the end of a campaign.
func (w *world) completed(t *testing.T, id string, limit time.Duration) map[string]any {
	t.Helper()
	var last map[string]any
	w.until(
		t,
		limit,
		"the campaign completes",
		func() bool { last = w.state(t, id); return last["status"] == "completed" },
	)
	return last
}

// settled waits until that many calls to a number have ended at the carrier.
func (w *world) settled(t *testing.T, number string, calls int, limit time.Duration) {
	t.Helper()
	w.until(t, limit, fmt.Sprintf("%d calls to %s are over", calls, number), func() bool {
		list := w.calls(number)
		return len(list) >= calls && !slices.ContainsFunc(list, func(c carrier.Call) bool { return c.Live() })
	})
}

// stays checks that a condition holds for the given time.
func (w *world) stays(t *testing.T, long time.Duration, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	_ = site.Poll(ctx, 100*time.Millisecond, func() (bool, error) {
		if !is() {
			t.Fatalf("not for %v: %s", long, what)
		}
		return false, nil
	})
}

// num is a number in an answer, by its path.
func num(m map[string]any, path ...string) float64 {
	v, _ := at(m, path...).(float64)
	return v
}

func text(m map[string]any, path ...string) string {
	v, _ := at(m, path...).(string)
	return v
}

func at(m map[string]any, path ...string) any {
	var v any = m
	for _, p := range path {
		o, _ := v.(map[string]any)
		v = o[p]
	}
	return v
}
