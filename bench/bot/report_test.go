package bot

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dialler/bench/draw"
)

// results is the engine's side: it answers with the given statuses in turn,
// then 200; -1 breaks the connection.
type results struct {
	mu       sync.Mutex
	statuses []int
	bodies   []resultBody
	tokens   []string
}

func (e *results) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	raw, _ := io.ReadAll(r.Body)
	var body resultBody
	if json.Unmarshal(raw, &body) != nil {
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	e.bodies = append(e.bodies, body)
	e.tokens = append(e.tokens, r.Header.Get("Authorization"))
	if len(e.statuses) == 0 {
		return
	}
	status := e.statuses[0]
	e.statuses = e.statuses[1:]
	if status < 0 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
}

// converse holds a conversation whose result goes to the engine, and returns the session once its
// report is done.
func converse(t *testing.T, b *Bot, url string) Session {
	t.Helper()
	n := b.Summary().Sessions
	p := connect(t, b)
	p.parameters["result_url"] = url
	p.begin().stop()
	until(t, b, "the report is over", func(b *Bot) bool {
		rows := b.Sessions()
		return len(rows) == n+1 && !rows[n].EndedAt.IsZero() && rows[n].Result.State != ReportPending
	})
	return p.session(b)
}

func TestResultIsPosted(t *testing.T) {
	engine := &results{}
	server := httptest.NewServer(engine)
	defer server.Close()
	want := Result{
		Disposition: "interested", SubDisposition: "hot", Callback: true, CallbackIn: draw.Exactly(time.Hour),
		Variables: map[string]string{"a": "b"},
	}
	b := start(t, Config{Script: script(
		Conversation{Mute: true, Result: &want},
		Conversation{Mute: true, Result: &Result{Disposition: "dnc", DoNotCall: true}},
	)})
	s := converse(t, b, server.URL+"/api/v1/calls/"+callSID+"/result")
	if s.Result.State != ReportTaken || s.Result.Tries != 1 || s.Result.Status != 200 ||
		s.Result.Disposition != "interested" {
		t.Fatalf("%+v", s.Result)
	}
	converse(t, b, server.URL)
	engine.mu.Lock()
	defer engine.mu.Unlock()
	body := engine.bodies[0]
	at, err := time.Parse(time.RFC3339, body.Callback.At)
	if err != nil || time.Until(at) < 50*time.Minute || !body.Callback.Requested || engine.tokens[0] != "Bearer secret" {
		t.Fatalf("%+v, %v, %q", body, err, engine.tokens[0])
	}
	if body.Disposition != "interested" || body.SubDisposition != "hot" ||
		!reflect.DeepEqual(body.Variables, want.Variables) || body.DoNotCall {
		t.Fatalf("%+v", body)
	}
	if second := engine.bodies[1]; !second.DoNotCall || second.Callback != nil {
		t.Fatalf("%+v", second)
	}
	if sum := b.Summary(); sum.DoNotCall != 1 || sum.Callbacks != 1 || sum.Dispositions["interested"] != 1 ||
		sum.Results[ReportTaken] != 2 {
		t.Fatalf("%+v", sum)
	}
}

func TestResultIsPostedAgainWhileTheEngineIsAway(t *testing.T) {
	f := func(statuses []int, state ReportState, tries, status int) {
		t.Helper()
		server := httptest.NewServer(&results{statuses: statuses})
		defer server.Close()
		b := start(t, Config{ResultTries: 4, ResultBackoff: time.Millisecond, Conversations: []Conversation{{Mute: true}}})
		s := converse(t, b, server.URL)
		if r := s.Result; r.State != state || r.Tries != tries || r.Status != status {
			t.Fatalf("%v: %+v", statuses, r)
		}
	}
	f([]int{503, 500, 200}, ReportTaken, 3, 200)
	f([]int{-1, 201}, ReportTaken, 2, 201)
	f([]int{429}, ReportTaken, 2, 200)
	f([]int{500, 500, 500, 500, 200}, ReportGivenUp, 4, 500)
	f([]int{404}, ReportRefused, 1, 404)
	f([]int{302}, ReportRefused, 1, 302)
}

func TestResultIsPostedOnceTheEngineIsBack(t *testing.T) {
	gone := httptest.NewServer(&results{})
	addr := gone.Listener.Addr().String()
	gone.Close() // connection refused from here on
	b := start(t, Config{ResultTries: 5, ResultBackoff: time.Millisecond, Conversations: []Conversation{{Mute: true}}})
	s := converse(t, b, "http://"+addr)
	if r := s.Result; r.State != ReportGivenUp || r.Tries != 5 || !strings.Contains(r.Error, "refused") {
		t.Fatalf("%+v", r)
	}
}

// Results share few connections, and one that the engine has closed meanwhile does not cost a try.
func TestResultsShareConnections(t *testing.T) {
	server := httptest.NewUnstartedServer(&results{})
	var opened atomic.Int64
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	b := start(t, Config{Conversations: []Conversation{{Mute: true}}, ResultBackoff: time.Hour})
	for range 5 {
		if s := converse(t, b, server.URL); s.Result.State != ReportTaken {
			t.Fatalf("%+v", s.Result)
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("five results took %d connections", n)
	}
	server.CloseClientConnections()
	if s := converse(t, b, server.URL); s.Result.State != ReportTaken || s.Result.Tries != 1 {
		t.Fatalf("%+v", s.Result)
	}
}

func TestResultStaysOnLoopback(t *testing.T) {
	b := start(t, Config{Conversations: []Conversation{{Mute: true}}})
	s := converse(t, b, "http://192.0.2.1/result")
	if r := s.Result; r.State != ReportGivenUp || r.Tries != 0 || !strings.Contains(r.Error, "not a loopback address") {
		t.Fatalf("%+v", r)
	}
}

func TestCloseGivesUpPendingResults(t *testing.T) {
	b := start(t, Config{Conversations: []Conversation{{Mute: true,
		Result: &Result{Disposition: "late", Delay: draw.Exactly(time.Hour)}}}})
	connect(t, b).begin().stop()
	until(t, b, "the session is over", func(b *Bot) bool { return b.Summary().EndedBy[EndedByCallee] == 1 })
	if n := b.Summary().Results[ReportPending]; n != 1 {
		t.Fatalf("%d pending", n)
	}
	_ = b.Close()
	if n := b.Summary().Results[ReportGivenUp]; n != 1 {
		t.Fatalf("%d given up", n)
	}
}

func TestRunAndConfig(t *testing.T) {
	text := `{"seed":3,"seats":5,"door":{"refuse_share":0.1,"delay":"1ms..2ms"},
		"conversations":[{"weight":1,"talk":"exp(30s)","clear":0.2}],
		"script":{"` + number + `":[{"mute":true}]},"results":[{"weight":2,"disposition":"interested","callback":true}],
		"result_backoff":"300ms","stop_after":"1ms"}`
	var cfg Config
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		t.Fatal(err)
	}
	if cfg.ResultBackoff != 300*time.Millisecond || cfg.StopAfter != time.Millisecond ||
		cfg.Conversations[0].Talk != draw.Exponential(30*time.Second) {
		t.Fatalf("%+v", cfg)
	}
	raw, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var again Config
	if err := json.Unmarshal(raw, &again); err != nil || !reflect.DeepEqual(again, cfg) {
		t.Fatalf("%v in %s", err, raw)
	}
	if err := Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(ctx, Config{}); err != nil {
		t.Fatal(err)
	}
	for want, bad := range map[string]Config{
		"not loopback":        {Listen: "192.0.2.1:80"},
		"slash":               {Path: "media"},
		"needs a disposition": {Results: []Result{{Weight: 1}}},
		"is empty":            {Script: script()},
	} {
		if err := Run(t.Context(), bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%v does not say %q", err, want)
		}
	}
}

func TestAdminInterface(t *testing.T) {
	b := start(t, Config{HTTP: "127.0.0.1:0", Conversations: []Conversation{{Mute: true, Result: &Result{None: true}}}})
	client := &http.Client{Transport: &http.Transport{}, Timeout: patience}
	defer client.CloseIdleConnections()
	do := func(method, path, body string, status int, into any) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+b.HTTPAddr()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		raw, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != status {
			t.Fatalf("%s %s: %d %s %v", method, path, resp.StatusCode, raw, err)
		}
		if into != nil {
			if err := json.Unmarshal(raw, into); err != nil {
				t.Fatal(err)
			}
		}
	}
	connect(t, b).begin()
	until(t, b, "the session began", func(b *Bot) bool { _, ok := b.Session(callSID); return ok })
	var rows []Session
	do("GET", "/sessions?open=1&call_id="+callSID, "", 200, &rows)
	if len(rows) != 1 || rows[0].Parameters["to_number"] != number {
		t.Fatalf("%+v", rows)
	}
	do("POST", "/hangup?call_id="+callSID, "", 204, nil)
	do("POST", "/hangup?call_id=CA1", "", 404, nil)
	until(t, b, "the session is over", func(b *Bot) bool { return b.Summary().Open == 0 })
	do("GET", "/sessions?open=1", "", 200, &rows)
	var s Summary
	do("GET", "/summary", "", 200, &s)
	if len(rows) != 0 || s.EndedBy[EndedByBot] != 1 {
		t.Fatalf("%+v %+v", rows, s)
	}
	do("POST", "/config", `{"door":{"refuse_share":1}}`, 204, nil)
	do("POST", "/config", `{"results":[{"weight":1}]}`, 422, nil)
	if _, _, err := dial(t, b, nil); err == nil {
		t.Fatal("the new door is open")
	}
}
