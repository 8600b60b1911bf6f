package training

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"dialler/bench/corpus"
	"dialler/media/amd"
)

// Options of training.
type Options struct {
	Seed uint64
	// Skip names features that the classifier may not use.
	Skip []string
	// Epochs is the number of epochs of training; 0 means 240.
	Epochs int
	// Pace is Adam's learning rate in the first three quarters; 0 means 1.5e-3. Continued training
	// benefits from a lower rate.
	Pace float64
	// Enough is polled for whether the training so far suffices: if it returns true, the training
	// ends a third later. It may be nil.
	Enough func() bool
	// Beside is how many folders after the first are, like it, only used for measuring and tuning,
	// so that no net learns from them.
	Beside int
	// From is a net to continue training; nil means a new one.
	From *amd.Net
	// Nets, if any, are used as they are, without training.
	Nets []*amd.Net
	// Keep is called now and then with the training so far: a net, and a rule without meaning yet.
	// It may be nil.
	Keep func(*amd.Model)
	// Log receives progress messages; it may be nil.
	Log func(format string, args ...any)

	trees, batches, look int // 0: those of a real training
	shape                amd.Shape
}

// Set is the data for training and measuring: all recordings with their traces.
type Set struct {
	opt        Options
	data       []amd.TrainedOn
	recordings []corpus.Recording
	main       int // number of recordings in the first folder and those beside it
	traces     []trace
	scoredWith []*amd.Net
	scoredAs   [][]float64
}

// fewest is the minimum number of recordings per label.
const fewest = 6

// Prepare analyses all recordings. The first folder, with those beside it, is used for tuning and
// measuring rules. Errors: training_labels.
func Prepare(folders []*corpus.Folder, opt Options) (*Set, error) {
	s := &Set{opt: opt}
	if s.opt.Log == nil {
		s.opt.Log = func(string, ...any) {}
	}
	if s.opt.trees == 0 {
		s.opt.trees = rounds
	}
	if s.opt.Epochs == 0 {
		s.opt.Epochs = epochs
	}
	if s.opt.Pace == 0 {
		s.opt.Pace = pace
	}
	if s.opt.look == 0 {
		s.opt.look = looks
	}
	if s.opt.batches == 0 {
		s.opt.batches = perEpoch
	}
	if s.opt.shape.Features == 0 {
		s.opt.shape = shapeOfNets
	}
	for i, f := range folders {
		s.data = append(s.data, amd.TrainedOn{Name: f.Name, Files: len(f.Recordings), SHA256: f.SHA256})
		s.recordings = append(s.recordings, f.Recordings...)
		if i <= s.opt.Beside {
			s.main = len(s.recordings)
		}
	}
	labels := map[string]int{}
	for _, r := range s.recordings {
		labels[r.Label]++
	}
	if labels["human"] < fewest || labels["machine"] < fewest {
		return nil, errors.New("training_labels: there are too few recordings labelled human and machine: name a folder " +
			"with a labels.csv that has some of each")
	}
	s.traces = listenAll(s.recordings, func(i int) plan {
		if i >= s.main {
			// Half of them are used for training only in degraded form, as in calls.
			return plan{plain: i%2 == 0 || s.apart(i), worse: 1, music: i%musicPart == 0}
		}
		p := plan{plain: true, worse: 2, music: true}
		switch r := &s.recordings[i]; {
		case r.Label == "music":
			p.worse = 12
		case r.Label != "human" && r.Label != "machine":
			p.worse = 0
		}
		return p
	}, opt.Seed)
	s.opt.Log("heard %d recordings, %d with what was made of them", len(s.recordings), len(s.traces))
	return s, nil
}

// lot is the share, one of so many, to which a group of recordings is assigned: the same on every
// machine.
func lot(group string, of int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(group)) // never fails
	return int(h.Sum32()>>3) % of
}

// musicPart is the divisor for the share of the other folders used to learn to recognise music.
const musicPart = 8

// musicRows returns rows of music against rows of all speech.
func (s *Set) musicRows(use func(int) bool) []row {
	var rows []row
	for i := range s.traces {
		t := &s.traces[i]
		rec := &s.recordings[t.of]
		music := rec.Label == "music"
		if !use(t.of) || t.of >= s.main && (t.worse || t.of%musicPart > 0) || !music && rec.Label != "machine" &&
			rec.Label != "human" {
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

// score plays nets over a trace and returns the mean log-odds of a machine at every moment.
func score(nets []*amd.Net, t *trace) []float64 {
	mean := make([]float64, len(t.moments))
	for _, n := range nets {
		for i, v := range scoreOne(n, t) {
			mean[i] += v / float64(len(nets))
		}
	}
	return mean
}

func scoreOne(n *amd.Net, t *trace) []float64 {
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

// tuneWith finds the rule for nets with recordings of the first folder.
func (s *Set) tuneWith(n []*amd.Net, use func(int) bool) amd.Rule {
	var set []scored
	for i, scores := range s.scores(n) {
		t := &s.traces[i]
		if scores == nil || !use(t.of) {
			continue
		}
		rec := &s.recordings[t.of]
		weight := rec.Weight
		if t.worse {
			weight *= 0.3
		}
		set = append(set, scored{t: t, scores: scores, human: rec.Label == "human", weight: weight})
	}
	return tune(set, s.opt.Seed)
}

// scores plays nets over the traces used for tuning rules; the others are nil.
func (s *Set) scores(n []*amd.Net) [][]float64 {
	if slices.Equal(s.scoredWith, n) {
		return s.scoredAs
	}
	s.scoredWith, s.scoredAs = n, make([][]float64, len(s.traces))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				s.scoredAs[i] = score(n, &s.traces[i])
			}
		})
	}
	for i := range s.traces {
		t := &s.traces[i]
		if label := s.recordings[t.of].Label; t.of < s.main && (label == "human" || label == "machine") {
			next <- i
		}
	}
	close(next)
	wg.Wait()
	return s.scoredAs
}

func byVoice(r corpus.Recording) string {
	if r.Voice == "" {
		return r.File
	}
	return r.Voice
}

func bySource(r corpus.Recording) string { return r.Source }

// trained says whether a net learns from a recording: from all folders except the first, so that
// rules can be tuned with that; from the first only if there is no other. Unless there is a folder
// beside the first, one voice in eight is left out, to check the net on voices that it does not
// know.
func (s *Set) trained(i int) bool { return s.usable(i) && !s.apart(i) }

func (s *Set) usable(i int) bool { return i >= s.main || s.main == len(s.recordings) }

func (s *Set) apart(i int) bool {
	return s.opt.Beside == 0 && lot(byVoice(s.recordings[i]), 8) == 0
}

// unheard says whether a recording is kept from training.
func (s *Set) unheard(i int) bool { return !s.usable(i) || s.apart(i) }

// looks is the number of epochs between calls of check.
const looks = 12

// marks are the moments at which check evaluates, besides the end.
var marks = []time.Duration{1500 * time.Millisecond, 2 * time.Second, 2500 * time.Millisecond, 3 * time.Second,
	4 * time.Second}

// check reports how much of unknown data nets get right if they must decide at a given moment: in
// the first folder, and for voices left out of the others.
func (s *Set) check(n []*amd.Net) {
	for _, of := range []struct {
		name string
		use  func(int) bool
	}{
		{"first folder", func(i int) bool { return i < s.main && s.main < len(s.recordings) }},
		{"voices that were left out", func(i int) bool { return i%3 == 0 && s.usable(i) && s.apart(i) }},
	} {
		right, all := make([]int, len(marks)+1), make([]int, len(marks)+1)
		for i := range s.traces {
			t := &s.traces[i]
			label := s.recordings[t.of].Label
			if t.worse || len(t.moments) == 0 || !of.use(t.of) || label != "human" && label != "machine" {
				continue
			}
			scores := score(n, t)
			for k := range right {
				at := len(scores) - 1
				for k < len(marks) && at >= 0 && t.moments[at].At > marks[k] {
					at--
				}
				if at < 0 {
					continue // nobody has spoken yet
				}
				all[k]++
				if scores[at] > 0 == (label == "machine") {
					right[k]++
				}
			}
		}
		text := ""
		for k := range right {
			when := "end"
			if k < len(marks) {
				when = marks[k].String()
			}
			text += fmt.Sprintf(" %s %.1f %%", when, 100*float64(right[k])/math.Max(1, float64(all[k])))
		}
		if n := all[len(marks)]; n > 0 {
			s.opt.Log("%s, %d recordings, right at:%s", of.name, n, text)
		}
	}
}

func (s *Set) music(use func(int) bool) amd.Ensemble {
	return boost(s.musicRows(use), s.skip(), (s.opt.trees+1)/2, s.opt.Seed+1)
}

// Fit builds the model from all recordings.
func (s *Set) Fit() *amd.Model {
	all := func(int) bool { return true }
	m := &amd.Model{Seed: s.opt.Seed, Data: s.data, Features: amd.FeatureNames[:], Nets: s.opt.Nets}
	if len(m.Nets) == 0 {
		m.Nets, m.Epochs = s.learn(s.trained, s.opt.Seed)
	} else {
		m.Epochs = s.opt.Epochs
	}
	s.check(m.Nets)
	m.Rule, m.Music = s.tuneWith(m.Nets, all), s.music(all)
	return m
}
