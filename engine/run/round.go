package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/contact"
)

// A round reserves for roundLeast to roundCap contacts.
const (
	roundLeast = 4
	roundCap   = 256
)

// roundTimeout gives up a round whose answers were lost with a crashed actor.
const roundTimeout = 5 * time.Second

// Round is one reservation of trunk channels and caller IDs for the next contacts. Only one is in
// progress at a time; its contacts count as lines.
type Round struct {
	N          int
	Candidates []Candidate
	SeatTarget int // the fair share that they rely on
	// Touched are the contacts whose actors started during the round: their candidates' rows are
	// out of date.
	Touched map[engine.ContactID]struct{}
}

// Candidate is a contact for which a reservation is in progress.
type Candidate struct {
	Row      contact.Contact
	Stored   *contact.Contact // only for a trigger: as in the tables; nil for a new contact
	Attempt  engine.AttemptID
	Trunk    engine.TrunkID
	Media    *engine.MediaProfile // the trunk's
	Trigger  *call.Trigger
	Seated   bool          // a seat is held for it from now on
	Validity call.Validity // of what it was granted
	// Overtaken says that an exclusion came while this trigger's reservation was in progress.
	Overtaken bool
}

func (r *Round) touch(id engine.ContactID) {
	if r.Touched == nil {
		r.Touched = map[engine.ContactID]struct{}{}
	}
	r.Touched[id] = struct{}{}
}

// PendingTrigger is a contact whose trigger waits for the decision whether it is dialled now. The
// contact is either new, or final and reopened with the dial.
type PendingTrigger struct {
	Row     contact.Contact
	Stored  *contact.Contact // as in the tables; nil for a new one
	Trigger *call.Trigger
	// LookedUp says that the tables were asked for the contact, so it may be dialled.
	LookedUp bool
	// Outdated says that the contact's actor was started after that.
	Outdated bool
}
