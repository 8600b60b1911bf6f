package load

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// series returns samples every 15 s of a figure that is a function of the hours passed.
func series(long time.Duration, of func(hours float64) float64) (all []SoakSample) {
	for at := 0.0; at <= long.Seconds(); at += 15 {
		all = append(all, SoakSample{At: at, RSS: of(at / 3600)})
	}
	return all
}

func TestGrowthIsToldFromChance(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	j := &judged{name: "memory", unit: "MiB", limit: 5, least: 1, of: func(s *SoakSample) float64 { return s.RSS }}
	judge := func(long time.Duration, of func(hours float64) float64) Trend {
		return trendOf(j, steadySamples(series(long, of), long))
	}
	noise := func(float64) float64 { return 100 + 4*rng.NormFloat64() }
	for range 200 {
		if got := judge(30*time.Minute, noise); !got.OK {
			t.Fatalf("noise is called growth: %s", got.String())
		}
	}
	if got := judge(30*time.Minute, func(h float64) float64 { return noise(h) + 30*h }); got.OK || got.PerH < 20 ||
		got.PerH > 40 {
		t.Errorf("30 MiB an hour: %s", got.String())
	}
	// It settles within the first third, as caches do.
	if got := judge(30*time.Minute, func(h float64) float64 { return 100 - 50*math.Exp(-40*h) }); !got.OK {
		t.Errorf("what settles: %s", got.String())
	}
	if got := judge(30*time.Minute, func(h float64) float64 { return 100 + 30*h }); got.OK ||
		math.Abs(got.PerH-30) > 0.01 {
		t.Errorf("a line: %s", got.String())
	}
	if got := judge(30*time.Minute, func(h float64) float64 { return 100 - 30*h }); !got.OK {
		t.Errorf("what shrinks: %s", got.String())
	}
	// A sawtooth like the garbage collector's, and one with a rising floor.
	saw := func(h float64) float64 { _, part := math.Modf(h * 97); return 100 + 30*part }
	if got := judge(30*time.Minute, saw); !got.OK {
		t.Errorf("a saw: %s", got.String())
	}
	if got := judge(30*time.Minute, func(h float64) float64 { return saw(h) + 60*h }); got.OK {
		t.Errorf("a rising saw: %s", got.String())
	}
	if got := trendOf(j, nil); !got.OK {
		t.Error("nothing seen is no growth")
	}
}
