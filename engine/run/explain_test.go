package run

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/fleet"
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
	w.s.Tally.Contacts(&contact.Facts{State: contact.Unanswered, Used: 1, Max: 3, Open: true, Awaits: 2}, 1)
	w.pass(10 * time.Second)
	eq(w, "one waits for its second", w.why().Constraint, engine.ConstraintRetryDelay)
}

func TestAnOutageWinsOverWaiting(t *testing.T) {
	w := ready(t)
	w.due(nil, 1)
	w.s.Tally.Contacts(&contact.Facts{State: contact.Unanswered, Used: 1, Max: 3, Open: true, Awaits: 2}, 1)
	eq(w, "waiting", w.why().Constraint, engine.ConstraintRetryDelay)
	w.proc.noTrunk = true
	v := w.why()
	eq(w, "no trunk", []any{v.Constraint, v.Indicator, v.ETASeconds == nil},
		[]any{engine.ConstraintTrunkHealth, campaign.IndicatorStopped, true})
	w.proc.noTrunk = false
	w.s.Outage = &fleet.Outage{Since: w.now, Reason: "refused"}
	v = w.why()
	eq(w, "no bot", []any{v.Constraint, v.Explanation, v.Indicator},
		[]any{engine.ConstraintSeats, w.s.Outage.String(), campaign.IndicatorStopped})
	w.s.Outage = nil
	eq(w, "all is back", w.why().Indicator != campaign.IndicatorStopped, true)
	w.proc.away = true
	eq(w, "no database", w.why().Constraint, engine.ConstraintDatabase)
	w.ask(act(campaign.ActionPause))
	eq(w, "an operator's word wins", w.why().Constraint, engine.ConstraintPaused)
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
