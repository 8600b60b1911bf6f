package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	nethttp "net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/http"
)

// browser is a log-in as a browser has it.
type browser struct {
	*world
	cookie, csrf string
}

const browserPassword = "wonderland by night"

// browser adds a user and logs in with a cookie.
func (w *world) browser(email, role string) browser {
	w.t.Helper()
	if err := AddUser(context.Background(), w.p.store, email, role, browserPassword, engine.System); err != nil {
		w.t.Fatal(err)
	}
	a := w.send("POST", "/api/v1/session", map[string]any{"email": email, "password": browserPassword}).expect(200)
	cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
	b := browser{world: w, cookie: cookie}
	var session struct {
		CSRF string `json:"csrf_token"`
	}
	a.into(&session)
	b.csrf = session.CSRF
	w.hidden = append(w.hidden, strings.TrimPrefix(cookie, "dialler_session="), b.csrf)
	return b
}

func (b browser) get(path string) answer {
	b.t.Helper()
	return b.send("GET", path, nil, "Cookie", b.cookie)
}

func (b browser) post(path string) answer {
	b.t.Helper()
	return b.send("POST", path, nil, "Cookie", b.cookie, "X-CSRF-Token", b.csrf)
}

// sight is a stream as a console follows it.
type sight struct {
	t      *testing.T
	events chan liveEvent // closed with the stream
	has    any            // what the console shows
	deltas int
	began  time.Time
	last   string
}

type liveEvent struct{ id, name, data string }

// follow opens a stream; it ends with the test.
func (b browser) follow(path, last string) *sight {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := nethttp.NewRequestWithContext(ctx, "GET", b.p.URL()+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Cookie", b.cookie)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	client := &nethttp.Client{Transport: &nethttp.Transport{}}
	began := time.Now() // no event is sent before that
	resp, err := client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		b.t.Fatalf("%s: %d %v", path, resp.StatusCode, resp.Header)
	}
	s := &sight{t: b.t, events: make(chan liveEvent, 1000), began: began}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(s.events)
		s.read(resp.Body)
	}()
	b.t.Cleanup(func() { cancel(); _ = resp.Body.Close(); <-done; client.CloseIdleConnections() })
	return s
}

func (s *sight) read(r io.Reader) {
	var e liveEvent
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if e.name != "" {
				s.events <- e
			}
			e = liveEvent{}
		}
	}
}

// next applies the next event; it returns false at the end of the stream.
func (s *sight) next() bool {
	s.t.Helper()
	select {
	case e, ok := <-s.events:
		if !ok {
			return false
		}
		var data any
		if err := json.Unmarshal([]byte(e.data), &data); err != nil {
			s.t.Fatal(err)
		}
		s.last = e.id
		switch e.name {
		case "snapshot":
			s.has = data
		case "delta":
			s.deltas++
			s.has = patched(s.has, data)
		default:
			s.t.Fatalf("event %+v", e)
		}
		return true
	case <-time.After(patience):
		s.t.Fatalf("no event; the console shows %v", s.has)
	}
	return false
}

// patched applies RFC 7396.
func patched(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, ok := target.(map[string]any)
	if !ok {
		t = map[string]any{}
	}
	for k, v := range p {
		if v == nil {
			delete(t, k)
		} else {
			t[k] = patched(t[k], v)
		}
	}
	return t
}

// steadily returns a campaign without nulls and without what changes with time alone.
func steadily(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for k, v := range m {
		if v != nil && k != "at" && k != "dials_per_s" && k != "connected_per_h" && k != "avg_ring_s" {
			out[k] = steadily(v)
		}
	}
	return out
}

func (s *sight) status() string {
	m, _ := s.has.(map[string]any)
	status, _ := m["status"].(string)
	return status
}

func TestACampaignIsSteeredFromABrowserAndFollowedLive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 500*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	b := w.browser("ada@example.org", "operator")
	id := w.campaign(map[string]any{"concurrency": 2})
	path := "/api/v1/campaigns/" + string(id)
	const contacts = 8
	var rows []any
	for range contacts {
		rows = append(rows, map[string]any{"mobile": newNumber()})
	}
	w.operator("POST", path+"/contacts", map[string]any{"contacts": rows}).expect(200)

	one, all := b.follow(path+"/live", ""), b.follow("/api/v1/live", "")
	one.next()
	all.next()
	if one.status() != "draft" {
		t.Errorf("the console shows %v", one.has)
	}
	w.send("POST", path+"/start", nil, "Cookie", b.cookie).expect(403)
	b.post(path + "/start").expect(200)
	finished := func() bool {
		m := one.has.(map[string]any)
		return one.status() == "completed" && m["draining"] == false &&
			m["counters"].(map[string]any)["completed"] == float64(contacts)
	}
	statuses := map[string]bool{}
	for !finished() && one.next() {
		statuses[one.status()] = true
	}
	if !statuses["running"] || !finished() {
		t.Fatalf("the console saw %v, last %v", statuses, one.has)
	}
	if most := int(time.Since(one.began).Seconds()) + 1; one.deltas < 2 || one.deltas > most {
		t.Errorf("%d deltas in %v", one.deltas, time.Since(one.began))
	}
	var want any
	b.get(path).expect(200).into(&want)
	if got := steadily(one.has); !reflect.DeepEqual(got, steadily(want)) {
		t.Errorf("the console shows %v, GET %v", got, steadily(want))
	}
	inList := func() any { return all.has.(map[string]any)["campaigns"].(map[string]any)[string(id)] }
	for !reflect.DeepEqual(steadily(inList()), steadily(want)) {
		if !all.next() {
			t.Fatalf("the list shows %v, GET %v", inList(), want)
		}
	}
	if one.deltas > 0 && w.metric("dialler_http_streams") != 2 {
		t.Errorf("%v streams", w.metric("dialler_http_streams"))
	}

	// The session survives the restart, the stream begins again.
	w.restart()
	for one.next() {
	}
	b.get("/api/v1/session").expect(200)
	again := b.follow(path+"/live", one.last)
	again.next()
	if again.status() != "completed" || again.deltas > 0 {
		t.Errorf("after a restart %v, %d deltas", again.has, again.deltas)
	}
	b.post(path + "/restart").expect(200)
	for again.status() != "draft" {
		if !again.next() {
			t.Fatal("the stream ended")
		}
	}

	// Log-out ends the stream, and so does the deletion of the user.
	w.send("DELETE", "/api/v1/session", nil, "Cookie", b.cookie, "X-CSRF-Token", b.csrf).expect(204)
	for again.next() {
	}
	b.get(path).expect(401)
	other := w.browser("bob@example.org", "viewer")
	stream := other.follow(path+"/live", "")
	other.post(path + "/start").expect(403)
	user, _, err := w.p.store.Accounts.UserByEmail(context.Background(), "bob@example.org")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.p.store.Accounts.UpdateUser(context.Background(), user.ID, func(u *engine.User) { u.Active = false },
		engine.System); err != nil {
		t.Fatal(err)
	}
	for stream.next() {
	}
	other.get(path).expect(401)
	if n := w.rows("user_sessions"); n != 0 {
		t.Errorf("%d sessions are stored", n)
	}
}

func TestBehindHTTPSTheCookieIsSecure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	login := func(email string) string {
		t.Helper()
		w.browser(email, "viewer")
		return w.send("POST", "/api/v1/session", map[string]any{"email": email,
			"password": browserPassword}).expect(200).header.Get("Set-Cookie")
	}
	if c := login("ada@example.org"); strings.Contains(c, "Secure") {
		t.Errorf("over plain HTTP a browser would drop it: %d bytes", len(c))
	}
	w.flags.PublicURL = "https://dialler.example.org"
	w.restart()
	if c := login("bob@example.org"); !strings.HasSuffix(c, "; Secure") {
		t.Error("the cookie is not Secure")
	}
}

// The list is queried every second: idle campaigns are counted only once.
func TestTheListCountsCampaignsAtRestOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	var ids []engine.CampaignID
	for range 3 {
		id := w.campaign(nil)
		w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts",
			map[string]any{"contacts": []any{map[string]any{"mobile": newNumber()}}}).expect(200)
		ids = append(ids, id)
	}
	w.restart() // none of their actors is up
	var campaigns http.Campaigns = &Front{Store: w.p.store, commands: w.p.tree, p: w.p}
	totals := func() (list []int) {
		t.Helper()
		details, total, err := campaigns.List(context.Background(), campaign.Page{Number: 1, Size: 200})
		if err != nil || total != len(details) {
			t.Fatal(total, err)
		}
		for _, d := range details {
			list = append(list, d.Counters.Total)
		}
		return list
	}
	f := func(want ...int) {
		t.Helper()
		if got := totals(); !slices.Equal(got, want) {
			t.Errorf("totals %v, want %v", got, want)
		}
	}
	f(1, 1, 1)
	// Something that never happens: a change without the dialler's knowledge and without an event.
	w.tampered = true
	w.exec("DELETE FROM contacts WHERE campaign_id = '" + string(ids[2]) + "'")
	f(1, 1, 1)
	w.exec("UPDATE campaigns SET seq = seq + 1 WHERE id = '" + string(ids[2]) + "'")
	f(0, 1, 1)
	// A campaign whose actors are up is asked itself.
	w.operator("POST", "/api/v1/campaigns/"+string(ids[0])+"/contacts",
		map[string]any{"contacts": []any{map[string]any{"mobile": newNumber()}}}).expect(200)
	f(0, 1, 2)
	// A deleted campaign leaves the list.
	w.operator("DELETE", "/api/v1/campaigns/"+string(ids[1]), nil).expect(204)
	f(0, 2)
	var e *engine.Error
	if _, err := campaigns.Detail(context.Background(), ids[1]); !errors.As(err, &e) || e.Kind != engine.KindNotFound {
		t.Errorf("%v", err)
	}
}
