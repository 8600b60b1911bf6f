package actors

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/fleet"
	"dialler/engine/numberpool"
	"dialler/engine/trunk"
)

// Preflight asks everything that Start asks, and more, but starts nothing: its
// facts come from the tables and from those who own seats, trunks and numbers.

type (
	preflight      struct{}
	preflightReady struct {
		replyTo *actor.PID
		facts   campaign.PreflightFacts
		outlook campaign.Outlook
		bots    []engine.Bot
		seats   seatsLeft
		trunks  []trunk.Candidate
		err     error
	}
	// seatsAsked, trunksAsked and numberStates ask the owners.
	seatsOf struct{ Bot engine.BotID }
	// seatsLeft answers seatsOf.
	seatsLeft struct {
		Seats, Free int
		Outage      *outage
	}
	trunksKnown struct{}
	// numberStates asks for the states of those of the numbers that are
	// configured or have been used.
	numberStates struct{ Numbers []engine.PhoneNumber }
	// numberBarred is a number's word that its strikes have quarantined it.
	numberBarred struct{ Number engine.PhoneNumber }
)

// Preflight says whether the campaign can be started and what is ahead of it.
func (t *Tree) Preflight(ctx context.Context, id engine.CampaignID) (campaign.Readiness, error) {
	return ask[campaign.Readiness](ctx, t.d, t.d.campaigns, t.askRun(id, &preflight{}))
}

// preflightFacts reads what decides whether a campaign may start.
func (d *deps) preflightFacts(ctx context.Context, id engine.CampaignID, run int, pool []engine.PhoneNumber) (f campaign.PreflightFacts, bots []engine.Bot, err error) {
	if bots, err = d.store.Bots(ctx); err != nil {
		return f, nil, err
	}
	trunks, err := d.store.Trunks(ctx)
	if err != nil {
		return f, nil, err
	}
	for _, t := range trunks {
		if t.Active {
			t = trunk.New(t).Settings() // defaults filled in
			f.Trunks, f.CPS, f.Channels = f.Trunks+1, f.CPS+t.CPSCap, f.Channels+t.ChannelCap
		}
	}
	if f.Numbers, err = ask[map[engine.PhoneNumber]numberpool.State](ctx, d, d.numbers, &numberStates{pool}); err != nil {
		return f, nil, err
	}
	f.DatabaseDown, f.Draining, f.Fenced = d.dbDown.Load(), d.draining.Load(), d.fenced()
	_, f.OpenContacts, err = d.store.NextDue(ctx, id, run)
	return f, bots, err
}

func (r *run) preflight(sender *actor.PID) {
	if !r.known(sender) {
		return
	}
	d, self, id, n, s := r.d, r.self, r.id, r.m.C.Run, r.m.C.Settings
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		m := &preflightReady{replyTo: sender}
		m.facts, m.bots, m.err = d.preflightFacts(ctx, id, n, s.Numbers)
		if m.err == nil {
			m.outlook, m.err = d.store.Outlook(ctx, id, n)
		}
		if m.err == nil {
			var groups []campaign.NumberGroup
			groups, m.err = d.store.WaitingNumbers(ctx, id, n)
			m.outlook.Bar(groups, func(to engine.PhoneNumber) error { return d.destinations.judge(to, first(s.Numbers)) })
		}
		if m.err == nil {
			m.seats, m.err = ask[seatsLeft](ctx, d, d.fleet, &seatsOf{s.Bot})
		}
		if m.err == nil {
			m.trunks, m.err = ask[[]trunk.Candidate](ctx, d, d.trunks, &trunksKnown{})
		}
		d.root.Send(self, m)
	}()
}

// first is a caller ID of the pool; the pool's numbers are taken to be of one
// country.
func first(pool []engine.PhoneNumber) engine.PhoneNumber {
	if len(pool) == 0 {
		return ""
	}
	return pool[0]
}

func (r *run) preflightReady(m *preflightReady) {
	if m.err != nil {
		reply(r.d, m.replyTo, nil, unavailable(m.err))
		return
	}
	r.setBot(m.bots)
	f := &m.facts
	f.BotKnown, f.BotActive = r.bot.ID != "", r.bot.Active
	f.Seats, f.FreeSeats = m.seats.Seats, m.seats.Free+r.seatCap()
	if m.seats.Outage != nil {
		f.BotOutage = m.seats.Outage.Reason
	}
	for _, t := range m.trunks {
		if t.Available || t.Constraint != engine.ConstraintTrunkHealth {
			f.TrunksUp++
		}
	}
	reply(r.d, m.replyTo, campaign.Ready(&r.m.C, *f, m.outlook, r.now), nil)
}

// left answers how many seats of a bot there are, and how many of them nobody
// holds.
func (f *fleetActor) left(id engine.BotID) seatsLeft {
	b := f.bots[id]
	if b == nil {
		b = fleet.New(id, 0, 0)
	}
	left := seatsLeft{Seats: b.Seats(), Free: b.Free(), Outage: f.outage(id)}
	if e := f.ends[id]; left.Outage != nil {
		left.Seats, left.Free = e.conf.Seats, e.conf.Seats // when it is back
	}
	return left
}

// last gives the last word of every trunk.
func (t *trunks) last() []trunk.Candidate {
	list := make([]trunk.Candidate, 0, len(t.set))
	for _, s := range t.set {
		if s.Active {
			list = append(list, t.known[s.ID])
		}
	}
	return list
}

// states gives the states of those of the numbers that are configured or
// barred.
func (n *numbers) states(of []engine.PhoneNumber) map[engine.PhoneNumber]numberpool.State {
	out := make(map[engine.PhoneNumber]numberpool.State, len(of))
	for _, no := range of {
		if s, ok := n.set[no]; ok {
			out[no] = numberpool.State(s.State)
		}
		if _, ok := n.barred[no]; ok {
			out[no] = numberpool.Quarantined
		}
	}
	return out
}
