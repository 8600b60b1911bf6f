package run

import (
	"fmt"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

func TestADueContactIsDialledWithASeatATrunkAndANumber(t *testing.T) {
	w := ready(t)
	w.due(w.rows(1), 0)
	eq(w, "seats asked for", one[DemandSeats](w).Want, 10)
	none[ReserveTrunks](w)
	w.seats(10)
	w.trunks(1, "")
	w.numbers(1, "")
	spawned := one[Spawn](w)
	d := spawned.First[0].(*call.Dial)
	eq(w, "contact", spawned.Row.ID, "c1")
	eq(w, "dial", []any{d.Trunk, d.From, d.SendWithin, d.Attempt == ""}, "[trunk +4930100 10s false]")
	eq(w, "phase", w.s.Lines["c1"].Phase, attempt.PhaseDialling)
	eq(w, "round", w.s.Round == nil, true)
	none[ReleaseTrunk](w)
}

func TestARoundIsOfAsManyContactsAsTheLastOnesGot(t *testing.T) {
	w := ready(t, set(func(s *campaign.Settings) { s.Concurrency = 1000 }))
	w.due(w.rows(900), 0)
	w.seats(1000)
	for _, want := range []int{4, 8, 16, 32, 64, 128, 256, 256} {
		r := sent[ReserveTrunks](w)
		eq(w, "asked for", len(r[0].Legs), want)
		w.note(r[0])
		w.round()
	}
}

func TestAfterARefusalTheNextRoundAsksForOneMoreThanTheLastGot(t *testing.T) {
	for _, c := range []struct{ got, next int }{{0, 4}, {3, 4}, {4, 5}, {15, 16}} {
		w := ready(t, set(func(s *campaign.Settings) { s.Concurrency = 1000 }))
		w.due(w.rows(100), 0)
		w.seats(1000)
		w.round()
		w.round()
		w.trunks(c.got, engine.ConstraintTrunkCPS) // of 16
		w.numbers2(c.got)
		w.forget()
		w.pass(251 * time.Millisecond)
		eq(w, fmt.Sprint("after ", c.got), len(one[ReserveTrunks](w).Legs), c.next)
	}
}

// numbers2 is numbers, unless none are requested.
func (w *world) numbers2(n int) {
	if n > 0 {
		w.numbers(n, "")
	}
}

func TestWhatARefusalHoldsBackIsAskedForAgainWhenItIsWorthIt(t *testing.T) {
	ms := time.Millisecond
	for _, c := range []struct {
		what    string
		why     engine.Constraint
		retryIn time.Duration // 0 means that the refusal gives no time
		held    time.Duration
	}{
		{"without a time, a moment", engine.ConstraintTrunkChannels, 0, 250 * ms},
		{"as long as it says", engine.ConstraintTrunkCPS, 400 * ms, 400 * ms},
		{"never less than 10 ms", engine.ConstraintTrunkCPS, ms, 10 * ms},
		{"never more than a second for a trunk, which may be edited", engine.ConstraintTrunkHealth,
			10 * time.Second, time.Second},
		{"as long as the pool says", engine.ConstraintNumberPool, 10 * time.Second, 10 * time.Second},
	} {
		w := ready(t)
		w.due(w.rows(1), 0)
		w.seats(10)
		retry := time.Time{}
		if c.retryIn > 0 {
			retry = w.now.Add(c.retryIn)
		}
		if c.why == engine.ConstraintNumberPool {
			w.trunks(1, "")
			r := one[ReserveNumbers](w)
			w.do(&NumbersReserved{Round: r.Round, Got: []NumberGrant{{Attempt: r.Want[0].Attempt, Constraint: c.why,
				RetryAt: retry}}})
			one[ReleaseTrunk](w)
		} else {
			r := one[ReserveTrunks](w)
			w.do(&TrunksReserved{Round: r.Round, Legs: r.Legs, Trunks: []engine.TrunkID{""},
				Media:    []*engine.MediaProfile{nil},
				Validity: []call.Validity{{}}, Constraint: c.why, RetryAt: retry})
		}
		w.pass(c.held - ms)
		if n := len(sent[ReserveTrunks](w)); n > 0 {
			t.Errorf("%s: asked for again before", c.what)
		}
		eq(w, c.what, w.s.Pace.Last.Constraint, c.why)
		w.pass(ms)
		if n := len(sent[ReserveTrunks](w)); n != 1 {
			t.Errorf("%s: asked for %d times by then, want once", c.what, n)
		}
	}
}

func TestAnEditedNumberEndsTheWaitForThePool(t *testing.T) {
	w := ready(t)
	w.due(w.rows(1), 0)
	w.seats(10)
	w.trunks(1, "")
	w.numbers(0, engine.ConstraintNumberPool)
	w.forget()
	w.do(&NumberChanged{Number: "+4930100"})
	eq(w, "pool", one[PoolChanged](w).Number, "+4930100")
	one[ReserveTrunks](w)
}

// A candidate of a round can end in one of five ways.
func TestWhatBecomesOfACandidate(t *testing.T) {
	dialled, queued, again, gone := "dialled", "in the look-ahead", "reserved for again, with a seat", "neither"
	for _, c := range []struct {
		what          string
		meanwhile     func(*world)
		trunk, number bool
		want          string
		backTrunk     int
		backNumber    int
	}{
		{"everything is granted", func(*world) {}, true, true, dialled, 0, 0},
		{"no trunk", func(*world) {}, false, false, queued, 0, 0},
		{"no number", func(*world) {}, true, false, queued, 1, 0},
		{"paused", func(w *world) { w.ask(&Act{campaign.Act{Action: campaign.ActionPause}}) }, true, true, queued,
			1, 1},
		{"excluded", func(w *world) { w.ask(&Exclude{Command: campaign.Exclude{Number: phone("c1")}}) }, true, true,
			gone, 1, 1},
		{"touched", func(w *world) {
			w.do(&SubmitResult{Contact: "c1"})
			w.do(&ContactRead{Contact: "c1", Row: w.row("c1"), OK: true})
			w.do(&call.Up{Contact: "c1"})
			w.rests(w.row("c1"))
			w.forget2()
		}, true, true, gone, 1, 1},
		{"abandoned by another campaign", func(w *world) { w.proc.seat[phone("c1")] = true }, true, true, again, 1, 1},
		{"its window closed", func(w *world) { end := w.now; w.s.M.C.WindowEndsAt = &end }, true, true, queued, 1, 1},
	} {
		w := ready(t)
		w.due(w.rows(1), 0)
		w.seats(10)
		w.trunksAfter(c.meanwhile, c.trunk)
		if c.trunk {
			n := 0
			if c.number {
				n = 1
			}
			w.numbers(n, engine.ConstraintNumberPool)
		}
		got := gone
		if l := w.s.Lines["c1"]; l != nil && l.Phase == attempt.PhaseDialling {
			got = dialled
		} else if w.s.Queue.Has("c1") || len(w.s.Closed) > 0 || w.s.Loads["c1"] != nil {
			got = queued
		} else if r := w.s.Round; r != nil && r.Candidates[0].Seated && w.s.Busy == 1 {
			got = again
			w.s.Busy = 0
		}
		back, numbers := len(sent[ReleaseTrunk](w)), len(sent[ReleaseNumber](w))
		if got != c.want || back != c.backTrunk || numbers != c.backNumber {
			t.Errorf("%s: %s, %d trunks and %d numbers are back; want %s, %d, %d", c.what, got, back, numbers,
				c.want, c.backTrunk, c.backNumber)
		}
		if w.s.Busy != 0 {
			t.Errorf("%s: %d seats are busy", c.what, w.s.Busy)
		}
	}
}

// trunksAfter grants the trunk after something has happened.
func (w *world) trunksAfter(f func(*world), ok bool) {
	w.t.Helper()
	r := one[ReserveTrunks](w)
	f(w)
	w.out = append([]Effect{r}, w.out...)
	n := 0
	if ok {
		n = 1
	}
	w.trunks(n, engine.ConstraintTrunkCPS)
}

// forget2 forgets everything but the reservations.
func (w *world) forget2() {
	w.out = append([]Effect(nil), anyOf(sent[ReserveTrunks](w))...)
}

func anyOf[T any](list []T) (out []Effect) {
	for _, x := range list {
		out = append(out, x)
	}
	return out
}

func TestARoundThatIsNotAnsweredIsGivenUpAfter5Seconds(t *testing.T) {
	for _, withTrunk := range []bool{false, true} {
		w := ready(t)
		w.due(w.rows(1), 0)
		w.seats(10)
		r := one[ReserveTrunks](w)
		if withTrunk {
			w.note(r)
			w.trunks(1, "")
		}
		w.pass(5*time.Second - time.Millisecond)
		none[RoundLost](w)
		w.pass(time.Millisecond)
		one[RoundLost](w)
		eq(w, "given back", len(sent[ReleaseTrunk](w)) == 1, withTrunk)
		again := one[ReserveTrunks](w)
		w.forget()
		// Late answers are ignored, and their grants given back.
		if withTrunk {
			w.do(&NumbersReserved{Round: r.Round, Got: []NumberGrant{{Attempt: "a", From: "+4930100"}, {Attempt: "b"}}})
			eq(w, "number", one[ReleaseNumber](w), ReleaseNumber{"a", "+4930100", notDialled})
		} else {
			w.do(&TrunksReserved{Round: r.Round, Legs: []engine.LegID{"a.1", "b.1"},
				Trunks: []engine.TrunkID{"trunk", ""}})
			eq(w, "trunk", one[ReleaseTrunk](w), ReleaseTrunk{"trunk", "a.1"})
		}
		w.note(again)
		w.round()
		eq(w, "dialled", w.s.Lines["c1"].Phase, attempt.PhaseDialling)
	}
}

func TestTheTimerOfARoundThatIsOverDoesNothing(t *testing.T) {
	w := ready(t)
	w.due(w.rows(1), 0)
	w.seats(10)
	first := w.s.Round.N
	w.round()
	none[RoundLost](w)
	w.do(&roundLate{first})
	none[RoundLost](w)
	eq(w, "alarms of rounds", w.armed(TimerRound), 0)
}

func (w *world) armed(t Timer) (n int) {
	for _, a := range w.alarms {
		if a.Timer == t {
			n++
		}
	}
	return n
}

func TestTheNumberThatCalledAContactBeforeIsAskedForWhereNumbersAreSticky(t *testing.T) {
	for _, sticky := range []bool{false, true} {
		w := ready(t, set(func(s *campaign.Settings) { s.StickyNumber = sticky }))
		c := w.row("c1")
		c.CalledFrom = "+4930107"
		w.due([]contact.Contact{c}, 0)
		w.seats(10)
		w.trunks(1, "")
		eq(w, "sticky", one[ReserveNumbers](w).Want[0].Sticky == "+4930107", sticky)
	}
}

func TestADialLeavesWithinWhatWasGrantedForIt(t *testing.T) {
	w := ready(t)
	w.due(w.rows(1), 0)
	until := w.boot.Add(2 * time.Second)
	w.do(&SeatsAllotted{Bot: "bot", Seats: 10, Target: 10, N: w.s.Demands, Until: until})
	seats := w.boot.Add(1500 * time.Millisecond)
	r := one[ReserveTrunks](w)
	w.do(&TrunksReserved{Round: r.Round, Legs: r.Legs, Trunks: []engine.TrunkID{"trunk"},
		Media:    []*engine.MediaProfile{{}},
		Validity: []call.Validity{{From: w.boot.Add(time.Second), By: seats.Add(time.Second)}}})
	n := one[ReserveNumbers](w)
	w.do(&NumbersReserved{Round: n.Round, Got: []NumberGrant{{Attempt: n.Want[0].Attempt, From: "+4930100",
		UseBy: seats.Add(time.Minute)}}})
	d := one[Spawn](w).First[0].(*call.Dial)
	eq(w, "validity", d.Validity, call.Validity{From: w.boot.Add(time.Second), By: seats})
	eq(w, "media", d.Media != nil, true)
}

func TestADueCallbackIsDialledAsOne(t *testing.T) {
	w := ready(t)
	c := w.row("c1")
	c.DueClass = contact.DueCallback
	w.due([]contact.Contact{c}, 0)
	w.seats(10)
	w.round()
	eq(w, "class", one[Spawn](w).Row.DueClass, contact.DueCallback)
}

func TestNobodyIsDialledBelowConcurrencySeatsOrCredit(t *testing.T) {
	for _, c := range []struct {
		what               string
		concurrency, seats int
		want               int
		why                engine.Constraint
	}{
		{"as many as the campaign may", 3, 3, 3, engine.ConstraintConcurrency},
		{"as many as the bot has", 9, 2, 2, engine.ConstraintSeats},
		{"none without a seat", 9, 0, 0, engine.ConstraintSeats},
	} {
		w := ready(t, set(func(s *campaign.Settings) { s.Concurrency = c.concurrency }))
		w.due(w.rows(20), 0)
		w.seats(c.seats)
		for len(w.out) > 0 && w.s.Round != nil {
			w.round()
		}
		eq(w, c.what, []any{len(w.s.Lines), w.s.Pace.Last.Constraint}, []any{c.want, c.why})
	}
}

func TestACandidateThatIsWantedMeanwhileIsBroughtUpOnce(t *testing.T) {
	for _, first := range []string{"row", "number"} {
		w := ready(t)
		w.due(w.rows(1), 0)
		w.seats(10)
		w.trunks(1, "")
		w.do(result("c1"))
		row := func() { w.do(&ContactRead{Contact: "c1", Row: w.row("c1"), OK: true}) }
		if first == "row" {
			row()
		}
		w.numbers(1, "")
		if first != "row" {
			row()
		}
		one[ReleaseNumber](w)
		one[ReleaseTrunk](w)
		eq(w, "commands", len(one[Spawn](w).First), 1)
	}
}
