package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// triggerContext carries a trigger through to the write that answers it.
type triggerContext struct {
	cmd     campaign.Trigger
	replyTo *actor.PID
	reason  string
	nextAt  *time.Time
}

// attach adds the reply to the write, so that contact, intent, idempotency key
// and response commit together; the returned function answers the caller.
func (t *triggerContext) attach(w *journal.Write, a *contactActor, status string, id engine.AttemptID) func(error) {
	r := campaign.TriggerReply{Status: status, ContactID: a.m.C.ID, CampaignID: a.m.C.Campaign, AttemptID: id}
	if status == "queued" {
		r.NextEligibleAt, r.Reason = t.nextAt, t.reason
	}
	if t.cmd.Idempotency.Present() {
		w.Reply = journal.ReplyOf(t.cmd.Idempotency, 200, r, a.now)
	}
	return func(err error) {
		if err != nil {
			if code := engine.ErrorCode(err); code == engine.CodeNumberHeld || code == engine.CodeSuppressed || code == engine.CodeDestination || code == engine.CodeCalleeCap {
				// The intent was refused; the contact is written without it.
				if t.reason == "" {
					t.reason = code
				}
				a.trigger = t
				return
			}
		}
		if err == nil {
			a.d.root.Send(a.seed.run, &contactStored{a.m.C.Number})
		}
		reply(a.d, t.replyTo, r, err)
	}
}

// triggered merges into an open contact or reopens a final one.
func (a *contactActor) triggered(msg *triggerContact) {
	a.suppressed = false // it was asked for since, and the number is not on the list
	t := msg.Trigger
	if a.rules.Sticky && (a.m.C.State == contact.Excluded || a.m.C.ExcludeAfterCall) {
		reply(a.d, t.replyTo, nil, errContactExcluded)
		return
	}
	open := a.m.C.Open()
	before, after, ok := a.change(contact.Event{Kind: contact.Triggered, Variables: t.cmd.Variables})
	if !ok {
		reply(a.d, t.replyTo, nil, errContactExcluded)
		return
	}
	if open {
		t.reason = "merged"
	}
	t.nextAt = a.m.C.DueAt
	w := journal.Write{Contacts: []contact.Contact{a.m.C},
		Events: []journal.Event{a.event(journal.ContactTriggered, journal.Data{Before: before, After: after, Reason: t.reason})}}
	then := t.attach(&w, a, "queued", "")
	a.persist(w, then)
}
