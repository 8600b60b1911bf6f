package http

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

const (
	livePath    = "/api/v1/campaigns/cmp_1/live"
	listPath    = "/api/v1/live"
	testTimeout = time.Minute
)

// stage is a bench whose streams go by hand: a tick makes the feed look, a beat
// makes a stream look after its client.
type stage struct {
	*bench
	address    string
	tick, beat chan time.Time
	shows      map[engine.CampaignID]*campaign.Detail // under the lock of ports
	looks      int
	lookFail   error
}

func newStage(t testing.TB, change ...func(*Config)) *stage {
	t.Helper()
	b := newBench(t, change...)
	s := &stage{bench: b, tick: make(chan time.Time), beat: make(chan time.Time), shows: map[engine.CampaignID]*campaign.Detail{}}
	s.byHand()
	d := detail("cmp_1", campaign.Settings{Name: "autumn"}, campaign.Running)
	s.shows["cmp_1"] = &d
	b.ports.onDetail = func(_ context.Context, id engine.CampaignID) (campaign.Detail, error) {
		s.looks++
		if s.lookFail != nil {
			return campaign.Detail{}, s.lookFail
		}
		d := s.shows[id]
		if d == nil {
			return campaign.Detail{}, errNoCampaign
		}
		return s.present(d), nil
	}
	b.ports.onList = func(_ context.Context, p campaign.Page) ([]campaign.Detail, int, error) {
		s.looks++
		var list []campaign.Detail
		for _, d := range s.shows {
			list = append(list, s.present(d))
		}
		return list, len(list), s.lookFail
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = ln.Addr().String()
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(ln) }()
	t.Cleanup(func() { // before that of the bench
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		if err := b.server.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return s
}

// byHand replaces the timers of the feeds.
func (s *stage) byHand() {
	f := s.server.feeds
	f.after = func(d time.Duration) (<-chan time.Time, func() bool) {
		if d == f.interval {
			return s.tick, func() bool { return true }
		}
		return s.beat, func() bool { return true }
	}
}

// present is a campaign with the time of day in it, as its actor answers.
func (s *stage) present(d *campaign.Detail) campaign.Detail {
	out := *d
	if d.Live != nil {
		live := *d.Live
		live.At = s.clock.Now()
		out.Live = &live
	}
	return out
}

// changes alters a campaign and lets time pass.
func (s *stage) changes(id engine.CampaignID, f func(*campaign.Detail)) {
	s.clock.advance(time.Second)
	defer s.ports.lock()()
	f(s.shows[id])
}

func (s *stage) ticks() { s.hand(s.tick) }
func (s *stage) beats() { s.hand(s.beat) }

// hand gives a timer's time to whoever waits for it; a second hand proves that
// what followed from the first is done.
func (s *stage) hand(c chan time.Time) {
	s.t.Helper()
	select {
	case c <- s.clock.Now():
	case <-time.After(testTimeout):
		s.t.Fatal("nobody waits for the time")
	}
}

// eventually waits for what has no event of its own.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(testTimeout)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

func (s *stage) streams() int { return int(s.figure("dialler_http_streams")) }

// held is how many streams are counted, feed what is watched under a key.
func (s *stage) held() int {
	defer s.lockFeeds()()
	return s.server.feeds.held
}

func (s *stage) feed(key string) *feed {
	defer s.lockFeeds()()
	return s.server.feeds.open[key]
}

func (s *stage) lockFeeds() func() {
	s.server.feeds.mu.Lock()
	return s.server.feeds.mu.Unlock
}

func (s *stage) looked() int {
	defer s.ports.lock()()
	return s.looks
}

// quiet waits until every stream is over and no feed looks any more.
func (s *stage) quiet() {
	s.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.server.feeds.work.Wait()
	}()
	select {
	case <-done:
	case <-time.After(testTimeout):
		s.t.Fatal("a feed goes on looking")
	}
}

// figure is one of /metrics.
func (b *bench) figure(name string) float64 {
	b.t.Helper()
	families, err := b.server.Registry.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	b.t.Fatalf("there is no %s", name)
	return 0
}

// viewer is a client that reads a stream.
type viewer struct {
	t    testing.TB
	conn net.Conn
	r    *bufio.Reader
	resp *nethttp.Response
	last string // id of the last event
	has  any    // what it has before it
}

type event struct{ id, name, data, comment, retry string }

// ask sends a request on a connection of its own.
func (s *stage) ask(path string, fields ...string) *viewer {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	v := &viewer{t: s.t, conn: conn, r: bufio.NewReader(conn)}
	v.deadline()
	req := "GET " + path + " HTTP/1.1\r\nHost: api.test\r\n"
	for i := 0; i < len(fields); i += 2 {
		req += fields[i] + ": " + fields[i+1] + "\r\n"
	}
	if _, err := conn.Write([]byte(req + "\r\n")); err != nil {
		s.t.Fatal(err)
	}
	if v.resp, err = nethttp.ReadResponse(v.r, nil); err != nil {
		s.t.Fatal(err)
	}
	return v
}

// watch opens a stream as the administrator.
func (s *stage) watch(path string, fields ...string) *viewer {
	s.t.Helper()
	return s.watchAs(path, append(fields, "Authorization", "Bearer "+s.admin)...)
}

func (s *stage) watchAs(path string, fields ...string) *viewer {
	s.t.Helper()
	v := s.ask(path, fields...)
	h := v.resp.Header
	if v.resp.StatusCode != 200 || h.Get("Content-Type") != "text/event-stream" || h.Get("Cache-Control") != "no-store" ||
		h.Get("X-Request-Id") == "" || h.Get("Date") == "" || v.resp.ContentLength != -1 {
		s.t.Fatalf("%d %v, length %d", v.resp.StatusCode, h, v.resp.ContentLength)
	}
	if e := v.event(); e.retry != "2000" {
		s.t.Fatalf("the stream begins with %+v", e)
	}
	return v
}

// refused holds a request for a stream to a problem, and to the contract.
func (s *stage) refused(status int, code, path string, fields ...string) answer {
	s.t.Helper()
	return s.do("GET", path, "", fields...).is(status, code)
}

func (v *viewer) deadline() {
	if err := v.conn.SetReadDeadline(time.Now().Add(testTimeout)); err != nil {
		v.t.Fatal(err)
	}
}

func (v *viewer) event() (e event) {
	v.t.Helper()
	v.deadline()
	for {
		line, err := v.r.ReadString('\n')
		if err != nil {
			v.t.Fatalf("the stream ended: %v", err)
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "":
			if e.id != "" {
				v.last = e.id
			}
			return e
		case name == "id":
			e.id = value
		case name == "event":
			e.name = value
		case name == "data":
			e.data = value
		case name == "retry":
			e.retry = value
		case name == "":
			e.comment = value
		default:
			v.t.Fatalf("line %q", line)
		}
	}
}

// gets reads the next event, which must be of the kind, and keeps what it says.
func (v *viewer) gets(name string) event {
	v.t.Helper()
	e := v.event()
	if e.name != name || e.comment != "" {
		v.t.Fatalf("%+v, want %s", e, name)
	}
	var data any
	if err := json.Unmarshal([]byte(e.data), &data); err != nil {
		v.t.Fatal(err)
	}
	switch name {
	case "snapshot":
		v.has = data
	case "delta":
		v.has = applyPatch(v.has, data)
	}
	return e
}

// sees holds what the client has against what GET answers.
func (v *viewer) sees(a answer) {
	v.t.Helper()
	want := withoutNulls(parsed(v.t, a.is(200, "").body))
	if got := withoutNulls(v.has); !reflect.DeepEqual(got, want) {
		v.t.Errorf("the client has %v, want %v", got, want)
	}
}

// ends reads to the end of the stream.
func (v *viewer) ends() {
	v.t.Helper()
	v.deadline()
	if rest, err := io.ReadAll(v.r); err != nil || len(rest) > 0 {
		v.t.Errorf("before the end: %q, %v", rest, err)
	}
}

func TestAStreamBeginsWithWhatGETShows(t *testing.T) {
	s := newStage(t)
	v := s.watch(livePath)
	e := v.gets("snapshot")
	if get := s.byAdmin("GET", "/api/v1/campaigns/cmp_1", "").is(200, ""); e.data != string(get.body) || e.id == "" {
		t.Errorf("snapshot %+v, GET %s", e, get.body)
	}
	// Who comes later gets the present, not what was shown first.
	s.clock.advance(time.Hour)
	s.ticks()
	s.ticks()
	late := s.watch(livePath).gets("snapshot")
	if get := s.byAdmin("GET", "/api/v1/campaigns/cmp_1", ""); late.data != string(get.body) || late.id != e.id {
		t.Errorf("snapshot %+v, GET %s", late, get.body)
	}
	// Both go on from what they have.
	s.changes("cmp_1", func(d *campaign.Detail) { d.Counters.Total = 5 })
	s.ticks()
	v.gets("delta")
	v.sees(s.byAdmin("GET", "/api/v1/campaigns/cmp_1", ""))
}

func TestDeltasMakeTheSnapshotWhatGETShows(t *testing.T) {
	s := newStage(t)
	v := s.watch(livePath)
	v.gets("snapshot")
	f := func(change func(*campaign.Detail)) event {
		t.Helper()
		s.changes("cmp_1", change)
		s.ticks()
		e := v.gets("delta")
		v.sees(s.byAdmin("GET", "/api/v1/campaigns/cmp_1", ""))
		return e
	}
	e := f(func(d *campaign.Detail) { d.Counters.Connected, d.Live.Ringing = 3, 2 })
	if want := `{"counters":{"connected":3},"live":{"at":"2030-03-01T12:00:01Z","ringing":2}}`; e.data != want {
		t.Errorf("delta %s, want %s", e.data, want)
	}
	rate := 0.25
	f(func(d *campaign.Detail) {
		d.Counters.AnswerRate = &rate
		d.Counters.States = map[contact.State]int{"pending": 2, "completed": 1}
	})
	f(func(d *campaign.Detail) { d.Counters.States = map[contact.State]int{"completed": 3} })
	f(func(d *campaign.Detail) { d.Counters.AnswerRate, d.Live.LastDialAt = nil, nil })
	f(func(d *campaign.Detail) { d.Live, d.Campaign.State = nil, campaign.Completed })
	f(func(d *campaign.Detail) { d.Live = &campaign.Live{Ringing: 1, Explanation: "<3>"} })
	f(func(d *campaign.Detail) {
		d.Campaign.Settings.Numbers = []engine.PhoneNumber{"+493023125000", "+493023125001"}
	})
	f(func(d *campaign.Detail) { d.Campaign.Settings.Numbers = nil })
}

// The passing of time alone is no news: an idle campaign is silence.
func TestTheTimeOfDayAloneIsNoDelta(t *testing.T) {
	for _, path := range []string{livePath, listPath} {
		t.Run(path, func(t *testing.T) {
			s := newStage(t)
			v := s.watch(path)
			first := v.gets("snapshot")
			for range 20 {
				s.clock.advance(time.Second)
				s.ticks()
			}
			s.changes("cmp_1", func(d *campaign.Detail) { d.Counters.Total = 9 })
			s.ticks()
			if e := v.gets("delta"); e.id != next(first.id) {
				t.Errorf("id %s after %s", e.id, first.id)
			}
		})
	}
}

// next is the id of the state after.
func next(id string) string {
	epoch, n, _ := strings.Cut(id, "-")
	var state int
	_, _ = fmt.Sscan(n, &state)
	return fmt.Sprintf("%s-%d", epoch, state+1)
}

func TestTheListIsKeyedByCampaign(t *testing.T) {
	s := newStage(t)
	v := s.watch(listPath)
	v.gets("snapshot")
	sees := func(ids ...string) {
		t.Helper()
		got := v.has.(map[string]any)
		if got["total"] != float64(len(ids)) {
			t.Errorf("total %v", got["total"])
		}
		campaigns := got["campaigns"].(map[string]any)
		if len(campaigns) != len(ids) {
			t.Errorf("%d campaigns", len(campaigns))
		}
		for _, id := range ids {
			(&viewer{t: t, has: campaigns[id]}).sees(s.byAdmin("GET", "/api/v1/campaigns/"+id, ""))
		}
	}
	sees("cmp_1")
	s.ports.mu.Lock()
	two := detail("cmp_2", campaign.Settings{Name: "winter"}, campaign.Draft)
	two.Live = nil
	s.shows["cmp_2"] = &two
	s.ports.mu.Unlock()
	s.changes("cmp_1", func(d *campaign.Detail) { d.Counters.Total = 7 })
	s.ticks()
	v.gets("delta")
	sees("cmp_1", "cmp_2")
	s.changes("cmp_2", func(d *campaign.Detail) { d.Counters.Total = 1 })
	s.ticks()
	if e := v.gets("delta"); e.data != `{"campaigns":{"cmp_2":{"counters":{"total":1}}}}` {
		t.Errorf("delta %s", e.data)
	}
	sees2 := v.has.(map[string]any)["campaigns"].(map[string]any)
	if len(sees2) != 2 {
		t.Errorf("%d campaigns", len(sees2))
	}
	s.ports.mu.Lock()
	delete(s.shows, "cmp_1")
	s.ports.mu.Unlock()
	s.ticks()
	if e := v.gets("delta"); e.data != `{"campaigns":{"cmp_1":null},"total":1}` {
		t.Errorf("delta %s", e.data)
	}
	sees("cmp_2")
}

func TestSilenceIsBrokenByHeartbeats(t *testing.T) {
	s := newStage(t)
	if 2*s.server.feeds.heartbeat >= 10*time.Second {
		t.Error("a silence can last ten seconds")
	}
	v := s.watch(livePath)
	v.gets("snapshot")
	s.beats() // something was sent in this time
	s.beats()
	if e := v.event(); e.comment != "heartbeat" {
		t.Errorf("%+v", e)
	}
	s.beats()
	if e := v.event(); e.comment != "heartbeat" {
		t.Errorf("%+v", e)
	}
	s.changes("cmp_1", func(d *campaign.Detail) { d.Counters.Total = 1 })
	s.ticks()
	v.gets("delta")
	s.beats()
	s.beats()
	if e := v.event(); e.comment != "heartbeat" {
		t.Errorf("%+v", e)
	}
}

func TestAReconnectGoesOnWhereTheClientWas(t *testing.T) {
	s := newStage(t)
	stays := s.watch(livePath)
	stays.gets("snapshot")
	count := func(n int) {
		t.Helper()
		s.changes("cmp_1", func(d *campaign.Detail) { d.Counters.Total = n })
		s.ticks()
		stays.gets("delta")
	}
	v := s.watch(livePath)
	v.gets("snapshot")
	count(1)
	v.gets("delta")
	_ = v.conn.Close()

	again := func(fields ...string) *viewer {
		t.Helper()
		w := s.watch(livePath, fields...)
		w.has = v.has
		return w
	}
	// Nothing happened meanwhile: that is said at once.
	w := again("Last-Event-ID", v.last)
	if e := w.gets("delta"); e.data != "{}" || e.id != v.last {
		t.Errorf("%+v", e)
	}
	count(2)
	count(3)
	w.gets("delta")
	w.gets("delta")
	_ = w.conn.Close()
	// Two deltas behind.
	w = again("Last-Event-ID", v.last)
	w.gets("delta")
	w.gets("delta")
	w.sees(s.byAdmin("GET", "/api/v1/campaigns/cmp_1", ""))
	_ = w.conn.Close()

	// By parameter; the header is the newer of the two.
	e := s.watch(livePath + "?last_event_id=" + w.last).gets("delta")
	if e.data != "{}" {
		t.Errorf("%+v", e)
	}
	if e := s.watch(livePath+"?last_event_id=x", "Last-Event-ID", w.last).gets("delta"); e.data != "{}" {
		t.Errorf("%+v", e)
	}

	// States that are not known any more, or never were.
	for n := range feedMemory {
		count(100 + n)
	}
	epoch, _, _ := strings.Cut(v.last, "-")
	for _, id := range []string{v.last, "x-1", epoch + "-0", epoch + "-99999", epoch + "-x", epoch, "-1", strings.Repeat("9", 100)} {
		s.watch(livePath, "Last-Event-ID", id).gets("snapshot")
	}
	s.refused(422, "validation_failed", livePath+"?last_event_id=1&x=1", "Authorization", "Bearer "+s.admin)
}

// With its last client a feed stops looking; what it knew serves a client that
// comes back soon.
func TestNothingIsAskedWhileNobodyWatches(t *testing.T) {
	s := newStage(t)
	var viewers []*viewer
	for range 5 {
		v := s.watch(livePath)
		v.gets("snapshot")
		viewers = append(viewers, v)
	}
	if n := s.looked(); n != 1 {
		t.Errorf("%d looks for five clients", n)
	}
	s.changes("cmp_1", func(d *campaign.Detail) { d.Counters.Total = 1 })
	s.ticks()
	for _, v := range viewers {
		v.gets("delta")
		_ = v.conn.Close()
	}
	if n := s.looked(); n != 2 {
		t.Errorf("%d looks for one second of five clients", n)
	}
	feed := s.feed("campaign cmp_1")
	s.quiet()
	s.changes("cmp_1", func(d *campaign.Detail) { d.Counters.Total = 2 })
	back := s.watch(livePath, "Last-Event-ID", viewers[0].last)
	back.has = viewers[0].has
	back.gets("delta")
	back.sees(s.byAdmin("GET", "/api/v1/campaigns/cmp_1", ""))
	feed.expire() // not while it is watched
	if s.feed("campaign cmp_1") != feed {
		t.Error("a feed was forgotten under its clients")
	}
	_ = back.conn.Close()
	s.quiet()
	feed.expire()
	if s.feed("campaign cmp_1") != nil {
		t.Error("a feed without clients is kept")
	}
	s.watch(livePath, "Last-Event-ID", back.last).gets("snapshot")
}

func TestAFeedThatNobodyComesBackToIsForgotten(t *testing.T) {
	s := newStage(t)
	s.server.feeds.linger = time.Millisecond
	v := s.watch(livePath)
	v.gets("snapshot")
	_ = v.conn.Close()
	eventually(t, "it is forgotten", func() bool { return s.feed("campaign cmp_1") == nil })
}

func TestTheStreamOfADeletedCampaignSaysSoAndEnds(t *testing.T) {
	s := newStage(t)
	v := s.watch(livePath)
	v.gets("snapshot")
	s.ports.mu.Lock()
	delete(s.shows, "cmp_1")
	s.ports.mu.Unlock()
	s.ticks()
	v.gets("gone")
	v.ends()
	s.refused(404, "campaign_not_found", livePath, "Authorization", "Bearer "+s.admin)
	s.refused(404, "campaign_not_found", "/api/v1/campaigns/a%20b/live", "Authorization", "Bearer "+s.admin)
	eventually(t, "its place is free", func() bool { return s.held() == 0 })
	if s.feed("campaign cmp_1") != nil {
		t.Error("something is left of it")
	}
}

func TestWhoMayWatch(t *testing.T) {
	s := newStage(t)
	s.refused(401, "unauthorized", livePath)
	s.refused(401, "unauthorized", listPath)
	s.refused(401, "unauthorized", livePath, "Cookie", "dialler_session="+strings.Repeat("A", 43))
	s.refused(401, "unauthorized", listPath, "X-API-Key", s.key) // as the list itself
	scoped := s.addKey(func(k *engine.APIKey) { k.Scopes = []string{"trigger"} })
	s.refused(403, "scope_missing", livePath, "X-API-Key", scoped)
	limited := s.addKey(func(k *engine.APIKey) { k.Campaigns = []engine.CampaignID{"cmp_2"} })
	s.refused(403, "campaign_not_allowed", livePath, "X-API-Key", limited)
	s.watchAs(livePath, "X-API-Key", s.key).gets("snapshot")
	view := s.browser("view@example.org")
	s.watchAs(livePath, "Cookie", view.cookie).gets("snapshot")
	s.watchAs(listPath, "Cookie", view.cookie).gets("snapshot")
	s.ports.mu.Lock()
	s.lookFail = engine.Unavailable("timeout", "the dialler did not answer", time.Second)
	s.ports.mu.Unlock()
	s.refused(503, "timeout", "/api/v1/campaigns/cmp_2/live", "X-API-Key", s.key)
	if n := s.held(); n != 3 {
		t.Errorf("%d streams are counted", n)
	}
}

// The stream ends when the credentials that opened it do.
func TestAStreamEndsWithItsCredentials(t *testing.T) {
	f := func(name string, open func(*stage) []string, revoke func(*stage, []string)) {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			fields := open(s)
			v := s.watchAs(livePath, fields...)
			v.gets("snapshot")
			s.clock.advance(time.Second)
			s.beats()
			s.beats()
			if e := v.event(); e.comment != "heartbeat" {
				t.Fatalf("%+v", e)
			}
			revoke(s, fields)
			s.clock.advance(time.Second)
			s.beats()
			v.ends()
			eventually(t, "it is over", func() bool { return s.streams() == 0 })
		})
	}
	session := func(s *stage) []string { return []string{"Cookie", s.browser("oper@example.org").cookie} }
	token := func(s *stage) []string { return []string{"Authorization", "Bearer " + s.token("usr_oper")} }
	key := func(s *stage) []string { return []string{"X-API-Key", s.key} }
	user := func(change func(*engine.User)) func(*stage, []string) {
		return func(s *stage, _ []string) { defer s.ports.lock()(); change(&s.ports.users[1]) }
	}
	f("log-out", session, func(s *stage, fields []string) {
		token := strings.TrimPrefix(fields[1], "dialler_session=")
		s.do("DELETE", sessionPath, "", "Cookie", fields[1], "X-CSRF-Token", csrfToken(token)).is(204, "")
	})
	f("session of an inactive user", session, user(func(u *engine.User) { u.Active = false }))
	f("idle session", session, func(s *stage, _ []string) { s.clock.advance(12 * time.Hour) })
	f("token of an inactive user", token, user(func(u *engine.User) { u.Active = false }))
	f("user without a role", token, user(func(u *engine.User) { u.Role = "" }))
	f("expired token", token, func(s *stage, _ []string) { s.clock.advance(12 * time.Hour) })
	f("inactive key", key, func(s *stage, _ []string) { defer s.ports.lock()(); s.ports.keys[0].Active = false })
	f("key without the scope", key, func(s *stage, _ []string) { defer s.ports.lock()(); s.ports.keys[0].Scopes = []string{"trigger"} })
	f("key without the campaign", key, func(s *stage, _ []string) {
		defer s.ports.lock()()
		s.ports.keys[0].Campaigns = []engine.CampaignID{"cmp_2"}
	})
}

// That credentials cannot be checked just now, or that the dialler does not
// answer once, ends no stream.
func TestAStreamOutlivesShortTrouble(t *testing.T) {
	s := newStage(t)
	view := s.browser("view@example.org")
	v := s.watchAs(livePath, "Cookie", view.cookie)
	v.gets("snapshot")
	set := func(err error) { defer s.ports.lock()(); s.ports.userFail, s.lookFail = err, err }
	set(errBoom)
	s.clock.advance(2 * time.Second)
	s.beats()
	for range looksFailed - 1 {
		s.ticks()
	}
	set(nil)
	s.changes("cmp_1", func(d *campaign.Detail) { d.Counters.Total = 1 })
	s.ticks()
	v.gets("delta")
	// The delta may be that of the look before: none may still be under way when
	// the next trouble begins.
	eventually(t, "every tick has had its look", func() bool {
		defer s.ports.lock()()
		return s.looks == 1+looksFailed // that of the snapshot, and one a tick
	})
	// After a while it ends, and who comes back hears why.
	set(errBoom)
	for range looksFailed {
		s.ticks()
	}
	v.ends()
	set(nil)
	s.watchAs(livePath, "Cookie", view.cookie).gets("snapshot")
}

// A fault in what a stream shows ends the stream and nothing else.
func TestAPanicEndsTheStreamOnly(t *testing.T) {
	s := newStage(t)
	v := s.watch(livePath)
	v.gets("snapshot")
	s.ports.mu.Lock()
	healthy := s.ports.onDetail
	s.ports.onDetail = func(context.Context, engine.CampaignID) (campaign.Detail, error) { panic("fault +4915112345678") }
	s.ports.mu.Unlock()
	s.ticks()
	v.ends()
	s.ports.mu.Lock()
	s.ports.onDetail = healthy
	s.ports.mu.Unlock()
	s.watch(livePath).gets("snapshot")
	if s.figure("dialler_http_panics_total") != 1 || strings.Contains(s.log.String(), "4915112345678") {
		t.Error("not counted, or the log gives away a number")
	}
}

func TestAClientThatLeavesIsNoticed(t *testing.T) {
	s := newStage(t)
	quiet, loud := s.watch(livePath), s.watch(livePath)
	quiet.gets("snapshot")
	loud.gets("snapshot")
	_ = quiet.conn.Close()
	eventually(t, "one stream is left", func() bool { return s.streams() == 1 })
	// One that goes on talking does not want a stream.
	if _, err := loud.conn.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	loud.ends()
}

func TestStreamsAreBounded(t *testing.T) {
	s := newStage(t, func(c *Config) { c.StreamCap, c.StreamCapEach = 3, 2 })
	mine := s.watch(livePath)
	mine.gets("snapshot")
	s.watch(livePath).gets("snapshot")
	a := s.refused(429, "too_many_streams", livePath, "Authorization", "Bearer "+s.admin)
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	s.watchAs(livePath, "X-API-Key", s.key).gets("snapshot")
	s.refused(503, "too_many_streams", livePath, "X-API-Key", s.addKey(func(*engine.APIKey) {}))
	_ = mine.conn.Close()
	eventually(t, "its place is free", func() bool { return s.held() == 2 })
	s.watch(livePath).gets("snapshot")
	// Other requests do not suffer.
	s.byAdmin("GET", "/api/v1/campaigns", "").is(200, "")
}

// A client that does not read is dropped, and holds up nobody.
func TestASlowClientIsDroppedAndHoldsUpNobody(t *testing.T) {
	s := newStage(t)
	s.server.feeds.patience = time.Second
	slow := s.watchSlowly(livePath)
	quick := s.watch(livePath)
	quick.gets("snapshot")
	text := strings.Repeat("x", streamUnread/4) // the system takes one off the writer's hands, however late it is read
	began := time.Now()
	for states := 0; s.streams() == 2; states++ {
		if time.Since(began) > testTimeout {
			t.Fatal("a client that does not read is kept")
		}
		s.changes("cmp_1", func(d *campaign.Detail) { d.Live.Explanation = fmt.Sprint(states, text) })
		s.ticks()
		quick.gets("delta")
	}
	if n := s.figure("dialler_http_streams_dropped_total"); n != 1 {
		t.Errorf("%v dropped", n)
	}
	quick.sees(s.byAdmin("GET", "/api/v1/campaigns/cmp_1", ""))
	_ = slow.Close()
}

// watchSlowly opens a stream and reads nothing of it.
func (s *stage) watchSlowly(path string) net.Conn {
	s.t.Helper()
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		return errors.Join(c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
		}), err)
	}}
	conn, err := d.Dial("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	before := s.streams()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path, s.admin); err != nil {
		s.t.Fatal(err)
	}
	eventually(s.t, "the stream is open", func() bool { return s.streams() == before+1 })
	return conn
}

// A stream's life is not that of an answer: the timeouts of requests pass.
func TestAStreamOutlivesTheTimeoutsOfRequests(t *testing.T) {
	const timeout = time.Second // within which a stream begins
	s := newStage(t, func(c *Config) {
		c.ReadTimeout, c.WriteTimeout, c.IdleTimeout, c.CommandTimeout = timeout, timeout, timeout, timeout
	})
	v := s.watch(livePath)
	v.gets("snapshot")
	for n := range 2 { // in silence, and since it was written to
		late := knock(t, s.address, "GET / HTTP/1.1\r\nHos")
		if _, err := io.ReadAll(late); err != nil {
			t.Fatal(err)
		}
		s.changes("cmp_1", func(d *campaign.Detail) { d.Counters.Total = n + 1 })
		s.ticks()
		v.gets("delta")
	}
	v.sees(s.byAdmin("GET", "/api/v1/campaigns/cmp_1", ""))
}

// Shutdown ends the streams, those of clients that do not read too, and leaves
// nothing behind.
func TestShutdownEndsTheStreams(t *testing.T) {
	leak := goleak.IgnoreCurrent()
	t.Run("", func(t *testing.T) {
		s := newStage(t, func(c *Config) { c.StreamPatience = time.Hour })
		var wg sync.WaitGroup
		var viewers []*viewer
		text := strings.Repeat("x", 16*streamUnread) // more than the system takes off a writer's hands
		s.changes("cmp_1", func(d *campaign.Detail) { d.Live.Explanation = text })
		for _, path := range []string{livePath, livePath, listPath} {
			v := s.watch(path)
			v.gets("snapshot")
			viewers = append(viewers, v)
		}
		slow := s.watchSlowly(livePath)
		if _, err := io.ReadFull(slow, make([]byte, 4096)); err != nil { // it is being written to
			t.Fatal(err)
		}
		for _, v := range viewers {
			wg.Go(v.ends)
		}
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		if err := s.server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if n := s.streams(); n != 0 {
			t.Errorf("%d streams", n)
		}
	})
	endsAll(t, leak)
}

// endsAll waits until no goroutine is left but those that were there before.
func endsAll(t *testing.T, before goleak.Option) {
	t.Helper()
	var left error
	for began := time.Now(); time.Since(began) < testTimeout; {
		left = goleak.Find(before,
			// fasthttp's pool cleaner sleeps up to ten seconds after the end.
			goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
			goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"))
		if left == nil {
			return
		}
	}
	t.Error(left)
}

// The end of a stream may come while a write is about to begin.
func TestNothingIsWrittenAfterTheEnd(t *testing.T) {
	s := newStage(t)
	a, b := net.Pipe()
	defer func() { _ = a.Close() }()
	defer func() { _ = b.Close() }()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := (&stream{server: s.server}).write(ctx, a, []byte("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A connection whose stream could not begin before the end is closed.
func TestNoStreamBeginsAfterShutdown(t *testing.T) {
	s := newStage(t)
	if err := s.server.feeds.hold("user x"); err != nil {
		t.Fatal(err)
	}
	s.server.feeds.stop(context.Background())
	a, b := net.Pipe()
	defer func() { _ = b.Close() }()
	(&stream{server: s.server, who: "user x"}).run(a)
	if s.held() != 0 {
		t.Error("its place is kept")
	}
	_ = a.Close()
}
