package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/journal"
	"dialler/engine/window"
)

// State is a campaign's run. It is used by one actor and is not safe for concurrent
// use. Everything in it is data: what it was and the inputs since then give what it
// is. Its parts rest on each other, from Turn to Dialler; none knows one above it. State
// is where they meet: the life of the campaign, and of the run.
type State struct {
	Dialler

	// Loading.
	Stash        []Deferred              // events that came before the run was ready
	ReportsDue   map[string]ContactActor // those that have not reported yet
	Silent       []ContactActor          // those that had not when the run went on without them
	EarlyReports map[string]struct{}     // those that reported before the roster was known
	RosterKnown  bool
	Loading      bool
	Orphans      []attempt.Attempt                          // open in the database, but not reported by any actor yet
	Recovering   bool                                       // the contacts of lost attempts are being loaded
	Unwanted     map[engine.PhoneNumber]journal.Suppression // for the numbers that these attempts call

	HandOver  bool // requested; waits until all requests are answered
	HandOvers int  // number of requests so far

	Clocks        window.Reading // at the last tick
	LastOverdue   time.Time
	LastReconcile time.Time
}

// New returns the run of a campaign that is not loaded yet.
func New(id engine.CampaignID, cfg Config) *State {
	s := &State{EarlyReports: map[string]struct{}{}}
	s.ID, s.Config, s.Queue = id, cfg, NewQueue()
	s.Lines, s.ByNumber = map[engine.ContactID]*Line{}, map[engine.PhoneNumber]engine.ContactID{}
	s.Pending, s.Reads, s.StoppedSince = map[int64]Continuation{}, map[Read]struct{}{}, map[engine.ContactID]Read{}
	s.Timers, s.Later = map[Timer]int64{}, map[int64]Deferred{}
	s.Loads, s.LiveWhileReading = map[engine.ContactID][]any{}, map[engine.ContactID]struct{}{}
	s.Ops, s.Lifts = map[int]*ExcludeOp{}, map[int]*LiftOp{}
	s.Fresh, s.TriggersOf = map[engine.PhoneNumber]int{}, map[engine.PhoneNumber]struct{}{}
	s.Erasing = map[engine.PhoneNumber]time.Time{}
	return s
}
