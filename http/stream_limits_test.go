package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dialler/engine"
	"dialler/engine/campaign"
)

// A fault in what a stream shows ends only that stream.
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
	// A client that sends more does not want a stream.
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
	// Other requests are not affected.
	s.byAdmin("GET", "/api/v1/campaigns", "").is(200, "")
}

// A client that does not read is dropped, and holds up no other.
func TestASlowClientIsDroppedAndHoldsUpNobody(t *testing.T) {
	s := newStage(t)
	s.server.feeds.Patience = time.Second
	slow := s.watchSlowly(livePath)
	quick := s.watch(livePath)
	quick.gets("snapshot")
	text := strings.Repeat("x", (64<<10)/4) // the system buffers one of these, however late it is read
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
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path,
		s.admin); err != nil {
		s.t.Fatal(err)
	}
	eventually(s.t, "the stream is open", func() bool { return s.streams() == before+1 })
	return conn
}

// A stream is not a response: it outlives the request timeouts.
func TestAStreamOutlivesTheTimeoutsOfRequests(t *testing.T) {
	const timeout = time.Second // a stream begins within it
	s := newStage(t, func(c *Config) {
		c.ReadTimeout, c.WriteTimeout, c.IdleTimeout, c.CommandTimeout = timeout, timeout, timeout, timeout
	})
	v := s.watch(livePath)
	v.gets("snapshot")
	for n := range 2 { // in silence, and after a write
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

// Shutdown ends the streams, even those of clients that do not read, and leaves nothing behind.
func TestShutdownEndsTheStreams(t *testing.T) {
	leak := goleak.IgnoreCurrent()
	t.Run("", func(t *testing.T) {
		s := newStage(t, func(c *Config) { c.StreamPatience = time.Hour })
		var wg sync.WaitGroup
		var viewers []*viewer
		text := strings.Repeat("x", 16*(64<<10)) // more than the system buffers
		s.changes("cmp_1", func(d *campaign.Detail) { d.Live.Explanation = text })
		for _, path := range []string{livePath, livePath, listPath} {
			v := s.watch(path)
			v.gets("snapshot")
			viewers = append(viewers, v)
		}
		slow := s.watchSlowly(livePath)
		if _, err := io.ReadFull(slow, make([]byte, 4096)); err != nil { // a write is in progress
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

// endsAll waits until only goroutines from before are left.
func endsAll(t *testing.T, before goleak.Option) {
	t.Helper()
	var left error
	for began := time.Now(); time.Since(began) < testTimeout; {
		left = goleak.Find(before,
			// fasthttp's pool cleaner sleeps for up to ten seconds after the end.
			goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
			goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"))
		if left == nil {
			return
		}
	}
	t.Error(left)
}
