package pacing

import "time"

// SeatedAfterAbandon is how long an abandoned number is only dialled with a worker held for it, in
// any campaign (SEMANTICS §3): nobody is abandoned twice within that time except by a loss of
// workers.
const SeatedAfterAbandon = 72 * time.Hour

// NeedsSeat says whether a number abandoned at a given time may only be dialled with a worker held;
// a zero time means never abandoned.
func NeedsSeat(abandoned, now time.Time) bool {
	return !abandoned.IsZero() && now.Before(abandoned.Add(SeatedAfterAbandon))
}
