package actors

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

func asEngine(err error, target **engine.Error) bool { return errors.As(err, target) }

// excludeOp is one exclusion under way: it is answered when its commit and the
// word of every live attempt concerned are in.
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
	x := journal.Exclusion{Campaign: r.id, Number: m.cmd.Number, Match: m.cmd.Match, Reason: m.cmd.Reason, CreatedAt: r.now}
	r.excluded.add(&x)
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

// concerns says whether an exclusion is about a contact.
func concerns(cmd *campaign.Exclude, n engine.PhoneNumber, vars map[string]string) bool {
	if cmd.Number != "" {
		return n == cmd.Number
	}
	return matches(vars, cmd.Match)
}

// overtakeTriggers refuses the triggers that wait for room, and those that are
// being reserved for, of contacts that are not stored yet.
func (r *run) overtakeTriggers(cmd *campaign.Exclude) {
	keep := r.triggers[:0]
	for _, t := range r.triggers {
		if concerns(cmd, t.row.Number, t.row.Variables) {
			delete(r.triggering, t.row.Number)
			r.settled(t.row.Number)
			reply(r.d, t.ctx.replyTo, nil, errContactExcluded)
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
		c.overtaken = c.overtaken || c.trigger != nil && concerns(cmd, c.row.Number, c.row.Variables)
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
		if concerns(&op.cmd, l.number, l.variables) && !seen[id] {
			seen[id] = true
			op.reply.Matched++
			op.awaited++
			r.touch(id, &excludeContact{Reason: op.cmd.Reason, Who: op.who, ReplyTo: r.self, Op: m.op})
		}
	}
	for i := range m.rows {
		op.reply.Matched++
		op.awaited++
		r.touchFound(m.look, m.rows[i], &excludeContact{Reason: op.cmd.Reason, Who: op.who, ReplyTo: r.self, Op: m.op})
	}
	op.found = true
	r.finishExclude(m.op)
}

func (r *run) excludeDone(m *excludeDone) {
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

// --- trigger -----------------------------------------------------------------

type (
	trigger      struct{ cmd campaign.Trigger }
	triggerFound struct {
		look    look
		cmd     campaign.Trigger
		replyTo *actor.PID
		row     contact.Contact
		ok      bool
		err     error
		// staged: there is no such contact, but a row of the import that was
		// being activated when the database was asked.
		importing engine.ImportID
		staged    bool
	}
)

// trigger adds one contact and dials or queues it. Trigger runs no preflight.
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
	if r.excluded.refuses(m.cmd.Number, m.cmd.Variables, r.m.C.Settings.StickyExclusion) {
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
	if l := r.byNumber[m.cmd.Number]; l != nil {
		r.touch(l.id, &triggerContact{Trigger: &triggerContext{cmd: m.cmd, replyTo: sender}})
		return
	}
	r.triggering[m.cmd.Number] = struct{}{}
	d, self, id, cmd, now := r.d, r.self, r.id, m.cmd, r.now
	importing, l := r.activating(), r.beginLook()
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		f := &triggerFound{look: l, cmd: cmd, replyTo: sender, importing: importing}
		// Three questions at once: who triggers waits for one answer, not for three.
		var all sync.WaitGroup
		var suppressed map[engine.PhoneNumber]journal.Suppression
		var errSuppressed, errAbandons error
		all.Go(func() { suppressed, errSuppressed = d.store.Suppressed(ctx, cmd.Number) })
		all.Go(func() { errAbandons = d.lookForAbandons(ctx, []contact.Contact{{Number: cmd.Number}}, now) })
		f.row, f.ok, f.err = d.store.ContactByNumber(ctx, id, cmd.Number)
		all.Wait()
		if len(suppressed) > 0 {
			f.err = journal.ErrSuppressed
		} else {
			f.err = errors.Join(f.err, errSuppressed, errAbandons)
		}
		if f.err == nil && !f.ok && importing != "" {
			f.staged, f.err = d.store.StagedNumber(ctx, importing, cmd.Number)
		}
		d.root.Send(self, f)
	}()
}

func (r *run) notRunning() error {
	return engine.Conflict("campaign_not_running", "a trigger needs a running or paused campaign; this one is "+string(r.m.C.State))
}

// errContactExcluded refuses to add somebody who was excluded.
var errContactExcluded = engine.Conflict("contact_excluded", "the contact is excluded from this campaign")

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
	if r.past(m.cmd.Deadline, m.replyTo) {
		return
	}
	if r.m.C.State != campaign.Running && r.m.C.State != campaign.Paused { // ended while the database was asked
		reply(r.d, m.replyTo, nil, r.notRunning())
		return
	}
	if r.excluded.refuses(m.cmd.Number, m.cmd.Variables, r.m.C.Settings.StickyExclusion) {
		reply(r.d, m.replyTo, nil, errContactExcluded) // while the database was asked
		return
	}
	t := &triggerContext{cmd: m.cmd, replyTo: m.replyTo}
	if m.ok {
		if m.row.State == contact.Excluded {
			r.liftAll([]campaign.NewContact{{Number: m.row.Number}})
		}
		r.touchFound(m.look, m.row, &triggerContact{Trigger: t})
		return
	}
	if l := r.byNumber[m.cmd.Number]; l != nil { // came up while the database was asked
		r.touch(l.id, &triggerContact{Trigger: t})
		return
	}
	switch {
	case m.importing != r.activating(): // begun or ended while the database was asked
		r.trigger(&trigger{m.cmd}, m.replyTo)
		return
	case m.staged:
		r.parkNow(&trigger{m.cmd}, m.replyTo)
		return
	}
	r.liftAll([]campaign.NewContact{{Number: m.cmd.Number}})
	row := r.newContact(&m.cmd)
	r.triggering[row.Number] = struct{}{}
	r.triggers = append(r.triggers, &pendingTrigger{row: row, ctx: t})
	if r.m.C.State == campaign.Paused {
		r.settleTriggers(string(engine.ConstraintPaused))
	}
}

// queueTrigger writes a fresh contact that is not dialled now; contact,
// idempotency key and response commit together.
func (r *run) queueTrigger(t *pendingTrigger) {
	row := t.row
	if r.over() { // ended while it was being reserved for
		delete(r.triggering, row.Number)
		r.settled(row.Number)
		reply(r.d, t.ctx.replyTo, nil, r.notRunning())
		return
	}
	policy := r.rules.policyFor(row.Number)
	if at, ok := policy.Clip(r.now); ok {
		row.DueAt = &at
	}
	rep := campaign.TriggerReply{Status: "queued", ContactID: row.ID, CampaignID: r.id, NextEligibleAt: row.DueAt, Reason: t.ctx.reason}
	f := row.Facts()
	w := journal.Write{Contacts: []contact.Contact{row}, Events: []journal.Event{{At: r.now, Type: journal.ContactTriggered, Version: 1,
		Contact: row.ID, Data: journal.Data{After: &f, Reason: t.ctx.reason}}}}
	if t.ctx.cmd.Idempotency.Present() {
		w.Reply = storedReply(t.ctx.cmd.Idempotency, 200, rep, r.now)
	}
	r.sequence(&w)
	to, d := t.ctx.replyTo, r.d
	pid := d.root.Spawn(d.props(func() actor.Actor { return &replyActor{d: d, to: to, value: rep} }))
	d.root.Send(d.writerFor(string(r.id)), &persist{Write: w, ReplyTo: pid, Run: r.self})
	r.afterWrites(func() {
		delete(r.triggering, row.Number)
		r.settled(row.Number)
	})
	r.expect(*row.DueAt)
}

// replyActor answers a request once its write is durable or refused.
type replyActor struct {
	d     *deps
	to    *actor.PID
	value any
}

func (a *replyActor) Receive(ctx actor.Context) {
	if m, ok := ctx.Message().(*persisted); ok && !m.Spooled {
		reply(a.d, a.to, a.value, m.Err)
		ctx.Stop(ctx.Self())
	}
}
