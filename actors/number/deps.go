package number

import (
	"context"
	"sync/atomic"
	"time"

	"dialler/actors/host"
	"dialler/actors/lease"
	"dialler/engine"
	"dialler/engine/numberpool"
)

// Store is what the numbers need from the database. Calls block and run outside Receive.
type Store interface {
	Numbers(ctx context.Context) ([]engine.NumberSettings, error)
	// NumberDials counts the dials since a given time from the numbers that have dial caps.
	NumberDials(ctx context.Context, since time.Time) ([]engine.NumberDials, error)
	// NumberEnds returns how the last calls of every number since a given time ended, at most most
	// for each, oldest first.
	NumberEnds(ctx context.Context, since time.Time, most int) ([]engine.NumberEnd, error)
	// QuarantineNumber takes a number out of use until an operator lifts that.
	QuarantineNumber(ctx context.Context, n engine.PhoneNumber) error
}

// Deps are the dependencies of the numbers.
type Deps struct {
	*host.System
	Store     Store
	Timeout   time.Duration // of a store call
	Reconcile time.Duration // interval of lease checks
	Shared    lease.SharedCaps
	Owned     func(engine.AttemptID) bool // whether the attempt's actor is here
	Edited    func(engine.PhoneNumber)    // called after caps were edited; must not block
	Stats     *Stats
}

// Stats are the metrics of the numbers.
type Stats struct {
	Leases      atomic.Int64
	Quarantined atomic.Int64
}

// Known is what the database knows of the numbers and their calls.
type Known struct {
	List []engine.NumberSettings
	Past []engine.NumberDials
	Ends []engine.NumberEnd
}

// endsMemory is how far back a number's ended calls are read.
const endsMemory = 30 * 24 * time.Hour

// Load reads the numbers and what is known of their calls.
func Load(ctx context.Context, s Store, now time.Time) (k Known, err error) {
	if k.List, err = s.Numbers(ctx); err != nil {
		return k, err
	}
	if k.Past, err = s.NumberDials(ctx, now.Add(-numberpool.Memory)); err != nil {
		return k, err
	}
	k.Ends, err = s.NumberEnds(ctx, now.Add(-endsMemory), numberpool.CallsKept)
	return k, err
}
