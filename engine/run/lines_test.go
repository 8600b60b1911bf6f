package run

import (
	"fmt"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
)

func cause(c engine.AbandonCause) func(*call.LineMoved) {
	return func(m *call.LineMoved) { m.Cause = c }
}
func machine(m *call.LineMoved)   { m.Machine = true }
func tentative(m *call.LineMoved) { m.Tentative = true }

// serve takes a line through to a conversation.
func (w *world) serve(id engine.ContactID, change ...func(*call.LineMoved)) {
	w.t.Helper()
	w.moved(id, attempt.PhaseRinging)
	w.moved(id, attempt.PhaseWaiting)
	w.moved(id, attempt.PhaseServed, change...)
}

func TestAnAnsweredCallTakesASeatAndGivesItBack(t *testing.T) {
	w := dialling(t, 1)
	w.moved("c1", attempt.PhaseRinging)
	eq(w, "busy while it rings", w.s.Busy, 0)
	w.moved("c1", attempt.PhaseWaiting)
	eq(w, "granted", told[*call.SeatGranted](w, "c1")[0].Attempt, w.s.Lines["c1"].Attempt)
	eq(w, "busy", w.s.Busy, 1)
	w.moved("c1", attempt.PhaseWaiting) // repeated
	eq(w, "busy", w.s.Busy, 1)
	w.moved("c1", attempt.PhaseServed)
	w.moved("c1", attempt.PhaseReleased)
	eq(w, "busy", w.s.Busy, 0)
	w.moved("c1", attempt.PhaseOver)
	eq(w, "line", fmt.Sprint(w.s.Lines["c1"].Attempt, w.s.Lines["c1"].Phase, w.s.engagedLines()),
		fmt.Sprint(engine.AttemptID(""), attempt.PhaseOver, 0))
}

func TestAnswersThatWaitAreServedInTheirOrderAsSeatsComeFree(t *testing.T) {
	w := dialling(t, 3)
	w.do(&SeatsAllotted{Bot: "bot", Seats: 1, Target: 1})
	for _, id := range []engine.ContactID{"c2", "c1", "c3"} {
		w.moved(id, attempt.PhaseWaiting)
	}
	w.moved("c1", attempt.PhaseWaiting) // it waits once
	eq(w, "first", len(told[*call.SeatGranted](w, "c2")), 1)
	eq(w, "waiting", len(w.s.Waiting), 2)
	w.moved("c1", attempt.PhaseReleased) // hung up
	eq(w, "waiting", len(w.s.Waiting), 1)
	w.moved("c2", attempt.PhaseOver)
	eq(w, "c1", len(told[*call.SeatGranted](w, "c1")), 0)
	eq(w, "c3", len(told[*call.SeatGranted](w, "c3")), 1)
	eq(w, "busy", w.s.Busy, 1)
}

func TestWhatIsSaidOfAnOlderAttemptOrAfterTheEndMovesNothing(t *testing.T) {
	w := dialling(t, 1)
	a := w.s.Lines["c1"].Attempt
	w.do(&call.LineMoved{Contact: "c1", Attempt: "older", Phase: attempt.PhaseServed})
	w.do(&call.AnswerStands{Contact: "c1", Attempt: "older"})
	w.do(&call.LineMoved{Contact: "nobody", Attempt: a, Phase: attempt.PhaseServed})
	w.do(&call.AnswerStands{Contact: "nobody", Attempt: a})
	eq(w, "phase", w.s.Lines["c1"].Phase, attempt.PhaseDialling)
	w.moved("c1", attempt.PhaseOver)
	w.do(&call.LineMoved{Contact: "c1", Phase: attempt.PhaseServed})
	eq(w, "phase", w.s.Lines["c1"].Phase, attempt.PhaseOver)
	eq(w, "live answers", w.s.Pace.Books.Run.Live, 0)
}

func TestTheLedgersCountEachAnswerOnce(t *testing.T) {
	w := dialling(t, 5)
	counts := func(live, abandoned, lost, machines int) {
		t.Helper()
		for _, l := range []any{w.s.Pace.Books.Run.Counts, w.s.Pace.Books.Day.Counts, w.s.Pace.Books.Thirty.Counts,
			w.s.Pace.Hours.Over(w.now, time.Hour)} {
			eq(w, "counts", l, fmt.Sprintf("{Live:%d Abandoned:%d Machines:%d CapacityLoss:%d}", live, abandoned,
				machines, lost))
		}
	}
	w.serve("c1")
	w.moved("c1", attempt.PhaseServed) // repeated
	counts(1, 0, 0, 0)
	w.serve("c2", tentative) // a beep may still take it back
	counts(1, 0, 0, 0)
	w.do(&call.AnswerStands{Contact: "c2", Attempt: w.s.Lines["c2"].Attempt})
	w.do(&call.AnswerStands{Contact: "c2", Attempt: w.s.Lines["c2"].Attempt})
	counts(2, 0, 0, 0)
	w.moved("c2", attempt.PhaseReleased, machine) // reported by the bot: the answer counts, and is no longer a machine
	counts(2, 0, 0, 0)
	w.moved("c3", attempt.PhaseAbandoned, cause(engine.AbandonNoSeat))
	w.moved("c3", attempt.PhaseAbandoned, cause(engine.AbandonNoSeat))
	counts(3, 1, 0, 0)
	eq(w, "abandoned", one[Abandoned](w), Abandoned{phone("c3"), engine.AbandonNoSeat})
	w.moved("c4", attempt.PhaseAbandoned, cause(engine.AbandonCapacityLoss))
	counts(4, 2, 1, 0)
	w.serve("c5", tentative)
	w.moved("c5", attempt.PhaseReleased, machine)
	w.moved("c5", attempt.PhaseReleased, machine)
	counts(4, 2, 1, 1)
	eq(w, "busy", w.s.Busy, 1) // c1 talks
}

func TestTheModelOfPacingHearsOfALineAndASeatOnce(t *testing.T) {
	w := dialling(t, 3)
	line := func(id engine.ContactID) *Line { return w.s.Lines[id] }
	w.pass(3 * time.Second)
	w.moved("c1", attempt.PhaseRinging)
	eq(w, "placed", line("c1").DialledAt, t0)
	before := w.s.Pace.Model.State()
	w.moved("c1", attempt.PhaseWaiting)
	eq(w, "still wanted", line("c1").DialledAt.IsZero(), true)
	eq(w, "seated", line("c1").SeatedAt, w.now)
	after := w.s.Pace.Model.State()
	eq(w, "an answer is learnt", fmt.Sprint(after.Answers) != fmt.Sprint(before.Answers), true)
	w.moved("c1", attempt.PhaseServed)
	eq(w, "persons", w.s.Pace.Model.State().Persons-before.Persons, 1.0)
	w.pass(time.Minute)
	talked := w.s.Pace.Model.State()
	w.moved("c1", attempt.PhaseOver)
	w.moved("c1", attempt.PhaseOver)
	eq(w, "ended", line("c1").SeatedAt.IsZero(), true)
	eq(w, "calls learnt from", fmt.Sprint(w.s.Pace.Model.State().Talk) != fmt.Sprint(talked.Talk), true)
	w.moved("c2", attempt.PhaseReleased) // failed
	eq(w, "c2", line("c2").DialledAt.IsZero(), true)
	machines := w.s.Pace.Model.State().Machines
	w.serve("c3", tentative)
	w.moved("c3", attempt.PhaseReleased, machine)
	eq(w, "machines", w.s.Pace.Model.State().Machines-machines, 1.0)
}

func TestALineWithASeatHeldCountsAsBusyAndNotAsRinging(t *testing.T) {
	w := ready(t)
	w.proc.seat[phone("c1")] = true
	w.due(w.rows(2), 0)
	w.seats(10)
	eq(w, "being reserved", []any{w.s.Busy, w.s.Held, w.s.flying()}, []any{1, 0, 1})
	w.round()
	eq(w, "dialled", []any{w.s.Busy, w.s.Held, w.s.flying()}, []any{1, 1, 1})
	w.do(&call.Up{Contact: "c1"})
	w.moved("c1", attempt.PhaseRinging)
	eq(w, "its model hears nothing", w.s.Lines["c1"].DialledAt.IsZero(), true)
	w.moved("c1", attempt.PhaseWaiting)
	eq(w, "answered", []any{w.s.Busy, w.s.Held, w.s.Lines["c1"].SeatedAt.IsZero()}, []any{1, 0, false})
	eq(w, "granted", len(told[*call.SeatGranted](w, "c1")), 1)
	w.moved("c1", attempt.PhaseOver)
	eq(w, "over", []any{w.s.Busy, w.s.Held}, []any{0, 0})
}

func TestASeatThatIsHeldGoesBackWithItsLine(t *testing.T) {
	w := ready(t)
	w.proc.seat[phone("c1")] = true
	w.due(w.rows(1), 0)
	w.seats(10)
	w.round()
	w.moved("c1", attempt.PhaseOver)
	eq(w, "over", []any{w.s.Busy, w.s.Held}, []any{0, 0})
}

func TestANumberAbandonedOfLateIsDialledOnlyWithASeat(t *testing.T) {
	w := ready(t)
	w.proc.seat[phone("c1")] = true
	w.due(w.rows(1), 0)
	w.seats(1)
	// The only seat is taken.
	w.s.Busy++
	w.trunks(1, "")
	w.numbers(1, "")
	w.s.Busy--
	w.moved("c1", attempt.PhaseOver)
	w.rests(w.final("c1"))

	w = ready(t, set(func(s *campaign.Settings) { s.Concurrency = 1 }))
	w.proc.seat[phone("c2")] = true
	w.due(w.rows(2), 0)
	w.seats(1)
	w.round()
	w.do(&call.Up{Contact: "c1"})
	w.moved("c1", attempt.PhaseWaiting)
	w.moved("c1", attempt.PhaseServed)
	none[ReserveTrunks](w)
	eq(w, "c2 waits", w.s.Queue.Has("c2"), true)
	w.moved("c1", attempt.PhaseOver)
	w.round()
	eq(w, "c2 has a seat", w.s.Lines["c2"].Seated, true)
}

func TestWhatIsShownOfACampaignIsOfItsLines(t *testing.T) {
	w := dialling(t, 5)
	w.moved("c2", attempt.PhaseRinging)
	w.serve("c3")
	w.serve("c4")
	w.do(&SeatsAllotted{Bot: "bot", Seats: 2, Target: 2})
	w.moved("c5", attempt.PhaseWaiting)
	d := granted[campaign.Detail](w, w.ask(&Detail{}))
	eq(w, "live", []any{d.Live.Dialling, d.Live.Ringing, d.Live.InProgress, d.Live.Waiting, d.Live.Seats,
		d.Live.FreeSeats},
		"[1 1 2 1 2 0]")
	w.forget()
	w.pass(500 * time.Millisecond)
	f := one[Publish](w).Figures
	eq(w, "figures", []any{f.Campaign, f.Dialling, f.Ringing, f.Waiting, f.InProgress, f.Seats, f.AbandonCap,
		f.Due}, "[cmp 1 1 1 2 2 0.03 0]")
	eq(w, "rates of periods with answers", len(f.AbandonRates), 3)
	w.ask(&Act{campaign.Act{Action: campaign.ActionPause}})
	w.forget()
	w.pass(500 * time.Millisecond)
	eq(w, "paused", one[Publish](w).Figures.Constraint, engine.ConstraintPaused)
	d = granted[campaign.Detail](w, w.ask(&Detail{}))
	eq(w, "paused, in words", d.Live.Constraint, engine.ConstraintPaused)
	// Once it is completed nothing holds it back, though its last calls go on.
	w.ask(&Act{campaign.Act{Action: campaign.ActionStop}})
	w.forget()
	w.pass(500 * time.Millisecond)
	f = one[Publish](w).Figures
	eq(w, "completed", []any{f.Constraint, f.InProgress}, []any{engine.ConstraintNone, 2})
	d = granted[campaign.Detail](w, w.ask(&Detail{}))
	eq(w, "completed, in words", []any{d.Campaign.State, d.Live.Constraint},
		[]any{campaign.Completed, engine.ConstraintNone})
}
