package run

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/fleet"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
	"dialler/engine/trunk"
)

func (w *world) why() *campaign.Live {
	w.t.Helper()
	w.do(&DatabaseChanged{})
	return granted[campaign.Detail](w, w.ask(&Detail{})).Live
}

func TestContactsInTheirFirstAttemptAreNeverRetries(t *testing.T) {
	w := dialling(t, 3)
	for _, id := range []engine.ContactID{"c1", "c2", "c3"} {
		w.moved(id, attempt.PhaseRinging)
	}
	w.s.Tally.Contacts(&contact.Facts{State: contact.Pending, Max: 3, Open: true, Awaits: 1}, 1) // put off
	eq(w, "three ring, nobody else is due", w.why().Constraint, engine.ConstraintNoDueContacts)
	w.s.Tally.Contacts(&contact.Facts{State: contact.Waiting, Used: 1, Max: 3, Open: true, Awaits: 2}, 1)
	w.pass(10 * time.Second)
	eq(w, "one waits for its second", w.why().Constraint, engine.ConstraintRetryDelay)
}

func TestAnOutageWinsOverWaiting(t *testing.T) {
	w := ready(t)
	w.due(nil, 1)
	w.s.Tally.Contacts(&contact.Facts{State: contact.Waiting, Used: 1, Max: 3, Open: true, Awaits: 2}, 1)
	eq(w, "waiting", w.why().Constraint, engine.ConstraintRetryDelay)
	w.proc.noTrunk = true
	v := w.why()
	eq(w, "no trunk", []any{v.Constraint, v.Indicator, v.ETASeconds == nil},
		[]any{engine.ConstraintTrunkHealth, campaign.IndicatorStopped, true})
	w.proc.noTrunk = false
	w.s.Outage = &fleet.Outage{Since: w.now, Reason: "refused"}
	v = w.why()
	eq(w, "no bot", []any{v.Constraint, v.Explanation, v.Indicator},
		[]any{engine.ConstraintSeats, "T" + w.s.Outage.String()[1:] + ".", campaign.IndicatorStopped})
	w.s.Outage = nil
	eq(w, "all is back", w.why().Indicator != campaign.IndicatorStopped, true)
	w.proc.away = true
	eq(w, "no database", w.why().Constraint, engine.ConstraintDatabase)
	w.ask(act(campaign.ActionPause))
	eq(w, "an operator's word wins", w.why().Constraint, engine.ConstraintPaused)
}

// Lines that ring are at their own cap: it is named, not that of conversations.
func TestMaxLinesIsToldByItsName(t *testing.T) {
	w := dialling(t, 2, set(func(s *campaign.Settings) { s.Concurrency, s.MaxLines = 10, 2 }))
	w.s.Queue.Push(w.row("c3"))
	w.moved("c1", attempt.PhaseRinging)
	w.moved("c2", attempt.PhaseRinging)
	w.pass(10 * time.Second)
	v := w.why()
	eq(w, "told", []any{v.Constraint, v.Remedy}, []any{engine.ConstraintMaxLines, campaign.RemedyRaiseMaxLines})
}

func TestARefusalOfAMomentIsNotWhatIsTold(t *testing.T) {
	w := seated(t, set(func(s *campaign.Settings) { s.Concurrency = 1; s.AbandonCapPPM = 0 }))
	w.s.Queue.Push(w.row("c1"))
	w.s.Queue.Push(w.row("c2"))
	w.do(&DatabaseChanged{})
	w.round() // the only seat is taken
	w.pass(8 * time.Second)
	w.s.holdPace(engine.ConstraintTrunkCPS, w.now.Add(50*time.Millisecond))
	v := w.why()
	eq(w, "told", []any{v.Constraint, v.ConstraintShare > 0.9, w.now.Sub(*v.ConstraintSince) >= 0},
		[]any{engine.ConstraintConcurrency, true, true})
}

func TestACampaignThatIsNotStartedOrOverNamesItsState(t *testing.T) {
	for state, want := range map[campaign.State]string{
		campaign.Draft:     "the campaign is a draft; dialling begins with Start",
		campaign.Completed: "the campaign is completed: manually stopped",
		campaign.Failed:    "the run failed: bot_deleted",
	} {
		w := ready(t, in(state), func(m *Loaded) {
			switch state {
			case campaign.Completed:
				m.Campaign.CompletionReason = campaign.ReasonManuallyStopped
			case campaign.Failed:
				m.Campaign.FailureReason = "bot_deleted"
			default:
			}
		})
		v := w.why()
		eq(w, string(state), []any{v.Constraint, v.Explanation}, []any{engine.ConstraintNone, want})
	}
}

func TestWhenAllTalkThatIsSaid(t *testing.T) {
	w := dialling(t, 2, set(func(s *campaign.Settings) { s.Concurrency = 2 }))
	w.s.Queue.Push(w.row("c3"))
	for _, id := range []engine.ContactID{"c1", "c2"} {
		w.moved(id, attempt.PhaseRinging)
	}
	w.do(&DatabaseChanged{})
	v := w.why()
	eq(
		w,
		"a line for each",
		[]any{v.Constraint, v.Explanation, v.Standing, v.Severity},
		[]any{engine.ConstraintConcurrency,
			"Concurrency is 2: 0 workers are in calls, 2 lines are dialled.",
			campaign.StandingDialling, campaign.SeverityNormal},
	)
	for _, id := range []engine.ContactID{"c1", "c2"} {
		w.moved(id, attempt.PhaseWaiting)
		w.moved(id, attempt.PhaseServed)
	}
	was := v.Title
	v = w.why()
	eq(w, "all talk", []any{v.Constraint, v.Explanation, v.Title, v.Remedy}, []any{engine.ConstraintConcurrency,
		"Concurrency is 2: 2 workers are in calls, 0 lines are dialled.", was, campaign.RemedyRaiseConcurrency})
}

// The last calls are neither retries nor idleness.
func TestARunThatEndsWithItsLastCallsSaysSo(t *testing.T) {
	w := dialling(t, 2, set(func(s *campaign.Settings) { s.Concurrency, s.MaxAttempts = 2, 1 }))
	w.moved("c1", attempt.PhaseRinging)
	w.moved("c2", attempt.PhaseWaiting)
	w.moved("c2", attempt.PhaseServed)
	w.pass(11 * time.Second)
	v := w.why()
	eq(w, "ending", []any{v.Constraint, v.Standing, v.Line, v.Explanation}, []any{engine.ConstraintNoDueContacts,
		campaign.StandingEnding, "Ending: 1 line is dialled, 1 conversation goes on",
		"1 line is dialled, 1 conversation goes on; the run ends with them."})
}

func TestItSaysForWhatItWaitsAndUntilWhen(t *testing.T) {
	w := ready(t)
	next := w.now.Add(90 * time.Second)
	w.do(&DueRead{Open: 2, Next: &next})
	w.s.Tally.Contacts(&contact.Facts{State: contact.Waiting, Used: 1, Max: 3, Open: true, Awaits: 2}, 2)
	v := w.why()
	eq(
		w,
		"retries",
		[]any{v.Standing, v.Line, *v.Until, v.Explanation},
		[]any{campaign.StandingWaiting, "Waiting for retries", next,
			"2 contacts wait for the next attempt; no call is under way."},
	)
	sooner := w.now.Add(30 * time.Second)
	w.s.expect(sooner)
	eq(w, "one comes sooner", w.why().Until.Equal(sooner), true)
	w.goTo(sooner) // a contact whose turn has come is no longer waited for
	eq(w, "no time is said that is over", w.why().Until == nil, true)
	w.s.expect(next)
	eq(w, "and then the next one", w.s.DueNext.Equal(next), true)
	w = ready(t, set(func(s *campaign.Settings) { s.Window.Start, s.Window.End = 12*60, 13*60 }))
	v = w.why()
	eq(
		w,
		"the window",
		[]any{v.Standing, v.Line, *v.Until},
		[]any{campaign.StandingWaiting, "Waiting for the calling window",
			t0.Add(2 * time.Hour)},
	)
}

// The figures agree: usage is shown beside the constraint, and exactly one resource is marked as
// binding.
func TestTheFiguresComeWithTheReason(t *testing.T) {
	w := seated(t)
	have := campaign.SuppliesOf(
		[]trunk.Status{{Health: trunk.Up, Rate: 10, Placed: 9.7, Legs: 3, Channels: 30}, {Health: trunk.Down}},
		map[engine.PhoneNumber]numberpool.Status{
			"+4930100": {Refuses: numberpool.CapRest},
			"+4930999": {Refuses: numberpool.CapDay},
		},
	)
	w.s.Queue.Push(w.row("c1"))
	w.s.holdPace(engine.ConstraintTrunkCPS, w.now.Add(time.Minute))
	w.do(&DatabaseChanged{})
	w.goTo(w.now.Add(time.Second))
	v := granted[campaign.Detail](w, w.ask(&Detail{Supplies: have})).Live
	eq(w, "reason", []any{v.Constraint, v.Explanation}, []any{engine.ConstraintTrunkCPS,
		"9.7 of 10.0 calls a second: they are placed as fast as the trunks allow."})
	eq(w, "figures", v.Resources, []campaign.Resource{
		{Resource: "seats", Of: 10, Out: map[string]int{}},
		{Resource: "trunk_cps", Used: 9.7, Of: 10, Binding: true, Out: map[string]int{"down": 1}, Note: "1 down"},
		{Resource: "trunk_channels", Used: 3, Of: 30, Out: map[string]int{"down": 1}, Note: "1 down"},
		{Resource: "numbers", Used: 1, Of: 1, Out: map[string]int{"rest": 1}, Note: "1 resting"}})
	eq(w, "what others are shown is left alone", have.CPS.Binding, false)
}

// What is shown does not depend on who looks, or when.
func TestSinceWhenSomethingIsToldIsNoMatterOfLooking(t *testing.T) {
	w := ready(t)
	w.due(nil, 1)
	w.s.Tally.Contacts(&contact.Facts{State: contact.Waiting, Used: 1, Max: 3, Open: true, Awaits: 2}, 1)
	w.pass(time.Minute)
	w.s.Outage = &fleet.Outage{Since: w.now, Reason: "refused"}
	began := w.now
	w.pass(time.Minute)
	v := w.why()
	if d := v.ConstraintSince.Sub(began); v.Constraint != engine.ConstraintSeats || d < 0 || d > time.Second {
		t.Errorf("%s since %v", v.Constraint, d)
	}
}

// The ledgers show the same counts as the counters, although ledgers count only what can no longer
// change, and counters what was written.
func TestTheLedgersShowWhatTheCountersShow(t *testing.T) {
	w := dialling(t, 2)
	check := func(what string) {
		t.Helper()
		d := granted[campaign.Detail](w, w.ask(&Detail{}))
		n := d.Counters
		for _, l := range d.Live.Ledgers {
			eq(
				w,
				what,
				[]int{l.LiveAnswers, l.Abandoned, l.CapacityLoss},
				[]int{n.LiveAnswers, n.Abandoned, n.CapacityLoss},
			)
		}
	}
	folds := func(id engine.ContactID, typ journal.Type, data journal.Data) {
		w.do(
			&call.Persist{
				Contact: id,
				Step:    int(w.s.M.C.Seq) + 1,
				Write: &journal.Write{Events: []journal.Event{{At: w.now, Type: typ,
					Version: 1, Contact: id, Attempt: w.s.Lines[id].Attempt, Data: data}}},
			},
		)
	}
	w.moved("c1", attempt.PhaseWaiting)
	w.moved("c1", attempt.PhaseAbandoned, func(m *call.LineMoved) { m.Cause = engine.AbandonCapacityLoss })
	eq(w, "it counts", w.s.Pace.Books.Run.CapacityLoss, 1)
	check("the message is played")
	folds(
		"c1",
		journal.AttemptEnded,
		journal.Data{Outcome: engine.OutcomeAbandoned, Cause: engine.AbandonCapacityLoss, Pass: 1},
	)
	check("the call has ended")
	w.moved("c1", attempt.PhaseOver)
	check("and is over")
	w.moved("c2", attempt.PhaseWaiting)
	w.moved("c2", attempt.PhaseServed, func(m *call.LineMoved) { m.Tentative = true })
	folds("c2", journal.AttemptConnected, journal.Data{Pass: 1})
	eq(w, "it can still turn out a machine's", w.s.Pace.Books.Run.Live, 1)
	check("and is shown as what it is so far")
	w.do(&call.AnswerStands{Contact: "c2", Attempt: w.s.Lines["c2"].Attempt})
	check("it can no more")
}

// Before the tables and the fleet have answered, nothing is shown about contacts and seats.
func TestWhatIsNotKnownYetIsNotTold(t *testing.T) {
	w := ready(t)
	eq(w, "contacts are looked for", w.why().Constraint, engine.ConstraintNone)
	w.due(w.rows(3), 0)
	w.pass(time.Second)
	eq(w, "and seats", w.why().Constraint, engine.ConstraintNone)
	w.seats(0)
	w.pass(4 * time.Second)
	eq(w, "there is none", w.why().Constraint, engine.ConstraintSeats)
	w = ready(t)
	w.due(nil, 1)
	w.pass(time.Second)
	eq(w, "nobody is due", w.why().Constraint, engine.ConstraintNoDueContacts)
}
