package window

import (
	"testing"
	"time"
)

func TestAStepOfTheWallClockIsWhatTheBootTimeClockDoesNotShow(t *testing.T) {
	at := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	f := func(wall, boot, want time.Duration) {
		t.Helper()
		before := Reading{Wall: at, Boot: time.Hour}
		if got := (Reading{Wall: at.Add(wall), Boot: time.Hour + boot}).Stepped(before); got != want {
			t.Errorf("wall %s, boot %s: stepped %s, want %s", wall, boot, got, want)
		}
	}
	f(500*time.Millisecond, 500*time.Millisecond, 0)
	f(time.Hour, time.Hour, 0) // the machine slept, or the process did
	f(2*time.Second, 0, 0)
	f(2*time.Second+1, 0, 2*time.Second+1)
	f(-2*time.Second, 0, 0)
	f(-2*time.Second-1, 0, -2*time.Second-1)
	f(time.Hour, time.Second, time.Hour-time.Second)
	f(-time.Hour, time.Second, -time.Hour-time.Second)
	if got := (Reading{Wall: at, Boot: time.Hour}).Stepped(Reading{}); got != 0 {
		t.Errorf("%s against no reading", got)
	}
}
