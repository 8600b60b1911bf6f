package sim

import (
	"time"

	"dialler/engine"
)

// receiver is whoever takes messages: a run, a contact.
type receiver interface {
	receive(event any, from engine.Request)
}

// simEvent is something that will happen: a function that is called, or a message
// that arrives.
type simEvent struct {
	at    time.Duration
	seq   uint64
	life  int  // of the process to which it happens, 0: to the world
	idle  bool // it comes again and again; a world that has nothing else ends
	f     func()
	to    receiver
	event any
}

func (a *simEvent) before(b *simEvent) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

// eventQueue holds what will happen: later in a heap, and at this moment in the order
// in which it came.
type eventQueue struct {
	later []simEvent
	now   []simEvent
	head  int // of now
	seq   uint64
	busy  int // events that are not idle
	// idling: what happens now comes again and again, and nothing else is left; what
	// follows from it is no more than that.
	idling bool
}

func (q *eventQueue) push(e simEvent, now time.Duration) {
	q.seq++
	e.seq, e.idle = q.seq, e.idle || q.idling
	if !e.idle {
		q.busy++
	}
	if e.at <= now {
		q.now = append(q.now, e)
		return
	}
	q.later = append(q.later, e)
	s := q.later
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if !s[i].before(&s[up]) {
			break
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

// pop gives the next event; ok is false when there is none.
func (q *eventQueue) pop() (e simEvent, ok bool) {
	switch {
	case q.head < len(q.now) && (len(q.later) == 0 || q.now[q.head].before(&q.later[0])):
		e = q.now[q.head]
		q.now[q.head] = simEvent{}
		if q.head++; q.head == len(q.now) {
			q.now, q.head = q.now[:0], 0
		}
	case len(q.later) > 0:
		e = q.first()
	default:
		return e, false
	}
	if !e.idle {
		q.busy--
	}
	return e, true
}

// first takes the root of the heap.
func (q *eventQueue) first() simEvent {
	s := q.later
	top := s[0]
	n := len(s) - 1
	s[0] = s[n]
	s[n] = simEvent{}
	s = s[:n]
	q.later = s
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			return top
		}
		if c+1 < n && s[c+1].before(&s[c]) {
			c++
		}
		if !s[c].before(&s[i]) {
			return top
		}
		s[i], s[c] = s[c], s[i]
		i = c
	}
}

// lane delivers what is sent through it in order, each after a delay of its own.
type lane struct{ last time.Duration }

// by is when something sent now arrives.
func (l *lane) by(now, delay time.Duration) time.Duration {
	l.last = max(l.last, now+delay)
	return l.last
}
