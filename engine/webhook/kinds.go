package webhook

import (
	"slices"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Fact is an event with the rows that it is about, as they are when it is read.
type Fact struct {
	journal.Event
	Call   *attempt.Attempt // nil: the event is about none, or it is gone
	Person *contact.Contact // as above; of a campaign
}

// Kind is a type of message.
type Kind struct {
	Name string
	// From are the events that are told so, when its condition holds.
	From []journal.Type
	when func(*Fact) bool
	data func(*Fact) shape
}

// Ping is the type of the message that tests an endpoint. It is sent to one
// endpoint when somebody asks for it, whatever types that endpoint has.
const Ping = "webhook.ping"

// contactEvents are those that may bring a contact into another state.
var contactEvents = []journal.Type{journal.AttemptEnded, journal.ResultStored, journal.ContactChanged, journal.ContactExcluded, journal.ContactTriggered,
	journal.ContactRetried, journal.ContactCallBackSet}

// Kinds is every type of message: its name, the events of the journal that it
// tells, and what it says. The API's description has each under webhooks.
var Kinds = []Kind{
	{Name: "campaign.started", From: []journal.Type{journal.CampaignStarted}, data: campaignShape},
	{Name: "campaign.paused", From: []journal.Type{journal.CampaignPaused}, data: campaignShape},
	{Name: "campaign.resumed", From: []journal.Type{journal.CampaignResumed}, data: campaignShape},
	{Name: "campaign.stopped", From: []journal.Type{journal.CampaignStopped}, data: campaignShape},
	{Name: "campaign.completed", From: []journal.Type{journal.CampaignCompleted}, data: campaignShape},
	{Name: "campaign.failed", From: []journal.Type{journal.CampaignFailed}, data: campaignShape},
	{Name: "campaign.restarted", From: []journal.Type{journal.CampaignRestarted}, data: campaignShape},

	{Name: "attempt.ended", From: []journal.Type{journal.AttemptEnded}, when: ofCampaign, data: attemptShape},
	{Name: "dialout.ended", From: []journal.Type{journal.AttemptEnded}, when: ofNone, data: attemptShape},
	{Name: "abandon.recorded", From: []journal.Type{journal.AttemptAbandoned}, data: attemptShape},
	{Name: "result.stored", From: []journal.Type{journal.ResultStored}, data: resultShape},
	{Name: "result.timed_out", From: append(slices.Clip(contactEvents), journal.AttemptReserved), when: timedOut,
		data: timedOutShape},

	{Name: "contact.completed", From: contactEvents, when: became(contact.Completed), data: contactShape},
	{Name: "contact.failed", From: contactEvents, when: became(contact.Failed), data: contactShape},
	{Name: "contact.abandoned", From: contactEvents, when: became(contact.Abandoned), data: contactShape},
	{Name: "contact.machine_detected", From: contactEvents, when: became(contact.MachineDetected), data: contactShape},
	{Name: "contact.window_closed", From: contactEvents, when: became(contact.WindowClosed), data: contactShape},
	{Name: "contact.manually_stopped", From: contactEvents, when: became(contact.ManuallyStopped), data: contactShape},
	{Name: "contact.excluded", From: contactEvents, when: became(contact.Excluded), data: contactShape},

	{Name: "callback.scheduled", From: contactEvents, when: callbackSet, data: contactShape},
	{Name: "callback.cancelled", From: contactEvents, when: callbackDropped, data: contactShape},

	{Name: "contacts.added", From: []journal.Type{journal.ContactsAdded}, data: contactsShape},
	{Name: "contacts.closed", From: []journal.Type{journal.ContactsClosed}, data: contactsShape},
}

// Names lists every type that an endpoint may ask for.
func Names() []string {
	out := make([]string, len(Kinds))
	for i := range Kinds {
		out[i] = Kinds[i].Name
	}
	return out
}

// Sources lists the events of the journal of which the named types are made; no
// names are all.
func Sources(names []string) []journal.Type {
	var out []journal.Type
	for i := range Kinds {
		if len(names) > 0 && !slices.Contains(names, Kinds[i].Name) {
			continue
		}
		for _, t := range Kinds[i].From {
			if !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out
}

// Messages makes what is told of a fact.
func Messages(f *Fact) []Message {
	var out []Message
	for i := range Kinds {
		k := &Kinds[i]
		if slices.Contains(k.From, f.Type) && (k.when == nil || k.when(f)) {
			out = append(out, k.message(f))
		}
	}
	return out
}

func ofCampaign(f *Fact) bool { return f.Campaign != "" }
func ofNone(f *Fact) bool     { return f.Campaign == "" }

// became: the event brought its contact into the state, in the run that it is in.
func became(s contact.State) func(*Fact) bool {
	return func(f *Fact) bool {
		before, after := f.Data.Before, f.Data.After
		return f.Contact != "" && !f.Data.Kept && after != nil && after.State == s && (before == nil || before.State != s)
	}
}

// timedOut: the wait for a result is over, and none came. An event of the release before
// says only that the result timeout passed, and the outcome.
func timedOut(f *Fact) bool {
	d := &f.Data
	return f.Contact != "" && (d.NoResult != "" ||
		d.Reason == journal.ReasonResultTimeout && d.Outcome == engine.OutcomeConnectedNoResult)
}

// waitEnded says what ended the wait.
func waitEnded(f *Fact) string {
	switch f.Type {
	case journal.AttemptReserved:
		return "redialled"
	case journal.ContactExcluded:
		return "excluded"
	case journal.ContactCallBackSet:
		return "call_back_set"
	case journal.ResultStored:
		return "other_result"
	default: // the event says it
		return f.Data.Reason
	}
}

// callbackSet: a callback was scheduled, or another took its place.
func callbackSet(f *Fact) bool {
	before, after := f.Data.Before, f.Data.After
	if f.Contact == "" || after == nil || after.Callback != contact.CallbackPending || f.Data.DueAt == nil {
		return false
	}
	return before == nil || before.Callback != contact.CallbackPending || f.Type == journal.ResultStored
}

func callbackDropped(f *Fact) bool {
	before, after := f.Data.Before, f.Data.After
	return f.Contact != "" && before != nil && after != nil && after.Callback == contact.CallbackCancelled &&
		(before.Callback == contact.CallbackPending || before.Callback == contact.CallbackRequested)
}
