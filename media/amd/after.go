package amd

import (
	"time"

	"dialler/engine"
)

// This file is for listening after the verdict: to revise it, and to leave a message after a
// machine's beep.

const (
	// HeardUntil is how long a monologue and the tones of fax and SIT can revise a verdict of a
	// person; a beep can for as long as Feed is called.
	HeardUntil = 10 * time.Second
	// MonologueMin is how long a machine speaks without a pause and without our side saying a word,
	// and no person does. The longest answer of a person in the development set is 7.1 s.
	MonologueMin = 8 * time.Second
	// monologueConfidence is the confidence of a verdict based on a monologue alone.
	monologueConfidence = 0.8
)

// turns tracks who speaks when.
type turns struct {
	ours     bool // our side is heard in this frame
	from     int  // first frame of the callee's current speech, 0 means none
	last     int  // last frame of the callee's speech (not ours)
	answered bool // our side spoke after that speech
	taken    bool // then the callee spoke again
}

// Ours says whether our side is audible in the next frames, directly or as an echo. What is heard
// meanwhile is not attributed to the callee.
func (d *Detector) Ours(speaks bool) { d.turns.ours = speaks }

// feed processes a frame.
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

// monologue says whether the callee has spoken for longer than a person who answers does.
func (t *turns) monologue() bool {
	return t.from > 0 && span(t.last-t.from) >= MonologueMin
}

// Revised reports once that a call classified as a person or as unknown is neither: a beep came, or
// before HeardUntil the tones of a fax or SIT, or a monologue. Once both sides have taken turns,
// only a beep can revise.
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

// Heard returns how much audio was fed so far.
func (d *Detector) Heard() time.Duration { return span(d.ear.frames) }

// TakeBeep says whether a beep was heard since the last call. A beep counts once it is known not to
// be part of a melody, and may still be sounding.
func (d *Detector) TakeBeep() bool {
	heard := d.tones.beep && !d.music && !d.tones.melody
	d.tones.beep = false
	return heard
}

// Sounding says whether the last frame stood out from the noise.
func (d *Detector) Sounding() bool { return d.tones.loud&1 != 0 }

// InTone says whether a tone sounds that may become a beep.
func (d *Detector) InTone() bool { return d.tones.tones.sounding() >= toneMin }
