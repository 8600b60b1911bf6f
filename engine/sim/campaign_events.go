package sim

import (
	"time"

	"dialler/engine"
	"dialler/engine/timeline"
)

// receiver takes messages: a run or a contact.
type receiver interface {
	receive(event any, from engine.Request)
}

// simEvent is a future event: a function to call, or a message to deliver.
type simEvent struct {
	life  int  // of the process that it belongs to; 0 means the world
	idle  bool // it recurs; a world with only such events ends
	f     func()
	to    receiver
	event any
}

// schedule is the clock of a world, and what will happen in it.
type schedule struct {
	now    time.Duration // by the monotonic clock
	queue  timeline.Queue[simEvent]
	busy   int  // queued events that are not idle
	idling bool // the current event is idle, and nothing else is left
}

// push lets something happen after a time. What follows from something idle is idle.
func (s *schedule) push(d time.Duration, e simEvent) {
	if e.idle = e.idle || s.idling; !e.idle {
		s.busy++
	}
	s.queue.Push(s.now+max(d, 0), e)
}

// later schedules something in the world.
func (s *schedule) later(d time.Duration, f func()) { s.push(d, simEvent{f: f}) }

// lane delivers messages in order, each after a delay of its own.
type lane struct{ last time.Duration }

// by is when something sent now arrives.
func (l *lane) by(now, delay time.Duration) time.Duration {
	l.last = max(l.last, now+delay)
	return l.last
}
