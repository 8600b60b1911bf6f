package actors

import (
	"container/heap"

	"dialler/engine"
	"dialler/engine/contact"
)

// dueQueue is the run's look-ahead: due contacts in dialling order.
type dueQueue struct {
	rows dueHeap
	byID map[engine.ContactID]*queuedContact
}

type queuedContact struct {
	row   contact.Contact
	index int
}

func newDueQueue() dueQueue { return dueQueue{byID: map[engine.ContactID]*queuedContact{}} }

func (q *dueQueue) len() int { return len(q.rows) }

func (q *dueQueue) push(c contact.Contact) {
	if _, ok := q.byID[c.ID]; ok {
		return
	}
	e := &queuedContact{row: c}
	q.byID[c.ID] = e
	heap.Push(&q.rows, e)
}

func (q *dueQueue) pop() contact.Contact {
	e := heap.Pop(&q.rows).(*queuedContact)
	delete(q.byID, e.row.ID)
	return e.row
}

// take removes a contact that is touched by something else than its turn.
func (q *dueQueue) take(id engine.ContactID) (contact.Contact, bool) {
	e, ok := q.byID[id]
	if !ok {
		return contact.Contact{}, false
	}
	heap.Remove(&q.rows, e.index)
	delete(q.byID, id)
	return e.row, true
}

func (q *dueQueue) clear() {
	q.rows, q.byID = nil, map[engine.ContactID]*queuedContact{}
}

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
