package promise

import (
	"cmp"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
)

// Timed is a fact and its time.
type Timed struct {
	At time.Time
	Fact
}

// Record is what was recorded about a dialler, in any order.
type Record []Timed

// Add records a fact.
func (r *Record) Add(at time.Time, f Fact) { *r = append(*r, Timed{at.Round(0), f}) }

// Attempts records the facts in rows.
func (r *Record) Attempts(rows []attempt.Attempt) {
	for i := range rows {
		*r = append(*r, Of(nil, &rows[i])...)
	}
}

// Tell reports everything to a judge in chronological order.
func (r Record) Tell(j *Judge) {
	slices.SortStableFunc(r, func(a, b Timed) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.rank(), b.rank()))
	})
	for _, t := range r {
		j.Hear(t.At, t.Fact)
	}
}

// PeakAbandons is the highest share of abandons in the live answers of a run at any
// moment, 0 to 1; those with an excused cause do not count.
func PeakAbandons(rows []attempt.Attempt, excused ...engine.AbandonCause) float64 {
	j := NewJudge(func(Broken) {})
	j.Excuses = excused
	var r Record
	r.Attempts(rows)
	r.Tell(j)
	return j.Peak.Abandons
}

// Of appends the facts in an attempt's row to a list, in chronological order, each with its time in
// the row. Facts that a judge has already heard have no effect.
func Of(list []Timed, a *attempt.Attempt) []Timed {
	at := func(t *time.Time) time.Time {
		if t == nil {
			return time.Time{}
		}
		return t.Round(0)
	}
	reserved := at(a.ReservedAt)
	list = append(list, Timed{reserved, Begun{a.Campaign, a.Contact, a.ID, a.Run, a.To, reserved, a.Inbound}})
	for i := range a.Legs {
		list = append(list, Timed{reserved, LegStored{a.Legs[i].ID, a.Legs[i].Dialog != nil, a.Legs[i].EndedAt != nil}})
	}
	outcome, cause, decided := a.Outcome, a.Cause, at(a.EndedAt)
	if a.Ending != nil {
		decided = a.Ending.At.Round(0)
		if a.Live() {
			outcome, cause = a.Ending.Outcome, a.Ending.Cause
		}
	}
	switch {
	case outcome == engine.OutcomeAbandoned:
		list = append(list, Timed{decided, LiveAnswer{a.ID, true, cause}})
	case a.ServedAt != nil && (a.RevisableUntil == nil || !a.Live()): // a beep can no longer revoke it
		list = append(list, Timed{at(a.ServedAt), LiveAnswer{Attempt: a.ID}})
	}
	if !a.Live() {
		list = append(list, Timed{at(a.EndedAt), Ended{a.ID, a.Outcome, a.Consumed}})
	}
	return list
}
