package media

import "net/netip"

// Times in the demultiplexer are nanoseconds on the engine's monotonic clock.
const (
	millis = int64(1e6)

	// quietAfter is how long a source must have sent nothing before another
	// one can be its continuation.
	quietAfter = 200 * millis
	// aliveAfter: a source that sent this long after a stranger's first packet
	// is not that stranger.
	aliveAfter = 40 * millis
	// probation is how many packets a stranger must send before it can be
	// bound by elimination.
	probation = 3
	// tombstoneFor is how long packets of an ended call are recognised.
	tombstoneFor = 2000 * millis
	// sharedWithin: two SSRCs this close at one address show that the address
	// serves several calls.
	sharedWithin = 1000 * millis
	// strangerCap bounds the sources under observation on one socket.
	strangerCap = 128
	// continuation is the widest gap in sequence numbers over which a moved
	// source is recognised (a minute at 20 ms).
	continuation = 3000
)

// source is where packets come from.
type source struct {
	addr netip.AddrPort
	ssrc uint32
}

// peer is one call as a shared socket sees it. Its fields belong to the demux
// and are guarded by the socket's lock.
type peer struct {
	call     *call
	openedAt int64
	answered bool
	remote   netip.AddrPort // where its packets come from; invalid before the answer

	bound   bool // ssrc is known
	ssrc    uint32
	boundAt int64
	heard   bool // a packet came
	lastAt  int64
	lastSeq uint16
	fixed   bool // the SSRC is from the SDP answer (RFC 5576)
	// sealed: its packets come by SRTP. A source becomes its own only by a packet
	// that its key has sealed (prove).
	sealed bool
}

// stranger is a source that no call owns (yet).
type stranger struct {
	first, last int64
	count       int
}

type route uint8

const (
	routeOK       route = iota
	routeMoved          // and the call's remote address is now the packet's
	routeClaim          // the call's if its key has sealed it: prove follows
	dropUnknown         // belongs to no call
	dropAmbiguous       // could belong to more than one
	dropStale           // of a call that ended
	dropProbation       // may become a call's, not yet proven
	routeKinds    = iota
)

// demux finds the call of a packet on a shared socket. The rules are in the
// package documentation. It is not safe for concurrent use.
type demux struct {
	peers      map[*peer]struct{}
	byAddr     map[netip.AddrPort][]*peer
	bySSRC     map[uint32][]*peer
	strangers  map[source]*stranger
	tombs      map[source]int64
	tombQueue  []source
	shared     map[netip.Addr]struct{} // addresses that serve several calls from one port
	unanswered int
	waiting    int // calls without a packet yet, unanswered ones included: what makes strangers ambiguous
}

func newDemux() *demux {
	return &demux{
		peers: map[*peer]struct{}{}, byAddr: map[netip.AddrPort][]*peer{}, bySSRC: map[uint32][]*peer{},
		strangers: map[source]*stranger{}, tombs: map[source]int64{}, shared: map[netip.Addr]struct{}{},
	}
}

// open adds a call whose remote address is not known yet.
func (d *demux) open(p *peer, now int64) {
	p.openedAt = now
	d.peers[p] = struct{}{}
	d.unanswered++
	d.waiting++
}

// answer gives a call its remote address; it may be called again when the far
// side moves. collided: another live call has the same one.
func (d *demux) answer(p *peer, remote netip.AddrPort, ssrc uint32, hasSSRC bool) (collided bool) {
	if !p.answered {
		p.answered = true
		d.unanswered--
	} else if p.remote != remote {
		// A new session description: the old source is history.
		d.unaddr(p)
		d.unbind(p)
		if p.heard {
			p.heard = false
			d.waiting++
		}
	} else {
		return len(d.byAddr[remote]) > 1
	}
	p.remote = remote
	others := d.byAddr[remote]
	if len(others) > 0 {
		d.shared[remote.Addr()] = struct{}{}
		for _, o := range others {
			// What was bound while this call was already ringing may have been
			// this call's early media.
			if o.bound && !o.fixed && o.boundAt > p.openedAt {
				d.unbind(o)
			}
		}
	}
	d.byAddr[remote] = append(others, p)
	if hasSSRC {
		p.fixed = true
		d.bind(p, ssrc, 0)
	}
	return len(others) > 0
}

// remove forgets a call; its late packets are recognised for a while.
func (d *demux) remove(p *peer, now int64) {
	if _, ok := d.peers[p]; !ok {
		return
	}
	delete(d.peers, p)
	if !p.heard {
		d.waiting--
	}
	if !p.answered {
		d.unanswered--
		return
	}
	if p.bound {
		s := source{p.remote, p.ssrc}
		if _, ok := d.tombs[s]; !ok {
			d.tombQueue = append(d.tombQueue, s)
		}
		d.tombs[s] = now + tombstoneFor
	}
	for len(d.tombQueue) > 0 && d.tombs[d.tombQueue[0]] <= now {
		delete(d.tombs, d.tombQueue[0])
		d.tombQueue = d.tombQueue[1:]
	}
	d.unaddr(p)
	d.unbind(p)
}

func (d *demux) unaddr(p *peer) { dropPeer(d.byAddr, p.remote, p) }

func (d *demux) unbind(p *peer) {
	if p.bound {
		dropPeer(d.bySSRC, p.ssrc, p)
		p.bound = false
	}
	p.fixed = false
}

func (d *demux) bind(p *peer, ssrc uint32, now int64) {
	if p.bound {
		dropPeer(d.bySSRC, p.ssrc, p)
	}
	p.bound, p.ssrc, p.boundAt = true, ssrc, now
	d.bySSRC[ssrc] = append(d.bySSRC[ssrc], p)
}

func dropPeer[K comparable](m map[K][]*peer, key K, p *peer) {
	list := m[key]
	for i, o := range list {
		if o == p {
			list = append(list[:i], list[i+1:]...)
			break
		}
	}
	if len(list) == 0 {
		delete(m, key)
	} else {
		m[key] = list
	}
}

// route finds the call of an RTP packet.
func (d *demux) route(from netip.AddrPort, ssrc uint32, seq uint16, now int64) (*peer, route) {
	owners := d.byAddr[from]
	for _, p := range owners {
		if p.bound && p.ssrc == ssrc {
			if len(owners) > 1 && d.twice(owners, ssrc) {
				return nil, dropAmbiguous // two calls of a far side with a constant SSRC
			}
			return d.accept(p, seq, now), routeOK
		}
	}
	if until, ok := d.tombs[source{from, ssrc}]; ok && now < until {
		return nil, dropStale
	}
	s := d.watch(source{from, ssrc}, now)
	switch len(owners) {
	case 0:
		return d.routeUnknown(from, ssrc, seq, s, now)
	case 1:
		return d.routeOwned(owners[0], from, ssrc, seq, s, now)
	}
	return d.routeShared(owners, from, ssrc, seq, s, now)
}

// life finds the call that an RTCP packet is a life sign of; nil when that is
// not certain.
func (d *demux) life(from netip.AddrPort, ssrc uint32) *peer {
	owners := d.byAddr[from]
	if len(owners) == 1 {
		return owners[0]
	}
	for _, p := range owners {
		if p.bound && p.ssrc == ssrc && !d.twice(owners, ssrc) {
			return p
		}
	}
	return nil
}

func (d *demux) twice(owners []*peer, ssrc uint32) bool {
	n := 0
	for _, p := range owners {
		if p.bound && p.ssrc == ssrc {
			n++
		}
	}
	return n > 1
}

func (d *demux) accept(p *peer, seq uint16, now int64) *peer {
	if !p.heard {
		p.heard = true
		d.waiting--
	}
	p.lastAt, p.lastSeq = now, seq
	return p
}

// watch counts a packet of a source that no call owns.
func (d *demux) watch(src source, now int64) *stranger {
	s := d.strangers[src]
	if s == nil {
		if len(d.strangers) >= strangerCap {
			d.evict(now)
		}
		s = &stranger{first: now}
		d.strangers[src] = s
	} else if now-s.last > sharedWithin { // a new beginning
		s.first, s.count = now, 0
	}
	s.last = now
	s.count++
	return s
}

// evict makes room: silent strangers first, else any.
func (d *demux) evict(now int64) {
	for k, s := range d.strangers {
		if now-s.last > sharedWithin {
			delete(d.strangers, k)
		}
	}
	for k := range d.strangers {
		if len(d.strangers) < strangerCap {
			return
		}
		delete(d.strangers, k)
	}
}

func (d *demux) isShared(a netip.Addr) bool {
	_, ok := d.shared[a]
	return ok
}

// elsewhere: another call has this SSRC.
func (d *demux) elsewhere(p *peer, ssrc uint32) bool {
	for _, o := range d.bySSRC[ssrc] {
		if o != p {
			return true
		}
	}
	return false
}

// routeOwned: one call is known to send from this address, with another SSRC
// or none yet.
func (d *demux) routeOwned(p *peer, from netip.AddrPort, ssrc uint32, seq uint16, s *stranger, now int64) (*peer, route) {
	if p.fixed {
		return nil, dropUnknown
	}
	if !p.bound {
		for k, o := range d.strangers {
			if k.addr == from && k.ssrc != ssrc && now-o.last < sharedWithin && o.count >= probation {
				d.shared[from.Addr()] = struct{}{}
			}
		}
		if d.isShared(from.Addr()) && (d.unanswered > 0 || d.elsewhere(p, ssrc)) {
			return nil, dropAmbiguous
		}
		return d.take(p, from, ssrc, seq, now)
	}
	// The far side changed its source (a call is taken from the announcement
	// server to the phone), or the address serves another call as well.
	switch {
	case now-p.lastAt < quietAfter:
		if s.count >= probation && p.lastAt >= s.first+aliveAfter {
			d.shared[from.Addr()] = struct{}{} // both sources are alive
		}
		return nil, dropProbation
	case d.elsewhere(p, ssrc), d.isShared(from.Addr()) && d.unanswered > 0:
		return nil, dropAmbiguous
	case s.count < probation || p.lastAt >= s.first+aliveAfter:
		return nil, dropProbation
	}
	return d.take(p, from, ssrc, seq, now)
}

// routeShared: several live calls have this remote address, and none of them
// is bound to the SSRC. Elimination is the only proof: one call is without a
// source, and every other one has been heard with its own since the stranger
// began.
func (d *demux) routeShared(owners []*peer, from netip.AddrPort, ssrc uint32, seq uint16, s *stranger, now int64) (*peer, route) {
	var only *peer
	candidates := d.unanswered
	for _, p := range owners {
		switch {
		case p.fixed:
		case !p.bound:
			only = p
			candidates++
		case p.lastAt < s.first+aliveAfter:
			candidates++ // may have changed its SSRC
		}
	}
	switch {
	case only != nil && candidates > 1 && s.count < probation:
		return nil, dropProbation
	case only == nil || candidates > 1 || d.elsewhere(only, ssrc):
		return nil, dropAmbiguous
	case s.count < probation:
		return nil, dropProbation
	}
	return d.take(only, from, ssrc, seq, now)
}

// routeUnknown: no call is known to send from this address. Symmetric RTP
// lets a call's packets come from elsewhere than its SDP says (RFC 4961 in
// practice); the source is latched when exactly one call can own it.
func (d *demux) routeUnknown(from netip.AddrPort, ssrc uint32, seq uint16, s *stranger, now int64) (*peer, route) {
	// The same SSRC with sequence numbers that go on: the source moved.
	if same := d.bySSRC[ssrc]; len(same) == 1 {
		p := same[0]
		step := seq - p.lastSeq
		switch {
		case p.heard && now-p.lastAt < quietAfter:
			return nil, dropProbation
		case s.count < probation:
			return nil, dropProbation
		case !p.heard && p.fixed, p.heard && step > 0 && step < continuation:
			return d.move(p, from, ssrc, seq, now)
		}
	}
	if d.unanswered > 0 {
		return nil, dropAmbiguous // may be the early media of a ringing call
	}
	var only *peer
	candidates := 0
	for p := range d.peers {
		switch {
		case p.fixed && p.ssrc != ssrc:
		case !p.heard:
			only = p
			candidates++
		case p.lastAt < s.first+aliveAfter:
			candidates++
		}
	}
	switch {
	case candidates == 0:
		return nil, dropUnknown
	case candidates > 1 || only == nil || d.elsewhere(only, ssrc):
		return nil, dropAmbiguous
	case s.count < probation:
		return nil, dropProbation
	}
	return d.move(only, from, ssrc, seq, now)
}

func (d *demux) take(p *peer, from netip.AddrPort, ssrc uint32, seq uint16, now int64) (*peer, route) {
	if p.sealed {
		return p, routeClaim
	}
	d.bindSource(p, from, ssrc, seq, now)
	return p, routeOK
}

func (d *demux) move(p *peer, from netip.AddrPort, ssrc uint32, seq uint16, now int64) (*peer, route) {
	if p.sealed {
		return p, routeClaim
	}
	d.moveTo(p, from)
	d.bindSource(p, from, ssrc, seq, now)
	return p, routeMoved
}

// prove gives a source to the call that claimed it, once its key has shown that
// the packet is its own.
func (d *demux) prove(p *peer, from netip.AddrPort, ssrc uint32, seq uint16, now int64) {
	if _, ok := d.peers[p]; !ok || !p.answered {
		return // over meanwhile
	}
	if p.remote != from {
		d.moveTo(p, from)
	}
	d.bindSource(p, from, ssrc, seq, now)
}

func (d *demux) bindSource(p *peer, from netip.AddrPort, ssrc uint32, seq uint16, now int64) {
	delete(d.strangers, source{from, ssrc})
	d.bind(p, ssrc, now)
	d.accept(p, seq, now)
}

func (d *demux) moveTo(p *peer, from netip.AddrPort) {
	d.unaddr(p)
	p.remote = from
	d.byAddr[from] = append(d.byAddr[from], p)
}
