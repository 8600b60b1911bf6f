package media

import "sync"

const (
	// reorderWindow is how many packets a missing one is waited for at first, 60
	// ms at the usual length; reorderMost is the most, 60 ms at the shortest.
	reorderWindow = 3
	reorderMost   = 6
	// futileWaits in a row make the window smaller by one.
	futileWaits = 8
	// restartGap is a jump in sequence numbers that is a restart of the far
	// side rather than a loss (RFC 3550 appendix A.1).
	restartGap = 500
	// payloadCap is the longest payload that is kept, 100 ms.
	payloadCap = 800
)

// packet is an RTP packet that waits for an earlier one.
type packet struct {
	seq  uint16
	ts   uint32
	pt   uint8
	n    int
	data [payloadCap]byte
}

var packets = sync.Pool{New: func() any { return new(packet) }}

// reorder puts packets in order of their sequence numbers. In-order packets
// pass through at once; a gap holds up at most a window of later packets. The
// window follows the network: where what is missing never comes, it shrinks to
// one packet, where it comes too late, it grows to 60 ms again.
type reorder struct {
	started bool
	next    uint16
	held    [reorderMost]*packet // unordered
	holding int
	most    int    // the greatest window, in packets; 0: reorderWindow
	smaller int    // by how much the window is smaller than that
	futile  int    // gaps given up since one was filled
	restart uint16 // expected next number when a restart is suspected
	suspect bool

	received, lost, late uint64
}

// reset returns held packets to the pool.
func (r *reorder) reset() {
	for i, p := range r.held {
		if p != nil {
			packets.Put(p)
			r.held[i] = nil
		}
	}
	r.holding = 0
}

// restarted: the next packet is the first one of another source.
func (r *reorder) restarted() {
	r.reset()
	r.started, r.suspect = false, false
}

// put takes a packet and calls deliver for each that is now in order.
func (r *reorder) put(seq uint16, ts uint32, pt uint8, payload []byte, deliver func(ts uint32, pt uint8, payload []byte)) {
	r.received++
	if !r.started {
		r.started, r.next = true, seq
	}
	ahead := int16(seq - r.next) //nolint:gosec // RFC 1982 arithmetic
	if ahead > restartGap || ahead < -restartGap {
		// Two packets in a row prove a restart.
		if !r.suspect || seq != r.restart {
			r.suspect, r.restart = true, seq+1
			return
		}
		r.reset()
		r.next, ahead = seq, 0
	}
	r.suspect = false
	switch {
	case ahead < 0:
		r.late++
		if int(-ahead) <= reorderMost {
			r.smaller, r.futile = max(r.smaller-1, 0), 0
		}
		return
	case ahead == 0:
		if r.holding > 0 {
			r.futile = 0
		}
		r.next++
		deliver(ts, pt, payload)
		r.drain(deliver)
		return
	}
	for _, p := range r.held {
		if p != nil && p.seq == seq {
			r.late++ // a duplicate
			return
		}
	}
	// The window may be smaller than when the held ones came: at seq it ends.
	for window := r.window(); seq != r.next && (r.holding >= window || int(int16(seq-r.next)) > window); { //nolint:gosec // RFC 1982 arithmetic
		r.gaveUp()
		r.skip(seq, deliver)
	}
	if seq == r.next {
		r.next++
		deliver(ts, pt, payload)
		r.drain(deliver)
		return
	}
	p := packets.Get().(*packet)
	p.seq, p.ts, p.pt = seq, ts, pt
	p.n = copy(p.data[:], payload)
	for i := range r.held {
		if r.held[i] == nil {
			r.held[i] = p
			break
		}
	}
	r.holding++
}

func (r *reorder) window() int {
	most := r.most
	if most == 0 {
		most = reorderWindow
	}
	return max(most-r.smaller, 1)
}

func (r *reorder) gaveUp() {
	if r.futile++; r.futile >= futileWaits && r.window() > 1 {
		r.smaller++
		r.futile = 0
	}
}

// skip gives up the missing packets before the first held one, or before
// limit when that comes first.
func (r *reorder) skip(limit uint16, deliver func(ts uint32, pt uint8, payload []byte)) {
	first := limit
	for _, p := range r.held {
		if p != nil && int16(p.seq-first) < 0 { //nolint:gosec // RFC 1982 arithmetic
			first = p.seq
		}
	}
	r.lost += uint64(first - r.next)
	r.next = first
	r.drain(deliver)
}

// flush gives up all missing packets before held ones.
func (r *reorder) flush(deliver func(ts uint32, pt uint8, payload []byte)) {
	for r.holding > 0 {
		var any *packet
		for _, p := range r.held {
			if p != nil {
				any = p
			}
		}
		r.skip(any.seq, deliver)
	}
}

func (r *reorder) drain(deliver func(ts uint32, pt uint8, payload []byte)) {
	for again := r.holding > 0; again; {
		again = false
		for i, p := range r.held {
			if p != nil && p.seq == r.next {
				r.held[i] = nil
				r.holding--
				r.next++
				deliver(p.ts, p.pt, p.data[:p.n])
				packets.Put(p)
				again = r.holding > 0
				break
			}
		}
	}
}
