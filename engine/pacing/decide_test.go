package pacing

import (
	"testing"
	"time"

	"dialler/engine"
)

// calm is a campaign of ten workers without any constraint.
func calm() Input {
	return Input{Mode: Strict, Concurrency: 10, Seats: 10, CapPPM: 30_000, TrunkTokens: 100, NumberSlots: 100,
		DueContacts: 100,
		Ledgers:     []Ledger{{Period: PeriodRun}}}
}

func TestEveryDecisionNamesItsBindingConstraint(t *testing.T) {
	f := func(dials int, want engine.Constraint, change func(*Input)) {
		t.Helper()
		in := calm()
		change(&in)
		if d := Decide(&in); d.Dials != dials || d.Constraint != want {
			t.Errorf("got %d dials, %q (%+v); want %d, %q", d.Dials, d.Constraint, d.Why, dials, want)
		}
	}
	f(0, engine.ConstraintPaused, func(in *Input) { in.Paused, in.OutsideWindow = true, true })
	f(0, engine.ConstraintWindow, func(in *Input) { in.OutsideWindow, in.Draining = true, true })
	f(0, engine.ConstraintNodeDraining, func(in *Input) { in.Draining, in.DatabaseAway = true, true })
	f(0, engine.ConstraintDatabase, func(in *Input) { in.DatabaseAway, in.Fenced = true, true })
	f(0, engine.ConstraintNodeFenced, func(in *Input) { in.Fenced = true })
	f(0, engine.ConstraintKeeperAway, func(in *Input) { in.KeeperAway, in.Overload = true, true })
	f(0, engine.ConstraintOverload, func(in *Input) { in.Overload = true })
	f(0, engine.ConstraintDatabase, func(in *Input) { in.DatabaseAway, in.DueContacts = true, 0 })

	f(10, engine.ConstraintConcurrency, func(*Input) {}) // nothing has been earned yet, so credit is not named
	f(10, engine.ConstraintConcurrency, func(in *Input) { in.Mode = Progressive })
	f(10, engine.ConstraintConcurrency, func(in *Input) { in.CapPPM = 0 })
	f(7, engine.ConstraintSeats, func(in *Input) { in.CapPPM, in.Seats = 0, 7 })
	f(7, engine.ConstraintConcurrency, func(in *Input) { in.CapPPM, in.Concurrency = 0, 7 })
	f(0, engine.ConstraintSeats, func(in *Input) { in.Seats = 0 })
	f(0, engine.ConstraintConcurrency, func(in *Input) { in.Concurrency = 0 })
	f(0, engine.ConstraintConcurrency, func(in *Input) { in.CapPPM, in.Busy = 0, 10 })
	f(0, engine.ConstraintSeats, func(in *Input) { in.CapPPM, in.Busy, in.Seats = 0, 9, 5 }) // allotment was cut
	f(4, engine.ConstraintConcurrency, func(in *Input) { in.CapPPM, in.Busy, in.Ringing, in.Waiting = 0, 3, 2, 1 })

	f(3, engine.ConstraintMaxLines, func(in *Input) { in.LineCap, in.Ringing = 5, 2 })
	f(0, engine.ConstraintMaxLines, func(in *Input) { in.LineCap, in.Ringing = 2, 5 })
	f(4, engine.ConstraintTrunkCPS, func(in *Input) { in.TrunkTokens = 4 })
	f(0, engine.ConstraintTrunkHealth, func(in *Input) {
		in.TrunkTokens, in.TrunkConstraint = 0, engine.ConstraintTrunkHealth
	})
	f(2, engine.ConstraintTrunkChannels, func(in *Input) {
		in.TrunkTokens, in.TrunkConstraint = 2, engine.ConstraintTrunkChannels
	})
	f(5, engine.ConstraintNumberPool, func(in *Input) { in.NumberSlots = 5 })
	f(6, engine.ConstraintNoDueContacts, func(in *Input) { in.DueContacts = 6 })
	f(6, engine.ConstraintRetryDelay, func(in *Input) { in.DueContacts, in.LaterContacts = 6, 3 })
	f(0, engine.ConstraintNoDueContacts, func(in *Input) { in.DueContacts, in.TrunkTokens = 0, 0 })
	f(0, engine.ConstraintNoDueContacts, func(in *Input) { in.DueContacts, in.Busy, in.CapPPM = 0, 10, 0 })
}

// Credit is named only when there is some, or when more was abandoned than the cap allows:
// otherwise workers are the constraint.
func TestCreditIsNamedOnlyWhereItsArithmeticSaysSomething(t *testing.T) {
	f := func(want engine.Constraint, change func(*Input)) {
		t.Helper()
		for _, m := range []*Model{nil, NewModel(time.Now(), 30*time.Second, 2*time.Second, nil)} {
			in := calm()
			in.Model = m
			change(&in)
			if d := Decide(&in); d.Constraint != want {
				t.Errorf("model %v: %q (%+v); want %q", m != nil, d.Constraint, d.Why, want)
			}
		}
	}
	counts := func(live, abandoned int) []Ledger {
		return []Ledger{{Period: PeriodRun, Counts: Counts{Live: live, Abandoned: abandoned}}}
	}
	f(engine.ConstraintConcurrency, func(in *Input) { in.Busy = 10 })               // all talk
	f(engine.ConstraintConcurrency, func(in *Input) { in.Busy, in.Ringing = 6, 4 }) // a line for every free worker
	f(engine.ConstraintSeats, func(in *Input) { in.Busy, in.Seats = 2, 2 })         // the bot is the limit
	f(engine.ConstraintSeats, func(in *Input) { in.Busy, in.Seats, in.Ringing = 1, 2, 1 })
	f(engine.ConstraintSeats, func(in *Input) { in.Busy, in.Seats = 9, 5 })        // its share became smaller
	f(engine.ConstraintConcurrency, func(in *Input) { in.Busy, in.Seats = 10, 5 }) // but it uses all that it may
	f(engine.ConstraintConcurrency, func(in *Input) { in.Busy, in.Ledgers = 10, counts(100, 9) })
	f(engine.ConstraintAbandonCredit, func(in *Input) { in.Busy, in.Ringing, in.Ledgers = 6, 4, counts(100, 9) })
	// Two credits are earned, and two lines hold them.
	f(engine.ConstraintAbandonCredit, func(in *Input) { in.Busy, in.Ringing, in.Ledgers = 6, 6, counts(80, 0) })
}

func TestCreditLetsLinesGoBeyondTheFreeWorkers(t *testing.T) {
	f := func(dials, seated int, change func(*Input)) {
		t.Helper()
		in := calm()
		in.Ledgers = []Ledger{{Period: PeriodRun, Counts: Counts{Live: 1000, Abandoned: 10}}} // B = 20/0.97
		change(&in)
		if d := Decide(&in); d.Dials != dials || d.Seated != seated {
			t.Errorf("got %d dials, %d seated (%+v); want %d, %d", d.Dials, d.Seated, d.Why, dials, seated)
		}
	}
	f(20, 10, func(*Input) {})                   // limited to one beyond the free for every worker
	f(10, 0, func(in *Input) { in.Busy = 10 })   //
	f(15, 5, func(in *Input) { in.Ringing = 5 }) //
	f(0, 0, func(in *Input) { in.Ringing = 20 }) //
	f(5, 0, func(in *Input) { in.Busy = 15 })    // five workers were taken away
	f(10, 10, func(in *Input) { in.Mode = Progressive })
	f(10, 10, func(in *Input) { in.Mode = "other" }) // the safe one
	f(10, 10, func(in *Input) { in.Ledgers = nil })  // without ledgers there is no credit
	f(12, 10, func(in *Input) {                      // the strictest ledger decides
		in.Ledgers = append(in.Ledgers, Ledger{Period: PeriodDay, Counts: Counts{Live: 100, Abandoned: 1}}) // B = 2.06
	})
	f(10, 10, func(in *Input) { in.PhiPPM, in.Ledgers[0].Machines = 50_000, 400 }) // φ·machines = 20
	f(11, 10, func(in *Input) { in.PhiPPM, in.Ledgers[0].Machines = 50_000, 380 }) // B = 1/0.97
	f(10, 10, func(in *Input) { in.Ledgers[0].Abandoned = 40 })                    // over the cap after lost seats
}

func TestNumbersThatWereAbandonedAreOnlyDialledWithASeat(t *testing.T) {
	f := func(dials, seated int, want engine.Constraint, change func(*Input)) {
		t.Helper()
		in := calm()
		in.Ledgers = []Ledger{{Period: PeriodRun, Counts: Counts{Live: 1000, Abandoned: 10}}} // 20 lines
		change(&in)
		if d := Decide(&in); d.Dials != dials || d.Seated != seated || d.Constraint != want {
			t.Errorf("got %d dials, %d seated, %q; want %d, %d, %q", d.Dials, d.Seated, d.Constraint, dials, seated, want)
		}
	}
	f(10, 10, engine.ConstraintConcurrency, func(in *Input) { in.SeatedOnly = 100 })
	f(13, 10, engine.ConstraintConcurrency, func(in *Input) { in.SeatedOnly = 97 })
	f(0, 0, engine.ConstraintSeats, func(in *Input) { in.SeatedOnly, in.Busy, in.Seats = 100, 9, 9 })
	f(4, 0, engine.ConstraintConcurrency, func(in *Input) { in.SeatedOnly, in.Busy = 96, 10 })
	f(20, 10, engine.ConstraintConcurrency, func(in *Input) { in.SeatedOnly = 5 })
	// A line that rings with a worker of its own is in Busy and takes no credit.
	f(18, 8, engine.ConstraintConcurrency, func(in *Input) { in.Busy, in.Held = 2, 2 })
	f(3, 3, engine.ConstraintMaxLines, func(in *Input) { in.Busy, in.Held, in.Ringing, in.LineCap = 2, 2, 1, 6 })

	now := time.Now()
	for ago, needs := range map[time.Duration]bool{0: true, 72*time.Hour - 1: true, 72 * time.Hour: false} {
		if NeedsSeat(now.Add(-ago), now) != needs {
			t.Errorf("%v after an abandon: needs a seat %v", ago, !needs)
		}
	}
	if NeedsSeat(time.Time{}, now) {
		t.Error("a number that was never abandoned needs a seat")
	}
}

func TestCreditIsExact(t *testing.T) {
	f := func(c Counts, capPPM, phiPPM, want int, within bool) {
		t.Helper()
		if got := c.Credit(capPPM, phiPPM); got != want || c.Within(capPPM, phiPPM) != within {
			t.Errorf("%+v at %d ppm: %d, %v; want %d, %v", c, capPPM, got, c.Within(capPPM, phiPPM), want, within)
		}
	}
	f(Counts{}, 30_000, 0, 0, true)
	f(Counts{Live: 100, Abandoned: 3}, 30_000, 0, 0, true)
	f(Counts{Live: 99, Abandoned: 3}, 30_000, 0, 0, false)
	f(Counts{Live: 100}, 0, 0, 0, true)
	f(Counts{Live: 100, Abandoned: 1}, 0, 0, 0, false)
	f(Counts{Live: 970, Abandoned: 0}, 30_000, 0, 30, true) // 29.1/0.97 is exactly 30
	f(Counts{Live: 969, Abandoned: 0}, 30_000, 0, 29, true)
	f(Counts{Live: 1_000_000_000, Abandoned: 0}, 30_000, 0, 30_927_835, true)
	f(Counts{Live: 100, Machines: 30}, 30_000, 100_000, 0, true)
	f(Counts{Live: 100, Machines: 31}, 30_000, 100_000, 0, false)
	f(Counts{Live: 10}, 900_000, 0, 10, true) // no cap above 50 %
	f(Counts{Live: 10}, -5, 0, 0, true)
	if _, ok := (Counts{}).Rate(); ok {
		t.Error("a rate of nothing")
	}
	if r, ok := (Counts{Live: 200, Abandoned: 3}).Rate(); !ok || r != 0.015 {
		t.Error("rate", r)
	}
}

func TestLedgersFollowRunDayAndThirtyDays(t *testing.T) {
	start := time.Date(2030, 5, 1, 9, 0, 0, 0, time.UTC)
	midnight := func(day int) time.Time { return time.Date(2030, 5, day, 0, 0, 0, 0, time.UTC) }
	b := NewBooks(start, midnight(2), start.AddDate(0, 0, -29)) // the 30 days end on 2 May, 09:00
	for range 100 {
		b.Served()
	}
	b.Abandoned()
	b.Machine()
	want := Counts{Live: 101, Abandoned: 1, Machines: 1}
	if b.Run.Counts != want || b.Day.Counts != want || b.Thirty.Counts != want {
		t.Fatalf("%+v", b)
	}
	if b.Roll(midnight(2).Add(-1), midnight(2)) {
		t.Fatal("the day ended before midnight")
	}
	if !b.Roll(midnight(2), midnight(3)) || b.Day.Counts != (Counts{}) || b.Run.Counts != want || b.Thirty.Counts != want {
		t.Fatalf("after midnight: %+v", b)
	}
	if b.Day.Since != midnight(2) || b.Day.Until != midnight(3) {
		t.Fatalf("day %+v", b.Day)
	}
	if !b.Roll(midnight(2).Add(9*time.Hour), midnight(3)) || b.Thirty.Counts != (Counts{}) || b.Run.Counts != want {
		t.Fatalf("after 30 days: %+v", b)
	}
	// After a long sleep the present period begins where its predecessor ended.
	if !b.Roll(start.AddDate(0, 3, 0), start.AddDate(0, 3, 1)) || b.Thirty.Since.Sub(start)%ThirtyDays != 24*time.Hour {
		t.Fatalf("after a quarter: %+v", b.Thirty)
	}
}

func TestLinesThatMayBeAnsweredTomorrowNeedTomorrowsCredit(t *testing.T) {
	start := time.Date(2030, 5, 1, 9, 0, 0, 0, time.UTC)
	midnight := time.Date(2030, 5, 2, 0, 0, 0, 0, time.UTC)
	b := NewBooks(start, midnight, start)
	for range 1000 {
		b.Served()
	}
	const lead = 35 * time.Second
	f := func(now time.Time, credit bool) {
		t.Helper()
		in := calm()
		in.Ledgers = b.Active(now, lead, nil)
		if d := Decide(&in); (d.Why.Credit > 0) != credit || len(in.Ledgers) != 3 && credit {
			t.Errorf("at %s: %+v", now.Format(time.TimeOnly), d.Why)
		}
	}
	f(start, true)
	f(midnight.Add(-lead-1), true)
	f(midnight.Add(-lead), false)
	f(midnight.Add(-1), false)
}

func TestDecideDoesNotAllocate(t *testing.T) {
	in := calm()
	if n := testing.AllocsPerRun(100, func() { Decide(&in) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func BenchmarkDecide(b *testing.B) {
	in := calm()
	in.Ledgers = []Ledger{{Counts: Counts{Live: 1000, Abandoned: 10}}, {Counts: Counts{Live: 500, Abandoned: 3}},
		{Counts: Counts{Live: 9000, Abandoned: 200}}}
	b.ReportAllocs()
	for b.Loop() {
		if Decide(&in).Dials == 0 {
			b.Fatal("nothing to dial")
		}
	}
}

func TestLinesBeyondTheFreeWorkersHoldCredit(t *testing.T) {
	f := func(free, ringing, waiting, want int) {
		t.Helper()
		if got := (Explanation{Free: free, Ringing: ringing, Waiting: waiting}).Held(); got != want {
			t.Errorf("%d free, %d ringing, %d waiting: %d held, want %d", free, ringing, waiting, got, want)
		}
	}
	f(0, 0, 0, 0)
	f(3, 3, 0, 0)
	f(3, 4, 1, 2)
	f(-2, 1, 1, 2) // seats were taken away: calls in progress cannot be prevented
}
