package trunk

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/cluster/link"
	"dialler/actors/lease"
	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/ownership"
	"dialler/engine/quota"
	"dialler/engine/trunk"
)

// This file is for several nodes that use one trunk: one node keeps the count of its calls per
// second and channels. Each node judges its health by its own calls.

// answered is the keeper's answer to a reservation.
type answered struct {
	op    *reservation
	legs  []engine.LegID
	grant trunkGrant
	ok    bool // false if no keeper has answered
	asked engine.BootTime
}

// passOn passes a message about one trunk to its actor.
func (t *trunks) passOn(ctx actor.Context, of ownership.Identity, m any) {
	if pid := t.byID[engine.TrunkID(of.ID)]; pid != nil {
		ctx.Send(pid, m)
	}
}

func (t *trunks) counted(ctx actor.Context, m *lease.Counted) {
	for of := range m.Of {
		t.passOn(ctx, of, m)
	}
	t.d.Reply(ctx.Sender(), struct{}{}, nil) // later messages come after it
}

func (a *trunkActor) identity() ownership.Identity { return quota.Trunk(a.t.Settings().ID) }

// askKeeper passes a reservation on to the node that keeps the count.
func (a *trunkActor) askKeeper(ctx actor.Context, op *reservation) {
	if ok, c, at := a.t.Allowed(a.now); !ok {
		op.Refused(a.t.Settings().ID, c, at, 0)
		ctx.Send(a.parent, op)
		return
	}
	var legs []engine.LegID
	for i, leg := range op.Legs {
		if op.Wants(i, a.t.Settings().ID) && (len(legs) == 0 || !a.t.Trying()) {
			legs = append(legs, leg)
		}
	}
	d, self := a.d, ctx.Self()
	undo := trunkNotice{legs: legs, over: true}
	question := link.Pack(func(w *link.Wire) { legsOf(w, &legs) })
	d.Shared.Ask(a.identity(), question, link.Pack(undo.fields), func(b []byte, asked engine.BootTime, err error) {
		m := &answered{op: op, legs: legs, asked: asked}
		if err == nil {
			m.grant, m.ok = readTrunkGrant(b, len(legs))
		}
		d.Root.Send(self, m)
	})
}

func (a *trunkActor) answered(ctx actor.Context, m *answered) {
	op := m.op
	if !m.ok {
		op.Refused(a.t.Settings().ID, engine.ConstraintKeeperAway, a.d.Clock.Now().Add(quota.RetryAfter), 0)
		ctx.Send(a.parent, op)
		return
	}
	s, k, boot := a.t.Settings(), 0, a.d.Clock.Boot()
	refused, room := false, 0
	for i, leg := range op.Legs {
		if k == len(m.legs) || leg != m.legs[k] {
			continue
		}
		switch wait := m.grant.wait[k]; {
		case m.grant.got[k]:
			a.t.Granted(leg)
			op.Trunks[i], op.Media[i], op.Validity[i] = s.ID, trunk.Profile(&s), call.Validity{By: quota.UseBy(m.asked)}
			if wait > 0 { // since the answer was sent
				op.Validity[i].From = boot.Add(wait)
			}
		case wait > 0:
			refused = true
			room++
		default:
			refused = true
		}
		k++
	}
	if refused {
		op.Refused(s.ID, m.grant.constraint, m.grant.retryAt, room)
	}
	op.answer(ctx, a.parent)
}

// tellKeeper tells the keeper of the count how a leg went.
func (a *trunkActor) tellKeeper(m *call.TrunkEvent) {
	n := trunkNotice{legs: []engine.LegID{m.Leg}, over: m.Over, sent: m.Sent}
	if m.Class != nil && m.Class.Throttle {
		n.throttled, n.after = true, m.Class.TrunkRetryAfter
	}
	if a.d.Shared != nil && (n.over || n.throttled || n.sent) && !a.d.Shared.Mine(a.identity()) {
		a.d.Shared.Owe(a.identity(), link.Pack(n.fields))
	}
}

// serve decides another node's reservation.
func (a *trunkActor) serve(m *lease.Served) {
	var legs []engine.LegID
	if !link.Unpack(m.Body, func(w *link.Wire) { legsOf(w, &legs) }) || !a.d.Shared.Mine(m.Of) {
		return
	}
	g := trunkGrant{got: make([]bool, len(legs)), wait: make([]time.Duration, len(legs))}
	for i, leg := range legs {
		before := a.t.Held()
		if g.got[i], g.constraint, g.retryAt = a.t.Admit(a.now, leg, lease.TTL,
			quota.Unused(ownership.Trunk)); !g.got[i] {
			if g.constraint == engine.ConstraintTrunkCPS {
				for k, n := i, min(len(legs), i+a.t.Short(a.now)); k < n; k++ {
					g.wait[k] = max(1, g.retryAt.Sub(a.now))
				}
			}
			break
		}
		g.wait[i] = max(0, a.t.From(leg).Sub(a.now))
		a.d.Stats.Leases.Add(int64(a.t.Held() - before))
	}
	if !slices.Contains(g.got, false) {
		a.t.Enough()
	}
	m.Answer(link.Pack(g.fields))
}

// undone takes back what another node returns.
func (a *trunkActor) undone(m *lease.Returned) {
	var n trunkNotice
	if !link.Unpack(m.Body, n.fields) {
		return
	}
	before := a.t.Held()
	for _, leg := range n.legs {
		if n.throttled {
			a.t.Throttled(a.now, leg, n.after)
		}
		if n.sent {
			a.t.Sent(a.now, leg)
		}
		if n.over {
			a.t.Release(a.now, leg)
		}
	}
	a.d.Stats.Leases.Add(int64(a.t.Held() - before))
}

// counted restarts the book, or compares it with the database.
func (a *trunkActor) counted(m *lease.Counted) {
	before, open := a.t.Held(), m.Use.Legs[a.t.Settings().ID]
	if m.Anew {
		a.t.Recount(a.now)
		for leg := range open {
			a.t.Adopt(a.now, leg, lease.TTL)
		}
		a.lost = quota.Strays[engine.LegID]{}
		a.lost.Look(m.Now, a.t.Legs(), open)
	} else {
		drop, add := a.lost.Look(m.Now, a.t.Legs(), open)
		for _, leg := range drop {
			a.t.Release(a.now, leg)
		}
		for _, leg := range add {
			a.t.Adopt(a.now, leg, lease.TTL)
		}
		if n := len(drop) + len(add); n > 0 {
			a.d.Log.Info().Str("trunk", string(a.t.Settings().ID)).Int("ended", len(drop)).Int("live", len(add)).
				Msg("corrected the count of a trunk's channels from the database")
		}
	}
	a.d.Stats.Leases.Add(int64(a.t.Held() - before))
}

// dropped handles that another node keeps the count from now on.
func (a *trunkActor) dropped() {
	a.d.Stats.Leases.Add(-int64(a.t.Held()))
	a.t.Recount(a.now)
}
