package webhook

import (
	"slices"
	"strings"
	"time"

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
	// Named says that only an endpoint that names the type is told: one that names none is told what it
	// was told before the type existed.
	Named bool
	// From are the events that this type reports, if its condition holds.
	From []journal.Type
	when func(*Fact) bool
	data func(*Fact) shape
	// at is when that happened which the type tells; nil, or nil of a call, stands for the event's time.
	at func(*attempt.Attempt) *time.Time
}

// Ping is the type of the message that tests an endpoint. It is sent to one endpoint on request,
// whatever types that endpoint has.
const Ping = "webhook.ping"

// StatusCallback stands among an endpoint's types for permission: requests may name addresses on the endpoint's host
// to which the progress of their calls is sent, with the endpoint's secret. It is no type of message.
const StatusCallback = "status_callback"

// Ringing is the type of the message that a phone rings, which becomes durable only if somebody asks for it.
const Ringing = "call.ringing"

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
	{Name: "call.initiated", Named: true, From: []journal.Type{journal.AttemptReserved}, when: initiated,
		data: progress(stageInitiated)},
	{Name: Ringing, Named: true, From: []journal.Type{journal.AttemptRinging}, when: ourCall,
		data: progress(stageRinging), at: func(a *attempt.Attempt) *time.Time { return a.RingingAt }},
	{Name: "call.answered", Named: true, From: []journal.Type{journal.AttemptAnswered}, when: ourCall,
		data: progress(stageAnswered), at: func(a *attempt.Attempt) *time.Time { return a.AnsweredAt }},
	{Name: "call.bridged", Named: true, From: []journal.Type{journal.AttemptConnected}, when: ourCall,
		data: progress(stageBridged), at: func(a *attempt.Attempt) *time.Time { return a.ServedAt }},
	{Name: "call.ended", Named: true, From: []journal.Type{journal.AttemptEnded}, when: outbound,
		data: callEndedShape, at: func(a *attempt.Attempt) *time.Time { return a.EndedAt }},
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

// Choices lists what the types of an endpoint may be.
func Choices() []string { return append(Names(), StatusCallback) }

// Progress lists the types that tell a call's progress.
func Progress() []string {
	return names(func(k *Kind) bool { return strings.HasPrefix(k.Name, "call.") })
}

// Names lists every type of message that endpoints are told of.
func Names() []string { return names(func(*Kind) bool { return true }) }

// Usual lists the types of an endpoint that names none.
func Usual() []string { return names(func(k *Kind) bool { return !k.Named }) }

func names(which func(*Kind) bool) (out []string) {
	for i := range Kinds {
		if which(&Kinds[i]) {
			out = append(out, Kinds[i].Name)
		}
	}
	return out
}

// usual is the answer for each type.
var usual = func() map[string]bool {
	out := map[string]bool{}
	for _, name := range Usual() {
		out[name] = true
	}
	return out
}()

// Sources lists the journal's events from which the named types are made.
func Sources(names []string) []journal.Type {
	var out []journal.Type
	for i := range Kinds {
		if !slices.Contains(names, Kinds[i].Name) {
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

// Messages creates the messages of the named types for a fact.
func Messages(f *Fact, names []string) []Message {
	var out []Message
	for i := range Kinds {
		k := &Kinds[i]
		if slices.Contains(k.From, f.Type) && slices.Contains(names, k.Name) && (k.when == nil || k.when(f)) {
			out = append(out, k.message(f))
		}
	}
	return out
}

func ofCampaign(f *Fact) bool { return f.Campaign != "" }
func ofNone(f *Fact) bool     { return f.Campaign == "" && !f.Data.Inbound }
func outbound(f *Fact) bool   { return !f.Data.Inbound }
func inbound(f *Fact) bool    { return f.Data.Inbound }

// ourCall says that the event is about a call that we placed. Only the row of a call says so while it lasts.
func ourCall(f *Fact) bool { return f.Call != nil && !f.Call.Inbound }

// initiated leaves out calls that are known to have ended before an INVITE left: their intent was refused, or
// they were withdrawn.
func initiated(f *Fact) bool {
	return ourCall(f) &&
		(f.Call.State != attempt.Ended || f.Call.InviteAt != nil || f.Call.Outcome == engine.OutcomeLost)
}

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
