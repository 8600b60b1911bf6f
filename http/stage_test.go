package http

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	nethttp "net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/http/live"
	"dialler/http/wire"
)

// stage is a bench whose streams are driven by hand: a tick makes the feed query, a beat makes a
// stream check its client.
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
	s := &stage{bench: b, tick: make(chan time.Time), beat: make(chan time.Time),
		shows: map[engine.CampaignID]*campaign.Detail{}}
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
			return campaign.Detail{}, wire.ErrNoCampaign
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
	t.Cleanup(func() { // before the bench's own
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
	f.After = func(d time.Duration) (<-chan time.Time, func() bool) {
		if d == f.Interval {
			return s.tick, func() bool { return true }
		}
		return s.beat, func() bool { return true }
	}
}

// present returns a campaign with the current time of day, as its actor answers.
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

// hand fires a timer for its receiver; a second hand proves that the effects of the first are
// complete.
func (s *stage) hand(c chan time.Time) {
	s.t.Helper()
	select {
	case c <- s.clock.Now():
	case <-time.After(testTimeout):
		s.t.Fatal("nobody waits for the time")
	}
}

// eventually waits for a condition that has no event.
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

// held returns how many streams are counted, feed what is watched under a key.
func (s *stage) held() int { return s.server.feeds.Count() }

func (s *stage) feed(key string) *live.Feed { return s.server.feeds.Watched(key) }

func (s *stage) looked() int {
	defer s.ports.lock()()
	return s.looks
}

// quiet waits until every stream is over and no feed queries any more.
func (s *stage) quiet() {
	s.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.server.host.Leisure.Work.Wait()
	}()
	select {
	case <-done:
	case <-time.After(testTimeout):
		s.t.Fatal("a feed goes on looking")
	}
}

// figure returns one value from /metrics.
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
	has  any    // its state before that event
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

// refused checks that a request for a stream gets a problem, according to the contract.
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

// gets reads the next event, which must be of that kind, and applies it.
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

// sees compares the client's state with the response to GET.
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
