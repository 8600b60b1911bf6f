package amd

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func newNet(t testing.TB, s Shape) *Net {
	t.Helper()
	n, err := NewNet(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// drawn returns a net with random weights.
func drawn(t testing.TB, s Shape, seed uint64) *Net {
	r := rand.New(rand.NewPCG(seed, 9))
	n := newNet(t, s)
	for _, row := range n.parts() {
		for i := range row {
			row[i] = float32(r.NormFloat64()) / 8
		}
	}
	return n
}

func steps(n int, seed uint64) []Step {
	r := rand.New(rand.NewPCG(seed, 10))
	all := make([]Step, n)
	for k := range all {
		for i := range all[k] {
			all[k][i] = limit(float32(r.NormFloat64()))
		}
	}
	return all
}

// TestANetOfOneLayerIsWhatItWas checks that shipped nets stay readable, with bit-identical outputs.
func TestANetOfOneLayerIsWhatItWas(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	n := newNet(t, Shape{Features: 64, Units: []int{128}})
	for _, row := range n.parts() {
		for i := range row {
			row[i] = float32(r.NormFloat64()) / 8
		}
	}
	text, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	n = new(Net)
	if err := json.Unmarshal(text, n); err != nil {
		t.Fatal(err)
	}
	h := fnv.New64a()
	_, _ = h.Write(text)
	var s State
	for range 100 {
		var x Step
		for i := range x {
			x[i] = limit(float32(r.NormFloat64()))
		}
		n.Hear(&s, &x)
		for _, l := range s.Logits {
			b := math.Float32bits(l)
			_, _ = h.Write([]byte{byte(b), byte(b >> 8), byte(b >> 16), byte(b >> 24)})
		}
	}
	if got, want := h.Sum64(), uint64(0x79197dc94e71d45b); got != want {
		t.Fatalf("%#x, want %#x: the file or what the net says is another", got, want)
	}
}

func TestANetOfAnyShapeIsReadAsItWasWritten(t *testing.T) {
	for _, shape := range []Shape{{64, []int{128}}, {96, []int{192, 128}}, {16, []int{16}},
		{MostFeatures, []int{MostUnits, MostUnits}}} {
		text, err := json.Marshal(drawn(t, shape, 1))
		if err != nil {
			t.Fatal(err)
		}
		n := new(Net)
		if err := json.Unmarshal(text, n); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(n)
		if err != nil || string(again) != string(text) || !n.Shape.equal(shape) {
			t.Fatalf("%+v: %v, or it is written otherwise", n.Shape, err)
		}
		if plain := text[0] == '"'; plain != shape.equal(first) {
			t.Fatalf("%+v is written as %.40s", shape, text)
		}
	}
}

func TestANetOfAnotherShapeThanThereIsRoomForIsRefused(t *testing.T) {
	for _, shape := range []Shape{{}, {64, nil}, {24, []int{128}}, {64, []int{128, 0}}, {64, []int{-16}},
		{MostFeatures + Grain, []int{128}}, {64, []int{MostUnits + Grain}}, {64, []int{16, 16, 16}}} {
		text, err := json.Marshal(written{Shape: shape})
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, new(Net)); err == nil || !strings.HasPrefix(err.Error(), "model_net: ") {
			t.Errorf("%+v: %v", shape, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"features":64,"units":[128],"weights":"AAAA"}`), new(Net)); err == nil ||
		!strings.HasPrefix(err.Error(), "model_net: ") {
		t.Errorf("too few weights: %v", err)
	}
}

// plainHear is a second implementation of Hear: each layer gets what the one below remembers.
func plainHear(n *Net, memory [][]float32, x []float32) []float32 {
	times := func(m, bias, x []float32) []float32 {
		out := make([]float32, len(m)/len(x))
		for i := range out {
			out[i] = plainDot(m[i*len(x):(i+1)*len(x)], x)
			if bias != nil {
				out[i] += bias[i]
			}
		}
		return out
	}
	given := times(n.In, n.InBias, x)
	for i := range given {
		given[i] = max(0, given[i])
	}
	for k, l := range n.Layers {
		u := n.Shape.Units[k]
		gate, again := times(l.Gate, nil, given), times(l.Again, nil, memory[k])
		for i := range u {
			z := logistic(l.Bias[i] + gate[i] + again[i])
			r := logistic(l.Bias[u+i] + gate[u+i] + again[u+i])
			c := tangent(l.Bias[2*u+i] + gate[2*u+i] + float32(r*(l.Late[i]+again[2*u+i])))
			memory[k][i] = c + float32(z*(memory[k][i]-c))
		}
		given = memory[k]
	}
	return times(n.Out, n.OutBias, given)
}

func TestLayersHearWhatTheOneBelowRemembers(t *testing.T) {
	for _, shape := range []Shape{{64, []int{128}}, {96, []int{192, 128}}, {16, []int{32, 256}}} {
		n := drawn(t, shape, 2)
		var s State
		memory := make([][]float32, len(shape.Units))
		for i, u := range shape.Units {
			memory[i] = make([]float32, u)
		}
		for _, x := range steps(40, 3) {
			n.Hear(&s, &x)
			if want := plainHear(n, memory, x[:]); !slices.Equal(s.Logits[:], want) {
				t.Fatalf("%+v: %v, want %v", shape, s.Logits, want)
			}
		}
		x := &steps(1, 4)[0]
		if allocated := testing.AllocsPerRun(10, func() { n.Hear(&s, x) }); allocated > 0 {
			t.Errorf("%+v: %v allocations a step", shape, allocated)
		}
	}
}

func TestTheMeanIsOfNetsOfAnyShape(t *testing.T) {
	nets := []*Net{drawn(t, Shape{64, []int{128}}, 4), drawn(t, Shape{96, []int{192, 128}}, 5),
		drawn(t, Shape{32, []int{48}}, 6), drawn(t, Shape{64, []int{64, 64}}, 7)}
	m := &Model{Nets: nets, Features: FeatureNames[:]}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	m.Nets = append(m.Nets, nets[0])
	if err := m.Check(); err == nil || !strings.HasPrefix(err.Error(), "model_net: ") {
		t.Fatalf("five nets: %v", err)
	}
	w := words{nets: len(nets)}
	sum := 0.0
	for _, x := range steps(20, 8) {
		sum = 0
		for i, n := range nets {
			n.Hear(&w.states[i], &x)
			sum += w.states[i].Machine()
		}
	}
	if got := w.machine(); got != sum/4 {
		t.Fatalf("%v, want %v", got, sum/4)
	}
}

func BenchmarkAStep(b *testing.B) {
	for _, shape := range []Shape{first, {96, []int{192, 128}}} {
		b.Run(fmt.Sprint(shape), func(b *testing.B) {
			n, x := drawn(b, shape, 1), steps(1, 1)[0]
			var s State
			for b.Loop() {
				n.Hear(&s, &x)
			}
		})
	}
}
