package number

import (
	"maps"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/cluster/link"
	"dialler/actors/lease"
	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/numberpool"
	"dialler/engine/ownership"
	"dialler/engine/quota"
)

// This file is for several nodes that call from one number: one node keeps its count.

// The question for a number names it and the attempt; leased answers.

func question(w *link.Wire, m *leaseOne) {
	link.Text(w, &m.Number)
	link.Text(w, &m.Attempt)
}

func (l *leased) fields(w *link.Wire) {
	w.Flag(&l.OK)
	w.Flag(&l.C.Available)
	link.Text(w, &l.C.Refusal.Cap)
	w.Date(&l.C.Refusal.NextAt)
	w.Date(&l.C.UsedAt)
}

// The notice is a call.ReleaseNumber.

func notice(w *link.Wire, m *call.ReleaseNumber) {
	link.Text(w, &m.Number)
	link.Text(w, &m.Attempt)
	w.Flag(&m.End.NotDialled)
	w.Flag(&m.End.Strike)
	w.Flag(&m.End.Answered)
}

// askKeeper passes a request on to the node that keeps the number's count.
func (n *numbers) askKeeper(m *leaseOne) {
	d := n.d
	back := call.ReleaseNumber{Attempt: m.Attempt, Number: m.Number, End: numberpool.End{NotDialled: true}}
	undo := link.Pack(func(w *link.Wire) { notice(w, &back) })
	asks := link.Pack(func(w *link.Wire) { question(w, m) })
	d.Shared.Ask(quota.Shard(m.Number), asks, undo, func(b []byte, asked engine.BootTime, err error) {
		l := &leased{Attempt: m.Attempt, Number: m.Number, UseBy: quota.UseBy(asked),
			C: numberpool.Candidate{Number: m.Number}}
		if err != nil || !link.Unpack(b, l.fields) {
			l.OK, l.C.Available = false, false
			l.C.Refusal = numberpool.Refusal{Cap: numberpool.CapAway, NextAt: d.Clock.Now().Add(quota.RetryAfter)}
		}
		d.Root.Send(m.ReplyTo, l)
	})
}

// serve decides another node's request.
func (n *numbers) serve(ctx actor.Context, m *lease.Served) {
	one := leaseOne{answer: m.Answer}
	whole := link.Unpack(m.Body, func(w *link.Wire) { question(w, &one) })
	if !whole || quota.Shard(one.Number) != m.Of || !n.d.Shared.Mine(m.Of) {
		return
	}
	ctx.Send(n.number(ctx, one.Number), &one)
}

// undone takes back a lease that another node returns. A lease that is not held was returned
// before, or the count has been restarted since.
func (n *numbers) undone(ctx actor.Context, m *lease.Returned) {
	r := &call.ReleaseNumber{}
	if !link.Unpack(m.Body, func(w *link.Wire) { notice(w, r) }) || quota.Shard(r.Number) != m.Of {
		return
	}
	r.IfHeld = true
	ctx.Send(n.number(ctx, r.Number), r)
}

// shard sends a message to all actors of a shard's numbers.
func (n *numbers) shard(ctx actor.Context, of ownership.Identity, m any) {
	for no, pid := range n.byNo {
		if quota.Shard(no) == of {
			ctx.Send(pid, m)
		}
	}
}

// Counted brings what the database knows of the numbers' calls and, with Anew, Known.
type Counted struct {
	*lease.Counted
	Known
}

// slotCounted brings a number's data from the database: with slot its count is restarted, otherwise
// compared.
type slotCounted struct {
	slot *numberpool.Slot
	open map[engine.AttemptID]struct{}
	now  time.Time
}

func (n *numbers) counted(ctx actor.Context, m *Counted) {
	here := func(no engine.PhoneNumber) bool { _, ok := m.Of[quota.Shard(no)]; return ok }
	if m.Anew {
		n.configure(ctx, m.List)
		maps.DeleteFunc(n.past, func(no engine.PhoneNumber, _ []engine.NumberDials) bool { return here(no) })
		maps.DeleteFunc(n.ends, func(no engine.PhoneNumber, _ []engine.NumberEnd) bool { return here(no) })
		for _, p := range m.Past {
			if here(p.Number) {
				n.past[p.Number] = append(n.past[p.Number], p)
			}
		}
		for _, e := range m.Ends {
			if here(e.Number) {
				n.ends[e.Number] = append(n.ends[e.Number], e)
			}
		}
	}
	// Numbers that have an actor, or calls.
	to := map[engine.PhoneNumber]struct{}{}
	for no := range n.byNo {
		to[no] = struct{}{}
	}
	for no := range m.Use.Attempts {
		to[no] = struct{}{}
	}
	for no := range to {
		if !here(no) {
			continue
		}
		c := &slotCounted{open: m.Use.Attempts[no], now: m.Now}
		if m.Anew {
			s, ok := n.set[no]
			if !ok {
				s = engine.NumberSettings{Number: no, State: string(numberpool.Active)}
			}
			c.slot = slotOf(s, n.past[no], n.ends[no])
		}
		ctx.Send(n.number(ctx, no), c)
	}
	n.d.Reply(ctx.Sender(), struct{}{}, nil) // later messages come after it
}

func (a *numberActor) straying(now time.Time) []engine.AttemptID {
	if a.d.Shared != nil { // the database reports them (counted)
		return nil
	}
	return a.strays.Find(now, a.slot.Attempts(), a.d.Owned)
}

func (a *numberActor) counted(now time.Time, m *slotCounted) {
	before := a.slot.Held()
	if m.slot != nil {
		a.slot, a.lost = m.slot, quota.Strays[engine.AttemptID]{}
		a.alarm = a.slot.Alarm()
		for id := range m.open {
			a.slot.Adopt(now, id, lease.TTL)
		}
		a.lost.Look(m.now, a.slot.Attempts(), m.open)
	} else {
		drop, add := a.lost.Look(m.now, a.slot.Attempts(), m.open)
		for _, id := range drop {
			a.slot.Forget(id)
		}
		for _, id := range add {
			a.slot.Adopt(now, id, lease.TTL)
		}
		if n := len(drop) + len(add); n > 0 {
			a.d.Log.Info().Stringer("number", a.no).Int("ended", len(drop)).Int("live", len(add)).
				Msg("corrected the count of a number's calls from the database")
		}
	}
	a.d.Stats.Leases.Add(int64(a.slot.Held() - before))
}

// dropped handles that another node keeps the count from now on.
func (a *numberActor) dropped() {
	a.d.Stats.Leases.Add(-int64(a.slot.Held()))
	for _, id := range a.slot.Attempts() {
		a.slot.Forget(id)
	}
}
