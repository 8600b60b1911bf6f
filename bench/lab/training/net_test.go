package training

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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
	for range 60 {
		rows, inner, cols := 1+r.IntN(90), r.IntN(300), 16*(1+r.IntN(3))
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
						f := i*inner + k
						if across {
							f = k*rows + i
						}
						want[i*cols+j] += float32(a.v[f] * b.v[k*cols+j])
					}
				}
			}
			p := newProduct(rows, cols)
			if across {
				p.across(c, a, b)
			} else {
				of := newPanels(inner, cols)
				of.of(b)
				p.times(c, a, &of)
			}
			for i, v := range c.v {
				if v != want[i] {
					t.Fatalf("%d×%d×%d, across %v: %v at %d, want %v", rows, inner, cols, across, v, i, want[i])
				}
			}
		}
	}
}

func TestVectorsGiveThePlainGates(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for _, m := range []int{16, 48, 128, 192, 256} {
		row := func(n int) []float32 { return randomMatrix(r, 1, n).v }
		gate, late, before, bias := row(3*m), row(3*m), row(m), row(m)
		gate[0], gate[m], gate[2*m] = 200, -200, 0 // extreme values too
		gate2, late2 := slices.Clone(gate), slices.Clone(late)
		after, after2 := make([]float32, m), make([]float32, m)
		gates(gate, late, before, after, bias)
		plainGates(gate2, late2, before, after2, bias)
		d := row(m)
		dgate, dlate, dbefore := make([]float32, 3*m), make([]float32, 3*m), make([]float32, m)
		dgate2, dlate2, dbefore2 := make([]float32, 3*m), make([]float32, 3*m), make([]float32, m)
		slopes(gate, late, before, d, dgate, dlate, dbefore)
		plainSlopes(gate2, late2, before, d, dgate2, dlate2, dbefore2)
		for i, pair := range [][2][]float32{{gate, gate2}, {late, late2}, {after, after2}, {dgate, dgate2}, {dlate, dlate2},
			{dbefore, dbefore2}} {
			if !slices.Equal(pair[0], pair[1]) {
				t.Fatalf("%d: %v, plain %v", i, pair[0], pair[1])
			}
		}
	}
}

// shapes are the shapes of nets to test.
var shapes = []amd.Shape{{Features: 64, Units: []int{128}}, {Features: 48, Units: []int{64, 32}}}

// filled is a small pass with sequences of different lengths.
func filled(r *rand.Rand, shape amd.Shape) *pass {
	p := newPass(shape, 3, 7)
	p.steps = 7
	p.quiet()
	lengths := []int{7, 6, 3}
	for i, n := range lengths {
		p.class[i], p.long[i] = i, n
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

// TestTheGradientIsTheSlopeOfTheLoss checks the loss of the classes, of the sounds, and of both,
// with some dropout between layers.
func TestTheGradientIsTheSlopeOfTheLoss(t *testing.T) {
	for _, shape := range shapes {
		for _, learns := range []string{"classes", "sounds", "both"} {
			slopesAgree(t, shape, learns)
		}
	}
}

func slopesAgree(t *testing.T, shape amd.Shape, learns string) {
	t.Helper()
	r := rand.New(rand.NewPCG(2, 2))
	p, w, packed := filled(r, shape), randomWeights(shape, 3), newPacked(shape)
	for i := range p.layers {
		w := warp{dropped: uint64(5 + i)}
		w.leaveOut(p.layers[i].keep.v)
	}
	if learns == "sounds" {
		clear(p.weight.v)
	}
	if learns != "classes" {
		p.spoken[0] = text{sounds: []uint8{4, 4, 9, 1, 30}, least: 2, most: 5,
			expected: 0.2} // counts more, so that it is no rounding
		p.spoken[2] = text{sounds: []uint8{7}, least: 1, most: 1, expected: 1}
	}
	loss := func() float64 {
		packed.of(w)
		p.forward(w, packed)
		p.loss()
		for i := range p.spoken { // each by itself, like its slopes
			if len(p.spoken[i].sounds) > 0 {
				said, _ := p.align.loss(p.probabilities(i), soundHalves*p.long[i], &p.spoken[i])
				p.lost += hearing / math.Sqrt(10) * said
			}
		}
		return p.lost
	}
	loss()
	p.backward(packed)
	g := slices.Clone(p.gradient.all)
	parts := map[string][]float32{"in": w.in.v, "in's bias": w.inBias, "out": w.out.v, "out's bias": w.outBias,
		"sounds": w.sounds.v, "sounds' bias": w.soundBias}
	for i, l := range w.layers {
		for name, v := range map[string][]float32{"gate": l.gate.v, "again": l.again.v, "bias": l.bias, "late": l.late} {
			parts[fmt.Sprintf("%s %d", name, i)] = v
		}
	}
	for name, of := range parts {
		at := 0
		for &w.all[at] != &of[0] {
			at++
		}
		largest := 0.0
		for _, v := range g[at : at+len(of)] {
			largest = max(largest, math.Abs(float64(v)))
		}
		heads := (strings.HasPrefix(name, "out") || strings.HasSuffix(name, " 1")) && learns == "sounds" ||
			strings.HasPrefix(name, "sounds") && learns == "classes"
		if heads != (largest == 0) {
			t.Errorf("%v, %s: %s has a gradient up to %v", shape, learns, name, largest)
		}
		checked, off := 0, 0
		for tries := 0; checked < 24 && tries < 20000 && largest > 0; tries++ {
			k := at + r.IntN(len(of))
			if math.Abs(float64(g[k])) < 0.2*largest {
				continue
			}
			d := float32(1e-3)
			was := w.all[k]
			with := func(v float32) float64 {
				w.all[k] = v
				return loss()
			}
			up, down := with(was+d), with(was-d)
			w.all[k] = was
			slope := (up - down) / float64(2*d)
			if math.Abs(slope-float64(g[k])) > 0.05*math.Abs(slope)+0.02*largest {
				t.Logf("%v, %s, %s: the gradient of weight %d is %v, the slope %v", shape, learns, name, k-at, g[k], slope)
				off++
			}
			checked++
		}
		// Where a feature is close to zero, the slope has a kink.
		if off*10 > checked {
			t.Errorf("%v, %s, %s: %d of %d slopes are another", shape, learns, name, off, checked)
		}
	}
}

func TestWhatIsTrainedIsWhatListens(t *testing.T) {
	for _, shape := range append(shapes, shapeOfNets) {
		r := rand.New(rand.NewPCG(4, 4))
		p, w, packed := filled(r, shape), randomWeights(shape, 5), newPacked(shape)
		packed.of(w)
		n := w.net()
		var norm norm
		for k := range norm.mean {
			norm.mean[k], norm.scale[k] = float32(r.NormFloat64()), float32(0.5+r.Float64())
		}
		norm.fold(n)
		heard := slices.Clone(p.x.v)
		for at := range p.steps * p.n {
			norm.apply(p.x.row(at))
		}
		p.forward(w, packed)
		for i := range p.n {
			var s amd.State
			for at := range p.long[i] {
				x := amd.Step(heard[(at*p.n+i)*amd.Inputs:])
				n.Hear(&s, &x)
				for k := range amd.Classes {
					if got, want := s.Logits[k], p.logits.row(at*p.n + i)[k]; math.Abs(float64(got-want)) > 1e-3 {
						t.Fatalf("%v, sequence %d, step %d: %v, in training %v", shape, i, at, got, want)
					}
				}
			}
		}
		// A net to continue training is unchanged by the conversion.
		again := weightsOf(n, &norm, 6)
		for i, v := range again.in.v {
			if math.Abs(float64(v-w.in.v[i])) > 1e-5 {
				t.Fatalf("%v: weight %d is %v, was %v", shape, i, v, w.in.v[i])
			}
		}
		if !slices.Equal(again.layers[len(again.layers)-1].again.v, w.layers[len(w.layers)-1].again.v) ||
			!slices.Equal(again.layers[0].late, w.layers[0].late) {
			t.Fatalf("%v: a layer is another", shape)
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

// TestANetLearnsAHandfulByHeart checks that a net can memorise a few examples: otherwise it learns
// nothing at all.
func TestANetLearnsAHandfulByHeart(t *testing.T) {
	for _, shape := range shapes {
		learnsByHeart(t, shape)
	}
}

func learnsByHeart(t *testing.T, shape amd.Shape) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	var all []example
	for i := range 12 {
		e := example{t: new(trace), class: i % 2, n: 10 + r.IntN(20), upTo: float64(i + 1)}
		var sound [4]uint8 // words with the same sounds in another order
		for range e.n {
			if len(e.t.steps)/amd.Inputs%5 == 0 {
				for k := range sound {
					sound[k] = uint8(60 + r.IntN(140))
				}
			}
			for k := range amd.Inputs {
				e.t.steps = append(e.t.steps, sound[k%4])
			}
			e.count = append(e.count, 1)
		}
		all = append(all, e)
	}
	l := newLearner(all, shape, nil, 1)
	l.asItIs = true
	for turn := range 80 {
		l.step(3e-3, turn+1, new(losses))
	}
	n := rounded(l.net())
	for i := range all {
		var state amd.State
		for at := range all[i].n {
			var x amd.Step
			for k, q := range all[i].t.steps[at*amd.Inputs:][:amd.Inputs] {
				x[k] = unpack(q)
			}
			n.Hear(&state, &x)
		}
		if state.Machine() > 0 != (all[i].class == amd.ClassMachine) {
			t.Errorf("%v, recording %d, class %d: %v", shape, i, all[i].class, state.Logits)
		}
	}
}

func TestALessLongTrainingBeginsAsALongerOneDoes(t *testing.T) {
	for turn := 1; turn <= 90; turn++ {
		if a, b := rateAt(pace, turn, 120), rateAt(pace, turn, 1200); a != b {
			t.Fatalf("turn %d: %v, %v", turn, a, b)
		}
	}
	if last := rateAt(pace, 120, 120); last <= 0 || last > pace/20 {
		t.Fatalf("it ends at %v", last)
	}
	if a, b := rateAt(pace, 500, 1200), rateAt(pace/3, 500, 1200); a != pace || b != pace/3 {
		t.Fatalf("%v, %v", a, b)
	}
}

func BenchmarkABatch(b *testing.B) {
	for _, shape := range []amd.Shape{shapes[0], shapeOfNets} {
		b.Run(fmt.Sprint(shape), func(b *testing.B) {
			r := rand.New(rand.NewPCG(2, 2))
			p, w, packed := newPass(shape, shard, 80), randomWeights(shape, 3), newPacked(shape)
			p.steps = 80
			for i := range p.x.v {
				p.x.v[i] = float32(r.NormFloat64())
			}
			for t := range p.steps {
				p.active[t] = shard
			}
			for i := range p.spoken {
				p.long[i] = p.steps
				p.spoken[i] = text{sounds: slices.Repeat([]uint8{4, 9, 1, 30}, 12), least: 30, most: 48, expected: 40}
			}
			for b.Loop() {
				packed.of(w)
				p.forward(w, packed)
				p.loss()
				p.backward(packed)
			}
			b.ReportMetric(shard/b.Elapsed().Seconds()*float64(b.N), "sequences/s")
		})
	}
}
