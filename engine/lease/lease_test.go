package lease

import (
	"slices"
	"testing"
	"time"
)

var start = time.Date(2030, 5, 2, 9, 0, 0, 0, time.UTC)

func TestHeldIsTheNumberOfLiveLeases(t *testing.T) {
	var b Book[string]
	if b.Held() != 0 || b.Has("a") || b.Release("a") || b.Renew(start, "a", time.Minute) || b.Expire(start) != nil ||
		!b.Earliest().IsZero() {
		t.Fatal("an empty book holds something")
	}
	f := func(holder string, ttl time.Duration, fresh bool, held int) {
		t.Helper()
		if got := b.Take(start, holder, ttl); got != fresh || b.Held() != held || !b.Has(holder) {
			t.Fatalf("%s: fresh %v, held %d", holder, got, b.Held())
		}
	}
	f("c", 3*time.Minute, true, 1)
	f("a", time.Minute, true, 2)
	f("b", time.Minute, true, 3)
	f("a", 2*time.Minute, false, 3) // renewed
	if got := b.Holders(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Fatal(got)
	}
	if !b.Earliest().Equal(start.Add(time.Minute)) {
		t.Fatal(b.Earliest())
	}
	if !b.Release("c") || b.Release("c") || b.Held() != 2 {
		t.Fatal("released")
	}
}

func TestALeaseIsHeldUntilExpireSeesThatItRanOut(t *testing.T) {
	var b Book[string]
	b.Take(start, "b", time.Minute)
	b.Take(start, "a", time.Minute)
	b.Take(start, "c", time.Hour)
	if gone := b.Expire(start.Add(time.Minute - 1)); gone != nil || b.Held() != 3 {
		t.Fatal(gone)
	}
	if gone := b.Expire(start.Add(time.Minute)); !slices.Equal(gone, []string{"a", "b"}) || b.Held() != 1 {
		t.Fatal(gone)
	}
	if b.Renew(start, "a", time.Hour) {
		t.Fatal("a lease that ran out was renewed")
	}
}

func TestALeaseThatNobodyOwnsForTenMinutesIsTakenBack(t *testing.T) {
	var s Strays[string]
	owned := map[string]bool{"b": true}
	find := func(after time.Duration, want ...string) {
		t.Helper()
		got := s.Find(start.Add(after), []string{"a", "b", "c"}, func(k string) bool { return owned[k] })
		if !slices.Equal(got, want) {
			t.Errorf("after %s: %v", after, got)
		}
	}
	find(0)
	find(strayAfter - 1)
	owned["c"] = true // another owner took it over
	find(strayAfter, "a")
	owned["c"] = false
	find(strayAfter + 1)
	find(2*strayAfter+1, "a", "c")
}
