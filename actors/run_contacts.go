package actors

import (
	"context"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/contact"
)

type (
	// spawnContact asks the contacts supervisor for a contact actor.
	spawnContact struct {
		Name string
		Seed *contactSeed
	}
	contactFetched struct {
		ID  engine.ContactID
		Row contact.Contact
		OK  bool
		Err error
	}
)

// touch gives a message to a contact, whose actor is brought up if it is at
// rest: from the look-ahead if it is there, else from the database. A run without a
// campaign has no contacts.
func (r *run) touch(id engine.ContactID, msg any) {
	if err := r.missing(); err != nil {
		r.refuse(msg, err)
		return
	}
	if (r.storing || r.sweeping != nil) && r.lines[id] == nil && r.loads[id] == nil {
		r.heldBack = append(r.heldBack, heldMessage{id, msg})
		return
	}
	if l := r.lines[id]; l != nil {
		r.send(l, msg)
		return
	}
	if row, ok := r.queue.Take(id); ok {
		r.spawn(row, nil, []any{msg})
		return
	}
	if waiting, loading := r.loads[id]; loading {
		r.loads[id] = append(waiting, msg)
		return
	}
	r.loads[id] = []any{msg}
	r.fetch(id)
}

// look is a question about contacts that the tables are asked. When its answer
// comes a contact may have been called and be at rest again: the row in the answer
// is of before then.
type look uint64

func (r *run) beginLook() look {
	l := look(r.d.looks.Add(1))
	r.looks[l] = struct{}{}
	return l
}

func (r *run) endLook(l look) {
	delete(r.looks, l)
	if len(r.looks) == 0 {
		clear(r.departed)
	}
}

// touchFound is touch for a contact whose row a look has found; one that may be of
// before is read again.
func (r *run) touchFound(l look, row contact.Contact, msg any) {
	_, mine := r.looks[l] // not of a run that has crashed since
	if last, gone := r.departed[row.ID]; !mine || gone && last >= l {
		r.touch(row.ID, msg)
		return
	}
	r.touchRow(row, msg)
}

// touchRow is touch for a contact whose stored row is at hand, as it is now.
func (r *run) touchRow(row contact.Contact, msg any) {
	if r.storing || r.sweeping != nil || r.over() || r.lines[row.ID] != nil || r.loads[row.ID] != nil || r.queue.Has(row.ID) {
		r.touch(row.ID, msg)
		return
	}
	r.spawn(row, nil, []any{msg})
}

func (r *run) fetch(id engine.ContactID) {
	d, self := r.d, r.self
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		row, ok, err := d.store.ContactByID(ctx, id)
		d.root.Send(self, &contactFetched{ID: id, Row: row, OK: ok, Err: err})
	}()
}

func (r *run) contactFetched(m *contactFetched) {
	msgs := r.loads[m.ID]
	if m.Err != nil {
		// The row is owed to whoever waits; try again until the database answers.
		id := m.ID
		d, self := r.d, r.self
		time.AfterFunc(time.Second, func() {
			ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
			defer cancel()
			row, ok, err := d.store.ContactByID(ctx, id)
			d.root.Send(self, &contactFetched{ID: id, Row: row, OK: ok, Err: err})
		})
		return
	}
	delete(r.loads, m.ID)
	err := r.missing() // it may have left meanwhile
	if err == nil && !m.OK {
		err = engine.NotFound("contact_not_found", "the contact does not exist any more")
	}
	if err != nil {
		for _, msg := range msgs {
			r.refuse(msg, err)
		}
		return
	}
	r.spawn(m.Row, nil, msgs)
}

func (r *run) newLine(id engine.ContactID, n engine.PhoneNumber) *line {
	l := &line{id: id, number: n, phase: attempt.PhaseOver, accepted: map[int]struct{}{}}
	r.lines[id], r.byNumber[n] = l, l
	r.phases[phaseIndex(attempt.PhaseOver)]++
	return l
}

// removeLine forgets a line whose actor has stopped.
func (r *run) removeLine(l *line) {
	r.dropLine(l)
	r.phases[phaseIndex(attempt.PhaseOver)]--
	delete(r.lines, l.id)
	if len(r.looks) > 0 {
		r.departed[l.id] = look(r.d.looks.Load())
	}
	if r.byNumber[l.number] == l {
		delete(r.byNumber, l.number)
	}
	r.settled(l.number)
	if len(r.lines) == 0 {
		r.nowAtRest()
	}
}

func (r *run) nowAtRest() {
	if f := r.atRest; f != nil {
		r.atRest = nil
		f()
	}
}

// heldMessage waits until the contacts are prepared for the run.
type heldMessage struct {
	contact engine.ContactID
	msg     any
}

// restPatience is how long whenAtRest waits for actors that watch the legs of a
// lost call: they do not change their contact any more.
const restPatience = 2 * time.Second

type restLate struct{}

// whenAtRest calls f once no contact's actor lives; those that only wait for a
// result are sent to rest.
func (r *run) whenAtRest(f func()) {
	if len(r.lines) == 0 {
		f()
		return
	}
	r.atRest = f
	r.d.after(restPatience, r.self, &restLate{})
	for _, l := range r.lines {
		r.send(l, &call.Rest{})
	}
}

// refuse answers a message that will not reach a contact.
func (r *run) refuse(msg any, err error) {
	switch m := msg.(type) {
	case *call.StoreResult:
		reply(r.d, r.d.requester(m.Request), nil, err)
	case *call.Keys:
		reply(r.d, r.d.requester(m.Request), nil, err)
	case *call.Transfer:
		reply(r.d, r.d.requester(m.Request), nil, err)
	case *call.Reopen:
		reply(r.d, r.d.requester(m.Trigger.Request), nil, err)
	case *call.Exclude:
		r.excludeDone(&call.Excluded{Op: m.Op})
	case *call.End: // 0: nobody waits
		r.excludeDone(&call.Excluded{Op: m.Op})
	case *call.Operate:
		reply(r.d, r.d.requester(m.Request), nil, err)
	case *call.Readmit:
		r.liftDone(&call.Lifted{Op: m.Op})
	}
}

// spawn brings a contact actor up with its first messages.
func (r *run) spawn(row contact.Contact, lost *attempt.Attempt, first []any) *line {
	l := r.newLine(row.ID, row.Number)
	if r.refilling {
		r.touched[row.ID] = struct{}{}
	}
	if r.round != nil {
		if r.round.touched == nil {
			r.round.touched = map[engine.ContactID]struct{}{}
		}
		r.round.touched[row.ID] = struct{}{}
	}
	name := "contact-" + string(row.ID)
	seed := &contactSeed{run: r.self, pool: r.pool, row: row, rules: r.rules, recover: lost, first: first}
	r.d.root.Send(r.contacts, &spawnContact{Name: name, Seed: seed})
	return l
}

func (r *run) send(l *line, msg any) {
	if l.pid == nil || l.stopping {
		l.buffer = append(l.buffer, msg)
		return
	}
	r.d.root.Send(l.pid, msg)
}

func (r *run) flush(l *line) {
	buffer := l.buffer
	l.buffer = nil
	for _, msg := range buffer {
		r.send(l, msg)
	}
}

func (r *run) contactUp(m *call.Up, pid *actor.PID) {
	if l := r.lines[m.Contact]; l != nil {
		l.pid = pid
		r.flush(l)
	}
}

// contactIdle: the contact has nothing to do; unless something is on its way
// to it, it is asked to stop. Until it answers, messages for it wait.
func (r *run) contactIdle(m *call.Idle) {
	l := r.lines[m.Contact]
	if l == nil || l.stopping || l.pid == nil || len(l.buffer) > 0 {
		return
	}
	l.stopping = true
	r.d.root.Send(l.pid, &call.Stop{})
}

func (r *run) contactNotIdle(m *call.NotIdle) {
	if l := r.lines[m.Contact]; l != nil {
		l.stopping = false
		r.flush(l)
	}
}

// lookSoon is how soon the tables are looked at for what a contact leaves behind
// that waits for nothing.
const lookSoon = 500 * time.Millisecond

// contactStopped: the contact is a row again; what came for it meanwhile
// brings it up anew.
func (r *run) contactStopped(m *call.Stopped) {
	l := r.lines[m.Row.ID]
	if l == nil {
		return
	}
	r.removeLine(l)
	if r.refilling {
		r.touched[m.Row.ID] = struct{}{}
	}
	if r.storing {
		for _, msg := range l.buffer {
			r.touch(m.Row.ID, msg)
		}
		return
	}
	if len(l.buffer) > 0 {
		r.spawn(m.Row, nil, l.buffer)
		return
	}
	switch due := m.Row.DueAt; {
	case due == nil && len(r.lines) == 0:
		r.lookAgain() // nobody may be open any more
	case due == nil:
		r.expect(r.now.Add(lookSoon))
	case !due.After(r.now) && m.Row.DueClass <= contact.DueTrigger && r.sweeping == nil && !r.over():
		r.queue.Push(m.Row) // before those of the look-ahead, which may be full
	default:
		r.expect(*due)
	}
}

// expect notes that a contact becomes due, so that the look-ahead is asked
// again then.
func (r *run) expect(due time.Time) {
	due = due.Round(0) // by the wall clock, also when that is stepped
	if r.refilling && (r.expected == nil || due.Before(*r.expected)) {
		r.expected = &due
	}
	if r.nextDue == nil || due.Before(*r.nextDue) {
		r.nextDue = &due
		r.setWake()
	}
}

func (r *run) setWake() {
	if r.wake != nil {
		r.wake()
		r.wake = nil
	}
	if r.nextDue != nil {
		r.wake = r.d.after(r.nextDue.Sub(r.now), r.self, &wakeUp{})
	}
}

// --- the contacts supervisor -------------------------------------------------

// contactsActor supervises the contact actors of one campaign: one that
// crashes is restarted alone.
type contactsActor struct {
	d *deps
}

func (c *contactsActor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *spawnContact:
		d, seed := c.d, m.Seed
		props := d.props(func() actor.Actor { return &contactActor{callShell: callShell{d: d}, seed: seed} })
		name := m.Name
		for i := 2; ; i++ {
			if _, err := ctx.SpawnNamed(props, name); err == nil {
				return
			}
			// The contact's last life has not quite stopped yet.
			name = m.Name + "." + strconv.Itoa(i)
		}
	case *crash:
		panic("fault injected")
	case *roster:
		children := ctx.Children()
		for _, pid := range children {
			ctx.Send(again(pid), &call.Report{})
		}
		ctx.Send(m.ReplyTo, &rosterCalled{of: m.of, PIDs: children})
	}
}
