package trunk

import (
	"math"
	"testing"
	"time"

	"dialler/engine"
)

func TestATrunkOfWhichNothingIsSaidTakesTenCallsASecondAndAHundredAtOnce(t *testing.T) {
	for _, n := range []int{0, -1} {
		s := New(engine.TrunkSettings{CPSCap: n, ChannelCap: n, Weight: n}).Settings()
		if s.CPSCap != 10 || s.ChannelCap != 100 || s.Weight != 1 {
			t.Errorf("%d: %+v", n, s)
		}
	}
	if s := New(engine.TrunkSettings{CPSCap: 1, ChannelCap: 1, Weight: 1}).Settings(); s.CPSCap != 1 ||
		s.ChannelCap != 1 || s.Weight != 1 {
		t.Errorf("%+v", s)
	}
}

func TestTheBreakersPauseDoublesUpToFiveMinutesAndAHoldsUpToFifteen(t *testing.T) {
	f := func(class int, pauses ...time.Duration) {
		t.Helper()
		tr, now, n := fresh(10, 100), start, 0
		report := func() {
			n++
			if ok, c, _ := tr.Acquire(now, leg(n), ttl); !ok {
				t.Fatalf("trial %d is refused by %s", n, c)
			}
			r := silence()
			if class != 0 {
				r = code(class)
			}
			tr.Report(now, leg(n), caller, "+4915112345678", r)
			tr.Release(now, leg(n))
			now = now.Add(time.Second)
		}
		for ok := true; ok; ok, _, _ = tr.Check(now) {
			report()
		}
		for i, want := range pauses {
			_, _, until := tr.Check(now)
			if got := until.Sub(now.Add(-time.Second)); got != want {
				t.Fatalf("%d: pause %d is %v, want %v", class, i, got, want)
			}
			now = until
			report()
		}
	}
	f(0, 10*time.Second, 20*time.Second, 40*time.Second, 80*time.Second, 160*time.Second, 5*time.Minute, 5*time.Minute)
	f(401, time.Minute, 2*time.Minute, 4*time.Minute, 8*time.Minute, 15*time.Minute, 15*time.Minute)
}

func TestThrottlingHalvesTheRateOnceASecondDownToASixteenth(t *testing.T) {
	tr := fresh(100, 1000)
	full := tr.Rate(start)
	is := func(now time.Time, share float64) {
		t.Helper()
		if got := tr.Rate(now) / full; math.Abs(got-share) > 0.001 {
			t.Fatalf("at %v: %.4f of the rate, want %.4f", now.Sub(start), got, share)
		}
	}
	throttle := func(now time.Time) { tr.Report(now, leg(1), caller, "+4915112345678", code(429)) }
	throttle(start)
	is(start, 0.5)
	throttle(start.Add(999 * time.Millisecond)) // part of the same overload
	is(start.Add(999*time.Millisecond), 0.5)
	now := start
	for _, share := range []float64{0.25, 0.125, 0.0625, 0.0625} {
		now = now.Add(time.Second)
		throttle(now)
		is(now, share)
	}
	is(now.Add(5*time.Second), 0.0625) // and stays for five seconds
	is(now.Add(35*time.Second), 0.5625)
	is(now.Add(65*time.Second), 1)
}

func TestARefusalKeepsTheEarliestTime(t *testing.T) {
	refused := func(c engine.Constraint, s int) Candidate {
		return Candidate{ID: engine.TrunkID(c), Constraint: c, RetryAt: start.Add(time.Duration(s) * time.Second)}
	}
	_, r, ok := Choose([]Candidate{refused(engine.ConstraintTrunkCPS, 3), refused(engine.ConstraintTrunkCPS, 2),
		refused(engine.ConstraintTrunkCPS, 4)}, nil, 0)
	if ok || r.Constraint != engine.ConstraintTrunkCPS || !r.RetryAt.Equal(start.Add(2*time.Second)) {
		t.Errorf("%+v", r)
	}
}

func TestACallerThatIsTwentyMillisecondsLateLosesNoRate(t *testing.T) {
	tr := fresh(10, 100)
	tr.Acquire(start, leg(1), ttl)
	// The next is due 102 ms later, and may come 20 ms before that.
	if ok, c, at := tr.Check(start); ok || c != engine.ConstraintTrunkCPS || !at.Equal(start.Add(82*time.Millisecond)) {
		t.Errorf("%v %s, again at %v", ok, c, at.Sub(start))
	}
}

func TestTheTwentiethResultFromTheEndCountsForAHold(t *testing.T) {
	tr := fresh(10, 100)
	n := 0
	report := func(times, class int) {
		for range times {
			n++
			to := engine.PhoneNumber("+49151123456" + string(rune('0'+n/10)) + string(rune('0'+n%10)))
			from := engine.PhoneNumber("+493011111" + string(rune('0'+n%2)))
			if class == 0 {
				tr.Report(start, leg(n), from, to, nil)
			} else {
				tr.Report(start, leg(n), from, to, code(class))
			}
		}
	}
	report(1, 403)
	report(10, 0)
	report(8, 403)
	if h := tr.Health(start); h != Up {
		t.Fatalf("nine of nineteen are refused: %s", h)
	}
	report(1, 403)
	if h := tr.Health(start); h != Held {
		t.Errorf("ten of twenty are refused: %s", h)
	}
}
