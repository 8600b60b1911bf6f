package sim

import "time"

// queue is a heap of what will happen: the earliest first, at one instant in the order
// in which it came.
type queue[T any] struct {
	list []timed[T]
	seq  uint64
}

type timed[T any] struct {
	at   time.Duration
	seq  uint64
	what T
}

func (q *queue[T]) before(i, j int) bool {
	a, b := &q.list[i], &q.list[j]
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

func (q *queue[T]) push(at time.Duration, what T) {
	q.seq++
	q.list = append(q.list, timed[T]{at, q.seq, what})
	for i := len(q.list) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.before(i, up) {
			break
		}
		q.list[i], q.list[up] = q.list[up], q.list[i]
		i = up
	}
}

// next is when the first of it happens; ok is false when nothing will.
func (q *queue[T]) next() (at time.Duration, ok bool) {
	if len(q.list) == 0 {
		return 0, false
	}
	return q.list[0].at, true
}

// pop takes the first of what next speaks of.
func (q *queue[T]) pop() timed[T] {
	top, n := q.list[0], len(q.list)-1
	q.list[0], q.list[n] = q.list[n], timed[T]{}
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
