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

// Settle is how long a new keeper waits after its claim before it counts what is
// in use: until nothing is begun any more on the word of the one before. A dial
// that relies on seats leaves UseFor after it was decided.
//
// ran says that the owner before lost its lease; else it gave the identity up,
// perhaps a moment ago. epoch is that of the claim: in the first there was nobody
// before.
func Settle(kind ownership.Kind, epoch int64, ran bool) time.Duration {
	if epoch <= 1 {
		return 0
	}
	wait := UseFor + slack
	if kind == ownership.Fleet {
		wait += SeatsFor
	}
	if ran {
		wait -= Apart
	}
	return max(wait, 0)
}

// RanOut says that a node's lease ended without its leaving: a node that leaves
// does so before its lease is over, one that is declared dead after it.
func RanOut(n *ownership.Node) bool {
	return !n.Live && (n.LeftAt == nil || !n.LeftAt.Before(n.ExpiresAt))
}
