package run

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/journal"
	"dialler/engine/pacing"
)

// Floor is who has a seat, who waits for one, and who may want one: lines, the round and
// the look-ahead. It keeps Busy, Held and Phases in step with the lines.
type Floor struct {
	Record
	Queue    Queue
	Triggers []*PendingTrigger
	Round    *Round
	Pace     Pace
	SeatState
	SocketState
	Windows
}

func (s *Floor) lineMoved(m *call.LineMoved) {
	l := s.Lines[m.Contact]
	if l == nil {
		return
	}
	if l.Attempt == "" && m.Phase == attempt.PhaseDialling {
		l.begun(m.Attempt) // an earlier life had decided it
		s.setPhase(l, m.Phase)
	}
	if l.Attempt != m.Attempt {
		return // for an older attempt
	}
	if l.Phase == attempt.PhaseOver && m.Phase != attempt.PhaseOver {
		return
	}
	s.heard(l, m.Phase)
	s.setPhase(l, m.Phase)
	switch m.Phase {
	case attempt.PhaseDialling, attempt.PhaseRinging, attempt.PhaseListening:
	case attempt.PhaseWaiting:
		s.enqueueWaiting(l)
		s.grantSeats()
	case attempt.PhaseServed:
		if !m.Tentative {
			s.countAnswer(l, false, m.Cause)
		}
	case attempt.PhaseAbandoned:
		if m.BotMissed && !l.Counted {
			s.Pace.Proof.NotTaken()
		}
		s.countAnswer(l, true, m.Cause)
		s.freeSeat(l)
	case attempt.PhaseReleased:
		if m.Machine {
			s.countMachine(l)
		}
		s.freeSeat(l)
	case attempt.PhaseOver:
		s.dropLine(l)
	}
	if m.Phase == attempt.PhaseServed {
		s.Rates.Served(m.At)
	}
}

// begun gives a line an attempt that this life has not dialled.
func (l *Line) begun(id engine.AttemptID) {
	l.Attempt, l.SeatTarget, l.Counted, l.Machine = id, 0, false, false
}

// answerStands counts the answer: nothing can revoke it any more.
func (s *Floor) answerStands(m *call.AnswerStands) {
	if l := s.Lines[m.Contact]; l != nil && l.Attempt == m.Attempt {
		s.countAnswer(l, false, "")
	}
}

// countAnswer adds a live answer to the ledgers, once.
func (s *Floor) countAnswer(l *Line, abandoned bool, cause engine.AbandonCause) {
	if l.Counted {
		return
	}
	l.Counted = true
	s.modelAnswer(abandoned)
	if abandoned {
		c := pacing.Counts{Live: 1, Abandoned: 1}
		if cause == engine.AbandonCapacityLoss {
			c.CapacityLoss = 1
			s.Pace.Books.Lost()
		} else {
			s.Pace.Books.Abandoned()
		}
		l.Ledger = c
		s.Pace.Hours.Count(s.now, c)
		s.emit(Abandoned{l.called(), cause})
		return
	}
	s.Pace.Proof.Taken(s.concurrency())
	s.Pace.Books.Served()
	l.Ledger = pacing.Counts{Live: 1}
	s.Pace.Hours.Count(s.now, pacing.Counts{Live: 1})
}

// counted notes how an event makes the counters count a line's answer.
func (s *Record) counted(e *journal.Event) {
	l := s.Lines[e.Contact]
	if l == nil || l.Attempt != e.Attempt {
		return
	}
	switch {
	case e.Type == journal.AttemptConnected:
		l.Told = pacing.Counts{Live: 1}
	case e.Type == journal.AttemptRevised && !e.Data.Connected:
		l.Told = pacing.Counts{}
	case e.Type == journal.AttemptEnded && e.Data.Outcome == engine.OutcomeAbandoned:
		if l.Told = l.Ledger; l.Told.Abandoned == 0 {
			l.Told = pacing.Counts{Live: 1, Abandoned: 1}
		}
	}
}

func (s *Floor) enqueueWaiting(l *Line) {
	if slices.Contains(s.Waiting, l.ID) {
		return
	}
	if l.Seated {
		s.useHeld(l)
		s.send(l, &call.SeatGranted{Attempt: l.Attempt, Socket: s.takeSocket(l)})
		return
	}
	s.Waiting = append(s.Waiting, l.ID)
}

// dropLine ends the line's attempt.
func (s *Floor) dropLine(l *Line) {
	s.freeSeat(l)
	s.setPhase(l, attempt.PhaseOver)
	l.Counted, l.Machine, l.Attempt = false, false, ""
	l.Ledger, l.Told = pacing.Counts{}, pacing.Counts{}
}

// setPhase moves a line and keeps the count.
func (s *Floor) setPhase(l *Line, p attempt.Phase) {
	s.modelLine(l, p)
	s.settleSockets(l, p)
	s.Phases[phaseIndex(l.Phase)]--
	l.Phase = p
	s.Phases[phaseIndex(p)]++
}

// flying counts r of the gate: dials that are placed or being reserved, and neither answered nor
// over; a line with a seat held counts as busy instead.
func (s *Floor) flying() int {
	n := s.Phases[phaseIndex(attempt.PhaseDialling)] + s.Phases[phaseIndex(attempt.PhaseRinging)] +
		s.Phases[phaseIndex(attempt.PhaseListening)] - s.Held
	if s.Round != nil {
		for i := range s.Round.Candidates {
			if !s.Round.Candidates[i].Seated {
				n++
			}
		}
	}
	return n
}

// modelLine tells the model of a line when it is placed, when it wants a seat, or when it
// ends without.
func (s *Floor) modelLine(l *Line, p attempt.Phase) {
	m := s.Pace.Model
	if m == nil || l.Held {
		return
	}
	switch p {
	case attempt.PhaseDialling, attempt.PhaseRinging, attempt.PhaseListening:
		if l.DialledAt.IsZero() {
			l.DialledAt = s.now
			m.Dialled(s.now)
		}
		return
	case attempt.PhaseWaiting:
		if !l.DialledAt.IsZero() {
			m.Answered(s.now, s.now.Sub(l.DialledAt))
		}
	case attempt.PhaseServed, attempt.PhaseAbandoned, attempt.PhaseReleased, attempt.PhaseOver:
		if !l.DialledAt.IsZero() {
			m.Failed(s.now, s.now.Sub(l.DialledAt))
		}
	}
	l.DialledAt = time.Time{}
}

// modelSeat tells it of every seat that is taken and given back.
func (s *Floor) modelSeat(l *Line, taken bool) {
	m := s.Pace.Model
	switch {
	case m == nil:
	case taken:
		l.SeatedAt = s.now
		m.Seated(s.now)
	case !l.SeatedAt.IsZero():
		m.Ended(s.now, s.now.Sub(l.SeatedAt))
		l.SeatedAt = time.Time{}
	}
}

// modelAnswer tells the model the result of an answered call.
func (s *Floor) modelAnswer(abandoned bool) {
	switch m := s.Pace.Model; {
	case m == nil:
	case abandoned:
		m.Abandoned()
	default:
		m.Served()
	}
}

// countMachine counts a call that classification judged not to be a person.
func (s *Floor) countMachine(l *Line) {
	if l.Machine || l.Counted {
		return
	}
	l.Machine = true
	s.Pace.Books.Machine()
	s.Pace.Hours.Count(s.now, pacing.Counts{Machines: 1})
	if s.Pace.Model != nil {
		s.Pace.Model.Machine()
	}
}
