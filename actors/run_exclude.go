package actors

import (
	"context"
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/exclusion"
	"dialler/engine/journal"
)

func asEngine(err error, target **engine.Error) bool { return errors.As(err, target) }

// excludeOp is one exclusion or suppression under way: it is answered when its
// commit and the word of every live attempt concerned are in.
type excludeOp struct {
	cmd       campaign.Exclude
	who       *engine.Who
	replyTo   *actor.PID
	reply     campaign.ExcludeReply
	awaited   int
	persisted bool
	found     bool
}

type (
	exclude struct {
		cmd campaign.Exclude
		who *engine.Who // the operator who excludes one contact, else nil
	}
	excludeFound struct {
		look look
		op   int
		rows []contact.Contact
		err  error
	}
	// excludeAgain asks for the contacts once more.
	excludeAgain struct{ op int }
)

func (r *run) exclude(m *exclude, sender *actor.PID) {
	if !r.known(sender) {
		return
	}
	if r.past(m.cmd.Deadline, sender) {
		return
	}
	// From this moment look-ahead, reservations and additions are covered.
	if m.cmd.Reason == "" { // one without a reason keeps the recorded one
		m.cmd.Reason, _ = r.excluded.Reason(m.cmd.Number, m.cmd.Match)
	}
	x := journal.Exclusion{Campaign: r.id, Number: m.cmd.Number, Match: m.cmd.Match, Reason: m.cmd.Reason, CreatedAt: r.now}
	r.excluded.Add(&x)
	r.opSeq++
	n := r.opSeq
	r.ops[n] = &excludeOp{cmd: m.cmd, who: m.who, replyTo: sender}
	r.overtakeTriggers(&m.cmd)
	if r.readmission.running > 0 {
		r.readmission.newer = append(r.readmission.newer, m.cmd)
	}
	r.write(journal.Write{Exclusions: []journal.Exclusion{x}})
	// The tables are asked behind what is queued for them: a contact that a
	// trigger wrote a moment ago is among those found.
	r.afterWrites(func() {
		r.opPersisted(&opPersisted{op: n})
		r.findExcluded(n)
	})
}

// findExcluded asks for the contacts that an exclusion is about.
func (r *run) findExcluded(n int) {
	op := r.ops[n]
	if op == nil {
		return
	}
	r.findContacts(op.cmd.Number, op.cmd.Match, func(l look, rows []contact.Contact, err error) any { return &excludeFound{l, n, rows, err} })
}

// findContacts asks for the contacts of a number, or else of metadata, and sends
// itself what is made of them.
func (r *run) findContacts(n engine.PhoneNumber, match map[string]string, found func(look, []contact.Contact, error) any) {
	d, self, id, l := r.d, r.self, r.id, r.beginLook()
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		if n == "" {
			rows, err := d.store.ContactsMatching(ctx, id, match)
			d.root.Send(self, found(l, rows, err))
			return
		}
		var rows []contact.Contact
		row, ok, err := d.store.ContactByNumber(ctx, id, n)
		if err == nil && ok {
			rows = []contact.Contact{row}
		}
		d.root.Send(self, found(l, rows, err))
	}()
}

// exclusionsImported is the entry of a file of numbers, each of which has been
// excluded by itself.
type exclusionsImported struct{ cmd campaign.ExclusionsImported }

func (r *run) exclusionsImported(cmd *campaign.ExclusionsImported, sender *actor.PID) {
	if !r.known(sender) || r.past(cmd.Deadline, sender) {
		return
	}
	r.write(journal.Write{Events: []journal.Event{{At: r.now, Type: journal.ExclusionsImported, Version: 1,
		Data: journal.Data{Who: &cmd.Who, Reason: cmd.Reason, Count: cmd.Numbers}}}})
	r.afterWrites(func() { reply(r.d, sender, nil, nil) })
}

// excluding says whether an exclusion of the contact is under way, which counts it.
func (r *run) excluding(c *contact.Contact) bool {
	for _, op := range r.ops {
		if exclusion.Concerns(op.cmd.Number, op.cmd.Match, c.Number, c.Variables) {
			return true
		}
	}
	return false
}

// overtakeTriggers refuses the triggers that wait for room, and those that are
// being reserved for, of contacts that are not stored yet.
func (r *run) overtakeTriggers(cmd *campaign.Exclude) {
	keep := r.triggers[:0]
	for _, t := range r.triggers {
		if exclusion.Concerns(cmd.Number, cmd.Match, t.row.Number, t.row.Variables) {
			delete(r.triggering, t.row.Number)
			r.settled(t.row.Number)
			reply(r.d, r.d.requester(t.ctx.Request), nil, errContactExcluded)
			continue
		}
		keep = append(keep, t)
	}
	clear(r.triggers[len(keep):])
	r.triggers = keep
	r.overtakeParked(cmd)
	if r.round == nil {
		return
	}
	for i := range r.round.cands {
		c := &r.round.cands[i]
		c.overtaken = c.overtaken || c.trigger != nil && exclusion.Concerns(cmd.Number, cmd.Match, c.row.Number, c.row.Variables)
	}
}

func (r *run) past(deadline time.Time, sender *actor.PID) bool {
	if deadline.IsZero() || r.now.Before(deadline) {
		return false
	}
	reply(r.d, sender, nil, engine.Unavailable("deadline_passed", "the command waited too long and was not executed; try again", time.Second))
	return true
}

func (r *run) excludeFound(m *excludeFound) {
	defer r.endLook(m.look)
	op := r.ops[m.op]
	if op == nil {
		return
	}
	if passes(m.err) {
		// The exclusion is stored: it is carried out whole, whoever still waits.
		r.d.after(time.Second, r.self, &excludeAgain{m.op})
		return
	}
	if m.err != nil {
		delete(r.ops, m.op)
		reply(r.d, op.replyTo, nil, unavailable(m.err))
		return
	}
	seen := map[engine.ContactID]bool{}
	for i := range m.rows {
		seen[m.rows[i].ID] = true
	}
	// Contacts that live but are not stored yet (a trigger under way).
	for id, l := range r.lines {
		if exclusion.Concerns(op.cmd.Number, op.cmd.Match, l.number, l.variables) && !seen[id] {
			seen[id] = true
			op.reply.Matched++
			op.awaited++
			r.touch(id, &call.Exclude{Reason: op.cmd.Reason, Who: op.who, Op: m.op})
		}
	}
	for i := range m.rows {
		op.reply.Matched++
		op.awaited++
		r.touchFound(m.look, m.rows[i], &call.Exclude{Reason: op.cmd.Reason, Who: op.who, Op: m.op})
	}
	op.found = true
	r.finishExclude(m.op)
}

func (r *run) excludeDone(m *call.Excluded) {
	op := r.ops[m.Op]
	if op == nil {
		return
	}
	op.awaited--
	if m.Excluded {
		op.reply.Excluded++
	}
	if m.Cancelled {
		op.reply.CancelledRinging++
	}
	if m.InCall {
		op.reply.InCall++
	}
	r.finishExclude(m.Op)
}

func (r *run) opPersisted(m *opPersisted) {
	if op := r.ops[m.op]; op != nil {
		op.persisted = true
		r.finishExclude(m.op)
	}
}

func (r *run) finishExclude(n int) {
	op := r.ops[n]
	if !op.found || !op.persisted || op.awaited > 0 {
		return
	}
	delete(r.ops, n)
	if op.cmd.Idempotency.Present() {
		rep := op.reply
		r.write(journal.Write{Reply: storedReply(op.cmd.Idempotency, 200, rep, r.now)})
		r.afterWrites(func() { reply(r.d, op.replyTo, rep, nil) })
		return
	}
	reply(r.d, op.replyTo, op.reply, nil)
}
