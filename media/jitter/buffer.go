package jitter

import "sync"

const (
	// defaultWindow is how many packets to wait for a missing one at first, 60 ms at the usual
	// length; WindowCap is the maximum, 60 ms at the shortest length.
	defaultWindow = 3
	WindowCap     = 6
	// futileWaits is how many futile waits in a row shrink the window by one.
	futileWaits = 8
	// RestartGap is the jump in sequence numbers from which on it is a restart of the far side
	// rather than a loss (RFC 3550 appendix A.1).
	RestartGap = 500
	// payloadCap is the longest payload that is accepted, 100 ms.
	payloadCap = 800
)

// packet is an RTP packet waiting for an earlier one.
type packet struct {
	seq  uint16
	ts   uint32
	pt   uint8
	n    int
	data [payloadCap]byte
}

var packets = sync.Pool{New: func() any { return new(packet) }}

// Buffer sorts packets by their sequence numbers. In-order packets pass straight through; a gap
// holds up at most a window of later packets. The window adapts to the network: where missing
// packets never arrive, it shrinks to one packet; where they arrive too late, it grows back to 60
// ms.
type Buffer struct {
	started bool
	next    uint16
	held    [WindowCap]*packet // unordered
	Holding int
	Window  int    // the maximum window, in packets; 0 means defaultWindow
	smaller int    // how much smaller the window is than that
	futile  int    // gaps abandoned since one was filled
	restart uint16 // next expected number when a restart is suspected
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

// Restarted says that the next packet is the first of another source.
func (r *Buffer) Restarted() {
	r.Reset()
	r.started, r.suspect = false, false
}

// Put accepts a packet and calls deliver for each that is now in order.
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
		// Two consecutive packets prove a restart.
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
	// The window may have shrunk since the held packets arrived: it ends at seq.
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

// skip gives up on the missing packets before the first held one, or before limit if that comes
// first.
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

// Flush gives up on all packets missing before held ones.
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
