package actors

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// What changes all contacts of a run: its end, for those that wait, and another
// Max Attempts. Those at rest are changed by one write, whose event says how many
// of each kind there were; those that have an actor do it themselves, since only
// it knows how they stand. Until the write is done nobody is brought up: the row
// might be the one from before.

// sweeping is such a write under way.
type sweeping struct {
	seq     int64 // of its event
	waiting []*actor.PID
}

type (
	// swept brings the event of the write, as it was stored.
	swept struct {
		seq, epoch int64
		event      journal.Event
		stored     bool
		err        error
	}
	lookForSwept struct{ seq int64 }
)

// over says whether the run has ended and its waiting contacts with it.
func (r *run) over() bool { return r.rules != nil && r.rules.Policy.ClosedAs != "" }

// tell gives an event of the run its place in the sequence, for a store that
// writes it.
func (r *run) tell(t journal.Type, at time.Time) journal.Event {
	r.m.C.Seq++
	return journal.Event{Campaign: r.id, Seq: r.m.C.Seq, Run: r.m.C.Run, At: at, Type: t, Version: 1}
}

// sweep prepares such a write; the contacts that are up, or on their way, are
// left out of it.
func (r *run) sweep() journal.Sweep {
	s := journal.Sweep{At: r.now}
	for id := range r.lines {
		s.Except = append(s.Except, id)
	}
	for id := range r.loads {
		s.Except = append(s.Except, id)
	}
	r.dropLookAhead()
	return s
}

// closeBatch is how many contacts are closed by one write: between two of them
// the answers of calls that still live are stored.
const closeBatch = 5000

func (r *run) closeWaiting(as contact.State) *journal.Bulk {
	b := &journal.Bulk{To: as, Sweep: r.sweep()}
	b.Limit = closeBatch
	return b
}

// endContacts asks the contacts that are up to close themselves.
func (r *run) endContacts(as contact.State) {
	kind := contact.RunStopped
	if as == contact.WindowClosed {
		kind = contact.WindowEnded
	}
	for _, l := range r.lines {
		r.send(l, &call.RunEnded{Kind: kind})
	}
	for id := range r.loads {
		r.loads[id] = append(r.loads[id], &call.RunEnded{Kind: kind})
	}
}

// follow waits for the write that was sent.
func (r *run) follow(s *journal.Sweep) {
	if r.sweeping == nil {
		r.sweeping = &sweeping{}
	}
	seq := s.Event.Seq
	r.sweeping.seq = seq
	r.afterWrites(func() { r.lookForSwept(seq) })
}

// closeAgain closes contacts that came into the run while it was ended.
func (r *run) closeAgain() {
	as := r.rules.Policy.ClosedAs
	w := journal.Write{Bulk: r.closeWaiting(as)}
	r.write(w)
	r.endContacts(as)
	r.follow(&w.Bulk.Sweep)
}

func (r *run) lookForSwept(seq int64) {
	d, self, id, epoch := r.d, r.self, r.id, r.m.C.Epoch
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		m := &swept{seq: seq, epoch: epoch}
		m.event, m.stored, m.err = d.store.EventAt(ctx, id, seq)
		d.root.Send(self, m)
	}()
}

// swept counts what the write did. While the database is away it is asked
// again; a write that it refused was another owner's to make.
func (r *run) swept(m *swept) {
	switch {
	case r.tally == nil, m.epoch != r.m.C.Epoch:
		return // counted by what this life loaded
	case m.err != nil:
		r.d.after(time.Second, r.self, &lookForSwept{m.seq})
		return
	case m.stored && m.event.Run == r.m.C.Run:
		r.tally.Apply(&m.event)
	}
	c := r.sweeping
	if c == nil || c.seq != m.seq {
		return // another one is under way
	}
	r.sweeping = nil
	more := m.stored && m.event.Type == journal.ContactsClosed && m.event.Run == r.m.C.Run && moved(&m.event) >= closeBatch && r.over()
	// Who was kept back meanwhile has an actor before the next batch, and is left
	// out of it.
	r.letGo(false)
	if more {
		r.closeAgain()
	}
	for _, to := range c.waiting {
		reply(r.d, to, r.detail(), nil)
	}
}

// moved counts the contacts of an event.
func moved(e *journal.Event) (n int) {
	for i := range e.Data.Moves {
		n += e.Data.Moves[i].Count
	}
	return n
}

// letGo gives the contacts what was kept for them while they were changed as a
// whole.
func (r *run) letGo(removed bool) {
	held := r.heldBack
	r.heldBack = nil
	for _, h := range held {
		if removed {
			r.refuse(h.msg, engine.NotFound("contact_not_found", "the contact does not exist any more"))
			continue
		}
		r.touch(h.contact, h.msg)
	}
}
