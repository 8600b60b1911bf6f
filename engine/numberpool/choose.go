package numberpool

import (
	"time"

	"dialler/engine"
)

// Candidate is a number of a pool in the form needed for a choice.
type Candidate struct {
	Number     engine.PhoneNumber
	AreaKey    string // from engine/number
	CountryKey string
	UsedAt     time.Time // zero: never used
	Refusal    Refusal
	Available  bool
}

// Candidate returns the slot's current state for a choice.
func (s *Slot) Candidate(now time.Time, areaKey, countryKey string) Candidate {
	r, ok := s.Check(now)
	return Candidate{Number: s.number, AreaKey: areaKey, CountryKey: countryKey, UsedAt: s.usedAt, Refusal: r,
		Available: ok}
}

// Want is what a contact requires of its caller ID.
type Want struct {
	// Sticky is the number that called the contact before, "" if that does not matter. It is a
	// preference: a contact waits for no number.
	Sticky engine.PhoneNumber
	// LocalMatch prefers a number of the contact's area, then of its country.
	LocalMatch bool
	AreaKey    string // of the contact
	CountryKey string
}

// Choose picks the number to call from, by its index: the sticky one, else the best local match,
// else the least recently used; the lower number breaks ties, so that equal pools choose equally.
// If none is available, i is −1 and the refusal is the one that ends first.
func Choose(pool []Candidate, want Want) (i int, r Refusal) {
	i = -1
	var best *Candidate
	for k := range pool {
		c := &pool[k]
		if !c.Available {
			continue
		}
		if want.Sticky != "" && c.Number == want.Sticky {
			return k, Refusal{}
		}
		if best == nil || better(c, best, &want) {
			i, best = k, c
		}
	}
	if i >= 0 {
		return i, Refusal{}
	}
	for k := range pool {
		c := &pool[k].Refusal
		if k == 0 || sooner(c, &r) {
			r = *c
		}
	}
	return -1, r
}

func better(a, b *Candidate, want *Want) bool {
	if want.LocalMatch {
		if la, lb := local(a, want), local(b, want); la != lb {
			return la > lb
		}
	}
	if !a.UsedAt.Equal(b.UsedAt) {
		return a.UsedAt.Before(b.UsedAt)
	}
	return a.Number < b.Number
}

// local is 2 for the same area, 1 for the same country, 0 for neither. A number without an area has
// its country as area key, so that two mobile numbers of a country match fully.
func local(c *Candidate, want *Want) int {
	switch {
	case c.AreaKey != "" && c.AreaKey == want.AreaKey:
		return 2
	case c.CountryKey != "" && c.CountryKey == want.CountryKey:
		return 1
	}
	return 0
}

// sooner prefers the refusal that ends first; one without a time (a call must end) precedes one
// with a time unless its state forbids the number.
func sooner(a, b *Refusal) bool {
	if (a.Cap == CapState) != (b.Cap == CapState) {
		return b.Cap == CapState
	}
	if a.NextAt.IsZero() || b.NextAt.IsZero() {
		return a.NextAt.IsZero() && !b.NextAt.IsZero()
	}
	return a.NextAt.Before(b.NextAt)
}
