package botlink

import "sync"

const (
	// FrameBytes is 20 ms of 8 kHz μ-law.
	FrameBytes = 160
	// bytesPerMilli is the number of μ-law bytes per millisecond.
	bytesPerMilli = 8

	chunkBytes = 1024 // 128 ms; a bot that paces itself needs one
	// markCap bounds outstanding marks; any more are dropped and counted.
	markCap = 1024

	// holdCap is how many ticks an utterance that has run out of audio waits for more, 80 ms, before
	// it is taken to be over; reserveCap is the most audio that is held back, in frames, so that it
	// does not run out.
	holdCap    = 4
	reserveCap = 4
	// resumeCap is how many ticks after the end of an utterance more audio shows that it was not over.
	resumeCap = 10
	// aheadFrom is how much of a bot's audio, always there, shows that it does not send in real time.
	aheadFrom = 8 * FrameBytes
)

type chunk [chunkBytes]byte

// chunks holds free chunks; playout.pop and clear return them.
var chunks = sync.Pool{New: func() any { return new(chunk) }}

// playout is the bounded queue of the bot's audio for the callee, with the marks in it. It is not
// safe for concurrent use.
type playout struct {
	queue []*chunk
	r, w  int // read offset in the first chunk, write offset in the last
	size  int // bytes queued
	cap   int

	taken uint64 // bytes taken since the start, whether heard or cleared
	marks []mark

	// flowing means that an utterance is being played. One begins once there is a second frame, or
	// after a tick: otherwise a bot that paces its frames by its own timer would stutter at the
	// start. It waits for reserve frames and ticks more if earlier ones ran out of audio.
	flowing bool
	waited  int // ticks for which an utterance has waited, to begin or for more
	recent  int // ticks for which more audio shows that the last utterance was not over
	reserve int
	low     int // the least that was left when more audio came, in bytes
}

// mark is a mark of the bot: name is the JSON string as received, without its quotes, so that it
// goes back unchanged.
type mark struct {
	name []byte
	at   uint64 // due once playout.taken reaches it
}

// push appends audio and returns the number of bytes that did not fit.
func (p *playout) push(b []byte) (dropped int) {
	if room := p.cap - p.size; len(b) > room {
		dropped = len(b) - room
		b = b[:room]
	}
	if p.flowing {
		p.low = min(p.low, p.size)
	}
	p.size += len(b)
	for len(b) > 0 {
		if len(p.queue) == 0 || p.w == chunkBytes {
			p.queue = append(p.queue, chunks.Get().(*chunk))
			p.w = 0
		}
		n := copy(p.queue[len(p.queue)-1][p.w:], b)
		p.w += n
		b = b[n:]
	}
	return dropped
}

// pop takes up to len(dst) bytes.
func (p *playout) pop(dst []byte) (n int) {
	for n < len(dst) && p.size > 0 {
		first := p.queue[0]
		end := chunkBytes
		if len(p.queue) == 1 {
			end = p.w
		}
		m := copy(dst[n:], first[p.r:end])
		n += m
		p.r += m
		p.size -= m
		if p.r == end {
			p.dropFirst()
		}
	}
	p.taken += uint64(n)
	return n
}

func (p *playout) dropFirst() {
	chunks.Put(p.queue[0])
	copy(p.queue, p.queue[1:])
	p.queue[len(p.queue)-1] = nil
	p.queue = p.queue[:len(p.queue)-1]
	p.r = 0
	if len(p.queue) == 0 {
		p.w = 0
	}
}

// ready says whether a frame may be taken now. If not, hold says that more of the same utterance may
// follow: then nothing should be played rather than silence. It is called once per 20 ms.
func (p *playout) ready() (take, hold bool) {
	switch {
	case !p.flowing && p.size == 0:
		p.recent = max(p.recent-1, 0)
		return false, false
	case !p.flowing && p.size < FrameBytes && p.waited < holdCap,
		!p.flowing && p.size < (2+p.reserve)*FrameBytes && p.waited <= p.reserve:
		p.waited++
		return false, false
	case !p.flowing:
		p.begin()
		return true, false
	case p.size >= FrameBytes:
		p.reserve = min(p.reserve+p.waited, reserveCap) // it ran out before
		p.waited = 0
		return true, false
	case p.waited < holdCap && (p.size == 0 || p.waited == 0 || p.low < aheadFrom):
		// A part of a frame that is all that is left: of a bot that is ahead, it is the end.
		p.waited++
		return false, true
	}
	p.end()
	p.recent = resumeCap
	return p.size > 0, false // the rest, less than a frame
}

// begin starts an utterance.
func (p *playout) begin() {
	switch {
	case p.recent > 0: // the rest of the last one, which took longer to come
		p.reserve = reserveCap
	case p.low >= 2*FrameBytes:
		p.reserve = max(p.reserve-1, 0)
	}
	p.flowing, p.waited, p.low = true, 0, p.size
}

// end ends an utterance.
func (p *playout) end() { p.flowing, p.waited, p.recent = false, 0, 0 }

// idle says that nothing happens until there is more audio.
func (p *playout) idle() bool { return p.size == 0 && !p.flowing && p.recent == 0 }

// clear drops all audio. The caller returns the marks, which stay.
func (p *playout) clear() {
	for len(p.queue) > 0 {
		p.dropFirst()
	}
	p.taken += uint64(p.size) //nolint:gosec // not negative
	p.size, p.r, p.w = 0, 0, 0
	p.end()
}

// addMark queues a mark after the audio; it returns false when there are too many.
func (p *playout) addMark(name []byte) bool {
	if len(p.marks) >= markCap {
		return false
	}
	p.marks = append(p.marks, mark{name: append([]byte(nil), name...),
		at: p.taken + uint64(p.size)}) //nolint:gosec // not negative
	return true
}

// due returns how many of the first marks have been passed.
func (p *playout) due() (n int) {
	for n < len(p.marks) && p.marks[n].at <= p.taken {
		n++
	}
	return n
}

// dropMarks removes the first n marks.
func (p *playout) dropMarks(n int) {
	p.marks = append(p.marks[:0], p.marks[n:]...)
	if len(p.marks) == 0 {
		p.marks = nil
	}
}
