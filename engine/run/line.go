package run

import (
	"cmp"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/pacing"
)

// Line is a contact whose actor is running.
type Line struct {
	ID         engine.ContactID
	Number     engine.PhoneNumber
	Alternates contact.Alternates // the person's other numbers
	Up         bool               // its actor takes commands
	Buffer     []any              // commands held while the actor is not up, or is asked to stop
	Stopping   bool
	Watches    bool               // the legs of a lost call, and does nothing else
	Called     engine.PhoneNumber // the person's number that is called, "" = the first
	Attempt    engine.AttemptID
	Phase      attempt.Phase
	Seated     bool
	Held       bool // seated before the call was answered
	// Unheard marks a call of an earlier owner, which keeps its seat until its state is known.
	Unheard bool
	// Before is the line's attempt at the time when an edit lowered the concurrency.
	Before engine.AttemptID
	// SeatTarget is the fair share that the dial relied on; 0 means unknown.
	SeatTarget int
	Counted    bool // as a live answer
	Machine    bool // counted as one
	// Ledger is what the ledgers contain of the line's answer, Told what the counters contain.
	// Counters count a conversation when it begins and an abandoned call when it ends; ledgers
	// count what can no longer change.
	Ledger, Told pacing.Counts
	// For the pacing model: when the line was placed, as long as it may still want a seat, and when
	// it took one.
	DialledAt, SeatedAt time.Time
	Accepted            Steps // of its writes
	// Variables are those of a contact that a trigger created and that may not be stored yet.
	Variables map[string]string
	// Node carries the call; 0 is this node, or one that the run does not know. Bare says that the
	// call was answered while no socket was open. Withdrawn says that it is being cancelled.
	Node            engine.Incarnation
	Bare, Withdrawn bool
}

// person is the contact as far as its numbers go.
func (l *Line) person() *contact.Contact {
	return &contact.Contact{Number: l.Number, Alternates: l.Alternates}
}

// called is the number that the line calls.
func (l *Line) called() engine.PhoneNumber {
	return cmp.Or(l.Called, l.Number)
}

// takes notes the person's numbers as the contact writes them: a request may change them while a line lives.
func (l *Line) takes(row *contact.Contact) {
	if row.ID == l.ID && row.Number == l.Number { // not a row from before an erasure
		l.Alternates = row.Alternates
	}
}

// Steps is a set of a contact's write numbers, from 1. There are hardly ever more than fit in Low.
type Steps struct {
	Low  uint64
	High map[int]struct{}
}

// Add says whether the step is new.
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

// flies says that the line is not answered, or that nobody has been told of its answer.
func flies(p attempt.Phase) bool {
	switch p {
	case attempt.PhaseDialling, attempt.PhaseRinging, attempt.PhaseListening:
		return true
	case attempt.PhaseWaiting, attempt.PhaseServed, attempt.PhaseAbandoned, attempt.PhaseReleased, attempt.PhaseOver:
	}
	return false
}
