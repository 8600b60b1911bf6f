package actors

import (
	"container/heap"

	"dialler/engine"
	"dialler/engine/contact"
)

// dueQueue is the run's look-ahead: due contacts in dialling order. Those that
// wait for a seat of their own stand aside, so that they hold nobody up.
type dueQueue struct {
	rows, aside dueHeap
	byID        map[engine.ContactID]*queuedContact
}

type queuedContact struct {
	row   contact.Contact
	index int
	aside bool
}

func newDueQueue() dueQueue { return dueQueue{byID: map[engine.ContactID]*queuedContact{}} }

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
	heap.Push(q.heap(e), e)
}

func (q *dueQueue) heap(e *queuedContact) *dueHeap {
	if e.aside {
		return &q.aside
	}
	return &q.rows
}

// head is the next contact, nil when there is none; with a seat at hand, of
// those too that stand aside.
func (q *dueQueue) head(seat bool) *contact.Contact {
	if e := q.first(seat); e != nil {
		return &e.row
	}
	return nil
}

func (q *dueQueue) first(seat bool) *queuedContact {
	switch {
	case seat && len(q.aside) > 0 && (len(q.rows) == 0 || contact.Before(&q.aside[0].row, &q.rows[0].row)):
		return q.aside[0]
	case len(q.rows) > 0:
		return q.rows[0]
	}
	return nil
}

// pop takes the head.
func (q *dueQueue) pop(seat bool) (c contact.Contact, ok bool) {
	e := q.first(seat)
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
	heap.Remove(q.heap(e), e.index)
	delete(q.byID, id)
	return e.row, true
}

func (q *dueQueue) clear() { *q = newDueQueue() }

type dueHeap []*queuedContact

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return contact.Before(&h[i].row, &h[j].row) }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *dueHeap) Push(x any) {
	e := x.(*queuedContact)
	e.index = len(*h)
	*h = append(*h, e)
}
func (h *dueHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return e
}
