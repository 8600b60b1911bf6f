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
	// NumberDials counts the dials since a time from the numbers whose dials are
	// capped.
	NumberDials(ctx context.Context, since time.Time) ([]engine.NumberDials, error)
	// NumberEnds tells how the last calls of every number ended since a time, at
	// most so many of each, the oldest first.
	NumberEnds(ctx context.Context, since time.Time, most int) ([]engine.NumberEnd, error)
	// QuarantineNumber takes a number out of use until an operator ends that.
	QuarantineNumber(ctx context.Context, n engine.PhoneNumber) error
}

// Deps are what the numbers need.
type Deps struct {
	*host.System
	Store     Store
	Timeout   time.Duration // of a call of the store
	Reconcile time.Duration // how often leases are looked at
	Shared    lease.SharedCaps
	Owned     func(engine.AttemptID) bool // the attempt's actor lives here
	Edited    func(engine.PhoneNumber)    // hears of edited caps; must not block
	Stats     *Stats
}

// Stats are the figures of the numbers.
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

// endsMemory is how far back the ended calls of a number are looked for.
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
