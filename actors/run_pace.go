package actors

import (
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

// pendingTrigger is a fresh contact whose trigger waits to learn whether it is
// dialled now.
type pendingTrigger struct {
	row contact.Contact
	ctx *call.Trigger
	// looked: the tables were asked for it; it may be dialled.
	looked bool
}

// pump is called after every message: it dials what the pace allows.
func (r *run) pump() {
	if !r.ready || r.tally == nil {
		return
	}
	r.grantSeats()
	r.giveSeatsBack()
	if r.m.C.State == campaign.Running {
		r.askSeats()
		r.beat()
		r.dialNext()
	} else {
		r.settleTriggers(string(engine.ConstraintPaused))
		switch {
		case r.m.C.State == campaign.Paused:
			r.askSeats()
		case r.asked > 0 && r.engagedLines() == 0:
			r.wantSeats(0)
		}
	}
}

func (r *run) dialNext() {
	if r.round != nil {
		return
	}
	dec := r.decide()
	if dec.Constraint == engine.ConstraintOverload {
		r.brakedNow()
	}
	k := min(dec.Dials, max(r.pace.batch, roundLeast))
	if k <= 0 && r.seatsAsked == 0 {
		r.settleTriggers(string(dec.Constraint))
	}
	if r.queue.Len() <= r.d.cfg.LookAhead/2 {
		r.refill()
	}
	if k <= 0 {
		return
	}
	var cands []candidate
	for seats := dec.Seated; len(cands) < k; {
		c, ok := r.nextCandidate(seats > 0)
		if !ok {
			break
		}
		if c.seated {
			r.busy++
			seats--
		}
		cands = append(cands, c)
	}
	r.deferClosed()
	if len(cands) == 0 {
		return
	}
	r.startRound(cands)
}

// order is that of the campaign's due contacts now.
func (r *run) order() contact.Order { return r.m.C.Order(r.now) }

// nextCandidate: due callbacks, then triggers, then the rest of the queue. A
// number that was abandoned of late takes a seat, or stands aside.
func (r *run) nextCandidate(seat bool) (candidate, bool) {
	for len(r.triggers) > 0 {
		t := r.triggers[0]
		if head := r.queue.Head(r.order(), seat); head != nil && r.order().Before(head, &t.row) {
			break
		}
		r.triggers[0] = nil
		r.triggers = r.triggers[1:]
		if !t.looked {
			r.settled(t.row.Number) // made anew once it was looked for
			r.lookForTrigger(&trigger{cmd: t.ctx.Command}, r.d.requester(t.ctx.Request), false)
			continue
		}
		needs := r.d.abandons.needsSeat(t.row.Number, r.now)
		switch {
		case r.callableFor(t.row.Number) <= 0:
			t.ctx.Reason = string(engine.ConstraintWindow)
			r.queueTrigger(t)
		case needs && !seat:
			t.ctx.Reason = string(engine.ConstraintSeats)
			r.queueTrigger(t)
		default:
			return candidate{row: t.row, attempt: newAttemptID(r.now), trigger: t.ctx, seated: needs}, true
		}
	}
	for len(r.own.closed) < deferBatch {
		row, ok := r.queue.Pop(r.order(), seat)
		if !ok {
			break
		}
		needs := r.d.abandons.needsSeat(row.Number, r.now)
		switch {
		case r.lines[row.ID] != nil || r.excluded.Covers(&row):
		case r.callableFor(row.Number) <= 0:
			r.own.closed = append(r.own.closed, row)
		case needs && !seat:
			r.queue.SetAside(row)
		default:
			return candidate{row: row, attempt: newAttemptID(r.now), seated: needs}, true
		}
	}
	return candidate{}, false
}

// holdPace stops asking for what was refused until it is worth asking again,
// and looks again then.
func (r *run) holdPace(c engine.Constraint, until time.Time) {
	r.pace.hold(c, until, r.now)
	r.d.after(r.pace.heldUntil.Sub(r.now), r.self, &wakeUp{})
}

// settleTriggers answers triggers that cannot be dialled now.
func (r *run) settleTriggers(reason string) {
	if r.round != nil {
		return
	}
	for _, t := range r.triggers {
		t.ctx.Reason = reason
		r.queueTrigger(t)
	}
	r.triggers = nil
}
