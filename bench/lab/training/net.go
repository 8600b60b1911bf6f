package training

import (
	"math"
	"math/rand/v2"
	"sync"

	"dialler/bench/corpus"
	"dialler/media/amd"
)

const (
	// netOut is the number of columns in the last layer: amd.Classes of them, and some for the
	// kinds of greetings.
	netOut = 16
	// soundCols is how many sounds a softmax distinguishes, with the blank; there are soundHalves
	// of them per step, so that CTC has a frame every 20 ms.
	soundCols   = len(corpus.Sounds) + 1
	soundHalves = 2
	soundOut    = soundHalves * soundCols
)

// shapeOfNets is the shape of the nets that are trained.
var shapeOfNets = amd.Shape{Features: 96, Units: []int{192, 128}}

// weights are the weights of a net, or a change to them: matrices with a row per input, so that
// steps of many recordings are multiplied at once. The heads are auxiliary targets: out includes
// the kinds of greetings, and sounds predicts from the first layer what is said. They are not part
// of the finished net.
type weights struct {
	shape           amd.Shape
	in, out, sounds matrix
	layers          []layerWeights
	inBias, outBias []float32
	soundBias       []float32
	all             []float32
}

type layerWeights struct {
	gate, again matrix
	bias, late  []float32
}

func newWeights(s amd.Shape) *weights {
	w := &weights{shape: s}
	last := s.Units[len(s.Units)-1]
	total := (amd.Inputs+1)*s.Features + (last+1)*netOut + (s.Units[0]+1)*soundOut
	given := s.Features
	for _, u := range s.Units {
		total += 3*u*(given+u+1) + u
		given = u
	}
	w.all = make([]float32, total)
	left := w.all
	take := func(rows, cols int) matrix {
		m := matrix{rows, cols, cols, left[:rows*cols]}
		left = left[rows*cols:]
		return m
	}
	w.in, w.inBias = take(amd.Inputs, s.Features), take(1, s.Features).v
	given = s.Features
	for _, u := range s.Units {
		w.layers = append(w.layers, layerWeights{take(given, 3*u), take(u, 3*u), take(1, 3*u).v, take(1, u).v})
		given = u
	}
	w.out, w.outBias = take(last, netOut), take(1, netOut).v
	w.sounds, w.soundBias = take(s.Units[0], soundOut), take(1, soundOut).v
	return w
}

func randomWeights(s amd.Shape, seed uint64) *weights {
	r := rand.New(rand.NewPCG(seed, 17)) //nolint:gosec // reproducible, no secret
	w := newWeights(s)
	fill := func(m matrix, scale float64) {
		size := scale / math.Sqrt(float64(m.rows))
		for i := range m.v {
			m.v[i] = float32(size * r.NormFloat64())
		}
	}
	fill(w.in, 1.4)
	for i := range w.layers {
		l := &w.layers[i]
		fill(l.gate, 1)
		fill(l.again, 0.7)
		for k := range s.Units[i] {
			l.bias[k] = 1 // it remembers at first
		}
	}
	fill(w.out, 0.5)
	fill(w.sounds, 0.5)
	return w
}

// carry copies weights to a net, or back from it.
func (w *weights) carry(n *amd.Net, back bool) {
	both := func(m matrix, of []float32, rows int) { // of has one row per column of m
		for i := range rows {
			for k := range m.rows {
				if a, b := &m.row(k)[i], &of[i*m.rows+k]; back {
					*a = *b
				} else {
					*b = *a
				}
			}
		}
	}
	flat := func(m, of []float32) { both(matrix{1, len(of), len(m), m}, of, len(of)) }
	both(w.in, n.In, w.shape.Features)
	flat(w.inBias, n.InBias)
	for i, u := range w.shape.Units {
		a, b := &w.layers[i], &n.Layers[i]
		both(a.gate, b.Gate, 3*u)
		both(a.again, b.Again, 3*u)
		flat(a.bias, b.Bias)
		flat(a.late, b.Late)
	}
	both(w.out, n.Out, amd.Classes)
	flat(w.outBias, n.OutBias)
}

// net returns the weights in the classifier's form.
func (w *weights) net() *amd.Net {
	n, err := amd.NewNet(w.shape)
	if err != nil {
		panic(err) // it was checked
	}
	w.carry(n, false)
	return n
}

// weightsOf returns the weights of a net for continued training, with its inputs scaled by a norm.
func weightsOf(n *amd.Net, size *norm, seed uint64) *weights {
	w := randomWeights(n.Shape, seed) // the parts that a net does not contain are learned again
	w.carry(n, true)
	for i := range w.inBias {
		for k := range amd.Inputs {
			v := &w.in.row(k)[i]
			w.inBias[i] += float32(*v * size.mean[k])
			*v /= size.scale[k]
		}
	}
	return w
}

// packed are weights prepared for multiplication with sequences, forwards and backwards.
type packed struct {
	in, out, outT, sounds, soundsT panels
	layers                         []packedLayer
}

type packedLayer struct{ gate, again, gateT, againT panels }

func newPacked(s amd.Shape) *packed {
	first, last := s.Units[0], s.Units[len(s.Units)-1]
	p := &packed{
		in: newPanels(amd.Inputs, s.Features), out: newPanels(last, netOut), outT: newPanels(netOut, last),
		sounds: newPanels(first, soundOut), soundsT: newPanels(soundOut, first),
	}
	given := s.Features
	for _, u := range s.Units {
		p.layers = append(p.layers, packedLayer{newPanels(given, 3*u), newPanels(u, 3*u), newPanels(3*u, given),
			newPanels(3*u, u)})
		given = u
	}
	return p
}

func (p *packed) of(w *weights) {
	var wait sync.WaitGroup
	wait.Go(func() {
		p.in.of(w.in)
		p.out.of(w.out)
		p.sounds.of(w.sounds)
		p.outT.of(transposed(w.out))
		p.soundsT.of(transposed(w.sounds))
		for i := range p.layers {
			p.layers[i].gate.of(w.layers[i].gate)
			p.layers[i].again.of(w.layers[i].again)
		}
	})
	for i := range p.layers {
		p.layers[i].gateT.of(transposed(w.layers[i].gate))
		p.layers[i].againT.of(transposed(w.layers[i].again))
	}
	wait.Wait()
}

//go:norace
func transposed(m matrix) matrix {
	t := newMatrix(m.cols, m.rows)
	for i := range m.rows {
		for j, v := range m.row(i) {
			t.v[j*t.ld+i] = v
		}
	}
	return t
}

// exponential is the classifier's, so that both compute the same.
func exponential(x float32) float32 { return amd.Exponential(x) }

func logistic(x float32) float32 { return 1 / (1 + exponential(-x)) }

func tangent(x float32) float32 { return float32(2*logistic(2*x)) - 1 }
