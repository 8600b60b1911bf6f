package call

import (
	"cmp"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/trunk"
)

// Reservation tries trunk after trunk for its legs until each has a channel and a token, or no
// trunk is left.
type Reservation struct {
	Legs     []engine.LegID
	Trunks   []engine.TrunkID       // of the legs, "" until granted
	Media    []*engine.MediaProfile // of these
	Validity []Validity
	tried    []engine.TrunkID
	refusal  trunk.Refusal
}

// NewReservation returns a reservation for legs that may not leave through the trunks tried before.
func NewReservation(tried []engine.TrunkID, legs ...engine.LegID) *Reservation {
	return &Reservation{Legs: legs, Trunks: make([]engine.TrunkID, len(legs)),
		Media: make([]*engine.MediaProfile, len(legs)), Validity: make([]Validity, len(legs)),
		tried: slices.Clone(tried)}
}

// Next chooses the trunk to ask next, by a random number; ok is false when every leg has a trunk,
// or when no trunk is left.
func (r *Reservation) Next(of []trunk.Candidate, draw uint64) (id engine.TrunkID, ok bool) {
	if !slices.Contains(r.Trunks, "") {
		return "", false
	}
	for i := range of {
		of[i].Available = true // the trunk itself decides; the copy only sets the order
	}
	if id, _, ok = trunk.Choose(of, r.tried, draw); ok {
		r.tried = append(r.tried, id)
	}
	return id, ok
}

// Ask requests a channel from a trunk for each leg without a trunk.
func (r *Reservation) Ask(t *trunk.Trunk, now time.Time, boot engine.BootTime, ttl time.Duration) {
	s := t.Settings()
	for i, leg := range r.Legs {
		if r.Trunks[i] != "" {
			continue
		}
		ok, c, at := t.Acquire(now, leg, ttl)
		if !ok {
			r.Refused(c, at)
			return
		}
		r.Trunks[i], r.Media[i] = s.ID, trunk.Profile(&s)
		if from := t.From(leg); from.After(now) {
			r.Validity[i].From = boot.Add(from.Sub(now))
		}
	}
}

// Refused notes why a trunk granted less than was requested.
func (r *Reservation) Refused(c engine.Constraint, at time.Time) { r.refusal = r.refusal.Or(c, at) }

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
