package training

import (
	"math"
	"math/rand/v2"
	"testing"

	"dialler/media/amd"
)

func randomMatrix(r *rand.Rand, rows, cols int) matrix {
	m := newMatrix(rows, cols)
	for i := range m.v {
		m.v[i] = float32(r.NormFloat64())
	}
	return m
}

func TestVectorsGiveWhatPlainSumsGive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 40 {
		rows, inner, cols := 1+r.IntN(13), r.IntN(40), 16*(1+r.IntN(3))
		for _, across := range []bool{false, true} {
			a := randomMatrix(r, rows, inner)
			if across {
				a = randomMatrix(r, inner, rows)
			}
			b, c := randomMatrix(r, inner, cols), randomMatrix(r, rows, cols)
			want := append([]float32(nil), c.v...)
			for i := range rows {
				for j := range cols {
					for k := range inner {
						f := 0
						if across {
							f = k*rows + i
						} else {
							f = i*inner + k
						}
						want[i*cols+j] += float32(a.v[f] * b.v[k*cols+j])
					}
				}
			}
			multiply(c, a, b, across)
			for i, v := range c.v {
				if v != want[i] {
					t.Fatalf("%d×%d×%d, across %v: %v at %d, want %v", rows, inner, cols, across, v, i, want[i])
				}
			}
		}
	}
}

// filled is a small pass of sequences of unlike lengths.
func filled(r *rand.Rand) *pass {
	p := newPass(3, 7)
	p.steps = 7
	p.quiet()
	lengths := []int{7, 6, 3}
	for i, n := range lengths {
		p.class[i] = i
		for s := range n {
			p.active[s] = i + 1
			for k := range p.x.row(s*p.n + i) {
				p.x.row(s*p.n + i)[k] = float32(r.NormFloat64())
			}
			p.weight.row(s)[i] = float32(5 + 5*r.Float64())
		}
	}
	return p
}

func TestTheGradientIsTheSlopeOfTheLoss(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	p, w := filled(r), randomWeights(3)
	p.forward(w)
	p.loss()
	p.backward(w)
	g := append([]float32(nil), p.gradient.all...)
	loss := func() float64 { p.forward(w); return p.loss() }
	at := 0
	for name, m := range [...]matrix{w.in, w.gate, w.again, w.out, w.biases} {
		at = 0
		for &w.all[at] != &m.v[0] {
			at++
		}
		checked, off := 0, 0
		for range 400 {
			k := at + r.IntN(len(m.v))
			if math.Abs(float64(g[k])) < 0.1 {
				continue
			}
			const d = 1e-3
			was := w.all[k]
			w.all[k] = was + d
			up := loss()
			w.all[k] = was - d
			down := loss()
			w.all[k] = was
			slope := (up - down) / (2 * d)
			if math.Abs(slope-float64(g[k])) > 0.05*math.Abs(slope)+0.05 {
				t.Logf("matrix %d: the gradient of weight %d is %v, the slope %v", name, k-at, g[k], slope)
				off++
			}
			checked++
		}
		// Where a feature is just nothing, the slope has a kink.
		if checked < 20 || off*10 > checked {
			t.Errorf("matrix %d: %d of %d slopes are another", name, off, checked)
		}
	}
}

func TestWhatIsTrainedIsWhatListens(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	p, w := filled(r), randomWeights(5)
	p.forward(w)
	n := w.net()
	for i := range p.n {
		var s amd.State
		for at := range p.steps {
			if p.active[at] <= i {
				break
			}
			x := amd.Step(p.x.row(at*p.n + i))
			n.Hear(&s, &x)
			for k := range amd.Classes {
				if got, want := s.Logits[k], p.logits.row(at*p.n + i)[k]; math.Abs(float64(got-want)) > 1e-3 {
					t.Fatalf("sequence %d, step %d: %v, in training %v", i, at, got, want)
				}
			}
		}
	}
}

func TestTheExponentialIsOne(t *testing.T) {
	for x := -79.0; x < 79; x += 0.37 {
		if got, want := float64(exponential(float32(x))), math.Exp(float64(float32(x))); math.Abs(got-want) > 1e-5*want {
			t.Errorf("e^%v is %v, not %v", x, got, want)
		}
	}
}

func BenchmarkABatch(b *testing.B) {
	r := rand.New(rand.NewPCG(2, 2))
	p, w := newPass(batch, 100), randomWeights(3)
	p.steps = 100
	for i := range p.x.v {
		p.x.v[i] = float32(r.NormFloat64())
	}
	for t := range p.steps {
		p.active[t] = batch
	}
	for b.Loop() {
		p.forward(w)
		p.loss()
		p.backward(w)
	}
}
