package trunk

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
)

func attemptLeg(attempt, n int) engine.LegID {
	const digits = "0123456789abcdef"
	id := []byte("0123456789abcdef0123456789abcdef")
	for i := 31; attempt > 0; i, attempt = i-1, attempt/16 {
		id[i] = digits[attempt%16]
	}
	return engine.AttemptID(id).Leg(n)
}

// Legs in the middle of their attempts get the next tokens, however many attempts
// want to begin meanwhile, and the cap holds.
func TestALegInTheMiddleOfItsAttemptHasTheNextToken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cps, n := rapid.IntRange(1, 40).Draw(t, "cps"), rapid.IntRange(1, 30).Draw(t, "legs")
		tr, now, begun := fresh(cps, 1<<30), start, 1000
		begin := func() (time.Time, bool) {
			begun++
			l := attemptLeg(begun, 1)
			ok, c, retry := tr.Acquire(now, l, ttl)
			if ok {
				sent(tr, now, l)
			} else if c != engine.ConstraintTrunkCPS || !retry.After(now) {
				t.Fatalf("refused by %s until %v", c, retry)
			}
			return retry, ok
		}
		for _, ok := begin(); ok; _, ok = begin() { // until the bucket is empty
		}
		due := map[int]time.Time{}
		var grants []time.Time
		for i := range n {
			ok, _, retry := tr.Acquire(now, attemptLeg(i+1, 2), ttl)
			if ok || !retry.After(now) {
				t.Fatalf("granted from an empty bucket, or again at once: %v", retry.Sub(now))
			}
			due[i] = retry
		}
		for len(due) > 0 {
			next, at := -1, time.Time{}
			for i, d := range due {
				if next < 0 || d.Before(at) {
					next, at = i, d
				}
			}
			now = at.Add(time.Duration(rapid.IntRange(0, 5_000_000).Draw(t, "late")))
			if _, ok := begin(); ok {
				t.Fatalf("an attempt began while %d legs waited", len(due))
			}
			l := attemptLeg(next+1, 2)
			ok, _, retry := tr.Acquire(now, l, ttl)
			if !ok {
				due[next] = retry
				continue
			}
			delete(due, next)
			sent(tr, now, l)
			grants = append(grants, now)
		}
		if took, most := grants[n-1].Sub(start), time.Duration(n+2)*(time.Second/time.Duration(cps)+10*time.Millisecond)+
			time.Second; took > most {
			t.Fatalf("%d legs at %d a second took %v", n, cps, took)
		}
		for i := cps; i < n; i++ {
			if d := grants[i].Sub(grants[i-cps]); d < time.Second {
				t.Fatalf("%d grants within %v, cap %d", cps+1, d, cps)
			}
		}
		for range 100 { // and then attempts begin again
			now = now.Add(50 * time.Millisecond)
			if _, ok := begin(); ok {
				return
			}
		}
		t.Fatal("no attempt begins any more")
	})
}

// A waiting leg that did not come back delays others only briefly.
func TestAWaitThatWasGivenUpIsForgotten(t *testing.T) {
	tr := fresh(10, 100)
	for i := 1; ; i++ {
		if ok, _, _ := tr.Acquire(start, attemptLeg(i, 1), ttl); !ok {
			break
		}
		sent(tr, start, attemptLeg(i, 1))
	}
	ok, _, retry := tr.Acquire(start, attemptLeg(100, 2), ttl)
	if ok {
		t.Fatal("granted from an empty bucket")
	}
	if ok, _, _ := tr.Acquire(retry, attemptLeg(200, 1), ttl); ok {
		t.Error("somebody else has its token")
	}
	if ok, _, _ := tr.Acquire(retry.Add(awaitGrace+time.Millisecond), attemptLeg(200, 1), ttl); !ok {
		t.Error("a leg that does not come holds the trunk up")
	}
}

// The same for legs of other nodes.
func TestALegOfAnotherNodeInTheMiddleOfItsAttemptHasTheNextToken(t *testing.T) {
	tr := fresh(10, 100)
	for i := 1; ; i++ {
		if ok, _, _ := tr.Admit(start, attemptLeg(i, 1), ttl, time.Second); !ok {
			break
		}
		sent(tr, start, attemptLeg(i, 1))
	}
	_, _, retry := tr.Admit(start, attemptLeg(100, 2), ttl, time.Second)
	if ok, c, at := tr.Admit(retry, attemptLeg(200, 1), ttl, time.Second); ok || c != engine.ConstraintTrunkCPS ||
		!at.After(retry) {
		t.Errorf("%v, %s until %v", ok, c, at)
	}
	if ok, _, _ := tr.Admit(retry, attemptLeg(100, 2), ttl, time.Second); !ok {
		t.Error("its token is gone")
	}
}
