package actors

import (
	"container/heap"

	"dialler/engine"
	"dialler/engine/contact"
)

// dueQueue is the run's look-ahead: due contacts in dialling order. Those that
// wait for a seat of their own stand aside, so that they hold nobody up.
type dueQueue struct {
	rows, aside *dueHeap // by contact.Order without the overdue
	retries     *dueHeap // those of rows that are retries, the one due first foremost
	byID        map[engine.ContactID]*queuedContact
}

type queuedContact struct {
	row   contact.Contact
	place [2]int // in the heap of all, and in that of retries
	aside bool
}

func newDueQueue() dueQueue {
	inOrder := func(a, b *contact.Contact) bool { return contact.Order{}.Before(a, b) }
	byTime := func(a, b *contact.Contact) bool {
		if !a.DueAt.Equal(*b.DueAt) {
			return a.DueAt.Before(*b.DueAt)
		}
		return a.Position < b.Position
	}
	return dueQueue{rows: &dueHeap{before: inOrder}, aside: &dueHeap{before: inOrder}, retries: &dueHeap{before: byTime, slot: 1},
		byID: map[engine.ContactID]*queuedContact{}}
}

func (q *dueQueue) len() int { return len(q.byID) }

func (q *dueQueue) push(c contact.Contact) { q.add(c, false) }

// setAside keeps a contact until there is a seat for it.
func (q *dueQueue) setAside(c contact.Contact) { q.add(c, true) }

func (q *dueQueue) add(c contact.Contact, aside bool) {
	if _, ok := q.byID[c.ID]; ok {
		return
	}
	e := &queuedContact{row: c, aside: aside}
	q.byID[c.ID] = e
	if aside {
		heap.Push(q.aside, e)
		return
	}
	heap.Push(q.rows, e)
	if e.retry() {
		heap.Push(q.retries, e)
	}
}

func (e *queuedContact) retry() bool {
	return !e.aside && e.row.DueClass == contact.DueRetry && e.row.DueAt != nil
}

// head is the next contact, nil when there is none; with a seat at hand, of
// those too that stand aside.
func (q *dueQueue) head(o contact.Order, seat bool) *contact.Contact {
	if e := q.first(o, seat); e != nil {
		return &e.row
	}
	return nil
}

func (q *dueQueue) first(o contact.Order, seat bool) (e *queuedContact) {
	choose := func(h *dueHeap) {
		if len(h.list) > 0 && (e == nil || o.Before(&h.list[0].row, &e.row)) {
			e = h.list[0]
		}
	}
	choose(q.rows)
	if len(q.retries.list) > 0 && o.Promoted(&q.retries.list[0].row) {
		choose(q.retries)
	}
	if seat {
		choose(q.aside)
	}
	return e
}

// pop takes the head.
func (q *dueQueue) pop(o contact.Order, seat bool) (c contact.Contact, ok bool) {
	e := q.first(o, seat)
	if e == nil {
		return c, false
	}
	return q.take(e.row.ID)
}

// take removes a contact that is touched by something else than its turn.
func (q *dueQueue) take(id engine.ContactID) (contact.Contact, bool) {
	e, ok := q.byID[id]
	if !ok {
		return contact.Contact{}, false
	}
	delete(q.byID, id)
	if e.aside {
		heap.Remove(q.aside, e.place[0])
		return e.row, true
	}
	heap.Remove(q.rows, e.place[0])
	if e.retry() {
		heap.Remove(q.retries, e.place[1])
	}
	return e.row, true
}

func (q *dueQueue) clear() { *q = newDueQueue() }

// dueHeap implements heap.Interface.
type dueHeap struct {
	list   []*queuedContact
	before func(a, b *contact.Contact) bool
	slot   int // of the contacts' places
}

func (h *dueHeap) Len() int           { return len(h.list) }
func (h *dueHeap) Less(i, j int) bool { return h.before(&h.list[i].row, &h.list[j].row) }
func (h *dueHeap) Swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	h.list[i].place[h.slot], h.list[j].place[h.slot] = i, j
}
func (h *dueHeap) Push(x any) {
	e := x.(*queuedContact)
	e.place[h.slot] = len(h.list)
	h.list = append(h.list, e)
}
func (h *dueHeap) Pop() any {
	e := h.list[len(h.list)-1]
	h.list[len(h.list)-1] = nil
	h.list = h.list[:len(h.list)-1]
	return e
}
