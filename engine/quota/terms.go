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

	// UseFor is how long after the request a grant may be used: an INVITE leaves within it, or
	// never. It is less than Apart.
	UseFor = 1500 * time.Millisecond
	// UseMargin is how much of it an intent and its INVITE need: with less left it is asked anew.
	UseMargin = UseFor / 2
	// SeatsFor is how long after the request an allotment of seats may be used for dials; calls in
	// progress keep theirs.
	SeatsFor = 2 * time.Second
	// RenewSeats is the interval at which an allotment is renewed.
	RenewSeats = 500 * time.Millisecond

	// Patience is how long to wait for an answer, RetryAfter when asking again makes sense.
	Patience   = 700 * time.Millisecond
	RetryAfter = 300 * time.Millisecond
	// RepeatAfter is the interval at which a return is repeated until it is confirmed.
	RepeatAfter = 500 * time.Millisecond
	// IdleAfter is how long nobody asks before the count is given up.
	IdleAfter = time.Minute

	// slack allows for clocks that run at different speeds.
	slack = 100 * time.Millisecond
)

// UseBy is the last moment for using a grant requested at the given time, both on the requester's
// boot-time clock.
func UseBy(asked engine.BootTime) engine.BootTime { return asked.Add(UseFor) }

// SeatsUntil is when an allotment requested at the given time may no longer be used for dials.
func SeatsUntil(asked engine.BootTime) engine.BootTime { return asked.Add(SeatsFor) }

// Before is how the previous keeper ended.
type Before string

const (
	// Nobody means that no node kept the count, or that it was given up, which happens only when no
	// grant is left unused (Unused).
	Nobody Before = "nobody"
	// RanOut means that its lease expired.
	RanOut Before = "ran_out"
	// LeftIt means that it left the cluster, perhaps a moment ago.
	LeftIt Before = "left"
)

// Unused is how long a keeper's grants to others may stay unused: after that nothing begins on
// their basis. A dial that relies on seats leaves within UseFor of its decision.
func Unused(kind ownership.Kind) time.Duration {
	if kind == ownership.Fleet {
		return SeatsFor + UseFor + slack
	}
	return UseFor + slack
}

// Settle is how long a new keeper waits after its claim before it counts the uses.
func Settle(kind ownership.Kind, b Before) time.Duration {
	switch b {
	case Nobody:
		return 0
	case RanOut: // it has already been silent for Apart
		return max(Unused(kind)-Apart, 0)
	default:
		return Unused(kind)
	}
}

// End says how a node that is gone ended: one that leaves does so before its lease is over, one
// that is declared dead after it.
func End(n *ownership.Node) Before {
	if !n.Live && (n.LeftAt == nil || !n.LeftAt.Before(n.ExpiresAt)) {
		return RanOut
	}
	return LeftIt
}
