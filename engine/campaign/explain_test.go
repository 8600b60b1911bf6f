package campaign

import (
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/contact"
	"dialler/engine/window"
)

// Each contact answers "why not now, when next".
func TestEveryContactSaysWhyItIsNotDialledNowAndWhenItIs(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) // a Monday
	in := func(d time.Duration) *time.Time { at := now.Add(d); return &at }
	ask := func(want string, next *time.Time, change func(q *Question)) {
		t.Helper()
		q := Question{Now: now,
			Campaign: &Campaign{
				State:    Running,
				Settings: Settings{Window: window.Window{Zone: "UTC", Start: 9 * 60, End: 17 * 60}},
			},
			Contact: &contact.Contact{
				State:    contact.Pending,
				Max:      3,
				DueAt:    in(-time.Minute),
				DueClass: contact.DueFirst,
			}}
		change(&q)
		e := Explain(q)
		if e.Code != want || (next == nil) != (e.NextAt == nil) || next != nil && !next.Equal(*e.NextAt) ||
			e.Message == "" {
			t.Errorf("%+v, want %s at %v", e, want, next)
		}
	}
	final := func(s contact.State, reason string) func(*Question) {
		return func(q *Question) { q.Contact.State, q.Contact.Reason, q.Contact.DueAt = s, reason, nil }
	}
	held := func(c engine.Constraint) func(*Question) {
		return func(q *Question) {
			q.Live = &Live{Why: Why{Constraint: c, Title: "Held back", Explanation: "0 of 10 workers free."}}
		}
	}
	// Final, and why.
	ask("completed", nil, final(contact.Completed, ""))
	ask("attempts_exhausted", nil, final(contact.Failed, contact.ReasonExhausted))
	ask("window_never_opens", nil, final(contact.Failed, contact.ReasonNeverOpens))
	ask("outcome_not_retried", nil, final(contact.Failed, "rejected"))
	ask("abandoned", nil, final(contact.Abandoned, ""))
	ask("machine_detected", nil, final(contact.MachineDetected, ""))
	ask("window_closed", nil, final(contact.WindowClosed, ""))
	ask("manually_stopped", nil, final(contact.ManuallyStopped, ""))
	ask("expired", nil, final(contact.Expired, ""))
	ask("excluded", nil, final(contact.Excluded, "asked"))
	// Its own times.
	ask("not_before", in(time.Hour), func(q *Question) {
		q.Contact.NotBefore, q.Contact.DueAt = in(time.Hour), in(time.Hour)
	})
	ask("expires_before", nil, func(q *Question) { q.Contact.ExpiresAt, q.Contact.DueAt = in(time.Hour), in(2*time.Hour) })
	ask("expires_before", nil, func(q *Question) { q.Contact.ExpiresAt = in(-time.Second) })
	// Under way.
	ask("call_in_progress", nil, func(q *Question) { q.Contact.Attempt, q.Contact.DueAt = "a", nil })
	ask("result_awaited", in(time.Minute), func(q *Question) {
		q.Contact.State, q.Contact.DueAt, q.Contact.ResultDueAt = contact.Connected, nil, in(time.Minute)
	})
	// Forbidden.
	ask("suppressed", nil, func(q *Question) { q.Facts.Suppressed = true })
	ask("excluded", nil, func(q *Question) { q.Facts.Excluded = true })
	several := func(choice contact.Choice) func(*Question) {
		return func(q *Question) {
			q.Contact.Alternates, q.Contact.Choice = contact.NewAlternates([]contact.Alternate{{Number: "+4930111"}}), choice
		}
	}
	ask("suppressed", nil, several(contact.ChoiceStopped))
	ask("suppressed", nil, func(q *Question) { several(1)(q); q.Facts.Suppressed = true })
	ask("queued", nil, several(1))
	ask("campaign_not_started", nil, func(q *Question) { q.Campaign.State = Draft })
	ask("campaign_ended", nil, func(q *Question) { q.Campaign.State = Failed })
	// Its own time.
	ask("callee_cap", in(time.Hour), func(q *Question) {
		q.Contact.DueAt, q.Contact.Reason, q.Contact.DueClass = in(time.Hour), engine.CodeCalleeCap, contact.DueRetry
	})
	for _, class := range []contact.DueClass{contact.DueFirst, contact.DueRetry, contact.DueCallback} {
		ask("calls_back", in(time.Hour), func(q *Question) {
			q.Contact.DueAt, q.Contact.Reason, q.Contact.DueClass = in(time.Hour), contact.ReasonCallsBack, class
		})
	}
	for _, code := range []string{"not_eligible", "eligibility_unknown"} {
		ask(code, in(time.Hour), func(q *Question) { q.Contact.DueAt, q.Contact.Reason = in(time.Hour), code })
	}
	ask(
		"callback_scheduled",
		in(time.Hour),
		func(q *Question) { q.Contact.DueAt, q.Contact.DueClass = in(time.Hour), contact.DueCallback },
	)
	ask("retry_delay", in(time.Hour), func(q *Question) {
		q.Contact.DueAt, q.Contact.DueClass, q.Contact.Used = in(time.Hour), contact.DueRetry, 1
	})
	ask(
		"retry_delay",
		in(time.Second),
		func(q *Question) { q.Contact.DueAt, q.Contact.Unconsumed = in(time.Second), 1 },
	)
	ask("outside_window", in(21*time.Hour), func(q *Question) { q.Contact.DueAt = in(21 * time.Hour) })
	ask("outside_window", in(21*time.Hour), func(q *Question) { q.Campaign.Settings.Window.End = 12 * 60 })
	ask("outside_window", in(2*time.Hour), func(q *Question) {
		q.Campaign.Settings.Window.ContactZone, q.Home.Zones = true, []string{"America/New_York"}
	})
	ask(
		"outside_window",
		nil,
		func(q *Question) { q.Campaign.Settings.Window.End, q.Campaign.WindowEndsAt = 12*60, in(0) },
	)
	ask("window_never_opens", nil, func(q *Question) {
		q.Campaign.Settings.Window.ContactZone, q.Home.Zones = true, []string{
			"Europe/Berlin",
			"Pacific/Guam",
			"America/Los_Angeles",
		}
	})
	// Constraints of its number, or of the campaign.
	ask("paused", nil, func(q *Question) { q.Campaign.State = Paused })
	ask("number_held", nil, func(q *Question) { q.Facts.Held = true })
	ask("number_held", in(time.Minute), func(q *Question) { q.Facts.Held, q.Facts.HeldUntil = true, in(time.Minute) })
	ask("seat_needed", nil, func(q *Question) { q.Facts.AbandonedAt = in(-time.Hour); held(engine.ConstraintSeats)(q) })
	ask("queued", nil, func(q *Question) { q.Facts.AbandonedAt = in(-73 * time.Hour) })
	ask("abandon_credit", nil, held(engine.ConstraintAbandonCredit))
	ask("trunk_health", nil, held(engine.ConstraintTrunkHealth))
	ask("queued", nil, held(engine.ConstraintRetryDelay))
	ask("queued", nil, func(q *Question) { q.Facts.Ahead = 7 })

	q := contactOf(in(0))
	q.Now, q.Facts.Ahead = now, 7
	if e := Explain(q); e.Ahead == nil || *e.Ahead != 7 || !strings.Contains(e.Message, "7 due contacts") {
		t.Errorf("%+v", e)
	}
}

// contactOf is a question about a contact that is due.
func contactOf(due *time.Time) Question {
	return Question{
		Now:      *due,
		Campaign: &Campaign{State: Running},
		Contact:  &contact.Contact{State: contact.Pending, DueAt: due},
	}
}

func TestAContactThatACadenceHoldsBackSaysByWhichRule(t *testing.T) {
	now := time.Date(2030, 1, 7, 10, 0, 0, 0, time.UTC)
	due := now.Add(time.Hour)
	table, _ := cadence.Parse("rules", "busy: 5m, 1h, at most 2 · machine: next day")
	tries := cadence.Tries(0).Add(cadence.Busy, now, &window.Window{}).Add(cadence.Busy, now, &window.Window{})
	q := Question{Now: now, Cadence: &cadence.Named{Name: "Evenings", Cadence: table},
		Campaign: &Campaign{State: Running, Settings: Settings{Window: window.Window{Zone: "UTC"}}},
		Contact: &contact.Contact{State: contact.Waiting, Used: 2, Max: 5, DueAt: &due, DueClass: contact.DueRetry,
			LastOutcome: engine.OutcomeBusy, Tries: tries}}
	f := func(code, want string) {
		t.Helper()
		if e := Explain(q); e.Code != code || !strings.Contains(e.Message, want) {
			t.Errorf("%s: %s, want %s: %s", e.Code, e.Message, code, want)
		}
	}
	f("retry_delay", "attempt 3 of 5 follows then, by the cadence Evenings (busy: 1h)")
	q.Contact.LastOutcome = engine.OutcomeNoAnswer
	f("retry_delay", "by the cadence Evenings (the retry delay)")
	q.Contact.LastOutcome, q.Contact.State, q.Contact.DueAt = engine.OutcomeBusy, contact.Failed, nil
	f("outcome_not_retried", "2 of its calls ended as busy, after which the cadence Evenings has it not dialled again")
}
