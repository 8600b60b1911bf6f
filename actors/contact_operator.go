package actors

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// What an operator does to one contact. Excluding it is an exclusion of its
// number; to have it dialled, now or at a time, is the contact's own decision.

type (
	operate      struct{ cmd campaign.ActOnContact }
	operateFound struct {
		look    look
		cmd     campaign.ActOnContact
		replyTo *actor.PID
		row     contact.Contact
		ok      bool
		err     error
	}
)

var errContactNotFound = call.ErrContactNotFound

// ActOnContact has an operator's word on one contact carried out; it returns once
// that is durable.
func (t *Tree) ActOnContact(ctx context.Context, cmd campaign.ActOnContact) error {
	if err := t.d.database.err(); err != nil {
		return err
	}
	_, err := ask[any](ctx, t.d, t.d.campaigns, t.askRun(cmd.Campaign, &operate{cmd}))
	return err
}

// operate asks for the contact; whom nobody may call is refused at once.
func (r *run) operate(m *operate, sender *actor.PID) {
	if !r.known(sender) || r.past(m.cmd.Deadline, sender) {
		return
	}
	calls := m.cmd.Action != campaign.ExcludeContact
	if err := r.m.C.Dials(); calls && err != nil {
		reply(r.d, sender, nil, err)
		return
	}
	d, self, cmd, l := r.d, r.self, m.cmd, r.beginLook()
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		f := &operateFound{look: l, cmd: cmd, replyTo: sender}
		f.row, f.ok, f.err = d.store.ContactByID(ctx, cmd.Contact)
		f.ok = f.ok && f.row.Campaign == cmd.Campaign
		if calls && f.ok && f.err == nil {
			var suppressed map[engine.PhoneNumber]journal.Suppression
			if suppressed, f.err = d.store.Suppressed(ctx, f.row.Number); f.err == nil && len(suppressed) > 0 {
				f.err = journal.ErrSuppressed
			}
		}
		d.root.Send(self, f)
	}()
}

func (r *run) operateFound(m *operateFound) {
	defer r.endLook(m.look)
	if m.err == nil && !m.ok {
		m.err = errContactNotFound
	}
	if m.err != nil {
		reply(r.d, m.replyTo, nil, unavailable(m.err))
		return
	}
	if m.cmd.Action == campaign.ExcludeContact {
		who := m.cmd.Who
		r.handle(&exclude{cmd: campaign.Exclude{Campaign: r.id, Number: m.row.Number, Reason: m.cmd.Reason, Who: who, Deadline: m.cmd.Deadline}, who: &who}, m.replyTo)
		return
	}
	err := r.m.C.Dials() // it may have ended while the database was asked
	until, erasing := r.erasing[m.row.Number]
	switch {
	case err != nil:
	case r.excluded.Refuses(m.row.Number, m.row.Variables, true):
		err = errContactExcluded
	case erasing && r.now.Before(until):
		err = errBeingErased
	}
	if err != nil {
		reply(r.d, m.replyTo, nil, err)
		return
	}
	r.touchFound(m.look, m.row, &call.Operate{Command: m.cmd, Request: request(m.replyTo)})
}
