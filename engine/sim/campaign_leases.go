package sim

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/fleet"
	phone "dialler/engine/number"
	"dialler/engine/numberpool"
	"dialler/engine/trunk"
)

// reserve takes what a dial needs and places it; ok is false when something is
// not to be had now.
func (r *desk) reserve(p place, to engine.PhoneNumber, within time.Duration, seated bool) bool {
	w := r.w
	w.attempts++
	id := attemptID(w.attempts)
	t, refusal := w.reserveTrunk(id.Leg(1), nil)
	if t < 0 {
		r.lacks(refusal.Constraint, refusal.RetryAt)
		return false
	}
	from, next := r.reserveNumber(id, to, p.i)
	if from == "" {
		w.trunks[t].Release(w.mono(), id.Leg(1))
		r.lacks(engine.ConstraintNumberPool, next)
		return false
	}
	l := r.line(p.i)
	if seated {
		l.seated, l.held = true, true
		r.busy++
		r.held++
	}
	w.check.reserved(r, l, id, to, seated)
	l.dial(id, w.in.Trunks[t].Settings.ID, from, within)
	return true
}

func (r *desk) lacks(c engine.Constraint, until time.Time) {
	r.lack = c
	r.lackTill = r.w.now + holdUsual
	if !until.IsZero() {
		r.lackTill = max(r.w.now+holdLeast, until.Sub(r.w.in.Start))
	}
	r.w.after(r.lackTill-r.w.now, func() {})
}

// reserveTrunk takes a channel and a token of the trunk that the choice falls
// on; it gives −1 when there is none.
func (w *office) reserveTrunk(leg engine.LegID, tried []engine.TrunkID) (int, trunk.Refusal) {
	var refusal trunk.Refusal
	tried = slices.Clone(tried)
	for {
		cands := make([]trunk.Candidate, len(w.trunks))
		for i, t := range w.trunks {
			cands[i] = t.Candidate(w.mono())
		}
		w.draws++
		id, r, ok := trunk.Choose(cands, tried, mix(w.seed^w.draws))
		if !ok {
			if refusal.Constraint == "" {
				refusal = r
			}
			return -1, refusal
		}
		for i, t := range w.trunks {
			if w.in.Trunks[i].Settings.ID == id {
				ok, c, at := t.Acquire(w.mono(), leg, channelTTL)
				if ok {
					w.check.granted(i, t)
					return i, refusal
				}
				refusal = refusal.Or(c, at)
			}
		}
		tried = append(tried, id)
	}
}

func (r *desk) reserveNumber(id engine.AttemptID, to engine.PhoneNumber, i int32) (engine.PhoneNumber, time.Time) {
	w, s := r.w, &r.m.C.Settings
	now := w.mono()
	var cands []numberpool.Candidate
	var index []int
	for i, slot := range w.slots {
		if !slices.Contains(s.Numbers, w.in.Numbers[i].Number) {
			continue
		}
		cands = append(cands, slot.Candidate(now, w.cands[i].AreaKey, w.cands[i].CountryKey))
		index = append(index, i)
	}
	want := numberpool.Want{LocalMatch: s.LocalMatch}
	if s.LocalMatch {
		want.AreaKey, want.CountryKey = phone.AreaKey(to), phone.Region(to)
	}
	if s.StickyNumber {
		want.Sticky = r.d.book.get(i).CalledFrom
	}
	k, refusal := numberpool.Choose(cands, want)
	if k < 0 {
		return "", refusal.NextAt
	}
	slot := w.slots[index[k]]
	if ref, ok := slot.Acquire(now, id, channelTTL); !ok {
		return "", ref.NextAt
	}
	return cands[k].Number, time.Time{}
}

// --- seats ---------------------------------------------------------------------

func (r *desk) askSeats() {
	want := r.m.C.Settings.Concurrency
	if _, ok := r.agenda.head(r.w.wall(), true); !ok || !r.windowOpen() {
		want = min(want, r.busy+len(r.waiting)+r.flying())
	}
	if want >= r.asked {
		r.fewer = 0
	} else if r.fewer == 0 {
		r.fewer = r.w.now
	}
	if want > r.asked || want < r.asked && r.w.now-r.fewer >= seatsIdle {
		r.wantSeats(want)
	}
}

func (r *desk) wantSeats(n int) {
	r.asked, r.fewer = n, 0
	r.demand(0)
}

func (r *desk) holder() fleet.Holder { return fleet.Holder(r.d.c.ID) }

func (r *desk) demand(give int) {
	w := r.w
	if r.asked <= 0 {
		w.fleet.Leave(r.holder())
		r.allotted(0, 0)
	} else {
		w.fleet.Release(r.holder(), give)
		g := w.fleet.Request(w.mono(), r.holder(), r.asked, max(r.m.C.Settings.Weight, 1), leaseTTL)
		r.allotted(g.Granted, g.Target)
	}
	w.tellOver()
}

func (w *office) tellOver() {
	for _, g := range w.fleet.Over(w.mono()) {
		w.tell(g)
	}
}

func (w *office) tell(g fleet.Grant) {
	for _, r := range w.runs {
		if r.holder() == g.Holder {
			w.after(0, func() { r.allotted(g.Granted, g.Target) })
		}
	}
}

func (r *desk) allotted(seats, target int) {
	r.seats = seats
	r.w.check.cut(r)
	r.grantSeats()
	if spare := r.seatCap() - r.busy - r.flying() - len(r.waiting); target < seats && spare > 0 {
		give := min(spare, seats-target)
		r.seats -= give
		r.w.after(0, func() { r.demand(give) })
	}
}

func (r *desk) grantSeats() {
	for len(r.waiting) > 0 && r.busy < r.seatCap() {
		l := r.waiting[0]
		r.waiting = r.waiting[1:]
		r.takeSeat(l)
		l.grant()
	}
}

func (r *desk) takeSeat(l *contactLine) {
	if l.seated {
		return
	}
	l.seated = true
	r.busy++
	l.seatedAt = r.w.mono()
	if r.model != nil {
		r.model.Seated(l.seatedAt)
	}
	r.w.check.seated(r)
}

func (r *desk) freeSeat(l *contactLine) {
	if l.seated {
		l.seated = false
		r.busy--
		if l.held {
			l.held = false
			r.held--
		}
		if r.model != nil && !l.seatedAt.IsZero() {
			r.model.Ended(r.w.mono(), r.w.mono().Sub(l.seatedAt))
		}
		l.seatedAt = time.Time{}
	}
	if i := slices.Index(r.waiting, l); i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
	}
}
