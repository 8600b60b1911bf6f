package tally

import (
	"dialler/engine/attempt"
)

// Attempt counts a stored attempt, just as Apply counts its events. A count from rows begins with
// New and adds the facts of the run's contacts (Contacts) and each of its attempts, once.
func (t *Tally) Attempt(a *attempt.Attempt) { t.attempt(a, 1) }

// Withdraw reverses Attempt, before the attempt is counted in its new state. The range of its
// pass's dials does not change.
func (t *Tally) Withdraw(a *attempt.Attempt) { t.attempt(a, -1) }

func (t *Tally) attempt(a *attempt.Attempt, sign int) {
	p := t.C.Pass(a.Pass)
	if a.ReservedAt != nil {
		p.Dialled(*a.ReservedAt)
	}
	for _, x := range ofAttempts {
		if k := x.Attempt(a); k != 0 {
			*x.At(&t.C, a.Pass) += sign * k
		}
	}
}
