package pacing

import (
	"testing"
	"time"
)

// working is a campaign at full load: each step is one event and the decision after it.
type working struct {
	m     *Model
	in    Input
	now   time.Time
	n     int
	calls []time.Time
}

func newWorking(workers int, mode Mode) *working {
	c := newCrowd(fresh(), t0)
	c.each = max(workers/15, 1)
	c.run(900)
	w := &working{m: c.m, now: c.now, in: Input{Mode: mode, Concurrency: workers, Seats: workers, Busy: c.busy,
		Ringing: c.m.lines.known,
		CapPPM:  30_000, TrunkTokens: Unlimited, NumberSlots: Unlimited, DueContacts: Unlimited, Model: c.m,
		Left: 4 * time.Hour, DialsLeft: Unlimited,
		Ledgers: []Ledger{{Counts: Counts{Live: 40_000, Abandoned: 300}}, {Counts: Counts{Live: 20_000, Abandoned: 200}},
			{Counts: Counts{Live: 400_000}}}}}
	for range c.busy {
		w.calls = append(w.calls, w.now)
	}
	return w
}

func (w *working) step() {
	w.now = w.now.Add(20 * time.Millisecond)
	w.n++
	switch i := w.n % 25; {
	case i == 0:
		w.m.Tick(w.now)
	case i%4 == 0:
		w.m.Failed(w.now, 20*time.Second)
		w.in.Ringing = max(w.in.Ringing-1, 0)
	case i%4 == 1:
		w.m.Answered(w.now, 11*time.Second)
		w.m.Seated(w.now)
		w.m.Served()
		w.in.Ringing = max(w.in.Ringing-1, 0)
		w.in.Busy++
	case i%4 == 2 && w.in.Busy > 0:
		w.m.Ended(w.now, time.Minute)
		w.in.Busy--
	}
	for range min(Decide(&w.in).Dials, 2) {
		w.m.Dialled(w.now)
		w.in.Ringing++
	}
}

func TestDecisionsWithAModelDoNotAllocate(t *testing.T) {
	for _, mode := range []Mode{Strict, Hybrid, Progressive} {
		w := newWorking(200, mode)
		for range 1000 {
			w.step()
		}
		if n := testing.AllocsPerRun(2000, w.step); n != 0 {
			t.Errorf("%s: %v allocations a step", mode, n)
		}
	}
}

// BenchmarkDecision measures one event and the decision after it, every 25th a tick, at 200
// workers.
func BenchmarkDecision(b *testing.B) {
	for _, mode := range []Mode{Strict, Hybrid, Progressive} {
		b.Run(string(mode), func(b *testing.B) {
			w := newWorking(200, mode)
			b.ReportAllocs()
			for b.Loop() {
				w.step()
			}
		})
	}
}

// BenchmarkDecisionWithoutNews measures a decision after a message that changed nothing.
func BenchmarkDecisionWithoutNews(b *testing.B) {
	w := newWorking(200, Strict)
	b.ReportAllocs()
	for b.Loop() {
		Decide(&w.in)
	}
}

// BenchmarkTick measures two seconds of ticks, with the tables that a decision needs.
func BenchmarkTick(b *testing.B) {
	w := newWorking(200, Hybrid)
	b.ReportAllocs()
	for b.Loop() {
		for range 4 {
			w.now = w.now.Add(500 * time.Millisecond)
			w.m.Tick(w.now)
			Decide(&w.in)
		}
	}
}
