package run

import (
	"container/heap"
	"errors"
	"sync"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/snapshot"
)

// Queue is the run's look-ahead: due contacts in dialling order. Contacts that wait for a seat of
// their own are kept apart, so that they do not hold up the others.
type Queue struct {
	rows, seatedOnly *queueHeap // by contact.Order without the overdue
	retries          *queueHeap // the retries among rows, earliest due time first
	byID             map[engine.ContactID]*queuedContact
}

type queuedContact struct {
	row        contact.Contact
	place      [2]int // in the heap of all, and in that of retries
	seatedOnly bool
}

// NewQueue gives an empty look-ahead.
func NewQueue() Queue {
	inOrder := func(a, b *contact.Contact) bool { return contact.Order{}.Before(a, b) }
	byTime := func(a, b *contact.Contact) bool {
		if !a.DueAt.Equal(*b.DueAt) {
			return a.DueAt.Before(*b.DueAt)
		}
		return a.Position < b.Position
	}
	return Queue{rows: &queueHeap{before: inOrder}, seatedOnly: &queueHeap{before: inOrder},
		retries: &queueHeap{before: byTime, slot: 1},
		byID:    map[engine.ContactID]*queuedContact{}}
}

// Len counts all contacts, including those that wait for a seat of their own.
func (q *Queue) Len() int { return len(q.byID) }

// SeatedOnly counts the contacts that wait for a seat of their own.
func (q *Queue) SeatedOnly() int { return len(q.seatedOnly.list) }

// Has says whether a contact is in the look-ahead.
func (q *Queue) Has(id engine.ContactID) bool { return q.byID[id] != nil }

// IDs appends the contacts of the look-ahead, in any order.
func (q *Queue) IDs(dst []engine.ContactID) []engine.ContactID {
	for id := range q.byID {
		dst = append(dst, id)
	}
	return dst
}

// Push adds a contact that is not in the look-ahead.
func (q *Queue) Push(c contact.Contact) { q.add(c, false) }

// PushSeatedOnly keeps a contact until there is a seat for it.
func (q *Queue) PushSeatedOnly(c contact.Contact) { q.add(c, true) }

func (q *Queue) add(c contact.Contact, seatedOnly bool) {
	if _, ok := q.byID[c.ID]; ok {
		return
	}
	if seatedOnly {
		q.stand(q.seatedOnly, c, true)
	} else if e := q.stand(q.rows, c, false); e.retry() {
		heap.Push(q.retries, e)
	}
}

// stand puts a contact into one of the heaps.
func (q *Queue) stand(in *queueHeap, c contact.Contact, seatedOnly bool) *queuedContact {
	e := &queuedContact{row: c, seatedOnly: seatedOnly}
	q.byID[c.ID] = e
	heap.Push(in, e)
	return e
}

func (e *queuedContact) retry() bool {
	return !e.seatedOnly && e.row.DueClass == contact.DueRetry && e.row.DueAt != nil
}

// Head is the next contact, nil when there is none; with a free seat, contacts that wait for a seat
// of their own are included.
func (q *Queue) Head(o contact.Order, seat bool) *contact.Contact {
	if e := q.first(o, seat); e != nil {
		return &e.row
	}
	return nil
}

func (q *Queue) first(o contact.Order, seat bool) (e *queuedContact) {
	choose := func(h *queueHeap) {
		if len(h.list) > 0 && (e == nil || o.Before(&h.list[0].row, &e.row)) {
			e = h.list[0]
		}
	}
	choose(q.rows)
	if len(q.retries.list) > 0 && o.Promoted(&q.retries.list[0].row) {
		choose(q.retries)
	}
	if seat {
		choose(q.seatedOnly)
	}
	return e
}

// Pop removes the head.
func (q *Queue) Pop(o contact.Order, seat bool) (c contact.Contact, ok bool) {
	e := q.first(o, seat)
	if e == nil {
		return c, false
	}
	return q.Take(e.row.ID)
}

// Take removes a contact that is affected by something other than its turn.
func (q *Queue) Take(id engine.ContactID) (contact.Contact, bool) {
	e, ok := q.byID[id]
	if !ok {
		return contact.Contact{}, false
	}
	delete(q.byID, id)
	if e.seatedOnly {
		heap.Remove(q.seatedOnly, e.place[0])
		return e.row, true
	}
	heap.Remove(q.rows, e.place[0])
	if e.retry() {
		heap.Remove(q.retries, e.place[1])
	}
	return e.row, true
}

// Clear forgets all.
func (q *Queue) Clear() { *q = NewQueue() }

// queueImage is a serialised look-ahead: its contacts, in the order of their heaps, so that pushing
// them in that order rebuilds the heaps. Retries are indexes into Rows.
type queueImage struct {
	Rows, SeatedOnly []contact.Contact
	Retries          []int
}

var errNoRetry = errors.New("run: the look-ahead has no such retry")

var queueCodec = sync.OnceValue(func() *snapshot.Codec { return snapshot.Of(queueImage{}) })

// MarshalBinary serialises the look-ahead.
func (q *Queue) MarshalBinary() ([]byte, error) {
	var image queueImage
	for _, e := range q.rows.list {
		image.Rows = append(image.Rows, e.row)
	}
	for _, e := range q.retries.list {
		image.Retries = append(image.Retries, e.place[0])
	}
	for _, e := range q.seatedOnly.list {
		image.SeatedOnly = append(image.SeatedOnly, e.row)
	}
	return queueCodec().Write(&image)
}

// UnmarshalBinary restores it.
func (q *Queue) UnmarshalBinary(b []byte) error {
	var image queueImage
	if err := queueCodec().Read(b, &image); err != nil {
		return err
	}
	read := NewQueue()
	for i := range image.Rows {
		read.stand(read.rows, image.Rows[i], false)
	}
	for _, i := range image.Retries {
		if i < 0 || i >= len(read.rows.list) || !read.rows.list[i].retry() {
			return errNoRetry
		}
		heap.Push(read.retries, read.rows.list[i])
	}
	for i := range image.SeatedOnly {
		read.stand(read.seatedOnly, image.SeatedOnly[i], true)
	}
	*q = read
	return nil
}

// queueHeap implements heap.Interface.
type queueHeap struct {
	list   []*queuedContact
	before func(a, b *contact.Contact) bool
	slot   int // index into the contacts' places
}

func (h *queueHeap) Len() int           { return len(h.list) }
func (h *queueHeap) Less(i, j int) bool { return h.before(&h.list[i].row, &h.list[j].row) }
func (h *queueHeap) Swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	h.list[i].place[h.slot], h.list[j].place[h.slot] = i, j
}
func (h *queueHeap) Push(x any) {
	e := x.(*queuedContact)
	e.place[h.slot] = len(h.list)
	h.list = append(h.list, e)
}
func (h *queueHeap) Pop() any {
	e := h.list[len(h.list)-1]
	h.list[len(h.list)-1] = nil
	h.list = h.list[:len(h.list)-1]
	return e
}
