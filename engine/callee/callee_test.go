package callee

import (
	"math"
	"testing"
	"time"
)

func TestDrawsAreUniform(t *testing.T) {
	const n, cells = 200_000, 100
	f := func(name string, draw func(i uint64) float64) {
		t.Helper()
		var sum, pairs, before float64
		var count [cells]int
		for i := range uint64(n) {
			u := draw(i)
			if !(u > 0 && u < 1) {
				t.Fatalf("%s: draw %d is %v", name, i, u)
			}
			count[int(u*cells)]++
			sum += u
			pairs += (u - 0.5) * (before - 0.5)
			before = u
		}
		chi := 0.0
		for _, c := range count {
			d := float64(c) - n/cells
			chi += d * d / (n / cells)
		}
		// Four standard deviations of each figure.
		if math.Abs(chi-(cells-1)) > 4*math.Sqrt(2*cells) {
			t.Errorf("%s: χ² is %.1f of %d cells", name, chi, cells)
		}
		if math.Abs(sum/n-0.5) > 4/math.Sqrt(12*n) {
			t.Errorf("%s: the mean is %.5f", name, sum/n)
		}
		if r := pairs / n * 12; math.Abs(r) > 4/math.Sqrt(n) {
			t.Errorf("%s: neighbours correlate by %.5f", name, r)
		}
	}
	for k := uint64(drawAnswered); k <= drawTalk; k++ {
		f("one draw of many dials", func(i uint64) float64 { return ChanceOf(11, i).At(k) })
	}
	f("one draw of one dial, many seeds", func(i uint64) float64 { return ChanceOf(i, 1).At(drawAnswered) })
	f("all draws of dials in turn", func(i uint64) float64 { return ChanceOf(7, i/7).At(1 + i%7) })
}

// people computes means and deviations over many dials.
func people(sc *Scenario) (answered, machines float64, ring, machineRing, talk, hold moments) {
	c := New(sc, 5)
	const n = 400_000
	for i := range uint64(n) {
		f := c.Dial(i+1, time.Hour)
		switch {
		case !f.Answered:
			continue
		case f.Machine:
			machines++
			machineRing.add(f.Ring)
			hold.add(f.Talk)
		default:
			ring.add(f.Ring)
			talk.add(f.Talk)
		}
		answered++
	}
	return answered / n, machines / answered, ring, machineRing, talk, hold
}

type moments struct{ n, sum, squares float64 }

func (m *moments) add(d time.Duration) {
	m.n++
	m.sum += d.Seconds()
	m.squares += d.Seconds() * d.Seconds()
}
func (m *moments) mean() float64 { return m.sum / m.n }
func (m *moments) sd() float64   { return math.Sqrt(m.squares/m.n - m.mean()*m.mean()) }

func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > share*math.Abs(want) {
		t.Errorf("%s: %.4f, want %.4f", what, got, want)
	}
}

func TestCalleesFollowTheLawsOfTheScenario(t *testing.T) {
	sc := Standard()
	sc.Timeout = 4 * time.Minute // nobody answers too late
	answered, machines, ring, machineRing, talk, hold := people(&sc)
	near(t, "share of answers", answered, 0.3, 0.02)
	near(t, "share of machines", machines, 0.2, 0.03)
	near(t, "ring", ring.mean(), 12, 0.02)
	near(t, "its deviation", ring.sd(), 6, 0.05)
	near(t, "ring of machines", machineRing.mean(), 1.4*12, 0.02)
	near(t, "its deviation", machineRing.sd(), 0.8*6, 0.05)
	near(t, "a machine holds its worker", hold.mean(), 3, 1e-9)
	near(t, "talk", talk.mean(), 90, 0.03)

	// The mean of all talks is M, whatever the share of short ones.
	for _, short := range []float64{0, 0.5, 0.9} {
		sc.Short = short
		_, _, _, _, talk, _ = people(&sc)
		near(t, "talk", talk.mean(), 90, 0.05)
	}
	sc.Short, sc.TalkMean = 1, 8*time.Second
	_, _, _, _, talk, _ = people(&sc)
	near(t, "talk when all are short", talk.mean(), 8, 0.02)
	sc.TalkFactor = Schedule{Steps: []Step{{0, 1}, {time.Minute, 2.5}}}
	_, _, _, _, talk, hold = people(&sc)
	near(t, "talk two and a half times as long", talk.mean(), 20, 0.02)
	near(t, "a machine holds its worker no longer for it", hold.mean(), 3, 1e-9)
}

func TestWhoAnswersAfterTheTimeoutDoesNot(t *testing.T) {
	sc := Standard()
	c := New(&sc, 5)
	var fast, full, answered int
	for i := range uint64(100_000) {
		f := c.Dial(i, 0)
		switch {
		case f.Answered && f.Ring < sc.Timeout:
			answered++
		case !f.Answered && f.Ring == sc.Timeout:
			full++
		case !f.Answered && f.Ring >= failLeast && f.Ring < FastFailMost:
			fast++
		default:
			t.Fatalf("dial %d: %+v", i, f)
		}
	}
	if p := float64(answered) / 100_000; p >= 0.3 || p < 0.28 {
		t.Errorf("%.3f answer; some of the 0.3 do so too late", p)
	}
	near(t, "share of quick failures", float64(fast)/float64(fast+full), failFast, 0.05)
}

func TestADialsFateFollowsFromSeedNumberAndTime(t *testing.T) {
	sc := Standard()
	a, b, other := New(&sc, 11), New(&sc, 11), New(&sc, 12)
	differ := 0
	for i := range uint64(1000) {
		f := a.Dial(i, 0)
		if g := b.Dial(i, 5*time.Hour); f != g {
			t.Fatalf("dial %d: %+v, and later %+v", i, f, g)
		}
		if f != other.Dial(i, 0) {
			differ++
		}
	}
	if differ < 500 {
		t.Errorf("another seed has other people in %d of 1000 dials only", differ)
	}
	// The answer probability at the time of the dial counts: a callee who answers at a low one also
	// answers at a higher one.
	sc.Answer = Schedule{Steps: []Step{{0, 0.2}, {time.Hour, 0.5}}}
	for i := range uint64(1000) {
		if low, high := a.Dial(i, 0), a.Dial(i, time.Hour); low.Answered && low != high {
			t.Fatalf("dial %d: %+v at p 0.2, %+v at 0.5", i, low, high)
		}
	}
}
