package media

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"time"

	"dialler/bench/pace"
)

// Path is what the network does to a callee's audio on its way to the caller. The zero value is a
// network that does nothing.
type Path struct {
	// NAT lets it come from another port than the one that the SDP names; what is sent there arrives.
	NAT bool `json:"nat,omitempty"`
	// StallMS is how long nothing arrives, once in two seconds; then all of it does, in order.
	StallMS int `json:"stall_ms,omitempty"`
	// JitterMS is by how much a packet is late at most, each by another amount, in order.
	JitterMS int `json:"jitter_ms,omitempty"`
	// LossPct and ReorderPct are the shares of packets that are lost, and that the next one overtakes.
	LossPct    int `json:"loss_pct,omitempty"`
	ReorderPct int `json:"reorder_pct,omitempty"`
}

const (
	latest     = 1000 // ms
	stallEvery = 100  // frames
)

// Validate reports a value that no network has.
func (p *Path) Validate() error {
	switch {
	case p.StallMS < 0 || p.StallMS > latest || p.JitterMS < 0 || p.JitterMS > latest:
		return fmt.Errorf("path: stall_ms and jitter_ms are 0 to %d", latest)
	case p.LossPct < 0 || p.LossPct > 100 || p.ReorderPct < 0 || p.ReorderPct > 100:
		return fmt.Errorf("path: loss_pct and reorder_pct are 0 to 100")
	}
	return nil
}

// road is the path of one stream.
type road struct {
	Path
	rng    *rand.Rand
	nat    *net.UDPConn // nil: the stream's own port
	frames int
	held   [][]byte // that wait for the end of a stall, or for the next packet
	due    time.Time
}

// lead opens the path of a stream.
func (s *Stream) lead(p Path, ip netip.Addr, r *rand.Rand) error {
	if p == (Path{}) {
		return nil
	}
	s.road = &road{Path: p, rng: rand.New(rand.NewPCG(r.Uint64(), 1))} //nolint:gosec // a model's dice
	if !p.NAT {
		return nil
	}
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip, 0)))
	if err != nil {
		return err
	}
	s.road.nat = conn
	s.media.readers.Add(1)
	go func() {
		defer s.media.readers.Done()
		for buf := make([]byte, 2048); ; {
			n, from, err := conn.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			s.receive(buf[:n], netip.AddrPortFrom(from.Addr().Unmap(), from.Port()))
		}
	}()
	return nil
}

// send sends a packet along the path; the stream is locked.
func (s *Stream) send(b []byte) {
	r := s.road
	if r == nil {
		s.deliver(b)
		return
	}
	r.frames++
	stalled := r.frames%stallEvery < r.StallMS/int(pace.Frame/time.Millisecond)
	switch {
	case r.rng.IntN(100) < r.LossPct:
		s.counts.Sent++
		b = nil
	case stalled || len(r.held) == 0 && r.rng.IntN(100) < r.ReorderPct:
		r.held = append(r.held, slices.Clone(b))
		return
	}
	after := r.held
	if r.held = nil; r.StallMS > 0 { // in order
		for _, h := range after {
			s.deliver(h)
		}
		after = nil
	}
	if b != nil {
		s.later(b)
	}
	for _, h := range after {
		s.later(h)
	}
}

// later delivers a packet when its jitter is over.
func (s *Stream) later(b []byte) {
	r := s.road
	if r.JitterMS == 0 {
		s.deliver(b)
		return
	}
	at := time.Now().Add(time.Duration(r.rng.IntN(r.JitterMS+1)) * time.Millisecond)
	if at.Before(r.due) {
		at = r.due
	}
	r.due = at
	b = slices.Clone(b)
	time.AfterFunc(time.Until(at), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.closed {
			s.deliver(b)
		}
	})
}

func (s *Stream) deliver(b []byte) {
	conn := s.port.conn
	if s.road != nil && s.road.nat != nil {
		conn = s.road.nat
	}
	if _, err := conn.WriteToUDPAddrPort(b, s.remote); err == nil {
		s.counts.Sent++
	}
}
