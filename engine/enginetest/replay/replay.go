// Package replay records the inputs of a campaign's run in memory and proves that they lead
// to the same effects again. Only tests import it.
package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"dialler/engine"
	"dialler/engine/flight"
	"dialler/engine/run"
)

// Recorder records one life of a run.
type Recorder struct {
	*flight.Recorder
	tape  tape
	short bool
}

// tape is the recording.
type tape struct {
	mu     sync.Mutex
	bytes  bytes.Buffer
	blocks *flight.Blocks
	err    error
	end    string
}

// Put implements flight.Sink.
func (t *tape) Put(frames []byte, _ int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = t.blocks.Frames(frames)
	}
	return true
}

// End implements flight.Sink.
func (t *tape) End(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end = why; t.err == nil {
		t.err = t.blocks.End(why)
	}
}

// New returns a recorder for a new run that begins now.
func New(id engine.CampaignID, cfg run.Config, now time.Time) *Recorder {
	r := &Recorder{}
	h := flight.NewHeader(id, cfg, "test", now)
	r.tape.blocks, r.tape.err = flight.NewBlocks(&r.tape.bytes, &h)
	r.Recorder = flight.Record(now, &r.tape)
	return r
}

// shortSize is how much a short recorder records.
const shortSize = 256 << 10

// NewShort returns a recorder that only records the beginning of a long-lived run.
func NewShort(id engine.CampaignID, cfg run.Config, now time.Time) *Recorder {
	r := New(id, cfg, now)
	r.short = true
	return r
}

// After implements the recorder of a run.
func (r *Recorder) After(effects []run.Effect) {
	r.Recorder.After(effects)
	if r.short && r.Size() > shortSize {
		r.Stop(flight.EndFull)
	}
}

// Size is how long the recording is.
func (r *Recorder) Size() int {
	r.tape.mu.Lock()
	defer r.tape.mu.Unlock()
	return r.tape.bytes.Len()
}

// Verify applies the inputs so far to a new run, and returns how many they are and the first whose
// effects differ, nil if none does.
func (r *Recorder) Verify() (inputs int, err error) {
	r.Flush()
	r.tape.mu.Lock()
	defer r.tape.mu.Unlock()
	if r.tape.err != nil {
		return 0, r.tape.err
	}
	if r.tape.end == flight.EndUnknown {
		return 0, errors.New("an input cannot be written down")
	}
	p, err := flight.Play(bytes.NewReader(r.tape.bytes.Bytes()))
	for err == nil {
		var s *flight.Step
		if s, err = p.Next(); s != nil {
			inputs = s.Number
		}
		if d := (*flight.Difference)(nil); errors.As(err, &d) {
			return inputs, fmt.Errorf("%w\n%s", err, flight.Text(d.Step.Effects))
		}
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF { //nolint:errorlint // as they are documented
		return inputs, nil
	}
	return inputs, err
}
