package amd

import "math"

// The input of the net: MelBands of the spectrum of StackFrames frames, every stepSpan frames since
// speech began, relative to the loudest frame so far; and Timings: how long the speech was, and
// with which pauses.
const (
	MelBands    = 24
	StackFrames = 4
	Timings     = 8
	// Inputs is the number of inputs to the net at each step.
	Inputs = MelBands*StackFrames + Timings
	// InputLimit is the largest absolute value of an input.
	InputLimit = 2.5

	stepSpan = 2
	// begun is how many steps are made up for when speech is first heard.
	begun = 3
	kept  = StackFrames + (begun-1)*stepSpan
)

// Step is the net's input for one step.
type Step [Inputs]float32

// mel are the weights of the spectrum's bins in the bands: triangles, equally spaced on the mel
// scale from 100 to 3800 Hz.
var mel [MelBands]struct {
	first   int
	weights []float32
}

func init() {
	scale := func(hz float64) float64 { return 1127 * math.Log1p(hz/700) }
	low, high := scale(100), scale(3800)
	width := (high - low) / (MelBands + 1)
	for b := range mel {
		m := &mel[b]
		centre := low + float64(b+1)*width
		for k := 1; k < bins-1; k++ {
			w := 1 - math.Abs(scale(float64(k)*binHz)-centre)/width
			if w <= 0 {
				continue
			}
			if m.first == 0 {
				m.first = k
			}
			m.weights = append(m.weights, float32(w))
		}
	}
}

// words is the speech as the net hears it.
type words struct {
	frames [kept][MelBands]float32 // dB, the latest ones
	at     int                     // of the next frame
	from   int                     // frame of the call at the first step
	step   Step
	states [MostNets]State
	nets   int
	steps  int
}

// hear keeps the bands of a frame.
//
//go:norace
func (w *words) hear(e *ear) {
	f := &w.frames[w.at]
	w.at = (w.at + 1) % kept
	if e.level <= digital {
		for b := range f {
			f[b] = digital - 30
		}
		return
	}
	scale := float32(windowPower)
	for b := range f {
		var sum float32
		m := &mel[b]
		for i, p := range e.power[m.first : m.first+len(m.weights)] {
			sum += p * m.weights[i]
		}
		f[b] = float32(10 * math.Log10(float64(sum*scale)+1e-12))
	}
}

// next feeds the net the step that ended back frames ago.
func (w *words) next(nets []*Net, v *voice, e *ear, back int, watch func(*Step)) {
	at := w.at - StackFrames - back + 2*kept
	for k := range StackFrames {
		for b, db := range w.frames[(at+k)%kept] {
			w.step[k*MelBands+b] = limit((db - float32(v.peak) + 30) / 15)
		}
	}
	v.timing(e, w.step[MelBands*StackFrames:])
	w.steps++
	if watch != nil {
		watch(&w.step)
	}
	w.nets = min(len(nets), MostNets)
	for i, n := range nets[:w.nets] {
		n.Hear(&w.states[i], &w.step)
	}
}

// machine returns the log-odds of a machine and screener the probability of call screening: the
// means over the nets.
func (w *words) machine() float64 {
	sum := 0.0
	for i := range w.nets {
		sum += w.states[i].Machine()
	}
	return sum / float64(max(1, w.nets))
}

func (w *words) screener() float64 {
	sum := 0.0
	for i := range w.nets {
		sum += w.states[i].Screener()
	}
	return sum / float64(max(1, w.nets))
}

func limit(x float32) float32 { return min(InputLimit, max(-InputLimit, x)) }

// timing describes when there was speech so far.
func (v *voice) timing(e *ear, x []float32) {
	sec := func(frames int) float32 { return float32(frames) / 50 }
	loud := float32(0)
	if v.pause == 0 {
		loud = 1
	}
	x[0] = loud
	x[1] = limit(2 * sec(v.pause))
	x[2] = limit(sec(v.talk) / 2)
	x[3] = limit(sec(e.frames-v.onset) / 2)
	x[4] = limit(float32(v.words) / 4)
	x[5] = limit(2 * sec(v.longest))
	x[6] = limit(2 * sec(v.phrase))
	x[7] = limit(float32(2*e.voiced - 1))
}
