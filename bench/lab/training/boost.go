package training

import (
	"math"
	"math/rand/v2"
	"slices"

	"dialler/media/amd"
)

// row is one moment of one recording.
type row struct {
	x      *amd.Vector
	y      bool
	weight float64
}

const (
	cuts       = 48  // cut points of a feature's values
	rounds     = 140 // trees
	rate       = 0.08
	damping    = 8.0  // λ of the leaves
	leafWeight = 12.0 // minimum weight on either side of a split
	rowShare   = 0.6  // of the rows, per tree
	columns    = 0.45 // of the features, per tree
)

// boost fits boosted trees to the rows by second-order gradients of the logistic loss, over binned
// features. It ignores the features in skip.
func boost(rows []row, skip map[string]bool, trees int, seed uint64) amd.Ensemble {
	r := rand.New(rand.NewPCG(seed, 11)) //nolint:gosec // reproducible, no secret
	var positive, all float64
	for _, w := range rows {
		all += w.weight
		if w.y {
			positive += w.weight
		}
	}
	if positive == 0 || positive == all {
		return amd.Ensemble{}
	}
	m := amd.Ensemble{Bias: float32(math.Log(positive / (all - positive)))}
	edges := edgesOf(rows)
	binned := make([][]uint8, amd.FeatureCount)
	for f := range binned {
		binned[f] = make([]uint8, len(rows))
		for i, w := range rows {
			k, _ := slices.BinarySearch(edges[f], w.x[f])
			binned[f][i] = uint8(k) //nolint:gosec // at most cuts
		}
	}
	score := make([]float64, len(rows))
	for i := range score {
		score[i] = float64(m.Bias)
	}
	b := &builder{rows: rows, binned: binned, edges: edges, node: make([]int16, len(rows)),
		grad: make([]float32, len(rows)), hess: make([]float32, len(rows))}
	for range trees {
		for i, w := range rows {
			p := 1 / (1 + math.Exp(-score[i]))
			y := 0.0
			if w.y {
				y = 1
			}
			b.grad[i], b.hess[i] = float32((p-y)*w.weight), float32(p*(1-p)*w.weight)
			b.node[i] = 0
			if r.Float64() >= rowShare {
				b.node[i] = -1
			}
		}
		b.features = b.features[:0]
		for f := range amd.FeatureCount {
			if !skip[amd.FeatureNames[f]] && r.Float64() < columns && len(edges[f]) > 0 {
				b.features = append(b.features, f)
			}
		}
		t := b.grow()
		m.Trees = append(m.Trees, t)
		one := amd.Ensemble{Trees: m.Trees[len(m.Trees)-1:]}
		for i, w := range rows {
			score[i] += one.Score(w.x)
		}
	}
	return m
}

// edgesOf returns the values at which each feature is cut.
func edgesOf(rows []row) [][]float32 {
	edges := make([][]float32, amd.FeatureCount)
	step := max(1, len(rows)/20000)
	for f := range edges {
		var v []float32
		for i := 0; i < len(rows); i += step {
			v = append(v, rows[i].x[f])
		}
		slices.Sort(v)
		for k := 1; k < cuts; k++ {
			e := v[k*len(v)/cuts]
			if n := len(edges[f]); n == 0 || e > edges[f][n-1] {
				edges[f] = append(edges[f], e)
			}
		}
	}
	return edges
}

type builder struct {
	rows       []row
	binned     [][]uint8
	edges      [][]float32
	features   []int
	node       []int16 // of the level; -1: not in this tree
	grad, hess []float32
}

type sums struct{ g, h float64 }

func gain(s sums) float64 { return s.g * s.g / (s.h + damping) }

// grow builds one tree, level by level.
func (b *builder) grow() amd.Tree {
	var t amd.Tree
	for i := range t.Threshold {
		t.Threshold[i] = math.MaxFloat32 // everything goes left
	}
	for depth := range amd.TreeDepth {
		count := 1 << depth
		total := make([]sums, count)
		for i, n := range b.node {
			if n >= 0 {
				total[n].g += float64(b.grad[i])
				total[n].h += float64(b.hess[i])
			}
		}
		best := make([]float64, count)
		feature, edge := make([]int, count), make([]int, count)
		for k := range edge {
			edge[k] = -1
		}
		hist := make([]sums, count*cuts)
		for _, f := range b.features {
			clear(hist)
			column := b.binned[f]
			for i, n := range b.node {
				if n >= 0 {
					h := &hist[int(n)*cuts+int(column[i])]
					h.g += float64(b.grad[i])
					h.h += float64(b.hess[i])
				}
			}
			for n := range count {
				var left sums
				for e := range b.edges[f] {
					left.g += hist[n*cuts+e].g
					left.h += hist[n*cuts+e].h
					right := sums{total[n].g - left.g, total[n].h - left.h}
					if left.h < leafWeight/4 || right.h < leafWeight/4 {
						continue
					}
					if g := gain(left) + gain(right) - gain(total[n]); g > best[n] {
						best[n], feature[n], edge[n] = g, f, e
					}
				}
			}
		}
		for n := range count {
			if edge[n] >= 0 {
				t.Feature[count-1+n], t.Threshold[count-1+n] = feature[n], b.edges[feature[n]][edge[n]]
			}
		}
		for i, n := range b.node {
			if n < 0 {
				continue
			}
			b.node[i] = 2 * n
			if edge[n] >= 0 && int(b.binned[feature[n]][i]) > edge[n] {
				b.node[i]++
			}
		}
	}
	leaves := make([]sums, len(t.Leaf))
	for i, n := range b.node {
		if n >= 0 {
			leaves[n].g += float64(b.grad[i])
			leaves[n].h += float64(b.hess[i])
		}
	}
	for i, s := range leaves {
		t.Leaf[i] = float32(math.Round(-rate*s.g/(s.h+damping)*1e5) / 1e5)
	}
	return t
}
