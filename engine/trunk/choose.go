package trunk

import (
	"slices"
	"time"

	"dialler/engine"
)

// Candidate is a trunk in the form needed for a choice.
type Candidate struct {
	ID         engine.TrunkID
	Priority   int // lower is tried first
	Weight     int // share among equal priority
	Health     Health
	Available  bool
	Constraint engine.Constraint // why not
	RetryAt    time.Time         // when to ask again, zero if that depends on others
}

// Down says whether the trunk is known to take no calls. One that is unproven may well take them.
func (c *Candidate) Down() bool {
	return !c.Available && c.Constraint == engine.ConstraintTrunkHealth && c.Health != Unproven
}

// Refusal says why no trunk can take a call, and when to ask again; RetryAt is
// zero when that depends on others.
type Refusal struct {
	Constraint engine.Constraint
	RetryAt    time.Time
}

// Draw is the random number by which Choose picks a trunk for a call: always the same one for the nth
// try of whoever is named. Who has to ask again asks the same trunk, else the shares of trunks would
// be those of their tokens and not of their weights.
func Draw(name string, n int) uint64 {
	x := uint64(14695981039346656037) // FNV-1a, and what its low bits lack
	for i := range len(name) {
		x = (x ^ uint64(name[i])) * 1099511628211
	}
	x ^= uint64(n) //nolint:gosec // any number will do
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// Choose picks, by weight, a trunk among those of the best priority that can take a call now;
// random decides (Draw). A trunk that is full, or at its CPS cap, is passed over for the
// next priority. ok is false when none is left; the refusal is then the most hopeful one: CPS
// before channels before health.
func Choose(trunks []Candidate, exclude []engine.TrunkID, random uint64) (id engine.TrunkID, r Refusal, ok bool) {
	best, total := 0, uint64(0)
	r.Constraint = engine.ConstraintTrunkHealth
	for i := range trunks {
		c := &trunks[i]
		if slices.Contains(exclude, c.ID) {
			continue
		}
		if !c.Available {
			r = r.Or(c.Constraint, c.RetryAt)
			continue
		}
		if total == 0 || c.Priority < best {
			best, total = c.Priority, 0
		}
		if c.Priority == best {
			total += weight(c)
		}
	}
	if total == 0 {
		return "", r, false
	}
	pick := random % total
	for i := range trunks {
		c := &trunks[i]
		if !c.Available || c.Priority != best || slices.Contains(exclude, c.ID) {
			continue
		}
		if w := weight(c); pick >= w {
			pick -= w
			continue
		}
		return c.ID, Refusal{}, true
	}
	return "", r, false
}

func weight(c *Candidate) uint64 { return uint64(max(c.Weight, 1)) }

// Or combines the refusals of several trunks: the most hopeful reason, and the earliest time for
// that reason.
func (r Refusal) Or(c engine.Constraint, retryAt time.Time) Refusal {
	have, next := hope(r.Constraint), hope(c)
	if r.Constraint == "" || next > have {
		return Refusal{c, retryAt}
	}
	if next == have && !retryAt.IsZero() && (r.RetryAt.IsZero() || retryAt.Before(r.RetryAt)) {
		r.RetryAt = retryAt
	}
	return r
}

func hope(c engine.Constraint) int {
	switch c {
	case engine.ConstraintTrunkCPS:
		return 2
	case engine.ConstraintTrunkChannels:
		return 1
	default: // all others alike
		return 0
	}
}
