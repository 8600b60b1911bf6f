package amd

import "time"

// This file is for who listens on after the verdict: to leave a message after
// the beep of a machine.

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
