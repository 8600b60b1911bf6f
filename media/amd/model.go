package amd

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
)

// TreeDepth is the depth of every tree of an Ensemble.
const TreeDepth = 4

const (
	treeNodes  = 1<<TreeDepth - 1
	treeLeaves = 1 << TreeDepth
)

// Tree is a complete binary tree: node i has children 2i+1 and 2i+2; a vector
// goes right when the feature is above the threshold.
type Tree struct {
	Feature   [treeNodes]int      `json:"f"`
	Threshold [treeNodes]float32  `json:"t"`
	Leaf      [treeLeaves]float32 `json:"v"`
}

// Ensemble is a sum of trees: log-odds.
type Ensemble struct {
	Bias  float32 `json:"bias"`
	Trees []Tree  `json:"trees"`
}

// Score gives the log-odds of a vector.
//
//go:norace
func (m *Ensemble) Score(x *Vector) float64 {
	sum := m.Bias
	for i := range m.Trees {
		t := &m.Trees[i]
		n := 0
		for n < treeNodes {
			n = 2*n + 1
			if at := (n - 1) / 2; x[t.Feature[at]] > t.Threshold[at] {
				n++
			}
		}
		sum += t.Leaf[n-treeNodes]
	}
	return float64(sum)
}

// TrainedOn identifies one folder of training data.
type TrainedOn struct {
	Name   string `json:"name"`
	Files  int    `json:"files"`
	SHA256 string `json:"labels_sha256"` // of its labels.csv
}

// Model is the result of training.
type Model struct {
	Seed     uint64      `json:"seed"`
	Epochs   int         `json:"epochs,omitempty"` // of the net's training
	Data     []TrainedOn `json:"data"`
	Features []string    `json:"features"`
	Rule     Rule        `json:"rule"`
	// Nets classify who speaks: their outputs are averaged. Music distinguishes music from speech.
	Nets  []*Net   `json:"nets"`
	Music Ensemble `json:"music"`
}

// Check refuses a model with other features.
func (m *Model) Check() error {
	if len(m.Features) != FeatureCount {
		return fmt.Errorf(
			"model_features: the model knows %d features, this program %d: train it again (lab amd train)",
			len(m.Features),
			FeatureCount,
		)
	}
	for i, name := range m.Features {
		if name != FeatureNames[i] {
			return fmt.Errorf(
				"model_features: feature %d of the model is %q, of this program %q: train it again (lab amd train)",
				i,
				name,
				FeatureNames[i],
			)
		}
	}
	if len(m.Nets) == 0 || len(m.Nets) > MostNets || slices.Contains(m.Nets, nil) {
		return fmt.Errorf(
			"model_net: the model has %d nets, this program wants 1 to %d: train it again (lab amd train)",
			len(m.Nets),
			MostNets,
		)
	}
	for i := range m.Music.Trees {
		for _, f := range m.Music.Trees[i].Feature {
			if f < 0 || f >= FeatureCount {
				return fmt.Errorf("model_trees: tree %d asks for feature %d of %d", i, f, FeatureCount)
			}
		}
	}
	return nil
}

// ReadModel reads what `lab amd train` wrote.
func ReadModel(b []byte) (*Model, error) {
	m := new(Model)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("model_json: %w", err)
	}
	return m, m.Check()
}

//go:embed model.json
var embedded []byte

var shipped = sync.OnceValue(func() *Model {
	m, err := ReadModel(embedded)
	if err != nil {
		panic(err) // it is embedded in the program
	}
	return m
})

// Shipped returns the embedded model.
func Shipped() *Model { return shipped() }

func probability(logOdds float64) float64 { return 1 / (1 + math.Exp(-logOdds)) }
