package amd

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unsafe"
)

// Sizes of the net.
const (
	// Hidden is how many features a step is described with.
	Hidden = 64
	// Memory is how many values it remembers.
	Memory = 128
	gates  = 3 * Memory
	// MostNets is how many nets a model may have.
	MostNets = 3
	// Classes are who may speak: ClassHuman, ClassMachine, ClassScreener.
	Classes = 3
)

// The classes of a net.
const (
	ClassHuman = iota
	ClassMachine
	ClassScreener
)

// Net is a small recurrent net: features of a step, a gated recurrent unit,
// and how likely it is, so far, that a person, a machine or call screening
// speaks. It learns the words of greetings, of which timing says nothing.
// Matrices are stored a row per output.
type Net struct {
	In      [Hidden][Inputs]float32
	InBias  [Hidden]float32
	Gate    [gates][Hidden]float32 // update, reset, candidate
	Again   [gates][Memory]float32
	Bias    [gates]float32
	Late    [Memory]float32 // of the candidate, within the reset
	Out     [Classes][Memory]float32
	OutBias [Classes]float32
}

// State is what the net remembers of one call.
type State struct {
	memory [Memory]float32
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
	var f [Hidden]float32
	products(f[:], n.In[0][:1], x[:])
	for i := range f {
		f[i] = max(0, n.InBias[i]+f[i])
	}
	var gate, again [gates]float32
	products(gate[:], n.Gate[0][:1], f[:])
	products(again[:], n.Again[0][:1], s.memory[:])
	for i := range s.memory {
		update := logistic(n.Bias[i] + gate[i] + again[i])
		reset := logistic(n.Bias[Memory+i] + gate[Memory+i] + again[Memory+i])
		fresh := tangent(n.Bias[2*Memory+i] + gate[2*Memory+i] + float32(reset*(n.Late[i]+again[2*Memory+i])))
		s.memory[i] = fresh + float32(update*(s.memory[i]-fresh))
	}
	products(s.Logits[:], n.Out[0][:1], s.memory[:])
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
	rows := unsafe.Slice(&first[0], len(to)*len(x))
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

// Exponential is e to the x, of operations that are the same on any machine.
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

// parts are the matrices of a net, in the order in which they are written.
func (n *Net) parts() [][]float32 {
	var all [][]float32
	rows := func(r []float32) { all = append(all, r) }
	for i := range n.In {
		rows(n.In[i][:])
	}
	rows(n.InBias[:])
	for i := range n.Gate {
		rows(n.Gate[i][:])
	}
	for i := range n.Again {
		rows(n.Again[i][:])
	}
	rows(n.Bias[:])
	rows(n.Late[:])
	for i := range n.Out {
		rows(n.Out[i][:])
	}
	rows(n.OutBias[:])
	return all
}

// MarshalJSON writes the weights with 12 bits and a scale a row, so that they
// take no more room than needed: all of them in one string.
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
			b = binary.LittleEndian.AppendUint16(b, uint16(q)) //nolint:gosec // two's complement
		}
	}
	return json.Marshal(b)
}

// quantum is the largest weight of a row, as it is written.
const quantum = 2047

// UnmarshalJSON reads what MarshalJSON wrote.
func (n *Net) UnmarshalJSON(text []byte) error {
	var b []byte
	if err := json.Unmarshal(text, &b); err != nil {
		return err
	}
	size := 0
	for _, row := range n.parts() {
		size += 4 + 2*len(row)
	}
	if len(b) != size {
		return fmt.Errorf("model_net: the net has %d bytes, this program wants %d: train it anew (dialler amd train)", len(b), size)
	}
	for _, row := range n.parts() {
		top := math.Float32frombits(binary.LittleEndian.Uint32(b))
		if math.IsNaN(float64(top)) || math.IsInf(float64(top), 0) {
			return errors.New("model_net: a weight is no number: train it anew (dialler amd train)")
		}
		b = b[4:]
		for i := range row {
			row[i] = top * float32(int16(binary.LittleEndian.Uint16(b))) / quantum //nolint:gosec // two's complement
			b = b[2:]
		}
	}
	return nil
}
