package fleet

import (
	"testing"
	"time"
)

// Seats in use when a count begins are counted as taken, even beyond the number of seats, until
// their holder makes a request or their calls end.
func TestSeatsInUseAreCountedBeforeAnyIsGranted(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	f := New("bot", 4, 0)
	f.Adopt(now, "a", 3, time.Minute)
	f.Adopt(now, "b", 2, time.Minute)
	if g := f.Request(now, "c", 4, 1, time.Minute); g.Granted != 0 {
		t.Errorf("%d granted while 5 of 4 seats are in use", g.Granted)
	}
	f.Adopt(now, "b", 0, time.Minute) // its calls are over
	if g := f.Request(now, "c", 4, 1, time.Minute); g.Granted != 1 {
		t.Errorf("%d granted, 1 seat is free", g.Granted)
	}
	if g := f.Request(now, "a", 2, 1, time.Minute); g.Granted != 2 {
		t.Errorf("who asks for less keeps %d", g.Granted)
	}
	f.Adopt(now, "a", 4, time.Minute)
	if f.Granted() > f.Seats() {
		t.Errorf("a holder that has asked is counted by the word of others: %d of %d", f.Granted(), f.Seats())
	}
}
