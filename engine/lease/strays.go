package lease

import "time"

// strayAfter is how long nobody may own the attempt of a lease before the lease
// is taken back: whoever was to give it back faulted on that. It is long enough
// for an owner that loads itself from a database that is away.
const strayAfter = 10 * time.Minute

// Strays are leases whose attempts nobody owns, and since when.
type Strays[K ~string] struct{ since map[K]time.Time }

// Find gives the leases that are to be taken back.
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
