package run

import (
	"container/heap"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"dialler/engine"
	"dialler/engine/besthour"
	"dialler/engine/contact"
	"dialler/engine/snapshot"
	"dialler/engine/window"
)

// Queue is the run's look-ahead: due contacts in dialling order. Contacts that wait for a seat of
// their own are kept apart, so that they do not hold up the others.
type Queue struct {
	rows, seatedOnly *queueHeap         // by contact.Order without the overdue
	retries          map[int]*queueHeap // the retries among rows by precedence, earliest due time first
	byID             map[engine.ContactID]*queuedContact
	ranking          *ranking // nil without the option Best hour
}

type queuedContact struct {
	row        contact.Contact
	place      [4]int // in the heap of all, in that of retries, and in those of the ranking
	seatedOnly bool

	// For the ranking.
	home    *window.Home
	control bool
	gain    int // in points of a hundred
	joined  int // ranking.passed of its lane, when it came
}

// NewQueue gives an empty look-ahead.
func NewQueue() Queue {
	inOrder := func(a, b *queuedContact) bool { return contact.Order{}.Before(&a.row, &b.row) }
	return Queue{rows: &queueHeap{before: inOrder}, seatedOnly: &queueHeap{before: inOrder},
		retries: map[int]*queueHeap{}, byID: map[engine.ContactID]*queuedContact{}}
}

// retriesOf are those of the precedence of a retry.
func (q *Queue) retriesOf(e *queuedContact) *queueHeap {
	h := q.retries[e.row.Precedence]
	if h == nil {
		h = &queueHeap{slot: 1, before: func(a, b *queuedContact) bool {
			if !a.row.DueAt.Equal(*b.row.DueAt) {
				return a.row.DueAt.Before(*b.row.DueAt)
			}
			return a.row.Position < b.row.Position
		}}
		q.retries[e.row.Precedence] = h
	}
	return h
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

// Return puts a contact back whose turn it was: with the option Best hour it is not passed over.
func (q *Queue) Return(c contact.Contact) {
	if e := q.add(c, false); e != nil && q.ranking.ranks(e) && !e.control {
		e.joined -= q.ranking.of.Limit
		heap.Fix(q.ranking.waited, e.place[q.ranking.waited.slot])
	}
}

// PushSeatedOnly keeps a contact until there is a seat for it.
func (q *Queue) PushSeatedOnly(c contact.Contact) { q.add(c, true) }

// add returns the contact, nil if it is there already.
func (q *Queue) add(c contact.Contact, seatedOnly bool) *queuedContact {
	if _, ok := q.byID[c.ID]; ok {
		return nil
	}
	if seatedOnly {
		return q.stand(q.seatedOnly, c, true)
	}
	e := q.stand(q.rows, c, false)
	if e.retry() {
		heap.Push(q.retriesOf(e), e)
	}
	if r := q.ranking; r.ranks(e) {
		r.place(e)
		e.joined = r.passed[laneOf(&e.row)]
		q.enlist(e)
	}
	return e
}

// enlist puts a contact into the heaps of the ranking.
func (q *Queue) enlist(e *queuedContact) {
	if e.control {
		heap.Push(q.ranking.control, e)
		return
	}
	heap.Push(q.ranking.gain, e)
	heap.Push(q.ranking.waited, e)
}

// rank orders the look-ahead by another ranking, nil for none. How often each was passed over stays.
func (q *Queue) rank(r *ranking) {
	was := q.ranking
	if r == nil && was == nil {
		return
	}
	if r != nil && was != nil {
		r.picks, r.passed = was.picks, was.passed
	}
	q.ranking = r
	for _, e := range q.rows.list {
		if was == nil {
			e.joined = 0
		}
		if r.ranks(e) {
			r.place(e)
			q.enlist(e)
		}
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
	for _, h := range q.retries {
		if len(h.list) > 0 && o.Promoted(&h.list[0].row) {
			choose(h)
		}
	}
	if seat {
		choose(q.seatedOnly)
	}
	if e == nil || q.ranking == nil {
		return e
	}
	return q.ranking.instead(o, e)
}

// Pop removes the head.
func (q *Queue) Pop(o contact.Order, seat bool) (c contact.Contact, ok bool) {
	e := q.first(o, seat)
	if e == nil {
		return c, false
	}
	q.ranking.took(e)
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
		h := q.retriesOf(e)
		if heap.Remove(h, e.place[1]); len(h.list) == 0 {
			delete(q.retries, e.row.Precedence)
		}
	}
	if r := q.ranking; r.ranks(e) && e.control {
		heap.Remove(r.control, e.place[r.control.slot])
	} else if r.ranks(e) {
		heap.Remove(r.gain, e.place[r.gain.slot])
		heap.Remove(r.waited, e.place[r.waited.slot])
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
	Ranking          *rankingImage
}

// rankingImage is a serialised ranking; Control, Gain and Waited are indexes into Rows, and Joined is
// for each of these.
type rankingImage struct {
	Of                            rankingOf
	Table                         besthour.Table
	Window                        window.Window
	At                            time.Time
	Picks                         int
	Passed                        map[lane]int
	Joined, Control, Gain, Waited []int
}

var (
	errNoRetry   = errors.New("run: the look-ahead has no such retry")
	errNoRanking = errors.New("run: the look-ahead has no such ranking")
)

var queueCodec = sync.OnceValue(func() *snapshot.Codec { return snapshot.Of(queueImage{}) })

// MarshalBinary serialises the look-ahead.
func (q *Queue) MarshalBinary() ([]byte, error) {
	var image queueImage
	for _, e := range q.rows.list {
		image.Rows = append(image.Rows, e.row)
	}
	places := func(h *queueHeap) (list []int) {
		for _, e := range h.list {
			list = append(list, e.place[0])
		}
		return list
	}
	for _, precedence := range slices.Sorted(maps.Keys(q.retries)) {
		image.Retries = append(image.Retries, places(q.retries[precedence])...)
	}
	if r := q.ranking; r != nil {
		image.Ranking = &rankingImage{Of: r.of, Table: r.table, Window: r.window, At: r.at, Picks: r.picks,
			Passed: r.passed, Control: places(r.control), Gain: places(r.gain), Waited: places(r.waited)}
		for _, e := range q.rows.list {
			image.Ranking.Joined = append(image.Ranking.Joined, e.joined)
		}
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
		e := read.rows.list[i]
		heap.Push(read.retriesOf(e), e)
	}
	for i := range image.SeatedOnly {
		read.stand(read.seatedOnly, image.SeatedOnly[i], true)
	}
	if image.Ranking != nil && !read.restore(image.Ranking) {
		return errNoRanking
	}
	*q = read
	return nil
}

// restore is false if the ranking is not of these contacts.
func (q *Queue) restore(of *rankingImage) bool {
	rows := q.rows.list
	if len(of.Joined) != len(rows) {
		return false
	}
	r := newRanking(of.Of, of.Table, of.Window, of.At)
	r.picks = of.Picks
	if of.Passed != nil {
		r.passed = of.Passed
	}
	for i, e := range rows {
		if e.joined = of.Joined[i]; r.ranks(e) {
			r.place(e)
		}
	}
	q.ranking = r
	for _, x := range []struct {
		heap   *queueHeap
		places []int
	}{{r.control, of.Control}, {r.gain, of.Gain}, {r.waited, of.Waited}} {
		for _, i := range x.places {
			if i < 0 || i >= len(rows) || !r.ranks(rows[i]) {
				return false
			}
			heap.Push(x.heap, rows[i])
		}
	}
	return true
}

// queueHeap implements heap.Interface.
type queueHeap struct {
	list   []*queuedContact
	before func(a, b *queuedContact) bool
	slot   int // index into the contacts' places
}

func (h *queueHeap) Len() int           { return len(h.list) }
func (h *queueHeap) Less(i, j int) bool { return h.before(h.list[i], h.list[j]) }
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
