package contact

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
)

// draws is a source of choices: rapid's, or the bytes of a fuzz target.
type draws interface {
	pick(n int) int
}

type rapidDraws struct{ t *rapid.T }

func (d rapidDraws) pick(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "n") }

// seedDraws choose evenly; a failing seed is named and plays again.
type seedDraws struct{ *rand.Rand }

func (d seedDraws) pick(n int) int { return d.IntN(n) }

type seeded struct {
	*testing.T
	seed uint64
}

func (s seeded) Fatalf(format string, args ...any) {
	s.T.Helper()
	s.T.Fatalf("seed %d: "+format, append([]any{s.seed}, args...)...)
}

type byteDraws struct{ b []byte }

func (d *byteDraws) pick(n int) int {
	if len(d.b) == 0 {
		return 0
	}
	v := int(d.b[0]) % n
	d.b = d.b[1:]
	return v
}

// stress throws events at a contact in any order; the world checks the
// invariants after each. An attempt is reserved only as the campaign would: one
// at a time, when due; everything else comes as it likes.
func stress(tb reporter, d draws, steps int) *world {
	w := newWorld(tb, func(p *Policy) {
		p.MaxAttempts = 1 + d.pick(3)
		p.Callbacks = d.pick(4) > 0
		if d.pick(2) == 0 {
			p.Clip = untilSix
		}
		if d.pick(2) == 0 {
			p.RetryOnSystem = append(p.RetryOnSystem, engine.OutcomeConnectedNoResult, engine.OutcomeThrottled, engine.OutcomeMachine)
		}
		if d.pick(3) == 0 {
			p.StopRedialsAfter = 30 * time.Second
		}
	})
	all := moves()
	for range steps {
		w.wait([]time.Duration{0, time.Second, 11 * time.Minute, time.Hour}[d.pick(4)])
		if c := &w.m.C; d.pick(3) == 0 && c.DueAt != nil {
			if w.now.Before(*c.DueAt) {
				w.now = *c.DueAt
			}
			w.reserve()
			continue
		}
		mv := all[d.pick(len(all))]
		if mv.kind == RunReset || mv.kind == Readmitted || mv.kind == Triggered || mv.kind == Hastened || mv.kind == CallbackSet {
			if d.pick(4) > 0 {
				continue // rare, so that contacts come to an end
			}
			w.callbacks = 0
		}
		_ = w.apply(mv.ev(w))
		if s := w.m.C.State; (mv.kind == RunStopped || mv.kind == WindowEnded) && d.pick(2) == 0 {
			w.p.ClosedAs = ManuallyStopped
			_ = s
		}
	}
	return w
}

func TestWhateverComesTheInvariantsHold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		stress(rt, rapidDraws{rt}, rapid.IntRange(0, 60).Draw(rt, "steps"))
	})
}

func TestWhateverComesToManySeededContacts(t *testing.T) {
	for seed := range uint64(4000) {
		d := seedDraws{rand.New(rand.NewPCG(seed, 1))}
		stress(seeded{t, seed}, d, d.pick(80))
	}
}

func FuzzContact(f *testing.F) {
	f.Add([]byte{2, 1, 0, 0, 0, 0, 0, 1, 9, 0, 3, 2, 12})
	f.Fuzz(func(t *testing.T, b []byte) { stress(t, &byteDraws{b}, 100) })
}

// TestEveryContactComesToAnEnd dials a contact for as long as it is due, with
// whatever comes of it: within Max Attempts, one callback more, and three
// unconsumed attempts before each, it is final.
func TestEveryContactComesToAnEnd(t *testing.T) {
	ends := []func(w *world) Event{}
	for _, mv := range moves() {
		if mv.kind == Attempted && mv.name != "attempted repeated" && mv.name != "attempted capped" {
			ends = append(ends, mv.ev)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, func(p *Policy) { p.MaxAttempts = rapid.IntRange(1, 4).Draw(rt, "max") })
		d := rapidDraws{rt}
		row := 0
		for range (w.p.MaxAttempts + 1) * (MaxUnconsumed + 1) {
			if w.m.C.DueAt == nil {
				break
			}
			if w.now.Before(*w.m.C.DueAt) {
				w.now = *w.m.C.DueAt
			}
			w.reserve().wait(time.Minute)
			ev := ends[d.pick(len(ends))](w)
			if w.m.C.Unconsumed >= MaxUnconsumed {
				ev.Attempt.Consumed = true // as the attempt's machine makes it
			}
			if row++; ev.Attempt.Consumed {
				row = 0
			}
			if row > MaxUnconsumed {
				w.fail("%d unconsumed attempts in a row", row)
			}
			w.must(ev)
			if w.m.C.ResultDueAt != nil {
				w.now = *w.m.C.ResultDueAt
				w.must(Event{Kind: ResultTimedOut})
			}
		}
		if w.m.C.Open() {
			w.fail("still open")
		}
	})
}
