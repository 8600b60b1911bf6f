package campaign

import (
	"time"

	"dialler/engine"
)

// RunState is the state of a run in the history.
type RunState string

const (
	RunDraft     RunState = "draft"    // the original run, not started yet
	RunPrepared  RunState = "prepared" // by Restart, not started yet
	RunRunning   RunState = "running"
	RunPaused    RunState = "paused"
	RunCompleted RunState = "completed"
	RunFailed    RunState = "failed"
)

// RunRecord is one run of a campaign in its history.
type RunRecord struct {
	Run   int      `json:"run"` // the original run is 1
	State RunState `json:"status"`
	// RestartedAt and RestartedBy are when and by whom it was prepared; nil for the original.
	RestartedAt   *time.Time  `json:"restarted_at"`
	RestartedBy   *engine.Who `json:"restarted_by"`
	OnlyUnreached bool        `json:"only_unreached"`
	StartedAt     *time.Time  `json:"started_at"`
	StartedBy     *engine.Who `json:"started_by"`
	// CompletedAt is when it ended. EndedBy is who stopped it, or the dialler when it ended by
	// itself.
	CompletedAt      *time.Time       `json:"completed_at"`
	EndedBy          *engine.Who      `json:"ended_by"`
	CompletionReason CompletionReason `json:"completion_reason,omitempty"`
	FailureReason    string           `json:"failure_reason,omitempty"`
	Counters         Counters         `json:"counters"`
}

// Owed is what still has to be done to the contacts when a crash, or a database outage, came
// between the campaign's change of run and theirs: nil when they are in its run, or when there are
// none (run 0).
func Owed(c *Campaign, contacts int) Effect {
	switch {
	case contacts == 0 || contacts == c.Run:
		return nil
	case contacts > c.Run:
		return RestoreContacts{}
	case c.Prepared:
		return ResetContacts{Unreached: c.Previous != nil && c.Previous.Unreached}
	}
	return nil
}
