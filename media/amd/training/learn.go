package training

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"dialler/media/amd"
)

const (
	batch      = 32  // sequences
	longest    = 150 // steps of a sequence: six seconds
	perEpoch   = 128 // batches
	epochs     = 60
	learnFirst = 4e-3 // of Adam; it falls to nothing along a cosine
	warming    = 100  // batches until it is that
	clipAt     = 5.0  // norm of the gradient
	decay      = 2e-5 // of the weights, each batch
)

// grain is the size of what an input is kept in.
const grain = 2 * amd.InputLimit / 255

func pack(x float32) uint8 { return uint8((x+amd.InputLimit)/grain + 0.5) } //nolint:gosec // the input is limited
func unpack(q uint8) float32 {
	return float32(float32(q)*grain) - amd.InputLimit
}

// example is a sequence to learn from.
type example struct {
	t     *trace
	class int
	n     int       // steps
	count []float32 // what each of them counts
	upTo  float64   // weights of all up to it
}

// examplesOf gives what a net is trained with.
func (s *Set) examplesOf(use func(int) bool) []example {
	var all []example
	var total [amd.Classes]float64
	weight := func(rec int) (w float64, class int) {
		switch r := &s.recordings[rec]; {
		case r.Label == "human":
			class = amd.ClassHuman
		case r.Label == "machine":
			class = amd.ClassMachine
		case r.Label == "screener":
			class = amd.ClassScreener
		default:
			return 0, 0
		}
		w = s.recordings[rec].Weight
		if s.recordings[rec].Real {
			w *= 1.5
		}
		return w, class
	}
	copies := make([]int, len(s.recordings))
	for i := range s.traces {
		if len(s.traces[i].counts) > 0 {
			copies[s.traces[i].of]++
		}
	}
	var at []float64
	for i := range s.traces {
		t := &s.traces[i]
		w, class := weight(t.of)
		if w == 0 || len(t.counts) == 0 || !use(t.of) {
			continue
		}
		all = append(all, example{t: t, class: class, n: min(len(t.counts), longest), count: t.counts})
		w /= float64(copies[t.of])
		total[class] += w
		at = append(at, w)
	}
	// People and machines are drawn as often, call screening seldom.
	share := [amd.Classes]float64{0.48, 0.48, 0.04}
	sum := 0.0
	for i := range all {
		sum += at[i] * share[all[i].class] / total[all[i].class]
		all[i].upTo = sum
	}
	return all
}

// counts says what each step of a sequence counts: little at its begin, most
// where a verdict is due, nothing after that.
func counts(moments []moment, steps int) []float32 {
	c := make([]float32, 0, steps)
	total := 0.0
	for _, m := range moments {
		if m.Pause.Seconds() > 1.3 || m.At.Seconds() > 5 {
			break
		}
		w := 1.0
		switch pause := m.Pause.Seconds(); {
		case pause > 0.35:
			w = 3
		case m.Talk.Seconds() < 0.5:
			w = 0.4
		}
		for len(c) <= m.step && len(c) < steps {
			c = append(c, float32(w))
			total += w
		}
	}
	for i := range c {
		c[i] *= float32(1 / math.Sqrt(math.Max(10, total)))
	}
	return c
}

// learn trains a net.
func (s *Set) learn(use func(int) bool, seed uint64) *amd.Net {
	examples := s.examplesOf(use)
	w := randomWeights(seed)
	if len(examples) == 0 {
		return w.net()
	}
	r := rand.New(rand.NewPCG(seed, 19)) //nolint:gosec // reproducible, no secret
	p := newPass(batch, longest)
	adam := newAdam(len(w.all))
	turns := s.opt.epochs * s.opt.batches
	const together = 8 // batches drawn at once, so that those of one length meet
	var drawn []*example
	sum, weighed := 0.0, 0.0
	for turn := range turns {
		if len(drawn) == 0 {
			for range together * batch {
				x := r.Float64() * examples[len(examples)-1].upTo
				drawn = append(drawn, &examples[sort.Search(len(examples)-1, func(i int) bool { return examples[i].upTo > x })])
			}
			slices.SortStableFunc(drawn, func(a, b *example) int { return b.n - a.n })
			parts := make([][]*example, 0, together)
			for i := range together {
				parts = append(parts, drawn[i*batch:(i+1)*batch])
			}
			r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			drawn = slices.Concat(parts...)
		}
		p.load(drawn[:batch], r)
		drawn = drawn[batch:]
		p.forward(w)
		sum += p.loss()
		for t := range p.steps {
			for i := range p.active[t] {
				weighed += float64(p.weight.row(t)[i])
			}
		}
		p.backward(w)
		progress := float64(turn) / float64(turns)
		rate := learnFirst * min(1, float64(turn+1)/warming) * 0.5 * (1 + math.Cos(math.Pi*progress))
		adam.step(w.all, p.gradient.all, float32(rate), turn+1)
		if (turn+1)%s.opt.batches == 0 {
			s.opt.Log("epoch %d of %d: loss %.4f", (turn+1)/s.opt.batches, s.opt.epochs, sum/weighed)
			sum, weighed = 0, 0
		}
	}
	return rounded(w.net())
}

// rounded is the net as its file has it: what a rule is tuned with is what
// ships.
func rounded(n *amd.Net) *amd.Net {
	b, err := n.MarshalJSON()
	if err != nil {
		panic(err) // it is numbers only
	}
	out := new(amd.Net)
	if err := out.UnmarshalJSON(b); err != nil {
		panic(err) // it is what was written
	}
	return out
}

// load fills a pass with sequences, each of them said by another voice and
// over another line than it was.
func (p *pass) load(of []*example, r *rand.Rand) {
	p.steps = of[0].n
	p.quiet()
	var bands [amd.MelBands]float32
	for t := range p.steps {
		p.active[t] = 0
	}
	for i, e := range of {
		p.class[i] = e.class
		warp := warpOf(r)
		for t := range e.n {
			p.active[t] = i + 1
			x := p.x.row(t*p.n + i)
			packed := e.t.steps[t*amd.Inputs : (t+1)*amd.Inputs]
			for k := range x {
				x[k] = unpack(packed[k])
			}
			for at := 0; at < amd.Inputs-amd.Timings; at += amd.MelBands {
				warp.apply(x[at:at+amd.MelBands], &bands)
			}
			if warp.untimed {
				clear(x[amd.Inputs-amd.Timings+2:])
			}
			p.weight.row(t)[i] = e.count[t]
		}
	}
}

// warp is what becomes of the bands of a sequence.
type warp struct {
	from     [amd.MelBands]int
	share    [amd.MelBands]float32
	line     [amd.MelBands]float32 // louder or quieter
	mask     [2]int                // bands that are not heard
	untimed  bool                  // timing is left out
	straight bool
}

func warpOf(r *rand.Rand) *warp {
	w := new(warp)
	stretch, tilt, bow, gain := 0.0, 0.0, 0.0, 0.0
	if w.straight = r.IntN(4) == 0; !w.straight {
		stretch, tilt, bow, gain = 0.13*r.NormFloat64(), 0.2*r.NormFloat64(), 0.2*r.NormFloat64(), 0.1*r.NormFloat64()
	}
	stretch = max(-0.25, min(0.25, stretch))
	for b := range w.from {
		// A longer or shorter throat moves what lies higher more.
		at := float64(b) + stretch*8*math.Min(1, float64(b)/8)
		at = math.Max(0, math.Min(amd.MelBands-1.001, at))
		w.from[b], w.share[b] = int(at), float32(at-math.Floor(at))
		x := float64(b)/(amd.MelBands-1)*2 - 1
		w.line[b] = float32(gain + tilt*x + bow*(x*x-0.5))
	}
	if r.IntN(3) == 0 {
		w.mask[0] = r.IntN(amd.MelBands)
		w.mask[1] = w.mask[0] + 1 + r.IntN(4)
	}
	w.untimed = r.IntN(8) == 0
	return w
}

func (w *warp) apply(x []float32, scratch *[amd.MelBands]float32) {
	if !w.straight {
		copy(scratch[:], x)
		for b := range x {
			k := w.from[b]
			v := scratch[k] + float32(w.share[b]*(scratch[k+1]-scratch[k])) + w.line[b]
			x[b] = min(amd.InputLimit, max(-amd.InputLimit, v))
		}
	}
	for b := w.mask[0]; b < min(w.mask[1], len(x)); b++ {
		x[b] = -1
	}
}

// adam is the optimiser of that name.
type adam struct{ mean, square []float32 }

func newAdam(n int) *adam { return &adam{make([]float32, n), make([]float32, n)} }

func (a *adam) step(w, g []float32, rate float32, turn int) {
	const keep, keepSquare = 0.9, 0.99
	norm := 0.0
	for _, v := range g {
		norm += float64(float64(v) * float64(v))
	}
	norm = math.Sqrt(norm) / batch
	scale := float32(1.0 / batch)
	if norm > clipAt {
		scale *= float32(clipAt / norm)
	}
	first, second := float32(1-math.Pow(keep, float64(turn))), float32(1-math.Pow(keepSquare, float64(turn)))
	for i, v := range g {
		v *= scale
		a.mean[i] += float32((1 - keep) * (v - a.mean[i]))
		a.square[i] += float32((1 - keepSquare) * (float32(v*v) - a.square[i]))
		w[i] -= float32(rate*(a.mean[i]/first)/(float32(math.Sqrt(float64(a.square[i]/second)))+1e-7)) + float32(decay*w[i])
	}
}
