package actors

import (
	"context"
	"dialler/engine/number"

	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	core "dialler/engine/run"
)

// What an operator does to one contact. Excluding it is an exclusion of its
// number; to have it dialled, now or at a time, is the contact's own decision.

var errContactNotFound = core.ErrContactNotFound

// ActOnContact has an operator's word on one contact carried out; it returns once
// that is durable.
func (t *Tree) ActOnContact(ctx context.Context, cmd campaign.ActOnContact) error {
	if err := t.d.database.err(); err != nil {
		return err
	}
	_, err := ask[any](ctx, t.d, t.d.campaigns, t.askRun(cmd.Campaign, &core.Operate{Command: cmd}))
	return err
}

// operatorKind is the contact's event and the entry of the activity log for what
// an operator does.
var operatorKind = map[campaign.ContactAction]struct {
	kind  contact.Kind
	entry journal.Type
}{
	campaign.RetryNow: {contact.Hastened, journal.ContactRetried},
	campaign.CallBack: {contact.CallbackSet, journal.ContactCallBackSet},
}

// actedOn: an operator wants the contact dialled, now or at a time.
func (a *contactActor) actedOn(msg *actOnContact) {
	a.suppressed = false // it was asked for since, and the number is not on the list
	does := operatorKind[msg.cmd.Action]
	ev := contact.Event{Kind: does.kind, At: a.now, Policy: a.rules.PolicyFor(a.m.C.Number, number.Zones), Until: msg.cmd.At}
	if err := a.m.Refusal(ev); err != nil {
		reply(a.d, msg.ReplyTo, nil, err)
		return
	}
	before, after, ok := a.change(ev)
	if !ok {
		reply(a.d, msg.ReplyTo, nil, errContactNotFound)
		return
	}
	who := msg.cmd.Who
	a.persist(journal.Write{Contacts: []contact.Contact{a.m.C},
		Events: []journal.Event{a.event(does.entry, journal.Data{Before: before, After: after, DueAt: a.m.C.DueAt, Who: &who})}},
		func(err error) { reply(a.d, msg.ReplyTo, nil, err) })
}
