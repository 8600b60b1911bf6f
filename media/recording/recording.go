package recording

import (
	"sync"
	"sync/atomic"
	"time"

	"dialler/engine"
)

const (
	frameTime = 20 * time.Millisecond
	// chunkFrames is the number of frames written at once, 1 s.
	chunkFrames = 50
	// lateCap is how far the callee's side may lag behind the timeline before it jumps: its audio may
	// be late, and pauses are filled.
	lateCap = 23
	// behindCap is the same for a far leg, whose pauses are not filled: jitter is not silence.
	behindCap = 5
	// aheadCap is how far a side may be ahead; anything beyond is dropped. What is spare is left out
	// from spareFrom on.
	aheadCap  = 25
	spareFrom = 2
	// lag is how long a chunk stays open after its end; it must exceed lateCap, and two chunks must
	// hold all from there to aheadCap.
	lag = 24
	// stall is how far the ticks may lag behind the clock before the timeline jumps; smaller lags
	// are made up by ticks in a row.
	stall = 10
)

// side is one side of a call.
type side int

const (
	left  side = iota // callee
	right             // bot
)

// chunk is a second of both sides.
type chunk struct {
	index  int64 // in seconds of the file
	frames int   // how many of its frames count
	sound  [2][chunkFrames * frameBytes]byte
}

// Recording is the recording of one call, from its answer on. Its methods may be called from
// several goroutines and do not block.
type Recording struct {
	r       *Recorder
	id      string
	attempt engine.AttemptID
	queue   int
	started time.Time // wall clock

	mu    sync.Mutex
	begun int64 // on the caller's monotonic clock, ns; 0 before the first tick
	now   int64 // ticks so far: the timeline
	// next is the position of each side's next frame.
	next    [2]int64
	base    int64 // index of chunks[0]
	chunks  [2]*chunk
	dropped int64 // frames of both sides for which there was no room
	ended   bool

	queued  atomic.Int32 // chunks in the queue
	done    atomic.Bool  // total is final
	total   atomic.Int64 // frames
	damaged atomic.Bool  // something is missing
	told    atomic.Bool  // and End reported it
}

// Callee adds 20 ms of the callee's audio, μ-law. What is spare may be left out to be on time.
func (t *Recording) Callee(frame []byte, spare bool) { t.stream(left, frame, lateCap, spare) }

// Bot adds 20 ms of what the callee hears at this tick, μ-law.
func (t *Recording) Bot(frame []byte) {
	t.mu.Lock()
	t.next[right] = t.now
	t.put(right, frame)
	t.mu.Unlock()
}

// Far adds 20 ms of a far leg's audio in the bot's place, μ-law.
func (t *Recording) Far(frame []byte) { t.stream(right, frame, behindCap, false) }

// stream places a frame of a side whose frames arrive when the network delivers them.
func (t *Recording) stream(s side, frame []byte, behind int64, spare bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next[s] < t.now-behind || t.next[s] == 0 {
		t.next[s] = t.now
	}
	if !spare || t.next[s] < t.now+spareFrom {
		t.put(s, frame)
	}
}

// put writes a frame at its side's position; mu is held.
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

// pass queues the first chunk and moves on; mu is held. A second without any sound needs no chunk.
func (t *Recording) pass() {
	if c := t.chunks[0]; c != nil && !t.r.send(t, c) {
		t.dropped += int64(c.frames)
		t.damaged.Store(true)
		free(c)
	}
	t.chunks[0], t.chunks[1] = t.chunks[1], nil
	t.base++
}

// End finishes the recording and returns its description; nil when there is none. The file is
// complete a moment later.
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

// chunks are silent when taken from the pool.
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

// free returns a chunk to the pool.
func free(c *chunk) {
	hush(c)
	chunks.Put(c)
}

// silentSecond is a chunk of silence as stored in a file.
var silentSecond = func() (b [chunkFrames * blockBytes]byte) {
	for i := range b {
		b[i] = silence
	}
	return b
}()
