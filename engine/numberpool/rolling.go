package numberpool

import "time"

// rolling counts events of a rolling window in buckets: span whole buckets and the current one, so
// that nothing leaves the count too early.
type rolling struct {
	width  time.Duration
	counts []int
	head   int64 // number of the newest bucket since the epoch
	total  int
}

func newRolling(width time.Duration, span int) rolling {
	return rolling{width: width, counts: make([]int, span+1)}
}

func (r *rolling) bucket(t time.Time) int64 {
	n := t.UnixNano()
	b := n / int64(r.width)
	if n < 0 && n%int64(r.width) != 0 {
		b--
	}
	return b
}

func (r *rolling) slot(b int64) *int {
	n := int64(len(r.counts))
	return &r.counts[((b%n)+n)%n]
}

// advance clears the buckets that have left the window.
func (r *rolling) advance(b int64) {
	n := int64(len(r.counts))
	if b-r.head >= n {
		clear(r.counts)
		r.head, r.total = b, 0
		return
	}
	for r.head < b {
		r.head++
		c := r.slot(r.head)
		r.total -= *c
		*c = 0
	}
}

// add counts n events at t; an event older than the window is not counted.
func (r *rolling) add(t time.Time, n int) {
	b := r.bucket(t)
	r.advance(b)
	if r.head-b >= int64(len(r.counts)) {
		return
	}
	c := r.slot(b)
	if n < 0 {
		n = -min(-n, *c)
	}
	*c += n
	r.total += n
}

func (r *rolling) sum(now time.Time) int {
	r.advance(r.bucket(now))
	return r.total
}

// below returns the time from which the count is under the limit if nothing is added.
func (r *rolling) below(now time.Time, limit int) time.Time {
	total := r.sum(now)
	n := int64(len(r.counts))
	for b := r.head - n + 1; b <= r.head; b++ {
		total -= *r.slot(b)
		if total < limit {
			// Bucket b leaves the window when bucket b+n begins.
			return time.Unix(0, (b+n)*int64(r.width)).In(now.Location())
		}
	}
	return now
}
