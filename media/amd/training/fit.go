package training

import (
	"errors"
	"hash/fnv"
	"math"

	"dialler/media/amd"
	"dialler/media/amd/corpus"
)

// Options of training.
type Options struct {
	Seed uint64
	// Skip names features that the classifier may not use.
	Skip []string
	// Log hears what is going on; it may be nil.
	Log func(format string, args ...any)

	trees int // rounds when 0
}

// Set is what is trained on and measured with: all recordings with their
// traces.
type Set struct {
	opt        Options
	data       []amd.TrainedOn
	recordings []corpus.Recording
	main       int // recordings of the first folder, those that count most
	traces     []trace
	first      []int // of each recording, its trace as it is
}

// folds of a cross-validation.
const folds = 6

// Prepare hears all recordings. The first folder counts most, and is the one
// that Evaluate measures. Errors: training_labels.
func Prepare(folders []*corpus.Folder, opt Options) (*Set, error) {
	s := &Set{opt: opt}
	if s.opt.Log == nil {
		s.opt.Log = func(string, ...any) {}
	}
	if s.opt.trees == 0 {
		s.opt.trees = rounds
	}
	for i, f := range folders {
		s.data = append(s.data, amd.TrainedOn{Name: f.Name, Files: len(f.Recordings), SHA256: f.SHA256})
		s.recordings = append(s.recordings, f.Recordings...)
		if i == 0 {
			s.main = len(s.recordings)
		}
	}
	labels := map[string]int{}
	for _, r := range s.recordings {
		labels[r.Label]++
	}
	if labels["human"] < folds || labels["machine"] < folds {
		return nil, errors.New("training_labels: there are too few recordings labelled human and machine: name a folder with a labels.csv that has some of each")
	}
	s.traces = listenAll(s.recordings, func(i int) int {
		r := &s.recordings[i]
		switch {
		case i >= s.main:
			return 1
		case r.Label == "music":
			return 12
		case r.Label != "human" && r.Label != "machine":
			return 0
		case r.Real:
			return 8
		}
		return 3
	}, opt.Seed)
	s.first = make([]int, len(s.recordings))
	for i := len(s.traces) - 1; i >= 0; i-- {
		s.first[s.traces[i].of] = i
	}
	s.opt.Log("heard %d recordings, %d with what was made of them", len(s.recordings), len(s.traces))
	return s, nil
}

// fold of a group of recordings, the same on every machine.
func fold(group string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(group)) // never fails
	return int(h.Sum32()>>3) % folds
}

// rows gives what to learn machine against human from; use says which
// recordings.
func (s *Set) rows(use func(int) bool) []row {
	var rows []row
	var weights [2]float64
	for i := range s.traces {
		t := &s.traces[i]
		rec := &s.recordings[t.of]
		machine := rec.Label == "machine"
		if len(t.moments) == 0 || !use(t.of) || !machine && rec.Label != "human" {
			continue
		}
		weight := 1.0
		if rec.Real {
			weight = 1.3
		}
		if t.of >= s.main {
			weight = 0.7
		}
		if !t.worse {
			weight *= 1.5
		}
		begin := len(rows)
		stride := 1
		if t.of >= s.main {
			stride = 2
		}
		for k := 0; k < len(t.moments); k += stride {
			m := &t.moments[k]
			// What comes after the verdict is due is not learned from.
			if m.Pause.Seconds() > 1.2 || m.At.Seconds() > 6 {
				break
			}
			rows = append(rows, row{x: &m.x, y: machine})
		}
		each := weight / math.Sqrt(float64(max(1, len(rows)-begin)))
		for k := begin; k < len(rows); k++ {
			rows[k].weight = each
			if machine {
				weights[1] += each
			} else {
				weights[0] += each
			}
		}
	}
	// Both sides weigh the same: how many machines there are says a campaign,
	// not a corpus. The mean weight is 1.
	for i := range rows {
		side := 0
		if rows[i].y {
			side = 1
		}
		rows[i].weight *= float64(len(rows)) / 2 / weights[side]
	}
	return rows
}

// musicRows: music against everything that is spoken.
func (s *Set) musicRows(use func(int) bool) []row {
	var rows []row
	for i := range s.traces {
		t := &s.traces[i]
		rec := &s.recordings[t.of]
		music := rec.Label == "music"
		if !use(t.of) || t.of >= s.main && t.worse || !music && rec.Label != "machine" && rec.Label != "human" {
			continue
		}
		for k := range t.moments {
			if m := &t.moments[k]; m.Talk.Seconds() > 0.5 && m.Pause.Seconds() < 0.2 {
				w := 1.0
				if music {
					w = 3
				}
				rows = append(rows, row{x: &m.x, y: music, weight: w})
			}
		}
	}
	return rows
}

func (s *Set) skip() map[string]bool {
	skip := map[string]bool{}
	for _, name := range s.opt.Skip {
		skip[name] = true
	}
	return skip
}

// crossScores gives, for every trace of a person or machine, the scores of a
// classifier that knows nothing of its group; nil of those that are in no
// group.
func (s *Set) crossScores(group func(corpus.Recording) string) (out [][]float64, models [folds]amd.Ensemble) {
	out = make([][]float64, len(s.traces))
	of := make([]int, len(s.recordings))
	for i, r := range s.recordings {
		of[i] = fold(group(r))
	}
	for f := range folds {
		models[f] = boost(s.rows(func(i int) bool { return of[i] != f }), s.skip(), s.opt.trees, s.opt.Seed)
		for i := range s.traces {
			if of[s.traces[i].of] == f {
				out[i] = score(&models[f], &s.traces[i])
			}
		}
	}
	return out, models
}

// scoredOf picks what a rule is tuned with.
func (s *Set) scoredOf(scores [][]float64, use func(int) bool) []scored {
	var set []scored
	for i := range s.traces {
		t := &s.traces[i]
		rec := &s.recordings[t.of]
		if !use(t.of) || rec.Label != "human" && rec.Label != "machine" {
			continue
		}
		weight := 1.0
		switch {
		case t.of >= s.main:
			weight = 0.05
		case t.worse:
			weight = 0.3
		}
		set = append(set, scored{t: t, scores: scores[i], human: rec.Label == "human", weight: weight})
	}
	return set
}

func byVoice(r corpus.Recording) string {
	if r.Voice == "" {
		return r.File
	}
	return r.Voice
}

func bySource(r corpus.Recording) string { return r.Source }

// Fit makes the model of all recordings; its rule is tuned with scores from a
// cross-validation by voice.
func (s *Set) Fit() *amd.Model {
	all := func(int) bool { return true }
	scores, _ := s.crossScores(byVoice)
	m := &amd.Model{Seed: s.opt.Seed, Data: s.data, Features: amd.FeatureNames[:]}
	m.Rule = tune(s.scoredOf(scores, all), s.opt.Seed)
	m.Machine = boost(s.rows(all), s.skip(), s.opt.trees, s.opt.Seed)
	m.Music = boost(s.musicRows(all), s.skip(), (s.opt.trees+1)/2, s.opt.Seed+1)
	return m
}
