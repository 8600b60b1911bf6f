package sim

import (
	"time"

	"dialler/engine/contact"
)

// place is a contact in a heap, with what its order needs; it is out of date
// when the row has another version by now.
type place struct {
	key         int64 // when it is due
	i           int32
	version     int32
	class, used uint8
}

// fill makes a contact of what the order of dialling needs.
func (p *place) fill(c *contact.Contact, due *time.Time) {
	c.DueClass, c.Position, c.Used = contact.DueClass(p.class), int64(p.i)+1, int(p.used)
	*due = time.Unix(0, p.key)
	c.DueAt = due
}

// heap of places in any order.
type heap struct {
	s      []place
	before func(a, b *place) bool
}

func byTime(a, b *place) bool { return a.key < b.key || a.key == b.key && a.i < b.i }

func (h *heap) push(p place) {
	h.s = append(h.s, p)
	for i := len(h.s) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.before(&h.s[i], &h.s[up]) {
			break
		}
		h.s[i], h.s[up] = h.s[up], h.s[i]
		i = up
	}
}

func (h *heap) pop() place {
	top := h.s[0]
	n := len(h.s) - 1
	h.s[0] = h.s[n]
	h.s = h.s[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			return top
		}
		if c+1 < n && h.before(&h.s[c+1], &h.s[c]) {
			c++
		}
		if !h.before(&h.s[c], &h.s[i]) {
			return top
		}
		h.s[i], h.s[c] = h.s[c], h.s[i]
		i = c
	}
}

// agenda is which contacts wait for a dial: those that are due in the order of
// dialling, the others by their time, and the results that are owed.
type agenda struct {
	b       *book
	later   heap    // not due yet, by time
	ready   heap    // due, in order
	retries heap    // due retries by time, of campaigns that never end
	aside   heap    // due, but for them a seat must be held
	results heap    // by when they time out
	noted   []int32 // the version in which each row is in a heap of dials, 0: none
	now     int64   // as last asked
	overdue time.Duration
	x, y    contact.Contact
	dx, dy  time.Time
}

func newAgenda(b *book, overdue time.Duration) *agenda {
	a := &agenda{b: b, overdue: overdue}
	a.later.before, a.retries.before, a.results.before = byTime, byTime, byTime
	order := func(p, q *place) bool {
		p.fill(&a.x, &a.dx)
		q.fill(&a.y, &a.dy)
		return contact.Order{}.Before(&a.x, &a.y)
	}
	a.ready.before, a.aside.before = order, order
	return a
}

// note takes a row in as it is stored now.
func (a *agenda) note(i int32) {
	r := &a.b.rows[i]
	for int(i) >= len(a.noted) {
		a.noted = append(a.noted, make([]int32, len(a.b.rows)-len(a.noted))...)
	}
	if a.b.waits(i) && a.noted[i] != r.version {
		a.noted[i] = r.version
		p := place{r.dueAt, i, r.version, r.dueClass, r.used}
		if p.key <= a.now {
			a.turn(p)
		} else {
			a.later.push(p)
		}
	}
	if r.resultDueAt != 0 && !r.hasAttempt {
		a.results.push(place{key: r.resultDueAt, i: i, version: r.version})
	}
}

// stale: the contact has changed since.
func (a *agenda) stale(p *place) bool { return a.b.rows[p.i].version != p.version || !a.b.waits(p.i) }

// due moves what has become due by now.
func (a *agenda) due(now time.Time) {
	a.now = now.UnixNano()
	for len(a.later.s) > 0 && a.later.s[0].key <= a.now {
		if p := a.later.pop(); !a.stale(&p) {
			a.turn(p)
		}
	}
}

// turn: the contact is due.
func (a *agenda) turn(p place) {
	a.ready.push(p)
	if a.overdue > 0 && contact.DueClass(p.class) == contact.DueRetry {
		a.retries.push(p)
	}
}

// next is when the next contact becomes due; ok is false when none waits.
func (a *agenda) next() (at time.Time, ok bool) {
	for len(a.later.s) > 0 && a.stale(&a.later.s[0]) {
		a.later.pop()
	}
	if len(a.later.s) == 0 {
		return time.Time{}, false
	}
	return time.Unix(0, a.later.s[0].key).UTC(), true
}

// head is the contact to be dialled next; with a seat at hand those too that
// stand aside.
func (a *agenda) head(now time.Time, seat bool) (h *heap, ok bool) {
	order := contact.Order{Now: now, Overdue: a.overdue}
	try := func(k *heap) {
		for len(k.s) > 0 && a.stale(&k.s[0]) {
			k.pop()
		}
		if len(k.s) == 0 {
			return
		}
		if ok {
			k.s[0].fill(&a.x, &a.dx)
			h.s[0].fill(&a.y, &a.dy)
			if !order.Before(&a.x, &a.y) {
				return
			}
		}
		h, ok = k, true
	}
	try(&a.ready)
	if a.overdue > 0 {
		try(&a.retries)
	}
	if seat {
		try(&a.aside)
	}
	return h, ok
}

// take takes the head of a heap; the contact is noted again when it comes to
// rest, or put back.
func (a *agenda) take(h *heap) place {
	p := h.pop()
	a.noted[p.i] = 0
	return p
}

// back puts a contact back that was taken in vain, or sets it aside.
func (a *agenda) back(h *heap, p place) {
	a.noted[p.i] = p.version
	h.push(p)
}

// counts are how many are due, and how many of them stand aside; those out of
// date may be among them.
func (a *agenda) counts() (due, aside int) { return len(a.ready.s) + len(a.aside.s), len(a.aside.s) }
