package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/quota"
	"dialler/engine/trunk"
)

// A round reserves for roundLeast to roundCap contacts.
const (
	roundLeast = 4
	roundCap   = 256
)

// roundTimeout gives up a round whose answers were lost with a crashed actor.
const roundTimeout = 5 * time.Second

// Round is one reservation of trunk channels and caller IDs for the next contacts. Only one is in
// progress at a time; its contacts count as lines.
type Round struct {
	N          int
	Candidates []Candidate
	SeatTarget int // the fair share that they rely on
	// Touched are the contacts whose actors started during the round: their candidates' rows are
	// out of date.
	Touched map[engine.ContactID]struct{}
}

// Candidate is a contact for which a reservation is in progress.
type Candidate struct {
	Row      contact.Contact
	Stored   *contact.Contact // only for a trigger: as in the tables; nil for a new contact
	Attempt  engine.AttemptID
	Trunk    engine.TrunkID
	Media    *engine.MediaProfile // the trunk's
	Trigger  *call.Trigger
	Seated   bool          // a seat is held for it from now on
	Validity call.Validity // of what it was granted
	// Overtaken says that an exclusion came while this trigger's reservation was in progress.
	Overtaken bool
}

func (r *Round) touch(id engine.ContactID) {
	if r.Touched == nil {
		r.Touched = map[engine.ContactID]struct{}{}
	}
	r.Touched[id] = struct{}{}
}

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
	s.rank()
	k := min(dec.Dials, max(s.Pace.Batch, roundLeast))
	if k <= 0 && s.DemandOpen == 0 && !s.socketsSoon() {
		s.settleTriggers(string(dec.Constraint))
	}
	if s.Queue.Len() <= s.lookAhead()/2 {
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
			s.lookForTrigger(&Trigger{Command: t.Trigger.Command, Newer: t.Newer}, t.Trigger.Request, false)
			continue
		}
		needs := s.needsSeat(t.Row.NextNumber())
		switch {
		case t.Outdated:
			s.queueTrigger(t)
		case s.dialableFor(&t.Row) <= 0:
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
		needs := s.needsSeat(row.NextNumber())
		switch {
		case s.Lines[row.ID] != nil || s.Excluded.Covers(&row):
		case s.dialableFor(&row) <= 0:
			s.Closed = append(s.Closed, row)
		case needs && !seat:
			s.Queue.PushSeatedOnly(row)
		default:
			return Candidate{Row: row, Attempt: s.newAttemptID(), Seated: needs}, true
		}
	}
	if len(s.Triggers) > 0 && s.Queue.Head(s.order(), seat) == nil { // nobody is ahead of them any more
		return s.nextCandidate(seat)
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

func (s *Dialler) startRound(candidates []Candidate) {
	s.Rounds++
	n := s.Rounds
	legs, draws := make([]engine.LegID, len(candidates)), make([]uint64, len(candidates))
	for i := range candidates {
		row := &candidates[i].Row
		legs[i] = candidates[i].Attempt.Leg(1)
		draws[i] = trunk.Draw(string(row.ID), row.Used+row.Unconsumed)
		if s.SeatsUntil != 0 { // they rely on seats that another node granted
			candidates[i].Validity.By = quota.UseBy(s.boot)
		}
	}
	s.Round = &Round{N: n, Candidates: candidates, SeatTarget: s.SeatTarget}
	s.arm(TimerRound, roundTimeout, Deferred{Event: &roundLate{n}})
	s.emit(ReserveTrunks{n, legs, draws})
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
		want[i] = NumberWant{Attempt: keep[i].Attempt, To: keep[i].Row.NextNumber()}
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
		within := s.dialableFor(&c.Row)
		switch {
		case g.From == "":
			s.releaseTrunk(c)
			s.holdPace(g.Constraint, g.RetryAt)
			s.unreserve(c, g.Constraint)
		case !open || c.Overtaken || s.Excluded.Covers(&c.Row) || s.wasTouched(c.Row.ID),
			!c.Seated && s.needsSeat(c.Row.NextNumber()):
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
			to := c.Row.NextNumber()
			l := s.spawn(row, nil, []any{&call.Dial{Reopens: c.Stored != nil, Attempt: c.Attempt, Trunk: c.Trunk,
				Media: c.Media, To: to, From: g.From, Trigger: c.Trigger, SendWithin: within,
				Validity: c.Validity.And(call.Validity{By: g.UseBy}), Carrier: carrier}})
			l.Alternates, l.Called = c.Row.Alternates, to // its trigger may have more
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
		s.Queue.Return(c.Row)
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
