package lease

import "time"

// strayAfter is how long a lease's attempt may have no owner before the lease is taken back,
// because whoever should have returned it failed to. It is long enough for an owner that is loading
// while the database is unavailable.
const strayAfter = 10 * time.Minute

// Strays are leases whose attempts have no owner, and since when.
type Strays[K ~string] struct{ since map[K]time.Time }

// Find returns the leases to be taken back.
func (s *Strays[K]) Find(now time.Time, holders []K, owned func(K) bool) (gone []K) {
	still := make(map[K]time.Time)
	for _, k := range holders {
		if owned(k) {
			continue
		}
		at, known := s.since[k]
		if !known {
			at = now
		}
		if now.Sub(at) >= strayAfter {
			gone = append(gone, k)
			continue
		}
		still[k] = at
	}
	s.since = still
	return gone
}
