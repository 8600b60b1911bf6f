package http

import (
	"container/list"
	"errors"
	"fmt"
	"math"
	"net"
	nethttp "net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"dialler/engine"
	"dialler/http/wire"
)

// A connection costs something before its client is authenticated: a descriptor, which calls need
// too, and some 20 KiB. So their number is limited. When there is no room, the connection that has
// kept us waiting longest is closed: it is idle, or sends its request a byte at a time. Connections
// whose request is being handled stay.

// connections are the open connections.
type connections struct {
	cap int

	mu      sync.Mutex
	open    int
	waiting list.List     // of *conn, longest waiting first
	least   time.Duration // minimum wait before one is closed to make room

	lingering atomic.Int32 // refused ones that may still read the reason
	starved   atomic.Int64 // Unix ns of the last accept that failed for lack of descriptors
}

// starvedFor is how long a lack of descriptors is assumed to last after it last occurred.
const starvedFor = 5 * time.Second

// Starved says whether the process lacks descriptors: connections could not be
// accepted a moment ago, and bots cannot be reached either.
func (s *Server) Starved() bool {
	return time.Since(time.Unix(0, s.conns.starved.Load())) < starvedFor
}

const (
	// waitLeast is the minimum wait before a connection is closed to make room: a flood of new ones
	// must not drive out those that have just connected.
	waitLeast = time.Second
	// lingerCap bounds the refused clients that are given time to read the response.
	lingerCap = 64
)

var errTooManyConnections = engine.Unavailable("too_many_connections",
	"The server has too many connections open; use fewer, keep them open, and try again after Retry-After.", time.Second)

// admit counts a new connection, and returns the one to close for it, if any. ok is false if there
// is no room.
func (cs *connections) admit(c *conn) (gone *conn, ok bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.open >= cs.cap {
		if gone = cs.longest(); gone == nil {
			return nil, false
		}
	}
	cs.open++
	c.waits(time.Now())
	return gone, true
}

// longest removes the connection that has waited longest; mu is held.
func (cs *connections) longest() *conn {
	e := cs.waiting.Front()
	if e == nil {
		return nil
	}
	c := e.Value.(*conn)
	if time.Since(c.since) < cs.least {
		return nil
	}
	c.evicted = true
	c.leave()
	return c
}

// count returns how many are open.
func (cs *connections) count() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.open
}

// Connections returns how many are open, including live streams.
func (s *Server) Connections() int { return s.conns.count() }

// conn is a counted connection that may have to linger.
type conn struct {
	net.Conn
	all    *connections
	linger atomic.Bool
	once   sync.Once
	err    error

	// Guarded by all.mu.
	place   *list.Element // in all.waiting, nil while a request is handled
	since   time.Time     // it waits
	evicted bool
	left    bool // no longer counted
}

// Linger keeps the connection open for a while after its response.
func (c *conn) Linger() { c.linger.Store(true) }

// NetConn returns the underlying connection.
func (c *conn) NetConn() net.Conn { return c.Conn }

// waits adds it to those that wait for their client; all.mu is held.
func (c *conn) waits(now time.Time) {
	if c.place == nil && !c.left {
		c.place, c.since = c.all.waiting.PushBack(c), now
	}
}

// leave removes it from the count; all.mu is held.
func (c *conn) leave() {
	if c.left {
		return
	}
	c.left = true
	c.all.open--
	if c.place != nil {
		c.all.waiting.Remove(c.place)
		c.place = nil
	}
}

// connState learns from fasthttp that a connection waits for its next request.
func connState(nc net.Conn, state fasthttp.ConnState) {
	if c, ok := nc.(*conn); ok && state == fasthttp.StateIdle {
		c.all.mu.Lock()
		defer c.all.mu.Unlock()
		c.waits(time.Now())
	}
}

// handled says that the connection's request is complete: the connection stays open until it is
// answered. It returns false if the connection was closed to make room.
func handled(nc net.Conn) bool {
	c, ok := nc.(*conn)
	if !ok {
		return true
	}
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	if c.place != nil {
		c.all.waiting.Remove(c.place)
		c.place = nil
	}
	return !c.evicted
}

// Close delays if the client may still be sending a refused body, until it has had time to read the
// response: data arriving at a closed socket resets the connection, and the response is lost.
func (c *conn) Close() error {
	c.once.Do(func() {
		if c.linger.Load() {
			if half, ok := c.Conn.(interface{ CloseWrite() error }); !ok || half.CloseWrite() == nil {
				wire.Drain(c.Conn, math.MaxInt)
			}
		}
		c.err = c.Conn.Close()
		c.all.mu.Lock()
		defer c.all.mu.Unlock()
		c.leave()
	})
	return c.err
}

// listener can be closed more than once; its connections are counted.
type listener struct {
	net.Listener
	server *Server
	once   sync.Once
	err    error
	failed time.Time // when a failure was logged last
}

// acceptPause is the first and the longest pause after a failed accept.
const (
	acceptPause     = 5 * time.Millisecond
	acceptPauseMost = time.Second
)

// Accept returns the next connection that there is room for. Failures such as a lack of descriptors
// are temporary: only Close ends it.
func (l *listener) Accept() (net.Conn, error) {
	pause := acceptPause
	for {
		nc, err := l.Listener.Accept()
		switch {
		case err == nil:
			if c := l.admit(nc); c != nil {
				return c, nil
			}
			continue
		case errors.Is(err, net.ErrClosed) || l.server.closing.Err() != nil:
			return nil, net.ErrClosed // the error does not matter once it is closed
		}
		l.server.acceptFailed(l, err)
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-l.server.closing.Done():
			wait.Stop()
			return nil, net.ErrClosed
		}
		pause = min(2*pause, acceptPauseMost)
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { l.err = l.Listener.Close() })
	return l.err
}

// admit counts a connection, or refuses it and gives nil.
func (l *listener) admit(nc net.Conn) *conn {
	s := l.server
	c := &conn{Conn: nc, all: &s.conns}
	gone, ok := s.conns.admit(c)
	if gone != nil {
		s.metrics.evicted.Inc()
		_ = gone.Conn.Close() // its worker notices
	}
	if !ok {
		s.metrics.refused.Inc()
		s.refuse(nc)
		return nil
	}
	return c
}

// acceptFailed closes a connection when descriptors are short, and logs that once a minute.
func (s *Server) acceptFailed(l *listener, err error) {
	s.metrics.unaccepted.Inc()
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		s.conns.starved.Store(time.Now().UnixNano())
	}
	s.conns.mu.Lock()
	gone := s.conns.longest()
	s.conns.mu.Unlock()
	if gone != nil {
		s.metrics.evicted.Inc()
		_ = gone.Conn.Close()
	}
	if time.Since(l.failed) >= time.Minute {
		l.failed = time.Now()
		s.Log.Error().Err(err).Int("connections", s.conns.count()).Msg("the API cannot accept connections; it keeps trying")
	}
}

// refuse answers a connection for which there is no room.
func (s *Server) refuse(nc net.Conn) {
	status, body := wire.ProblemBody(errTooManyConnections, "", wire.RequestID(nil))
	answer := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nRetry-After: %s\r\nCache-Control: "+
		"no-store\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		status, nethttp.StatusText(status), wire.ContentProblem, wire.RetryAfter(errTooManyConnections.RetryAfter),
		len(body), body)
	_ = nc.SetDeadline(time.Now().Add(time.Second))
	if s.conns.lingering.Add(1) > lingerCap {
		s.conns.lingering.Add(-1)
		_, _ = nc.Write(answer) // a few hundred bytes fit into a new socket's buffer
		_ = nc.Close()
		return
	}
	go func() {
		defer s.conns.lingering.Add(-1)
		if _, err := nc.Write(answer); err == nil {
			if half, ok := nc.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
				wire.Drain(nc, 64<<10)
			}
		}
		_ = nc.Close()
	}()
}
