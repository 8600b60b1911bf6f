package draw

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

func TestSpanDrawsWithinItsBounds(t *testing.T) {
	f := func(s Span, lo, hi, mean time.Duration) {
		t.Helper()
		const n = 20000
		var sum time.Duration
		for i := range n {
			d := s.Draw(Rand(1, "span", i))
			if d < lo || d > hi {
				t.Fatalf("%v drew %v", s, d)
			}
			sum += d
		}
		if got := sum / n; math.Abs(float64(got-mean)) > 0.03*float64(mean)+1 {
			t.Fatalf("%v has mean %v, want %v", s, got, mean)
		}
	}
	f(Span{}, 0, 0, 0)
	f(Exactly(time.Second), time.Second, time.Second, time.Second)
	f(Between(time.Second, 3*time.Second), time.Second, 3*time.Second, 2*time.Second)
	f(Between(time.Second, time.Second), time.Second, time.Second, time.Second)
	f(Exponential(time.Second), 0, expCap*time.Second, time.Second)
}

func TestSpanText(t *testing.T) {
	f := func(text string, want Span) {
		t.Helper()
		var got struct{ S Span }
		if err := json.Unmarshal([]byte(`{"S":"`+text+`"}`), &got); err != nil || got.S != want {
			t.Fatalf("%q: %v, %v", text, got.S, err)
		}
		var again Span
		if err := again.UnmarshalText([]byte(want.String())); err != nil || again != want {
			t.Fatalf("%q: %v, %v", want, again, err)
		}
	}
	f("3s", Exactly(3*time.Second))
	f("2s..8s", Between(2*time.Second, 8*time.Second))
	f(" 2s .. 1m ", Between(2*time.Second, time.Minute))
	f("exp(90s)", Exponential(90*time.Second))
	for _, bad := range []string{"", "3", "8s..2s", "exp(3)", "-1s", "2s..", "exp(2s"} {
		var s Span
		if s.UnmarshalText([]byte(bad)) == nil {
			t.Fatalf("%q was read as %v", bad, s)
		}
	}
	var l Length
	if l.UnmarshalText([]byte("-1s")) == nil || l.UnmarshalText([]byte("250ms")) != nil ||
		l != Length(250*time.Millisecond) {
		t.Fatalf("%v", l)
	}
}

func TestNeighbouringNumbersDrawIndependently(t *testing.T) {
	const n = 10000
	low := 0
	for i := range n {
		if Rand(1, "+491510000"+string(rune('0'+i%10)), i/10).Float64() < 0.5 {
			low++
		}
	}
	if low < n*48/100 || low > n*52/100 {
		t.Fatalf("%d of %d below a half", low, n)
	}
	if Hash(1, "a", 1) == Hash(1, "a", 2) || Hash(1, "a", 1) == Hash(2, "a", 1) || Hash(1, "a", 1) == Hash(1, "b", 1) {
		t.Fatal("neighbours collide")
	}
}

func TestIndexFollowsTheWeights(t *testing.T) {
	weights := []float64{0, 1, -5, 3, 0}
	var counts [5]int
	for i := range 8000 {
		counts[Index(Rand(2, "index", i), len(weights), func(i int) float64 { return weights[i] })]++
	}
	if counts[0]+counts[2]+counts[4] != 0 || counts[1] < 1850 || counts[1] > 2150 {
		t.Fatalf("%v", counts)
	}
	if i := Index(Rand(2, "", 0), 2, func(int) float64 { return 0 }); i != -1 {
		t.Fatalf("%d without weights", i)
	}
}
