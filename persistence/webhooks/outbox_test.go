package webhooks

import (
	"testing"
	"time"
)

// Polling takes a small share of the time, but a slow database delays messages by no more than a
// bounded pause.
func TestTheOutboxRestsInProportionToItsWorkAndNotForLong(t *testing.T) {
	const every = 500 * time.Millisecond
	for took, want := range map[time.Duration]time.Duration{
		0: every, 20 * time.Millisecond: every, 50 * time.Millisecond: time.Second,
		time.Second: slowEvery, time.Minute: slowEvery,
	} {
		if got := rest(every, took); got != want {
			t.Errorf("after %v it rests for %v, want %v", took, got, want)
		}
	}
	if got := rest(time.Minute, time.Hour); got != time.Minute {
		t.Errorf("polled every minute, it rests for %v", got)
	}
}
