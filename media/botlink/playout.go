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

	// After an empty queue one frame is held for one tick unless a second one follows: otherwise a
	// bot that paces its frames by its own timer would stutter at the start of each sentence.
	flowing bool
	held    bool
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

// ready says whether a frame may be taken now; called once per 20 ms.
func (p *playout) ready() bool {
	switch {
	case p.size == 0:
		p.flowing, p.held = false, false
		return false
	case p.flowing || p.held || p.size >= 2*FrameBytes:
		p.flowing, p.held = true, false
		return true
	}
	p.held = true
	return false
}

// clear drops all audio. The caller returns the marks, which stay.
func (p *playout) clear() {
	for len(p.queue) > 0 {
		p.dropFirst()
	}
	p.taken += uint64(p.size) //nolint:gosec // not negative
	p.size, p.r, p.w = 0, 0, 0
	p.flowing, p.held = false, false
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
