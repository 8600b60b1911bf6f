package media

import (
	"net/netip"
	"slices"
)

// Times in the demultiplexer are nanoseconds on the engine's monotonic clock.
const (
	millis = int64(1e6)

	// quietAfter is how long a source must have sent nothing before another
	// one at the same address, or one with the call's key, can be its
	// continuation.
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
	// doubtFor is how long after its last packet a call may be what another stream
	// of its far side belongs to.
	doubtFor = 2000 * millis
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
	named    netip.AddrPort // the address of its SDP; invalid before the answer
	remote   netip.AddrPort // where its packets come from: named, or what was latched
	latch    latch
	// alone: it may be latched, so that no other call of its socket should be
	// unheard while it is.
	alone bool

	bound   bool // ssrc is known
	ssrc    uint32
	boundAt int64
	heard   bool // a packet came
	lastAt  int64
	lastSeq uint16
	fixed   bool // the SSRC is from the SDP answer (RFC 5576)
	past    bool // ssrc and lastSeq are of the stream before the present description
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
	routeMoved          // and the call's audio goes to where the packet came from
	routeClaim          // the call's if its key has sealed it: prove follows
	dropUnknown         // belongs to no call
	dropElsewhere       // from the host of a call that hears its SDP's address alone
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
	waiting    int     // calls without a packet yet, unanswered ones included: what makes a stream ambiguous
	alone      int     // of them those that may be latched
	unheard    []*peer // of them the answered ones
	// ghosts is until when a call that ended unheard may still be sent to.
	ghosts int64
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
	d.wait(p)
}

// wait counts a call as unheard.
func (d *demux) wait(p *peer) {
	d.waiting++
	if p.alone {
		d.alone++
	}
}

// waited: it is unheard no more, or gone.
func (d *demux) waited(p *peer) {
	d.waiting--
	if p.alone {
		d.alone--
	}
	if i := slices.Index(d.unheard, p); i >= 0 {
		d.unheard = slices.Delete(d.unheard, i, i+1)
	}
}

// answer gives a call its remote address and whom else it may hear; it may be
// called again when the far side moves. collided: another live call has the same
// address.
func (d *demux) answer(p *peer, named netip.AddrPort, l *latch, ssrc uint32, hasSSRC bool) (collided bool) {
	switch {
	case !p.answered:
		p.answered = true
		d.unanswered--
		d.unheard = append(d.unheard, p)
	case p.named == named:
		p.latch.audio = l.audio
		return len(d.byAddr[named]) > 1
	default:
		// A new session description: the old source is history.
		d.unaddr(p)
		p.past = p.past || p.bound
		d.unbind(p)
		if p.heard {
			p.heard = false
			d.wait(p)
			d.unheard = append(d.unheard, p)
		}
	}
	p.named, p.remote, p.latch = named, named, *l
	others := d.byAddr[named]
	if len(others) > 0 {
		d.shared[named.Addr()] = struct{}{}
		for _, o := range others {
			// What was bound while this call was already ringing may have been
			// this call's early media.
			if o.bound && !o.fixed && o.boundAt > p.openedAt {
				d.unbind(o)
			}
		}
	}
	d.byAddr[named] = append(others, p)
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
		d.waited(p)
		d.ghosts = now + tombstoneFor
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

func (d *demux) unaddr(p *peer) {
	dropPeer(d.byAddr, p.named, p)
	if p.remote != p.named {
		dropPeer(d.byAddr, p.remote, p)
	}
}

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
func (d *demux) route(from netip.AddrPort, id packetID, now int64) (*peer, route) {
	owners := d.byAddr[from]
	for _, p := range owners {
		if p.bound && p.ssrc == id.ssrc {
			if len(owners) > 1 && d.twice(owners, id.ssrc) {
				return nil, dropAmbiguous // two calls of a far side with a constant SSRC
			}
			if p.remote != from { // latched, and the SDP's address speaks
				return d.take(p, from, id, now)
			}
			return d.accept(p, id.seq, now), routeOK
		}
	}
	if until, ok := d.tombs[source{from, id.ssrc}]; ok && now < until {
		return nil, dropStale
	}
	if len(owners) == 0 || d.claimed(owners, from, now) {
		return d.routeUnknown(owners, from, id, now)
	}
	s := d.watch(source{from, id.ssrc}, now)
	if len(owners) == 1 {
		return d.routeOwned(owners[0], from, id, s, now)
	}
	return d.routeShared(owners, from, id, s, now)
}

// claimed says whether a stream from an address whose calls all have their
// sources can be that of another call, which would be latched to it: a NAT that
// gives the calls of a far side one port.
func (d *demux) claimed(owners []*peer, from netip.AddrPort, now int64) bool {
	for _, p := range owners {
		if !p.bound || p.remote != from {
			return false
		}
	}
	for _, p := range d.unheard {
		if p.latch.allows(from.Addr(), now) && !slices.Contains(owners, p) {
			return true
		}
	}
	return false
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
		p.heard, p.past = true, false
		d.waited(p)
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
func (d *demux) routeOwned(p *peer, from netip.AddrPort, id packetID, s *stranger, now int64) (*peer, route) {
	ssrc := id.ssrc
	if p.fixed {
		return nil, dropUnknown
	}
	if !p.bound || p.remote != from {
		for k, o := range d.strangers {
			if k.addr == from && k.ssrc != ssrc && now-o.last < sharedWithin && o.count >= probation {
				d.shared[from.Addr()] = struct{}{}
			}
		}
		if d.isShared(from.Addr()) && (d.unanswered > 0 || d.elsewhere(p, ssrc)) {
			return nil, dropAmbiguous
		}
		return d.take(p, from, id, now)
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
	return d.take(p, from, id, now)
}

// routeShared: several live calls have this remote address, and none of them
// is bound to the SSRC. Elimination is the only proof: one call is without a
// source, and every other one has been heard with its own since the stranger
// began.
func (d *demux) routeShared(owners []*peer, from netip.AddrPort, id packetID, s *stranger, now int64) (*peer, route) {
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
	case only == nil || candidates > 1 || d.elsewhere(only, id.ssrc):
		return nil, dropAmbiguous
	case s.count < probation:
		return nil, dropProbation
	}
	return d.take(only, from, id, now)
}

// routeUnknown: no call is known to send this stream from there. It may be the
// one of a call that can be latched: from a host that is the far side's, in a
// row that proves it, and when no other call can be meant.
func (d *demux) routeUnknown(owners []*peer, from netip.AddrPort, id packetID, now int64) (*peer, route) {
	if same := d.bySSRC[id.ssrc]; len(same) == 1 && same[0].heard {
		if p := same[0]; p.goesOn(id.seq) && p.rebinds(from.Addr()) {
			return d.rebind(p, from, id, now)
		}
	}
	host := from.Addr()
	var only *peer
	n, sure, elsewhere := 0, false, false
	for _, p := range d.unheard {
		switch {
		case p.fixed && p.ssrc != id.ssrc:
		case p.sealed && !p.latch.off, p.latch.allows(host, now):
			if p.fixed || p.past && p.ssrc == id.ssrc && p.goesOn(id.seq) {
				sure = true
				only, n = p, 1
			} else if !sure {
				only = p
				n++
			}
		case p.latch.theirs(host):
			elsewhere = true
		}
	}
	switch {
	case n == 0 && elsewhere:
		return nil, dropElsewhere
	case n == 0:
		return nil, dropUnknown
	case n > 1 || elsewhere && !sure || d.elsewhere(only, id.ssrc):
		return nil, dropAmbiguous
	case only.sealed:
		return only, routeClaim // the key decides
	case !sure && (d.unanswered > 0 || now < d.ghosts):
		return nil, dropAmbiguous // may be the early media of another call
	}
	proven, since := only.latch.prove(from, id, now)
	if !proven {
		return nil, dropProbation
	}
	if !sure && d.doubted(only, owners, host, since, now) {
		return nil, dropAmbiguous
	}
	d.bindSource(only, from, id, now)
	return only, routeMoved
}

// goesOn: a sequence number after the last one of the call's stream.
func (p *peer) goesOn(seq uint16) bool {
	step := seq - p.lastSeq
	return step > 0 && step < continuation
}

// rebinds says whether the call's stream may come from another port of a host, as
// when a NAT has lost its binding.
func (p *peer) rebinds(host netip.Addr) bool {
	if p.sealed {
		return !p.latch.off
	}
	return p.latch.open && p.remote.Addr() == host
}

// rebind: the stream of a call goes on from elsewhere.
func (d *demux) rebind(p *peer, from netip.AddrPort, id packetID, now int64) (*peer, route) {
	if p.sealed {
		if now-p.lastAt < quietAfter {
			return nil, dropProbation
		}
		return p, routeClaim
	}
	proven, _ := p.latch.prove(from, id, now)
	if !proven || now-p.lastAt < rebindAfter {
		return nil, dropProbation
	}
	d.bindSource(p, from, id, now)
	return p, routeMoved
}

// doubted says whether a stream from a host that began at since can be that of a
// call that was heard before and may have moved without a word: one of the far
// side's that went silent then, or that has its source at the very address.
func (d *demux) doubted(only *peer, owners []*peer, host netip.Addr, since, now int64) bool {
	for p := range d.peers {
		if p == only || !p.heard || p.fixed || p.lastAt >= since+aliveAfter {
			continue
		}
		if slices.Contains(owners, p) || p.latch.theirs(host) && now-p.lastAt < doubtFor {
			return true
		}
	}
	return false
}

// take gives a call a source at its own address.
func (d *demux) take(p *peer, from netip.AddrPort, id packetID, now int64) (*peer, route) {
	if p.sealed {
		return p, routeClaim
	}
	how := routeOK
	if p.remote != from {
		how = routeMoved
	}
	d.bindSource(p, from, id, now)
	return p, how
}

// prove gives a source to the call that claimed it, once its key has shown that
// the packet is its own.
func (d *demux) prove(p *peer, from netip.AddrPort, id packetID, now int64) {
	if _, ok := d.peers[p]; ok && p.answered { // else over meanwhile
		d.bindSource(p, from, id, now)
	}
}

func (d *demux) bindSource(p *peer, from netip.AddrPort, id packetID, now int64) {
	delete(d.strangers, source{from, id.ssrc})
	if p.remote != from {
		d.moveTo(p, from)
	}
	d.bind(p, id.ssrc, now)
	d.accept(p, id.seq, now)
}

func (d *demux) moveTo(p *peer, from netip.AddrPort) {
	if p.remote != p.named {
		dropPeer(d.byAddr, p.remote, p)
	}
	if p.remote = from; from == p.named {
		return
	}
	if others := d.byAddr[from]; len(others) > 0 {
		d.shared[from.Addr()] = struct{}{}
	}
	d.byAddr[from] = append(d.byAddr[from], p)
}
