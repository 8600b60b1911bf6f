package demux

import (
	"net/netip"

	"dialler/engine"
	"dialler/media/codec"
)

const (
	// LatchWithin is how long after an answer, or a new description, a call may still latch.
	LatchWithin = 10_000 * millis
	// ProofPackets is how many consecutive packets prove a stream.
	ProofPackets = 5
	// rebindAfter is how long a call must have been silent before its stream is
	// recognised at another port of the same host.
	rebindAfter = 2000 * millis
	// runCap is how many streams are watched per call at the same time.
	runCap = 4
)

// Latch decides which source a call may accept besides the address of its SDP (RFC 7362): whether
// any, from which hosts, and by what proof. It is pure.
type Latch struct {
	Off  bool // only the SDP's address, whatever has the call's key
	Open bool // the trunk and the SDP's address allow it

	Named     netip.Addr // of the SDP
	Signalled netip.Addr // source of the 2xx
	Networks  []netip.Prefix
	Until     int64
	Audio     [2]uint64 // payload types of the answer, as bits

	runs [runCap]run
}

// run is a stream under observation.
type run struct {
	from        netip.AddrPort
	ssrc        uint32
	seq         uint16
	ts          uint32
	size        int
	count       int // in a row
	first, last int64
}

// MayLatch says whether a call may accept another source than the address of its SDP; own are the
// networks of this host.
func MayLatch(symmetric string, sdp netip.Addr, own []netip.Prefix) bool {
	switch symmetric {
	case engine.SymmetricOff:
		return false
	case engine.SymmetricOn:
		return true
	}
	return !reachable(sdp, own)
}

// reachable says whether packets from an address can arrive here without translation.
func reachable(a netip.Addr, own []netip.Prefix) bool {
	for _, n := range own {
		if n.Contains(a) {
			return true
		}
	}
	if a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsUnspecified() {
		return false
	}
	for _, n := range unroutable {
		if n.Contains(a) {
			return false
		}
	}
	return true
}

// unroutable are networks besides the private ones from which nothing arrives over the Internet
// (RFC 6890).
var unroutable = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("100::/64"),
}

// theirs says whether a host may be the far side's.
func (l *Latch) theirs(host netip.Addr) bool {
	if host == l.Named || host == l.Signalled {
		return true
	}
	for _, n := range l.Networks {
		if n.Contains(host) {
			return true
		}
	}
	return false
}

// allows says whether the call may latch to a host now.
func (l *Latch) allows(host netip.Addr, now int64) bool {
	return l.Open && now < l.Until && l.theirs(host)
}

// prove handles a packet of a stream that may be the call's: proven after ProofPackets consecutive
// ones. since is when these began.
func (l *Latch) prove(from netip.AddrPort, id ID, now int64) (proven bool, since int64) {
	r := &l.runs[0]
	for i := range l.runs {
		if l.runs[i].from == from && l.runs[i].ssrc == id.SSRC {
			r = &l.runs[i]
			break
		}
		if l.runs[i].last < r.last {
			r = &l.runs[i]
		}
	}
	known := r.from == from && r.ssrc == id.SSRC && r.count > 0
	switch {
	case known && id.seq == r.seq: // a repeated packet
		return false, r.first
	case !l.speaks(id):
		*r = run{from: from, ssrc: id.SSRC, last: now}
		return false, now
	case known && id.seq == r.seq+1 && id.ts == r.ts+uint32(r.size): //nolint:gosec // a datagram
		r.count++
	default:
		*r = run{from: from, ssrc: id.SSRC, count: 1, first: now}
	}
	r.seq, r.ts, r.size, r.last = id.seq, id.ts, id.size, now
	return r.count >= ProofPackets, r.first
}

// speaks says whether a packet is audio as negotiated in the answer.
func (l *Latch) speaks(id ID) bool {
	return id.size > 0 && l.Audio[id.pt>>6&1]>>(id.pt&63)&1 == 1
}

// Types returns the payload types of an answer's codecs, as bits.
func Types(codecs *[128]codec.Codec) (bits [2]uint64) {
	for pt, c := range codecs {
		if c != codec.None {
			bits[pt>>6] |= 1 << (pt & 63)
		}
	}
	return bits
}
