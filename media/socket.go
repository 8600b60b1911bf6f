package media

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"dialler/engine"
	"dialler/media/datagram"
	"dialler/media/demux"
	"dialler/media/sdp"

	"github.com/pion/rtp"
)

// socket is one shared UDP port pair: RTP on the even port, RTCP on the odd
// one (RFC 3550 §11).
type socket struct {
	e    *Engine
	pool *pool
	port uint16
	// rtp and rtcp are replaced when they break (replace.go).
	rtp, rtcp atomic.Pointer[line]

	mu     sync.Mutex
	demux  *demux.Table
	closed bool

	// calls are the answered calls, for the pacer; replaced on every change.
	calls atomic.Pointer[[]*call]
	// waiting, alone, ghosts and live guide the choice of a socket for a new call
	// (pool.go).
	waiting atomic.Int32
	alone   atomic.Int32
	ghosts  atomic.Int64
	live    atomic.Int32
	// batch is how many datagrams the reader takes at once.
	batch int
	group *group // its pacer serves this socket
	// broken means the socket cannot be read; new calls use another one.
	broken atomic.Bool
}

// group is a set of sockets whose calls one pacer serves with a frame every 20 ms.
type group struct {
	e       *Engine
	pacer   pacer
	sockets atomic.Pointer[[]*socket] // replaced when one is added
}

// tick says whether there was any call to serve.
func (g *group) tick(w *datagram.Writer) (served bool) {
	now, limboOver := g.e.now(), g.e.limboOver()
	for _, s := range *g.sockets.Load() {
		list := s.calls.Load()
		if list == nil || len(*list) == 0 {
			continue
		}
		served = true
		for _, c := range *list {
			if limboOver && c.ended() {
				continue
			}
			c.tick(w, now)
			if w.Full() {
				s.flush(w)
			}
		}
		s.flush(w)
	}
	return served
}

// serve adds a socket.
func (g *group) serve(s *socket) {
	var list []*socket
	if old := g.sockets.Load(); old != nil {
		list = slices.Clone(*old)
	}
	list = append(list, s)
	s.group = g
	g.sockets.Store(&list)
}

// flush sends the datagrams collected for the socket.
func (s *socket) flush(w *datagram.Writer) {
	if w.N == 0 {
		return
	}
	sent, failed := w.Flush(s.rtp.Load().raw)
	s.e.counters.sent.Add(uint64(sent))         //nolint:gosec // not negative
	s.e.counters.sendErrors.Add(uint64(failed)) //nolint:gosec // not negative
}

// listenUDP binds a port of the address's family alone.
func (e *Engine) listenUDP(ip netip.Addr, port uint16) (*net.UDPConn, error) {
	network := "udp4"
	if ip.Is6() {
		network = "udp6"
	}
	bind := net.ListenConfig{Control: e.cfg.Control}
	conn, err := bind.ListenPacket(context.Background(), network, netip.AddrPortFrom(ip, port).String())
	if err != nil {
		return nil, err
	}
	return conn.(*net.UDPConn), nil
}

// bindPair binds an even port and the odd one above it.
func (e *Engine) bindPair(ip netip.Addr, ports *portRange) (rtpConn, rtcpConn *net.UDPConn, err error) {
	for port, ok := ports.next(); ok; port, ok = ports.next() {
		var a, b *net.UDPConn
		if a, err = e.listenUDP(ip, port); err != nil {
			if errors.Is(err, syscall.EADDRINUSE) {
				continue
			}
			return nil, nil, err
		}
		number := uint16(a.LocalAddr().(*net.UDPAddr).Port) //nolint:gosec // a port
		if number%2 == 0 {
			if b, err = e.listenUDP(ip, number+1); err == nil {
				return a, b, nil
			}
		}
		_ = a.Close()
	}
	if err == nil {
		err = errors.New("no even port is free")
	}
	return nil, nil, err
}

// portRange returns the even ports of a range once each, or 0 (any port) a number of times.
type portRange struct{ at, end, tries int }

func newPortRange(first, last int) *portRange {
	return &portRange{at: (first + 1) &^ 1, end: last, tries: 1000}
}

func (r *portRange) next() (uint16, bool) {
	if r.end == 0 {
		r.tries--
		return 0, r.tries >= 0
	}
	port := r.at
	r.at += 2
	return uint16(port), port+1 <= r.end //nolint:gosec // checked by New
}

// newSocket opens a socket of the pool, which it does not join yet.
func (e *Engine) newSocket(p *pool, batch int) (*socket, error) {
	a, b, err := e.bindPair(p.bind, p.ports)
	if err != nil {
		return nil, fmt.Errorf("media: RTP port: %w", err)
	}
	rtpLine, err := newLine(a)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	rtcpLine, err := newLine(b)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	rtpLine.widen()
	s := &socket{e: e, pool: p, demux: demux.New(), port: rtpLine.port, batch: batch}
	s.rtp.Store(rtpLine)
	s.rtcp.Store(rtcpLine)
	return s, nil
}

func (s *socket) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.rtp.Load().leave()
	s.rtcp.Load().leave()
}

// publish refreshes the values that others read without the lock; the lock is held.
func (s *socket) publish() {
	s.waiting.Store(int32(s.demux.Waiting)) //nolint:gosec // small
	s.alone.Store(int32(s.demux.Alone))     //nolint:gosec // small
	s.live.Store(int32(len(s.demux.Peers))) //nolint:gosec // small
	s.ghosts.Store(s.demux.Ghosts)
}

func (s *socket) open(c *call, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.demux.Open(&c.peer, now)
	s.publish()
}

// early makes the call heard from an address before its answer; an invalid one ends that.
func (s *socket) early(c *call, named netip.AddrPort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.demux.Early(&c.peer, named)
}

// answer registers the call under its remote address and the other sources it may accept.
func (s *socket) answer(c *call, a *sdp.Answer) {
	l := c.latching(a)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.demux.Peers[&c.peer]; !ok {
		return // closed meanwhile
	}
	first := !c.peer.Answered
	c.peer.Sealed = a.Secure
	if s.demux.Answer(&c.peer, a.Remote, &l, a.SSRC, a.HasSSRC) {
		s.e.counters.collisions.Add(1)
	}
	s.publish()
	if first {
		s.list(func(l []*call) []*call { return append(l, c) })
		s.group.pacer.called()
	}
}

// remove ends a call's part of the socket and adds to its figures where it was heard from.
func (s *socket) remove(c *call, now int64, q *engine.MediaQuality) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &c.peer
	answered := p.Answered
	if p.Remote != p.Named {
		q.HeardFrom = p.Remote.String()
	}
	q.DroppedElsewhere, q.DroppedAmbiguous = p.Elsewhere, p.Ambiguous
	s.demux.Remove(p, now)
	s.publish()
	if answered {
		s.list(func(l []*call) []*call { return slices.DeleteFunc(l, func(o *call) bool { return o == c }) })
	}
}

// list replaces the pacer's list of calls; the lock is held.
func (s *socket) list(change func([]*call) []*call) {
	var old []*call
	if p := s.calls.Load(); p != nil {
		old = *p
	}
	l := change(slices.Clone(old))
	s.calls.Store(&l)
}

// arrival is a datagram of a batch that belongs to a call.
type arrival struct {
	call  *call
	moved bool
	claim bool // belongs to the call if its key has sealed it
	early bool // before the answer
}

// read is the RTP reader loop.
func (s *socket) read(from *line) {
	defer s.e.tasks.Done()
	r, err := datagram.NewReader(from.conn, s.batch)
	if err != nil {
		s.e.log.Error().Err(err).Uint16("port", s.port).Msg("RTP socket cannot be read")
		return
	}
	w := datagram.NewWriter(s.batch)
	var arrivals [datagram.BatchSize]arrival
	failures := 0 // in a row
	var pkt rtp.Packet
	take := func(n int) (enough bool) {
		if failures > 0 {
			failures = 0
			s.broken.Store(false)
		}
		now := s.e.now()
		s.mu.Lock()
		for i := range n {
			arrivals[i] = s.find(r, i, now)
		}
		s.publish()
		s.mu.Unlock()
		for i := range n {
			a := arrivals[i]
			if a.call == nil {
				continue
			}
			b, source := r.Datagram(i)
			switch {
			case isRTCP(b):
				a.call.report(b, netip.AddrPort{}, now)
				continue
			case a.early:
				a.call.hearEarly(b, &pkt)
				continue
			}
			var id demux.ID
			if a.claim {
				id = demux.ReadID(b)
			}
			if a.call.receive(b, &pkt, source, a.moved, w, now) && a.claim {
				s.prove(a.call, source, id, now)
			}
			if w.Full() {
				s.flush(w)
			}
		}
		s.flush(w)
		clear(arrivals[:n])
		// A short wait lets the next system call return more datagrams.
		if s.e.cfg.ReadPause > 0 && n < s.batch && s.live.Load() >= busySocket {
			time.Sleep(s.e.cfg.ReadPause)
			return true
		}
		return false
	}
	for {
		err := r.Read(take)
		if err == nil {
			continue
		}
		if from.left.Load() || errors.Is(err, net.ErrClosed) {
			return
		}
		s.e.counters.readErrors.Add(1)
		if failures++; failures >= brokenAfter { // it will not recover by itself, and must not burn CPU
			s.broken.Store(true)
			time.Sleep(brokenPause)
		}
	}
}

// A socket whose reads fail this many times in a row is broken; it is retried after each pause
// until it is replaced.
const (
	brokenAfter = 10
	brokenPause = 50 * time.Millisecond
)

// busySocket is the number of calls from which on a reader waits to batch datagrams.
const busySocket = 4

// find returns the call of the i-th datagram; the lock is held.
func (s *socket) find(r *datagram.Reader, i int, now int64) arrival {
	b, from := r.Datagram(i)
	if len(b) < 8 || b[0]>>6 != 2 { // RTP and RTCP are version 2
		s.e.counters.malformed.Add(1)
		return arrival{}
	}
	if isRTCP(b) {
		if p := s.demux.Life(from, binary.BigEndian.Uint32(b[4:])); p != nil {
			s.e.counters.rtcp.Add(1)
			return arrival{call: p.Owner.(*call)}
		}
		return arrival{}
	}
	if len(b) < rtpHeaderBytes {
		s.e.counters.malformed.Add(1)
		return arrival{}
	}
	id := demux.ReadID(b)
	p, how := s.demux.Route(from, id, now)
	if p == nil {
		s.e.counters.dropped[how].Add(1)
		return arrival{}
	}
	if how == demux.RouteEarly {
		return arrival{call: p.Owner.(*call), early: true}
	}
	if how == demux.RouteClaim {
		return arrival{call: p.Owner.(*call), claim: true, moved: p.Remote != from}
	}
	if how == demux.RouteMoved && from != p.Named {
		s.e.counters.latched.Add(1)
	}
	return arrival{call: p.Owner.(*call), moved: how == demux.RouteMoved}
}

// prove assigns a source to the call whose key has sealed its packet.
func (s *socket) prove(c *call, from netip.AddrPort, id demux.ID, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := c.peer.Remote; before != from && from != c.peer.Named {
		s.e.counters.latched.Add(1)
	}
	s.demux.Prove(&c.peer, from, id, now)
	s.publish()
}

// isRTCP distinguishes RTCP from RTP on one port (RFC 5761 §4).
func isRTCP(b []byte) bool { return len(b) >= 8 && b[1] >= 192 && b[1] <= 223 }

// readRTCP counts reports as signs of life. The far side sends them from the port above its RTP
// port, unless a NAT has chosen another.
func (s *socket) readRTCP(l *line) {
	defer s.e.tasks.Done()
	var buf [datagram.Cap]byte
	for {
		n, from, err := l.conn.ReadFromUDPAddrPort(buf[:])
		if err != nil {
			if l.left.Load() || errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		b := buf[:n]
		if !isRTCP(b) || b[0]>>6 != 2 || from.Port() == 0 {
			continue
		}
		from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		s.mu.Lock()
		p := s.demux.Life(netip.AddrPortFrom(from.Addr(), from.Port()-1), binary.BigEndian.Uint32(b[4:]))
		s.mu.Unlock()
		if p != nil {
			s.e.counters.rtcp.Add(1)
			p.Owner.(*call).report(b, from, s.e.now())
		}
	}
}
