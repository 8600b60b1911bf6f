package trunk

import (
	"sync/atomic"
	"time"

	"dialler/actors/host"
	"dialler/actors/lease"
	"dialler/engine"
)

// Deps are what the trunks need.
type Deps struct {
	*host.System
	Reconcile time.Duration // how often leases are looked at
	Shared    lease.SharedCaps
	Owned     func(engine.LegID) bool // the actor of the leg's attempt lives here
	Stats     *Stats
}

// Stats are the figures of the trunks.
type Stats struct {
	Leases  atomic.Int64
	Down    atomic.Int64 // active trunks that take no calls as they should
	AllDown atomic.Bool  // no active trunk takes calls
}
