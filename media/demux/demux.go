package demux

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// Times in the demultiplexer are nanoseconds on the engine's monotonic clock.
const (
	millis = int64(1e6)

	// quietAfter is how long a source must have been silent before another one at the same address,
	// or one with the call's key, can be its continuation.
	quietAfter = 200 * millis
	// aliveAfter is the time after which a packet of a source proves that it is not the stranger:
	// it was sent that long after the stranger's first packet.
	aliveAfter = 40 * millis
	// probation is how many packets a stranger must send before it can be
	// bound by elimination.
	probation = 3
	// tombstoneFor is how long packets of an ended call are recognised.
	tombstoneFor = 2000 * millis
	// sharedWithin is the time within which two SSRCs at one address show that the address serves
	// several calls.
	sharedWithin = 1000 * millis
	// strangerCap bounds the sources under observation on one socket.
	strangerCap = 128
	// doubtFor is how long after its last packet a call may still own another stream of its far
	// side.
	doubtFor = 2000 * millis
	// continuation is the widest gap in sequence numbers across which a moved source is recognised
	// (a minute at 20 ms).
	continuation = 3000
)

// source is the origin of packets.
type source struct {
	addr netip.AddrPort
	ssrc uint32
}

// ID is the part of an RTP packet that identifies its stream.
type ID struct {
	SSRC uint32
	ts   uint32
	seq  uint16
	pt   uint8
	size int // of the payload
}

// ReadID reads the ID before the packet is decrypted in place.
func ReadID(b []byte) ID {
	size := len(b) - 12 - 4*int(b[0]&0x0F)
	if b[0]&0x10 != 0 { // an extension (RFC 3550 §5.3.1)
		if size < 4 {
			size = 0
		} else {
			at := len(b) - size
			size -= 4 + 4*int(binary.BigEndian.Uint16(b[at+2:]))
		}
	}
	if b[0]&0x20 != 0 { // padding
		size -= int(b[len(b)-1])
	}
	return ID{
		SSRC: binary.BigEndian.Uint32(b[8:]), ts: binary.BigEndian.Uint32(b[4:]), seq: binary.BigEndian.Uint16(b[2:]),
		pt: b[1] & 0x7F, size: max(size, 0),
	}
}

// Peer is one call as a shared socket sees it. Its fields belong to the demultiplexer and are
// guarded by the socket's lock.
type Peer struct {
	Owner    any // the owner of its packets
	openedAt int64
	Answered bool
	Named    netip.AddrPort // the address of its SDP; invalid before the answer
	Remote   netip.AddrPort // the source of its packets: Named, or latched
	early    netip.AddrPort // of a provisional response's SDP, before the answer; invalid: not heard
	latch    Latch
	// Alone means that the call may latch, so no other call on its socket should be unheard at the
	// same time.
	Alone bool

	bound   bool // ssrc is known
	SSRC    uint32
	boundAt int64
	heard   bool // a packet came
	lastAt  int64
	lastSeq uint16
	fixed   bool // the SSRC is from the SDP answer (RFC 5576)
	past    bool // ssrc and lastSeq belong to the stream before the current description
	// Elsewhere and Ambiguous count packets of hosts of its far side that came while it was unheard
	// and that nobody heard: of an address that it may not accept, and of one that may have been
	// another call's.
	Elsewhere, Ambiguous uint64
	// Sealed means that its packets come by SRTP. A source becomes its own only by a packet that
	// its key has sealed (prove).
	Sealed bool
}

// stranger is a source that no call owns yet.
type stranger struct {
	first, last int64
	count       int
}

type route uint8

const (
	routeOK       route = iota
	RouteMoved          // and the call's audio now goes to the packet's source
	RouteClaim          // belongs to the call if its key has sealed it: prove follows
	RouteEarly          // before the answer, from the address that the call's SDP named
	DropUnknown         // belongs to no call
	DropElsewhere       // from the host of a call that accepts only its SDP's address
	DropAmbiguous       // may belong to more than one
	DropStale           // of an ended call
	DropProbation       // may be a call's, but is not proven yet
	RouteKinds    = iota
)

// Table finds the call of a packet on a shared socket, by the rules in the package documentation.
// It is not safe for concurrent use.
type Table struct {
	Peers      map[*Peer]struct{}
	byAddr     map[netip.AddrPort][]*Peer
	bySSRC     map[uint32][]*Peer
	byEarly    map[netip.AddrPort][]*Peer // calls that are heard before their answer
	strangers  map[source]*stranger
	tombs      map[source]int64
	tombQueue  []source
	shared     map[netip.Addr]struct{} // addresses that serve several calls from one port
	unanswered int
	Waiting    int     // calls without a packet yet, including unanswered ones: they make a stream ambiguous
	Alone      int     // those of them that may latch
	unheard    []*Peer // those of them that are answered
	// Ghosts is until when audio may still arrive for a call that ended unheard.
	Ghosts int64
}

func New() *Table {
	return &Table{
		Peers: map[*Peer]struct{}{}, byAddr: map[netip.AddrPort][]*Peer{}, bySSRC: map[uint32][]*Peer{},
		byEarly:   map[netip.AddrPort][]*Peer{},
		strangers: map[source]*stranger{}, tombs: map[source]int64{}, shared: map[netip.Addr]struct{}{},
	}
}

// Open adds a call whose remote address is not known yet.
func (d *Table) Open(p *Peer, now int64) {
	p.openedAt = now
	d.Peers[p] = struct{}{}
	d.unanswered++
	d.wait(p)
}

// Early lets a call that is not answered be heard from the address of a provisional response's SDP; an
// invalid one ends that.
func (d *Table) Early(p *Peer, named netip.AddrPort) {
	if p.early.IsValid() {
		dropPeer(d.byEarly, p.early, p)
	}
	if _, ok := d.Peers[p]; !ok || p.Answered {
		named = netip.AddrPort{}
	}
	if p.early = named; named.IsValid() {
		d.byEarly[named] = append(d.byEarly[named], p)
	}
}

// wait counts a call as unheard.
func (d *Table) wait(p *Peer) {
	d.Waiting++
	if p.Alone {
		d.Alone++
	}
}

// waited stops counting a call as unheard: it was heard, or is gone.
func (d *Table) waited(p *Peer) {
	d.Waiting--
	if p.Alone {
		d.Alone--
	}
	if i := slices.Index(d.unheard, p); i >= 0 {
		d.unheard = slices.Delete(d.unheard, i, i+1)
	}
}

// Answer gives a call its remote address and the other sources that it may accept; it may be called
// again when the far side moves. collided means that another live call has the same address.
func (d *Table) Answer(p *Peer, named netip.AddrPort, l *Latch, ssrc uint32, hasSSRC bool) (collided bool) {
	switch {
	case !p.Answered:
		d.Early(p, netip.AddrPort{})
		p.Answered = true
		d.unanswered--
		d.unheard = append(d.unheard, p)
	case p.Named == named:
		p.latch.Audio = l.Audio
		return len(d.byAddr[named]) > 1
	default:
		// A new session description invalidates the old source.
		d.unaddr(p)
		p.past = p.past || p.bound
		d.unbind(p)
		if p.heard {
			p.heard = false
			d.wait(p)
			d.unheard = append(d.unheard, p)
		}
	}
	p.Named, p.Remote, p.latch = named, named, *l
	others := d.byAddr[named]
	if len(others) > 0 {
		d.shared[named.Addr()] = struct{}{}
		for _, o := range others {
			// A source bound while this call was already ringing may have been this call's early
			// media.
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

// Remove removes a call; its late packets are recognised for a while.
func (d *Table) Remove(p *Peer, now int64) {
	if _, ok := d.Peers[p]; !ok {
		return
	}
	d.Early(p, netip.AddrPort{})
	delete(d.Peers, p)
	if !p.heard {
		d.waited(p)
		d.Ghosts = now + tombstoneFor
	}
	if !p.Answered {
		d.unanswered--
		return
	}
	if p.bound {
		s := source{p.Remote, p.SSRC}
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

func (d *Table) unaddr(p *Peer) {
	dropPeer(d.byAddr, p.Named, p)
	if p.Remote != p.Named {
		dropPeer(d.byAddr, p.Remote, p)
	}
}

func (d *Table) unbind(p *Peer) {
	if p.bound {
		dropPeer(d.bySSRC, p.SSRC, p)
		p.bound = false
	}
	p.fixed = false
}

func (d *Table) bind(p *Peer, ssrc uint32, now int64) {
	if p.bound {
		dropPeer(d.bySSRC, p.SSRC, p)
	}
	p.bound, p.SSRC, p.boundAt = true, ssrc, now
	d.bySSRC[ssrc] = append(d.bySSRC[ssrc], p)
}

func dropPeer[K comparable](m map[K][]*Peer, key K, p *Peer) {
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

// Route finds the call of an RTP packet.
func (d *Table) Route(from netip.AddrPort, id ID, now int64) (*Peer, route) {
	owners := d.byAddr[from]
	for _, p := range owners {
		if p.bound && p.SSRC == id.SSRC {
			if len(owners) > 1 && d.twice(owners, id.SSRC) {
				return nil, DropAmbiguous // two calls of a far side with a constant SSRC
			}
			if p.Remote != from { // latched, and now the SDP's address sends
				return d.take(p, from, id, now)
			}
			return d.accept(p, id.seq, now), routeOK
		}
	}
	if until, ok := d.tombs[source{from, id.SSRC}]; ok && now < until {
		return nil, DropStale
	}
	p, how := d.routeNew(owners, from, id, now)
	if len(d.byEarly) > 0 && p == nil && len(owners) == 0 {
		if ringing := d.byEarly[from]; len(ringing) == 1 {
			return ringing[0], RouteEarly
		}
	}
	switch how {
	case DropElsewhere, DropAmbiguous:
		d.note(from.Addr(), how)
	case routeOK, RouteMoved, RouteClaim, RouteEarly, DropUnknown, DropStale, DropProbation:
	}
	return p, how
}

// routeNew finds the call of a stream that is not known from there.
func (d *Table) routeNew(owners []*Peer, from netip.AddrPort, id ID, now int64) (*Peer, route) {
	if len(owners) == 0 || d.claimed(owners, from, now) {
		return d.routeUnknown(owners, from, id, now)
	}
	s := d.watch(source{from, id.SSRC}, now)
	if len(owners) == 1 {
		return d.routeOwned(owners[0], from, id, s, now)
	}
	return d.routeShared(owners, from, id, s, now)
}

// note counts a packet with the unheard calls whose it may have been.
func (d *Table) note(host netip.Addr, how route) {
	for _, p := range d.unheard {
		switch {
		case !p.latch.theirs(host):
		case how == DropElsewhere:
			p.Elsewhere++
		default:
			p.Ambiguous++
		}
	}
}

// claimed says whether a stream from an address whose calls all have their sources can belong to
// another call, which would latch to it: a NAT that maps all calls of a far side to one port.
func (d *Table) claimed(owners []*Peer, from netip.AddrPort, now int64) bool {
	for _, p := range owners {
		if !p.bound || p.Remote != from {
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

// Life finds the call for which an RTCP packet is a sign of life; nil when that is not certain. from
// is the RTP address that belongs to its source. Where that is nobody's, as behind a NAT that maps
// each port by itself, the packet is of the call that hears its SSRC from its host.
func (d *Table) Life(from netip.AddrPort, ssrc uint32) *Peer {
	owners := d.byAddr[from]
	if len(owners) == 1 {
		return owners[0]
	}
	if len(owners) == 0 {
		if same := d.bySSRC[ssrc]; len(same) == 1 && same[0].heard && !same[0].latch.Off &&
			same[0].Remote.Addr() == from.Addr() {
			return same[0]
		}
		return nil
	}
	for _, p := range owners {
		if p.bound && p.SSRC == ssrc && !d.twice(owners, ssrc) {
			return p
		}
	}
	return nil
}

func (d *Table) twice(owners []*Peer, ssrc uint32) bool {
	n := 0
	for _, p := range owners {
		if p.bound && p.SSRC == ssrc {
			n++
		}
	}
	return n > 1
}

func (d *Table) accept(p *Peer, seq uint16, now int64) *Peer {
	if !p.heard {
		p.heard, p.past = true, false
		d.waited(p)
	}
	p.lastAt, p.lastSeq = now, seq
	return p
}

// watch counts a packet from a source that no call owns.
func (d *Table) watch(src source, now int64) *stranger {
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

// evict makes room: silent strangers go first, then any.
func (d *Table) evict(now int64) {
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

func (d *Table) isShared(a netip.Addr) bool {
	_, ok := d.shared[a]
	return ok
}

// elsewhere says whether another call has this SSRC.
func (d *Table) elsewhere(p *Peer, ssrc uint32) bool {
	for _, o := range d.bySSRC[ssrc] {
		if o != p {
			return true
		}
	}
	return false
}

// routeOwned handles a packet from an address of one known call, which has another SSRC or none
// yet.
func (d *Table) routeOwned(p *Peer, from netip.AddrPort, id ID, s *stranger, now int64) (*Peer, route) {
	ssrc := id.SSRC
	if p.fixed {
		return nil, DropUnknown
	}
	if !p.bound || p.Remote != from {
		for k, o := range d.strangers {
			if k.addr == from && k.ssrc != ssrc && now-o.last < sharedWithin && o.count >= probation {
				d.shared[from.Addr()] = struct{}{}
			}
		}
		if d.isShared(from.Addr()) && (d.unanswered > 0 || d.elsewhere(p, ssrc)) {
			return nil, DropAmbiguous
		}
		return d.take(p, from, id, now)
	}
	// Either the far side changed its source (a call moves from the announcement server to the
	// phone), or the address serves another call too.
	switch {
	case now-p.lastAt < quietAfter:
		if s.count >= probation && p.lastAt >= s.first+aliveAfter {
			d.shared[from.Addr()] = struct{}{} // both sources are alive
		}
		return nil, DropProbation
	case d.elsewhere(p, ssrc), d.isShared(from.Addr()) && d.unanswered > 0:
		return nil, DropAmbiguous
	case s.count < probation || p.lastAt >= s.first+aliveAfter:
		return nil, DropProbation
	}
	return d.take(p, from, id, now)
}

// routeShared handles a packet from a remote address of several live calls, none of which is bound
// to the SSRC. Elimination is the only proof: one call has no source, and every other one has been
// heard from its own since the stranger began.
func (d *Table) routeShared(owners []*Peer, from netip.AddrPort, id ID, s *stranger, now int64) (*Peer, route) {
	var only *Peer
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
		return nil, DropProbation
	case only == nil || candidates > 1 || d.elsewhere(only, id.SSRC):
		return nil, DropAmbiguous
	case s.count < probation:
		return nil, DropProbation
	}
	return d.take(only, from, id, now)
}

// routeUnknown handles a packet of a stream that no call is known to send from there. It may belong
// to a call that can latch: from a host of the far side, proven by consecutive packets, and only
// when no other call is possible.
func (d *Table) routeUnknown(owners []*Peer, from netip.AddrPort, id ID, now int64) (*Peer, route) {
	if same := d.bySSRC[id.SSRC]; len(same) == 1 && same[0].heard {
		if p := same[0]; p.goesOn(id.seq) && p.rebinds(from.Addr()) {
			return d.rebind(p, from, id, now)
		}
	}
	host := from.Addr()
	var only *Peer
	n, sure, elsewhere := 0, false, false
	for _, p := range d.unheard {
		switch {
		case p.fixed && p.SSRC != id.SSRC:
		case p.Sealed && !p.latch.Off, p.latch.allows(host, now):
			if p.fixed || p.past && p.SSRC == id.SSRC && p.goesOn(id.seq) {
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
		return nil, DropElsewhere
	case n == 0:
		return nil, DropUnknown
	case n > 1 || elsewhere && !sure || d.elsewhere(only, id.SSRC):
		return nil, DropAmbiguous
	case only.Sealed:
		return only, RouteClaim // the key decides
	case !sure && (d.unanswered > 0 || now < d.Ghosts):
		return nil, DropAmbiguous // may be another call's early media
	}
	proven, since := only.latch.prove(from, id, now)
	if !proven {
		return nil, DropProbation
	}
	if !sure && d.doubted(only, owners, host, since, now) {
		return nil, DropAmbiguous
	}
	d.bindSource(only, from, id, now)
	return only, RouteMoved
}

// goesOn says whether a sequence number follows the last one of the call's stream.
func (p *Peer) goesOn(seq uint16) bool {
	step := seq - p.lastSeq
	return step > 0 && step < continuation
}

// rebinds says whether the call's stream may arrive from another port of a host, as when a NAT has
// lost its binding.
func (p *Peer) rebinds(host netip.Addr) bool {
	if p.Sealed {
		return !p.latch.Off
	}
	return p.latch.Open && p.Remote.Addr() == host
}

// rebind moves a call to the new address of its stream.
func (d *Table) rebind(p *Peer, from netip.AddrPort, id ID, now int64) (*Peer, route) {
	if p.Sealed {
		if now-p.lastAt < quietAfter {
			return nil, DropProbation
		}
		return p, RouteClaim
	}
	proven, _ := p.latch.prove(from, id, now)
	if !proven || now-p.lastAt < rebindAfter {
		return nil, DropProbation
	}
	d.bindSource(p, from, id, now)
	return p, RouteMoved
}

// doubted says whether a stream from a host that began at since may belong to a call that was heard
// before and may have moved without notice: one of the far side's that fell silent then, or that
// has its source at the same address.
func (d *Table) doubted(only *Peer, owners []*Peer, host netip.Addr, since, now int64) bool {
	for p := range d.Peers {
		if p == only || !p.heard || p.fixed || p.lastAt >= since+aliveAfter {
			continue
		}
		if slices.Contains(owners, p) || p.latch.theirs(host) && now-p.lastAt < doubtFor {
			return true
		}
	}
	return false
}

// take binds a call to a source at its own address.
func (d *Table) take(p *Peer, from netip.AddrPort, id ID, now int64) (*Peer, route) {
	if p.Sealed {
		return p, RouteClaim
	}
	how := routeOK
	if p.Remote != from {
		how = RouteMoved
	}
	d.bindSource(p, from, id, now)
	return p, how
}

// Prove binds a source to the call that claimed it, once its key has shown that the packet is its
// own.
func (d *Table) Prove(p *Peer, from netip.AddrPort, id ID, now int64) {
	if _, ok := d.Peers[p]; ok && p.Answered { // else over meanwhile
		d.bindSource(p, from, id, now)
	}
}

func (d *Table) bindSource(p *Peer, from netip.AddrPort, id ID, now int64) {
	delete(d.strangers, source{from, id.SSRC})
	if p.Remote != from {
		d.moveTo(p, from)
	}
	d.bind(p, id.SSRC, now)
	d.accept(p, id.seq, now)
}

func (d *Table) moveTo(p *Peer, from netip.AddrPort) {
	if p.Remote != p.Named {
		dropPeer(d.byAddr, p.Remote, p)
	}
	if p.Remote = from; from == p.Named {
		return
	}
	if others := d.byAddr[from]; len(others) > 0 {
		d.shared[from.Addr()] = struct{}{}
	}
	d.byAddr[from] = append(d.byAddr[from], p)
}
