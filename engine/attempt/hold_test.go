package attempt

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/enginetest"
)

// Whatever events come, in any order, and wherever the process is lost: the number of an ended
// attempt stays held exactly while a leg to it is not proven to be over (the world checks this at
// each step).
func TestTheHoldNeverEndsBeforeItsProof(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := stress(rt, enginetest.RapidDraws{T: rt}, rapid.IntRange(0, 40).Draw(rt, "steps"))
		if w.m.A.State != Ended && rapid.Bool().Draw(rt, "lost") {
			w.must(Event{Kind: OwnerLost})
		} else {
			w.finish()
		}
		// The next owner watches the open legs and receives their last events.
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
				Proof: rapid.SampledFrom([]engine.Proof{engine.Unproven, engine.ProofRefused, engine.ProofBye,
					engine.ProofHungUp}).Draw(rt, "proof")}
			unknown = unknown || e.Proof == engine.Unproven
			next.Watched(&e)
		}
		if next.Owed() != unknown {
			rt.Fatalf("held on: %v, want %v", next.Owed(), unknown)
		}
	})
}

// Without a proof the hold ends when the longest call that the rules allow is over: answered as
// late, and lasting as long, as possible.
func TestTheHoldOfALostCallOutlastsIt(t *testing.T) {
	sendBy := t0.Add(10 * time.Second)
	f := func(want time.Duration, c Config) {
		t.Helper()
		a := Attempt{SendBy: sendBy}
		if got := a.HoldBound(&c).Sub(sendBy); got != want {
			t.Errorf("%+v: held for %s behind the send-by time, want %s", c, got, want)
		}
	}
	f(30*time.Second+32*time.Second+15*time.Minute+time.Minute,
		Config{RingTimeout: 30 * time.Second, CallLimit: 15 * time.Minute})
	f(15*time.Second+32*time.Second+4*time.Hour+time.Minute, Config{RingTimeout: 15 * time.Second,
		CallLimit: 4 * time.Hour})
	// The message may outlast the conversation limit.
	f(15*time.Second+32*time.Second+MessageLimit+time.Minute, Config{RingTimeout: 15 * time.Second,
		CallLimit: 10 * time.Second})
	// So may a message for a machine that the bot detects at the very end.
	f(15*time.Second+32*time.Second+MessageLimit+VoicemailLimit+time.Minute,
		Config{RingTimeout: 15 * time.Second, CallLimit: 10 * time.Second, Listen: engine.AMDRules{Voicemail: "vm"}})
}

// A lost call ends with its session if each leg that may be up has a session timer and nobody
// refreshes it: the far side then hangs up.
func TestTheHoldOfALostCallEndsWithItsSession(t *testing.T) {
	over := t0
	leg := func(sec uint32, edit ...func(*Leg)) Leg {
		l := Leg{SentAt: &over, Dialog: &engine.DialogState{ToTag: "x", SessionSec: sec}}
		for _, f := range edit {
			f(&l)
		}
		return l
	}
	rings := func(l *Leg) { l.Dialog = nil }
	ended := func(l *Leg) { l.EndedAt = &over } // by its own process; nobody received the BYE's answer
	proven := func(l *Leg) { l.EndedAt, l.Proof = &over, engine.ProofBye }
	const unknown = 0
	f := func(name string, node engine.Incarnation, want time.Duration, legs ...Leg) {
		t.Helper()
		m := Machine{A: Attempt{Node: node, Legs: legs}}
		lost := t0.Add(time.Hour)
		got := m.SessionEnd(lost)
		if want == unknown && !got.IsZero() || want != unknown && got.Sub(lost) != want {
			t.Errorf("%s: %s behind the loss, want %s", name, got.Sub(lost), want)
		}
	}
	f("no leg", 7, unknown)
	f("none was agreed on", 7, unknown, leg(0))
	f("it rings", 7, unknown, leg(600, rings))
	f("a session", 7, 10*time.Minute+HoldMargin, leg(600))
	f("a longer one", 7, time.Hour+HoldMargin, leg(3600))
	f("the longer of two", 7, time.Hour+HoldMargin, leg(600, ended), leg(3600))
	f("one of two has none", 7, unknown, leg(0, ended), leg(600))
	f("one of two rings", 7, unknown, leg(600, rings), leg(600))
	f("the one without is over", 7, 10*time.Minute+HoldMargin, leg(0, proven), leg(600))
	f("the one that rang is over", 7, 10*time.Minute+HoldMargin, leg(0, rings, proven), leg(600))
	f("all are over", 7, unknown, leg(600, proven))
	// A process without a lease may be cut off, and refresh the session indefinitely.
	f("of a process without a lease", 0, unknown, leg(600))
	f("which has ended it", 0, 10*time.Minute+HoldMargin, leg(600, ended))
}

// A node whose lease is over refreshes for engine.LimboFor at most, by its own clock: the session
// agreed in its last refresh ends before the hold.
func TestASessionThatACutOffNodeRefreshedLastEndsBeforeTheHold(t *testing.T) {
	const session = 90
	m := Machine{A: Attempt{Node: 7, Legs: []Leg{{Dialog: &engine.DialogState{SessionSec: session}}}}}
	last := t0.Add(engine.LimboFor + session*time.Second)
	if spare := m.SessionEnd(t0).Sub(last); spare < 20*time.Second {
		t.Errorf("%s are left", spare)
	}
}

// An extended session counts with its new length, whatever the state of the call.
func TestALengthenedSessionIsRecorded(t *testing.T) {
	f := func(w *world) {
		t.Helper()
		w.must(w.leg(engine.LegSession, 0))
		if got := w.m.A.Legs[0].Dialog.SessionSec; got != 900 || effectNames(w.last) != "Record(leg)" {
			t.Errorf("%d s, %s", got, effectNames(w.last))
		}
	}
	f(newWorld(t, Config{AMD: engine.AMDOff}).answer())
	f(newWorld(t, Config{AMD: engine.AMDOff}).converse())
	abandoned := newWorld(t, Config{AMD: engine.AMDOff}).answer()
	abandoned.wait(BridgeBudget).must(abandoned.timer(TimerBridge)) // its message plays
	f(abandoned)
	w := newWorld(t, Config{AMD: engine.AMDOff}).answer()
	if err := w.apply(Event{Kind: LegSession, Leg: &engine.LegEvent{}}); err == nil {
		t.Error("a dialog was lost")
	}
}
