package actors

import (
	"maps"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/numberpool"
	"dialler/engine/ownership"
	"dialler/engine/quota"
)

// This file is for several nodes that call from one number: one keeps its count.

// The question for a number names it and the attempt; numberLeased answers.

func numberQuestion(m *leaseNumber) []byte { return putText(putText(nil, m.Number), m.Attempt) }

func (l *numberLeased) bytes() []byte {
	b := putFlag(putFlag(nil, l.OK), l.C.Available)
	return putTime(putTime(putText(b, l.C.Refusal.Cap), l.C.Refusal.NextAt), l.C.UsedAt)
}

func (l *numberLeased) read(b []byte) (ok bool) {
	w := words{b: b}
	l.OK, l.C.Available = w.flag(), w.flag()
	l.C.Refusal.Cap = numberpool.Cap(w.text())
	l.C.Refusal.NextAt, l.C.UsedAt = w.time(), w.time()
	return !w.bad
}

// The notice is a releaseNumber.

func numberNotice(m *releaseNumber) []byte {
	b := putText(putText(nil, m.Number), m.Attempt)
	return putFlag(putFlag(putFlag(b, m.End.NotDialled), m.End.Strike), m.End.Answered)
}

func readNumberNotice(b []byte) (m *releaseNumber, ok bool) {
	w := words{b: b}
	m = &releaseNumber{Number: engine.PhoneNumber(w.text()), Attempt: engine.AttemptID(w.text())}
	m.End = numberpool.End{NotDialled: w.flag(), Strike: w.flag(), Answered: w.flag()}
	return m, !w.bad
}

// askKeeper passes a question on to the node that keeps the number's count.
func (n *numbers) askKeeper(m *leaseNumber) {
	d := n.d
	undo := numberNotice(&releaseNumber{Attempt: m.Attempt, Number: m.Number, End: numberpool.End{NotDialled: true}})
	d.keepers.Ask(quota.Shard(m.Number), numberQuestion(m), undo, func(b []byte, asked engine.BootTime, err error) {
		l := &numberLeased{Attempt: m.Attempt, Number: m.Number, UseBy: quota.UseBy(asked), C: numberpool.Candidate{Number: m.Number}}
		if err != nil || !l.read(b) {
			l.OK, l.C.Available = false, false
			l.C.Refusal = numberpool.Refusal{Cap: numberpool.CapAway, NextAt: d.keeperBack()}
		}
		d.root.Send(m.ReplyTo, l)
	})
}

// serve decides for another node.
func (n *numbers) serve(ctx actor.Context, m *served) {
	w := words{b: m.body}
	no, id := engine.PhoneNumber(w.text()), engine.AttemptID(w.text())
	if w.bad || quota.Shard(no) != m.of || !n.d.keepers.Mine(m.of) {
		return
	}
	ctx.Send(n.number(ctx, no), &leaseNumber{Attempt: id, Number: no, answer: m.answer})
}

// undone takes back what another node has given back. What is not held was given
// back before, or the count has been begun anew since.
func (n *numbers) undone(ctx actor.Context, m *undone) {
	r, ok := readNumberNotice(m.body)
	if !ok || quota.Shard(r.Number) != m.of {
		return
	}
	r.IfHeld = true
	ctx.Send(n.number(ctx, r.Number), r)
}

// shard tells all actors of a shard's numbers something.
func (n *numbers) shard(ctx actor.Context, of ownership.Identity, m any) {
	for no, pid := range n.byNo {
		if quota.Shard(no) == of {
			ctx.Send(pid, m)
		}
	}
}

// slotCounted brings a number what the database says: with slot its count is
// begun anew, else it is compared.
type slotCounted struct {
	slot *numberpool.Slot
	open map[engine.AttemptID]struct{}
	now  time.Time
}

func (n *numbers) counted(ctx actor.Context, m *counted) {
	here := func(no engine.PhoneNumber) bool { _, ok := m.of[quota.Shard(no)]; return ok }
	if m.anew {
		n.configure(ctx, m.list)
		maps.DeleteFunc(n.past, func(no engine.PhoneNumber, _ []engine.NumberDials) bool { return here(no) })
		maps.DeleteFunc(n.ends, func(no engine.PhoneNumber, _ []engine.NumberEnd) bool { return here(no) })
		for _, p := range m.past {
			if here(p.Number) {
				n.past[p.Number] = append(n.past[p.Number], p)
			}
		}
		for _, e := range m.ends {
			if here(e.Number) {
				n.ends[e.Number] = append(n.ends[e.Number], e)
			}
		}
	}
	// Those that have an actor, or calls.
	to := map[engine.PhoneNumber]struct{}{}
	for no := range n.byNo {
		to[no] = struct{}{}
	}
	for no := range m.use.attempts {
		to[no] = struct{}{}
	}
	for no := range to {
		if !here(no) {
			continue
		}
		c := &slotCounted{open: m.use.attempts[no], now: m.now}
		if m.anew {
			s, ok := n.set[no]
			if !ok {
				s = engine.NumberSettings{Number: no, State: string(numberpool.Active)}
			}
			c.slot = slotOf(s, n.past[no], n.ends[no])
		}
		ctx.Send(n.number(ctx, no), c)
	}
	reply(n.d, ctx.Sender(), struct{}{}, nil) // what follows comes after it
}

func (a *numberActor) straying(now time.Time) []engine.AttemptID {
	if a.d.keepers != nil { // the database says it (counted)
		return nil
	}
	return a.strays.find(now, a.slot.Attempts(), a.d.owners.owned)
}

func (a *numberActor) counted(now time.Time, m *slotCounted) {
	before := a.slot.Held()
	if m.slot != nil {
		a.slot, a.lost = m.slot, quota.Strays[engine.AttemptID]{}
		a.alarm = a.slot.Alarm()
		for id := range m.open {
			a.slot.Adopt(now, id, channelTTL)
		}
		a.lost.Look(m.now, a.slot.Attempts(), m.open)
	} else {
		drop, add := a.lost.Look(m.now, a.slot.Attempts(), m.open)
		for _, id := range drop {
			a.slot.Forget(id)
		}
		for _, id := range add {
			a.slot.Adopt(now, id, channelTTL)
		}
		if n := len(drop) + len(add); n > 0 {
			a.d.log.Info().Stringer("number", a.no).Int("ended", len(drop)).Int("live", len(add)).Msg("the count of a number's calls was corrected by the database")
		}
	}
	a.d.stats.SlotLeases.Add(int64(a.slot.Held() - before))
}

// dropped: another node keeps the count from now on.
func (a *numberActor) dropped() {
	a.d.stats.SlotLeases.Add(-int64(a.slot.Held()))
	for _, id := range a.slot.Attempts() {
		a.slot.Forget(id)
	}
}
