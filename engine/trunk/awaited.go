package trunk

import (
	"slices"
	"time"

	"dialler/engine"
)

// awaitGrace is how long after its time a waiting leg may come back for its token; after that it
// has given up.
const awaitGrace = 250 * time.Millisecond

// awaited are the legs that wait for a token in the middle of their attempts, first come first
// served: another trunk refused them, or they are for a transfer. They get the next tokens, because
// a new attempt loses nothing by waiting.
type awaited []waiting

type waiting struct {
	leg   engine.LegID
	until time.Time
}

// later says that a leg is not the first of its attempt.
func later(leg engine.LegID) bool {
	_, n, ok := leg.Attempt()
	return ok && n > 1
}

func (a *awaited) forget(gone func(waiting) bool) { *a = slices.DeleteFunc(*a, gone) }

// place gives a leg its place, or its old one if it has one, and returns when its token comes.
func (a *awaited) place(leg engine.LegID, next time.Time, interval time.Duration) time.Time {
	i := slices.IndexFunc(*a, func(w waiting) bool { return w.leg == leg })
	if i < 0 {
		i = len(*a)
		*a = append(*a, waiting{leg: leg})
	}
	next = next.Add(time.Duration(i) * interval)
	(*a)[i].until = next.Add(awaitGrace)
	return next
}

// token is when a leg may take a token, now or later.
func (t *Trunk) token(now time.Time, leg engine.LegID) time.Time {
	t.awaited.forget(func(w waiting) bool { return w.until.Before(now) })
	at := t.next(now)
	switch n := len(t.awaited); {
	case later(leg) && at.After(now):
		return t.awaited.place(leg, at, t.bucket.interval(now))
	case later(leg):
		t.awaited.forget(func(w waiting) bool { return w.leg == leg })
	case n > 0 && (at.After(now) || t.ready(now, n+1) <= n):
		return at.Add(time.Duration(n) * t.bucket.interval(now))
	}
	return at
}

// ready is how many tokens could be taken right now, at most `most`.
func (t *Trunk) ready(now time.Time, most int) int {
	return t.wire.ready(now, t.settings.CPSCap, t.bucket.gap(), min(t.bucket.ready(now), most))
}
