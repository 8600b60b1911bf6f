package flight

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"dialler/engine"
	"dialler/engine/monotonic"
	"dialler/engine/run"
	"dialler/engine/snapshot"
)

// Player replays a recording on a new run.
type Player struct {
	Header Header
	State  *run.State

	in     frameReader
	digest *digest
	step   Step
}

// Step is one input, and what it led to.
type Step struct {
	Number  int   // of the input, from 1
	Block   int64 // byte of the recording at which the input's block begins
	Input   run.Input
	Effects []run.Effect
	// Crash is how the run crashed at the input, as it did when it was recorded.
	Crash string
}

// Difference is an input whose effects are not those that were recorded.
type Difference struct {
	Step *Step
	What string
}

func (d *Difference) Error() string {
	return fmt.Sprintf("input %d (%T), in the block at byte %d: %s", d.Step.Number, d.Step.Input.Event, d.Step.Block,
		d.What)
}

// Play begins to replay a recording.
func Play(in io.Reader) (*Player, error) {
	p := &Player{digest: newDigest(), in: frameReader{blocks: blockReader{in: in, sum: sha256.New()}}}
	if err := p.in.blocks.magic(); err != nil {
		return nil, err
	}
	kind, text, err := p.in.blocks.next()
	switch {
	case err != nil:
		return nil, err
	case kind != blockHeader:
		return nil, &Damage{int64(len(magic)), p.in.blocks.size, "the first block is no header"}
	}
	if err := json.Unmarshal(text, &p.Header); err != nil {
		return nil, &Damage{int64(len(magic)), p.in.blocks.size, err.Error()}
	}
	if err := p.Header.check(); err != nil {
		return nil, err
	}
	p.State = run.New(p.Header.Campaign, p.Header.Config)
	p.in.now = p.Header.Began
	p.in.r = run.Codec().Reader(p.Header.Began, monotonic.Join)
	return p, nil
}

// Next replays the next input. At the end of the recording it returns io.EOF, where it was cut off
// io.ErrUnexpectedEOF, and else a *Damage or a *Difference. Step and State are valid until the next
// call.
func (p *Player) Next() (*Step, error) {
	if err := p.in.next(&p.step.Input); err != nil {
		return nil, err
	}
	s := &p.step
	s.Number, s.Block, s.Crash = s.Number+1, p.in.block, ""
	answers := &said{in: &p.in}
	s.Input.Process = answers
	if s.Crash = p.apply(); s.Crash != "" && p.in.peek() != answersCrash {
		return s, &Difference{s, "the run crashes: " + s.Crash}
	}
	if answers.wrong != "" {
		return s, &Difference{s, answers.wrong}
	}
	switch last := p.in.take(); {
	case p.in.r.Err() != nil:
		return s, p.in.unreadable()
	case last == answersCrash:
		if s.Crash == "" {
			s.Crash = "when it was recorded, in what it asked of the process"
		}
		return s, nil
	case last != answersEnd:
		return s, &Difference{s, "the process is asked nothing more, " + instead(question(last))}
	}
	return s, p.compare(s)
}

func (p *Player) compare(s *Step) error {
	n := p.in.r.Uint()
	var recorded uint32
	if n > 0 {
		recorded = binary.LittleEndian.Uint32(p.in.r.Bytes(digestSize))
	}
	switch {
	case p.in.r.Err() != nil:
		return p.in.unreadable()
	case n != uint64(len(s.Effects)):
		return &Difference{s, fmt.Sprintf("%d effects in place of %d", len(s.Effects), n)}
	case n > 0 && p.digest.next(s.Effects) != recorded:
		return &Difference{s, "other effects"}
	}
	return nil
}

// apply applies the input; a run that crashed when it was recorded crashes again.
func (p *Player) apply() (crash string) {
	defer func() {
		if r := recover(); r != nil {
			crash = fmt.Sprint(r)
		}
	}()
	clear(p.step.Effects)
	// An input that no run knows has led to an error then too, and to no effects.
	p.step.Effects, _ = p.State.Apply(p.step.Input, p.step.Effects[:0])
	return ""
}

// Sum is the SHA-256 of all bytes that were read, and how many they are.
func (p *Player) Sum() ([sha256.Size]byte, int64) {
	return [sha256.Size]byte(p.in.blocks.sum.Sum(nil)), p.in.blocks.size
}

// End is why the recording ended, once Next has returned io.EOF.
func (p *Player) End() string { return p.in.end }

// frameReader reads frames.
type frameReader struct {
	blocks blockReader
	r      *snapshot.Reader
	block  int64 // where the block begins
	now    time.Time
	boot   engine.BootTime
	end    string
}

func (f *frameReader) peek() byte { return f.r.Peek() }
func (f *frameReader) take() byte { return f.r.Byte() }

// unreadable is what it means that frames cannot be read although their block is as it was written.
func (f *frameReader) unreadable() error {
	return &Damage{f.block, f.blocks.size, "its frames cannot be read: " + f.r.Err().Error()}
}

// next reads an input up to the answers.
func (f *frameReader) next(in *run.Input) error {
	for f.r.Left() == 0 {
		frames, err := f.load()
		if err != nil {
			return err
		}
		f.r.Give(frames)
	}
	flags := f.r.Byte()
	now := f.r.Time(f.now)
	boot := f.boot + engine.BootTime(f.r.Int()+now.UnixNano()-f.now.UnixNano())
	*in = run.Input{Now: now, Boot: boot}
	if flags&frameHasRequest != 0 {
		in.From = engine.Request(f.r.Text())
	}
	in.Event = f.r.Variant()
	f.now, f.boot = now, boot
	switch {
	case f.r.Err() != nil:
		return f.unreadable()
	case flags&^frameHasRequest != frameIsInput || in.Event == nil:
		return &Damage{f.block, f.blocks.size, "there is something else in place of an input"}
	}
	return nil
}

// load reads the next block of frames.
func (f *frameReader) load() ([]byte, error) {
	if f.end != "" {
		return nil, io.EOF
	}
	f.block = f.blocks.size
	kind, payload, err := f.blocks.next()
	if err != nil {
		return nil, err
	}
	wrong := func(what string) ([]byte, error) { return nil, &Damage{f.block, f.blocks.size, what} }
	switch kind {
	case blockEnd:
		f.end = string(payload)
		if n, err := io.ReadFull(f.blocks.in, make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
			return nil, &Damage{f.blocks.size, f.blocks.size + 1, "there is more after the end"}
		}
		return nil, io.EOF
	case blockFrames:
	case blockHeader:
		return nil, nil
	default:
		return wrong("a block of no known kind")
	}
	frames, err := unpacked(payload)
	if err != nil {
		return wrong("it cannot be unpacked: " + err.Error())
	}
	return frames, nil
}
