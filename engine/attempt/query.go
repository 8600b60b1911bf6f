package attempt

import (
	"time"

	"dialler/engine"
)

// Direction says who began a call.
type Direction string

const (
	Outbound Direction = "outbound" // we did
	Inbound  Direction = "inbound"  // the person did
)

// Directions are all of them.
var Directions = []Direction{Outbound, Inbound}

// Direction returns who began the call.
func (a *Attempt) Direction() Direction {
	if a.Inbound {
		return Inbound
	}
	return Outbound
}

// Query asks for attempts, newest first. A zero field asks for all.
type Query struct {
	Campaign  engine.CampaignID
	Contact   engine.ContactID
	To        engine.PhoneNumber
	Direction Direction
	Trunk     engine.TrunkID // of the last leg
	State     State
	Outcome   engine.Outcome
	// From and Until bound when the attempt began: From inclusive, Until exclusive.
	From, Until time.Time
	// Before is the cursor from the previous page, "" for the newest attempts.
	Before engine.AttemptID
	Limit  int
}

// Narrow says whether the query filters by something that no index covers.
func (q *Query) Narrow() bool {
	return q.Trunk != "" || q.State != "" || q.Outcome != "" || q.Direction == Outbound
}

// Waiting says whether the query may find dialouts that wait for their time.
func (q *Query) Waiting() bool {
	return q.Campaign == "" && q.Contact == "" && q.Direction != Inbound && q.Trunk == "" && q.Outcome == "" &&
		(q.State == "" || q.State == Scheduled)
}
