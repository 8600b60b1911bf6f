package training

import (
	"time"

	"dialler/engine"
	"dialler/media/amd"
	"dialler/media/amd/corpus"
)

// Heard is what the classifier made of one recording.
type Heard struct {
	Recording corpus.Recording
	Decision  amd.Decision
	Revised   bool          // a later beep made it a machine
	Tones     []string      // progress, beep, music
	Media     time.Duration // how much was listened to
}

// Hear classifies one recording, and listens to its end for tones.
func Hear(rec corpus.Recording, cfg amd.Config) Heard {
	h := Heard{Recording: rec}
	d := amd.New(cfg)
	length := time.Duration(len(rec.Samples)) * time.Second / corpus.Rate
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

// CrossValidate measures the first folder: each recording with a model of
// which trees and rule have seen nothing of its group.
func (s *Set) CrossValidate(group func(corpus.Recording) string) []Heard {
	scores, models := s.crossScores(group)
	of := make([]int, len(s.recordings))
	for i, r := range s.recordings {
		of[i] = fold(group(r))
	}
	out := make([]Heard, s.main)
	for f := range folds {
		others := func(i int) bool { return of[i] != f }
		m := &amd.Model{Features: amd.FeatureNames[:], Machine: models[f]}
		m.Rule = tune(s.scoredOf(scores, others), s.opt.Seed)
		m.Music = boost(s.musicRows(others), s.skip(), (s.opt.trees+1)/2, s.opt.Seed+1)
		for i := range s.main {
			if of[i] == f {
				out[i] = Hear(s.recordings[i], amd.Config{Model: m})
			}
		}
		s.opt.Log("fold %d of %d done", f+1, folds)
	}
	return out
}

// ByVoice and BySource group recordings for CrossValidate.
var (
	ByVoice  = byVoice
	BySource = bySource
)

// Right says whether a verdict is what a label asks for.
func Right(label string, v engine.Verdict) bool {
	switch label {
	case "beep":
		return v == engine.VerdictMachine
	case "music", "progress":
		return v == engine.VerdictUnknown
	}
	return label == string(v)
}
