package access

import (
	"fmt"
	"testing"
	"time"
)

func TestThrottleIsBounded(t *testing.T) {
	now := noon
	th := newThrottle(func() time.Time { return now })
	for i := range throttleCap + 100 {
		th.admit(subject{name: string(rune(i)) + "x" + time.Duration(i).String(), every: time.Second, burst: 1})
	}
	if len(th.buckets) > throttleCap {
		t.Errorf("%d buckets", len(th.buckets))
	}
}

func TestSubjectsOfGuessesFillNoMoreMemoryThanTheirCap(t *testing.T) {
	th := newThrottle(func() time.Time { return noon })
	guess := func(n int) { th.admit(subject{name: fmt.Sprint(n), every: time.Hour, burst: 5}) }
	for n := range 50_000 {
		guess(n)
	}
	if len(th.buckets) != 50_000 {
		t.Errorf("%d remembered of 50,000", len(th.buckets))
	}
	if guess(50_000); len(th.buckets) != 45_001 {
		t.Errorf("%d remembered beyond the cap", len(th.buckets))
	}
}
