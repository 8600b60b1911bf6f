package contact

import (
	"time"

	"dialler/engine"
	"dialler/engine/cadence"
)

// counted is the contact's tries with the attempt that an event ends.
func (m *Machine) counted(ev Event) cadence.Tries {
	if a := ev.Attempt; ev.Kind == Attempted && a.Consumed {
		return m.C.Tries.Add(cadence.Of(a.Outcome), a.dialled(), &ev.Policy.Window)
	}
	return m.C.Tries
}

// dialled is when the attempt was dialled; its end where that is not known.
func (a *Attempt) dialled() time.Time {
	if a.DialledAt.IsZero() {
		return a.EndedAt
	}
	return a.DialledAt
}

// left says whether Max Attempts, and the campaign's cadence, let another attempt follow one that
// ended so, the event's included. None follows a person who is called nowhere any more.
func (m *Machine) left(ev Event, o engine.Outcome) bool {
	c := ev.Policy.Cadence
	return m.usedAfter(ev) < ev.Policy.MaxAttempts && (c == nil || !c.Spent(cadence.Of(o), m.counted(ev))) &&
		!m.nowhere(ev)
}

// next is when an attempt follows one that ended: after Retry Delay, or as the campaign's cadence
// says; after the wait that the network requested if that is longer.
func (m *Machine) next(ev Event, o engine.Outcome, a *Attempt) time.Time {
	p := &ev.Policy
	if p.Cadence == nil {
		return p.Redial.At(a.EndedAt, a.RetryAfter)
	}
	return p.Cadence.Next(cadence.Ended{Class: cadence.Of(o), Tries: m.C.Tries, Dialled: a.dialled(), At: a.EndedAt,
		Delay: p.Redial.Delay, Least: a.RetryAfter}, &p.Window)
}
