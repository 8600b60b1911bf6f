package enginetest

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// Draws is a source of choices for randomised tests.
type Draws interface {
	// Pick returns a number from 0 to n−1.
	Pick(n int) int
}

// RapidDraws are the choices of a property test, which rapid shrinks on failure.
type RapidDraws struct{ *rapid.T }

// Pick implements Draws.
func (d RapidDraws) Pick(n int) int { return rapid.IntRange(0, n-1).Draw(d.T, "n") }

// SeedDraws are evenly distributed choices, the same for the same seed.
type SeedDraws struct{ *rand.Rand } //nolint:forbidigo // a test draws

// FromSeed returns the choices of a seed.
func FromSeed(seed uint64) SeedDraws {
	return SeedDraws{rand.New(rand.NewPCG(seed, 1))} //nolint:gosec,forbidigo // a test draws, and it is no secret
}

// Pick implements Draws.
func (d SeedDraws) Pick(n int) int { return d.IntN(n) }

// Seeded names the seed in a failure, so that it can be replayed.
type Seeded struct {
	*testing.T
	Seed uint64
}

// Fatalf ends the test.
func (s Seeded) Fatalf(format string, args ...any) {
	s.Helper()
	s.T.Fatalf("seed %d: "+format, append([]any{s.Seed}, args...)...)
}

// ByteDraws are the choices in a fuzz target's input; once it is used up each is 0.
type ByteDraws struct{ B []byte }

// Pick implements Draws.
func (d *ByteDraws) Pick(n int) int {
	if len(d.B) == 0 {
		return 0
	}
	v := int(d.B[0]) % n
	d.B = d.B[1:]
	return v
}

// Empty says whether the input is used up.
func (d *ByteDraws) Empty() bool { return len(d.B) == 0 }
