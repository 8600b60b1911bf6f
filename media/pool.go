package media

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"

	"dialler/engine"
	"dialler/media/datagram"
	"dialler/media/demux"
	"dialler/media/sdp"
)

// pool has the RTP sockets of one address, and opens additional ones; guarded by Engine.mu.
type pool struct {
	host    atomic.Pointer[string] // what SDP names
	bind    netip.Addr             // of the same family
	ports   *portRange
	sockets []*socket
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
		if n, ok := a.(*net.IPNet); ok {
			if p, err := netip.ParsePrefix(n.String()); err == nil {
				list = append(list, p.Masked())
			}
		}
	}
	return list
}

// errNoFamily says that this host has no address of the family that a trunk wants.
func errNoFamily(family string) error {
	name := map[string]string{engine.IPv4: "IPv4", engine.IPv6: "IPv6"}[family]
	return fmt.Errorf("media: the trunk's media.family is %s, and there is no %s address for audio; "+
		"give one with --rtp-host", family, name)
}

// poolFor returns the pool whose address has the family that a trunk wants: the one that it
// demands, or that of its address where there is one, or the first.
func (e *Engine) poolFor(p engine.MediaProfile) (*pool, error) {
	six := func(o *pool) bool { return o.bind.Is6() }
	switch p.Family {
	case engine.IPv4, engine.IPv6:
		i := slices.IndexFunc(e.pools, func(o *pool) bool { return six(o) == (p.Family == engine.IPv6) })
		if i < 0 {
			return nil, errNoFamily(p.Family)
		}
		return e.pools[i], nil
	}
	if a, err := netip.ParseAddr(p.Reached); err == nil {
		if i := slices.IndexFunc(e.pools, func(o *pool) bool { return six(o) == a.Unmap().Is6() }); i >= 0 {
			return e.pools[i], nil
		}
	}
	return e.pools[0], nil
}

// errFamily says that a description names an address of the other family than ours.
var errFamily = errors.New("the SDP answer names an address of the other family than the offer, IPv4 or IPv6; " +
	"set the trunk's media.family")

// fits says whether audio can be sent from the socket to where a description wants it.
func (s *socket) fits(a *sdp.Answer) error {
	if to := a.Remote.Addr(); to.Is6() != s.pool.bind.Is6() && !to.IsUnspecified() {
		return errFamily
	}
	return nil
}

// latches says whether a call with the profile may accept another address than its SDP's; for a
// loopback address all neighbours are near.
func (o *pool) latches(p engine.MediaProfile) bool {
	switch p.Symmetric {
	case engine.SymmetricOff:
		return false
	case engine.SymmetricOn:
		return true
	}
	return !o.bind.IsLoopback()
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

// choose returns the socket of the pool for a new call; mu is held. A call that may latch gets one on which no
// other call is unheard, or was recently: then a stream from elsewhere can only be its own. Among
// several it takes the socket with the fewest calls whose source is unknown, then the fewest calls.
func (e *Engine) choose(p *pool, alone bool) *socket {
	now := e.now()
	best, free := p.best(alone, now)
	if free {
		return best
	}
	if s := e.grow(p, now); s != nil {
		return s
	}
	e.counters.crowded.Add(1)
	return best
}

// best returns the best of the sockets that there are, and whether it is free.
func (o *pool) best(alone bool, now int64) (best *socket, free bool) {
	o.turn++
	at := o.turn
	for i := range o.sockets {
		if s := o.sockets[(at+i)%len(o.sockets)]; best == nil || s.before(best, alone, now) {
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

// grow opens another socket of the pool; nil means none is available. mu is held.
func (e *Engine) grow(p *pool, now int64) *socket {
	if len(e.sockets) >= e.cfg.SocketCap || now < p.again || e.closed {
		return nil
	}
	if e.cfg.PortMax == 0 {
		p.ports = newPortRange(0, 0)
	}
	s, err := e.newSocket(p, extraBatch)
	if err != nil {
		p.again = now + poolPause
		if !p.full {
			p.full = true
			e.log.Warn().Err(err).Int("sockets", len(e.sockets)).
				Msg("no more RTP ports can be opened: calls that wait for their first audio share ports, and behind a NAT some " +
					"stay silent; widen --rtp-ports")
		}
		return nil
	}
	e.groups[len(e.sockets)%len(e.groups)].serve(s)
	p.sockets = append(p.sockets, s)
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

// poolsOf checks the addresses of a configuration.
func poolsOf(cfg *Config) (list []*pool, err error) {
	host, err := addressOf("host", cfg.Host)
	if err != nil {
		return nil, err
	}
	bind, err := addressOf("bind address", cfg.Bind)
	if err != nil {
		return nil, err
	}
	if host.Is6() != bind.Is6() {
		return nil, fmt.Errorf("media: %s and %s are not of one family", host, bind)
	}
	ports := func() *portRange { return newPortRange(cfg.PortMin, cfg.PortMax) }
	list = []*pool{newPool(host, bind, ports())}
	if cfg.Second == "" {
		return list, nil
	}
	second, err := addressOf("host", cfg.Second)
	if err != nil {
		return nil, err
	}
	if second.Is6() == host.Is6() {
		return nil, fmt.Errorf("media: %s and %s are of the same family; one address of each can be given", host, second)
	}
	return append(list, newPool(second, second, ports())), nil
}

func newPool(host, bind netip.Addr, ports *portRange) *pool {
	p := &pool{bind: bind, ports: ports}
	p.name(host)
	return p
}

func (o *pool) name(host netip.Addr) {
	text := host.String()
	o.host.Store(&text)
}

// SetHost has the offers of calls that are opened from now on name another address of ours, in place of
// Config.Host or Config.Second, whichever is of its family. Calls that are open keep theirs.
func (e *Engine) SetHost(host netip.Addr) {
	for _, p := range e.pools {
		if p.bind.Is6() == host.Is6() {
			p.name(host)
		}
	}
}

func addressOf(what, text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	if err != nil || a.Is4In6() || a.Zone() != "" {
		return a, fmt.Errorf("media: %s %q is not an IPv4 or IPv6 address", what, text)
	}
	return a, nil
}

// fill opens the first sockets of a pool. If the range is smaller than requested, those that fit are
// used.
func (e *Engine) fill(p *pool) error {
	for range e.cfg.Sockets {
		s, err := e.newSocket(p, datagram.BatchSize)
		if err != nil && e.cfg.PortMax != 0 && len(p.sockets) > 0 {
			e.log.Warn().Int("sockets", len(p.sockets)).Int("wanted", e.cfg.Sockets).
				Msg("the RTP port range has too few free even ports")
			return nil
		}
		if err != nil {
			return err
		}
		p.sockets = append(p.sockets, s)
		e.sockets = append(e.sockets, s)
	}
	return nil
}

// rehome moves a call that is not answered yet to a pool, for a trunk of the other family; mu is
// held.
func (e *Engine) rehome(c *call, p *pool, profile engine.MediaProfile) {
	c.mu.Lock()
	keep := c.answered || c.closed
	c.mu.Unlock()
	if keep {
		return
	}
	now, alone := e.now(), p.latches(profile)
	old, sock := c.sock, e.choose(p, alone)
	old.mu.Lock()
	old.demux.Remove(&c.peer, now)
	old.publish()
	c.peer = demux.Peer{Owner: c, Alone: alone}
	old.mu.Unlock()
	c.mu.Lock()
	c.sock, c.described = sock, describe(*p.host.Load(), sock.port)
	c.mu.Unlock()
	sock.open(c, now)
}
