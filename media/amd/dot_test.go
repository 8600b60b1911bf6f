package amd

import (
	"math/rand/v2"
	"testing"
)

func TestVectorsGiveThePlainProducts(t *testing.T) {
	if !vectors {
		t.Skip("this processor has none")
	}
	r := rand.New(rand.NewPCG(1, 4))
	for _, n := range []int{8, 16, 64, Inputs, 128, 192, MostUnits} {
		rows, x, to := make([]float32, 7*n), make([]float32, n), make([]float32, 7)
		for i := range rows {
			rows[i] = float32(r.NormFloat64())
		}
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		dots(&to[0], &rows[0], &x[0], len(to), n)
		for i, got := range to {
			if want := plainDot(rows[i*n:(i+1)*n], x); got != want {
				t.Fatalf("row %d of %d: %v, plain %v", i, n, got, want)
			}
		}
	}
}
