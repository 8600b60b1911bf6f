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
	life  int  // of the process to which it happens, 0: to the world
	idle  bool // it comes again and again; a world that has nothing else ends
	f     func()
	to    receiver
	event any
}

// push lets something happen after a time. What follows from what comes again and again,
// when nothing else is left, is no more than that.
func (w *campaignWorld) push(d time.Duration, e simEvent) {
	if e.idle = e.idle || w.idling; !e.idle {
		w.busy++
	}
	w.queue.Push(w.now+max(d, 0), e)
}

// later lets something happen in the world.
func (w *campaignWorld) later(d time.Duration, f func()) { w.push(d, simEvent{f: f}) }

// after gives somebody a message once some time has passed, unless the process is gone.
func (p *process) after(d time.Duration, to receiver, event any) {
	p.w.push(d, simEvent{life: p.life, to: to, event: event})
}

// do has something done by the process after a time.
func (p *process) do(d time.Duration, f func()) { p.w.push(d, simEvent{life: p.life, f: f}) }

// again is do for what comes again and again.
func (p *process) again(d time.Duration, f func()) {
	p.w.push(d, simEvent{life: p.life, idle: true, f: f})
}

// lane delivers what is sent through it in order, each after a delay of its own.
type lane struct{ last time.Duration }

// by is when something sent now arrives.
func (l *lane) by(now, delay time.Duration) time.Duration {
	l.last = max(l.last, now+delay)
	return l.last
}
