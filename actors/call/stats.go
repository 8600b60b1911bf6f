package call

import (
	"slices"
	"sync/atomic"

	"dialler/engine"
)

// Stats are the metrics of calls.
type Stats struct {
	LegsPlaced atomic.Int64 // INVITEs given to the telephony port
	LegsSent   atomic.Int64 // INVITEs that left
	Attempts   atomic.Int64 // attempts begun
	Ended      atomic.Int64 // attempts ended, of those begun and those recovered
	outcomes   [engine.OutcomeCount]atomic.Int64
	Recovered  atomic.Int64 // attempts of an earlier process, taken over to be closed
	Released   atomic.Int64 // attempts that went on under their next owner
	Answered   atomic.Int64
	Served     atomic.Int64
	Abandoned  atomic.Int64
	Results    atomic.Int64
	Illegal    atomic.Int64 // events refused by a machine

	// Of calls that came in, which count in none of the above but Recovered and Released: those begun and
	// ended, those that had their bot or heard their message, and those that were begun and had neither.
	Callers, CallersEnded, CallersServed, CallersTurnedAway atomic.Int64
	// CallersWithBot had a bot, after so many milliseconds together.
	CallersWithBot, CallersToBotMS atomic.Int64
}

// ended counts an attempt by its outcome.
func (s *Stats) ended(o engine.Outcome) {
	s.Ended.Add(1)
	if i := slices.Index(engine.Outcomes, o); i >= 0 {
		s.outcomes[i].Add(1)
	}
}

// Outcome returns how many attempts ended with an outcome.
func (s *Stats) Outcome(o engine.Outcome) int64 {
	if i := slices.Index(engine.Outcomes, o); i >= 0 {
		return s.outcomes[i].Load()
	}
	return 0
}

// Live counts the attempts that have not ended.
func (s *Stats) Live() int64 {
	return s.Attempts.Load() + s.Callers.Load() + s.Recovered.Load() - s.Ended.Load() - s.CallersEnded.Load() -
		s.Released.Load()
}
