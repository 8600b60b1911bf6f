package monotonic

import (
	"testing"
	"time"
)

// With a newer Go that lays times out in another way, recordings lose the monotonic clock: this
// package must follow.
func TestTheLayoutIsThatOfPackageTime(t *testing.T) {
	if !known {
		t.Fatal("package time has another layout")
	}
	now := time.Now()
	made := Join(now.Round(0), 0)
	if made == made.Round(0) || now == now.Round(0) {
		t.Errorf("%#v, %#v", made, now)
	}
}

func TestTheReadingIsWhatDurationsFollow(t *testing.T) {
	zone := time.FixedZone("x", 3600)
	at := time.Date(2026, 11, 28, 12, 0, 0, 5, zone)
	a, b := Join(at, 0), Join(at.Add(-time.Hour), 7)
	if b.Sub(a) != 7 || !b.Round(0).Equal(at.Add(-time.Hour)) || b.Location() != zone {
		t.Errorf("%s after %s", b.Sub(a), b)
	}
}

func TestATimeThatCannotHaveAReadingStaysAsItIs(t *testing.T) {
	for _, year := range []int{1, 1884, 2158, 9999} {
		at := time.Date(year, 2, 3, 4, 5, 6, 7, time.UTC)
		if got := Join(at, time.Second); got != at {
			t.Errorf("%#v becomes %#v", at, got)
		}
	}
}
