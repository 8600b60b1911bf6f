package sim

import (
	"time"

	"dialler/engine/run"
)

func (w *campaignWorld) planFaults() {
	for _, f := range w.in.Faults {
		w.later(f.At, func() { w.fault(f) })
	}
}

func (w *campaignWorld) fault(f Fault) {
	until := func(undo func()) { w.later(f.Length, undo) }
	c := w.campaigns[f.Campaign%len(w.campaigns)]
	r := w.runner(c)
	switch f.Kind {
	case FaultTrunkDown:
		w.down[f.Trunk]++
		w.keepalive(f.Trunk)
		until(func() {
			w.down[f.Trunk]--
			w.keepalive(f.Trunk)
		})
	case FaultTrunkRefuses:
		w.refuses[f.Trunk]++
		until(func() { w.refuses[f.Trunk]-- })
	case FaultSeats:
		w.setSeats(f.Value)
		until(func() { w.setSeats(w.in.Seats) })
	case FaultDatabase:
		w.dbAway++
		w.disturbAll()
		until(func() {
			w.dbAway--
			w.disturbAll()
		})
	case FaultSlowCommit:
		was := w.commit
		w.commit = time.Duration(f.Value) * time.Millisecond
		w.disturbAll()
		until(func() {
			w.commit = was
			w.disturbAll()
		})
	case FaultClock:
		w.offset += time.Duration(f.Value) * time.Second
		w.stepped = w.now
	case FaultCrash:
		if w.process != nil {
			w.crash()
			until(w.boot)
		}
	case FaultRunCrash:
		if r != nil {
			w.check.note(c, "the run's actor crashes")
			w.check.lost(c)
			w.disturb(c)
			r.start()
		}
	case FaultContactCrash:
		if r == nil {
			return
		}
		list := r.inOrder()
		for i := range list { // one with a call, if there is one
			if a := list[(f.Value+i)%len(list)]; a.core.Call.Live() || i == len(list)-1 {
				w.check.note(c, "the actor of contact %s crashes", a.core.Machine.C.ID)
				w.check.lost(c)
				w.disturb(c)
				a.restart()
				return
			}
		}
	case FaultHandOver:
		if r != nil {
			w.handOver(r, f.Length)
		}
	}
}

func (w *campaignWorld) disturbAll() {
	for _, c := range w.campaigns {
		w.disturb(c)
	}
}

// crash takes the process down: what was not durable is gone, and nobody knows of the
// legs.
func (w *campaignWorld) crash() {
	w.crashes++
	w.disturbAll()
	for _, c := range w.campaigns {
		c.clock.pass(w, c)
		c.clock.open = false
		w.check.lost(c)
		w.check.note(c, "the process is gone")
	}
	w.check.processGone()
	w.process = nil
}

// handOver stops a campaign's actors, and brings them up as another node would: the
// legs live on and are taken over.
func (w *campaignWorld) handOver(r *runner, away time.Duration) {
	p, c := r.p, r.c
	w.check.note(c, "is handed over")
	w.disturb(c)
	r.stopped = func() {
		if r.gone || p != w.process {
			return
		}
		w.check.lost(c)
		w.disturb(c)
		r.gone = true
		for _, a := range r.inOrder() {
			a.stop()
			for _, x := range p.port[a.core.Call.Machine.A.ID] {
				x.sink = nil
			}
		}
		p.runs[c.i] = nil
		p.do(min(away, 10*time.Second), func() { p.bringUp(c) })
	}
	r.tell(&run.LastWord{HandOver: true})
	p.do(5*time.Second, func() { // it may have crashed with the question
		if r.stopped != nil {
			stopped := r.stopped
			r.stopped = nil
			stopped()
		}
	})
}

// keepalive: OPTIONS go on; what they find is heard some time later.
func (w *campaignWorld) keepalive(i int) {
	if w.process != nil {
		w.process.options(i)
	}
}
