package quota

import (
	"time"

	"dialler/engine"
	"dialler/engine/ownership"
)

const (
	// Apart lies between the last moment at which the owner of an identity acts
	// and the first at which another may: the margins of both (package ownership).
	Apart = 2 * time.Second

	// UseFor is how long after it was asked for a grant may be used: an INVITE
	// leaves before, or never. It is less than Apart.
	UseFor = 1500 * time.Millisecond
	// SeatsFor is how long after it was asked for an allotment of seats may be
	// dialled with; calls that are under way keep theirs.
	SeatsFor = 2 * time.Second
	// RenewSeats is how often an allotment is asked for anew.
	RenewSeats = 500 * time.Millisecond

	// Patience is how long an answer is waited for, RetryAfter when asking again
	// makes sense.
	Patience   = 700 * time.Millisecond
	RetryAfter = 300 * time.Millisecond
	// RepeatAfter is how often what is given back is told until it is confirmed.
	RepeatAfter = 500 * time.Millisecond
	// IdleAfter is how long nobody asks before the count is given up.
	IdleAfter = time.Minute

	// slack is for clocks that do not run equally fast.
	slack = 100 * time.Millisecond
)

// UseBy is the last moment for using what was asked for at a moment, both on the
// asker's boot-time clock.
func UseBy(asked engine.BootTime) engine.BootTime { return asked.Add(UseFor) }

// SeatsUntil is when an allotment that was asked for at a moment is dialled with
// no longer.
func SeatsUntil(asked engine.BootTime) engine.BootTime { return asked.Add(SeatsFor) }

// Before is what became of the keeper before.
type Before string

const (
	// Nobody kept the count, or it was given up, which happens once nothing that was
	// granted is unused any more (Unused).
	Nobody Before = "nobody"
	// RanOut: its lease ended.
	RanOut Before = "ran_out"
	// LeftIt: it left the cluster, perhaps a moment ago.
	LeftIt Before = "left"
)

// Unused is how long what a keeper has granted to others may be unused: nothing is
// begun on its word afterwards. A dial that relies on seats leaves UseFor after it
// was decided.
func Unused(kind ownership.Kind) time.Duration {
	if kind == ownership.Fleet {
		return SeatsFor + UseFor + slack
	}
	return UseFor + slack
}

// Settle is how long a new keeper waits after its claim before it counts what is
// in use.
func Settle(kind ownership.Kind, b Before) time.Duration {
	switch b {
	case Nobody:
		return 0
	case RanOut: // it was silent for so long already
		return max(Unused(kind)-Apart, 0)
	default:
		return Unused(kind)
	}
}

// End says how a node ended that is not there any more: one that leaves does so
// before its lease is over, one that is declared dead after it.
func End(n *ownership.Node) Before {
	if !n.Live && (n.LeftAt == nil || !n.LeftAt.Before(n.ExpiresAt)) {
		return RanOut
	}
	return LeftIt
}
