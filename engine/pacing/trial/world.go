package trial

import (
	"time"

	"dialler/engine/callee"
	"dialler/engine/pacing"
	"dialler/engine/timeline"
)

// event is a future event of a call.
type event struct{ what, call int32 }

const (
	lineEnds int32 = iota
	callEnds
)

// pacedCall is one dial, from its placing to its end.
type pacedCall struct {
	callee.Fate
	dialled, answeredAt, seatedAt time.Duration
}

// world is one run of a scenario.
type world struct {
	sc       *callee.Scenario
	callees  callee.Callees
	pacer    pacer
	now      time.Duration
	nextTick time.Duration
	nextJump time.Duration // of the workers
	queue    timeline.Queue[event]
	calls    []pacedCall
	free     []int32 // places in calls
	waiting  []int32 // answered calls without a worker, the oldest first
	head     int     // of waiting
	s        standing
	dials    uint64
	m        meter
}

// Run plays a scenario once. ratioOf is for the policy Ratio.
func Run(sc *callee.Scenario, p Policy, ratioOf float64, seed uint64) Result {
	w := newWorld(sc, seed)
	if p == Ratio {
		w.pacer = newRatio(sc, ratioOf)
	} else {
		w.pacer = newModelled(sc, pacing.Mode(p))
	}
	for w.step() {
	}
	return w.m.result(p, seed)
}

func newWorld(sc *callee.Scenario, seed uint64) *world {
	w := &world{sc: sc, callees: callee.New(sc, seed), m: newMeter(sc)}
	w.s.workers, w.s.contacts = sc.WorkersAt(0), sc.Contacts
	w.nextJump = w.jump()
	return w
}

func (w *world) time() time.Time { return start.Add(w.now) }

// never is later than any event.
const never = time.Duration(1<<63 - 1)

// jump is when the number of workers next jumps.
func (w *world) jump() time.Duration {
	if at, ok := w.sc.Workers.Next(w.now); ok {
		return at
	}
	return never
}

// step processes the next event, until the end: at one instant calls first, then answered ones that
// waited too long, then workers that come or go, then the tick.
func (w *world) step() (more bool) {
	callAt := never
	if at, ok := w.queue.Next(); ok {
		callAt = at
	}
	giveUp := never
	if w.head < len(w.waiting) {
		giveUp = w.calls[w.waiting[w.head]].answeredAt + w.sc.Wait
	}
	if callAt == never && giveUp == never && w.now > 0 && w.listEnded() {
		w.m.r.Length = w.now
		return false
	}
	at := min(callAt, giveUp, w.nextJump, w.nextTick)
	if at >= w.sc.Length {
		w.m.pass(w.now, w.sc.Length, &w.s)
		w.m.r.Length = w.sc.Length
		return false
	}
	w.m.pass(w.now, at, &w.s)
	w.now = at
	switch at {
	case callAt:
		w.happens(w.queue.Pop().What)
	case giveUp:
		w.abandon()
	case w.nextJump:
		w.s.workers = w.sc.WorkersAt(at)
		w.nextJump = w.jump()
		w.serve()
	default:
		w.nextTick += tick
		if n := w.sc.WorkersAt(at); n != w.s.workers {
			w.s.workers = n
			w.serve()
		}
		w.pacer.Tick(w.time())
	}
	for n := w.pacer.dials(at, &w.s); n > 0 && !w.listEnded(); n-- {
		w.dial()
	}
	return true
}

// listEnded says that everybody was dialled.
func (w *world) listEnded() bool { return w.sc.Contacts > 0 && w.s.contacts == 0 }

func (w *world) dial() {
	var i int32
	if n := len(w.free); n > 0 {
		i = w.free[n-1]
		w.free = w.free[:n-1]
	} else {
		i = int32(len(w.calls)) //nolint:gosec // as many as ring and talk at a time
		w.calls = append(w.calls, pacedCall{})
	}
	w.dials++
	w.s.contacts-- // meaningless for an infinite list
	f := w.callees.Dial(w.dials, w.now)
	w.calls[i] = pacedCall{Fate: f, dialled: w.now}
	w.s.ringing++
	w.m.dialled()
	if w.listEnded() {
		w.m.listEnded(w.now)
	}
	w.pacer.Dialled(w.time())
	w.queue.Push(w.now+f.Ring, event{lineEnds, i})
}

func (w *world) happens(e event) {
	c := &w.calls[e.call]
	switch {
	case e.what == callEnds:
		w.s.busy--
		if !c.Machine {
			w.s.persons--
		}
		w.pacer.Ended(w.time(), w.now-c.seatedAt)
		w.free = append(w.free, e.call)
		w.serve()
	case c.Answered:
		w.s.ringing--
		w.s.waiting++
		c.answeredAt = w.now
		w.pacer.Answered(w.time(), w.now-c.dialled)
		w.waiting = append(w.waiting, e.call)
		w.serve()
	default:
		w.s.ringing--
		w.pacer.Failed(w.time(), w.now-c.dialled)
		w.free = append(w.free, e.call)
	}
}

// pop returns the call that has waited longest.
func (w *world) pop() int32 {
	i := w.waiting[w.head]
	w.head++
	if w.head == len(w.waiting) {
		w.waiting, w.head = w.waiting[:0], 0
	}
	w.s.waiting--
	return i
}

// serve gives free workers to waiting calls.
func (w *world) serve() {
	for w.s.waiting > 0 && w.s.busy < w.s.workers {
		i := w.pop()
		c := &w.calls[i]
		c.seatedAt = w.now
		w.s.busy++
		w.pacer.Seated(w.time())
		if c.Machine {
			w.s.counts.Machines++
			w.m.machine(w.s.counts)
			w.pacer.Machine()
		} else {
			w.s.persons++
			w.live(false)
		}
		w.queue.Push(w.now+c.Talk, event{callEnds, i})
	}
}

// abandon drops the call that waited too long. It was never classified, so it counts as a person,
// whoever answered.
func (w *world) abandon() {
	w.free = append(w.free, w.pop())
	w.live(true)
}

func (w *world) live(abandoned bool) {
	w.s.counts.Live++
	if abandoned {
		w.s.counts.Abandoned++
		w.pacer.Abandoned()
	} else {
		w.pacer.Served()
	}
	w.m.live(w.s.counts)
}
