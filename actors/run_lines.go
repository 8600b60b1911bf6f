package actors

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/pacing"
)

// line is a contact whose actor lives.
type line struct {
	id       engine.ContactID
	number   engine.PhoneNumber
	pid      *actor.PID // nil until it is up
	buffer   []any      // while it is not up, or is asked to stop
	stopping bool
	attempt  engine.AttemptID
	phase    attempt.Phase
	seated   bool
	held     bool // seated before it was answered
	counted  bool // as a live answer
	machine  bool // counted as one
	// Of the pacing model: when the line was placed, while it may still want a
	// seat, and when it took one.
	dialledAt, seatedAt time.Time
	accepted            map[int]struct{}
	// variables of a contact that a trigger made and that may not be stored yet.
	variables map[string]string
}

func (r *run) lineMoved(m *call.LineMoved) {
	l := r.lines[m.Contact]
	if l == nil {
		return
	}
	if l.attempt != m.Attempt {
		return // of an older attempt
	}
	if l.phase == attempt.PhaseOver && m.Phase != attempt.PhaseOver {
		return
	}
	r.setPhase(l, m.Phase)
	switch m.Phase {
	case attempt.PhaseDialling, attempt.PhaseRinging, attempt.PhaseListening:
	case attempt.PhaseWaiting:
		r.enqueueWaiting(l)
		r.grantSeats()
	case attempt.PhaseServed:
		if !m.Tentative {
			r.count(l, false, m.Cause)
		}
	case attempt.PhaseAbandoned:
		r.count(l, true, m.Cause)
		r.freeSeat(l)
	case attempt.PhaseReleased:
		if m.Machine {
			r.machine(l)
		}
		r.freeSeat(l)
	case attempt.PhaseOver:
		r.dropLine(l)
	}
	if m.Phase == attempt.PhaseServed {
		r.live.Served(m.At)
	}
}

// answerStands: no beep takes the answer back any more, so that it counts.
func (r *run) answerStands(m *call.AnswerStands) {
	if l := r.lines[m.Contact]; l != nil && l.attempt == m.Attempt {
		r.count(l, false, "")
	}
}

// count adds a live answer to the ledgers, once.
func (r *run) count(l *line, abandoned bool, cause engine.AbandonCause) {
	if l.counted {
		return
	}
	l.counted = true
	r.modelAnswer(abandoned)
	if abandoned {
		r.d.abandons.add(l.number, r.now, r.now)
		c := pacing.Counts{Live: 1, Abandoned: 1}
		if cause == engine.AbandonCapacityLoss {
			c.CapacityLoss = 1
			r.pace.books.Lost()
		} else {
			r.pace.books.Abandoned()
		}
		r.pace.hours.Count(r.now, c)
		r.d.log.Info().Str("campaign_id", string(r.id)).Str("cause", string(cause)).Msg("live answer abandoned")
		return
	}
	r.pace.books.Served()
	r.pace.hours.Count(r.now, pacing.Counts{Live: 1})
}

func (r *run) enqueueWaiting(l *line) {
	if slices.Contains(r.waiting, l) {
		return
	}
	if l.seated {
		r.useHeld(l)
		r.send(l, &call.SeatGranted{Attempt: l.attempt})
		return
	}
	r.waiting = append(r.waiting, l)
}

func (r *run) dropLine(l *line) {
	r.freeSeat(l)
	r.setPhase(l, attempt.PhaseOver)
	l.counted, l.machine, l.attempt = false, false, ""
}

// phaseOrder numbers the phases for counting lines.
var phaseOrder = [...]attempt.Phase{attempt.PhaseDialling, attempt.PhaseRinging, attempt.PhaseListening,
	attempt.PhaseWaiting, attempt.PhaseServed, attempt.PhaseAbandoned, attempt.PhaseReleased, attempt.PhaseOver}

func phaseIndex(p attempt.Phase) int {
	for i := range phaseOrder {
		if phaseOrder[i] == p {
			return i
		}
	}
	return len(phaseOrder) - 1 // a line without an attempt is over
}

// setPhase moves a line and keeps the count.
func (r *run) setPhase(l *line, p attempt.Phase) {
	r.modelLine(l, p)
	r.phases[phaseIndex(l.phase)]--
	l.phase = p
	r.phases[phaseIndex(p)]++
}

// engagedLines counts the lines with a live attempt.
func (r *run) engagedLines() int {
	return len(r.lines) - r.phases[phaseIndex(attempt.PhaseOver)]
}

// flying counts r of the gate: dials placed, or being reserved, that are not
// answered or over; one with a seat held counts as busy instead.
func (r *run) flying() int {
	n := r.phases[phaseIndex(attempt.PhaseDialling)] + r.phases[phaseIndex(attempt.PhaseRinging)] + r.phases[phaseIndex(attempt.PhaseListening)] - r.held
	if r.round != nil {
		for i := range r.round.cands {
			if !r.round.cands[i].seated {
				n++
			}
		}
	}
	return n
}
