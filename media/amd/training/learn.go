package training

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"dialler/media/amd"
	"dialler/media/amd/corpus"
)

const (
	batch      = shards * shard // sequences
	shards     = 2              // parts of a batch, one goroutine each
	shard      = 16             // sequences of a part
	together   = 8              // batches drawn at once, so that sequences of one length meet
	longest    = 112            // steps of a sequence: four seconds and a half
	perEpoch   = 128            // batches
	epochs     = 240
	learnFirst = 3e-3 // of Adam; in the last quarter it falls to nothing
	warming    = 200  // batches until it is that
	clipAt     = 5.0  // norm of the gradient
	decay      = 1e-5 // of the weights, each batch
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
	kind  int
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
		all = append(all, example{t: t, class: class, kind: kindOf(&s.recordings[t.of]), n: min(len(t.counts), longest), count: t.counts})
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

// kinds of synthesised greetings: what is learned beside the classes.
var kinds = []string{"short", "again", "firm", "long", "talk", "brief", "box", "carrier", "screen"}

// kindOf gives the number of a kind, 0 when it is none.
func kindOf(r *corpus.Recording) int {
	name, _, _ := strings.Cut(r.Detail, " [")
	return slices.Index(kinds, name) + 1
}

// counts says what each step of a sequence counts: little at its begin, most
// where a verdict is due, nothing after that.
func counts(moments []moment, steps int) []float32 {
	c := make([]float32, 0, steps)
	total := 0.0
	for _, m := range moments {
		if m.Pause.Seconds() > 1 || m.At.Seconds() > 4.3 {
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

// learner trains a net.
type learner struct {
	examples []example
	rand     *rand.Rand
	w        *weights
	packed   *packed
	adam     *adam
	norm     *norm
	passes   [shards]*pass
	drawn    []*example
	asItIs   bool // without other voices and lines
}

func newLearner(examples []example, seed uint64) *learner {
	l := &learner{
		examples: examples, rand: rand.New(rand.NewPCG(seed, 19)), //nolint:gosec // reproducible, no secret
		w: randomWeights(seed), packed: newPacked(), norm: normOf(examples),
	}
	l.adam = newAdam(len(l.w.all))
	for i := range l.passes {
		l.passes[i] = newPass(shard, longest)
	}
	return l
}

// draw gives the examples of the next batch, the longest first.
func (l *learner) draw() []*example {
	if len(l.drawn) == 0 {
		r := l.rand
		for range together * batch {
			x := r.Float64() * l.examples[len(l.examples)-1].upTo
			l.drawn = append(l.drawn, &l.examples[sort.Search(len(l.examples)-1, func(i int) bool { return l.examples[i].upTo > x })])
		}
		slices.SortStableFunc(l.drawn, func(a, b *example) int { return b.n - a.n })
		parts := make([][]*example, 0, together)
		for i := range together {
			parts = append(parts, l.drawn[i*batch:(i+1)*batch])
		}
		r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		l.drawn = slices.Concat(parts...)
	}
	next := l.drawn[:batch]
	l.drawn = l.drawn[batch:]
	return next
}

// step learns from one batch. What a part of it gives does not depend on the
// other one, nor on how many goroutines run at once.
func (l *learner) step(rate float32, turn int) (lost, counted float64) {
	drawn := l.draw()
	l.packed.of(l.w)
	var wait sync.WaitGroup
	for i, p := range l.passes {
		of, warps := make([]*example, shard), make([]*warp, shard)
		for k := range of {
			of[k], warps[k] = drawn[k*shards+i], &warp{straight: true}
			if !l.asItIs {
				warps[k] = warpOf(l.rand)
			}
		}
		wait.Go(func() {
			p.load(of, warps, l.norm)
			p.forward(l.w, l.packed)
			p.loss()
			p.backward(l.packed)
		})
	}
	wait.Wait()
	sum := l.passes[0].gradient.all
	for i, p := range l.passes {
		if i > 0 {
			add(sum, p.gradient.all)
		}
		lost += p.lost
		counted += p.counted
	}
	l.adam.step(l.w.all, sum, rate, turn)
	return lost, counted
}

// net gives what was learned so far.
func (l *learner) net() *amd.Net {
	n := l.w.net()
	l.norm.fold(n)
	return n
}

// learn trains a net, and says for how many epochs: when opt.Enough says so,
// for fewer than were asked for, as if fewer had been.
func (s *Set) learn(use func(int) bool, seed uint64) ([]*amd.Net, int) {
	examples := s.examplesOf(use)
	if len(examples) == 0 {
		return []*amd.Net{randomWeights(seed).net()}, 0
	}
	l := newLearner(examples, seed)
	if s.opt.From != nil {
		l.w = weightsOf(s.opt.From, l.norm, seed)
	}
	whole := s.opt.Epochs
	turn, began := 0, time.Now()
	for epoch := 0; epoch < whole; epoch++ {
		if s.opt.Enough != nil && epoch%3 == 0 && epoch > 0 && epoch < whole/4*3 && s.opt.Enough() {
			whole = epoch / 3 * 4
			s.opt.Log("enough: it is %d epochs in all", whole)
		}
		lost, counted := 0.0, 0.0
		for range s.opt.batches {
			turn++
			a, b := l.step(float32(rateAt(turn, whole*s.opt.batches)), turn)
			lost += a
			counted += b
		}
		s.opt.Log("epoch %d of %d: loss %.4f, %.0f s", epoch+1, whole, lost/counted, time.Since(began).Seconds())
		if (epoch+1)%s.opt.look == 0 {
			s.check([]*amd.Net{l.net()})
		}
	}
	return []*amd.Net{rounded(l.net())}, whole
}

// rateAt is how fast is learned in a turn: the same in the first three
// quarters, however many they are.
func rateAt(turn, turns int) float64 {
	rate := learnFirst * min(1, float64(turn)/warming)
	if left := float64(turns-turn+1) / float64(turns) * 4; left < 1 {
		rate *= left
	}
	return rate
}

// norm brings every input of a net to about the same size.
type norm struct{ mean, scale [amd.Inputs]float32 }

// normOf measures the inputs of examples.
func normOf(examples []example) *norm {
	var sum, squares [amd.Inputs]int64
	all := int64(0)
	for i := range examples {
		e := &examples[i]
		for t := 0; t < e.n; t += 5 {
			for k, q := range e.t.steps[t*amd.Inputs : (t+1)*amd.Inputs] {
				sum[k] += int64(q)
				squares[k] += int64(q) * int64(q)
			}
			all++
		}
	}
	n := new(norm)
	for k := range n.mean {
		mean := float64(sum[k]) / float64(max(1, all))
		square := float64(squares[k]) / float64(max(1, all))
		spread := grain * math.Sqrt(math.Max(0, square-float64(mean*mean)))
		n.mean[k] = float32(mean*grain) - amd.InputLimit
		n.scale[k] = float32(1 / math.Max(0.3, spread))
	}
	return n
}

//go:norace
func (n *norm) apply(x []float32) {
	for k := range n.mean {
		x[k] = float32((x[k] - n.mean[k]) * n.scale[k])
	}
}

// fold has a net do with its inputs what apply does.
func (n *norm) fold(net *amd.Net) {
	for i := range net.In {
		for k := range net.In[i] {
			net.In[i][k] *= n.scale[k]
			net.InBias[i] -= float32(net.In[i][k] * n.mean[k])
		}
	}
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

// unpacked are the inputs by what they are kept as.
var unpacked = func() (all [256]float32) {
	for q := range all {
		all[q] = unpack(uint8(q)) //nolint:gosec // at most 255
	}
	return all
}()

// load fills a pass with sequences, the longest first, each of them said by
// another voice and over another line than it was.
func (p *pass) load(of []*example, warps []*warp, n *norm) {
	p.steps = of[0].n
	p.quiet()
	clear(p.active)
	for i, e := range of {
		p.class[i], p.kind[i] = e.class, e.kind
		for t := range e.n {
			p.active[t] = i + 1
			x := p.x.row(t*p.n + i)
			for k, q := range e.t.steps[t*amd.Inputs:][:amd.Inputs] {
				x[k] = unpacked[q]
			}
			warps[i].apply(x)
			n.apply(x)
			p.weight.row(t)[i] = e.count[t]
		}
	}
}

// warp is what becomes of the inputs of a sequence.
type warp struct {
	from     [amd.MelBands]int
	share    [amd.MelBands]float32
	line     [amd.MelBands]float32 // louder or quieter
	noise    [amd.MelBands]float32 // what is no quieter than that
	noisy    uint64                // its changes; 0 without
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
	level, slope := 0.0, 0.0
	if r.IntN(3) == 0 {
		w.noisy = r.Uint64() | 1
		level, slope = float64(2.1*r.Float64())-1.6, 0.8*(r.Float64()-0.5)
	}
	for b := range w.from {
		// A longer or shorter throat moves what lies higher more.
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
	w.untimed = r.IntN(8) == 0
	return w
}

func (w *warp) apply(x []float32) {
	for at := 0; at < amd.Inputs-amd.Timings; at += amd.MelBands {
		w.frame(x[at : at+amd.MelBands])
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
		const size = 0.7 / 256 // of a band's changes: ten decibels
		for b := range x {
			if b%8 == 0 { // xorshift
				w.noisy ^= w.noisy << 13
				w.noisy ^= w.noisy >> 7
				w.noisy ^= w.noisy << 17
			}
			x[b] = max(x[b], w.noise[b]+float32(size*float32(w.noisy>>(b%8*8)&255)))
		}
	}
	for b := w.mask[0]; b < min(w.mask[1], len(x)); b++ {
		x[b] = -1
	}
}

// adam is the optimiser of that name.
type adam struct{ mean, square []float32 }

func newAdam(n int) *adam { return &adam{make([]float32, n), make([]float32, n)} }

//go:norace
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
