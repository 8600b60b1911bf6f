package training

import (
	"math"
	"math/rand/v2"

	"dialler/media/amd"
)

// warp is a random change of a sequence.
type warp struct {
	from     [amd.MelBands]int
	share    [amd.MelBands]float32
	line     [amd.MelBands]float32 // louder or quieter
	noise    [amd.MelBands]float32 // minimum level of each band
	noisy    uint64                // seed of its variations; 0 without
	mask     [2]int                // bands left out
	gap      [2]int                // steps left out
	dropped  uint64                // seed of the dropout between layers; 0 without
	untimed  bool                  // the timing inputs are left out
	straight bool
}

// asItIs changes nothing.
func asItIs() *warp { return &warp{straight: true} }

func warpOf(r *rand.Rand) *warp {
	w := new(warp)
	stretch, tilt, bow, gain := 0.0, 0.0, 0.0, 0.0
	if w.straight = r.IntN(4) == 0; !w.straight {
		stretch, tilt, bow, gain = 0.13*r.NormFloat64(), 0.2*r.NormFloat64(), 0.2*r.NormFloat64(), 0.1*r.NormFloat64()
	}
	stretch = max(-0.25, min(0.25, stretch))
	level, slope := 0.0, 0.0
	if r.IntN(3) == 0 {
		w.noisy = r.Uint64() | 1
		level, slope = float64(2.1*r.Float64())-1.6, 0.8*(r.Float64()-0.5)
	}
	for b := range w.from {
		// A longer or shorter vocal tract shifts higher frequencies more.
		at := float64(b) + float64(stretch*8*math.Min(1, float64(b)/8))
		at = math.Max(0, math.Min(amd.MelBands-1.001, at))
		w.from[b], w.share[b] = int(at), float32(at-math.Floor(at))
		x := float64(b)/(amd.MelBands-1)*2 - 1
		w.line[b] = float32(gain + float64(tilt*x) + float64(bow*(float64(x*x)-0.5)))
		w.noise[b] = float32(level + float64(slope*x))
	}
	if r.IntN(3) == 0 {
		w.mask[0] = r.IntN(amd.MelBands)
		w.mask[1] = w.mask[0] + 1 + r.IntN(4)
	}
	if r.IntN(3) == 0 {
		w.gap[0] = r.IntN(longest)
		w.gap[1] = w.gap[0] + 1 + r.IntN(4)
	}
	w.untimed = r.IntN(8) == 0
	w.dropped = r.Uint64() | 1
	return w
}

func (w *warp) apply(x []float32, step int) {
	for at := 0; at < amd.Inputs-amd.Timings; at += amd.MelBands {
		w.frame(x[at : at+amd.MelBands])
	}
	if step >= w.gap[0] && step < w.gap[1] {
		for k := range amd.Inputs - amd.Timings {
			x[k] = -1
		}
	}
	if w.untimed {
		clear(x[amd.Inputs-amd.Timings+2:])
	}
}

//go:norace
func (w *warp) frame(x []float32) {
	if !w.straight {
		scratch := [amd.MelBands]float32(x)
		for b := range x {
			k := w.from[b]
			v := scratch[k] + float32(w.share[b]*(scratch[k+1]-scratch[k])) + w.line[b]
			x[b] = min(amd.InputLimit, max(-amd.InputLimit, v))
		}
	}
	if w.noisy > 0 {
		const size = 0.7 / 256 // of a band's variations: ten decibels
		for b := range x {
			if b%8 == 0 {
				w.noisy = shifted(w.noisy)
			}
			x[b] = max(x[b], w.noise[b]+float32(size*float32(w.noisy>>(b%8*8)&255)))
		}
	}
	for b := w.mask[0]; b < min(w.mask[1], len(x)); b++ {
		x[b] = -1
	}
}

// leftOut is the dropout between layers, in 256ths: a net must not rely on any single value.
const leftOut = 38

// leaveOut draws what is left of a layer.
//
//go:norace
func (w *warp) leaveOut(keep []float32) {
	if w.dropped == 0 {
		for i := range keep {
			keep[i] = 1
		}
		return
	}
	for i := range keep {
		if i%8 == 0 {
			w.dropped = shifted(w.dropped)
		}
		keep[i] = 256.0 / (256 - leftOut)
		if w.dropped>>(i%8*8)&255 < leftOut {
			keep[i] = 0
		}
	}
}

// shifted is the next in a sequence of random numbers (xorshift).
func shifted(x uint64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	return x ^ x<<17
}
