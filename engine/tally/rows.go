package tally

import (
	"dialler/engine/attempt"
)

// Attempt counts an attempt as it is stored: what Apply made of its events. A
// count from rows begins with New, takes the facts of the run's contacts (Contacts)
// and each of its attempts, once.
func (t *Tally) Attempt(a *attempt.Attempt) { t.attempt(a, 1) }

// Withdraw takes back what Attempt counted, before the attempt is counted as it
// is stored now. The range of its pass's dials stays as it is.
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
