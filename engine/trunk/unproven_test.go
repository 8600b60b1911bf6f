package trunk

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/disposition"
)

func TestATrunkIsUnprovenAndTakesOneCallAtATimeUntilASignOfLife(t *testing.T) {
	made := func() *Trunk { return New(engine.TrunkSettings{ID: "a", CPSCap: 1000, ChannelCap: 10, Active: true}) }
	f := func(proof string, want Health, meets func(tr *Trunk)) {
		t.Helper()
		tr := made()
		if h := tr.Health(at(0)); h != Unproven || tr.Tokens(at(0)) != 1 {
			t.Fatalf("%s, %d tokens", h, tr.Tokens(at(0)))
		}
		if ok, _, _ := tr.Acquire(at(0), "trial", ttl); !ok {
			t.Fatal("no trial call")
		}
		if ok, c, _ := tr.Acquire(at(10), "other", ttl); ok || c != engine.ConstraintTrunkHealth {
			t.Fatalf("a second trial call: %v, %s", ok, c)
		}
		if c := tr.Candidate(at(10)); c.Down() {
			t.Error("one that is unproven may take calls")
		}
		meets(tr)
		if got := tr.Health(at(100)); got != want {
			t.Errorf("%s: %s, want %s", proof, got, want)
		}
	}
	report := func(r *disposition.Result) func(tr *Trunk) {
		return func(tr *Trunk) { tr.Report(at(50), "trial", caller, "+1", r) }
	}
	f("OPTIONS are answered", Up, func(tr *Trunk) { tr.Heard(engine.TrunkAlive) })
	f("the call is answered", Up, report(nil))
	f("the callee is busy", Up, report(code(486)))
	f("the caller ID is refused", Up, report(code(403)))
	f("the credentials are refused", Held, report(code(407)))
	f("too many calls", Up, report(code(429)))
	f("nobody answers", Broken, report(silence()))
	f("a proxy finds nobody behind it", Unproven, report(code(503)))
	f("we cancelled it", Unproven, report(func() *disposition.Result {
		r := disposition.Classify(disposition.Input{CancelledBy: disposition.CancelStop})
		return &r
	}()))
}

func TestATrunkThatAnswersNothingGetsTrialCallsAtGrowingPauses(t *testing.T) {
	tr, now := New(engine.TrunkSettings{ID: "a", Active: true}), start
	for i, pause := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
		if ok, _, _ := tr.Acquire(now, leg(i), ttl); !ok {
			t.Fatalf("trial %d: %s", i, tr.Health(now))
		}
		tr.Report(now, leg(i), caller, "+1", silence())
		tr.Release(now, leg(i))
		if s := tr.Status(now); s.Health != Broken || s.RetryAt == nil || s.RetryAt.Sub(now) != pause*time.Second ||
			s.Reason == "" {
			t.Fatalf("trial %d: %+v", i, s)
		}
		now = now.Add(pause * time.Second)
	}
}

// A trunk whose OPTIONS are not answered any more is asked by OPTIONS alone: silence would cost a
// person an attempt.
func TestALostTrunkGetsNoTrialCallAndIsUpWithTheFirstSign(t *testing.T) {
	tr := fresh(10, 10)
	tr.Heard(engine.TrunkLost)
	tr.Report(at(0), "earlier", caller, "+1", nil)
	if ok, c, _ := tr.Check(at(3_600_000)); ok || c != engine.ConstraintTrunkHealth || tr.Health(at(0)) != Down {
		t.Fatalf("%v, %s, %s", ok, c, tr.Health(at(0)))
	}
	if c := tr.Candidate(at(0)); !c.Down() {
		t.Error("not down")
	}
	tr.Heard(engine.TrunkAlive)
	if h := tr.Health(at(0)); h != Up || tr.Tokens(at(0)) != 1 {
		t.Errorf("%s, %d tokens", h, tr.Tokens(at(0)))
	}
}
