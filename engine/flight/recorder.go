package flight

import (
	"encoding/binary"
	"sync"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/run"
	"dialler/engine/snapshot"
)

// Sink takes the frames of a recording. Its methods are called one at a time and must not block.
type Sink interface {
	// Put takes whole frames; they are the sink's from then on. over is the run that ended with the
	// last of them, 0 if none did. False says that the sink is too far behind.
	Put(frames []byte, over int) bool
	// End is the last call.
	End(why string)
}

// Frames are given to the sink once there are chunkSize bytes of them, or once the first of them is
// chunkAge old.
const (
	chunkSize = 32 << 10
	chunkAge  = time.Second
)

// Recorder records one life of a run. Its methods may be called by any goroutine; Before and After
// by that of the run alone.
type Recorder struct {
	mu     sync.Mutex
	sink   Sink
	out    *snapshot.Writer
	digest *digest

	frames  []byte
	whole   int // bytes of complete frames
	since   time.Time
	now     time.Time // of the input
	boot    engine.BootTime
	passed  bool // an input is being applied
	ended   bool
	process run.Process // of the input
}

// Record begins a recording, at the time in its header.
func Record(began time.Time, sink Sink) *Recorder {
	return &Recorder{sink: sink, out: run.Codec().Writer(began), digest: newDigest(), now: began}
}

// NewHeader returns the header of a recording that begins now.
func NewHeader(id engine.CampaignID, cfg run.Config, program string, began time.Time) Header {
	return Header{Campaign: id, Program: program, Began: began.Round(0).UTC(), Config: cfg, Types: types()}
}

const (
	frameHasRequest = 1 << iota
	frameIsInput
)

// Before records an input, and returns the one to apply in its place: its questions to the process
// go through the recorder.
func (r *Recorder) Before(in run.Input) run.Input {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return in
	}
	flags, b := byte(frameIsInput), r.frames
	if in.From != "" {
		flags |= frameHasRequest
	}
	b = append(b, flags)
	b = r.out.Time(b, r.now, in.Now)
	b = binary.AppendVarint(b, int64(in.Boot-r.boot)-(in.Now.UnixNano()-r.now.UnixNano()))
	if len(r.frames) == 0 {
		r.since = in.Now
	}
	r.now, r.boot = in.Now, in.Boot
	if in.From != "" {
		b = r.out.Text(b, string(in.From))
	}
	var err error
	event := in.Event
	if p, ok := event.(*call.Persist); ok {
		event = r.digest.seen(p)
	}
	if r.frames, err = r.out.Variant(b, event); err != nil {
		r.end(EndUnknown)
		return in
	}
	r.passed = true
	r.process, in.Process = in.Process, (*heard)(r)
	return in
}

// After records the effects of the input.
func (r *Recorder) After(effects []run.Effect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.passed {
		return
	}
	r.passed, r.process = false, nil
	r.frames = binary.AppendUvarint(append(r.frames, answersEnd), uint64(len(effects)))
	over := 0
	if len(effects) > 0 {
		r.frames = binary.LittleEndian.AppendUint32(r.frames, r.digest.next(effects))
		over = ended(effects)
	}
	r.whole = len(r.frames)
	if r.whole >= chunkSize || over > 0 || r.now.Sub(r.since) >= chunkAge {
		r.put(over)
	}
}

// ended is the run that ended with one of the effects, 0 if none did.
func ended(effects []run.Effect) int {
	for _, e := range effects {
		if w, ok := e.(run.Write); ok && w.Write.CampaignRow != nil {
			switch c := w.Write.CampaignRow; c.State {
			case campaign.Completed, campaign.Failed:
				return c.Run
			case campaign.Draft, campaign.Running, campaign.Paused:
			}
		}
	}
	return 0
}

// put gives the complete frames to the sink.
func (r *Recorder) put(over int) {
	frames := r.frames[:r.whole:r.whole]
	rest := r.frames[r.whole:]
	r.frames = append(make([]byte, 0, max(len(r.frames)+1<<10, 4<<10)), rest...)
	r.whole, r.since = 0, r.now
	if !r.sink.Put(frames, over) {
		r.end(EndOverflow)
	}
}

// Flush gives the sink what there is.
func (r *Recorder) Flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended && r.whole > 0 {
		r.put(0)
	}
}

// Close ends the recording with the life of the run. An input that is being applied is the one at
// which the run crashed.
func (r *Recorder) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.passed {
		r.frames = append(r.frames, answersCrash)
		r.whole = len(r.frames)
	}
	r.finish(EndClosed)
}

// Stop ends the recording before its time.
func (r *Recorder) Stop(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finish(why)
}

func (r *Recorder) finish(why string) {
	if !r.ended && r.whole > 0 {
		r.put(0)
	}
	r.end(why)
}

// end ends the recording, once.
func (r *Recorder) end(why string) {
	if r.ended {
		return
	}
	if why == EndUnknown && r.whole > 0 {
		r.sink.Put(r.frames[:r.whole:r.whole], 0)
	}
	r.ended, r.passed, r.frames = true, false, nil
	r.sink.End(why)
}

// Ended says whether nothing more is recorded.
func (r *Recorder) Ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}
