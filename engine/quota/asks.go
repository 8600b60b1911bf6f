package quota

import (
	"cmp"
	"slices"

	"dialler/engine"
)

// Asks are the unanswered questions. The zero value has none.
type Asks[T any] struct {
	last uint64
	open map[uint64]ask[T]
}

type ask[T any] struct {
	asked engine.BootTime
	what  T
}

// Add notes a question and returns its unique number.
func (a *Asks[T]) Add(now engine.BootTime, what T) uint64 {
	if a.open == nil {
		a.open = map[uint64]ask[T]{}
	}
	a.last++
	a.open[a.last] = ask[T]{now, what}
	return a.last
}

// Get returns an open question, and when it was asked.
func (a *Asks[T]) Get(id uint64) (what T, asked engine.BootTime, ok bool) {
	q, ok := a.open[id]
	return q.what, q.asked, ok
}

// Answered closes a question; ok is false if it is already closed: the answer came too late, or
// twice, and must not be used.
func (a *Asks[T]) Answered(id uint64) (what T, ok bool) {
	q, ok := a.open[id]
	delete(a.open, id)
	return q.what, ok
}

// Late closes the questions that were not answered in time, the oldest first.
func (a *Asks[T]) Late(now engine.BootTime) []T {
	var ids []uint64
	for id, q := range a.open {
		if now >= q.asked.Add(Patience) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	late := make([]T, 0, len(ids))
	for _, id := range ids {
		late = append(late, a.open[id].what)
		delete(a.open, id)
	}
	return late
}

// Len is the number of open questions.
func (a *Asks[T]) Len() int { return len(a.open) }

// OwedMost limits what waits to be confirmed; the keeper learns of anything beyond it when it
// compares its book with the database.
const OwedMost = 100_000

// Owed is what must be sent to the keeper until it confirms it. The zero value is empty.
type Owed[T any] struct {
	last uint64
	open map[uint64]*owed[T]
}

type owed[T any] struct {
	told engine.BootTime // 0: never
	what T
}

// Debt is something owed, with its number.
type Debt[T any] struct {
	ID   uint64
	What T
}

// Add adds a debt; ok is false when there are too many.
func (o *Owed[T]) Add(what T) (id uint64, ok bool) {
	if len(o.open) >= OwedMost {
		return 0, false
	}
	if o.open == nil {
		o.open = map[uint64]*owed[T]{}
	}
	o.last++
	o.open[o.last] = &owed[T]{what: what}
	return o.last, true
}

// Due returns the debts to be sent now, in the order of their addition, and marks them as sent.
func (o *Owed[T]) Due(now engine.BootTime) []Debt[T] {
	var due []Debt[T]
	for id, d := range o.open {
		if d.told == 0 || now >= d.told.Add(RepeatAfter) {
			d.told = max(now, 1)
			due = append(due, Debt[T]{id, d.what})
		}
	}
	slices.SortFunc(due, func(a, b Debt[T]) int { return cmp.Compare(a.ID, b.ID) })
	return due
}

// Told marks a debt as sent now.
func (o *Owed[T]) Told(id uint64, now engine.BootTime) {
	if d := o.open[id]; d != nil {
		d.told = max(now, 1)
	}
}

// Withdraw removes the debts for which is returns true: what they give back has been requested
// again.
func (o *Owed[T]) Withdraw(is func(T) bool) {
	for id, d := range o.open {
		if is(d.what) {
			delete(o.open, id)
		}
	}
}

// Confirmed removes a debt.
func (o *Owed[T]) Confirmed(id uint64) { delete(o.open, id) }

// Len is the number of debts.
func (o *Owed[T]) Len() int { return len(o.open) }
