package sim

import "time"

// event is something that will happen to a call.
type event struct {
	at   time.Duration
	seq  uint64 // earlier ones first among those of one instant
	what int32
	call int32
}

func (a *event) before(b *event) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

// queue is a heap of events.
type queue struct {
	events []event
	seq    uint64
}

func (q *queue) push(at time.Duration, what, call int32) {
	q.seq++
	q.events = append(q.events, event{at, q.seq, what, call})
	s := q.events
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if !s[i].before(&s[up]) {
			break
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

// next is when the first event happens; ok is false when there is none.
func (q *queue) next() (at time.Duration, ok bool) {
	if len(q.events) == 0 {
		return 0, false
	}
	return q.events[0].at, true
}

func (q *queue) pop() event {
	s := q.events
	top := s[0]
	n := len(s) - 1
	s[0] = s[n]
	s = s[:n]
	q.events = s
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
