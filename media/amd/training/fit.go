package training

import (
	"errors"
	"hash/fnv"

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

	trees, epochs, batches int // those of a real training when 0
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

// fewest recordings of a label.
const fewest = 6

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
	if s.opt.epochs == 0 {
		s.opt.epochs = epochs
	}
	if s.opt.batches == 0 {
		s.opt.batches = perEpoch
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
	if labels["human"] < fewest || labels["machine"] < fewest {
		return nil, errors.New("training_labels: there are too few recordings labelled human and machine: name a folder with a labels.csv that has some of each")
	}
	s.traces = listenAll(s.recordings, s.main, func(i int) int {
		r := &s.recordings[i]
		switch {
		case i >= s.main:
			return 1
		case r.Label == "music":
			return 12
		case r.Label != "human" && r.Label != "machine":
			return 0
		}
		return 2
	}, opt.Seed)
	s.first = make([]int, len(s.recordings))
	for i := len(s.traces) - 1; i >= 0; i-- {
		s.first[s.traces[i].of] = i
	}
	s.opt.Log("heard %d recordings, %d with what was made of them", len(s.recordings), len(s.traces))
	return s, nil
}

// lot of so many to which a group of recordings belongs, the same on every
// machine.
func lot(group string, of int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(group)) // never fails
	return int(h.Sum32()>>3) % of
}

// musicRows: music against everything that is spoken.
func (s *Set) musicRows(use func(int) bool) []row {
	var rows []row
	for i := range s.traces {
		t := &s.traces[i]
		rec := &s.recordings[t.of]
		music := rec.Label == "music"
		if !use(t.of) || t.of >= s.main && (t.worse || t.of%8 > 0) || !music && rec.Label != "machine" && rec.Label != "human" {
			continue
		}
		for k := range t.moments {
			if m := &t.moments[k]; m.Talk.Seconds() > 0.5 && m.Pause.Seconds() < 0.2 {
				w := 1.0
				if music {
					w = 3
				}
				rows = append(rows, row{x: m.x, y: music, weight: w})
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

// score plays a net over a trace: its log-odds of a machine at every moment.
func score(n *amd.Net, t *trace) []float64 {
	var state amd.State
	var x amd.Step
	out := make([]float64, len(t.moments))
	at := 0
	for step := range len(t.steps) / amd.Inputs {
		for k, q := range t.steps[step*amd.Inputs : (step+1)*amd.Inputs] {
			x[k] = unpack(q)
		}
		n.Hear(&state, &x)
		for at < len(out) && t.moments[at].step <= step {
			out[at] = state.Machine()
			at++
		}
	}
	for ; at < len(out); at++ {
		out[at] = state.Machine()
	}
	return out
}

// tuneWith finds the rule for a net with recordings of the first folder.
func (s *Set) tuneWith(n *amd.Net, use func(int) bool) amd.Rule {
	var set []scored
	for i := range s.traces {
		t := &s.traces[i]
		rec := &s.recordings[t.of]
		if t.of >= s.main || !use(t.of) || rec.Label != "human" && rec.Label != "machine" {
			continue
		}
		weight := rec.Weight
		if t.worse {
			weight *= 0.3
		}
		set = append(set, scored{t: t, scores: score(n, t), human: rec.Label == "human", weight: weight})
	}
	return tune(set, s.opt.Seed)
}

func byVoice(r corpus.Recording) string {
	if r.Voice == "" {
		return r.File
	}
	return r.Voice
}

func bySource(r corpus.Recording) string { return r.Source }

// trained says whether a net learns from a recording: of all folders but the
// first, of which it knows nothing, so that a rule can be tuned with that; with
// the first when there is no other. One voice in eight is left out, to see what
// the net makes of voices that it does not know.
func (s *Set) trained(i int) bool { return s.usable(i) && !s.apart(i) }

func (s *Set) usable(i int) bool { return i >= s.main || s.main == len(s.recordings) }

func (s *Set) apart(i int) bool { return lot(byVoice(s.recordings[i]), 8) == 0 }

// check says how often the net has the voices that it does not know right, once
// all is said.
func (s *Set) check(n *amd.Net) {
	right, all := 0, 0
	for i := range s.traces {
		t := &s.traces[i]
		label := s.recordings[t.of].Label
		if t.worse || len(t.moments) == 0 || !s.usable(t.of) || !s.apart(t.of) || label != "human" && label != "machine" {
			continue
		}
		all++
		if scores := score(n, t); scores[len(scores)-1] > 0 == (label == "machine") {
			right++
		}
	}
	s.opt.Log("voices that were left out: %d of %d right at their end", right, all)
}

func (s *Set) music(use func(int) bool) amd.Ensemble {
	return boost(s.musicRows(use), s.skip(), (s.opt.trees+1)/2, s.opt.Seed+1)
}

// Fit makes the model of all recordings.
func (s *Set) Fit() *amd.Model {
	all := func(int) bool { return true }
	m := &amd.Model{Seed: s.opt.Seed, Data: s.data, Features: amd.FeatureNames[:], Net: s.learn(s.trained, s.opt.Seed)}
	s.check(m.Net)
	m.Rule, m.Music = s.tuneWith(m.Net, all), s.music(all)
	return m
}
