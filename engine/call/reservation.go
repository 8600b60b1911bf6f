package call

import (
	"cmp"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/trunk"
)

// Reservation tries trunk after trunk for its legs until each has a channel and a token, or no
// trunk is left. A leg that only lacks a token of the trunk chosen for it, and would have it within a
// second, waits for it and is refused until then: a burst stays on the trunk of the best priority,
// and trunks of equal priority share it by weight. What is beyond a trunk's calls a second
// (trunk.Short), or refused for another reason, goes to the next one.
type Reservation struct {
	Legs     []engine.LegID
	Trunks   []engine.TrunkID       // of the legs, "" until granted
	Media    []*engine.MediaProfile // of these
	Validity []Validity
	picks    []pick           // of the legs
	tried    []engine.TrunkID // that cannot take more
	short    []short          // trunks without a token, for which more may wait
	refusal  trunk.Refusal
}

// pick is the choice for a leg.
type pick struct {
	draw  uint64
	trunk engine.TrunkID // whom it asks, or asked last
	waits bool           // for that trunk's token
}

type short struct {
	trunk engine.TrunkID
	room  int
}

// NewReservation returns a reservation for legs that may not leave through the trunks tried before.
func NewReservation(tried []engine.TrunkID, legs ...engine.LegID) *Reservation {
	r := &Reservation{Legs: legs, Trunks: make([]engine.TrunkID, len(legs)),
		Media: make([]*engine.MediaProfile, len(legs)), Validity: make([]Validity, len(legs)),
		picks: make([]pick, len(legs)), tried: slices.Clone(tried)}
	for i, leg := range legs {
		id, _, _ := leg.Attempt()
		r.picks[i].draw = trunk.Draw(string(id), 0)
	}
	return r
}

// NewBatch returns a reservation for the first legs of attempts, with a draw for each.
func NewBatch(legs []engine.LegID, draws []uint64) *Reservation {
	r := NewReservation(nil, legs...)
	for i := range draws {
		r.picks[i].draw = draws[i]
	}
	return r
}

// Next chooses the trunk to ask next; ok is false when every leg has a trunk or waits for one, or
// when no trunk is left.
func (r *Reservation) Next(of []trunk.Candidate) (id engine.TrunkID, ok bool) {
	for i := range of {
		of[i].Available = true // the trunk itself decides; the copy only sets the order
	}
	for i := range r.picks {
		p := &r.picks[i]
		if r.Trunks[i] != "" || p.waits {
			continue
		}
		if p.trunk == "" || slices.Contains(r.tried, p.trunk) {
			p.trunk, _, _ = trunk.Choose(of, r.tried, p.draw)
			p.waits = r.wait(p.trunk)
		}
		if !p.waits {
			id = cmp.Or(id, p.trunk)
		}
	}
	return id, id != ""
}

// wait takes a place among those who wait for a trunk, if it is short of tokens and there is one.
func (r *Reservation) wait(id engine.TrunkID) bool {
	i := slices.IndexFunc(r.short, func(s short) bool { return s.trunk == id })
	if i < 0 {
		return false
	}
	if r.short[i].room--; r.short[i].room == 0 {
		r.short = slices.Delete(r.short, i, i+1)
		r.tried = append(r.tried, id)
	}
	return true
}

// Wants says whether a leg without a trunk asks this one.
func (r *Reservation) Wants(i int, id engine.TrunkID) bool {
	return r.Trunks[i] == "" && !r.picks[i].waits && r.picks[i].trunk == id
}

// Ask requests a channel from a trunk for each leg that asks it.
func (r *Reservation) Ask(t *trunk.Trunk, now time.Time, boot engine.BootTime, ttl time.Duration) {
	s := t.Settings()
	for i, leg := range r.Legs {
		if !r.Wants(i, s.ID) {
			continue
		}
		ok, c, at := t.Acquire(now, leg, ttl)
		if !ok {
			room := 0
			if c == engine.ConstraintTrunkCPS {
				room = t.Short(now)
			}
			r.Refused(s.ID, c, at, room)
			return
		}
		r.Trunks[i], r.Media[i] = s.ID, trunk.Profile(&s)
		if from := t.From(leg); from.After(now) {
			r.Validity[i].From = boot.Add(from.Sub(now))
		}
	}
	t.Enough()
}

// Refused notes why a trunk granted less than was requested, and for how many of the others it is
// right to wait.
func (r *Reservation) Refused(id engine.TrunkID, c engine.Constraint, at time.Time, room int) {
	r.refusal = r.refusal.Or(c, at)
	if room == 0 {
		r.tried = append(r.tried, id)
		return
	}
	r.short = append(r.short, short{id, room})
	for i := range r.picks {
		if r.Wants(i, id) {
			r.picks[i].waits = r.wait(id)
		}
	}
}

// Why is why legs have no trunk, and when more is available; zero if unknown.
func (r *Reservation) Why() (engine.Constraint, time.Time) {
	return cmp.Or(r.refusal.Constraint, engine.ConstraintTrunkHealth), r.refusal.RetryAt // or there is no trunk at all
}

// Of is the answer to the request for a leg of an attempt.
func (r *Reservation) Of(id engine.AttemptID) *TrunkReserved {
	m := &TrunkReserved{Attempt: id, Leg: r.Legs[0], Trunk: r.Trunks[0], Media: r.Media[0], Validity: r.Validity[0]}
	m.Constraint, m.RetryAt = r.Why()
	return m
}

// Tell reports the event to the trunk. Releasing a channel twice has no further effect.
func (e *TrunkEvent) Tell(t *trunk.Trunk, now time.Time) {
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
