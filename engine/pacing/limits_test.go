package pacing

import (
	"testing"
	"time"

	"dialler/engine"
)

func TestOfLimitsThatBindAlikeTheFirstIsNamed(t *testing.T) {
	f := func(dials int, want engine.Constraint, change func(*Input)) {
		t.Helper()
		in := calm()
		change(&in)
		if d := Decide(&in); d.Dials != dials || d.Constraint != want {
			t.Errorf("got %d dials, %q (%+v); want %d, %q", d.Dials, d.Constraint, d.Why, dials, want)
		}
	}
	f(4, engine.ConstraintMaxLines, func(in *Input) { in.LineCap, in.TrunkTokens = 4, 4 })
	f(4, engine.ConstraintTrunkCPS, func(in *Input) { in.TrunkTokens, in.NumberSlots = 4, 4 })
	f(4, engine.ConstraintNumberPool, func(in *Input) { in.NumberSlots, in.DueContacts = 4, 4 })
	f(0, engine.ConstraintTrunkCPS, func(in *Input) { in.TrunkTokens, in.NumberSlots = 0, 0 })
	// What the gate allows, and the same limit foreverything else.
	f(10, engine.ConstraintConcurrency, func(in *Input) { in.TrunkTokens, in.NumberSlots, in.DueContacts = 10, 10, 10 })
	f(9, engine.ConstraintNoDueContacts, func(in *Input) { in.DueContacts = 9 })
	// Two lines of credit: twelve dials. 88 of 100 need a seat of their own, so
	// that ten of them and twelve others could be dialled; 98 leave just twelve.
	two := func(in *Input) { in.Ledgers[0].Counts = Counts{Live: 100, Abandoned: 1} }
	f(12, engine.ConstraintAbandonCredit, func(in *Input) { two(in); in.SeatedOnly = 88 })
	f(12, engine.ConstraintAbandonCredit, func(in *Input) { two(in); in.SeatedOnly = 98 })
	f(11, engine.ConstraintConcurrency, func(in *Input) { two(in); in.SeatedOnly = 99 })
	f(10, engine.ConstraintConcurrency, func(in *Input) { two(in); in.SeatedOnly = 100 })
}

func TestOfLedgersThatAreAlikeTheFirstIsExplained(t *testing.T) {
	in := calm()
	same := Counts{Live: 100, Abandoned: 1}
	in.Ledgers = []Ledger{{Period: PeriodRun, Counts: same}, {Period: PeriodDay, Counts: same},
		{Period: Period30Days, Counts: Counts{Live: 1000}}}
	if d := Decide(&in); d.Why.Period != PeriodRun {
		t.Errorf("%+v", d.Why)
	}
	in.Ledgers[1].Live-- // slightly stricter
	if d := Decide(&in); d.Why.Period != PeriodDay || d.Why.Live != 99 {
		t.Errorf("%+v", d.Why)
	}
}

func TestNoCapCountsForMoreThanHalf(t *testing.T) {
	for ppm, want := range map[int]int{499_999: 999_996, 500_000: 1_000_000, 500_001: 1_000_000, 1_000_000: 1_000_000} {
		if got := (Counts{Live: 1_000_000}).Credit(ppm, 0); got != want {
			t.Errorf("%d ppm: %d, want %d", ppm, got, want)
		}
	}
}

func TestNoShareOfMachinesCountsForMoreThanAll(t *testing.T) {
	c := Counts{Live: 1_000_000, Machines: 500_000}
	for _, phi := range []int{1_000_000, 1_000_001, 2_000_000} {
		if !c.Within(500_000, phi) {
			t.Errorf("%d ppm of the machines", phi)
		}
	}
	if c.Machines++; c.Within(500_000, 1_000_000) || !c.Within(500_000, 999_998) {
		t.Error("all of the machines count as abandoned")
	}
}

func TestHoursAreKeptForThirtyDaysAndTheOneUnderWay(t *testing.T) {
	now := time.Date(2030, 3, 1, 9, 30, 0, 0, time.UTC)
	for ago, kept := range map[int64]int{720: 1, 721: 0} {
		var h Hours
		h.Put(HourOf(now)-ago, Counts{Live: 1})
		h.Count(now, Counts{Machines: 1})
		if c := h.Over(now, 60*24*time.Hour); c.Live != kept || c.Machines != 1 {
			t.Errorf("an hour of %d hours ago: %+v", ago, c)
		}
	}
}

func TestASpanEndsWithTheHourUnderWayAndBeginsWithAFullOne(t *testing.T) {
	now := time.Date(2030, 3, 1, 9, 30, 0, 0, time.UTC)
	for ago, in := range map[int64]int{-1: 0, 0: 1, 23: 1, 24: 0} {
		var h Hours
		h.Put(HourOf(now)-ago, Counts{Live: 1})
		if c := h.Over(now, 24*time.Hour); c.Live != in {
			t.Errorf("an hour of %d hours ago: %+v", ago, c)
		}
	}
}
