package quota

import "time"

// strayAfter is how long the book and the database may differ about a use before the book is
// corrected: a use that was granted and never stored was not begun, and the end of a use is stored
// slightly later, or earlier.
const strayAfter = 15 * time.Second

// Strays compares the uses in a keeper's book with those that are open in the database. The zero
// value has seen nothing.
type Strays[K comparable] struct {
	seen  map[K]struct{}  // held, and open at the last comparison
	since map[K]time.Time // since when the two differ
}

// Look compares what is held with what was open when the database was read, at
// or after now: drop is held and certainly over, add is open and not held.
func (s *Strays[K]) Look(now time.Time, held []K, open map[K]struct{}) (drop, add []K) {
	seen, since := make(map[K]struct{}, len(held)), map[K]time.Time{}
	here := make(map[K]struct{}, len(held))
	differs := func(k K) bool {
		at, known := s.since[k]
		if !known {
			at = now
		}
		since[k] = at
		return now.Sub(at) >= strayAfter
	}
	for _, k := range held {
		here[k] = struct{}{}
		if _, ok := open[k]; ok {
			seen[k] = struct{}{}
			continue
		}
		if _, was := s.seen[k]; was || differs(k) {
			drop = append(drop, k)
		}
	}
	for k := range open {
		if _, ok := here[k]; !ok && differs(k) {
			add = append(add, k)
			seen[k] = struct{}{}
		}
	}
	s.seen, s.since = seen, since
	return drop, add
}
