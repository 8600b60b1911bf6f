// Package replay records the inputs of a campaign's run, with all answers of the process, and
// proves that they lead to the same effects again. Only tests import it.
package replay

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"dialler/engine"
	"dialler/engine/run"
)

// Recorder records the inputs of one instance of a run. It stores copies: neither the run nor the
// sender of an input can change them afterwards.
type Recorder struct {
	mu     sync.Mutex
	id     engine.CampaignID
	cfg    run.Config
	inputs []kept
	text   int // bytes of effects
	short  bool
	full   bool // nothing more is recorded
}

// kept is one input, and the digest of its effects.
type kept struct {
	in      run.Input
	answers []any
	effects [sha256.Size]byte
	text    []byte // of the effects
	done    bool   // the effects are known
}

// New returns a recorder for a new run.
func New(id engine.CampaignID, cfg run.Config) *Recorder { return &Recorder{id: id, cfg: cfg} }

// Limits of a short recorder, in inputs and in bytes of effects.
const (
	shortInputs = 400
	shortText   = 256 << 10
)

// NewShort returns a recorder that only records the beginning of a long-lived run.
func NewShort(id engine.CampaignID, cfg run.Config) *Recorder {
	return &Recorder{id: id, cfg: cfg, short: true}
}

// Before records an input and returns the one to apply in its place.
func (r *Recorder) Before(in run.Input) run.Input {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.short && (len(r.inputs) == shortInputs || r.text > shortText) {
		r.full = true
		return in
	}
	r.inputs = append(r.inputs, kept{in: run.Input{Now: in.Now, Boot: in.Boot, From: in.From, Event: clone(in.Event)}})
	in.Process = &heard{Process: in.Process, answers: &r.inputs[len(r.inputs)-1].answers}
	return in
}

// After records the effects of the preceding input.
func (r *Recorder) After(effects []run.Effect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full {
		return
	}
	k := &r.inputs[len(r.inputs)-1]
	k.text = Text(effects)
	r.text += len(k.text)
	k.effects, k.done = sha256.Sum256(k.text), true
}

// Inputs is the number of recorded inputs.
func (r *Recorder) Inputs() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.inputs)
}

// Verify applies the inputs to a new run and reports the first one whose effects differ, nil if
// none does.
func (r *Recorder) Verify() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := run.New(r.id, r.cfg)
	for i := range r.inputs {
		k := &r.inputs[i]
		if !k.done {
			return nil // it is being applied
		}
		in := k.in
		in.Event = clone(k.in.Event)
		said := &said{answers: k.answers}
		in.Process = said
		effects, err := s.Apply(in, nil)
		if err != nil {
			return fmt.Errorf("input %d (%T): %w", i, k.in.Event, err)
		}
		switch text := Text(effects); {
		case said.wrong != "":
			return fmt.Errorf("input %d (%T): the process was asked %s", i, k.in.Event, said.wrong)
		case len(said.answers) > 0:
			return fmt.Errorf("input %d (%T): the process was asked %d questions fewer", i, k.in.Event, len(said.answers))
		case sha256.Sum256(text) != k.effects:
			return fmt.Errorf("input %d (%T) led to other effects:\n%s\nbefore:\n%s", i, k.in.Event, text, k.text)
		}
	}
	return nil
}

// Text renders effects, including the events of their writes, deterministically.
func Text(effects []run.Effect) []byte {
	var b bytes.Buffer
	for _, e := range effects {
		render(&b, e)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// heard records the answers of the process.
type heard struct {
	run.Process
	answers *[]any
}

func keep[T any](h *heard, v T) T {
	*h.answers = append(*h.answers, v)
	return v
}

func (h *heard) Draining() bool            { return keep(h, h.Process.Draining()) }
func (h *heard) DatabaseAway() bool        { return keep(h, h.Process.DatabaseAway()) }
func (h *heard) TrunksDown() bool          { return keep(h, h.Process.TrunksDown()) }
func (h *heard) Fenced() bool              { return keep(h, h.Process.Fenced()) }
func (h *heard) CommitLate() time.Duration { return keep(h, h.Process.CommitLate()) }
func (h *heard) BotLate(id engine.BotID) time.Duration {
	return keep(h, h.Process.BotLate(id))
}
func (h *heard) NeedsSeat(n engine.PhoneNumber, now time.Time) bool {
	return keep(h, h.Process.NeedsSeat(n, now))
}
func (h *heard) Carrier(t engine.TrunkID) engine.Incarnation { return keep(h, h.Process.Carrier(t)) }
func (h *heard) Owned(id engine.AttemptID) bool              { return keep(h, h.Process.Owned(id)) }

// said replays the recorded answers in order.
type said struct {
	answers []any
	wrong   string
}

func next[T any](s *said) (v T) {
	if len(s.answers) == 0 {
		s.wrong = "more than before"
		return v
	}
	v, ok := s.answers[0].(T)
	if !ok {
		s.wrong = fmt.Sprintf("something else: %T in place of %T", v, s.answers[0])
	}
	s.answers = s.answers[1:]
	return v
}

func (s *said) Draining() bool                               { return next[bool](s) }
func (s *said) DatabaseAway() bool                           { return next[bool](s) }
func (s *said) TrunksDown() bool                             { return next[bool](s) }
func (s *said) Fenced() bool                                 { return next[bool](s) }
func (s *said) CommitLate() time.Duration                    { return next[time.Duration](s) }
func (s *said) BotLate(engine.BotID) time.Duration           { return next[time.Duration](s) }
func (s *said) NeedsSeat(engine.PhoneNumber, time.Time) bool { return next[bool](s) }
func (s *said) Carrier(engine.TrunkID) engine.Incarnation    { return next[engine.Incarnation](s) }
func (s *said) Owned(engine.AttemptID) bool                  { return next[bool](s) }
