package actors

import (
	"context"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/eligibility"
	"dialler/engine/journal"
)

// Eligibility asks a system of the operator's own whether a contact may be called
// now. It blocks, not much longer than Config.EligibilityBudget, and always has a
// verdict.
type Eligibility interface {
	// Asks says whether anybody is asked about contacts of a campaign with this hook.
	Asks(own eligibility.Hook) bool
	Eligible(ctx context.Context, q eligibility.Question) eligibility.Verdict
}

// The question is put by the contact, once its leases are held and before its
// intent: a hook that takes its time delays this dial and no other. Then the run
// is asked whether it still dials.
type (
	eligibilityKnown struct {
		dial    *dial
		verdict eligibility.Verdict
	}
	mayDial struct {
		contact engine.ContactID
		dial    *dial
	}
)

func (a *contactActor) ask(msg *dial) {
	a.asking = true
	c := &a.m.C
	q := eligibility.Question{Own: a.rules.Hook, Campaign: c.Campaign, Run: c.Run, Contact: c.ID, Attempt: c.Used + 1, To: c.Number, Variables: c.Variables}
	d, self := a.d, a.self
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, 2*d.cfg.EligibilityBudget)
		defer cancel()
		d.root.Send(self, &eligibilityKnown{dial: msg, verdict: d.eligibility.Eligible(ctx, q)})
	}()
}

func (a *contactActor) eligible(msg *eligibilityKnown) {
	if !a.asking { // this actor is a later life of the one that asked, and has been counted as idle
		a.giveBack(msg.dial)
		return
	}
	a.asking = false
	if a.m.C.Attempt != "" || a.m.C.DueAt == nil {
		a.dial(msg.dial)
		return
	}
	switch v := msg.verdict; v.Decision {
	case eligibility.Defer:
		a.giveBack(msg.dial)
		a.wait(contact.Event{Kind: contact.Deferred, Until: v.Until, Reason: v.Code}, msg.dial.Trigger)
	case eligibility.Exclude:
		a.giveBack(msg.dial)
		a.leaveAlone(v.Reason, msg.dial.Trigger)
	case eligibility.Allow:
		a.asking = true // until the run has said so too
		a.d.root.Send(a.seed.run, &mayDial{contact: a.m.C.ID, dial: msg.dial})
	}
}

// wait puts the contact off.
func (a *contactActor) wait(ev contact.Event, t *triggerContext) {
	before, after, ok := a.change(ev)
	if !ok {
		return
	}
	changed := a.event(journal.ContactChanged, journal.Data{Before: before, After: after, DueAt: a.m.C.DueAt, Reason: ev.Reason})
	w := journal.Write{Contacts: []contact.Contact{a.m.C}, Events: []journal.Event{changed}}
	if t == nil {
		a.persist(w, nil)
		return
	}
	// The trigger's contact is not stored yet.
	w.Events = []journal.Event{a.event(journal.ContactTriggered, journal.Data{After: before, Reason: ev.Reason}), changed}
	t.reason, t.nextAt = ev.Reason, a.m.C.DueAt
	then := t.attach(&w, a, "queued", "")
	a.persist(w, then)
}

// leaveAlone excludes the contact by the hook's word.
func (a *contactActor) leaveAlone(reason string, t *triggerContext) {
	note := "eligibility hook"
	if reason != "" {
		note += ": " + reason
	}
	before, after, ok := a.change(contact.Event{Kind: contact.ExcludedBy, Reason: note})
	if !ok {
		return
	}
	w := journal.Write{Contacts: []contact.Contact{a.m.C}, Events: []journal.Event{a.event(journal.ContactExcluded, journal.Data{Before: before, After: after})}}
	if t == nil {
		a.persist(w, nil)
		return
	}
	w.Events = append([]journal.Event{a.event(journal.ContactTriggered, journal.Data{After: before})}, w.Events...)
	number := a.m.C.Number
	a.persist(w, func(err error) {
		if err == nil {
			a.d.root.Send(a.seed.run, &contactStored{number})
			err = errContactExcluded
		}
		reply(a.d, t.replyTo, nil, err)
	})
}

// storeQueued stores the contact of a trigger that is not dialled now.
func (a *contactActor) storeQueued(t *triggerContext, reason string) {
	if t == nil {
		return
	}
	facts := a.m.C.Facts()
	t.reason, t.nextAt = reason, a.m.C.DueAt
	w := journal.Write{Contacts: []contact.Contact{a.m.C}, Events: []journal.Event{a.event(journal.ContactTriggered, journal.Data{After: &facts, Reason: reason})}}
	then := t.attach(&w, a, "queued", "")
	a.persist(w, then)
}
