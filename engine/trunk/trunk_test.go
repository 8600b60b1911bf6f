package trunk

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/disposition"
)

var start = time.Date(2030, 5, 2, 9, 0, 0, 0, time.UTC)

const ttl = time.Minute

func at(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

func fresh(cps, channels int) *Trunk {
	return New(engine.TrunkSettings{ID: "a", CPSCap: cps, ChannelCap: channels, Active: true})
}

func leg(n int) engine.LegID { return engine.LegID(fmt.Sprintf("leg.%d", n)) }

func code(c int) *disposition.Result {
	r := disposition.Classify(disposition.Input{Code: c})
	return &r
}

// sent has a leg's INVITE leave as soon as it may.
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
				// Late by nothing or a little, as timers are.
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

func TestAnInactiveOrUnreachableTrunkGrantsNothing(t *testing.T) {
	tr := fresh(10, 10)
	f := func(ok bool, h Health) {
		t.Helper()
		got, c, _ := tr.Check(at(0))
		if got != ok || tr.Health(at(0)) != h || !ok && (c != engine.ConstraintTrunkHealth || tr.Tokens(at(0)) != 0) {
			t.Fatalf("%v, %q, %s", got, c, tr.Health(at(0)))
		}
	}
	f(true, Up)
	tr.Options(false)
	f(false, Down)
	tr.Options(true)
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
		tr.Report(at(ms), leg(n), "+493023125000", class)
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
	call(40, code(486)) // a busy callee proves the trunk
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
	tr.Report(at(10_300), leg(3), "+1", nil) // a call of before
	f(10_300, Trying)
	tr.Report(at(10_500), "trial", "+1", silence())
	tr.Release(at(10_500), "trial")
	f(30_499, Broken)
	f(30_500, Trying)
	call(30_500, nil) // rings
	f(30_501, Up)

	// Refusals by the network behind weigh less.
	for i := range 19 {
		call(40_000+i*10, code(503))
	}
	f(40_200, Up)
	call(40_200, code(500))
	f(40_201, Broken)
	// A trial that ends without a result frees its place.
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
	tr.Report(at(10), leg(1), "+1", code(407))
	tr.Release(at(10), leg(1))
	if h := tr.Health(at(20)); h != Held {
		t.Fatal(h)
	}
	if ok, _, retry := tr.Check(at(20)); ok || !retry.Equal(at(60_010)) {
		t.Fatal(ok, retry)
	}
	tr.Acquire(at(60_010), leg(2), ttl)
	tr.Report(at(60_020), leg(2), "+1", code(401))
	tr.Release(at(60_020), leg(2))
	if _, _, retry := tr.Check(at(60_021)); !retry.Equal(at(180_020)) {
		t.Fatal(retry)
	}
	tr.Configure(tr.Settings())
	if h := tr.Health(at(60_022)); h != Up {
		t.Fatal(h)
	}
}

func Test403sHoldTheTrunkOnlyOverFiveDestinations(t *testing.T) {
	f := func(destinations, forbidden, others int, want Health) {
		t.Helper()
		tr, n := fresh(1000, 1000), 0
		report := func(to engine.PhoneNumber, c int) {
			n++
			tr.Acquire(at(n*10), leg(n), ttl)
			tr.Report(at(n*10), leg(n), to, code(c))
			tr.Release(at(n*10), leg(n))
		}
		for range others {
			report("+49", 486)
		}
		for i := range forbidden {
			report(engine.PhoneNumber(fmt.Sprint("+", i%destinations)), 403)
		}
		if h := tr.Health(at(n*10 + 1)); h != want {
			t.Errorf("%d of %d to %d destinations: %s, want %s", forbidden, forbidden+others, destinations, h, want)
		}
	}
	f(4, 20, 0, Up)
	f(5, 5, 0, Held)
	f(5, 5, 5, Held)
	f(5, 5, 6, Up)
	f(9, 9, 19, Up) // nine of the last twenty
	f(10, 10, 19, Held)
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
	tr.Report(at(0), leg(1), "+1", code(429))
	f(0, 50)
	tr.Report(at(500), leg(2), "+1", code(429)) // the same overload
	f(500, 50)
	tr.Report(at(1500), leg(3), "+1", code(429))
	f(1500, 25)
	f(6_500, 25)
	f(36_500, 75)
	f(60_000, 100)
	for i := range 20 {
		tr.Report(at(100_000+1000*i), leg(4+i), "+1", code(429))
	}
	f(119_000, 100.0/16)
	if h := tr.Health(at(119_000)); h != Up {
		t.Error(h)
	}
}

func TestRetryAfterOfALimitIsHonoured(t *testing.T) {
	tr := fresh(100, 1000)
	r := disposition.Classify(disposition.Input{Code: 503, LimitReached: true, RetryAfter: 7 * time.Second})
	tr.Report(at(0), leg(1), "+1", &r)
	if ok, c, retry := tr.Check(at(10)); ok || c != engine.ConstraintTrunkCPS || !retry.Equal(at(7000)) || tr.Tokens(at(10)) != 0 {
		t.Fatal(ok, c, retry)
	}
	if ok, _, _ := tr.Check(at(7000)); !ok {
		t.Fatal("still blocked")
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
	cps1, cps2 := Candidate{ID: "a", Constraint: engine.ConstraintTrunkCPS, RetryAt: at(10)}, Candidate{ID: "b", Constraint: engine.ConstraintTrunkCPS, RetryAt: at(5)}
	full, ill := Candidate{ID: "c", Constraint: engine.ConstraintTrunkChannels}, Candidate{ID: "d", Constraint: engine.ConstraintTrunkHealth, RetryAt: at(9)}
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
	f(9_800, 5)  // the second that goes on does not count
	f(10_000, 5) // nine whole seconds do
	f(14_000, 25./9)
	f(19_000, 0)
	f(3_600_000, 0)
}
