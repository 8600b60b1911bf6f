package actors

import (
	"context"
	"dialler/engine/number"
	"errors"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

type (
	trigger struct {
		cmd campaign.Trigger
		// look: the tables are asked before a contact is made.
		look bool
		// unanswered: no reply is stored under its Idempotency-Key.
		unanswered bool
	}
	triggerFound struct {
		look    look
		cmd     campaign.Trigger
		replyTo *actor.PID
		// answered: a reply is stored under its Idempotency-Key. live: nothing else
		// was asked, since its contact is up.
		answered, live bool
		row            contact.Contact
		ok             bool
		err            error
		// staged: there is no such contact, but a row of the import that was
		// being activated when the database was asked.
		importing engine.ImportID
		staged    bool
	}
)

// lookFirst is how many triggers ask for their number first after one whose number
// the campaign had.
const lookFirst = 8

// trigger adds one contact and dials or queues it. Trigger runs no preflight. What
// is only queued asks nothing: its write is refused when the number is suppressed
// or known (journal.Write.Fresh), or its Idempotency-Key was used.
func (r *run) trigger(m *trigger, sender *actor.PID) {
	if !r.known(sender) || r.past(m.cmd.Deadline, sender) {
		return
	}
	if r.m.C.State != campaign.Running && r.m.C.State != campaign.Paused {
		reply(r.d, sender, nil, r.notRunning())
		return
	}
	if r.m.C.Settings.SingleDay && !r.windowOf(m.cmd.Number).Open(r.now) {
		reply(r.d, sender, nil, engine.Conflict("outside_window", "the calling window is closed and a single-day campaign queues nothing for another day"))
		return
	}
	if r.excluded.Refuses(m.cmd.Number, m.cmd.Variables, r.m.C.Settings.StickyExclusion) {
		reply(r.d, sender, nil, errContactExcluded)
		return
	}
	if until, ok := r.erasing[m.cmd.Number]; ok && r.now.Before(until) {
		reply(r.d, sender, nil, errBeingErased)
		return
	}
	// The same number may have been triggered a moment ago.
	if _, ok := r.triggering[m.cmd.Number]; ok {
		r.d.after(20*time.Millisecond, r.self, &retriggered{m, sender})
		return
	}
	l := r.byNumber[m.cmd.Number]
	_, lifts := r.excluded.Reason(m.cmd.Number, nil)
	switch {
	case l != nil && m.cmd.Idempotency.Present() && !m.unanswered:
		r.lookForTrigger(m, sender, true)
	case l != nil:
		r.touch(l.id, &call.Reopen{Trigger: &call.Trigger{Command: m.cmd, Request: request(sender)}})
	case m.look || r.lookNext > 0 || r.activation != nil || lifts:
		r.lookForTrigger(m, sender, false)
	default:
		r.addTriggered(&m.cmd, &call.Trigger{Command: m.cmd, Request: request(sender)}, false)
	}
}

// addTriggered makes a contact, which waits to learn whether it is dialled now;
// looked: the tables were asked for it.
func (r *run) addTriggered(cmd *campaign.Trigger, t *call.Trigger, looked bool) {
	row := r.newContact(cmd)
	r.triggering[row.Number] = struct{}{}
	r.triggers = append(r.triggers, &pendingTrigger{row: row, ctx: t, looked: looked})
}

// lookForTrigger asks the tables for what a trigger must know before its contact is
// touched or dialled; live: only whether it was answered.
func (r *run) lookForTrigger(m *trigger, sender *actor.PID, live bool) {
	r.triggering[m.cmd.Number] = struct{}{}
	d, self, id, cmd, now := r.d, r.self, r.id, m.cmd, r.now
	importing, l := r.activating(), r.beginLook()
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		f := &triggerFound{look: l, cmd: cmd, replyTo: sender, importing: importing, live: live}
		// All questions at once: who triggers waits for one answer.
		var all sync.WaitGroup
		var suppressed map[engine.PhoneNumber]journal.Suppression
		var errReply, errSuppressed, errAbandons error
		if cmd.Idempotency.Present() && !m.unanswered {
			all.Go(func() { _, f.answered, errReply = d.store.FindReply(ctx, cmd.Idempotency) })
		}
		if !live {
			all.Go(func() { suppressed, errSuppressed = d.store.Suppressed(ctx, cmd.Number) })
			all.Go(func() { errAbandons = d.lookForAbandons(ctx, []contact.Contact{{Number: cmd.Number}}, now) })
			f.row, f.ok, f.err = d.store.ContactByNumber(ctx, id, cmd.Number)
		}
		all.Wait()
		switch {
		case f.answered:
			f.err = journal.ErrReplyExists
		case errReply == nil && len(suppressed) > 0:
			f.err = journal.ErrSuppressed
		default:
			f.err = errors.Join(f.err, errReply, errSuppressed, errAbandons)
		}
		if f.err == nil && !f.ok && !live && importing != "" {
			f.staged, f.err = d.store.StagedNumber(ctx, importing, cmd.Number)
		}
		d.root.Send(self, f)
	}()
}

func (r *run) notRunning() error {
	return engine.Conflict("campaign_not_running", "a trigger needs a running or paused campaign; this one is "+string(r.m.C.State))
}

// errContactExcluded refuses to add somebody who was excluded.
var errContactExcluded = call.ErrContactExcluded

type retriggered struct {
	m      *trigger
	sender *actor.PID
}

func (r *run) triggerFound(m *triggerFound) {
	defer r.endLook(m.look)
	delete(r.triggering, m.cmd.Number)
	if m.err != nil {
		reply(r.d, m.replyTo, nil, unavailable(m.err))
		return
	}
	if m.live {
		r.trigger(&trigger{cmd: m.cmd, unanswered: true}, m.replyTo)
		return
	}
	if r.past(m.cmd.Deadline, m.replyTo) {
		return
	}
	if r.m.C.State != campaign.Running && r.m.C.State != campaign.Paused { // ended while the database was asked
		reply(r.d, m.replyTo, nil, r.notRunning())
		return
	}
	if r.excluded.Refuses(m.cmd.Number, m.cmd.Variables, r.m.C.Settings.StickyExclusion) {
		reply(r.d, m.replyTo, nil, errContactExcluded) // while the database was asked
		return
	}
	t := &call.Trigger{Command: m.cmd, Request: request(m.replyTo)}
	r.lookNext = max(r.lookNext-1, 0)
	if m.ok {
		r.lookNext = lookFirst
		if m.row.State == contact.Excluded {
			r.liftAll([]campaign.NewContact{{Number: m.row.Number}})
		}
		r.touchFound(m.look, m.row, &call.Reopen{Trigger: t})
		return
	}
	if l := r.byNumber[m.cmd.Number]; l != nil { // came up while the database was asked
		r.touch(l.id, &call.Reopen{Trigger: t})
		return
	}
	switch {
	case m.importing != r.activating(): // begun or ended while the database was asked
		r.trigger(&trigger{cmd: m.cmd, look: true}, m.replyTo)
		return
	case m.staged:
		r.parkNow(&trigger{cmd: m.cmd, look: true}, m.replyTo)
		return
	}
	r.liftAll([]campaign.NewContact{{Number: m.cmd.Number}})
	r.addTriggered(&m.cmd, t, true)
}

// queueTrigger writes a fresh contact that is not dialled now; contact,
// idempotency key and response commit together.
func (r *run) queueTrigger(t *pendingTrigger) {
	row := t.row
	if r.over() { // ended while it was being reserved for
		delete(r.triggering, row.Number)
		r.settled(row.Number)
		reply(r.d, r.d.requester(t.ctx.Request), nil, r.notRunning())
		return
	}
	policy := r.rules.PolicyFor(row.Number, number.Zones)
	if at, ok := policy.Clip(r.now); ok {
		row.DueAt = &at
	}
	rep := campaign.TriggerReply{Status: "queued", ContactID: row.ID, CampaignID: r.id, NextEligibleAt: row.DueAt, Reason: t.ctx.Reason}
	f := row.Facts()
	w := journal.Write{Fresh: true, Contacts: []contact.Contact{row}, Events: []journal.Event{{At: r.now, Type: journal.ContactTriggered, Version: 1,
		Contact: row.ID, Data: journal.Data{After: &f, Reason: t.ctx.Reason}}}}
	if t.ctx.Command.Idempotency.Present() {
		w.Reply = storedReply(t.ctx.Command.Idempotency, 200, rep, r.now)
	}
	r.sequence(&w)
	d, self, ctx := r.d, r.self, t.ctx
	d.root.Send(d.writerFor(string(r.id)), &persist{Write: w, Run: self, Then: func(err error) {
		if errors.Is(err, journal.ErrContactExists) {
			d.root.Send(self, &retriggered{&trigger{cmd: ctx.Command, look: true}, d.requester(ctx.Request)})
			return
		}
		reply(d, d.requester(ctx.Request), rep, err)
	}})
	r.afterWrites(func() {
		delete(r.triggering, row.Number)
		r.settled(row.Number)
	})
	r.expect(*row.DueAt)
}
