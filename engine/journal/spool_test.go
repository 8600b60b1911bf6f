package journal

import (
	"slices"
	"testing"

	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

func TestWhatCarriesACallOnMayBeSpooledAndNothingElse(t *testing.T) {
	f := func(what string, change func(w *Write), want bool) {
		t.Helper()
		w := Write{Campaign: "cmp_1", Epoch: 1, Events: []Event{{Type: AttemptEnded}}, Contacts: []contact.Contact{{ID: "c"}},
			Attempts: []attempt.Attempt{{ID: "a"}}, Holds: []HoldRelease{{Attempt: "a"}}}
		change(&w)
		if got := w.Spoolable(); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	f("the end of a call", func(*Write) {}, true)
	f("a key pressed in the message", func(w *Write) {
		w.Events[0].Type, w.Suppressions = AttemptOptedOut, []Suppression{{Reason: SuppressedByOptOut}}
	}, true)
	f("an intent", func(w *Write) { w.Intent = &Intent{} }, false)
	f("an answer to a request", func(w *Write) { w.Reply = &Reply{} }, false)
	f("a campaign", func(w *Write) { w.CampaignRow = &campaign.Campaign{} }, false)
	f("an exclusion", func(w *Write) { w.Exclusions = []Exclusion{{}} }, false)
	f("the end of a run", func(w *Write) { w.Bulk = &Bulk{} }, false)
	f("another Max Attempts", func(w *Write) { w.Retune = &Retune{} }, false)
	f("a dialout that waits for its time", func(w *Write) { w.Schedule = &campaign.ScheduledDialout{} }, false)
	f("the end of one", func(w *Write) { w.Unschedule = true }, false)
	f("an address that is told of the call", func(w *Write) { w.Status = &StatusCallback{} }, false)
	f("no event", func(w *Write) { w.Events = nil }, false)
	f("an end with what the database had refused", func(w *Write) {
		w.Events = append([]Event{{Type: AttemptReserved}}, w.Events...)
	}, false)

	patient := []Type{AttemptRinging, AttemptConnected, AttemptEnded, ResultStored, LegClosed}
	may := []Type{AttemptRinging, AttemptAnswered, AttemptConnected, AttemptAbandoned, AttemptOptedOut, AttemptEnded,
		LegAdded, LegClosed}
	for _, e := range []Type{
		CampaignCreated, CampaignStarted, CampaignPaused, CampaignResumed, CampaignStopped, CampaignCompleted,
		CampaignFailed, CampaignRestarted, CampaignRestartCancelled, CampaignEdited, CampaignCloned, CampaignDeleted,
		SuppressionAdded, SuppressionLifted, ExclusionLifted, ExclusionsImported, RecordingDeleted, RecordingsHashed,
		ContactsAdded, ContactTriggered, ContactExcluded, ContactChanged, ContactRetried, ContactCallBackSet, ContactsClosed,
		ImportUndone, ContactsTakenBack, ContactsRetuned, ContactsReset, ContactsRestored, AttemptReserved,
		AttemptRinging, AttemptAnswered, AttemptConnected,
		AttemptAbandoned, AttemptOptedOut, AttemptEnded, LegAdded, LegClosed, ResultStored, DialoutScheduled,
		DialoutCancelled, DialoutExpired,
	} {
		f(string(e), func(w *Write) { w.Events[0].Type = e }, slices.Contains(may, e))
		w := Write{Events: []Event{{Type: e}}, Holds: []HoldRelease{{Attempt: "a"}}}
		if w.Patient() != slices.Contains(patient, e) {
			t.Errorf("%s: patient %v", e, w.Patient())
		}
	}
}

func TestWhatSomebodyWaitsForMayNotWaitForOthers(t *testing.T) {
	for what, change := range map[string]func(w *Write){
		"an intent": func(w *Write) { w.Intent = &Intent{} }, "an answer to a request": func(w *Write) { w.Reply = &Reply{} },
		"a campaign":           func(w *Write) { w.CampaignRow = &campaign.Campaign{} },
		"an exclusion":         func(w *Write) { w.Exclusions = []Exclusion{{}} },
		"a suppression":        func(w *Write) { w.Suppressions = []Suppression{{}} },
		"the end of a run":     func(w *Write) { w.Bulk = &Bulk{} },
		"another Max Attempts": func(w *Write) { w.Retune = &Retune{} }, "no event": func(w *Write) { w.Events = nil },
		"an end with an answer": func(w *Write) { w.Events = append(w.Events, Event{Type: AttemptAnswered}) },
	} {
		w := Write{Events: []Event{{Type: AttemptEnded}}}
		if !w.Patient() {
			t.Fatal("the end of a call is not patient")
		}
		if change(&w); w.Patient() {
			t.Errorf("%s is patient", what)
		}
	}
}

func TestAWriteIsAboutEveryContactAndAttemptThatItNames(t *testing.T) {
	w := Write{Contacts: []contact.Contact{{ID: "contact"}}, Attempts: []attempt.Attempt{{ID: "attempt"}},
		Holds:  []HoldRelease{{Attempt: "held"}},
		Intent: &Intent{Attempt: "meant"}, Events: []Event{{Contact: "told of", Attempt: "told"}, {Type: AttemptEnded}}}
	var got []string
	w.Subjects(func(id string) { got = append(got, id) })
	if want := []string{"contact", "attempt", "held", "meant", "told of", "told"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
