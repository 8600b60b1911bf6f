package amd

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"
)

// Limits of nets.
const (
	// MostNets is the maximum number of nets in a model.
	MostNets = 4
	// MostFeatures is the maximum number of features of a step, MostUnits of values that a layer
	// remembers, MostLayers of layers: all are multiples of Grain.
	MostFeatures = 128
	MostUnits    = 256
	MostLayers   = 2
	Grain        = 16
	// Classes is the number of classes of speakers: ClassHuman, ClassMachine, ClassScreener.
	Classes = 3
)

// The classes of a net.
const (
	ClassHuman = iota
	ClassMachine
	ClassScreener
)

// Shape is the size of a net: the features of a step, and the units of each layer.
type Shape struct {
	Features int   `json:"features"`
	Units    []int `json:"units"`
}

// first is the shape of nets stored without one.
var first = Shape{Features: 64, Units: []int{128}}

// Check refuses sizes that this program does not support.
func (s Shape) Check() error {
	fits := func(n, most int) bool { return n > 0 && n <= most && n%Grain == 0 }
	if !fits(s.Features, MostFeatures) {
		return fmt.Errorf(
			"model_net: the net has %d features, this program wants a multiple of %d up to %d: train it again (lab amd train)",
			s.Features,
			Grain,
			MostFeatures,
		)
	}
	if len(s.Units) < 1 || len(s.Units) > MostLayers {
		return fmt.Errorf(
			"model_net: the net has %d layers, this program wants 1 to %d: train it again (lab amd train)",
			len(s.Units),
			MostLayers,
		)
	}
	for _, n := range s.Units {
		if !fits(n, MostUnits) {
			return fmt.Errorf(
				"model_net: a layer of the net has %d units, this program wants a multiple of %d up to %d: train it again (lab "+
					"amd train)",
				n,
				Grain,
				MostUnits,
			)
		}
	}
	return nil
}

func (s Shape) equal(t Shape) bool { return s.Features == t.Features && slices.Equal(s.Units, t.Units) }

// Net is a small recurrent net: features of a step, layers of gated recurrent units, and the
// probabilities, so far, that a person, a machine or call screening is speaking. It learns the
// words of greetings, which timing does not capture. Matrices are stored with one row per output.
type Net struct {
	Shape   Shape
	In      []float32 // Features × Inputs
	InBias  []float32
	Layers  []Layer
	Out     []float32 // Classes × units of the last layer
	OutBias []float32
}

// Layer is a recurrent layer. Gates are update, reset and candidate.
type Layer struct {
	Gate  []float32 // 3·units × inputs
	Again []float32 // 3·units × units
	Bias  []float32 // 3·units
	Late  []float32 // of the candidate, inside the reset
}

// NewNet makes a net with zero weights.
func NewNet(s Shape) (*Net, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	n := &Net{
		Shape: Shape{Features: s.Features, Units: slices.Clone(s.Units)},
		In:    make([]float32, s.Features*Inputs), InBias: make([]float32, s.Features), OutBias: make([]float32, Classes),
	}
	given := s.Features
	for _, u := range s.Units {
		n.Layers = append(n.Layers, Layer{Gate: make([]float32, 3*u*given), Again: make([]float32, 3*u*u),
			Bias: make([]float32, 3*u), Late: make([]float32, u)})
		given = u
	}
	n.Out = make([]float32, Classes*given)
	return n, nil
}

// State is the net's memory of one call.
type State struct {
	memory [MostLayers][MostUnits]float32
	Logits [Classes]float32
}

// Machine gives the log-odds of a machine.
func (s *State) Machine() float64 {
	rest := math.Exp(float64(s.Logits[ClassHuman])) + math.Exp(float64(s.Logits[ClassScreener]))
	return float64(s.Logits[ClassMachine]) - math.Log(rest)
}

// Screener gives the probability of call screening.
func (s *State) Screener() float64 {
	sum := 0.0
	for _, l := range s.Logits {
		sum += math.Exp(float64(l))
	}
	return math.Exp(float64(s.Logits[ClassScreener])) / sum
}

// Hear takes the next step.
//
//go:norace
func (n *Net) Hear(s *State, x *Step) {
	var features [MostFeatures]float32
	given := features[:n.Shape.Features]
	products(given, n.In[:1], x[:])
	for i := range given {
		given[i] = max(0, n.InBias[i]+given[i])
	}
	var gates, agains [3 * MostUnits]float32
	for k := range n.Layers {
		l, m := &n.Layers[k], n.Shape.Units[k]
		memory, gate, again := s.memory[k][:m], gates[:3*m], agains[:3*m]
		products(gate, l.Gate[:1], given)
		products(again, l.Again[:1], memory)
		for i := range memory {
			update := logistic(l.Bias[i] + gate[i] + again[i])
			reset := logistic(l.Bias[m+i] + gate[m+i] + again[m+i])
			fresh := tangent(l.Bias[2*m+i] + gate[2*m+i] + float32(reset*(l.Late[i]+again[2*m+i])))
			memory[i] = fresh + float32(update*(memory[i]-fresh))
		}
		given = memory
	}
	products(s.Logits[:], n.Out[:1], given)
	for i := range s.Logits {
		s.Logits[i] += n.OutBias[i]
	}
}

// products are those of the rows that begin at first, as many as to has room
// for and each as long as x, with x.
//
//go:norace
func products(to, first, x []float32) {
	if vectors {
		dots(&to[0], &first[0], &x[0], len(to), len(x))
		return
	}
	rows := unsafe.Slice(&first[0], len(to)*len(x)) //nolint:gosec // a row for each
	for i := range to {
		to[i] = plainDot(rows[i*len(x):(i+1)*len(x)], x)
	}
}

// plainDot of two vectors of one length, a multiple of eight: sixteen sums,
// added up in halves, the same on every machine.
//
//go:norace
func plainDot(a, b []float32) float32 {
	var sum [16]float32
	for len(a) >= 16 {
		for k := range sum {
			sum[k] += float32(a[k] * b[k])
		}
		a, b = a[16:], b[16:]
	}
	for k := range a {
		sum[k] += float32(a[k] * b[k])
	}
	for half := 8; half > 0; half /= 2 {
		for k := range half {
			sum[k] += sum[k+half]
		}
	}
	return sum[0]
}

// Exponential returns e to the x, from operations with the same results on every machine.
func Exponential(x float32) float32 {
	x = min(80, max(-80, x))
	n := float32(math.Floor(float64(float32(x*1.44269504) + 0.5)))
	x -= float32(n * 0.693359375)
	x -= float32(n * -2.12194440e-4)
	y := float32(1.9875691500e-4*x) + 1.3981999507e-3
	y = float32(y*x) + 8.3334519073e-3
	y = float32(y*x) + 4.1665795894e-2
	y = float32(y*x) + 1.6666665459e-1
	y = float32(y*x) + 5.0000001201e-1
	y = float32(float32(y*x)*x) + x + 1
	return y * math.Float32frombits(uint32(127+int32(n))<<23) //nolint:gosec // between 12 and 242
}

func logistic(x float32) float32 { return 1 / (1 + Exponential(-x)) }

func tangent(x float32) float32 { return float32(2*logistic(2*x)) - 1 }

// parts returns the rows of a net, in storage order.
func (n *Net) parts() [][]float32 {
	var all [][]float32
	rows := func(m []float32, long int) {
		for ; len(m) > 0; m = m[long:] {
			all = append(all, m[:long])
		}
	}
	rows(n.In, Inputs)
	rows(n.InBias, len(n.InBias))
	given := n.Shape.Features
	for i, u := range n.Shape.Units {
		l := &n.Layers[i]
		rows(l.Gate, given)
		rows(l.Again, u)
		rows(l.Bias, len(l.Bias))
		rows(l.Late, len(l.Late))
		given = u
	}
	rows(n.Out, given)
	rows(n.OutBias, len(n.OutBias))
	return all
}

// written is a net in a file; one of the first shape has only its weights.
type written struct {
	Shape
	Weights []byte `json:"weights"`
}

// MarshalJSON writes the weights as 12-bit integers with a scale per row to save space, all of them
// in one string.
func (n *Net) MarshalJSON() ([]byte, error) {
	var b []byte
	for _, row := range n.parts() {
		top := float32(0)
		for _, w := range row {
			top = max(top, float32(math.Abs(float64(w))))
		}
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(top))
		for _, w := range row {
			q := int16(0)
			if top > 0 {
				q = int16(math.Round(float64(w/top) * quantum))
			}
			b = binary.LittleEndian.AppendUint16(b, uint16(q))
		}
	}
	if n.Shape.equal(first) {
		return json.Marshal(b)
	}
	return json.Marshal(written{n.Shape, b})
}

// quantum is the largest stored weight of a row.
const quantum = 2047

// UnmarshalJSON reads what MarshalJSON wrote. Errors: model_net.
func (n *Net) UnmarshalJSON(text []byte) error {
	w := written{Shape: first}
	var err error
	if len(text) > 0 && text[0] == '"' {
		err = json.Unmarshal(text, &w.Weights)
	} else {
		w.Shape = Shape{}
		err = json.Unmarshal(text, &w)
	}
	if err != nil {
		return err
	}
	read, err := NewNet(w.Shape)
	if err != nil {
		return err
	}
	size, b := 0, w.Weights
	for _, row := range read.parts() {
		size += 4 + 2*len(row)
	}
	if len(b) != size {
		return fmt.Errorf(
			"model_net: the net has %d bytes, this program wants %d: train it again (lab amd train)",
			len(b),
			size,
		)
	}
	for _, row := range read.parts() {
		top := math.Float32frombits(binary.LittleEndian.Uint32(b))
		if math.IsNaN(float64(top)) || math.IsInf(float64(top), 0) {
			return errors.New("model_net: a weight is not a number: train it again (lab amd train)")
		}
		b = b[4:]
		for i := range row {
			row[i] = top * float32(int16(binary.LittleEndian.Uint16(b))) / quantum //nolint:gosec // two's complement
			b = b[2:]
		}
	}
	*n = *read
	return nil
}
