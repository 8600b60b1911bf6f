package training

import (
	"time"

	"dialler/bench/corpus"
	"dialler/engine"
	"dialler/media/amd"
	"dialler/media/wav"
)

// Heard is the classifier's result for one recording.
type Heard struct {
	Recording corpus.Recording
	Decision  amd.Decision
	Revised   bool          // a later beep made it a machine
	Tones     []string      // progress, beep, music
	Media     time.Duration // length of audio classified
}

// Hear classifies one recording, and listens to its end for tones.
func Hear(rec corpus.Recording, cfg amd.Config) Heard {
	h := Heard{Recording: rec}
	d := amd.New(cfg)
	length := time.Duration(len(rec.Samples)) * time.Second / wav.Rate
	decided := false
	feed(rec.Samples, max(length+20*time.Millisecond, 7*time.Second), func(frame []int16) bool {
		h.Media += 20 * time.Millisecond
		dec, ok := d.Feed(frame)
		if ok {
			h.Decision, decided = dec, true
		}
		if decided && !h.Revised {
			_, h.Revised = d.Revised()
		}
		return !decided || h.Media < length
	})
	h.Tones = d.Tones()
	h.Recording.Samples = nil
	return h
}

// Evaluate measures a model on recordings.
func Evaluate(recordings []corpus.Recording, cfg amd.Config) []Heard {
	out := make([]Heard, len(recordings))
	for i, r := range recordings {
		out[i] = Hear(r, cfg)
	}
	return out
}

// rules is the number of parts of the first folder that each have a rule of their own, tuned with
// the other parts.
const rules = 6

// CrossValidate measures the first folder with models that know none of its recordings, nor, of the
// other folders, anything of a group (a voice, a source) that is measured with them. The groups are
// divided among that many models. Rule and music come from the other groups. With Options.Nets it
// measures those nets, with such rules.
func (s *Set) CrossValidate(group func(corpus.Recording) string, models int) []Heard {
	out := make([]Heard, s.main)
	for f := range models {
		measured, known := s.sides(group, f, models)
		nets := s.opt.Nets
		if len(nets) == 0 {
			nets, _ = s.learn(known, s.opt.Seed)
		}
		s.measure(out, nets, group, measured)
		s.opt.Log("model %d of %d measured", f+1, models)
	}
	return out
}

// measure classifies the measured groups, with rules tuned on the others.
func (s *Set) measure(out []Heard, nets []*amd.Net, group func(corpus.Recording) string, measured map[string]bool) {
	for k := range rules {
		m := &amd.Model{Nets: nets}
		others := func(i int) bool { return i < s.main && lot(group(s.recordings[i]), rules) != k }
		m.Rule, m.Music = s.tuneWith(nets, others), s.music(others)
		for i, r := range s.recordings[:s.main] {
			if g := group(r); measured[g] && lot(g, rules) == k {
				out[i] = Hear(r, amd.Config{Model: m})
			}
		}
	}
}

// sides returns, for model f of the cross-validation, the groups measured with it, and the
// recordings that it may know.
func (s *Set) sides(group func(corpus.Recording) string, f, models int) (measured map[string]bool,
	known func(int) bool) {
	measured = map[string]bool{}
	for _, r := range s.recordings[:s.main] {
		if g := group(r); lot(g, models) == f {
			measured[g] = true
		}
	}
	return measured, func(i int) bool { return i >= s.main && s.trained(i) && !measured[group(s.recordings[i])] }
}

// ByVoice and BySource group recordings for CrossValidate.
var (
	ByVoice  = byVoice
	BySource = bySource
)

// Right says whether a verdict matches a label.
func Right(label string, v engine.Verdict) bool {
	switch label {
	case "beep":
		return v == engine.VerdictMachine
	case "music", "progress":
		return v == engine.VerdictUnknown
	}
	return label == string(v)
}
