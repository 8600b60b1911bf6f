package trial

import (
	"testing"
	"time"

	"dialler/engine/callee"
)

// A finite list is dialled to its end, everybody once, and the run ends with the last call.
func TestAListWithAnEndIsDialledOnceAndTheRunEndsWithItsLastCall(t *testing.T) {
	for _, p := range []Policy{Progressive, Ratio, Strict, Hybrid} {
		sc := callee.Standard()
		sc.Contacts = 2000
		r := Run(&sc, p, 2, 7)
		if r.Dials != 2000 || r.Length >= sc.Length || r.Length < 10*time.Minute {
			t.Errorf("%s: %d dials in %v", p, r.Dials, r.Length)
		}
		live := 0
		for i := range uint64(2000) {
			if f := callee.FateOf(&sc, 7, i+1, 0); f.Answered && !f.Machine {
				live++
			}
		}
		// Machines that found no worker were never classified and count as live.
		if c := r.Counts; c.Live < live || c.Live > live+c.Abandoned {
			t.Errorf("%s: %d live answers of %d", p, c.Live, live)
		}
	}
}

func TestAListIsMeasuredUntilItIsDialledThrough(t *testing.T) {
	sc := callee.Standard()
	sc.Contacts = 2000
	r := Run(&sc, Hybrid, 0, 3)
	l := r.Listed
	if l.Length <= 0 || l.Length >= r.Length || l.Busy <= 0 || l.Busy >= r.Busy || l.Connects <= 0 ||
		l.Connects > r.Connects() ||
		l.Workers != 50*l.Length {
		t.Errorf("%+v of %v, %d connects", l, r.Length, r.Connects())
	}
	// Before the end of the list, seats are busier.
	if float64(l.Busy)/float64(l.Workers) <= float64(r.Busy)/float64(r.Workers) {
		t.Errorf("%+v", l)
	}
}
