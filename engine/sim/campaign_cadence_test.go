package sim

import (
	"slices"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/cadence"
	"dialler/engine/callee"
	"dialler/engine/campaign"
)

// TestACampaignDialsAsItsCadenceSays counts the attempts anew, through a crash and a takeover.
func TestACampaignDialsAsItsCadenceSays(t *testing.T) {
	in := plain(40)
	s := &in.Campaigns[0].Settings
	s.Cadence, s.MaxAttempts, s.RetryDelaySec = "evenings", 6, 3600
	table, wrong := cadence.Parse("rules",
		"busy: 5m, 15m, at most 3 · no_answer: 2h, another part of the day · at most 2 a day")
	if wrong != nil {
		t.Fatal(wrong.Message)
	}
	in.Cadences = []cadence.Named{{ID: "evenings", Cadence: table}}
	in.Length, in.People = 20*24*time.Hour, callee.Standard()
	in.People.Answer = callee.Always(0.05)
	in.Faults = []Fault{{Kind: FaultCrash, At: time.Hour, Length: 20 * time.Second},
		{Kind: FaultHandOver, At: 26 * time.Hour, Length: 5 * time.Second}}
	w := newCampaignWorld(in.WithDefaults(), 17)
	w.play()
	r := w.result()
	if r.Broken != nil || r.Campaigns[0].State != campaign.Completed {
		t.Fatal(r.Broken, r.Campaigns[0].State)
	}
	of := map[engine.ContactID][]attempt.Attempt{}
	for a := range w.store.AllAttempts() {
		if a.Consumed {
			of[a.Contact] = append(of[a.Contact], a)
		}
	}
	berlin, _ := time.LoadLocation("Europe/Berlin")
	redials, days := 0, 0
	for id, list := range of {
		slices.SortFunc(list, func(a, b attempt.Attempt) int { return a.Number - b.Number })
		perDay, busy := map[string]int{}, 0
		for i := range list {
			at := list[i].InviteAt.In(berlin)
			if perDay[at.Format(time.DateOnly)]++; perDay[at.Format(time.DateOnly)] > 2 {
				t.Errorf("%s is dialled a third time on %s", id, at.Format(time.DateOnly))
			}
			if i == 0 {
				continue
			}
			redials++
			before, least := &list[i-1], time.Hour
			switch before.Outcome {
			case engine.OutcomeBusy:
				if least = 5 * time.Minute; busy > 0 {
					least = 15 * time.Minute
				}
				if busy++; busy == 3 {
					t.Errorf("%s is dialled after its third busy", id)
				}
			case engine.OutcomeNoAnswer:
				if i == 1 {
					least = 2 * time.Hour
				}
			default:
			}
			if wait := list[i].InviteAt.Sub(*before.EndedAt); wait < least {
				t.Errorf("%s is dialled %s after %s, want %s at least", id, wait, before.Outcome, least)
			}
		}
		days = max(days, len(perDay))
	}
	if redials < 60 || days < 3 {
		t.Errorf("%d redials over %d days say little", redials, days)
	}
}
