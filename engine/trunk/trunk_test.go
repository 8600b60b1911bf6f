package trunk

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/disposition"
)

var start = time.Date(2030, 5, 2, 9, 0, 0, 0, time.UTC)

const ttl = time.Minute

// caller is the caller ID of calls for which it does not matter.
const caller engine.PhoneNumber = "+493023125000"

func at(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

func fresh(cps, channels int) *Trunk {
	return proven(engine.TrunkSettings{ID: "a", CPSCap: cps, ChannelCap: channels, Active: true})
}

func proven(s engine.TrunkSettings) *Trunk {
	t := New(s)
	t.Heard(engine.TrunkAlive)
	return t
}

func leg(n int) engine.LegID { return engine.LegID(fmt.Sprintf("leg.%d", n)) }

func code(c int) *disposition.Result {
	r := disposition.Classify(disposition.Input{Code: c})
	return &r
}

// sent makes a leg's INVITE leave as soon as it may.
func sent(tr *Trunk, now time.Time, leg engine.LegID) {
	if from := tr.From(leg); from.After(now) {
		now = from
	}
	tr.Sent(now, leg)
}

func silence() *disposition.Result {
	r := disposition.Classify(disposition.Input{Silent: true})
	return &r
}

func TestNoSecondHoldsMoreGrantsThanTheCap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cps := rapid.IntRange(1, 60).Draw(t, "cps")
		tr := fresh(cps, 1<<30)
		now := start
		var grants []time.Time
		for i := range rapid.IntRange(1, 300).Draw(t, "tries") {
			ok, c, retry := tr.Acquire(now, leg(i), ttl)
			switch {
			case ok:
				grants = append(grants, now)
				sent(tr, now, leg(i))
			case c != engine.ConstraintTrunkCPS || !retry.After(now):
				t.Fatalf("refused by %s, retry %s", c, retry)
			default:
				// On time or a little late, like real timers.
				now = retry.Add(time.Duration(rapid.IntRange(0, 30_000_000).Draw(t, "late")))
				continue
			}
			if rapid.IntRange(0, 9).Draw(t, "pause") == 0 {
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(2*time.Second)).Draw(t, "gap")))
			}
		}
		for i := range grants {
			n := 0
			for _, g := range grants[i:] {
				if g.Sub(grants[i]) < time.Second {
					n++
				}
			}
			if n > cps {
				t.Fatalf("%d grants in a second, cap %d", n, cps)
			}
		}
	})
}

func TestASteadyCallerGetsTheRate(t *testing.T) {
	f := func(cps int, late time.Duration) {
		t.Helper()
		tr, now, n := fresh(cps, 1<<30), start, 0
		for now.Before(start.Add(10 * time.Second)) {
			ok, _, retry := tr.Acquire(now, leg(n), ttl)
			if ok {
				sent(tr, now, leg(n))
				n++
				continue
			}
			now = retry.Add(late)
		}
		if least := 10 * cps * 97 / 100; n < least || n > 10*cps {
			t.Errorf("%d calls in 10 s, cap %d a second", n, cps)
		}
	}
	f(10, 0)
	f(10, 5*time.Millisecond)
	f(100, 0)
	f(100, 5*time.Millisecond)
	f(500, 10*time.Millisecond)
}

func TestTokensAreWhatWouldBeGrantedNow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := fresh(rapid.IntRange(1, 500).Draw(t, "cps"), rapid.IntRange(1, 20).Draw(t, "channels"))
		now, n := start, 0
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "ms")) * time.Millisecond)
			if ok, _, _ := tr.Acquire(now, leg(n), ttl); ok {
				n++
			}
			if rapid.Bool().Draw(t, "sent") {
				sent(tr, now, leg(n-1))
			}
			if rapid.Bool().Draw(t, "release") {
				tr.Release(now, leg(n-1))
			}
		}
		tokens, granted := tr.Tokens(now), 0
		for {
			ok, _, _ := tr.Acquire(now, leg(1000+granted), ttl)
			if !ok {
				break
			}
			granted++
		}
		if tokens != granted {
			t.Fatalf("%d tokens, %d granted", tokens, granted)
		}
	})
}

func TestChannelsAreLeases(t *testing.T) {
	tr := fresh(1000, 2)
	f := func(ms, n int, want engine.Constraint, held int) {
		t.Helper()
		ok, c, _ := tr.Acquire(at(ms), leg(n), ttl)
		if ok != (want == "") || c != want || tr.Held() != held {
			t.Fatalf("at %d ms: %v, %q, %d held; want %q, %d", ms, ok, c, tr.Held(), want, held)
		}
	}
	f(0, 1, "", 1)
	f(0, 1, "", 1) // the same leg
	f(100, 2, "", 2)
	f(200, 3, engine.ConstraintTrunkChannels, 2)
	tr.Release(at(200), leg(2))
	tr.Release(at(200), leg(2))
	f(300, 3, "", 2)
	if !tr.Renew(at(50_000), leg(3), ttl) || tr.Renew(at(0), leg(2), ttl) {
		t.Fatal("renewed the wrong leases")
	}
	if gone := tr.Expire(at(60_000)); len(gone) != 1 || gone[0] != leg(1) {
		t.Fatalf("expired %v", gone)
	}
	f(60_000, 4, "", 2)
	if gone := tr.Expire(at(59_999)); gone != nil {
		t.Fatalf("expired %v", gone)
	}
}

func TestAnInactiveOrLostTrunkGrantsNothing(t *testing.T) {
	tr := fresh(10, 10)
	f := func(ok bool, h Health) {
		t.Helper()
		got, c, _ := tr.Check(at(0))
		if got != ok || tr.Health(at(0)) != h || !ok && (c != engine.ConstraintTrunkHealth || tr.Tokens(at(0)) != 0) {
			t.Fatalf("%v, %q, %s", got, c, tr.Health(at(0)))
		}
	}
	f(true, Up)
	tr.Heard(engine.TrunkLost)
	f(false, Down)
	tr.Heard(engine.TrunkAlive)
	f(true, Up)
	s := tr.Settings()
	s.Active = false
	tr.Configure(s)
	f(false, Off)
}

func TestTheBreakerOpensOnFailuresInARowAndRecoversByATrial(t *testing.T) {
	tr := fresh(1000, 1000)
	n := 0
	call := func(ms int, class *disposition.Result) {
		t.Helper()
		n++
		if ok, c, _ := tr.Acquire(at(ms), leg(n), ttl); !ok {
			t.Fatalf("at %d ms: refused by %s", ms, c)
		}
		tr.Report(at(ms), leg(n), caller, "+493023125000", class)
		tr.Release(at(ms), leg(n))
	}
	f := func(ms int, h Health) {
		t.Helper()
		if got := tr.Health(at(ms)); got != h {
			t.Fatalf("at %d ms: %s, want %s", ms, got, h)
		}
	}
	for i := range 4 {
		call(i*10, silence())
	}
	call(40, code(486)) // a busy callee shows that the trunk works
	for i := range 4 {
		call(50+i*10, silence())
	}
	f(90, Up)
	call(90, silence())
	f(91, Broken)
	if ok, c, retry := tr.Check(at(91)); ok || c != engine.ConstraintTrunkHealth || !retry.Equal(at(10_090)) {
		t.Fatalf("%v %s %s", ok, c, retry)
	}
	f(10_090, Trying)
	if got := tr.Tokens(at(10_090)); got != 1 {
		t.Fatalf("%d tokens while trying", got)
	}
	// One trial at a time, whose failure doubles the pause.
	if ok, _, _ := tr.Acquire(at(10_090), "trial", ttl); !ok {
		t.Fatal("no trial call")
	}
	if ok, _, _ := tr.Check(at(10_200)); ok {
		t.Fatal("a second trial call")
	}
	tr.Report(at(10_300), leg(3), caller, "+1", nil) // an earlier call
	f(10_300, Trying)
	tr.Report(at(10_500), "trial", caller, "+1", silence())
	tr.Release(at(10_500), "trial")
	f(30_499, Broken)
	f(30_500, Trying)
	call(30_500, nil) // rings
	f(30_501, Up)

	// Refusals by the network behind the trunk count less.
	for i := range 19 {
		call(40_000+i*10, code(503))
	}
	f(40_200, Up)
	call(40_200, code(500))
	f(40_201, Broken)
	// A trial that ends without a result frees its slot.
	if ok, _, _ := tr.Acquire(at(50_300), "trial", ttl); !ok {
		t.Fatal("no trial call")
	}
	tr.Expire(at(50_300).Add(ttl))
	call(111_000, code(404))
	f(111_001, Up)
}

func TestRefusedCredentialsHoldTheTrunkUntilItIsMended(t *testing.T) {
	tr := fresh(1000, 1000)
	tr.Acquire(at(0), leg(1), ttl)
	tr.Report(at(10), leg(1), caller, "+1", code(407))
	tr.Release(at(10), leg(1))
	if h := tr.Health(at(20)); h != Held {
		t.Fatal(h)
	}
	if ok, _, retry := tr.Check(at(20)); ok || !retry.Equal(at(60_010)) {
		t.Fatal(ok, retry)
	}
	tr.Acquire(at(60_010), leg(2), ttl)
	tr.Report(at(60_020), leg(2), caller, "+1", code(401))
	tr.Release(at(60_020), leg(2))
	if _, _, retry := tr.Check(at(60_021)); !retry.Equal(at(180_020)) {
		t.Fatal(retry)
	}
	tr.Configure(tr.Settings())
	if h := tr.Health(at(60_022)); h != Up {
		t.Fatal(h)
	}
}

func Test403sHoldTheTrunkOnlyOverFiveDestinationsAndTwoCallerIDs(t *testing.T) {
	f := func(callers, destinations, forbidden, others int, want Health) {
		t.Helper()
		tr, n := fresh(1000, 1000), 0
		report := func(i int, to engine.PhoneNumber, c int) {
			n++
			tr.Acquire(at(n*10), leg(n), ttl)
			tr.Report(at(n*10), leg(n), engine.PhoneNumber(fmt.Sprint("+4930", i%callers)), to, code(c))
			tr.Release(at(n*10), leg(n))
		}
		for i := range others {
			report(i, "+49", 486)
		}
		for i := range forbidden {
			report(i, engine.PhoneNumber(fmt.Sprint("+", i%destinations)), 403)
		}
		s := tr.Status(at(n*10 + 1))
		if s.Health != want || (s.Reason != "") != (want == Held) || want == Held &&
			!strings.HasPrefix(s.Reason, "403 Forbidden to ") {
			t.Errorf("%d of %d from %d callers to %d destinations: %s (%s), want %s", forbidden, forbidden+others, callers,
				destinations, s.Health, s.Reason, want)
		}
	}
	f(2, 4, 20, 0, Up)
	f(2, 5, 5, 0, Held)
	f(2, 5, 5, 5, Held)
	f(2, 5, 5, 6, Up)
	f(2, 9, 9, 19, Up) // nine of the last twenty
	f(2, 10, 10, 19, Held)
	f(3, 10, 10, 0, Held)
	f(1, 5, 5, 0, Up)
	f(1, 100, 100, 0, Up)
}

func TestOneCallerIDsRefusalsDoNotHoldTheTrunk(t *testing.T) {
	tr, n := fresh(1000, 1000), 0
	call := func(from engine.PhoneNumber, c int) {
		t.Helper()
		n++
		if ok, why, _ := tr.Acquire(at(n*10), leg(n), ttl); !ok {
			t.Fatalf("call %d was refused by %s: %s", n, why, tr.Status(at(n*10)).Reason)
		}
		tr.Report(at(n*10), leg(n), from, engine.PhoneNumber(fmt.Sprint("+", n)), code(c))
		tr.Release(at(n*10), leg(n))
	}
	const refused, healthy = "+4930111111", "+4930222222"
	for range 20 {
		call(healthy, 486)
	}
	for range 40 { // many more of them than of the other number's
		call(refused, 403)
	}
	call(healthy, 403) // now and then a network forbids a call
	call(refused, 403)
	for range 5 { // the trunk was idle for a moment
		call(healthy, 504)
	}
	call(refused, 403)
	if s := tr.Status(at(n * 10)); s.Health != Up || s.Reason != "" {
		t.Errorf("%+v", s)
	}
	for range 15 {
		call(healthy, 504)
	}
	if s := tr.Status(at(n*10 + 1)); s.Health != Broken || !strings.Contains(s.Reason, "Carrier timeout") {
		t.Errorf("%+v", s)
	}
	n = 1100 // the breaker's pause is over; a trial that is refused for its caller ID has shown that the carrier is there
	call(refused, 403)
	call(healthy, 486)
	if s := tr.Status(at(n * 10)); s.Health != Up || s.Reason != "" {
		t.Errorf("%+v", s)
	}
}

func TestATrialThatMeetsA403HoldsAHeldTrunkOn(t *testing.T) {
	tr := fresh(1000, 1000)
	for i := range 6 {
		tr.Acquire(at(i*10), leg(i), ttl)
		tr.Report(at(i*10), leg(i), engine.PhoneNumber(fmt.Sprint("+4930", i%2)), engine.PhoneNumber(fmt.Sprint("+", i)),
			code(403))
		tr.Release(at(i*10), leg(i))
	}
	before := tr.Status(at(60))
	if before.Health != Held || before.Reason != "403 Forbidden to 5 of the last 5 calls, from 2 caller IDs to 5 "+
		"destinations" {
		t.Fatalf("%+v", before)
	}
	tr.Acquire(at(60_100), "trial", ttl)
	tr.Report(at(60_200), "trial", "+49300", "+1", code(403))
	if s := tr.Status(at(60_300)); s.Health != Held || s.Reason != before.Reason || s.RetryAt == nil ||
		!s.RetryAt.Equal(at(180_200)) {
		t.Errorf("%+v", s)
	}
	tr.Configure(tr.Settings())
	if s := tr.Status(at(60_300)); s.Health != Up || s.Reason != "" {
		t.Errorf("%+v", s)
	}
}

func TestThrottlingShrinksTheRateAndItRecovers(t *testing.T) {
	tr := fresh(100, 1000)
	f := func(ms int, percent float64) {
		t.Helper()
		if got := tr.Rate(at(ms)) * 1.02; got < percent-1 || got > percent+1 {
			t.Errorf("at %d ms: %.1f calls a second, want %.0f", ms, got, percent)
		}
	}
	f(0, 100)
	tr.Report(at(0), leg(1), caller, "+1", code(429))
	f(0, 50)
	tr.Report(at(500), leg(2), caller, "+1", code(429)) // the same overload
	f(500, 50)
	tr.Report(at(1500), leg(3), caller, "+1", code(429))
	f(1500, 25)
	f(6_500, 25)
	f(36_500, 75)
	f(60_000, 100)
	for i := range 20 {
		tr.Report(at(100_000+1000*i), leg(4+i), caller, "+1", code(429))
	}
	f(119_000, 100.0/16)
	if h := tr.Health(at(119_000)); h != Up {
		t.Error(h)
	}
}

func TestRetryAfterOfALimitStopsTheTrunkForAMinuteAtMostAndIsShown(t *testing.T) {
	f := func(after, want time.Duration) {
		t.Helper()
		tr := fresh(100, 1000)
		r := disposition.Classify(disposition.Input{Code: 503, LimitReached: true, RetryAfter: after})
		tr.Report(at(0), leg(1), caller, "+1", &r)
		until := at(0).Add(want)
		if ok, c, retry := tr.Check(at(10)); ok || c != engine.ConstraintTrunkCPS || !retry.Equal(until) ||
			tr.Tokens(at(10)) != 0 {
			t.Fatal(ok, c, retry)
		}
		if s := tr.Status(at(10)); s.Health != Up || s.RetryAt == nil || !s.RetryAt.Equal(until) || s.Reason == "" ||
			s.Rate != 0 || s.Share != 0.5 {
			t.Errorf("%+v", s)
		}
		if ok, _, _ := tr.Check(until); !ok {
			t.Error("still blocked")
		}
		if s := tr.Status(until); s.RetryAt != nil || s.Rate == 0 || s.Share < 1 != (s.Reason != "") {
			t.Errorf("afterwards: %+v", s)
		}
		if s := tr.Status(at(180_000)); s.Reason != "" || s.Share != 1 {
			t.Errorf("in the end: %+v", s)
		}
	}
	f(7*time.Second, 7*time.Second)
	f(time.Minute, time.Minute)
	f(24*time.Hour, time.Minute)
}

func TestPuttingAThrottledTrunkEndsTheWaitThatTheCarrierAskedFor(t *testing.T) {
	tr := fresh(100, 1000)
	r := disposition.Classify(disposition.Input{Code: 503, LimitReached: true, RetryAfter: time.Hour})
	tr.Report(at(0), leg(1), caller, "+1", &r)
	tr.Configure(tr.Settings())
	if ok, c, retry := tr.Check(at(10)); !ok {
		t.Error(c, retry)
	}
	if s := tr.Status(at(10)); s.RetryAt != nil || s.Rate == 0 {
		t.Errorf("%+v", s)
	}
}

func TestTrunksAreChosenByPriorityThenWeight(t *testing.T) {
	trunks := []Candidate{
		{ID: "a", Priority: 1, Weight: 3, Available: true},
		{ID: "b", Priority: 1, Weight: 1, Available: true},
		{ID: "c", Priority: 0, Weight: 9, Constraint: engine.ConstraintTrunkHealth},
		{ID: "d", Priority: 2, Available: true},
	}
	count := map[engine.TrunkID]int{}
	for i := range uint64(4000) {
		id, _, ok := Choose(trunks, nil, i*0x9e3779b97f4a7c15)
		if !ok {
			t.Fatal("none")
		}
		count[id]++
	}
	if count["a"] < 2900 || count["a"] > 3100 || count["a"]+count["b"] != 4000 {
		t.Fatal(count)
	}
	f := func(want engine.TrunkID, exclude ...engine.TrunkID) {
		t.Helper()
		if id, _, ok := Choose(trunks, exclude, 12345); id != want || ok != (want != "") {
			t.Errorf("without %v: %s", exclude, id)
		}
	}
	f("b", "a")
	f("d", "a", "b")
	f("", "a", "b", "d")
}

func TestARefusalNamesTheMostHopefulReason(t *testing.T) {
	f := func(want Refusal, trunks ...Candidate) {
		t.Helper()
		if _, r, ok := Choose(trunks, nil, 0); ok || r != want {
			t.Errorf("%+v", r)
		}
	}
	cps1, cps2 := Candidate{ID: "a", Constraint: engine.ConstraintTrunkCPS, RetryAt: at(10)}, Candidate{ID: "b",
		Constraint: engine.ConstraintTrunkCPS, RetryAt: at(5)}
	full, ill := Candidate{ID: "c", Constraint: engine.ConstraintTrunkChannels}, Candidate{ID: "d",
		Constraint: engine.ConstraintTrunkHealth, RetryAt: at(9)}
	f(Refusal{Constraint: engine.ConstraintTrunkHealth})
	f(Refusal{engine.ConstraintTrunkHealth, at(9)}, ill)
	f(Refusal{engine.ConstraintTrunkChannels, time.Time{}}, ill, full)
	f(Refusal{engine.ConstraintTrunkCPS, at(5)}, cps1, full, cps2, ill)
}

func BenchmarkAcquire(b *testing.B) {
	tr := fresh(1_000_000, 1000)
	now := start
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Millisecond)
		tr.Acquire(now, "leg", ttl)
		tr.Release(now, "leg")
	}
}

func TestTheCapHoldsAcrossARestartOfTheOwner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cps := rapid.IntRange(1, 60).Draw(t, "cps")
		tr := fresh(cps, 1<<30)
		now := start
		var grants []time.Time
		for i := range 300 {
			if rapid.IntRange(0, 15).Draw(t, "restarts") == 0 {
				tr = Resumed(tr.Settings(), now)
				tr.Heard(engine.TrunkAlive)
			}
			ok, _, retry := tr.Acquire(now, leg(i), ttl)
			if ok {
				grants = append(grants, now)
				sent(tr, now, leg(i))
				continue
			}
			now = retry.Add(time.Duration(rapid.IntRange(0, 30_000_000).Draw(t, "late")))
		}
		for i := cps; i < len(grants); i++ {
			if d := grants[i].Sub(grants[i-cps]); d < time.Second {
				t.Fatalf("%d grants within %s, cap %d", cps+1, d, cps)
			}
		}
		if len(grants) == 0 {
			t.Fatal("nothing was ever granted")
		}
	})
}

func TestARestartedTrunkGrantsItsFirstLegAfterOneInterval(t *testing.T) {
	tr := Resumed(engine.TrunkSettings{ID: "a", CPSCap: 1, ChannelCap: 10, Active: true}, start)
	tr.Heard(engine.TrunkAlive)
	if ok, c, retry := tr.Acquire(at(1019), leg(1), ttl); ok || c != engine.ConstraintTrunkCPS || !retry.Equal(at(1020)) {
		t.Errorf("before: %v %s %s", ok, c, retry)
	}
	if ok, _, _ := tr.Acquire(at(1020), leg(1), ttl); !ok {
		t.Error("not granted after an interval")
	}
}

func TestATrunkTellsTheCallsASecondThatItWasGiven(t *testing.T) {
	tr := fresh(10, 100)
	for i := range 50 { // five a second for ten seconds
		if ok, _, _ := tr.Acquire(at(200*i), engine.LegID(fmt.Sprint(i)), ttl); !ok {
			t.Fatalf("leg %d refused", i)
		}
		tr.Sent(at(200*i), engine.LegID(fmt.Sprint(i)))
	}
	f := func(ms int, want float64) {
		t.Helper()
		if got := tr.Status(at(ms)).Placed; got != want {
			t.Errorf("after %d ms: %g calls a second, want %g", ms, got, want)
		}
	}
	f(9_800, 5)  // the current second does not count
	f(10_000, 5) // nine whole seconds do
	f(14_000, 25./9)
	f(19_000, 0)
	f(3_600_000, 0)
}
