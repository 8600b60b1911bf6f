package sim

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/fleet"
	"dialler/engine/lease"
	phone "dialler/engine/number"
	"dialler/engine/numberpool"
	"dialler/engine/promise"
	"dialler/engine/run"
	"dialler/engine/trunk"
)

// The owners of leases: trunks, numbers, seats. Each handles requests in the order of arrival, and
// answers some time later.

// own starts the lease owners of a process.
func (p *process) own() {
	w := p.w
	p.fleet = fleet.New(botID, w.seats, 0)
	p.answered = make([]bool, len(w.in.Trunks))
	for i := range w.in.Trunks {
		p.trunks = append(p.trunks, trunk.Resumed(w.in.Trunks[i].Settings, w.mono()))
		p.asked(i)
		p.options(i)
	}
	for _, s := range w.in.Numbers {
		slot := numberpool.NewSlot(s)
		for _, at := range w.calls[s.Number] {
			slot.Replay(w.in.Start.Add(at))
		}
		area, country := phone.Home(s.Number)
		p.slots = append(p.slots, slot)
		p.homes = append(p.homes, numberpool.Candidate{AreaKey: area, CountryKey: country})
	}
	p.strayLegs = make([]lease.Strays[engine.LegID], len(p.trunks))
	p.strays = make([]lease.Strays[engine.AttemptID], len(p.slots))
	p.expire()
}

// ownersTake is the longest time that an owner takes for a request.
const ownersTake = 3 * time.Millisecond

// lease delivers a request of a run or a contact to the owner.
func (p *process) lease(from receiver, effect any) {
	w := p.w
	through := &p.trunkLane
	var f func()
	switch e := effect.(type) {
	case run.ReserveTrunks:
		f = func() {
			got := run.ReservedTrunks(e.Round, p.acquire(call.NewBatch(e.Legs, e.Draws)))
			got.RetryAt = w.onWall(got.RetryAt)
			p.after(w.delay(ownersTake), from, got)
		}
	case run.ReleaseTrunk:
		f = func() { p.trunk(e.Trunk).Release(w.mono(), e.Leg) }
	case *call.ReserveTrunk:
		f = func() {
			got := p.acquire(call.NewReservation(e.Tried, e.Leg)).Of(e.Attempt)
			got.RetryAt = w.onWall(got.RetryAt)
			p.after(w.delay(ownersTake), from, got)
		}
	case *call.TrunkEvent:
		f = func() { e.Tell(p.trunk(e.Trunk), w.mono()) }
	case run.ReserveNumbers:
		through, f = &p.numberLane, func() { p.reserveNumbers(from.(*runner), e) } //nolint:forcetypeassert // only runs do
	case run.ReleaseNumber:
		through, f = &p.numberLane, func() { p.releaseNumber(e.Number, e.Attempt, e.End) }
	case *call.ReleaseNumber:
		through, f = &p.numberLane, func() { p.releaseNumber(e.Number, e.Attempt, e.End) }
	case run.DemandSeats:
		if e.Keep {
			from.(*runner).asked = e.Want //nolint:forcetypeassert // only runs do
		}
		through, f = &p.seatLane, func() { p.demandSeats(from.(*runner), e) } //nolint:forcetypeassert // only runs do
	}
	p.do(through.by(w.now, w.delay(ownersTake))-w.now, f)
}

func (p *process) trunk(id engine.TrunkID) *trunk.Trunk {
	i := slices.IndexFunc(p.trunks, func(t *trunk.Trunk) bool { return t.Settings().ID == id })
	return p.trunks[max(i, 0)]
}

// acquire tries one trunk after the other.
func (p *process) acquire(r *call.Reservation) *call.Reservation {
	w, now := p.w, p.w.mono()
	for slices.Contains(r.Trunks, "") {
		candidates := make([]trunk.Candidate, len(p.trunks))
		for i, t := range p.trunks {
			candidates[i] = t.Candidate(now)
		}
		id, ok := r.Next(candidates)
		if !ok {
			break
		}
		t := p.trunk(id)
		if r.Ask(t, now, w.bootTime(), channelTTL); t.Held() > t.Settings().ChannelCap {
			w.check.broke(nil, "%s has %d channels in use, its cap is %d", id, t.Held(), t.Settings().ChannelCap)
		}
	}
	return r
}

// options lets the keepalive detect the state of a trunk.
func (p *process) options(i int) {
	p.do(time.Second+p.w.delay(30*time.Second), func() { p.asked(i) })
}

// asked gives a trunk the answer to its OPTIONS: what never answered is not lost.
func (p *process) asked(i int) {
	switch up := p.w.down[i] == 0; {
	case up:
		p.answered[i] = true
		p.trunks[i].Heard(engine.TrunkAlive)
	case p.answered[i]:
		p.trunks[i].Heard(engine.TrunkLost)
	}
}

// --- numbers -----------------------------------------------------------------------------

func (p *process) reserveNumbers(r *runner, e run.ReserveNumbers) {
	w, now := p.w, p.w.mono()
	m := &run.NumbersReserved{Round: e.Round, Got: make([]run.NumberGrant, len(e.Want))}
	for i := range e.Want {
		want, got := &e.Want[i], &m.Got[i]
		got.Attempt = want.Attempt
		var candidates []numberpool.Candidate
		for k, slot := range p.slots {
			if slices.Contains(r.numbers, slot.Settings().Number) {
				candidates = append(candidates, slot.Candidate(now, p.homes[k].AreaKey, p.homes[k].CountryKey))
			}
		}
		wants := numberpool.Want{LocalMatch: r.local, Sticky: want.Sticky}
		if r.local {
			wants.AreaKey, wants.CountryKey = phone.Home(want.To)
		}
		k, refusal := numberpool.Choose(candidates, wants)
		if k >= 0 {
			var ok bool
			if refusal, ok = p.slot(candidates[k].Number).Acquire(now, want.Attempt, channelTTL); ok {
				got.From = candidates[k].Number
				w.check.hear(promise.Lent{Number: got.From, Attempt: want.Attempt})
				continue
			}
		}
		got.Constraint, got.RetryAt = engine.ConstraintNumberPool, w.onWall(refusal.NextAt)
	}
	p.after(w.delay(ownersTake), r, m)
}

func (p *process) slot(n engine.PhoneNumber) *numberpool.Slot {
	i := slices.IndexFunc(p.slots, func(s *numberpool.Slot) bool { return s.Settings().Number == n })
	return p.slots[max(i, 0)]
}

func (p *process) releaseNumber(n engine.PhoneNumber, id engine.AttemptID, end numberpool.End) {
	p.slot(n).Release(p.w.mono(), id, end)
}

// --- seats -------------------------------------------------------------------------------

func (p *process) demandSeats(r *runner, e run.DemandSeats) {
	now, h := p.w.mono(), fleet.Holder(r.c.id)
	m := &run.SeatsAllotted{Bot: e.Bot, N: e.N}
	g := p.fleet.Demand(now, h, e.Want, e.Weight, e.GiveUp, leaseTTL)
	m.Seats, m.Target = g.Granted, g.Target
	p.w.check.granted(r.c, m.Seats)
	p.after(p.w.delay(ownersTake), r, m)
	p.tellSeats(p.fleet.Over(now))
}

// tellSeats sends holders their allotments.
func (p *process) tellSeats(grants []fleet.Grant) {
	for _, g := range grants {
		p.w.check.grantedTo(g.Holder, g.Granted)
		c := p.w.byID[engine.CampaignID(g.Holder)]
		if c == nil {
			p.after(p.w.delay(ownersTake), p.callsIn, &fleet.Allotted{Bot: botID, Seats: g.Granted, Target: g.Target})
			continue
		}
		if r := p.runs[c.i]; r != nil {
			p.after(p.w.delay(ownersTake), r, &run.SeatsAllotted{Bot: botID, Seats: g.Granted, Target: g.Target})
		}
	}
}

// setSeats changes the bot's number of seats.
func (w *campaignWorld) setSeats(n int) {
	w.seats = n
	w.check.hear(promise.BotSeats{Seats: n})
	if w.process != nil {
		w.process.tellSeats(w.process.fleet.SetSeats(w.mono(), n))
	}
}

// expire drops expired allotments, and takes back leases without an owner.
func (p *process) expire() {
	p.again(leaseTTL/2, func() {
		now := p.w.mono()
		for _, h := range p.fleet.Expire(now) {
			p.w.check.grantedTo(h, 0)
		}
		for i, t := range p.trunks {
			for _, leg := range p.strayLegs[i].Find(now, t.Legs(), func(leg engine.LegID) bool {
				id, _, _ := leg.Attempt()
				return p.Owned(id)
			}) {
				t.Release(now, leg)
			}
		}
		for i, s := range p.slots {
			for _, id := range p.strays[i].Find(now, s.Attempts(), p.Owned) {
				s.Release(now, id, numberpool.End{NotDialled: true})
			}
		}
		p.expire()
	})
}
