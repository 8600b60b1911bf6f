package jitter

import "sync"

const (
	// defaultWindow is how many packets a missing one is waited for at first, 60
	// ms at the usual length; WindowCap is the most, 60 ms at the shortest.
	defaultWindow = 3
	WindowCap     = 6
	// futileWaits in a row make the window smaller by one.
	futileWaits = 8
	// RestartGap is a jump in sequence numbers that is a restart of the far
	// side rather than a loss (RFC 3550 appendix A.1).
	RestartGap = 500
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

// Buffer puts packets in order of their sequence numbers. In-order packets
// pass through at once; a gap holds up at most a window of later packets. The
// window follows the network: where what is missing never comes, it shrinks to
// one packet, where it comes too late, it grows to 60 ms again.
type Buffer struct {
	started bool
	next    uint16
	held    [WindowCap]*packet // unordered
	Holding int
	Window  int    // the greatest window, in packets; 0: defaultWindow
	smaller int    // by how much the window is smaller than that
	futile  int    // gaps given up since one was filled
	restart uint16 // expected next number when a restart is suspected
	suspect bool

	Received, Lost, Late uint64
}

// Reset returns held packets to the pool.
func (r *Buffer) Reset() {
	for i, p := range r.held {
		if p != nil {
			packets.Put(p)
			r.held[i] = nil
		}
	}
	r.Holding = 0
}

// Restarted: the next packet is the first one of another source.
func (r *Buffer) Restarted() {
	r.Reset()
	r.started, r.suspect = false, false
}

// Put takes a packet and calls deliver for each that is now in order.
func (r *Buffer) Put(
	seq uint16,
	ts uint32,
	pt uint8,
	payload []byte,
	deliver func(ts uint32, pt uint8, payload []byte),
) {
	r.Received++
	if !r.started {
		r.started, r.next = true, seq
	}
	ahead := int16(seq - r.next) //nolint:gosec // RFC 1982 arithmetic
	if ahead > RestartGap || ahead < -RestartGap {
		// Two packets in a row prove a restart.
		if !r.suspect || seq != r.restart {
			r.suspect, r.restart = true, seq+1
			return
		}
		r.Reset()
		r.next, ahead = seq, 0
	}
	r.suspect = false
	switch {
	case ahead < 0:
		r.Late++
		if int(-ahead) <= WindowCap {
			r.smaller, r.futile = max(r.smaller-1, 0), 0
		}
		return
	case ahead == 0:
		if r.Holding > 0 {
			r.futile = 0
		}
		r.next++
		deliver(ts, pt, payload)
		r.drain(deliver)
		return
	}
	for _, p := range r.held {
		if p != nil && p.seq == seq {
			r.Late++ // a duplicate
			return
		}
	}
	// The window may be smaller than when the held ones came: at seq it ends.
	window := r.window()
	for seq != r.next && (r.Holding >= window || int(int16(seq-r.next)) > window) { //nolint:gosec // RFC 1982
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
	r.Holding++
}

func (r *Buffer) window() int {
	most := r.Window
	if most == 0 {
		most = defaultWindow
	}
	return max(most-r.smaller, 1)
}

func (r *Buffer) gaveUp() {
	if r.futile++; r.futile >= futileWaits && r.window() > 1 {
		r.smaller++
		r.futile = 0
	}
}

// skip gives up the missing packets before the first held one, or before
// limit when that comes first.
func (r *Buffer) skip(limit uint16, deliver func(ts uint32, pt uint8, payload []byte)) {
	first := limit
	for _, p := range r.held {
		if p != nil && int16(p.seq-first) < 0 { //nolint:gosec // RFC 1982 arithmetic
			first = p.seq
		}
	}
	r.Lost += uint64(first - r.next)
	r.next = first
	r.drain(deliver)
}

// Flush gives up all missing packets before held ones.
func (r *Buffer) Flush(deliver func(ts uint32, pt uint8, payload []byte)) {
	for r.Holding > 0 {
		var any *packet
		for _, p := range r.held {
			if p != nil {
				any = p
			}
		}
		r.skip(any.seq, deliver)
	}
}

func (r *Buffer) drain(deliver func(ts uint32, pt uint8, payload []byte)) {
	for again := r.Holding > 0; again; {
		again = false
		for i, p := range r.held {
			if p != nil && p.seq == r.next {
				r.held[i] = nil
				r.Holding--
				r.next++
				deliver(p.ts, p.pt, p.data[:p.n])
				packets.Put(p)
				again = r.Holding > 0
				break
			}
		}
	}
}
