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
	// From and Until bound when the attempt was begun: From at the earliest,
	// before Until.
	From, Until time.Time
	// Before is the cursor of the answer before, "" for the newest ones.
	Before engine.AttemptID
	Limit  int
}

// Narrow says whether the query asks for what no index knows.
func (q *Query) Narrow() bool { return q.Trunk != "" || q.State != "" || q.Outcome != "" }
