package webhook

import (
	"slices"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Fact is an event with its rows as of reading.
type Fact struct {
	journal.Event
	Call   *attempt.Attempt // nil if the event is not about one, or it no longer exists
	Person *contact.Contact // as above; only for a campaign
}

// Kind is a type of message.
type Kind struct {
	Name string
	// From are the events that this type reports, if its condition holds.
	From []journal.Type
	when func(*Fact) bool
	data func(*Fact) shape
}

// Ping is the type of the message that tests an endpoint. It is sent to one endpoint on request,
// whatever types that endpoint has.
const Ping = "webhook.ping"

// contactEvents are the events that may change a contact's state.
var contactEvents = []journal.Type{journal.AttemptEnded, journal.ResultStored, journal.ContactChanged,
	journal.ContactExcluded, journal.ContactTriggered, journal.ContactRetried, journal.ContactCallBackSet,
	journal.ContactExpired}

// Kinds lists every type of message: its name, the journal's events that it reports, and its
// content. The API's description lists each under webhooks.
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
	{Name: "inbound.ended", From: []journal.Type{journal.AttemptEnded}, when: inbound, data: attemptShape},
	{Name: "abandon.recorded", From: []journal.Type{journal.AttemptAbandoned}, when: outbound, data: attemptShape},
	{Name: "result.stored", From: []journal.Type{journal.ResultStored}, data: resultShape},
	{Name: "result.timed_out", From: append(slices.Clip(contactEvents), journal.AttemptReserved), when: timedOut,
		data: timedOutShape},

	{Name: "contact.completed", From: contactEvents, when: became(contact.Completed), data: contactShape},
	{Name: "contact.failed", From: contactEvents, when: became(contact.Failed), data: contactShape},
	{Name: "contact.abandoned", From: contactEvents, when: became(contact.Abandoned), data: contactShape},
	{Name: "contact.machine_detected", From: contactEvents, when: became(contact.MachineDetected), data: contactShape},
	{Name: "contact.window_closed", From: contactEvents, when: became(contact.WindowClosed), data: contactShape},
	{Name: "contact.manually_stopped", From: contactEvents, when: became(contact.ManuallyStopped), data: contactShape},
	{Name: "contact.expired", From: contactEvents, when: became(contact.Expired), data: contactShape},
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

// Sources lists the journal's events from which the named types are made; no names mean all.
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

// Messages creates the messages for a fact.
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
func ofNone(f *Fact) bool     { return f.Campaign == "" && !f.Data.Inbound }
func outbound(f *Fact) bool   { return !f.Data.Inbound }
func inbound(f *Fact) bool    { return f.Data.Inbound }

// became says that the event brought its contact into the state, in its current run.
func became(s contact.State) func(*Fact) bool {
	return func(f *Fact) bool {
		before, after := f.Data.Before, f.Data.After
		return f.Contact != "" && !f.Data.Kept && after != nil && after.State == s && (before == nil || before.State != s)
	}
}

// timedOut says that the wait for a result is over, and none came. An event of the previous release
// only says that the result timeout passed, and the outcome.
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

// callbackSet says that a callback was scheduled, or replaced by another.
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
