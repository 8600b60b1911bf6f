package recording

import (
	"sync"
	"sync/atomic"
	"time"

	"dialler/engine"
)

const (
	frameTime = 20 * time.Millisecond
	// chunkFrames is how much is written at once, 1 s.
	chunkFrames = 50
	// behindCap is how far a side that does not come by ticks may lie behind
	// the line of time before it jumps: jitter is not silence.
	behindCap = 5
	// aheadCap is how far it may run ahead; what comes beyond is dropped.
	aheadCap = 25
	// lag is how long a chunk stays open after its end: more than behindCap.
	lag = 10
	// stall is how far the ticks may lie behind the clock before the line of
	// time jumps; a little is caught up by ticks in a row.
	stall = 10
)

// side of a call.
type side int

const (
	left  side = iota // callee
	right             // bot
)

// chunk is a second of both sides.
type chunk struct {
	index  int64 // of the file's seconds
	frames int   // how many of it count
	sound  [2][chunkFrames * frameBytes]byte
}

// Recording is one call's, from its answer on. Its methods may be called from
// several goroutines and do not block.
type Recording struct {
	r       *Recorder
	id      string
	attempt engine.AttemptID
	queue   int
	started time.Time // wall clock

	mu    sync.Mutex
	begun int64 // on the caller's monotonic clock, ns; 0 before the first tick
	now   int64 // ticks so far, the line of time
	// next is the place of a side's next frame.
	next    [2]int64
	base    int64 // index of chunks[0]
	chunks  [2]*chunk
	dropped int64 // frames of both sides that found no room
	ended   bool

	queued  atomic.Int32 // chunks on their way
	done    atomic.Bool  // total is final
	total   atomic.Int64 // frames
	damaged atomic.Bool  // something is missing
	told    atomic.Bool  // and End said so
}

// Callee takes 20 ms of what the callee said, μ-law.
func (t *Recording) Callee(frame []byte) { t.stream(left, frame) }

// Bot takes 20 ms of what the callee hears at this tick, μ-law.
func (t *Recording) Bot(frame []byte) {
	t.mu.Lock()
	t.next[right] = t.now
	t.put(right, frame)
	t.mu.Unlock()
}

// Far takes 20 ms of what a far leg said in the bot's place, μ-law.
func (t *Recording) Far(frame []byte) { t.stream(right, frame) }

// stream places a frame of a side that comes when the network brings it.
func (t *Recording) stream(s side, frame []byte) {
	t.mu.Lock()
	if t.next[s] < t.now-behindCap || t.next[s] == 0 {
		t.next[s] = t.now
	}
	t.put(s, frame)
	t.mu.Unlock()
}

// put writes a frame at its side's place; mu is held.
func (t *Recording) put(s side, frame []byte) {
	at := t.next[s]
	if t.ended || at > t.now+aheadCap {
		return
	}
	t.next[s]++
	i := at/chunkFrames - t.base
	if i < 0 || i >= int64(len(t.chunks)) {
		return
	}
	if t.chunks[i] == nil {
		c := chunks.Get().(*chunk)
		c.index, c.frames = t.base+i, chunkFrames
		t.chunks[i] = c
	}
	from := at % chunkFrames * frameBytes
	copy(t.chunks[i].sound[s][from:from+frameBytes], frame)
}

// Tick says that 20 ms have passed; now is the caller's monotonic clock in
// nanoseconds.
func (t *Recording) Tick(now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.begun == 0 {
		t.begun = now
	}
	t.now++
	if real := (now-t.begun)/int64(frameTime) + 1; real > t.now+stall {
		t.now = real
	}
	for t.now >= (t.base+1)*chunkFrames+lag {
		t.pass()
	}
}

// pass hands the first chunk over and moves on; mu is held. A second without
// any sound needs no chunk.
func (t *Recording) pass() {
	if c := t.chunks[0]; c != nil && !t.r.send(t, c) {
		t.dropped += int64(c.frames)
		t.damaged.Store(true)
		free(c)
	}
	t.chunks[0], t.chunks[1] = t.chunks[1], nil
	t.base++
}

// End finishes the recording and says what it came to; nil when there is none.
// The file is complete a moment later.
func (t *Recording) End() *engine.Recording {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil
	}
	total := max(t.now, t.next[left], t.next[right])
	for range t.chunks {
		if c := t.chunks[0]; c != nil {
			if c.frames = int(min(chunkFrames, total-c.index*chunkFrames)); c.frames <= 0 {
				free(c)
				t.chunks[0] = nil
			}
		}
		t.pass()
	}
	t.ended = true
	t.total.Store(total)
	t.told.Store(t.damaged.Load())
	incomplete := t.told.Load()
	t.done.Store(true)
	t.r.end(t)
	if total == 0 {
		return nil
	}
	return &engine.Recording{
		ID: t.id, StartedAt: t.started, Duration: time.Duration(total) * frameTime,
		Bytes: headerBytes + total*blockBytes, Incomplete: incomplete,
	}
}

// chunks are silent when they come out of the pool.
var chunks = sync.Pool{New: func() any {
	c := &chunk{}
	hush(c)
	return c
}}

func hush(c *chunk) {
	for s := range c.sound {
		copy(c.sound[s][:], silentSecond[:chunkFrames*frameBytes])
	}
}

// free gives a chunk back.
func free(c *chunk) {
	hush(c)
	chunks.Put(c)
}

// silentSecond is a chunk of silence as it stands in a file.
var silentSecond = func() (b [chunkFrames * blockBytes]byte) {
	for i := range b {
		b[i] = silence
	}
	return b
}()
