package attempt

import (
	"time"

	"dialler/engine"
)

// Query asks for attempts, newest first. A zero field asks for all.
type Query struct {
	Campaign engine.CampaignID
	Contact  engine.ContactID
	To       engine.PhoneNumber
	Trunk    engine.TrunkID // of the last leg
	State    State
	Outcome  engine.Outcome
	// From and Until bound when the attempt began: From inclusive, Until exclusive.
	From, Until time.Time
	// Before is the cursor from the previous page, "" for the newest attempts.
	Before engine.AttemptID
	Limit  int
}

// Narrow says whether the query filters by something that no index covers.
func (q *Query) Narrow() bool { return q.Trunk != "" || q.State != "" || q.Outcome != "" }

// Waiting says whether the query may find dialouts that wait for their time.
func (q *Query) Waiting() bool {
	return q.Campaign == "" && q.Contact == "" && q.Trunk == "" && q.Outcome == "" &&
		(q.State == "" || q.State == Scheduled)
}
