package amd

import (
	"time"

	"dialler/engine"
)

const (
	sureTone        = 0.97
	callingTone     = 0.8 // CNG alone, which a beep can resemble
	beepConfidence  = 0.9
	quietConfidence = 0.9
	noneConfidence  = 0.5
)

// judge returns a verdict once the evidence is sufficient.
func (d *Detector) judge() (engine.Verdict, float64) {
	t, now := &d.tones, span(d.ear.frames)
	music := d.music || t.melody
	switch {
	case t.sit:
		return engine.VerdictSIT, sureTone
	case t.fax && t.calling:
		return engine.VerdictFax, callingTone
	case t.fax:
		return engine.VerdictFax, sureTone
	case t.beep && !music:
		return engine.VerdictMachine, beepConfidence
	}
	late := now >= d.cfg.Timeout
	pending := t.pending(d.ear.frames) && now < d.cfg.TalkTimeout
	if music || t.progress || !d.voice.heard {
		switch {
		case !late || pending:
			if !music && !t.progress || now < d.cfg.Timeout {
				return "", 0
			}
			return engine.VerdictUnknown, noneConfidence
		case music || t.progress || t.pures > 0 || t.rings > 10 || t.tones.sounding() >= toneMin:
			return engine.VerdictUnknown, noneConfidence
		}
		return engine.VerdictSilence, quietConfidence
	}
	return d.judgeSpeech(now, pending)
}

// screenerSure is the probability required for a verdict of call screening.
const screenerSure = 0.8

// judgeSpeech applies the rule every 80 ms of a call with speech, and in every frame of a pause.
func (d *Detector) judgeSpeech(now time.Duration, pending bool) (engine.Verdict, float64) {
	v := &d.voice
	over := now >= d.cfg.TalkTimeout
	step := (d.ear.frames-d.words.from)%askFrames == 0 || over
	if !step && (v.pause == 0 || !d.scored) {
		return "", 0
	}
	if step {
		d.before, d.score = d.score, d.words.machine()
		if !d.scored {
			d.before, d.scored = d.score, true
		}
	}
	m := Moment{At: now, Talk: span(v.talk), Pause: span(v.pause), Score: d.score + d.cfg.Bias,
		Before: d.before + d.cfg.Bias, Late: over}
	if d.watch.Moment != nil && step {
		d.watch.Moment(m, &d.x)
	}
	if pending {
		return "", 0 // what fills this pause is not known yet
	}
	verdict, confidence := d.cfg.Model.Rule.Decide(m)
	if verdict == "" {
		return "", 0
	}
	if p := d.words.screener(); p > screenerSure {
		return engine.VerdictScreener, p
	}
	return verdict, confidence
}
