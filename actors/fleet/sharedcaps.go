package fleet

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/cluster/link"
	"dialler/actors/lease"
	"dialler/engine"
	"dialler/engine/fleet"
	"dialler/engine/quota"
	core "dialler/engine/run"
)

// This file is for several nodes that use one bot: one node keeps the count of its seats. Each node
// judges endpoints by its own calls and probes.

// heldFrom is a pair of a holder on this node and a bot.
type heldFrom struct {
	holder fleet.Holder
	bot    engine.BotID
}

// demanded is a holder's latest demand, and when it came.
type demanded struct {
	*Demand
	at      time.Time
	granted int  // by the last answer
	away    bool // no keeper has answered it
}

type (
	// seatsAnswered is the keeper's answer to a demand.
	seatsAnswered struct {
		of    heldFrom
		m     *Demand
		got   core.SeatsAllotted
		ok    bool // false if no keeper has answered
		asked engine.BootTime
	}
	renewSeats struct{ of *fleetActor }
)

// The question is a demand; SeatsAllotted answers.

func (m *Demand) fields(w *link.Wire) {
	link.Text(w, &m.Holder)
	link.Number(w, &m.Epoch)
	for _, v := range [...]*int{&m.Want, &m.Weight, &m.GiveUp, &m.N} {
		link.Number(w, v)
	}
}

func seats(w *link.Wire, m *core.SeatsAllotted) {
	link.Number(w, &m.Seats)
	link.Number(w, &m.Target)
	link.Number(w, &m.N)
	link.Optional(w, &m.Outage, func(o *fleet.Outage) {
		w.Date(&o.Since)
		link.Text(w, &o.Reason)
	})
	if m.Seats < 0 {
		w.Fail()
	}
}

func seatBytes(m *core.SeatsAllotted) []byte {
	return link.Pack(func(w *link.Wire) { seats(w, m) })
}

// askKeeper passes a demand on to the node that keeps the count. It is repeated
// until the holder wants none.
func (f *fleetActor) askKeeper(ctx actor.Context, m *Demand) {
	of := heldFrom{m.Holder, m.Bot}
	if m.Want <= 0 {
		delete(f.demands, of)
	}
	if m.Want > 0 && f.outage(m.Bot) != nil { // as seen by this node: no more than lines in flight rely on
		q := *m
		q.Want = min(q.Want, max(f.demands[of].granted-q.GiveUp, 0))
		m = &q
	}
	d, self := f.d, ctx.Self()
	d.Shared.Ask(quota.Seats(m.Bot), link.Pack(m.fields), nil, func(b []byte, asked engine.BootTime, err error) {
		a := &seatsAnswered{of: of, m: m, asked: asked}
		a.ok = err == nil && link.Unpack(b, func(w *link.Wire) { seats(w, &a.got) })
		d.Root.Send(self, a)
	})
}

func (f *fleetActor) keeperAnswered(ctx actor.Context, m *seatsAnswered) {
	if m.m.ReplyTo == nil {
		return
	}
	if !m.ok {
		if d, ok := f.demands[m.of]; ok {
			d.away = true
			f.demands[m.of] = d
		}
		ctx.Send(m.m.ReplyTo, &core.SeatsAllotted{Bot: m.of.bot, N: m.m.N, Away: true})
		return
	}
	a := m.got
	if d, ok := f.demands[m.of]; ok {
		d.granted = a.Seats
		f.demands[m.of] = d
	}
	a.Bot, a.N, a.Until = m.of.bot, m.m.N, quota.SeatsUntil(m.asked)
	if o := f.outage(m.of.bot); o != nil { // as seen by this node: lines in flight keep their seats
		a.Target, a.Outage = 0, o
	}
	ctx.Send(m.m.ReplyTo, &a)
}

// note stores a demand.
func (f *fleetActor) note(m *Demand, now time.Time) {
	if of := (heldFrom{m.Holder, m.Bot}); m.Want > 0 {
		f.demands[of] = demanded{Demand: m, at: now, granted: f.demands[of].granted}
	} else {
		delete(f.demands, of)
	}
}

// renew repeats demands whose count another node keeps, for holders that renew theirs only now and
// then.
func (f *fleetActor) renew(ctx actor.Context, now time.Time) {
	for of, m := range f.demands {
		if now.Sub(m.at) > f.d.LeaseTTL {
			delete(f.demands, of)
			continue
		}
		q := *m.Demand
		q.GiveUp = 0 // already given up once
		switch kept := lease.Mine(f.d.Shared, quota.Seats(of.bot)); {
		case !kept:
			f.askKeeper(ctx, &q)
		case m.away:
			f.demand(ctx, &q, now)
		}
	}
	f.d.After(quota.RenewSeats, ctx.Self(), &renewSeats{f})
}

// serve decides another node's demand.
func (f *fleetActor) serve(ctx actor.Context, s *lease.Served, now time.Time) {
	m := &Demand{}
	if !link.Unpack(s.Body, m.fields) || !f.d.Shared.Mine(s.Of) {
		return
	}
	m.Bot = engine.BotID(s.Of.ID)
	me := f.d.Shared.As()
	m.Holder = lease.HolderAt(m.Holder, s.From, me)
	of, b := heldFrom{m.Holder, m.Bot}, f.bots[m.Bot]
	switch {
	case b == nil:
		s.Answer(seatBytes(&core.SeatsAllotted{N: m.N}))
		return
	case m.Epoch < f.epochs[of]: // another node has the campaign by now
		s.Answer(seatBytes(&core.SeatsAllotted{N: m.N}))
		return
	case m.Epoch > f.epochs[of]:
		if f.epochs[of] != 0 {
			f.d.Shared.Recount() // its calls may go on at its former node
		}
		f.epochs[of] = m.Epoch
	}
	if s.From != me {
		delete(f.holders, m.Holder)
	}
	a := *f.allot(b, m, now)
	s.Answer(seatBytes(&a))
	for _, g := range b.Over(now) {
		f.tell(ctx, m.Bot, g)
	}
	f.count()
}

// counted restarts the books of bots, or compares them with the database.
func (f *fleetActor) counted(ctx actor.Context, m *lease.Counted, now time.Time) {
	for of := range m.Of {
		id := engine.BotID(of.ID)
		b := f.bots[id]
		if b == nil {
			continue
		}
		if m.Anew {
			b = fleet.New(id, b.Seats(), 0)
			f.bots[id] = b
		}
		f.lost[id] = m.Use.Lost[id]
		f.judge(ctx, id, now)
		for _, g := range b.Grants(now) {
			b.Adopt(now, g.Holder, m.Use.Seats[id][g.Holder], adoptFor)
		}
		for h, n := range m.Use.Seats[id] {
			b.Adopt(now, h, n, adoptFor)
		}
		for of, d := range f.demands {
			if m.Anew && of.bot == id { // it has asked another node up to now
				d.away = true
				f.demands[of] = d
			}
		}
	}
	f.count()
	f.d.Reply(ctx.Sender(), struct{}{}, nil)
}

// adoptFor is how long seats in use that only the database knows of are counted; meanwhile it is
// queried again.
const adoptFor = 2 * time.Minute

// dropped handles that another node keeps the count from now on: the holders here must ask it.
func (f *fleetActor) dropped(ctx actor.Context, m *lease.Dropped) {
	id := engine.BotID(m.Of.ID)
	b := f.bots[id]
	if b == nil {
		return
	}
	f.bots[id] = fleet.New(id, b.Seats(), 0)
	delete(f.lost, id)
	for of, d := range f.demands {
		if of.bot == id && d.ReplyTo != nil {
			ctx.Send(d.ReplyTo, &core.SeatsAllotted{Bot: id, N: d.N, Away: true})
		}
	}
	f.count()
}
