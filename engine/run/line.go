package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/pacing"
)

// Line is a contact whose actor lives.
type Line struct {
	ID       engine.ContactID
	Number   engine.PhoneNumber
	Up       bool  // its actor takes commands
	Buffer   []any // commands while it is not up, or is asked to stop
	Stopping bool
	Attempt  engine.AttemptID
	Phase    attempt.Phase
	Seated   bool
	Held     bool // seated before it was answered
	// Unheard: a call of an earlier owner, which keeps its seat until it is heard of.
	Unheard bool
	// Before is its attempt when an edit lowered the concurrency.
	Before engine.AttemptID
	// SeatTarget is the fair share that its dial relied on, 0: unknown.
	SeatTarget int
	Counted    bool // as a live answer
	Machine    bool // counted as one
	// Ledger is what the ledgers have of its answer, Told what the counters have: these
	// count a conversation when it begins and an abandoned call when it ends, those what
	// can no longer change.
	Ledger, Told pacing.Counts
	// Of the pacing model: when the line was placed, while it may still want a
	// seat, and when it took one.
	DialledAt, SeatedAt time.Time
	Accepted            Steps // of its writes
	// Variables of a contact that a trigger made and that may not be stored yet.
	Variables map[string]string
	// Node carries it, 0: this one, or one that the run does not know. Bare: it is
	// answered, and no socket stood for it. Withdrawn: it is being cancelled.
	Node            engine.Incarnation
	Bare, Withdrawn bool
}

// Steps is a set of the numbers that a contact gives its writes, from 1: hardly ever
// are there as many as have their place in Low.
type Steps struct {
	Low  uint64
	High map[int]struct{}
}

// Add says whether the step is a new one.
func (s *Steps) Add(step int) bool {
	if step >= 0 && step < 64 {
		bit := uint64(1) << step
		had := s.Low&bit != 0
		s.Low |= bit
		return !had
	}
	if _, had := s.High[step]; had {
		return false
	}
	if s.High == nil {
		s.High = map[int]struct{}{}
	}
	s.High[step] = struct{}{}
	return true
}

// phaseOrder numbers the phases for counting lines.
var phaseOrder = [...]attempt.Phase{attempt.PhaseDialling, attempt.PhaseRinging, attempt.PhaseListening,
	attempt.PhaseWaiting, attempt.PhaseServed, attempt.PhaseAbandoned, attempt.PhaseReleased, attempt.PhaseOver}

func phaseIndex(p attempt.Phase) int {
	for i := range phaseOrder {
		if phaseOrder[i] == p {
			return i
		}
	}
	return len(phaseOrder) - 1 // a line without an attempt is over
}

// flies: the line is not answered, or nobody has been told of it.
func flies(p attempt.Phase) bool {
	switch p {
	case attempt.PhaseDialling, attempt.PhaseRinging, attempt.PhaseListening:
		return true
	case attempt.PhaseWaiting, attempt.PhaseServed, attempt.PhaseAbandoned, attempt.PhaseReleased, attempt.PhaseOver:
	}
	return false
}
