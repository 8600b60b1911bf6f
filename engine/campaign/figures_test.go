package campaign

import (
	"testing"
	"time"

	"dialler/engine/pacing"
	"dialler/engine/window"
)

func TestDiallingTimeIsTheTimeOfRunningInsideTheWindow(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2030, 3, 1, hour, minute, 0, 0, time.UTC) }
	m := Machine{
		C: Campaign{
			State:    Draft,
			Run:      1,
			Settings: Settings{Window: window.Window{Zone: "UTC", Start: 9 * 60, End: 17 * 60}},
		},
	}
	apply := func(k Kind, at time.Time) {
		t.Helper()
		if _, err := m.Apply(Event{Kind: k, At: at}, nil); err != nil {
			t.Fatal(err)
		}
	}
	apply(Start, at(8, 0))
	apply(Pause, at(10, 0)) // 1 h of it inside
	apply(Resume, at(16, 30))
	apply(Stop, at(20, 0)) // ½ h
	if m.C.Dialled != 90*time.Minute || m.C.RunningSince != nil {
		t.Errorf("%v since %v", m.C.Dialled, m.C.RunningSince)
	}
	n := Counters{Connected: 20, ConnectedCalls: 30, Attempts: 540}
	got := TotalsOf(&m.C, &n)
	if got == nil || got.Connected != 20 || got.DiallingSeconds != 5400 || *got.DialsPerSec != 0.1 ||
		*got.ConnectedPerHour != 20 ||
		*got.CallsPerMinute != 6 {
		t.Errorf("%+v", got)
	}
	apply(Restart, at(21, 0))
	if TotalsOf(&m.C, &n) != nil {
		t.Error("a run that has not begun has totals")
	}
	apply(CancelRestart, at(21, 1))
	if got := TotalsOf(&m.C, &n); got == nil || got.DiallingSeconds != 5400 {
		t.Errorf("the run before, shown again: %+v", got)
	}
	apply(Restart, at(22, 0))
	apply(Start, at(22, 0))
	apply(Broke, at(23, 0)) // all of it outside
	if got := TotalsOf(&m.C, &n); m.C.Dialled != 0 || got == nil || got.DialsPerSec != nil {
		t.Errorf("%v %+v", m.C.Dialled, got)
	}
}

func TestTheIndicatorSaysWhatAnOperatorDecidedThenTheClockThenTheDials(t *testing.T) {
	now := time.Date(2030, 3, 1, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		s    State
		open bool
		last time.Time
		want Indicator
	}{
		{Running, true, now.Add(-IdleAfter), IndicatorLive}, {Running, true, now.Add(-IdleAfter - time.Second),
			IndicatorIdle},
		{Running, true, time.Time{}, IndicatorIdle}, {Running, false, now, IndicatorOutside},
		{Paused, false, now, IndicatorPaused},
		{Draft, true, now, IndicatorNone}, {Completed, true, now, IndicatorNone}, {Failed, false, now, IndicatorNone},
	} {
		if got := Indicate(c.s, c.open, c.last, now); got != c.want {
			t.Errorf("%s, open %v, last dial %v: %s, want %s", c.s, c.open, c.last, got, c.want)
		}
	}
}

func TestALedgerShowsItsRateAndItsCreditUnderTheCap(t *testing.T) {
	l := pacing.Ledger{
		Period: pacing.PeriodRun,
		Counts: pacing.Counts{Live: 100, Abandoned: 1, Machines: 50, CapacityLoss: 1},
	}
	if v := ViewLedger(&l, l.Counts, &Settings{AbandonCapPPM: 30_000}); v.Credit != 2 || *v.AbandonRate != 0.01 ||
		v.CapacityLoss != 1 ||
		v.Machines != 50 ||
		v.Until != nil {
		t.Errorf("%+v", v)
	}
	// A share of the machines were persons: 50 × 4 % count as two abandoned.
	if v := ViewLedger(&l, l.Counts, &Settings{AbandonCapPPM: 30_000, FalsePositivePPM: 40_000}); v.Credit != 0 ||
		*v.AbandonRate != 0.01 {
		t.Errorf("%+v", v)
	}
}
