package trial

import (
	"testing"
	"time"

	"dialler/engine/callee"
	"dialler/engine/pacing"
)

// In the first seconds nobody has answered yet, however many will: a forecast that took that for a
// low level would dial without limit.
func TestAColdStartWithAThousandWorkersIsNotOverTheCap(t *testing.T) {
	sc := callee.Standard()
	sc.Workers, sc.Length = callee.Always(1000), 10*time.Minute
	for seed := range uint64(2) {
		r := Run(&sc, Hybrid, 0, 11+seed)
		if r.OverEver {
			t.Errorf("seed %d: over the cap by %.0f of %+v", 11+seed, r.Excess, r.Counts)
		}
	}
}

func TestWhenNobodyAnswersLinesStayBounded(t *testing.T) {
	sc := callee.Standard()
	sc.Workers, sc.Answer, sc.Length = callee.Always(10), callee.Always(0), 20*time.Minute
	for _, p := range []pacing.Mode{pacing.Strict, pacing.Hybrid} {
		w := newWorld(&sc, 1)
		w.pacer = newModelled(&sc, p)
		for w.step() {
			if w.s.ringing > 40*10 {
				t.Fatalf("%s: %d lines ring for 10 workers", p, w.s.ringing)
			}
		}
	}
}
