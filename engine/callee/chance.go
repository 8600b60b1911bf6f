package callee

import (
	"math"
	"time"
)

// Mix is the finaliser of splitmix64.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Chance draws the random numbers for one thing: the same seed and thing give the same draws,
// whatever else is drawn.
type Chance uint64

// ChanceOf returns the chance of a thing.
func ChanceOf(seed, thing uint64) Chance { return Chance(Mix(Mix(seed) + thing)) }

// At is the k-th number, uniform within (0, 1).
func (c Chance) At(k uint64) float64 {
	return (float64(Mix(uint64(c)+k)>>11) + 0.5) / (1 << 53)
}

// of turns a uniform number into one of the distribution.
func (d lognormal) of(u float64) time.Duration {
	return seconds(math.Exp(d.mu + d.sigma*math.Sqrt2*math.Erfinv(2*u-1)))
}

// lognormal is the distribution of a given mean and standard deviation; without deviation, the mean
// itself.
type lognormal struct{ mu, sigma float64 }

func lognormalOf(mean, sd float64) lognormal {
	v := math.Log1p(sd * sd / (mean * mean))
	return lognormal{mu: math.Log(mean) - v/2, sigma: math.Sqrt(v)}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
