package sim

import (
	"time"

	"dialler/engine"
	"dialler/engine/timeline"
)

// receiver is whoever takes messages: a run, a contact.
type receiver interface {
	receive(event any, from engine.Request)
}

// simEvent is something that will happen: a function that is called, or a message
// that arrives.
type simEvent struct {
	life  int  // of the process to which it happens, 0: to the world
	idle  bool // it comes again and again; a world that has nothing else ends
	f     func()
	to    receiver
	event any
}

// schedule is the clock of a world, and what will happen in it.
type schedule struct {
	now    time.Duration // by the monotonic clock
	queue  timeline.Queue[simEvent]
	busy   int  // events of the queue that are not idle
	idling bool // what happens now is idle, and nothing else is left
}

// push lets something happen after a time. What follows from something idle is idle.
func (s *schedule) push(d time.Duration, e simEvent) {
	if e.idle = e.idle || s.idling; !e.idle {
		s.busy++
	}
	s.queue.Push(s.now+max(d, 0), e)
}

// later lets something happen in the world.
func (s *schedule) later(d time.Duration, f func()) { s.push(d, simEvent{f: f}) }

// lane delivers what is sent through it in order, each after a delay of its own.
type lane struct{ last time.Duration }

// by is when something sent now arrives.
func (l *lane) by(now, delay time.Duration) time.Duration {
	l.last = max(l.last, now+delay)
	return l.last
}
