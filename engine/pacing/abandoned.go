package pacing

import "time"

// SeatedAfterAbandon is how long a number that was abandoned is only dialled
// with a worker held for it, in any campaign (SEMANTICS §3): nobody is abandoned
// twice within that time but by a loss of workers.
const SeatedAfterAbandon = 72 * time.Hour

// NeedsSeat says whether a number that was abandoned at a time may only be
// dialled with a worker held; zero: it never was.
func NeedsSeat(abandoned, now time.Time) bool {
	return !abandoned.IsZero() && now.Before(abandoned.Add(SeatedAfterAbandon))
}
