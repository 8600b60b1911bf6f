package training

import (
	"math"
	"sync"
)

const (
	clipAt = 5.0  // norm of the gradient
	decay  = 1e-5 // of the weights, per batch
)

// adam is the Adam optimiser.
type adam struct{ mean, square []float32 }

func newAdam(n int) *adam { return &adam{make([]float32, n), make([]float32, n)} }

// keepMean and keepSquare are Adam's decay rates.
const keepMean, keepSquare = 0.9, 0.99

//go:norace
func (a *adam) step(w, g []float32, rate float32, turn int) {
	norm := 0.0
	for _, v := range g {
		norm += float64(float64(v) * float64(v))
	}
	norm = math.Sqrt(norm) / batch
	scale := float32(1.0 / batch)
	if norm > clipAt {
		scale *= float32(clipAt / norm)
	}
	first, second := float32(1-math.Pow(keepMean, float64(turn))), float32(1-math.Pow(keepSquare, float64(turn)))
	var wait sync.WaitGroup
	const parts = 4
	for k := range parts {
		from, to := len(g)*k/parts, len(g)*(k+1)/parts
		wait.Go(func() { a.part(w[from:to], g[from:to], from, scale, rate, first, second) })
	}
	wait.Wait()
}

// part does so with the weights from one on.
//
//go:norace
func (a *adam) part(w, g []float32, from int, scale, rate, first, second float32) {
	means, squares := a.mean[from:][:len(g)], a.square[from:][:len(g)]
	for i, v := range g {
		v *= scale
		means[i] += float32((1 - keepMean) * (v - means[i]))
		squares[i] += float32((1 - keepSquare) * (float32(v*v) - squares[i]))
		w[i] -= float32(rate*(means[i]/first)/(float32(math.Sqrt(float64(squares[i]/second)))+1e-7)) + float32(decay*w[i])
	}
}
