package call

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/campaign"
	"dialler/engine/window"
)

// TestAPlanListsTheDialsThatTheRulesLeadTo starts on Monday 7 January 2030 at 10:00.
func TestAPlanListsTheDialsThatTheRulesLeadTo(t *testing.T) {
	from := time.Date(2030, 1, 7, 10, 0, 0, 0, time.UTC)
	f := func(what, rules string, change func(*campaign.Settings), want string, outcomes ...engine.Outcome) {
		t.Helper()
		c := campaign.Campaign{State: campaign.Completed, Settings: campaign.Defaults()}
		c.Settings.Window = window.Window{Zone: "UTC", Start: 9 * 60, End: 18 * 60}
		if change != nil {
			change(&c.Settings)
		}
		var table *cadence.Named
		if rules != "" {
			read, wrong := cadence.Parse("rules", rules)
			if wrong != nil {
				t.Fatal(wrong.Message)
			}
			table = &cadence.Named{Name: "n", Cadence: read}
		}
		dials, after := Plan(c, table, window.Home{Zones: []string{"America/New_York"}}, from, outcomes)
		var got []string
		for _, d := range dials {
			got = append(got, strings.TrimSpace(fmt.Sprint(d.At.UTC().Format("02 15:04 "), d.By)))
		}
		if list := strings.Join(append(got, after.Code), ", "); list != want {
			t.Errorf("%s:\n%s, want\n%s", what, list, want)
		}
	}
	const none, busy = engine.OutcomeNoAnswer, engine.OutcomeBusy
	f("Retry Delay alone", "", nil, "07 10:00, 07 10:30, 07 11:00, attempts_exhausted", none)
	f("by the rules", "no_answer: 3h, next day", nil,
		"07 10:00, 07 13:00 no_answer: 3h, 08 09:00 no_answer: next day, attempts_exhausted", none)
	f("each outcome in its turn", "busy: 5m · no_answer: 3h", nil,
		"07 10:00, 07 10:05 busy: 5m, 07 13:05 no_answer: 3h, attempts_exhausted", busy, none)
	f("the most of an outcome", "no_answer: 1h, at most 2", nil,
		"07 10:00, 07 11:00 no_answer: 1h, outcome_not_retried", none)
	f("what is not redialled", "machine: next day", nil, "07 10:00, machine_detected", engine.OutcomeMachine)
	f("a conversation without a result", "connected: 1h", func(s *campaign.Settings) {
		s.RetryOnSystem, s.MaxAttempts = []engine.Outcome{engine.OutcomeConnectedNoResult}, 2
	}, "07 10:00, 07 11:00 connected: 1h, attempts_exhausted", engine.OutcomeConnectedNoResult)
	f("the contact's clock", "no_answer: next day", func(s *campaign.Settings) { s.Window.ContactZone = true },
		"07 14:00, 08 14:00 no_answer: next day, 09 14:00 no_answer: next day, attempts_exhausted", none)
	f("a run that ends with its day", "no_answer: next day", func(s *campaign.Settings) { s.SingleDay = true },
		"07 10:00, window_closed", none)
	f("a window that never opens", "no_answer: next day", func(s *campaign.Settings) {
		s.Window.Days = []window.Day{window.Mon}
		s.Window.Zone = "Nowhere/None"
	}, "window_never_opens", none)
}
