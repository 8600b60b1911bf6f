package media

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tendEvery is how often the sockets are looked after.
const tendEvery = time.Second

// line is one UDP port of a pair.
type line struct {
	conn *net.UDPConn
	raw  syscall.RawConn
	port uint16
	left atomic.Bool // another one took its place: its reader ends
}

func newLine(conn *net.UDPConn) (*line, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &line{conn: conn, raw: raw, port: uint16(conn.LocalAddr().(*net.UDPAddr).Port)}, nil //nolint:gosec // a port
}

// widen asks for the buffers that a port of many calls needs.
func (l *line) widen() {
	_ = l.conn.SetReadBuffer(receiveBuffer)
	_ = l.conn.SetWriteBuffer(receiveBuffer)
}

// sound says whether the descriptor is still the one that was bound.
func (l *line) sound() (ok bool) {
	_ = l.raw.Control(func(fd uintptr) {
		at, err := unix.Getsockname(int(fd))
		in4, is4 := at.(*unix.SockaddrInet4)
		ok = err == nil && is4 && in4.Port == int(l.port)
	})
	return ok
}

// strays are connections whose descriptor has become somebody else's: to close
// them, or to let them be collected, would close that.
var strays struct {
	mu   sync.Mutex
	list []*line
}

// leave ends the line and its reader.
func (l *line) leave() {
	if l.left.Swap(true) {
		return
	}
	if l.sound() {
		_ = l.conn.Close()
		return
	}
	_ = l.conn.SetReadDeadline(time.Unix(1, 0)) // it waits for what never comes
	strays.mu.Lock()
	strays.list = append(strays.list, l)
	strays.mu.Unlock()
}

// tend looks after the sockets until the engine ends.
func (e *Engine) tend() {
	defer e.tasks.Done()
	every := time.NewTicker(tendEvery)
	defer every.Stop()
	for {
		select {
		case <-e.stop:
			return
		case <-every.C:
		}
		for _, s := range e.ports() {
			s.tend()
		}
	}
}

// tend replaces what is broken of the socket: the calls on it go on at the same
// ports. What cannot be bound now is tried again the next time.
func (s *socket) tend() {
	if l := s.rtp.Load(); s.broken.Load() || !l.sound() {
		s.broken.Store(true)
		if s.replace(&s.rtp, s.read, (*line).widen) {
			s.broken.Store(false)
		}
	}
	if l := s.rtcp.Load(); !l.sound() {
		s.replace(&s.rtcp, s.readRTCP, func(*line) {})
	}
}

func (s *socket) replace(at *atomic.Pointer[line], read func(*line), prepare func(*line)) bool {
	old := at.Load()
	old.leave()
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(s.bind, old.port)))
	var fresh *line
	if err == nil {
		fresh, err = newLine(conn)
	}
	if err != nil {
		s.e.log.Error().Err(err).Uint16("port", old.port).Msg("a broken RTP port cannot be replaced; its calls hear nothing, new ones take other ports")
		return false
	}
	prepare(fresh)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close()
		return false
	}
	at.Store(fresh)
	s.e.counters.replaced.Add(1)
	s.e.log.Warn().Uint16("port", old.port).Msg("a broken RTP port was replaced; its calls go on")
	s.e.tasks.Add(1)
	go read(fresh)
	return true
}
