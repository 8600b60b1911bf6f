package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

// PendingTrigger is a contact whose trigger waits to learn whether it is dialled now:
// a fresh one, or one that is final and is reopened with the dial.
type PendingTrigger struct {
	Row     contact.Contact
	Stored  *contact.Contact // as it is in the tables; nil for a fresh one
	Trigger *call.Trigger
	// LookedUp: the tables were asked for it; it may be dialled.
	LookedUp bool
	// Outdated: the contact's actor came up after that.
	Outdated bool
}

// pump is called after every message: it dials what the pace allows.
func (s *State) pump() {
	if !s.Ready || s.Tally == nil {
		return
	}
	s.lowerCap()
	s.grantSeats()
	s.giveSeatsBack()
	if s.M.C.State == campaign.Running {
		s.askSeats()
		s.beat()
		s.dialNext()
	} else {
		s.settleTriggers(string(engine.ConstraintPaused))
		if s.hasSockets() && (s.engagedLines() > 0 || len(s.Sockets) > 0) {
			s.tendSockets(s.decide().Sockets)
		}
		switch {
		case s.M.C.State == campaign.Paused:
			s.askSeats()
		case s.Asked > 0 && s.engagedLines() == 0:
			s.wantSeats(0)
		}
	}
}

func (s *State) dialNext() {
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

// order is that of the campaign's due contacts now.
func (s *State) order() contact.Order { return s.M.C.Order(s.now) }

// nextCandidate: due callbacks, then triggers, then the rest of the queue. A
// recently abandoned number takes a seat, or waits for one.
func (s *State) nextCandidate(seat bool) (Candidate, bool) {
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

// holdPace stops asking for what was refused until it is worth asking again,
// and looks again then.
func (s *State) holdPace(c engine.Constraint, until time.Time) {
	s.Pace.hold(c, until, s.now)
	s.later(s.Pace.HeldUntil.Sub(s.now), &woken{})
}

// settleTriggers answers triggers that cannot be dialled now.
func (s *State) settleTriggers(reason string) {
	if s.Round != nil {
		return
	}
	for _, t := range s.Triggers {
		t.Trigger.Reason = reason
		s.queueTrigger(t)
	}
	s.Triggers = nil
}
