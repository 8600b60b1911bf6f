package jitter

import (
	"sync"
	"time"
)

// Times are nanoseconds on the caller's clock.
const (
	millis = int64(time.Millisecond)

	// patienceFirst is how long a missing packet is waited for at first, from the arrival of one
	// that follows it; patienceLeast and patienceCap bound what the network makes of that, and
	// margin is added to what was needed.
	patienceFirst = 60 * millis
	patienceLeast = 20 * millis
	patienceCap   = 200 * millis
	margin        = 20 * millis
	// futileWaits is how many futile waits in a row make the next ones shorter, and seasonWaits how
	// many waits of any end if less was needed.
	futileWaits = 8
	seasonWaits = 100
	// HeldCap bounds the packets that wait for earlier ones: 200 ms at the shortest length, and what
	// a stalled process finds when it reads again.
	HeldCap = 32
	// RestartGap is the jump in sequence numbers from which on it is a restart of the far side
	// rather than a loss (RFC 3550 appendix A.1).
	RestartGap = 500
	// payloadCap is the longest payload that is accepted, 100 ms.
	payloadCap = 800
)

// packet is an RTP packet waiting for an earlier one.
type packet struct {
	at   int64 // when it came
	ts   uint32
	seq  uint16
	pt   uint8
	n    int
	data [payloadCap]byte
}

var packets = sync.Pool{New: func() any { return new(packet) }}

// Buffer sorts packets by their sequence numbers. In-order packets pass straight through; later ones
// wait for a missing one as long as its like has been late before: where missing packets never
// arrive the wait becomes as short as a packet, where they arrive too late it becomes as long as
// that took, up to 200 ms.
type Buffer struct {
	started bool
	next    uint16
	held    []*packet // unordered
	since   int64     // when the first of them came
	restart uint16    // next expected number when a restart is suspected
	suspect bool

	patience int64 // 0 means patienceFirst
	futile   int   // gaps given up since one was filled
	season   int   // gaps since the patience was last reviewed
	needed   int64 // the longest wait since then that was not in vain
	// The last gap that was given up.
	gapFrom, gapTo uint16
	gapSince       int64

	Received, Lost, Late uint64
}

// Holding says whether packets wait for an earlier one.
func (r *Buffer) Holding() bool { return len(r.held) > 0 }

// Reset returns held packets to the pool.
func (r *Buffer) Reset() {
	for i, p := range r.held {
		packets.Put(p)
		r.held[i] = nil
	}
	r.held = r.held[:0]
}

// Restarted says that the next packet is the first of another source.
func (r *Buffer) Restarted() {
	r.Reset()
	r.started, r.suspect = false, false
	r.gapFrom = r.gapTo
}

// Put accepts a packet that came at now and calls deliver for each that is now in order.
func (r *Buffer) Put(
	now int64,
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
	if len(r.held) > 0 && seq != r.next {
		r.Expire(now, deliver)
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
		r.gapFrom = r.gapTo
	}
	r.suspect = false
	if ahead > 0 && len(r.held) == HeldCap {
		r.giveUp(deliver)
		ahead = int16(seq - r.next) //nolint:gosec // RFC 1982 arithmetic
	}
	switch {
	case ahead < 0:
		r.Late++
		if seq-r.gapFrom < r.gapTo-r.gapFrom { // it was given up too soon
			r.futile = 0
			r.need(now - r.gapSince)
		}
		return
	case ahead == 0:
		if len(r.held) > 0 {
			r.futile = 0
			r.need(now - r.since)
			r.review()
		}
		r.next++
		deliver(ts, pt, payload)
		r.drain(deliver)
		return
	}
	for _, p := range r.held {
		if p.seq == seq {
			r.Late++ // a duplicate
			return
		}
	}
	if len(r.held) == 0 {
		r.since = now
	}
	p := packets.Get().(*packet)
	p.at, p.seq, p.ts, p.pt = now, seq, ts, pt
	p.n = copy(p.data[:], payload)
	r.held = append(r.held, p)
}

// Expire gives up on packets that have been missing for too long.
func (r *Buffer) Expire(now int64, deliver func(ts uint32, pt uint8, payload []byte)) {
	for len(r.held) > 0 && now-r.since >= r.wait() {
		r.giveUp(deliver)
	}
}

// Flush gives up on all packets missing before held ones.
func (r *Buffer) Flush(deliver func(ts uint32, pt uint8, payload []byte)) {
	for len(r.held) > 0 {
		r.skip(deliver)
	}
}

// wait is how long a missing packet is waited for.
func (r *Buffer) wait() int64 {
	if r.patience == 0 {
		return patienceFirst
	}
	return r.patience
}

// need says how long a packet that came after later ones had to be waited for.
func (r *Buffer) need(d int64) {
	r.needed = max(r.needed, d)
	if d+margin > r.wait() {
		r.patience = min(d+margin, patienceCap)
	}
}

// review shortens the wait, after a gap, if it has been longer than needed.
func (r *Buffer) review() {
	r.season++
	if r.futile < futileWaits && r.season < seasonWaits {
		return
	}
	r.patience = max(r.wait()-patienceLeast, patienceLeast)
	if r.needed > 0 && r.futile < futileWaits {
		r.patience = max(r.patience, min(r.needed+margin, patienceCap))
	}
	r.futile, r.season, r.needed = 0, 0, 0
}

// giveUp abandons the packets before the first held one.
func (r *Buffer) giveUp(deliver func(ts uint32, pt uint8, payload []byte)) {
	r.futile++
	r.review()
	r.skip(deliver)
}

// skip goes on with the first held packet.
func (r *Buffer) skip(deliver func(ts uint32, pt uint8, payload []byte)) {
	first := r.held[0].seq
	for _, p := range r.held[1:] {
		if int16(p.seq-first) < 0 { //nolint:gosec // RFC 1982 arithmetic
			first = p.seq
		}
	}
	r.gapFrom, r.gapTo, r.gapSince = r.next, first, r.since
	r.Lost += uint64(first - r.next)
	r.next = first
	r.drain(deliver)
}

func (r *Buffer) drain(deliver func(ts uint32, pt uint8, payload []byte)) {
	if len(r.held) == 0 {
		return
	}
	for again := true; again; {
		again = false
		for i, p := range r.held {
			if p.seq == r.next {
				last := len(r.held) - 1
				r.held[i], r.held[last] = r.held[last], nil
				r.held = r.held[:last]
				r.next++
				deliver(p.ts, p.pt, p.data[:p.n])
				packets.Put(p)
				again = true
				break
			}
		}
	}
	for i, p := range r.held { // wait for what is missing before these
		if i == 0 || p.at < r.since {
			r.since = p.at
		}
	}
}
