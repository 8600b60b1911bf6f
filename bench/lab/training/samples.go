package training

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"dialler/bench/corpus"
	"dialler/engine"
	"dialler/media/amd"
	"dialler/media/wav"
)

// moment is what the rule will see of a trace, and what the classifier saw.
type moment struct {
	amd.Moment
	step int // the last step of the net
	x    *amd.Vector
}

// trace is one recording, or a degraded copy of it, as processed by the classifier.
type trace struct {
	of      int // index of the recording
	worse   bool
	moments []moment
	steps   []uint8        // inputs of the net, packed
	counts  []float32      // the weight of each step in training
	spoken  time.Duration  // in the whole recording, if that was processed
	ended   engine.Verdict // verdict by its tones, or silence
	endedAt time.Duration
}

// horizon is how much of a call is used for training.
const horizon = 5 * time.Second

var never = amd.Rule{PauseMin: horizon, PauseMax: horizon, MachineEarly: math.Inf(1), MachineLate: math.Inf(1),
	MachineEnd: math.Inf(1)}

// wholeCall is how much of a recording is processed when the total time of speech matters.
const wholeCall = 30 * time.Second

// listen processes the samples as a call does. music means that the features for recognising music
// are kept; whole means that it is processed to its end.
func listen(of int, samples []int16, worse, music, whole bool) trace {
	t := trace{of: of, worse: worse}
	steps := 0
	d := amd.New(amd.Config{Timeout: 3 * time.Second, TalkTimeout: horizon, Model: &amd.Model{Rule: never}})
	d.Watch(amd.Watcher{
		Step: func(x *amd.Step) {
			if steps++; steps > longest {
				return
			}
			for _, v := range x {
				t.steps = append(t.steps, pack(v))
			}
		},
		Moment: func(m amd.Moment, x *amd.Vector) {
			one := moment{Moment: m, step: min(steps, longest) - 1}
			if music {
				x := *x
				one.x = &x
			}
			t.moments = append(t.moments, one)
		},
	})
	long := horizon
	if whole {
		long = max(horizon, min(wholeCall, time.Duration(len(samples))*time.Second/wav.Rate))
	}
	feed(samples, long, func(frame []int16) bool {
		dec, ok := d.Feed(frame)
		if ok {
			t.ended, t.endedAt = dec.Verdict, dec.At
		}
		return whole || !ok
	})
	t.spoken = d.Spoken()
	t.counts = counts(t.moments, len(t.steps)/amd.Inputs)
	t.steps = slices.Clip(t.steps)
	return t
}

// feed passes the samples frame by frame, followed by silence, until next returns false or for the
// given time.
func feed(samples []int16, long time.Duration, next func([]int16) bool) {
	var frame [amd.FrameSamples]int16
	for range long / (20 * time.Millisecond) {
		n := copy(frame[:], samples)
		clear(frame[n:])
		samples = samples[n:]
		if !next(frame[:]) {
			return
		}
	}
}

// plan says which traces to make of a recording: the plain one, how many degraded ones, and whether
// with the features for recognising music.
type plan struct {
	plain bool
	worse int
	music bool
}

// listenAll makes the traces of all recordings. The order does not depend on
// the machine.
func listenAll(recordings []corpus.Recording, plans func(int) plan, seed uint64) []trace {
	out := make([][]trace, len(recordings))
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				rec, p := recordings[i], plans(i)
				r := rand.New(rand.NewPCG(seed, uint64(i))) //nolint:gosec // reproducible, no secret
				if p.plain {
					out[i] = append(out[i], listen(i, rec.Samples, false, p.music, rec.Sounds != ""))
				}
				for range p.worse {
					out[i] = append(out[i], listen(i, corpus.Random(r).Apply(rec.Samples), true, p.music, rec.Sounds != ""))
				}
			}
		})
	}
	for i := range recordings {
		next <- i
	}
	close(next)
	wg.Wait()
	var all []trace
	for _, t := range out {
		all = append(all, t...)
	}
	return all
}
