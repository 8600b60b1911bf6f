package amd

import (
	"math"

	"dialler/engine"
)

// judge gives a verdict when the evidence suffices. The rules are not
// symmetric: taking a person for a machine hangs up on them, taking a machine
// for a person costs a minute of a bot.
func (d *Detector) judge() (engine.Verdict, float64) {
	if v, confidence := d.judgeTones(); v != "" {
		return v, confidence
	}
	late := span(d.frames) >= d.cfg.Timeout
	if !d.heard {
		switch {
		case !late || d.tones.frames > 0:
			// A tone that sounds is waited for.
			if span(d.frames) < d.cfg.Timeout*3/2 {
				return "", 0
			}
			return engine.VerdictUnknown, 0.5
		case d.tones.count > 0 || d.progress > 10:
			return engine.VerdictUnknown, 0.5 // music, call progress
		}
		return engine.VerdictSilence, 0.9
	}
	if (d.tones.frames >= toneMin || d.tones.count > 0 && d.tones.after <= fusedTones) && span(d.frames) < d.cfg.TalkTimeout {
		return "", 0 // what fills this pause is not known yet
	}
	speech := span(d.talk)
	if speech <= d.cfg.HumanSpeech && span(d.pause) >= d.cfg.HumanPause {
		// Short and then quiet is the surest.
		return engine.VerdictHuman, 0.95 - 0.35*math.Min(1, speech.Seconds()/d.cfg.HumanSpeech.Seconds())
	}
	if speech >= d.cfg.MachineSpeech && d.tones.count < 4 && d.progress < 10 {
		return engine.VerdictMachine, 0.75
	}
	// Who still speaks is heard out a little longer: a person is not kept
	// waiting by it.
	if late && (d.pause > breath || span(d.frames) >= d.cfg.TalkTimeout) {
		return engine.VerdictUnknown, 0.5
	}
	return "", 0
}

func (d *Detector) judgeTones() (engine.Verdict, float64) {
	t := &d.tones
	switch {
	case t.sitComplete():
		return engine.VerdictSIT, 0.97
	case t.frames >= 20 && near(t.mean, 2100, 40): // CED or ANSam (ITU-T V.8), 400 ms of it
		return engine.VerdictFax, 0.97
	}
	if t.frames > 0 || t.lastFrames == 0 || t.after < fusedTones || t.count != 1 {
		return "", 0
	}
	// One tone alone, and it ended.
	long := span(t.lastFrames)
	switch {
	case !d.heard && near(t.last, 1100, 38) && long >= 420_000_000 && long <= 580_000_000: // CNG (ITU-T T.30): 0.5 s ± 15 %
		return engine.VerdictFax, 0.8
	case t.lastFrames >= 6 && t.last >= 460 && t.last <= 2040:
		return engine.VerdictMachine, 0.85 // the beep of a voicemail
	}
	return "", 0
}
