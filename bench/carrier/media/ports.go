package media

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"dialler/bench/pace"
	"dialler/bench/voice"
)

// Config defines the capabilities of the callees' media.
type Config struct {
	IP     netip.Addr
	On     bool // if false, descriptions name a port that is never read
	Remote bool // addresses other than loopback may get packets
	// Min and Max bound the ports; 0 leaves them to the system.
	Min, Max int
	Codecs   []voice.Codec // at least one, preferred first
}

// Ports owns the RTP ports, their readers and the pacers.
type Ports struct {
	cfg      Config
	sink     *net.UDPConn // named in SDP when media is off; never read
	sinkPort uint16

	mu     sync.Mutex
	free   []*rtpPort // first in, first out: late packets hit a resting port
	ports  map[*rtpPort]struct{}
	next   int // in the port range
	closed bool

	pacers  *pace.Group
	readers sync.WaitGroup
}

// pacerCount goroutines send the audio of all calls.
const pacerCount = 2

// restPort is how long a port rests after a call, so that a call's last packets do not count as
// cross-talk in the next.
const restPort = 500 * time.Millisecond

var errNoPort = errors.New("every RTP port of the range is taken")

// rtpPort is one even UDP port, used by one call at a time.
type rtpPort struct {
	conn   *net.UDPConn
	number uint16
	owner  atomic.Pointer[Stream]
	freed  time.Time
}

func Start(cfg Config) (*Ports, error) {
	m := &Ports{cfg: cfg, ports: map[*rtpPort]struct{}{}}
	if !cfg.On {
		sink, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(cfg.IP, 0)))
		if err != nil {
			return nil, fmt.Errorf("carrier: %w", err)
		}
		_ = sink.SetReadBuffer(1)                                               // the kernel drops what is not read
		m.sink, m.sinkPort = sink, uint16(sink.LocalAddr().(*net.UDPAddr).Port) //nolint:gosec // a port
		return m, nil
	}
	m.pacers = pace.Start(pacerCount)
	return m, nil
}

func (m *Ports) Close() {
	m.mu.Lock()
	m.closed = true
	for p := range m.ports {
		_ = p.conn.Close()
	}
	m.mu.Unlock()
	if m.sink != nil {
		_ = m.sink.Close()
	}
	if m.pacers != nil {
		m.pacers.Close()
	}
	m.readers.Wait()
}

func (m *Ports) Speaks(c voice.Codec) bool {
	for _, own := range m.cfg.Codecs {
		if own == c {
			return true
		}
	}
	return false
}

// Choose returns the caller's first codec that is supported here.
func (m *Ports) Choose(offered []voice.Codec) (voice.Codec, bool) {
	for _, c := range offered {
		if m.Speaks(c) {
			return c, true
		}
	}
	return m.cfg.Codecs[0], false
}

// Open reserves a port and starts sending to the caller, along a path.
func (m *Ports) Open(remote Description, offerless bool, path Path, r *rand.Rand) (*Stream, error) {
	port, err := m.take()
	if err != nil {
		return nil, err
	}
	codec, _ := m.Choose(remote.Codecs)
	s := &Stream{
		media: m, port: port, Codec: codec,
		ssrc: r.Uint32(), seq: uint16(r.Uint32()), ts: r.Uint32(), //nolint:gosec // random bits
	}
	if !offerless {
		s.remote, s.event, s.sending = remote.Addr, remote.Event, remote.Listens
	}
	if err := s.lead(path, m.cfg.IP, r); err != nil {
		m.put(port)
		return nil, err
	}
	port.owner.Store(s)
	s.leave = m.pacers.Add(s)
	return s, nil
}

// Codecs returns the supported codecs, preferred first.
func (m *Ports) Codecs() []voice.Codec { return m.cfg.Codecs }

// PortOf returns the port that a description names: the stream's, or without one the port that is
// never read.
func (m *Ports) PortOf(s *Stream) uint16 {
	if s == nil {
		return m.sinkPort
	}
	return s.port.number
}

func (m *Ports) take() (*rtpPort, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, net.ErrClosed
	}
	if len(m.free) > 0 && time.Since(m.free[0].freed) > restPort {
		p := m.free[0]
		m.free = m.free[1:]
		return p, nil
	}
	conn, err := m.bind()
	if err != nil {
		if len(m.free) > 0 { // an unrested port is better than none
			p := m.free[0]
			m.free = m.free[1:]
			return p, nil
		}
		return nil, err
	}
	p := &rtpPort{conn: conn, number: uint16(conn.LocalAddr().(*net.UDPAddr).Port)} //nolint:gosec // a port
	m.ports[p] = struct{}{}
	m.readers.Add(1)
	go m.read(p)
	return p, nil
}

// bind finds an even port (RFC 3550 §11).
func (m *Ports) bind() (*net.UDPConn, error) {
	at := func(port int) (*net.UDPConn, error) {
		addr := netip.AddrPortFrom(m.cfg.IP, uint16(port)) //nolint:gosec // a port
		return net.ListenUDP("udp", net.UDPAddrFromAddrPort(addr))
	}
	if m.cfg.Min > 0 {
		first := (m.cfg.Min + 1) &^ 1
		count := (m.cfg.Max-first)/2 + 1
		for range max(0, count) {
			port := first + m.next%count*2
			m.next++
			conn, err := at(port)
			if err == nil {
				return conn, nil
			}
			if !errors.Is(err, syscall.EADDRINUSE) {
				return nil, err
			}
		}
		return nil, errNoPort
	}
	for range 50 {
		conn, err := at(0)
		if err != nil {
			return nil, err
		}
		if conn.LocalAddr().(*net.UDPAddr).Port%2 == 0 {
			return conn, nil
		}
		_ = conn.Close()
	}
	return nil, errNoPort
}

func (m *Ports) put(p *rtpPort) {
	p.owner.Store(nil)
	m.mu.Lock()
	defer m.mu.Unlock()
	p.freed = time.Now()
	m.free = append(m.free, p)
}

func (m *Ports) read(p *rtpPort) {
	defer m.readers.Done()
	buf := make([]byte, 2048)
	for {
		n, from, err := p.conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // ECONNREFUSED for a packet that we sent
		}
		if s := p.owner.Load(); s != nil {
			s.receive(buf[:n], netip.AddrPortFrom(from.Addr().Unmap(), from.Port()))
		}
	}
}
