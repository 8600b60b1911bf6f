package pacing

import (
	"testing"
	"time"
)

// A run ticks its model when it gets to it, not when the model's half-seconds begin: lines dialled
// since the last tick still count.
func TestALineCountsFromItsDialOnWheneverTheTicksCome(t *testing.T) {
	for _, mode := range []Mode{Strict, Hybrid} {
		for late := time.Duration(0); late < binLength; late += 50 * time.Millisecond {
			m := NewModel(t0, 20*time.Second, 2*time.Second, nil)
			in := Input{Mode: mode, Concurrency: 50, Seats: 50, CapPPM: 30_000, TrunkTokens: Unlimited, NumberSlots: Unlimited,
				DueContacts: Unlimited, Model: m, Left: 8 * time.Hour, DialsLeft: Unlimited,
				Ledgers: []Ledger{{Period: PeriodRun, Counts: Counts{Live: 3000}}}}
			now := t0.Add(10*time.Second + 300*time.Millisecond)
			m.Tick(now)
			now = now.Add(late)
			place := func() (n int) {
				n = Decide(&in).Dials
				for range n {
					m.Dialled(now)
				}
				in.Ringing += n
				return n
			}
			if n := place(); n < 50 {
				t.Fatalf("%s: %d dials for fifty free workers and much credit", mode, n)
			}
			for range 10 {
				if n := place(); n > 0 {
					t.Fatalf("%s: %d more dials %v after the tick, although nothing has happened", mode, n, late)
				}
			}
		}
	}
}
