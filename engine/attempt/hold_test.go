package attempt

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/enginetest"
)

// Whatever comes and in any order, and wherever the process is lost, the number of
// an attempt that has ended is held on exactly while a leg to it is not proven to be
// over (the world compares at each step).
func TestTheHoldNeverEndsBeforeItsProof(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := stress(rt, enginetest.RapidDraws{T: rt}, rapid.IntRange(0, 40).Draw(rt, "steps"))
		if w.m.A.State != Ended && rapid.Bool().Draw(rt, "lost") {
			w.must(Event{Kind: OwnerLost})
		} else {
			w.finish()
		}
		// The next owner watches what is open, and hears of it what it hears.
		next := Machine{A: copyAttempt(&w.m.A), Config: w.m.Config}
		unknown := false
		for i := range next.A.Legs {
			l := &next.A.Legs[i]
			if l.EndedAt != nil {
				unknown = unknown || l.Proof == engine.Unproven
				continue
			}
			if !next.Owed() {
				rt.Fatalf("free before the last event of %s", l.ID)
			}
			e := engine.LegEvent{Leg: l.ID, At: w.now, Kind: engine.LegClosed,
				Proof: rapid.SampledFrom([]engine.Proof{engine.Unproven, engine.ProofRefused, engine.ProofBye, engine.ProofHungUp}).Draw(rt, "proof")}
			unknown = unknown || e.Proof == engine.Unproven
			next.Watched(&e)
		}
		if next.Owed() != unknown {
			rt.Fatalf("held on: %v, want %v", next.Owed(), unknown)
		}
	})
}

// Without a proof the hold ends when the last call that the rules allow is over:
// answered as late as may be, and as long as may be.
func TestTheHoldOfALostCallOutlastsIt(t *testing.T) {
	sendBy := t0.Add(10 * time.Second)
	f := func(want time.Duration, c Config) {
		t.Helper()
		a := Attempt{SendBy: sendBy}
		if got := a.HoldBound(&c).Sub(sendBy); got != want {
			t.Errorf("%+v: held for %s behind the send-by time, want %s", c, got, want)
		}
	}
	f(30*time.Second+32*time.Second+15*time.Minute+time.Minute, Config{RingTimeout: 30 * time.Second, CallLimit: 15 * time.Minute})
	f(15*time.Second+32*time.Second+4*time.Hour+time.Minute, Config{RingTimeout: 15 * time.Second, CallLimit: 4 * time.Hour})
	// A message outlasts the limit of conversations.
	f(15*time.Second+32*time.Second+MessageLimit+time.Minute, Config{RingTimeout: 15 * time.Second, CallLimit: 10 * time.Second})
	// So does a message for a machine that the bot finds out about at the very end.
	f(15*time.Second+32*time.Second+MessageLimit+VoicemailLimit+time.Minute,
		Config{RingTimeout: 15 * time.Second, CallLimit: 10 * time.Second, Listen: engine.AMDRules{Voicemail: "vm"}})
}
