package carrier

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

// media owns the RTP ports, their readers and the pacers.
type media struct {
	ip       netip.Addr
	on       bool
	remoteOK bool
	min, max int
	codecs   []voice.Codec
	clips    clips
	sink     *net.UDPConn // named in SDP when media is off; never read
	sinkPort uint16

	mu     sync.Mutex
	free   []*rtpPort // first in, first out: late packets hit a resting port
	all    map[*rtpPort]struct{}
	next   int // of the port range
	closed bool

	pacers  *pace.Group
	readers sync.WaitGroup
}

// pacerCount goroutines send the audio of all calls.
const pacerCount = 2

// restPort is how long a port rests after a call, so that the last packets
// of one call are not counted as cross-talk of the next.
const restPort = 500 * time.Millisecond

var errNoPort = errors.New("every RTP port of the range is taken")

// rtpPort is one even UDP port, used by one call at a time.
type rtpPort struct {
	conn   *net.UDPConn
	number uint16
	owner  atomic.Pointer[stream]
	freed  time.Time
}

func startMedia(cfg *Config, ip netip.Addr) (*media, error) {
	m := &media{
		ip: ip, on: cfg.Media, remoteOK: cfg.AllowRemote, min: cfg.RTPPortMin, max: cfg.RTPPortMax,
		all: map[*rtpPort]struct{}{}, clips: clips{seed: cfg.Seed},
	}
	for _, name := range cfg.Codecs {
		codec, _ := codecNamed(name)
		m.codecs = append(m.codecs, codec)
	}
	if !m.on {
		sink, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip, 0)))
		if err != nil {
			return nil, fmt.Errorf("carrier: %w", err)
		}
		_ = sink.SetReadBuffer(1)                                               // the kernel drops what nobody reads
		m.sink, m.sinkPort = sink, uint16(sink.LocalAddr().(*net.UDPAddr).Port) //nolint:gosec // a port
		return m, nil
	}
	m.pacers = pace.Start(pacerCount)
	return m, nil
}

func (m *media) close() {
	m.mu.Lock()
	m.closed = true
	for p := range m.all {
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

func (m *media) speaks(c voice.Codec) bool {
	for _, own := range m.codecs {
		if own == c {
			return true
		}
	}
	return false
}

// choose takes the caller's first codec that is spoken here.
func (m *media) choose(offered []voice.Codec) (voice.Codec, bool) {
	for _, c := range offered {
		if m.speaks(c) {
			return c, true
		}
	}
	return m.codecs[0], false
}

// open reserves a port and starts pacing towards the caller.
func (m *media) open(remote sdp, offerless bool, r *rand.Rand) (*stream, error) {
	port, err := m.take()
	if err != nil {
		return nil, err
	}
	codec, _ := m.choose(remote.codecs)
	s := &stream{
		media: m, port: port, codec: codec,
		ssrc: r.Uint32(), seq: uint16(r.Uint32()), ts: r.Uint32(), //nolint:gosec // random bits
	}
	if !offerless {
		s.remote, s.event, s.sending = remote.addr, remote.event, remote.listens
	}
	port.owner.Store(s)
	s.leave = m.pacers.Add(s)
	return s, nil
}

func (m *media) take() (*rtpPort, error) {
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
		if len(m.free) > 0 { // better an unrested port than none
			p := m.free[0]
			m.free = m.free[1:]
			return p, nil
		}
		return nil, err
	}
	p := &rtpPort{conn: conn, number: uint16(conn.LocalAddr().(*net.UDPAddr).Port)} //nolint:gosec // a port
	m.all[p] = struct{}{}
	m.readers.Add(1)
	go m.read(p)
	return p, nil
}

// bind finds an even port (RFC 3550 §11).
func (m *media) bind() (*net.UDPConn, error) {
	at := func(port int) (*net.UDPConn, error) {
		return net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(m.ip, uint16(port)))) //nolint:gosec // a port
	}
	if m.min > 0 {
		first := (m.min + 1) &^ 1
		count := (m.max-first)/2 + 1
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

func (m *media) put(p *rtpPort) {
	p.owner.Store(nil)
	m.mu.Lock()
	defer m.mu.Unlock()
	p.freed = time.Now()
	m.free = append(m.free, p)
}

func (m *media) read(p *rtpPort) {
	defer m.readers.Done()
	buf := make([]byte, 2048)
	for {
		n, from, err := p.conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // ECONNREFUSED of a packet that we sent
		}
		if s := p.owner.Load(); s != nil {
			s.receive(buf[:n], netip.AddrPortFrom(from.Addr().Unmap(), from.Port()))
		}
	}
}
