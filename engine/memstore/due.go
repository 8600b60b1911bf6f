package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/contact"
)

// queue holds the contacts that wait for a dial in one run. Each due class, within the class of
// retries each attempt number, and each priority is a group of its own, within which contact.Order
// always sorts by due time and position; first attempts sort by position alone.
type queue struct {
	groups []*group
	until  int64 // the latest time of any query
}

// group holds the contacts of one class, attempt number and priority, by due time.
type group struct {
	class               contact.DueClass
	attempt, precedence int
	rows                index[*row]
	ready               index[*row] // the first attempts that are due at queue.until
}

func (q *queue) group(c *contact.Contact) *group {
	g := group{class: c.DueClass, precedence: c.Precedence}
	if g.class == contact.DueRetry {
		g.attempt = c.Used
	}
	i, ok := slices.BinarySearchFunc(q.groups, &g, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.attempt, b.attempt),
			cmp.Compare(a.precedence, b.precedence))
	})
	if !ok {
		q.groups = slices.Insert(q.groups, i, &g)
	}
	return q.groups[i]
}

func (q *queue) add(r *row) {
	at, g := r.c.DueAt.UnixNano(), q.group(&r.c)
	g.rows.add(at, r.c.Position, r)
	if r.c.DueClass == contact.DueFirst && at <= q.until {
		g.ready.add(0, r.c.Position, r)
	}
}

func (q *queue) remove(r *row) {
	at, g := r.c.DueAt.UnixNano(), q.group(&r.c)
	g.rows.remove(at, r.c.Position, r)
	if r.c.DueClass == contact.DueFirst && at <= q.until {
		g.ready.remove(0, r.c.Position, r)
	}
}

// all yields every waiting contact, group by group.
func (q *queue) all(yield func(*row) bool) {
	for _, g := range q.groups {
		for e := range g.rows.from(minKey) {
			if !yield(e.of) {
				return
			}
		}
	}
}

func (q *queue) empty() bool {
	return !slices.ContainsFunc(q.groups, func(g *group) bool { return g.rows.size > 0 })
}

// advance moves contacts due by now to ready.
func (q *queue) advance(now int64) {
	if now <= q.until {
		return
	}
	for _, g := range q.groups {
		if g.class != contact.DueFirst {
			continue
		}
		for e := range g.rows.from(q.until + 1) {
			if e.at > now {
				break
			}
			g.ready.add(0, e.place, e.of)
		}
	}
	q.until = now
}

// lane is a part of a queue in dialling order, and its next contact.
type lane struct {
	cursor[*row]
	head *row
}

// due returns the first contacts of the queue, except those that leave selects.
func (q *queue) due(order contact.Order, limit int, leave func(*row) bool) []contact.Contact {
	now := order.Now.UnixNano()
	q.advance(now)
	forward := func(l *lane) {
		for e := l.next(); e != nil; e = l.next() {
			r := e.of
			switch later := r.c.DueAt.UnixNano() > now; {
			case later && r.c.DueClass == contact.DueFirst: // the clock went back
			case later:
				l.head = nil
				return
			case !leave(r):
				l.head = r
				return
			}
		}
		l.head = nil
	}
	lanes := make([]lane, 0, len(q.groups))
	waiting := 0
	for _, g := range q.groups {
		of := &g.rows
		if g.class == contact.DueFirst {
			of = &g.ready
		}
		waiting += of.size
		l := lane{cursor: of.cursor(minKey)}
		if forward(&l); l.head != nil {
			lanes = append(lanes, l)
		}
	}
	list := make([]contact.Contact, 0, max(0, min(limit, waiting)))
	for len(list) < limit && len(lanes) > 0 {
		first := 0
		for i := 1; i < len(lanes); i++ {
			if order.Before(&lanes[i].head.c, &lanes[first].head.c) {
				first = i
			}
		}
		l := &lanes[first]
		list = append(list, l.head.c)
		if forward(l); l.head == nil {
			lanes = slices.Delete(lanes, first, first+1)
		}
	}
	return list
}

// DueContacts returns up to limit contacts that are due at order.Now, in that order. It leaves out
// contacts that have a live attempt, are in except, or have a held number; suppressed ones are
// included.
func (s *Roster) DueContacts(_ context.Context, id engine.CampaignID, run int, order contact.Order, limit int,
	except []engine.ContactID) ([]contact.Contact, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	order.Now = order.Now.Round(0) // stored times have no monotonic clock
	b := s.books[id]
	if b == nil || b.runs[run] == nil {
		return nil, nil
	}
	s.asked++
	for _, id := range except {
		if r := s.rows[id]; r != nil {
			r.left = s.asked
		}
	}
	return b.runs[run].queue.due(order, limit, func(r *row) bool {
		return r.left == s.asked || s.held(r.c.NextNumber(), order.Now)
	}), nil
}

// NextDue is the earliest due time of any contact of the run that waits for a dial, nil if there is
// none. open counts the contacts that are not final: they wait for a dial, have a live attempt, or
// await a result.
func (s *Roster) NextDue(_ context.Context, id engine.CampaignID, run int) (next *time.Time, open int, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[id]
	if b == nil || b.runs[run] == nil {
		return nil, 0, nil
	}
	for _, g := range b.runs[run].queue.groups {
		if e := g.rows.first(); e != nil && (next == nil || e.of.c.DueAt.Before(*next)) {
			next = e.of.c.DueAt
		}
	}
	if next != nil {
		at := *next
		next = &at
	}
	return next, b.runs[run].open, nil
}

// Callable says whether a contact of the run waits for a dial that neither a suppression nor its
// expiry forbids, or has a call or a result outstanding.
func (s *Roster) Callable(_ context.Context, id engine.CampaignID, run int, now time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[id]
	if b == nil {
		return false, nil
	}
	for _, r := range b.rows {
		c := &r.c
		busy := c.Attempt != "" || c.ResultDueAt != nil
		if c.Run == run && c.Open() && (busy || c.DueAt != nil && !c.Expired(now) && !c.StopsFor(s.suppressed)) {
			return true, nil
		}
	}
	return false, nil
}

// Exhausted says whether a contact of the run failed because it used up its attempts.
func (s *Roster) Exhausted(_ context.Context, id engine.CampaignID, run int) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[id]
	return b != nil && b.runs[run] != nil && b.runs[run].exhausted > 0, nil
}

// Expired lists contacts that wait for a dial and have expired, the earliest first, and when the next
// one does.
func (s *Roster) Expired(_ context.Context, id engine.CampaignID, run int, now time.Time,
	limit int) (list []contact.Contact, next *time.Time, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[id]
	if b == nil || b.runs[run] == nil {
		return nil, nil, nil
	}
	for e := range b.runs[run].expiring.from(minKey) {
		switch at := *e.of.c.ExpiresAt; {
		case at.After(now):
			return list, &at, nil
		case len(list) < limit:
			list = append(list, e.of.c)
		}
	}
	return list, nil, nil
}

// ResultsOverdue lists contacts whose result time-out has passed, the earliest
// first.
func (s *Roster) ResultsOverdue(_ context.Context, id engine.CampaignID, now time.Time,
	limit int) ([]contact.Contact, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[id]
	if b == nil {
		return nil, nil
	}
	var list []contact.Contact
	for e := range b.results.from(minKey) {
		if len(list) == limit || e.at > now.UnixNano() {
			break
		}
		list = append(list, e.of.c)
	}
	return list, nil
}
