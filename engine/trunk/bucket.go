package trunk

import "time"

// catchUp is how much lateness of a caller the bucket makes up for, so that late timers do not
// reduce the rate. The interval is extended by it: then no half-open second contains more grants
// than the cap.
const catchUp = 20 * time.Millisecond

const (
	// throttleHold is how long a throttled rate stays before it grows again, throttleRecovery how
	// long the full rate takes to come back from nothing.
	throttleHold     = 5 * time.Second
	throttleRecovery = time.Minute
	// throttleGrace is the period in which refusals count as one overload: they arrive together.
	throttleGrace = time.Second
	// throttleBlock bounds how long a carrier's Retry-After stops the trunk.
	throttleBlock = time.Minute

	whole       = 1 << 16 // factor 1
	leastFactor = whole / 16
)

// bucket is the token bucket of new calls: the next grant is due one interval
// after the previous one (the generic cell rate algorithm; no token count, so
// no rounding).
type bucket struct {
	cap     int       // grants a second
	dueAt   time.Time // of the next grant, if callers come steadily
	blocked time.Time // no grant before then: the carrier's Retry-After

	factor   int       // share of the rate, of whole, when it was last throttled; 0 = never
	throttle time.Time // when that was
}

// full is the interval between two grants at the full rate.
func (b *bucket) full() time.Duration {
	return (time.Second + catchUp + time.Duration(b.cap) - 1) / time.Duration(b.cap) // rounded up: the cap is exact
}

// gap is the interval at which delayed legs leave: slightly less than that of grants, so that the
// backlog shrinks.
func (b *bucket) gap() time.Duration { return b.full() * 9 / 10 }

// resize changes the cap. The next grant is due as if the last one had been
// made under the new cap.
func (b *bucket) resize(n int) {
	if b.cap > 0 && !b.dueAt.IsZero() {
		b.dueAt = b.dueAt.Add(-b.full())
	}
	b.cap = n
	if !b.dueAt.IsZero() {
		b.dueAt = b.dueAt.Add(b.full())
	}
}

// open ends a stop by the carrier's Retry-After.
func (b *bucket) open() { b.blocked = time.Time{} }

// interval is the interval between two grants at the current rate.
func (b *bucket) interval(now time.Time) time.Duration {
	full := b.full()
	if f := b.share(now); f < whole {
		return full * whole / time.Duration(f)
	}
	return full
}

// share is the part of the rate that is granted now, of whole.
func (b *bucket) share(now time.Time) int {
	if b.factor == 0 {
		return whole
	}
	grown := now.Sub(b.throttle) - throttleHold
	if grown <= 0 {
		return b.factor
	}
	if grown >= throttleRecovery {
		return whole
	}
	return min(whole, b.factor+int(grown*whole/throttleRecovery))
}

// next is when the next grant may be made, now or later.
func (b *bucket) next(now time.Time) time.Time {
	at := b.dueAt.Add(-catchUp)
	if b.blocked.After(at) {
		at = b.blocked
	}
	if at.Before(now) {
		return now
	}
	return at
}

func (b *bucket) take(now time.Time) {
	if b.dueAt.Before(now) {
		b.dueAt = now
	}
	b.dueAt = b.dueAt.Add(b.interval(now))
}

// ready is how many grants could be made right now.
func (b *bucket) ready(now time.Time) int {
	if b.next(now).After(now) {
		return 0
	}
	due := b.dueAt
	if due.Before(now) {
		due = now
	}
	return int(now.Add(catchUp).Sub(due)/b.interval(now)) + 1
}

// shrink halves the rate after a refusal because of too many calls.
func (b *bucket) shrink(now time.Time, retryAfter time.Duration) {
	if until := now.Add(min(retryAfter, throttleBlock)); retryAfter > 0 && until.After(b.blocked) {
		b.blocked = until
	}
	if b.factor != 0 && now.Sub(b.throttle) < throttleGrace {
		return
	}
	b.factor = max(b.share(now)/2, leastFactor)
	b.throttle = now
}
