// Package lease is a book of leases: who holds one unit of something, until when. Number slots,
// trunk channels and seats keep one each, so that "held = Σ live leases" is true by construction.
//
// What it must not know: what is leased, and how many units exist.
//
// Invariants: a holder has at most one lease; an expired lease stays held until Expire sees it, so
// that its owner notices and can report it.
package lease

import (
	"slices"
	"time"
)

// Book keeps the leases of one resource. The zero value is an empty book.
type Book[K ~string] struct {
	until map[K]time.Time
}

// Take gives the holder a lease until now+ttl, or renews its present one; fresh is false in the
// second case.
func (b *Book[K]) Take(now time.Time, holder K, ttl time.Duration) (fresh bool) {
	if b.until == nil {
		b.until = make(map[K]time.Time)
	}
	_, had := b.until[holder]
	b.until[holder] = now.Add(ttl)
	return !had
}

// Renew makes the holder's lease end at now+ttl; ok is false when it has none.
func (b *Book[K]) Renew(now time.Time, holder K, ttl time.Duration) (ok bool) {
	if _, ok = b.until[holder]; ok {
		b.until[holder] = now.Add(ttl)
	}
	return ok
}

// Release ends the holder's lease; ok is false if it has none, for example because it expired.
func (b *Book[K]) Release(holder K) (ok bool) {
	_, ok = b.until[holder]
	delete(b.until, holder)
	return ok
}

// Has says whether the holder has a lease.
func (b *Book[K]) Has(holder K) bool {
	_, ok := b.until[holder]
	return ok
}

// Held is the number of leases.
func (b *Book[K]) Held() int { return len(b.until) }

// Earliest is when the first lease expires; zero if there is none.
func (b *Book[K]) Earliest() time.Time {
	var first time.Time
	for _, t := range b.until {
		if first.IsZero() || t.Before(first) {
			first = t
		}
	}
	return first
}

// Expire ends the expired leases and returns their holders, sorted.
func (b *Book[K]) Expire(now time.Time) []K {
	var gone []K
	for k, t := range b.until {
		if !t.After(now) {
			gone = append(gone, k)
		}
	}
	for _, k := range gone {
		delete(b.until, k)
	}
	slices.Sort(gone)
	return gone
}

// Holders returns all holders, sorted.
func (b *Book[K]) Holders() []K {
	all := make([]K, 0, len(b.until))
	for k := range b.until {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}
