package training

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"dialler/bench/corpus"
	"dialler/media/amd"
)

const (
	batch    = shards * shard // sequences
	shards   = 2              // parts of a batch, one goroutine each
	shard    = 16             // sequences of a part
	together = 8              // batches drawn at once, to group sequences of similar length
	longest  = 112            // steps of a sequence: four seconds and a half
	perEpoch = 128            // batches
	epochs   = 240
	pace     = 1.5e-3 // of Adam; falls to zero over the last quarter
	warming  = 200    // batches until that rate is reached
)

// grain is the quantisation step of a stored input.
const grain = 2 * amd.InputLimit / 255

func pack(x float32) uint8 { return uint8((x+amd.InputLimit)/grain + 0.5) }
func unpack(q uint8) float32 {
	return float32(float32(q)*grain) - amd.InputLimit
}

// example is a training sequence.
type example struct {
	t     *trace
	class int
	kind  int
	n     int       // steps
	count []float32 // weight of each step
	said  text
	upTo  float64 // cumulative weight up to it
}

// examplesOf returns the training examples for a net.
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
		e := example{t: t, class: class, kind: kindOf(&s.recordings[t.of]), n: min(len(t.counts), longest), count: t.counts}
		e.said = textOf(s.recordings[t.of].Sounds, t.heard(e.n), soundHalves*e.n)
		all = append(all, e)
		w /= float64(copies[t.of])
		total[class] += w
		at = append(at, w)
	}
	// People and machines are drawn equally often, call screening rarely.
	share := [amd.Classes]float64{0.48, 0.48, 0.04}
	sum := 0.0
	for i := range all {
		sum += at[i] * share[all[i].class] / total[all[i].class]
		all[i].upTo = sum
	}
	return all
}

// kinds are the kinds of synthesised greetings: an auxiliary target beside the classes.
var kinds = []string{"short", "again", "firm", "long", "talk", "brief", "box", "carrier", "screen"}

// kindOf returns the number of a kind, 0 when there is none.
func kindOf(r *corpus.Recording) int {
	name, _, _ := strings.Cut(r.Detail, " [")
	return slices.Index(kinds, name) + 1
}

// counts returns the weight of each step of a sequence: small at the beginning, largest where a
// verdict is due, zero after that.
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

// heard is the share of a trace's speech that is in its first steps.
func (t *trace) heard(steps int) float64 {
	talk := time.Duration(0)
	for i := range t.moments {
		if t.moments[i].step < steps {
			talk = t.moments[i].Talk
		}
	}
	return talk.Seconds() / math.Max(0.02, t.spoken.Seconds())
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
	asItIs   bool // without changes of voice and line
}

// newLearner starts with random weights, or with those of a net.
func newLearner(examples []example, shape amd.Shape, from *amd.Net, seed uint64) *learner {
	l := &learner{examples: examples, rand: rand.New(rand.NewPCG(seed, 19)),
		norm: normOf(examples)} //nolint:gosec // reproducible, no secret
	if from != nil {
		l.w = weightsOf(from, l.norm, seed)
	} else {
		l.w = randomWeights(shape, seed)
	}
	l.packed, l.adam = newPacked(l.w.shape), newAdam(len(l.w.all))
	for i := range l.passes {
		l.passes[i] = newPass(l.w.shape, shard, longest)
	}
	return l
}

// draw returns the examples of the next batch, the longest first.
func (l *learner) draw() []*example {
	if len(l.drawn) == 0 {
		r := l.rand
		for range together * batch {
			x := r.Float64() * l.examples[len(l.examples)-1].upTo
			at := sort.Search(len(l.examples)-1, func(i int) bool { return l.examples[i].upTo > x })
			l.drawn = append(l.drawn, &l.examples[at])
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

// losses are sums of a loss, and of the weights in it.
type losses struct{ lost, counted, misheard, said float64 }

func (l *losses) add(p *pass) {
	l.lost += p.lost
	l.counted += p.counted
	l.misheard += p.misheard
	l.said += p.said
}

func (l *losses) String() string {
	text := fmt.Sprintf("%.4f", l.lost/l.counted)
	if l.said > 0 {
		text += fmt.Sprintf(", of a sound %.3f", l.misheard/l.said)
	}
	return text
}

// step learns from one batch. The result of a part does not depend on the other part, nor on how
// many goroutines run at once.
func (l *learner) step(rate float32, turn int, sum *losses) {
	drawn := l.draw()
	l.packed.of(l.w)
	var wait sync.WaitGroup
	for i, p := range l.passes {
		of, warps := make([]*example, shard), make([]*warp, shard)
		for k := range of {
			of[k], warps[k] = drawn[k*shards+i], asItIs()
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
	gradient := l.passes[0].gradient.all
	for i, p := range l.passes {
		if i > 0 {
			add(gradient, p.gradient.all)
		}
		sum.add(p)
	}
	l.adam.step(l.w.all, gradient, rate, turn)
}

// net returns the net trained so far.
func (l *learner) net() *amd.Net {
	n := l.w.net()
	l.norm.fold(n)
	return n
}

// learn trains a net, and returns the number of epochs: fewer than requested when opt.Enough says
// so, with the same schedule as if fewer had been requested.
func (s *Set) learn(use func(int) bool, seed uint64) ([]*amd.Net, int) {
	examples := s.examplesOf(use)
	if len(examples) == 0 {
		return []*amd.Net{randomWeights(s.opt.shape, seed).net()}, 0
	}
	l := newLearner(examples, s.opt.shape, s.opt.From, seed)
	said := 0
	for i := range examples {
		said += min(1, len(examples[i].said.sounds))
	}
	s.opt.Log("%d sequences, of %d it is known what is said; %d weights", len(examples), said, len(l.w.all))
	whole := s.opt.Epochs
	turn, began := 0, time.Now()
	for epoch := 0; epoch < whole; epoch++ {
		if s.opt.Enough != nil && epoch%3 == 0 && epoch > 0 && epoch < whole/4*3 && s.opt.Enough() {
			whole = epoch / 3 * 4
			s.opt.Log("enough: it is %d epochs in all", whole)
		}
		var sum losses
		for range s.opt.batches {
			turn++
			l.step(float32(rateAt(s.opt.Pace, turn, whole*s.opt.batches)), turn, &sum)
		}
		s.opt.Log("epoch %d of %d: loss %v, %.0f s", epoch+1, whole, &sum, time.Since(began).Seconds())
		if (epoch+1)%s.opt.look == 0 {
			net := l.net()
			s.check([]*amd.Net{net})
			s.spell(l)
			if s.opt.Keep != nil {
				s.opt.Keep(&amd.Model{Seed: s.opt.Seed, Epochs: epoch + 1, Data: s.data, Features: amd.FeatureNames[:],
					Nets: []*amd.Net{net}})
			}
		}
	}
	return []*amd.Net{rounded(l.net())}, whole
}

// spelled is how many recordings outside training are used to count misheard sounds.
const spelled = 256

// spell reports how many sounds are misheard in recordings outside training, taking the likeliest
// one in each frame.
func (s *Set) spell(l *learner) {
	examples := s.examplesOf(func(i int) bool { return s.unheard(i) && s.recordings[i].Sounds != "" })
	examples = slices.DeleteFunc(examples, func(e example) bool { return e.t.worse || len(e.said.sounds) == 0 })
	if len(examples) == 0 {
		return
	}
	var of []*example
	every := max(1, len(examples)/spelled)
	for i := 0; i < len(examples); i += every {
		of = append(of, &examples[i])
	}
	slices.SortStableFunc(of, func(a, b *example) int { return b.n - a.n })
	p := l.passes[0]
	l.packed.of(l.w)
	wrong, all, lost := 0, 0, losses{}
	straight := slices.Repeat([]*warp{asItIs()}, shard)
	for part := range slices.Chunk(of, shard) {
		p.load(part, straight, l.norm)
		p.forward(l.w, l.packed)
		p.loss()
		lost.add(p)
		for i, e := range part {
			a, b := e.said.mistakes(greedy(p.probabilities(i), soundHalves*p.long[i]))
			wrong, all = wrong+a, all+b
		}
	}
	s.opt.Log("not learned from, %d recordings: loss %v, %.1f %% of the sounds are wrong", len(of), &lost,
		100*float64(wrong)/float64(max(1, all)))
}

// rateAt is the learning rate in a turn: constant over the first three quarters, however many turns
// there are.
func rateAt(pace float64, turn, turns int) float64 {
	rate := pace * min(1, float64(turn)/warming)
	if left := float64(turns-turn+1) / float64(turns) * 4; left < 1 {
		rate *= left
	}
	return rate
}

// norm scales every input of a net to about the same size.
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

// fold builds into a net the scaling that apply does.
func (n *norm) fold(net *amd.Net) {
	for i := range net.InBias {
		row := net.In[i*amd.Inputs:][:amd.Inputs]
		for k := range row {
			row[k] *= n.scale[k]
			net.InBias[i] -= float32(row[k] * n.mean[k])
		}
	}
}

// rounded is the net as written to its file: so a rule is tuned with the net that ships.
func rounded(n *amd.Net) *amd.Net {
	b, err := n.MarshalJSON()
	if err != nil {
		panic(err) // it contains only numbers
	}
	out := new(amd.Net)
	if err := out.UnmarshalJSON(b); err != nil {
		panic(err) // it was just written
	}
	return out
}

// unpacked maps stored inputs to their values.
var unpacked = func() (all [256]float32) {
	for q := range all {
		all[q] = unpack(uint8(q))
	}
	return all
}()
