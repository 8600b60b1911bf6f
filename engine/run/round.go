package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/contact"
)

// A round of reservations is for roundLeast to roundCap contacts.
const (
	roundLeast = 4
	roundCap   = 256
)

// roundTimeout gives up a round whose answers were lost with a crashed actor.
const roundTimeout = 5 * time.Second

// Round is one reservation of trunk channels and caller IDs for the next contacts.
// One is under way at a time; its contacts count as lines.
type Round struct {
	N          int
	Candidates []Candidate
	SeatTarget int // the fair share that they rely on
	// Touched are the contacts whose actors came up while the round was under way:
	// their candidates' rows are out of date.
	Touched map[engine.ContactID]struct{}
}

// Candidate is a contact that is being reserved for.
type Candidate struct {
	Row      contact.Contact
	Stored   *contact.Contact // of a trigger's: as it is in the tables; nil for a fresh one
	Attempt  engine.AttemptID
	Trunk    engine.TrunkID
	Media    *engine.MediaProfile // the trunk's
	Trigger  *call.Trigger
	Seated   bool          // a seat is held for it from now on
	Validity call.Validity // of what was granted for it
	// Overtaken: an exclusion came while this trigger was being reserved for.
	Overtaken bool
}

func (r *Round) touch(id engine.ContactID) {
	if r.Touched == nil {
		r.Touched = map[engine.ContactID]struct{}{}
	}
	r.Touched[id] = struct{}{}
}

// PendingTrigger is a contact whose trigger waits to learn whether it is dialled now:
// a fresh one, or one that is final and is reopened with the dial.
type PendingTrigger struct {
	Row     contact.Contact
	Stored  *contact.Contact // as it is in the tables; nil for a fresh one
	Trigger *call.Trigger
	// LookedUp: the tables were asked for it; it may be dialled.
	LookedUp bool
	// Outdated: the contact's actor came up after that.
	Outdated bool
}
