package amd

import (
	"time"

	"dialler/engine"
)

// This file is for who listens on after the verdict: to revise it, and to leave a
// message after the beep of a machine.

const (
	// HeardUntil is until when a monologue and the tones of fax and SIT revise a verdict
	// for a person; a beep does for as long as Feed is called.
	HeardUntil = 10 * time.Second
	// MonologueMin is how long is spoken without a pause, and without a word of ours, by
	// nobody who is a person. The longest answer of a person in the development set is
	// 7.1 s long.
	MonologueMin = 8 * time.Second
	// monologueConfidence is that of a verdict that rests on nothing else.
	monologueConfidence = 0.8
)

// turns follows who speaks when.
type turns struct {
	ours     bool // our side is heard in this frame
	from     int  // frame with which the callee's speech began that goes on, 0: none did
	last     int  // frame of the callee's last speech that was not ours
	answered bool // our side spoke after that had ended
	taken    bool // and then the callee again
}

// Ours says whether our side is heard in the frames to come, or may come back as an
// echo. What is heard then is not taken for the callee's.
func (d *Detector) Ours(speaks bool) { d.turns.ours = speaks }

// feed takes a frame.
func (t *turns) feed(frame int, speech bool) {
	paused := t.from == 0 || frame-t.last > spurtPause
	switch {
	case t.ours && t.last > 0 && frame-t.last > spurtPause:
		t.answered = true
	case t.ours:
		t.from = 0
	case speech:
		if paused {
			t.from = frame
		}
		t.last = frame
		t.taken = t.taken || t.answered
	}
}

// monologue: the callee has spoken for longer than a person who answers does.
func (t *turns) monologue() bool {
	return t.from > 0 && span(t.last-t.from) >= MonologueMin
}

// Revised says once that the call had been taken for a person's, or for nobody's, and
// is none: a beep came, or until HeardUntil the tones of a fax or SIT, or a monologue.
// Once both sides have taken turns only a beep says so.
func (d *Detector) Revised() (Decision, bool) {
	if !d.done || !d.last.Verdict.Live() {
		return Decision{}, false
	}
	t, music := &d.tones, d.music || d.tones.melody
	heard := span(d.ear.frames) <= HeardUntil && !d.turns.taken
	switch {
	case heard && t.sit:
		return d.revise(engine.VerdictSIT, sureTone), true
	case heard && t.fax && !t.calling:
		return d.revise(engine.VerdictFax, sureTone), true
	case heard && t.fax:
		return d.revise(engine.VerdictFax, callingTone), true
	case t.beep && !music:
		return d.revise(engine.VerdictMachine, beepConfidence), true
	case heard && !music && !t.progress && d.turns.monologue():
		return d.revise(engine.VerdictMachine, monologueConfidence), true
	}
	return Decision{}, false
}

func (d *Detector) revise(v engine.Verdict, confidence float64) Decision {
	d.last.Verdict, d.last.Confidence, d.last.At = v, confidence, span(d.ear.frames)
	d.last.Features = d.features()
	return d.last
}

// Heard is how much was fed so far.
func (d *Detector) Heard() time.Duration { return span(d.ear.frames) }

// TakeBeep says whether a beep was heard since it was last asked. It counts as
// heard once it is known to be none of a melody, and may sound still.
func (d *Detector) TakeBeep() bool {
	heard := d.tones.beep && !d.music && !d.tones.melody
	d.tones.beep = false
	return heard
}

// Sounding says whether the last frame stood out of the noise.
func (d *Detector) Sounding() bool { return d.tones.loud&1 != 0 }

// InTone says whether a tone sounds that may become a beep.
func (d *Detector) InTone() bool { return d.tones.tones.sounding() >= toneMin }
