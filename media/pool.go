package media

import (
	"net"
	"net/netip"

	"dialler/engine"
)

// pool opens additional RTP sockets; guarded by Engine.mu.
type pool struct {
	bind  netip.Addr
	ports *portRange
	// full means that the range, or the process, has no more ports; logged once.
	full  bool
	again int64 // when to try next
	turn  int   // where the search for a socket starts
}

// poolPause is the pause after an attempt that found no free port.
const poolPause = 1000 * ms

// ownNetworks returns the networks of this host.
func ownNetworks() (list []netip.Prefix) {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
			if p, err := netip.ParsePrefix(n.String()); err == nil {
				list = append(list, p.Masked())
			}
		}
	}
	return list
}

// latches says whether a call with the profile may accept another address than its SDP's; for a
// loopback address all neighbours are near.
func (e *Engine) latches(p engine.MediaProfile) bool {
	switch p.Symmetric {
	case engine.SymmetricOff:
		return false
	case engine.SymmetricOn:
		return true
	}
	return !e.pool.bind.IsLoopback()
}

// ports returns the current sockets.
func (e *Engine) ports() []*socket {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.sockets
}

// Ports says how many RTP sockets can carry new calls, and how many there are.
func (e *Engine) Ports() (usable, all int) {
	list := e.ports()
	for _, s := range list {
		if !s.broken.Load() {
			usable++
		}
	}
	return usable, len(list)
}

// choose returns the socket for a new call; mu is held. A call that may latch gets one on which no
// other call is unheard, or was recently: then a stream from elsewhere can only be its own. Among
// several it takes the socket with the fewest calls whose source is unknown, then the fewest calls.
func (e *Engine) choose(alone bool) *socket {
	now := e.now()
	best, free := e.best(alone, now)
	if free {
		return best
	}
	if s := e.grow(now); s != nil {
		return s
	}
	e.counters.crowded.Add(1)
	return best
}

// best returns the best of the sockets that there are, and whether it is free.
func (e *Engine) best(alone bool, now int64) (best *socket, free bool) {
	e.pool.turn++
	at := e.pool.turn
	for i := range e.sockets {
		if s := e.sockets[(at+i)%len(e.sockets)]; best == nil || s.before(best, alone, now) {
			best = s
		}
	}
	return best, best.free(alone, now)
}

// free says whether a new call would be the only unheard one.
func (s *socket) free(alone bool, now int64) bool {
	if alone {
		return s.waiting.Load() == 0 && s.ghosts.Load() <= now
	}
	return s.alone.Load() == 0
}

// before says whether a new call is better placed here than at o.
func (s *socket) before(o *socket, alone bool, now int64) bool {
	if a, b := s.broken.Load(), o.broken.Load(); a != b {
		return b
	}
	if a, b := s.free(alone, now), o.free(alone, now); a != b {
		return a
	}
	if a, b := s.waiting.Load(), o.waiting.Load(); a != b {
		return a < b
	}
	return s.live.Load() < o.live.Load()
}

// grow opens another socket; nil means none is available. mu is held.
func (e *Engine) grow(now int64) *socket {
	if len(e.sockets) >= e.cfg.SocketCap || now < e.pool.again || e.closed {
		return nil
	}
	if e.cfg.PortMax == 0 {
		e.pool.ports = newPortRange(0, 0)
	}
	s, err := e.newSocket(e.pool.bind, e.pool.ports, extraBatch)
	if err != nil {
		e.pool.again = now + poolPause
		if !e.pool.full {
			e.pool.full = true
			e.log.Warn().Err(err).Int("sockets", len(e.sockets)).
				Msg("no more RTP ports can be opened: calls that wait for their first audio share ports, and behind a NAT some " +
					"stay silent; widen --rtp-ports")
		}
		return nil
	}
	e.groups[len(e.sockets)%len(e.groups)].serve(s)
	e.sockets = append(e.sockets, s)
	s.start()
	return s
}

// start reads from the socket until it is closed.
func (s *socket) start() {
	s.e.tasks.Add(2)
	go s.read(s.rtp.Load())
	go s.readRTCP(s.rtcp.Load())
}
