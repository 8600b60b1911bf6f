package sim

import (
	"time"

	"dialler/engine/promise"
	"dialler/engine/run"
)

func (w *campaignWorld) fault(f Fault) {
	until := func(undo func()) { w.later(f.Length, undo) }
	// Faults of a kind may overlap; the callback is told of each beginning and end.
	count := func(faults *int, told func()) {
		*faults++
		told()
		until(func() {
			*faults--
			told()
		})
	}
	c := w.campaigns[f.Campaign%len(w.campaigns)]
	r := w.runner(c)
	switch f.Kind {
	case FaultTrunkDown:
		count(&w.down[f.Trunk], func() { // OPTIONS requests continue; their results are noticed some time later
			if w.process != nil {
				w.process.options(f.Trunk)
			}
		})
	case FaultTrunkRefuses:
		count(&w.refuses[f.Trunk], func() {})
	case FaultSeats:
		w.setSeats(f.Value)
		until(func() { w.setSeats(w.in.Seats) })
	case FaultBot:
		w.breakBot()
		until(func() { w.botDown-- })
	case FaultDatabase:
		count(&w.dbAway, w.disturbAll)
	case FaultSlowCommit:
		was := w.commit
		w.commit = time.Duration(f.Value) * time.Millisecond
		w.disturbAll()
		until(func() {
			w.commit = was
			w.disturbAll()
		})
	case FaultClock:
		by := time.Duration(f.Value) * time.Second
		w.offset += by
		w.check.steppedAt = w.now
		w.check.hear(promise.ClockStepped{By: by})
	case FaultCrash:
		if w.process != nil {
			w.crash()
			until(w.boot)
		}
	case FaultRunCrash:
		if r != nil {
			w.check.note(c, "the run's actor crashes")
			w.lose(c)
			r.start()
		}
	case FaultContactCrash:
		if r == nil {
			return
		}
		list := r.inOrder()
		for i := range list { // a contact with a call, if there is one
			if a := list[(f.Value+i)%len(list)]; a.core.Call.Live() || i == len(list)-1 {
				w.check.note(c, "the actor of contact %s crashes", a.core.Machine.C.ID)
				w.lose(c)
				a.restart()
				return
			}
		}
	case FaultCallInCrash:
		w.crashCallIn(f.Value)
	case FaultHandOver:
		if r != nil {
			w.handOver(r, f.Length)
		}
	}
}

// disturbAll notes that requests to any campaign may go unanswered.
func (w *campaignWorld) disturbAll() {
	for _, c := range w.campaigns {
		c.disturbed = w.now
	}
}

// lose notes that all knowledge of a campaign's lines is lost, and that requests to it may go
// unanswered.
func (w *campaignWorld) lose(c *campaignRecord) {
	w.check.lost(c)
	c.disturbed = w.now
}

// crash kills the process: whatever was not durable is lost, and no one knows the legs.
func (w *campaignWorld) crash() {
	w.crashes++
	for _, c := range w.campaigns {
		c.clock.pass(w, c)
		c.clock.pace.Open = false
		w.lose(c)
		w.check.note(c, "the process is gone")
	}
	w.check.processGone()
	w.process = nil
}

// handOver stops a campaign's actors and starts them as another node would: the legs stay up and
// are taken over.
func (w *campaignWorld) handOver(r *runner, away time.Duration) {
	p, c := r.p, r.c
	w.check.note(c, "is handed over")
	c.disturbed = w.now
	r.stopped = func() {
		if r.gone || p != w.process {
			return
		}
		w.lose(c)
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
	p.do(5*time.Second, func() { // it may have crashed before it answered
		if r.stopped != nil {
			stopped := r.stopped
			r.stopped = nil
			stopped()
		}
	})
}
