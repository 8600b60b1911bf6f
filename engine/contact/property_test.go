package contact

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/enginetest"
)

// stress throws events at a contact in any order; the world checks the invariants after each. An
// attempt is reserved only as the campaign would: one at a time, when due; everything else comes at
// random.
func stress(tb reporter, d enginetest.Draws, steps int) *world {
	w := newWorld(tb, func(p *Policy) {
		p.MaxAttempts = 1 + d.Pick(3)
		p.Callbacks = d.Pick(4) > 0
		if d.Pick(2) == 0 {
			p.Clip = untilSix
		}
		if d.Pick(2) == 0 {
			p.Redial.OnSystem = append(p.Redial.OnSystem, engine.OutcomeConnectedNoResult, engine.OutcomeThrottled,
				engine.OutcomeMachine)
		}
		if d.Pick(2) == 0 {
			p.Cadence = tables[d.Pick(len(tables))]
		}
		if d.Pick(3) == 0 {
			p.Redial.StopAfter = 30 * time.Second
		}
		if d.Pick(3) == 0 {
			p.Redial.OnlyUnder = []time.Duration{10 * time.Second, 30 * time.Second, 2 * time.Minute}[d.Pick(3)]
		}
	})
	all := moves()
	if d.Pick(2) == 0 {
		w.m.C.Number, w.m.C.Alternates = one, drawOthers(d)
	}
	for range steps {
		w.wait([]time.Duration{0, time.Second, 11 * time.Minute, time.Hour}[d.Pick(4)])
		if c := &w.m.C; d.Pick(3) == 0 && c.DueAt != nil {
			if w.now.Before(*c.DueAt) {
				w.now = *c.DueAt
			}
			w.reserve()
			continue
		}
		mv := all[d.Pick(len(all))]
		if mv.kind == RunReset || mv.kind == Readmitted || mv.kind == Triggered || mv.kind == Hastened ||
			mv.kind == CallbackSet {
			if d.Pick(4) > 0 {
				continue // rare, so that contacts reach an end
			}
			w.callbacks = 0
		}
		ev := mv.ev(w)
		if mv.kind == Triggered || mv.kind == Readmitted {
			ev.Times = drawTimes(w, d)
			ev.Number = one
			if w.m.C.Alternates != "" && d.Pick(2) == 0 {
				ev.Number, ev.Alternates = two, drawOthers(d)
			}
		}
		if mv.kind == ResultStored && d.Pick(6) == 0 {
			ev.Attempt.DoNotCall = true
		}
		_ = w.apply(ev)
		if s := w.m.C.State; (mv.kind == RunStopped || mv.kind == WindowEnded) && d.Pick(2) == 0 {
			w.p.ClosedAs = ManuallyStopped
			_ = s
		}
	}
	return w
}

func drawOthers(d enginetest.Draws) Alternates {
	list := []Alternate{{two, ""}, {three, "office"}, {"+4930444", ""}, {"+4930555", "mobile"}}
	return NewAlternates(list[:1+d.Pick(len(list))])
}

func drawTimes(w *world, d enginetest.Draws) (t Times) {
	if d.Pick(2) == 0 {
		t.NotBefore = w.after(time.Duration(d.Pick(5)) * 20 * time.Minute)
	}
	if d.Pick(3) == 0 {
		t.ExpiresAt = w.after(time.Duration(1+d.Pick(5)) * 40 * time.Minute)
	}
	if d.Pick(3) == 0 {
		p := d.Pick(PriorityCap + 1)
		t.Priority = &p
	}
	if len(t.Check(w.now)) > 0 {
		return Times{}
	}
	return t
}

func TestWhateverComesTheInvariantsHold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		stress(rt, enginetest.RapidDraws{T: rt}, rapid.IntRange(0, 60).Draw(rt, "steps"))
	})
}

func TestWhateverComesToManySeededContacts(t *testing.T) {
	for seed := range uint64(4000) {
		d := enginetest.FromSeed(seed)
		stress(enginetest.Seeded{T: t, Seed: seed}, d, d.Pick(80))
	}
}

func FuzzContact(f *testing.F) {
	f.Add([]byte{2, 1, 0, 0, 0, 0, 0, 1, 9, 0, 3, 2, 12})
	f.Fuzz(func(t *testing.T, b []byte) { stress(t, &enginetest.ByteDraws{B: b}, 100) })
}

// TestAResultCountsTheSameJustBeforeAndJustAfterTheEndOfTheNextAttempt is about a result of an
// earlier attempt that asks for nothing more, and an attempt that reaches nobody.
func TestAResultCountsTheSameJustBeforeAndJustAfterTheEndOfTheNextAttempt(t *testing.T) {
	ends := map[string]func(*world) Event{}
	var names []string
	for _, mv := range moves() {
		w := newWorld(t).reserve()
		if ev := mv.ev(w); mv.kind == Attempted && !ev.Attempt.Connected && ev.Attempt.ID == attemptName(w.n) {
			ends[mv.name] = mv.ev
			names = append(names, mv.name)
		}
	}
	seen := map[State]int{}
	for seed := range uint64(6000) {
		d := enginetest.FromSeed(seed)
		w := stress(enginetest.Seeded{T: t, Seed: seed}, d, d.Pick(40))
		if c := &w.m.C; c.Attempt == "" && c.DueAt != nil {
			w.now = *c.DueAt
			w.reserve()
		}
		if c := &w.m.C; c.Attempt == "" || c.Used == 0 {
			continue
		}
		end := ends[names[d.Pick(len(names))]]
		long := func(a *Attempt) { a.Talk = 3 * time.Minute }
		sold := w.result(w.n-1, "sold", long, endedAt(w.now))
		sold.Attempt.Run = w.m.C.Run
		before, after := w.clone(w.tb), w.clone(w.tb)
		before.must(sold, end(before))
		after.must(end(after), sold)
		b, a := &before.m.C, &after.m.C
		seen[a.State]++
		if b.State != a.State || (b.DueAt == nil) != (a.DueAt == nil) {
			before.fail("%s; %s when the result comes after the end", before.situation(), after.situation())
		}
	}
	for _, s := range []State{Completed, Abandoned, MachineDetected, Excluded} {
		if seen[s] < 10 {
			t.Errorf("%d come to %s", seen[s], s)
		}
	}
}

// TestEveryContactComesToAnEnd dials a contact for as long as it is due, with any outcome: it is
// final within Max Attempts, one more for a callback, and three unconsumed attempts before each.
func TestEveryContactComesToAnEnd(t *testing.T) {
	ends := []func(w *world) Event{}
	for _, mv := range moves() {
		if mv.kind == Attempted && mv.name != "attempted repeated" && mv.name != "attempted capped" {
			ends = append(ends, mv.ev)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, func(p *Policy) {
			p.MaxAttempts = rapid.IntRange(1, 4).Draw(rt, "max")
			p.Redial.OnlyUnder = rapid.SampledFrom([]time.Duration{0, time.Second, 2 * time.Minute}).Draw(rt, "under")
		})
		d := enginetest.RapidDraws{T: rt}
		row := 0
		for range (w.p.MaxAttempts + 1) * (MaxUnconsumed + 1) {
			if w.m.C.DueAt == nil {
				break
			}
			if w.now.Before(*w.m.C.DueAt) {
				w.now = *w.m.C.DueAt
			}
			w.reserve().wait(time.Minute)
			ev := ends[d.Pick(len(ends))](w)
			if w.m.C.Unconsumed >= MaxUnconsumed {
				ev.Attempt.Consumed = true // as the attempt's machine does
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
