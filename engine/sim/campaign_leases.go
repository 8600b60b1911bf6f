package sim

import (
	"cmp"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/fleet"
	phone "dialler/engine/number"
	"dialler/engine/numberpool"
	"dialler/engine/run"
	"dialler/engine/trunk"
)

// The owners of leases: trunks, numbers, seats. Each takes what it is asked in the
// order in which it was asked, and answers some time later.

// own begins the owners of a process life.
func (p *process) own() {
	w := p.w
	p.fleet = fleet.New(botID, w.seats, 0)
	for i := range w.in.Trunks {
		p.trunks = append(p.trunks, trunk.Resumed(w.in.Trunks[i].Settings, w.mono()))
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
	p.expire()
}

// ownersTake is how long an owner needs at most for what it is asked.
const ownersTake = 3 * time.Millisecond

// lease brings what a run or a contact asks of an owner there.
func (p *process) lease(from receiver, effect any) {
	w := p.w
	through := &p.trunkLane
	var f func()
	switch e := effect.(type) {
	case run.ReserveTrunks:
		f = func() {
			got := p.acquire(e.Legs, nil)
			got.Round = e.Round
			p.after(w.delay(ownersTake), from, got)
		}
	case run.ReleaseTrunk:
		f = func() { p.trunk(e.Trunk).Release(w.mono(), e.Leg) }
	case *call.ReserveTrunk:
		f = func() {
			got := p.acquire([]engine.LegID{e.Leg}, e.Tried)
			p.after(w.delay(ownersTake), from, &call.TrunkReserved{Attempt: e.Attempt, Leg: e.Leg, Trunk: got.Trunks[0],
				Media: got.Media[0], Validity: got.Validity[0], Constraint: got.Constraint, RetryAt: got.RetryAt})
		}
	case *call.TrunkEvent:
		f = func() { p.trunkEvent(e) }
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

// acquire asks one trunk after the other, as their choice has it, for the legs that
// have none yet.
func (p *process) acquire(legs []engine.LegID, tried []engine.TrunkID) *run.TrunksReserved {
	w, now := p.w, p.w.mono()
	got := &run.TrunksReserved{Legs: legs, Trunks: make([]engine.TrunkID, len(legs)),
		Media: make([]*engine.MediaProfile, len(legs)), Validity: make([]call.Validity, len(legs))}
	var refusal trunk.Refusal
	tried = slices.Clone(tried)
	for slices.Contains(got.Trunks, "") {
		candidates := make([]trunk.Candidate, len(p.trunks))
		for i, t := range p.trunks {
			candidates[i] = t.Candidate(now)
			candidates[i].Available = true // its own word decides
		}
		id, _, ok := trunk.Choose(candidates, tried, w.draw())
		if !ok {
			break
		}
		tried = append(tried, id)
		t := p.trunk(id)
		for i, leg := range legs {
			if got.Trunks[i] != "" {
				continue
			}
			ok, c, at := t.Acquire(now, leg, channelTTL)
			if !ok {
				refusal = refusal.Or(c, at)
				break
			}
			s := t.Settings()
			got.Trunks[i], got.Media[i] = id, &s.Media
			if from := t.From(leg); from.After(now) {
				got.Validity[i].From = w.bootTime().Add(from.Sub(now))
			}
			w.check.channels(t)
		}
	}
	got.Constraint, got.RetryAt = cmp.Or(refusal.Constraint, engine.ConstraintTrunkHealth), w.onWall(refusal.RetryAt)
	return got
}

func (p *process) trunkEvent(e *call.TrunkEvent) {
	t, now := p.trunk(e.Trunk), p.w.mono()
	switch {
	case e.Sent:
		t.Sent(now, e.Leg)
		return
	case e.Class != nil || !e.Over:
		t.Report(now, e.Leg, e.From, e.To, e.Class)
	}
	if e.Over {
		t.Release(now, e.Leg)
	}
}

// options lets the keepalive find out how a trunk is.
func (p *process) options(i int) {
	p.do(time.Second+p.w.delay(30*time.Second), func() { p.trunks[i].Options(p.w.down[i] == 0) })
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
				p.w.check.lent(got.From, want.Attempt)
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
	if e.Want <= 0 {
		p.fleet.Leave(h)
	} else {
		p.fleet.Release(h, e.GiveUp)
		g := p.fleet.Request(now, h, e.Want, e.Weight, leaseTTL)
		m.Seats, m.Target = g.Granted, g.Target
	}
	p.w.check.granted(r.c, m.Seats)
	p.after(p.w.delay(ownersTake), r, m)
	p.tellSeats(p.fleet.Over(now))
}

// tellSeats tells holders of their allotments.
func (p *process) tellSeats(grants []fleet.Grant) {
	for _, g := range grants {
		c := p.w.byID[engine.CampaignID(g.Holder)]
		p.w.check.granted(c, g.Granted)
		if r := p.runs[c.i]; r != nil {
			p.after(p.w.delay(ownersTake), r, &run.SeatsAllotted{Bot: botID, Seats: g.Granted, Target: g.Target})
		}
	}
}

// setSeats changes how many the bot has.
func (w *campaignWorld) setSeats(n int) {
	w.seats = n
	if w.process != nil {
		w.process.tellSeats(w.process.fleet.SetSeats(w.mono(), n))
	}
}

// strayAfter is how long a lease may be nobody's before it is taken back: whoever had
// reserved it crashed with the reservation.
const strayAfter = 10 * time.Minute

// expire forgets allotments that ran out, and takes leases back that are nobody's.
func (p *process) expire() {
	p.again(leaseTTL/2, func() {
		now := p.w.mono()
		for _, h := range p.fleet.Expire(now) {
			p.w.check.granted(p.w.byID[engine.CampaignID(h)], 0)
		}
		still := map[string]time.Duration{}
		stray := func(lease string, id engine.AttemptID) bool {
			if p.owned[id] != nil {
				return false
			}
			since, known := p.strays[lease]
			if !known {
				since = p.w.now
			}
			still[lease] = since
			return p.w.now-since >= strayAfter
		}
		for _, t := range p.trunks {
			for _, leg := range t.Legs() {
				if id, _, _ := leg.Attempt(); stray(string(leg), id) {
					t.Release(now, leg)
				}
			}
		}
		for _, s := range p.slots {
			for _, id := range s.Attempts() {
				if stray(string(id), id) {
					s.Release(now, id, numberpool.End{NotDialled: true})
				}
			}
		}
		p.strays = still
		p.expire()
	})
}
