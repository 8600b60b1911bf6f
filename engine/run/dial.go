package run

import (
	"dialler/engine"
)

// Dialler reserves for the next contacts, round by round, and dials those that got
// everything.
type Dialler struct {
	Intake
	Rounds int
}

func (s *Dialler) dialNext() {
	if s.Round != nil {
		s.tendSockets(s.Pace.Last.Sockets)
		return
	}
	dec := s.decide()
	s.tendSockets(dec.Sockets)
	if dec.Constraint == engine.ConstraintOverload {
		s.brakedNow()
	}
	k := min(dec.Dials, max(s.Pace.Batch, roundLeast))
	if k <= 0 && s.DemandOpen == 0 && !s.socketsSoon() {
		s.settleTriggers(string(dec.Constraint))
	}
	if s.Queue.Len() <= s.Config.LookAhead/2 {
		s.refill()
	}
	if k <= 0 {
		return
	}
	var cands []Candidate
	for seats := dec.Seated; len(cands) < k; {
		c, ok := s.nextCandidate(seats > 0)
		if !ok {
			break
		}
		if c.Seated {
			s.Busy++
			seats--
		}
		cands = append(cands, c)
	}
	s.deferClosed()
	if len(cands) == 0 {
		return
	}
	s.startRound(cands)
}

// nextCandidate picks due callbacks first, then triggers, then the rest of the queue. A recently
// abandoned number takes a seat, or waits for one.
func (s *Dialler) nextCandidate(seat bool) (Candidate, bool) {
	for len(s.Triggers) > 0 {
		t := s.Triggers[0]
		if head := s.Queue.Head(s.order(), seat); head != nil && s.order().Before(head, &t.Row) {
			break
		}
		s.Triggers[0] = nil
		s.Triggers = s.Triggers[1:]
		if !t.LookedUp {
			s.settled(t.Row.Number) // the look-up creates it again
			s.lookForTrigger(&Trigger{Command: t.Trigger.Command}, t.Trigger.Request, false)
			continue
		}
		needs := s.needsSeat(t.Row.Number)
		switch {
		case t.Outdated:
			s.queueTrigger(t)
		case s.callableFor(t.Row.Number) <= 0:
			t.Trigger.Reason = string(engine.ConstraintWindow)
			s.queueTrigger(t)
		case needs && !seat:
			t.Trigger.Reason = string(engine.ConstraintSeats)
			s.queueTrigger(t)
		default:
			return Candidate{Row: t.Row, Stored: t.Stored, Attempt: s.newAttemptID(), Trigger: t.Trigger,
				Seated: needs}, true
		}
	}
	for len(s.Closed) < deferBatch {
		row, ok := s.Queue.Pop(s.order(), seat)
		if !ok {
			break
		}
		needs := s.needsSeat(row.Number)
		switch {
		case s.Lines[row.ID] != nil || s.Excluded.Covers(&row):
		case s.callableFor(row.Number) <= 0:
			s.Closed = append(s.Closed, row)
		case needs && !seat:
			s.Queue.PushSeatedOnly(row)
		default:
			return Candidate{Row: row, Attempt: s.newAttemptID(), Seated: needs}, true
		}
	}
	return Candidate{}, false
}

// settleTriggers answers triggers that cannot be dialled now.
func (s *Dialler) settleTriggers(reason string) {
	if s.Round != nil {
		return
	}
	for _, t := range s.Triggers {
		t.Trigger.Reason = reason
		s.queueTrigger(t)
	}
	s.Triggers = nil
}
