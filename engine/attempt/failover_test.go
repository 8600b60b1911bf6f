package attempt

import (
	"testing"
	"time"

	"dialler/engine"
)

// congested is a refusal by the network with many details, which must not show up on the second
// leg.
func congested(e *engine.LegEvent) {
	e.Reason, e.Q850, e.RetryAfter = "No circuit available", 34, 20*time.Second
}

// between is an attempt whose first trunk refused, asking for another.
func between(t *testing.T, cfg Config) *world {
	t.Helper()
	w := newWorld(t, cfg).must(Event{Kind: Began})
	w.must(w.leg(engine.LegSent, 0)).must(w.leg(engine.LegProvisional, 183)).must(w.leg(engine.LegRefused, 503, congested))
	if a := &w.m.A; a.SIPCode != 503 || a.Q850 != 34 || a.Friendly == "" || a.RetryAfter != 20*time.Second ||
		a.Outcome != engine.OutcomeCongestion {
		t.Fatalf("the refusal is not on the attempt: %+v", a)
	}
	return w
}

func TestATokenOfTheNextTrunkIsWaitedForWhileItsInviteMayStillLeave(t *testing.T) {
	f := func(wait time.Duration, waits bool) {
		t.Helper()
		w := between(t, Config{})
		w.must(Event{Kind: TrunkRefused, Until: w.now.Add(wait)})
		if !waits {
			w.is(Ended, engine.OutcomeCongestion)
			if a := &w.m.A; a.SIPCode != 503 || a.RetryAfter != 20*time.Second {
				t.Errorf("the refusal that decided is not told: %+v", a)
			}
			return
		}
		if got, want := w.armed[TimerTrunk].At, w.now.Add(max(wait, TrunkPause)); effectNames(w.last) != "Arm(trunk)" ||
			!got.Equal(want) {
			t.Fatalf("%v: %s until %v, want %v", wait, effectNames(w.last), got, want)
		}
		w.wait(max(wait, TrunkPause)).must(w.timer(TimerTrunk))
		if n, ok := effect[NextTrunk](w); !ok || len(n.Tried) != 1 || n.Tried[0] != "a" {
			t.Fatalf("%v: %s", wait, effectNames(w.last))
		}
		w.must(Event{Kind: TrunkGranted, Trunk: "b"})
		if got := effectNames(w.last); got != "Record(leg) Dial" {
			t.Errorf("%v: %s", wait, got)
		}
	}
	f(-time.Second, true) // by another node's clock
	f(5*time.Millisecond, true)
	f(900*time.Millisecond, true)
	f(9999*time.Millisecond, true)
	f(10*time.Second, false) // from then on no INVITE of the attempt may leave
	f(time.Hour, false)
}

// A refusal after the send-by time decides: no further INVITE of the attempt may leave.
func TestARefusalAfterTheSendByTimeGoesToNoOtherTrunk(t *testing.T) {
	for wait, want := range map[time.Duration]State{9999 * time.Millisecond: Dialling, 10 * time.Second: Ended} {
		w := newWorld(t, Config{}).ring()
		w.wait(wait).must(w.leg(engine.LegRefused, 503, congested))
		w.is(want, engine.OutcomeCongestion)
		if a := &w.m.A; a.SIPCode != 503 || a.RetryAfter != 20*time.Second {
			t.Errorf("after %v: %+v", wait, a)
		}
	}
}

func TestAWaitForATrunkEndsWithTheAttempt(t *testing.T) {
	f := func(k Kind, want engine.Outcome) {
		t.Helper()
		w := between(t, Config{})
		w.must(Event{Kind: TrunkRefused, Until: w.now.Add(time.Second)})
		due := w.timer(TimerTrunk)
		w.wait(100 * time.Millisecond).must(Event{Kind: k})
		w.is(Ended, want)
		if a := &w.m.A; a.SIPCode != 0 || a.SIPReason != "" || a.Q850 != 0 || a.Friendly != "" || a.RetryAfter != 0 ||
			a.Legs[0].SIPCode != 503 {
			t.Errorf("%s: the first trunk's refusal did not decide this end: %+v", k, a)
		}
		w.wait(time.Second).must(due)
		if len(w.last) > 0 {
			t.Errorf("%s: after the end %s", k, effectNames(w.last))
		}
	}
	f(ExcludeRequested, engine.OutcomeExcluded)
	f(CancelRequested, engine.OutcomeCancelled)
	f(HangUpRequested, engine.OutcomeCancelled)
	f(OwnerLost, engine.OutcomeLost)
}

// A call reports what the deciding leg met; the first trunk's refusal stays on its leg.
func TestWhatIsToldOfACallIsWhatTheDecidingLegMet(t *testing.T) {
	f := func(cfg Config, outcome engine.Outcome, code int, end func(w *world)) {
		t.Helper()
		w := between(t, cfg)
		w.must(Event{Kind: TrunkGranted, Trunk: "b"})
		end(w)
		w.is(Ended, outcome)
		a := &w.m.A
		if a.Trunk != "b" || a.SIPCode != code || a.SIPReason == "No circuit available" || a.Q850 == 34 ||
			a.RetryAfter != 0 || a.Friendly == "No circuit available" {
			t.Errorf("%s by %s: %d %q, Q.850 %d, %q, retry after %v", a.Outcome, a.Trunk, a.SIPCode, a.SIPReason, a.Q850,
				a.Friendly, a.RetryAfter)
		}
		if l := a.Legs[0]; l.Trunk != "a" || l.SIPCode != 503 || l.SIPReason != "No circuit available" || l.Q850 != 34 {
			t.Errorf("the first leg is told as %+v", l)
		}
	}
	ring := func(w *world) *world {
		w.must(w.leg(engine.LegSent, 0))
		return w.must(w.leg(engine.LegProvisional, 180))
	}
	talk := func(w *world) *world {
		ring(w).must(w.leg(engine.LegAnswered, 200, func(e *engine.LegEvent) { e.Reason = "OK" }))
		return w.must(Event{Kind: SeatGranted}).must(w.media(engine.MediaBotConnected))
	}
	f(Config{}, engine.OutcomeConnectedNoResult, 200, func(w *world) { talk(w).must(w.leg(engine.LegHungUp, 0)) })
	f(Config{}, engine.OutcomeBusy, 486, func(w *world) { ring(w).must(w.leg(engine.LegRefused, 486)) })
	f(Config{}, engine.OutcomeNoAnswer, 487,
		func(w *world) { ring(w).must(w.timer(TimerRing)).must(w.leg(engine.LegRefused, 487)) })
	f(Config{}, engine.OutcomeExcluded, 0,
		func(w *world) { w.must(Event{Kind: ExcludeRequested}).must(w.leg(engine.LegNotSent, 0, cancelled)) })
	f(Config{}, engine.OutcomeTrunkError, 0,
		func(w *world) { w.must(w.leg(engine.LegSent, 0)).must(w.leg(engine.LegClosed, 0)) })
	f(Config{}, engine.OutcomeSystemError, 0, func(w *world) { w.must(w.leg(engine.LegNotSent, 0, expired)) })
	f(Config{}, engine.OutcomeLost, 0, func(w *world) { w.must(Event{Kind: OwnerLost}) })
	// A call that is handed over later: what the target's leg met belongs to the transfer.
	f(Config{Transfers: toAnybody}, engine.OutcomeConnectedNoResult, 200, func(w *world) {
		talk(w).must(ask("+493099999")).must(Event{Kind: TrunkRefused})
		if tr := w.m.A.Transfer; tr.Result != TransferUnreached || tr.SIPCode != 503 {
			t.Errorf("transfer %+v", tr)
		}
		w.must(w.leg(engine.LegHungUp, 0))
	})
}

func TestATransferWaitsForATokenWhileItsTargetMayStillBeCalled(t *testing.T) {
	w := newWorld(t, Config{Transfers: toAnybody}).converse().must(ask("+493099999"))
	w.must(Event{Kind: TrunkRefused, Until: w.now.Add(300 * time.Millisecond)})
	if got := effectNames(w.last); got != "Arm(trunk)" || w.m.A.Transfer.Result != TransferCalling {
		t.Fatalf("%s, %+v", got, w.m.A.Transfer)
	}
	w.wait(300 * time.Millisecond).must(w.timer(TimerTrunk))
	if got := effectNames(w.last); got != "NextTrunk" {
		t.Fatal(got)
	}
	w.must(Event{Kind: TrunkGranted, Trunk: "b"})
	if d, ok := effect[DialPeer](w); !ok || d.Trunk != "b" {
		t.Fatal(effectNames(w.last))
	}
	// Not beyond the time in which the target may answer.
	w = newWorld(t, Config{Transfers: toAnybody}).converse().must(ask("+493099999"))
	w.must(Event{Kind: TrunkRefused, Until: w.now.Add(31 * time.Second)})
	if tr := w.m.A.Transfer; tr.Result != TransferUnreached {
		t.Errorf("%s, %+v", effectNames(w.last), tr)
	}
	// Nor after the call is over.
	w = newWorld(t, Config{Transfers: toAnybody}).converse().must(ask("+493099999"))
	w.must(Event{Kind: TrunkRefused, Until: w.now.Add(time.Second)})
	due := w.timer(TimerTrunk)
	w.must(w.leg(engine.LegHungUp, 0)).must(due)
	if len(w.last) > 0 || w.m.A.Transfer.Result != TransferGivenUp {
		t.Errorf("%s, %+v", effectNames(w.last), w.m.A.Transfer)
	}
}
