// Package timeline orders the future events of a simulated world.
package timeline

import "time"

// Queue is a heap of future events: the earliest first, at one instant in order of arrival.
type Queue[T any] struct {
	list []Event[T]
	seq  uint64
}

// Event is an event at a future time.
type Event[T any] struct {
	at   time.Duration
	seq  uint64
	What T
}

func (q *Queue[T]) before(i, j int) bool {
	a, b := &q.list[i], &q.list[j]
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

// Push schedules an event.
func (q *Queue[T]) Push(at time.Duration, what T) {
	q.seq++
	q.list = append(q.list, Event[T]{at, q.seq, what})
	for i := len(q.list) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.before(i, up) {
			break
		}
		q.list[i], q.list[up] = q.list[up], q.list[i]
		i = up
	}
}

// Next is the time of the first event; ok is false if there is none.
func (q *Queue[T]) Next() (at time.Duration, ok bool) {
	if len(q.list) == 0 {
		return 0, false
	}
	return q.list[0].at, true
}

// Pop removes the first event.
func (q *Queue[T]) Pop() Event[T] {
	top, n := q.list[0], len(q.list)-1
	q.list[0], q.list[n] = q.list[n], Event[T]{}
	q.list = q.list[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c+1 < n && q.before(c+1, c) {
			c++
		}
		if c >= n || !q.before(c, i) {
			return top
		}
		q.list[i], q.list[c] = q.list[c], q.list[i]
		i = c
	}
}
