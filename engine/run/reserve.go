package run

import (
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/quota"
)

func (s *Dialler) startRound(candidates []Candidate) {
	s.Rounds++
	n := s.Rounds
	legs := make([]engine.LegID, len(candidates))
	for i := range candidates {
		legs[i] = candidates[i].Attempt.Leg(1)
		if s.SeatsUntil != 0 { // they rely on seats that another node granted
			candidates[i].Validity.By = quota.UseBy(s.boot)
		}
	}
	s.Round = &Round{N: n, Candidates: candidates, SeatTarget: s.SeatTarget}
	s.arm(TimerRound, roundTimeout, Deferred{Event: &roundLate{n}})
	s.emit(ReserveTrunks{n, legs})
}

// ReservedTrunks answers a round's ReserveTrunks.
func ReservedTrunks(round int, r *call.Reservation) *TrunksReserved {
	m := &TrunksReserved{Round: round, Legs: r.Legs, Trunks: r.Trunks, Media: r.Media, Validity: r.Validity}
	m.Constraint, m.RetryAt = r.Why()
	return m
}

// trunksReserved requests a caller ID for the contacts that got a channel; the others go back to
// the queue.
func (s *Dialler) trunksReserved(m *TrunksReserved) {
	if s.Round == nil || s.Round.N != m.Round {
		s.giveBackTrunks(m)
		return
	}
	var keep []Candidate
	for i := range s.Round.Candidates {
		c := s.Round.Candidates[i]
		if c.Trunk = m.Trunks[i]; c.Trunk == "" {
			s.unreserve(c, m.Constraint)
			continue
		}
		c.Media = m.Media[i]
		c.Validity = c.Validity.And(m.Validity[i])
		keep = append(keep, c)
	}
	s.Pace.granted(len(s.Round.Candidates), len(keep))
	if len(keep) < len(s.Round.Candidates) {
		s.holdPace(m.Constraint, m.RetryAt)
	}
	s.Round.Candidates = keep
	if len(keep) == 0 {
		s.endRound()
		return
	}
	want := make([]NumberWant, len(keep))
	for i := range keep {
		want[i] = NumberWant{Attempt: keep[i].Attempt, To: keep[i].Row.Number}
		if s.M.C.Settings.StickyNumber {
			want[i].Sticky = keep[i].Row.CalledFrom
		}
	}
	s.emit(ReserveNumbers{m.Round, want})
}

func (s *Dialler) giveBackTrunks(m *TrunksReserved) {
	for i, t := range m.Trunks {
		if t != "" {
			s.emit(ReleaseTrunk{t, m.Legs[i]})
		}
	}
}

// numbersReserved dials the candidates that have both.
func (s *Dialler) numbersReserved(m *NumbersReserved) {
	if s.Round == nil || s.Round.N != m.Round {
		for _, g := range m.Got {
			if g.From != "" {
				s.emit(ReleaseNumber{g.Attempt, g.From, notDialled})
			}
		}
		return
	}
	candidates := s.Round.Candidates
	open := s.M.C.State == campaign.Running
	bare := len(candidates) - s.uncovered() // candidates from this index on lost their sockets meanwhile
	for i := range candidates {
		c, g := candidates[i], m.Got[i]
		within := s.callableFor(c.Row.Number)
		switch {
		case g.From == "":
			s.releaseTrunk(c)
			s.holdPace(g.Constraint, g.RetryAt)
			s.unreserve(c, g.Constraint)
		case !open || c.Overtaken || s.Excluded.Covers(&c.Row) || s.wasTouched(c.Row.ID),
			!c.Seated && s.needsSeat(c.Row.Number):
			// Stopped, paused, excluded, touched, or abandoned by another campaign during the
			// round.
			s.releaseTrunk(c)
			s.emit(ReleaseNumber{g.Attempt, g.From, notDialled})
			s.unreserve(c, engine.ConstraintPaused)
		case i >= bare:
			s.releaseTrunk(c)
			s.emit(ReleaseNumber{g.Attempt, g.From, notDialled})
			s.unreserve(c, engine.ConstraintSeats)
		case within <= 0:
			s.releaseTrunk(c)
			s.emit(ReleaseNumber{g.Attempt, g.From, notDialled})
			s.unreserve(c, engine.ConstraintWindow)
		default:
			row, carrier := c.Row, s.carrier()
			if c.Stored != nil {
				row = *c.Stored
			}
			l := s.spawn(row, nil, []any{&call.Dial{Reopens: c.Stored != nil, Attempt: c.Attempt, Trunk: c.Trunk,
				Media: c.Media, From: g.From, Trigger: c.Trigger, SendWithin: within,
				Validity: c.Validity.And(call.Validity{By: g.UseBy}), Carrier: carrier}})
			l.Attempt, l.Node, s.LastTrunk = c.Attempt, carrier, c.Trunk
			l.SeatTarget, s.DialTarget = s.Round.SeatTarget, s.Round.SeatTarget
			if c.Seated {
				s.holdSeat(l)
			}
			if c.Trigger != nil {
				l.Variables = c.Row.Variables
				delete(s.TriggersOf, c.Row.Number)
			}
			s.setPhase(l, attempt.PhaseDialling)
		}
	}
	s.endRound()
}

func (s *Dialler) wasTouched(id engine.ContactID) bool {
	_, ok := s.Round.Touched[id]
	return ok || s.Lines[id] != nil || s.Loads[id] != nil
}

func (s *Dialler) releaseTrunk(c Candidate) {
	s.emit(ReleaseTrunk{c.Trunk, c.Attempt.Leg(1)})
}

// unreserve puts a candidate back: it is dialled when there is room.
func (s *Dialler) unreserve(c Candidate, why engine.Constraint) {
	if c.Seated {
		s.Busy--
	}
	if c.Overtaken {
		delete(s.TriggersOf, c.Row.Number)
		s.settled(c.Row.Number)
		s.reply(c.Trigger.Request, nil, call.ErrContactExcluded)
		return
	}
	if c.Trigger != nil {
		c.Trigger.Reason = string(why)
		s.queueTrigger(&PendingTrigger{Row: c.Row, Stored: c.Stored, Trigger: c.Trigger})
		return
	}
	if s.wasTouched(c.Row.ID) {
		return // the look-ahead will find its then current row
	}
	if (s.M.C.State == campaign.Running || s.M.C.State == campaign.Paused) && !s.Excluded.Covers(&c.Row) {
		s.Queue.Push(c.Row)
	}
}

func (s *Dialler) endRound() {
	s.disarm(TimerRound)
	s.Round = nil
}

func (s *Dialler) roundLate(m *roundLate) {
	if s.Round == nil || s.Round.N != m.N {
		return
	}
	s.emit(RoundLost{})
	for _, c := range s.Round.Candidates {
		if c.Trunk != "" {
			s.releaseTrunk(c)
		}
		s.unreserve(c, engine.ConstraintNone)
	}
	s.Round = nil
}
