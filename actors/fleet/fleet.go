package fleet

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/lease"
	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/fleet"
	"dialler/engine/quota"
	core "dialler/engine/run"
)

// Messages about seats.
type (
	// Demand says how many seats of a bot a holder wants in all; it renews the allotment.
	// run.SeatsAllotted answers, and is sent again when it changes.
	Demand struct {
		Holder fleet.Holder
		Bot    engine.BotID
		Want   int
		Weight int // of the holder relative to others; under 1 counts as 1
		GiveUp int // free seats that the holder gives up to others
		N      int // the demand's number, repeated in its answer
		// Epoch is the campaign's: a holder with a later one is on another node.
		Epoch   int64
		ReplyTo *actor.PID
	}
	// SeatsOf asks for the seats of a bot; SeatsLeft answers.
	SeatsOf   struct{ Bot engine.BotID }
	SeatsLeft struct {
		Seats, Free int
		Outage      *fleet.Outage
	}
	// Statuses asks for the state of all bots; a map of BotStatus answers.
	Statuses struct{}
)

type fleetTick struct{ of *fleetActor }

// fleetActor owns the seats of every bot.
type fleetActor struct {
	d       *Deps
	bots    map[engine.BotID]*fleet.Fleet
	holders map[fleet.Holder]*actor.PID
	known   *[]engine.Bot // as last configured; outlives a restart
	ends    map[engine.BotID]*botEnds

	// Where several nodes use the bots.
	demands map[heldFrom]demanded // the latest from this node's holders
	epochs  map[heldFrom]int64
	lost    map[engine.BotID]int // calls that no holder knows of
}

// New makes the actor that owns the seats. bots points to the configured bots, which the actor
// updates when it is told of changes.
func New(d *Deps, bots *[]engine.Bot) actor.Actor {
	return &fleetActor{d: d, bots: map[engine.BotID]*fleet.Fleet{}, holders: map[fleet.Holder]*actor.PID{}, known: bots,
		ends: map[engine.BotID]*botEnds{}, demands: map[heldFrom]demanded{}, epochs: map[heldFrom]int64{},
		lost: map[engine.BotID]int{}}
}

func (f *fleetActor) Receive(ctx actor.Context) {
	now := f.d.Clock.Now()
	switch m := ctx.Message().(type) {
	case *actor.Started:
		f.configure(ctx, *f.known, now)
		f.d.After(f.d.LeaseTTL/2, ctx.Self(), &fleetTick{f})
		if f.d.Shared != nil {
			f.renew(ctx, now)
		}
	case *core.BotsChanged:
		*f.known = m.Bots
		f.configure(ctx, m.Bots, now)
		f.askStrangers(ctx, now)
	case *Demand:
		f.demand(ctx, m, now)
	case *seatsAnswered:
		f.keeperAnswered(ctx, m)
	case *renewSeats:
		if m.of == f {
			f.renew(ctx, now)
		}
	case *lease.Served:
		f.serve(ctx, m, now)
	case *lease.Counted:
		f.counted(ctx, m, now)
	case *lease.Dropped:
		f.dropped(ctx, m)
	case *call.BotTried:
		f.tried(ctx, m, now)
	case *botAnswered:
		f.answered(ctx, m, now)
	case *askDue:
		if e := f.ends[m.Bot]; e != nil && e == m.of {
			f.judge(ctx, m.Bot, now)
		}
	case *Statuses:
		f.d.Reply(ctx.Sender(), f.statuses(), nil)
	case *fleetTick:
		if m.of != f {
			return // from before a crash
		}
		for _, b := range f.bots {
			b.Expire(now)
		}
		f.count()
		f.d.After(f.d.LeaseTTL/2, ctx.Self(), m)
	case *SeatsOf:
		f.d.Reply(ctx.Sender(), f.left(m.Bot), nil)
	}
}

// configure applies a new list of bots. An inactive or missing bot has no seats; calls that hold
// one go on, no new one gets one.
func (f *fleetActor) configure(ctx actor.Context, bots []engine.Bot, now time.Time) {
	seats := map[engine.BotID]int{}
	for _, b := range bots {
		if b.Active {
			seats[b.ID] = b.Seats
		}
		if f.bots[b.ID] == nil {
			f.bots[b.ID] = fleet.New(b.ID, seats[b.ID], 0)
		}
	}
	f.configureEnds(ctx.Self(), bots)
	for id := range f.bots {
		f.judge(ctx, id, now)
	}
	f.count()
}

func (f *fleetActor) demand(ctx actor.Context, m *Demand, now time.Time) {
	f.holders[m.Holder] = m.ReplyTo
	b := f.bots[m.Bot]
	if b == nil {
		ctx.Send(m.ReplyTo, &core.SeatsAllotted{Bot: m.Bot, N: m.N})
		return
	}
	if m.Want > 0 && f.asksFirst(ctx, m, now) {
		return
	}
	if f.d.Shared != nil {
		f.note(m, now)
		if !f.d.Shared.Mine(quota.Seats(m.Bot)) {
			f.askKeeper(ctx, m)
			return
		}
	}
	ctx.Send(m.ReplyTo, f.allot(b, m, now))
	// Holders with more than their share are told at once.
	for _, g := range b.Over(now) {
		f.tell(ctx, m.Bot, g)
	}
	f.count()
}

// allot has the fleet answer a demand.
func (f *fleetActor) allot(b *fleet.Fleet, m *Demand, now time.Time) *core.SeatsAllotted {
	g := b.Demand(now, m.Holder, m.Want, m.Weight, m.GiveUp, f.d.LeaseTTL)
	a := &core.SeatsAllotted{Bot: m.Bot, Seats: g.Granted, Target: g.Target, N: m.N}
	if m.Want > 0 {
		a.Outage = f.outage(m.Bot)
	}
	return a
}

func (f *fleetActor) tell(ctx actor.Context, bot engine.BotID, g fleet.Grant) {
	if pid := f.holders[g.Holder]; pid != nil {
		ctx.Send(pid, &core.SeatsAllotted{Bot: bot, Seats: g.Granted, Target: g.Target, Outage: f.outage(bot)})
	}
}

func (f *fleetActor) count() {
	n := 0
	for _, b := range f.bots {
		n += b.Granted()
	}
	f.d.Stats.SeatsHeld.Store(int64(n))
}

// left returns how many seats a bot has, and how many of them are free.
func (f *fleetActor) left(id engine.BotID) SeatsLeft {
	b := f.bots[id]
	if b == nil {
		b = fleet.New(id, 0, 0)
	}
	left := SeatsLeft{Seats: b.Seats(), Free: max(b.Free(), 0), Outage: f.outage(id)}
	if e := f.ends[id]; left.Outage != nil {
		left.Seats, left.Free = e.conf.Seats, e.conf.Seats // once the bot is back
	}
	return left
}
