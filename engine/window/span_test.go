package window

import (
	"testing"
	"time"
)

var office = Window{Zone: "Europe/Berlin", Start: 9 * 60, End: 17 * 60, Days: []Day{Mon, Tue, Wed, Thu, Fri}}

func berlin(t *testing.T, day, hour, minute int) time.Time {
	t.Helper()
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return time.Date(2030, 3, day, hour, minute, 0, 0, loc) // the 1st is a Friday; the clock changes on the 31st
}

func TestOpenTimePassesOnlyWhileTheWindowIsOpen(t *testing.T) {
	f := func(from time.Time, d time.Duration, want time.Time) {
		t.Helper()
		if at, ok := office.After(from, d); !ok || !at.Equal(want) {
			t.Errorf("%v after %v: %v %v, want %v", d, from, at, ok, want)
		}
	}
	f(berlin(t, 1, 10, 0), 2*time.Hour, berlin(t, 1, 12, 0))
	f(berlin(t, 1, 10, 0), 7*time.Hour, berlin(t, 1, 17, 0))
	f(berlin(t, 1, 16, 0), 90*time.Minute, berlin(t, 4, 9, 30)) // over the week-end
	f(berlin(t, 2, 12, 0), time.Hour, berlin(t, 4, 10, 0))
	f(berlin(t, 1, 7, 0), 16*time.Hour, berlin(t, 4, 17, 0))
	f(berlin(t, 2, 12, 0), 0, berlin(t, 2, 12, 0))
	always := Window{Zone: "UTC"}
	if at, ok := always.After(berlin(t, 1, 0, 0), 1000*time.Hour); !ok ||
		!at.Equal(berlin(t, 1, 0, 0).Add(1000*time.Hour)) {
		t.Errorf("always open: %v %v", at, ok)
	}
	never := Window{Zone: "UTC", Days: []Day{}}
	if at, ok := never.After(berlin(t, 1, 0, 0), time.Hour); ok {
		t.Errorf("never open: %v", at)
	}
}

func TestOpenTimeBetweenTwoMoments(t *testing.T) {
	f := func(from, to time.Time, want time.Duration) {
		t.Helper()
		if got := office.OpenBetween(from, to); got != want {
			t.Errorf("from %v to %v: %v, want %v", from, to, got, want)
		}
	}
	f(berlin(t, 1, 10, 0), berlin(t, 1, 12, 0), 2*time.Hour)
	f(berlin(t, 1, 7, 0), berlin(t, 1, 20, 0), 8*time.Hour)
	f(berlin(t, 1, 16, 0), berlin(t, 4, 9, 30), 90*time.Minute)
	f(berlin(t, 2, 7, 0), berlin(t, 3, 20, 0), 0)
	f(berlin(t, 1, 12, 0), berlin(t, 1, 12, 0), 0)
	f(berlin(t, 1, 12, 0), berlin(t, 1, 11, 0), 0)
	night := Window{Zone: "Europe/Berlin", Start: 22 * 60, End: 6 * 60}
	if got := night.OpenBetween(berlin(t, 30, 12, 0), berlin(t, 31, 12, 0)); got != 7*time.Hour {
		t.Errorf("the night in which the clock goes forward: %v", got)
	}
}
