package trunk

import (
	"sync/atomic"
	"time"

	"dialler/actors/host"
	"dialler/actors/lease"
	"dialler/engine"
)

// Deps are the dependencies of the trunks.
type Deps struct {
	*host.System
	Reconcile time.Duration // interval of lease checks
	Shared    lease.SharedCaps
	Owned     func(engine.LegID) bool // whether the actor of the leg's attempt is here
	Stats     *Stats
}

// Stats are the metrics of the trunks.
type Stats struct {
	Leases  atomic.Int64
	Down    atomic.Int64                     // active trunks that cannot take calls
	AllDown atomic.Bool                      // whether no active trunk takes calls
	Lost    atomic.Pointer[[]engine.TrunkID] // the active trunks that are down by their signs of life
}
