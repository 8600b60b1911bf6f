package pacing

import (
	"testing"

	"pgregory.net/rapid"

	"dialler/engine"
)

func TestSeatsAreProvedByOneTwoFourAnswersAfterAMiss(t *testing.T) {
	var p Proof
	if n := p.free(20, false); n != 20 {
		t.Fatalf("%d of 20 seats are proved before anything was missed", n)
	}
	p.NotTaken()
	for _, want := range []int{1, 2, 4, 8, 15} { // the last value is reduced by one sixteenth
		if n := p.free(20, false); n != want {
			t.Errorf("%d seats are proved, want %d: %+v", n, want, p)
		}
		p.Taken(20)
	}
	if n := p.free(20, false); n != 19 {
		t.Errorf("%d seats are proved, and one answer of 16 was missed", n)
	}
	for range proofTries {
		p.Taken(20)
	}
	if n := p.free(20, false); n != 20 || p != (Proof{}) {
		t.Errorf("%d seats are proved, %+v: the miss is long ago", n, p)
	}
}

func TestAllSeatsAreProvedOnceAsManyAnswersWereTaken(t *testing.T) {
	p := Proof{Window: 8, Missed: 1}
	if p.Taken(16); p.Window != 0 {
		t.Errorf("%d of 16 seats count", p.Window)
	}
	p = Proof{Window: 8, Missed: 1}
	if p.Taken(17); p.Window != 16 {
		t.Errorf("%d of 17 seats count", p.Window)
	}
}

func TestTheShareOfMissesIsTakenFromTheProvedSeats(t *testing.T) {
	p := Proof{Missed: 0b1010101010101010}
	if n := p.free(20, false); n != 10 {
		t.Errorf("%d of 20", n)
	}
	if n := (Proof{Missed: 1}).free(15, false); n != 15 {
		t.Errorf("%d of 15: a sixteenth of them is no whole seat", n)
	}
	if n := p.free(20, true); n != 1 {
		t.Errorf("%d are tried at a time while the cap is passed", n)
	}
	if n := (Proof{}).free(20, true); n != 20 {
		t.Errorf("%d: no bot missed an answer", n)
	}
}

func TestProofNeverGivesASeatNorTakesTheLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Proof
		seats := rapid.IntRange(0, 50).Draw(t, "seats")
		for _, taken := range rapid.SliceOf(rapid.Bool()).Draw(t, "answers") {
			if taken {
				p.Taken(seats)
			} else {
				p.NotTaken()
			}
			free := rapid.IntRange(-5, seats).Draw(t, "free")
			for _, over := range []bool{false, true} {
				if n := p.free(free, over); n > free || free > 0 && n < 1 || free <= 0 && n != free {
					t.Fatalf("%d of %d free seats: %+v", n, free, p)
				}
			}
		}
	})
}

// SEMANTICS §6: "Lines in flight never exceed proven free seats + credit."
func TestNoMoreLinesThanProvedSeatsAndCredit(t *testing.T) {
	in := Input{Mode: Strict, Concurrency: 20, Seats: 20, Busy: 5, CapPPM: 30_000, DueContacts: 100,
		TrunkTokens: Unlimited, NumberSlots: Unlimited, Proof: Proof{Window: 4},
		Ledgers: []Ledger{{Period: PeriodRun, Counts: Counts{Live: 100}}}}
	if d := Decide(&in); d.Dials != 4+3 || d.Seated != 4 || d.Why.Unproven != 11 ||
		d.Constraint != engine.ConstraintSeats {
		t.Errorf("%+v", d)
	}
	in.Ringing = 5
	if d := Decide(&in); d.Dials != 2 || d.Seated != 0 {
		t.Errorf("%+v", d)
	}
	in.Ringing, in.Held, in.Unserved = 0, 3, 1 // with a worker of their own, in Busy
	if d := Decide(&in); d.Dials != 3 || d.Seated != 0 {
		t.Errorf("lines with a worker use up proof as well: %+v", d)
	}
	in.Held, in.Unserved, in.Ledgers[0].Abandoned = 0, 0, 3 // as many as the cap allows
	if d := Decide(&in); d.Dials != 4 {
		t.Errorf("%+v", d)
	}
	in.Ledgers[0].Abandoned = 4 // over the cap
	if d := Decide(&in); d.Dials != 1 {
		t.Errorf("%+v", d)
	}
}
