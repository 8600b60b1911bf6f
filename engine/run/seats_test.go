package run

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/fleet"
)

func TestACampaignAsksForItsConcurrencyOnceSomebodyIsDue(t *testing.T) {
	w := ready(t)
	none[DemandSeats](w)
	w.due(w.rows(1), 0)
	d := one[DemandSeats](w)
	eq(w, "demand", []any{d.Bot, d.Want, d.Weight, d.GiveUp, d.N - int(w.s.Life), d.Epoch, d.Keep},
		"[bot 10 1 0 1 7 true]")
	w.seats(10)
	none[DemandSeats](w)
}

func TestFewerSeatsAreKeptOnceFewerWereEnoughFor5Seconds(t *testing.T) {
	w := dialling(t, 1)
	w.moved("c1", attempt.PhaseWaiting)
	w.moved("c1", attempt.PhaseServed)
	w.pass(5*time.Second - time.Millisecond)
	for _, d := range sent[DemandSeats](w) {
		eq(w, "renewed", d.Want, 10)
	}
	w.pass(time.Millisecond)
	list := sent[DemandSeats](w)
	eq(w, "kept for the call", list[len(list)-1].Want, 1)
	eq(w, "allotted", w.s.Seats, 1)
}

func TestSeatsThatAreNeededAgainWithin5SecondsStay(t *testing.T) {
	w := dialling(t, 1)
	w.moved("c1", attempt.PhaseWaiting)
	w.proc.draining = true // nobody is dialled
	w.pass(3 * time.Second)
	w.s.Queue.Push(w.row("c2"))
	w.pass(time.Second)
	_, _ = w.s.Queue.Take("c2")
	w.pass(5*time.Second - time.Millisecond)
	eq(w, "asked", w.s.Asked, 10)
	w.pass(time.Second)
	eq(w, "asked", w.s.Asked, 1)
}

func TestAPausedCampaignKeepsTheSeatsOfItsCalls(t *testing.T) {
	w := dialling(t, 4)
	w.moved("c1", attempt.PhaseWaiting)
	w.ask(&Act{campaign.Act{Action: campaign.ActionPause}})
	w.pass(6 * time.Second)
	eq(w, "asked", w.s.Asked, 4)
}

func TestACampaignThatHasEndedGivesItsSeatsBackWithItsLastCall(t *testing.T) {
	w := dialling(t, 1)
	w.ask(&Act{campaign.Act{Action: campaign.ActionStop}})
	w.durable()
	eq(w, "asked", w.s.Asked, 10)
	w.forget()
	w.moved("c1", attempt.PhaseOver)
	eq(w, "demand", one[DemandSeats](w).Want, 0)
	w.seats(0)
	w.pass(10 * time.Second)
	none[DemandSeats](w)
}

func TestAnAnswerToAnEarlierDemandGrantsNoMoreThanThereIs(t *testing.T) {
	for _, c := range []struct {
		what          string
		n, had, seats int
		want          int
	}{
		{"the answer to the last demand", 1, 0, 8, 8},
		{"an older answer grants nothing", 0, 0, 8, 0},
		{"an older answer takes away", 0, 5, 3, 3},
	} {
		w := ready(t)
		w.due(w.rows(1), 0)
		w.s.Seats = c.had
		w.do(&SeatsAllotted{Bot: "bot", Seats: c.seats, Target: c.seats, N: w.s.Demands - 1 + c.n})
		eq(w, c.what, w.s.Seats, c.want)
		eq(w, c.what+": open", w.s.DemandOpen == 0, c.n == 1)
	}
	w := ready(t)
	w.due(w.rows(1), 0)
	w.do(&SeatsAllotted{Bot: "another", Seats: 9, Target: 9, N: w.s.Demands})
	eq(w, "of another bot", w.s.Seats, 0)
}

func TestAnAnswerThatALaterOneOvertookSaysNothing(t *testing.T) {
	w := dialling(t, 2)
	w.s.Demands += 2
	w.seats(10)
	for _, late := range []int{0, 1} {
		w.do(&SeatsAllotted{Bot: "bot", N: w.s.Demands - 1, Seats: late, Away: late == 1})
		eq(w, "seats", []any{w.s.Seats, w.s.SeatsAway}, "[10 false]")
	}
	w.do(&SeatsAllotted{Bot: "bot", Seats: 1, Target: 1}) // unsolicited, from the fleet itself
	eq(w, "seats", w.s.Seats, 1)
}

func TestSeatsBeyondTheFairShareGoBackAsTheyComeFree(t *testing.T) {
	w := dialling(t, 6)
	for _, id := range []engine.ContactID{"c1", "c2"} {
		w.serve(id)
	}
	w.forget()
	// 10 seats: 2 are in conversations, 4 lines rely on one each.
	w.do(&SeatsAllotted{Bot: "bot", Seats: 10, Target: 3})
	d := one[DemandSeats](w)
	eq(w, "given back", []any{d.GiveUp, d.Want, d.Keep, w.s.Seats}, "[4 10 false 6]")
	w.do(&DatabaseChanged{})
	none[DemandSeats](w)
	w.moved("c3", attempt.PhaseOver)
	eq(w, "and with a line", one[DemandSeats](w).GiveUp, 1)
	w.moved("c1", attempt.PhaseOver)
	w.moved("c2", attempt.PhaseOver)
	eq(w, "no more than the share", w.s.Seats, 3)
	w.forget()
	w.moved("c4", attempt.PhaseOver)
	none[DemandSeats](w)
}

func TestLinesThatAreDialledWithAFairShareKeepNoSeatBeyondIt(t *testing.T) {
	w := dialling(t, 4)
	for _, id := range []engine.ContactID{"c1", "c2"} {
		w.serve(id)
	}
	w.do(&SeatsAllotted{Bot: "bot", Seats: 10, Target: 3})
	eq(w, "older lines rely on one each", w.s.Seats, 4)
	w.s.Lines["c4"].SeatTarget, w.s.DialTarget = 3, 3 // it was dialled since
	w.do(&DatabaseChanged{})
	eq(w, "the share", w.s.Seats, 3)
}

// A line dialled under a smaller share uses a seat on which later lines do not count.
func TestLinesThatAreDialledWithALargerShareKeepASeatBesideEarlierOnes(t *testing.T) {
	for _, c := range []struct {
		what   string
		served []engine.ContactID
	}{{"the earlier one talks", []engine.ContactID{"c1", "c2", "c3"}},
		{"it rings", []engine.ContactID{"c2", "c3", "c4"}}} {
		w := dialling(t, 4)
		w.s.Lines["c1"].SeatTarget = 2 // dialled under a smaller share
		for _, id := range c.served {
			w.serve(id)
		}
		w.do(&SeatsAllotted{Bot: "bot", Seats: 4, Target: 2})
		eq(w, c.what, w.s.Seats, 4)
	}
}

func TestADemandThatIsOpenIsAnsweredByTheLastOne(t *testing.T) {
	w := ready(t)
	w.due(w.rows(1), 0)
	w.do(&SeatsAllotted{Bot: "bot", Seats: 10, Target: 10, N: w.s.Demands})
	w.round()
	w.pass(2 * time.Second)                                // renewed
	w.do(&SeatsAllotted{Bot: "bot", Seats: 10, Target: 2}) // unsolicited: the demand is still open
	eq(w, "open", w.s.DemandOpen, w.s.Demands)
	w.seats(5)
	eq(w, "open", w.s.DemandOpen, 0)
}

func TestSeatsAreAskedForAnewEvery2Seconds(t *testing.T) {
	w := dialling(t, 1)
	w.pass(500 * time.Millisecond)
	w.forget()
	w.pass(1500 * time.Millisecond)
	none[DemandSeats](w)
	w.pass(500 * time.Millisecond)
	eq(w, "renewed", one[DemandSeats](w).Want, 10)
}

func TestNothingIsDialledWhileNobodyVouchesForTheSeats(t *testing.T) {
	w := ready(t)
	w.due(nil, 1)
	why := func(want engine.Constraint) {
		t.Helper()
		w.do(&DatabaseChanged{})
		eq(w, "why", w.s.Pace.Last.Constraint, want)
	}
	w.do(&SeatsAllotted{Bot: "bot", Seats: 10, Target: 10, Away: true})
	eq(w, "seats", w.s.Seats, 0)
	why(engine.ConstraintKeeperAway)
	w.do(&SeatsAllotted{Bot: "bot", Seats: 10, Target: 10, Until: w.boot.Add(time.Second)})
	w.goTo(w.now.Add(time.Second - 1))
	why(engine.ConstraintNoDueContacts)
	w.goTo(w.now.Add(1))
	why(engine.ConstraintKeeperAway)
	w.do(&SeatsAllotted{Bot: "bot", Seats: 10, Target: 10, Until: w.boot.Add(time.Second)})
	why(engine.ConstraintNoDueContacts)
}

func TestABotThatTakesNoCallsSaysWhy(t *testing.T) {
	w := ready(t)
	w.due(w.rows(1), 0)
	out := &fleet.Outage{Since: w.now, Reason: "refused"}
	w.do(&SeatsAllotted{Bot: "bot", N: 1, Outage: out})
	live := granted[campaign.Detail](w, w.ask(&Detail{})).Live
	eq(w, "why", []any{live.Constraint, live.Explanation}, []any{engine.ConstraintSeats, "T" + out.String()[1:] + "."})
	w.do(&BotsChanged{Bots: []engine.Bot{{ID: "bot"}}})
	live = granted[campaign.Detail](w, w.ask(&Detail{})).Live
	eq(w, "inactive", []any{live.Title, live.Remedy}, []any{"The bot is inactive", campaign.RemedyActivateBot})
}

func TestTheFleetsSeatsAreCutToTheConcurrency(t *testing.T) {
	w := dialling(t, 3, set(func(s *campaign.Settings) { s.Concurrency = 3 }))
	w.do(&SeatsAllotted{Bot: "bot", Seats: 9, Target: 9, N: w.s.Demands})
	eq(w, "cap", w.s.seatCap(), 3)
	for _, id := range []engine.ContactID{"c1", "c2", "c3"} {
		w.moved(id, attempt.PhaseWaiting)
	}
	eq(w, "busy", w.s.Busy, 3)
}

// A line that rings or waits relies on a seat, which is not given back.
func TestALineThatWaitsForASeatIsCountedAmongThoseThatNeedOne(t *testing.T) {
	w := dialling(t, 2)
	w.do(&SeatsAllotted{Bot: "bot", Seats: 1, Target: 1})
	w.moved("c1", attempt.PhaseWaiting)
	w.moved("c2", attempt.PhaseWaiting)
	w.ask(&Act{campaign.Act{Action: campaign.ActionPause}})
	w.pass(10 * time.Second)
	eq(w, "asked", w.s.Asked, 2)
	w.do(&call.Up{Contact: "c1"})
}

func TestALowerConcurrencyTakesNoSeatFromLinesInFlight(t *testing.T) {
	w := dialling(t, 4)
	w.ask(act(campaign.ActionPause))
	s := w.s.M.C.Settings
	s.Concurrency = 2
	w.ask(&Act{campaign.Act{Action: campaign.ActionEdit, Settings: &s}})
	w.pass(10 * time.Second)
	for _, id := range []engine.ContactID{"c1", "c2", "c3", "c4"} {
		w.moved(id, attempt.PhaseWaiting)
	}
	eq(w, "all are served", []any{w.s.Busy, len(w.s.Waiting)}, "[4 0]")
	for _, id := range []engine.ContactID{"c1", "c2"} {
		w.moved(id, attempt.PhaseOver)
	}
	eq(w, "the new one binds once they are over", []any{w.s.seatCap(), w.s.InFlightCap}, "[2 0]")
}

func TestLinesThatAreDialledAfterALowerConcurrencyHaveNoRightToTheOldOne(t *testing.T) {
	w := dialling(t, 4)
	w.s.M.C.Settings.Concurrency = 1
	w.s.keepSeats(4)
	for _, id := range []engine.ContactID{"c3", "c4"} {
		w.s.Lines[id].Attempt = "later"
	}
	w.do(&DatabaseChanged{})
	eq(w, "of four lines two are older", w.s.InFlightCap, 2)
}

// SEMANTICS §6: "A bot whose health falls loses new dials, never the right of lines in
// flight to try it."
func TestABotWhoseHealthFallsIsStillTriedByLinesInFlight(t *testing.T) {
	w := dialling(t, 4)
	w.forget()
	w.do(
		&SeatsAllotted{Bot: "bot", Seats: w.s.Seats, Target: 0, Outage: &fleet.Outage{Since: w.now, Reason: "refused"}},
	)
	w.pass(time.Second)
	none[ReserveTrunks](w)
	eq(w, "kept", []any{w.s.Seats, w.s.Asked}, []any{4, w.s.Asked})
	for _, id := range []engine.ContactID{"c1", "c2", "c3", "c4"} {
		w.moved(id, attempt.PhaseWaiting)
	}
	eq(w, "all try the bot", []any{w.s.Busy, len(w.s.Waiting)}, "[4 0]")
}

func TestAnAnswerThatFoundNoBotLeavesOneProvedSeat(t *testing.T) {
	w := dialling(t, 5)
	missed := func(m *call.LineMoved) { m.Cause, m.BotMissed = engine.AbandonLateConnect, true }
	w.moved("c1", attempt.PhaseAbandoned, cause(engine.AbandonNoSeat))
	w.moved("c2", attempt.PhaseAbandoned, cause(engine.AbandonCapacityLoss))
	eq(w, "no seat was free, and a node was lost", w.s.Pace.Proof.Window, 0)
	w.moved("c3", attempt.PhaseAbandoned, missed)
	w.moved("c3", attempt.PhaseAbandoned, missed)
	eq(w, "the bot came late", []any{w.s.Pace.Proof.Window, w.s.Pace.Proof.Missed}, "[1 1]")
	w.s.Seats = 1 // the fleet tries the bot with one call
	w.moved("c4", attempt.PhaseServed)
	eq(w, "the bot came", w.s.Pace.Proof.Window, 2)
}
