package trunk

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/lease"
	"dialler/engine"
	"dialler/engine/call"
	leases "dialler/engine/lease"
	"dialler/engine/quota"
	"dialler/engine/trunk"
)

// trunkActor owns one trunk's calls per second and channels.
type trunkActor struct {
	d      *Deps
	t      *trunk.Trunk
	parent *actor.PID
	now    time.Time
	strays leases.Strays[engine.LegID]
	lost   quota.Strays[engine.LegID] // per the database, if several nodes use the trunk
	shown  trunk.Health               // last counted and told
}

// expire triggers the lease check.
type expire struct{}

func (a *trunkActor) Receive(ctx actor.Context) {
	a.now = a.d.Clock.Now()
	a.receive(ctx)
	a.show(ctx)
}

// show tells of a change of health, and maintains the number of trunks that are down. A trunk on
// trial after a pause counts as down until the trial succeeds; one that is unproven does not.
func (a *trunkActor) show(ctx actor.Context) {
	h := a.t.Health(a.now)
	if h == a.shown {
		return
	}
	was, is := down(a.shown), down(h)
	if a.shown = h; was != is {
		a.d.Stats.Down.Add(map[bool]int64{true: 1, false: -1}[is])
	}
	a.tell(ctx)
}

func down(h trunk.Health) bool {
	switch h {
	case trunk.Down, trunk.Broken, trunk.Held, trunk.Trying:
		return true
	case "", trunk.Up, trunk.Unproven, trunk.Off:
	}
	return false
}

func (a *trunkActor) receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		a.tell(ctx)
		a.d.After(a.d.Reconcile, ctx.Self(), &expire{})
	case *reservation:
		if lease.Mine(a.d.Shared, a.identity()) {
			a.grant(ctx, m)
		} else {
			a.askKeeper(ctx, m)
		}
	case *answered:
		a.answered(ctx, m)
	case *lease.Served:
		a.serve(m)
	case *lease.Returned:
		a.undone(m)
	case *lease.Counted:
		a.counted(m)
	case *lease.Dropped:
		a.dropped()
	case *call.TrunkEvent:
		a.tellKeeper(m)
		before := a.t.Held()
		m.Tell(a.t, a.now)
		a.d.Stats.Leases.Add(int64(a.t.Held() - before))
		if m.Class != nil {
			a.tell(ctx)
		}
	case *Status:
		a.d.Reply(ctx.Sender(), a.t.Status(a.now), nil)
	case *engine.TrunkHealth:
		a.t.Heard(m.Life)
	case *engine.TrunkSettings:
		a.t.Configure(*m)
		a.tell(ctx)
	case *expire:
		if gone := a.t.Expire(a.now); len(gone) > 0 {
			a.d.Stats.Leases.Add(-int64(len(gone)))
		}
		for _, leg := range a.straying() {
			a.t.Release(a.now, leg)
			a.d.Stats.Leases.Add(-1)
			a.d.Log.Warn().Str("trunk", string(a.t.Settings().ID)).Str("leg", string(leg)).
				Msg("reclaimed a channel that was not released")
		}
		a.d.After(a.d.Reconcile, ctx.Self(), m)
	}
}

// straying returns the legs whose channels must be taken back. If several nodes use the trunk, the
// database reports them (counted).
func (a *trunkActor) straying() []engine.LegID {
	if a.d.Shared != nil {
		return nil
	}
	return a.strays.Find(a.now, a.t.Legs(), a.d.Owned)
}

func (a *trunkActor) tell(ctx actor.Context) {
	ctx.Send(a.parent, &state{a.t.Candidate(a.now)})
}

func (a *trunkActor) grant(ctx actor.Context, op *reservation) {
	before := a.t.Held()
	op.Ask(a.t, a.now, a.d.Clock.Boot(), lease.TTL)
	a.d.Stats.Leases.Add(int64(a.t.Held() - before))
	op.answer(ctx, a.parent)
}
