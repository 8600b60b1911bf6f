package amd

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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
	for i := range f {
		f[i] = max(0, n.InBias[i]+dot(n.In[i][:], x[:]))
	}
	var next [Memory]float32
	for i := range next {
		update := sigmoid(n.Bias[i] + dot(n.Gate[i][:], f[:]) + dot(n.Again[i][:], s.memory[:]))
		reset := sigmoid(n.Bias[Memory+i] + dot(n.Gate[Memory+i][:], f[:]) + dot(n.Again[Memory+i][:], s.memory[:]))
		fresh := tanh(n.Bias[2*Memory+i] + dot(n.Gate[2*Memory+i][:], f[:]) + reset*(n.Late[i]+dot(n.Again[2*Memory+i][:], s.memory[:])))
		next[i] = fresh + update*(s.memory[i]-fresh)
	}
	s.memory = next
	for i := range s.Logits {
		s.Logits[i] = n.OutBias[i] + dot(n.Out[i][:], next[:])
	}
}

// dot of two vectors of one length, a multiple of eight.
//
//go:norace
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	for len(a) >= 8 && len(b) >= 8 {
		s0 += a[0]*b[0] + a[4]*b[4]
		s1 += a[1]*b[1] + a[5]*b[5]
		s2 += a[2]*b[2] + a[6]*b[6]
		s3 += a[3]*b[3] + a[7]*b[7]
		a, b = a[8:], b[8:]
	}
	return s0 + s1 + s2 + s3
}

//go:norace
func sigmoid(x float32) float32 { return float32(1 / (1 + math.Exp(-float64(x)))) }

//go:norace
func tanh(x float32) float32 { return float32(math.Tanh(float64(x))) }

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
