package training

import (
	"math"

	"golang.org/x/sys/cpu"
)

// block adds to four rows of sixteen columns of c, ldc bytes apart.
//
//go:noescape
func block(c, a, b *float32, n, ldc int)

// gatesOf does eight units at a time of what gates does.
//
//go:noescape
func gatesOf(gate, late, before, after, bias *float32, units int)

// slopesOf does eight units at a time of what slopes does.
//
//go:noescape
func slopesOf(gate, late, before, after, dgate, dlate, dbefore *float32, units int)

var vectors = cpu.X86.HasAVX2

// numbers are the constants of exponential, for vectors.
//
//nolint:unused // gemm_amd64.s reads it
var numbers = [...]uint32{
	math.Float32bits(80), math.Float32bits(-80), math.Float32bits(1.44269504), math.Float32bits(0.5),
	math.Float32bits(0.693359375), math.Float32bits(-2.12194440e-4), math.Float32bits(1.9875691500e-4),
	math.Float32bits(1.3981999507e-3), math.Float32bits(8.3334519073e-3), math.Float32bits(4.1665795894e-2),
	math.Float32bits(1.6666665459e-1), math.Float32bits(5.0000001201e-1),
	math.Float32bits(1), 127,
}
