package trunk

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
)

func TestChangingATrunksCapsLiveConservesLeases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := fresh(1000, 3)
		channels, now, next := 3, start, 0
		until := map[engine.LegID]time.Time{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				next++
				ok, c, _ := tr.Acquire(now, leg(next), 5*time.Second)
				if ok && len(until) >= channels || !ok && c == engine.ConstraintTrunkChannels && len(until) < channels {
					t.Fatalf("%d of %d channels in use: granted %v, %s", len(until), channels, ok, c)
				}
				if ok {
					until[leg(next)] = now.Add(5 * time.Second)
				}
			case 2:
				n := rapid.IntRange(1, next+1).Draw(t, "leg")
				tr.Release(now, leg(n))
				delete(until, leg(n))
			case 3:
				for _, gone := range tr.Expire(now) {
					if until[gone].After(now) {
						t.Fatalf("%s expired early", gone)
					}
					delete(until, gone)
				}
			case 4:
				s := tr.Settings()
				channels = rapid.IntRange(1, 8).Draw(t, "channels")
				s.ChannelCap, s.CPSCap = channels, rapid.IntRange(1, 5000).Draw(t, "cps")
				s.Active = rapid.IntRange(0, 3).Draw(t, "active") > 0
				tr.Configure(s)
			}
			if tr.Held() != len(until) {
				t.Fatalf("held %d, want %d", tr.Held(), len(until))
			}
			if n := tr.Tokens(now); n < 0 || n > max(0, channels-len(until)) {
				t.Fatalf("%d tokens with %d of %d channels in use", n, len(until), channels)
			}
		}
	})
}

func TestACapThatIsLoweredHoldsFromTheNextGrantOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := rapid.IntRange(1, 200).Draw(t, "before"), rapid.IntRange(1, 200).Draw(t, "after")
		tr := fresh(before, 1<<20)
		now, n := start, 0
		take := func(count int) (at []time.Time) {
			for range count {
				n++
				ok, _, retry := tr.Acquire(now, leg(n), ttl)
				for ; !ok; ok, _, retry = tr.Acquire(now, leg(n), ttl) {
					now = retry
				}
				at = append(at, now)
				sent(tr, now, leg(n))
			}
			return at
		}
		take(rapid.IntRange(1, 30).Draw(t, "calls"))
		s := tr.Settings()
		s.CPSCap = after
		tr.Configure(s)
		last := now
		grants := take(2*after + 2)
		if first := grants[0].Sub(last); first < time.Second/time.Duration(after)-catchUp {
			t.Fatalf("from %d to %d a second: the next grant comes after %v", before, after, first)
		}
		for i := range grants {
			count := 0
			for _, g := range grants[i:] {
				if g.Before(grants[i].Add(time.Second)) {
					count++
				}
			}
			if count > after {
				t.Fatalf("%d grants in one second, the cap is %d", count, after)
			}
		}
	})
}

func TestAThrottledRateStaysBetweenASixteenthAndTheCapAndComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := fresh(100, 1<<20)
		now := start
		for range rapid.IntRange(1, 40).Draw(t, "refusals") {
			before := tr.Status(now).Share
			tr.Report(now, leg(1), caller, "+4915112345678", code(429))
			if s := tr.Status(now); s.Share > before || s.Share < 1.0/16-1e-9 || s.Share > 1 {
				t.Fatalf("share %v after %v", s.Share, before)
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 20_000).Draw(t, "ms")) * time.Millisecond)
		}
		share := tr.Status(now).Share
		for range 70 {
			now = now.Add(time.Second)
			next := tr.Status(now).Share
			if next < share {
				t.Fatalf("%v after %v with no refusal in between", next, share)
			}
			share = next
		}
		if s := tr.Status(now); s.Share != 1 || s.Rate < 98 || s.Rate > 100 {
			t.Fatalf("%+v a minute after the last refusal", s)
		}
	})
}

func TestATrunkTellsPeopleHowItStands(t *testing.T) {
	tr := fresh(10, 2)
	tr.Acquire(start, leg(1), ttl)
	if s := tr.Status(start); s.Health != Up || s.Legs != 1 || s.Share != 1 || s.RetryAt != nil {
		t.Errorf("%+v", s)
	}
	tr.Report(start, leg(1), caller, "+4915112345678", code(401))
	if s := tr.Status(start); s.Health != Held || s.RetryAt == nil || !s.RetryAt.Equal(start.Add(time.Minute)) {
		t.Errorf("%+v", s)
	}
	s := tr.Settings()
	s.Active = false
	tr.Configure(s)
	if s := tr.Status(start); s.Health != Off || s.Legs != 1 {
		t.Errorf("%+v", s)
	}
}
