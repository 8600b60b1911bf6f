package trunk

import (
	"slices"
	"time"

	"dialler/engine"
)

const (
	// perSecond is the period of the cap.
	perSecond = time.Second
	// lead is the longest time between a grant and the moment from which the leg's INVITE may
	// leave: what usually happens in between (a caller ID, the intent's commit) then costs no rate,
	// and legs that were delayed together are spaced again a second later.
	lead = 500 * time.Millisecond
)

// wire keeps the INVITEs within the cap. Legs that were granted at intervals may leave together,
// because a varying time passes in between. So each of the cap's tokens is reused only once it is
// known when the INVITE left that used it before, and the INVITE of its next leg leaves at least a
// second later.
type wire struct {
	// unsent are the granted legs that may still leave.
	unsent map[engine.LegID]allowance
	left   []time.Time // of the tokens not used again since, oldest first
	from   time.Time   // no leg leaves before this, when the last granted one may leave
}

// allowance is when a leg's INVITE may leave. With a zero until, Sent or Release ends it.
type allowance struct{ from, until time.Time }

// blind assumes nothing about what left within the last second.
func (w *wire) blind(now time.Time, gap time.Duration) { *w = wire{from: now.Add(perSecond - gap)} }

// free forgets INVITEs that left too long ago to matter, and legs that can no longer leave.
func (w *wire) free(now time.Time, limit int) {
	if w.used() >= limit {
		for leg, a := range w.unsent {
			if !a.until.IsZero() && !a.until.After(now) {
				w.gone(a.until, leg)
			}
		}
	}
	n := 0
	for n < len(w.left) && !w.left[n].Add(perSecond).After(now) {
		n++
	}
	w.left = w.left[n:]
}

// used is how many legs left within the last second, or may still leave.
func (w *wire) used() int { return len(w.unsent) + len(w.left) }

// tokens is the state of the cap's tokens: how many legs have one and may still leave, when the
// other legs left, and when the last granted one may.
type tokens struct {
	unsent int
	left   []time.Time
	from   time.Time
}

func (w *wire) tokens() tokens { return tokens{len(w.unsent), w.left, w.from} }

// take takes a token for one more leg; ok is false while no token comes back before another leg
// leaves. Delayed legs are spaced by the gap.
func (k tokens) take(limit int, gap time.Duration) (_ tokens, ok bool) {
	n := k.unsent + len(k.left) - limit + 1
	if n > len(k.left) {
		return k, false
	}
	from := k.from.Add(gap)
	if n > 0 {
		if at := k.left[n-1].Add(perSecond); at.After(from) {
			from = at
		}
		k.left = k.left[n:]
	}
	return tokens{k.unsent + 1, k.left, from}, true
}

// next is when a leg may be granted, now or later.
func (w *wire) next(now time.Time, limit int, gap time.Duration) time.Time {
	w.free(now, limit)
	k, ok := w.tokens().take(limit, gap)
	if !ok {
		return now.Add(perSecond - lead) // none of them leaves before now
	}
	if at := k.from.Add(-lead); at.After(now) {
		return at
	}
	return now
}

// ready is how many legs could be granted right now, at most `most`.
func (w *wire) ready(now time.Time, limit int, gap time.Duration, most int) (n int) {
	w.free(now, limit)
	for k, ok := w.tokens().take(limit, gap); ok && n < most && !k.from.Add(-lead).After(now); n++ {
		k, ok = k.take(limit, gap)
	}
	return n
}

// grant notes a leg that next allows.
func (w *wire) grant(leg engine.LegID, until time.Time, limit int, gap time.Duration) {
	k, ok := w.tokens().take(limit, gap)
	if !ok {
		return
	}
	if w.unsent == nil {
		w.unsent = map[engine.LegID]allowance{}
	}
	w.left, w.from = k.left, k.from
	w.unsent[leg] = allowance{w.from, until}
}

// gone notes when a leg left, or could no longer leave.
func (w *wire) gone(at time.Time, leg engine.LegID) {
	if _, ok := w.unsent[leg]; !ok {
		return
	}
	delete(w.unsent, leg)
	i, _ := slices.BinarySearchFunc(w.left, at, time.Time.Compare)
	w.left = slices.Insert(w.left, i, at)
}
