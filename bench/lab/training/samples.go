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
	step int // of the net, the last one
	x    *amd.Vector
}

// trace is one recording, or one that was made worse of it, as the classifier
// goes through it.
type trace struct {
	of      int // index of the recording
	worse   bool
	moments []moment
	steps   []uint8        // what the net is given, packed
	counts  []float32      // what each step counts in training
	spoken  time.Duration  // in the whole recording, when that was listened to
	ended   engine.Verdict // what its tones said, or silence
	endedAt time.Duration
}

// horizon is how much of a call is learned from.
const horizon = 5 * time.Second

var never = amd.Rule{PauseMin: horizon, PauseMax: horizon, MachineEarly: math.Inf(1), MachineLate: math.Inf(1), MachineEnd: math.Inf(1)}

// wholeCall is how much of a recording is listened to when it counts how long
// was spoken in all.
const wholeCall = 30 * time.Second

// listen follows the samples as a call does; music: what music is known by is
// kept; whole: it is listened to to its end.
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

// feed gives the samples frame by frame, silence after them, until next says
// no or for that long.
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

// plan says which traces are made of a recording: as it is, so many times made
// worse, and whether with what music is known by.
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
