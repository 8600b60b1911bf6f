package run

import (
	"cmp"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/journal"
	"dialler/engine/pacing"
)

// Line is a contact whose actor lives.
type Line struct {
	ID       engine.ContactID
	Number   engine.PhoneNumber
	Up       bool  // its actor takes commands
	Buffer   []any // commands while it is not up, or is asked to stop
	Stopping bool
	Attempt  engine.AttemptID
	Phase    attempt.Phase
	Seated   bool
	Held     bool // seated before it was answered
	// Unheard: a call of an earlier owner, which keeps its seat until it is heard of.
	Unheard bool
	// Before is its attempt when an edit lowered the concurrency.
	Before engine.AttemptID
	// SeatTarget is the fair share that its dial relied on, 0: unknown.
	SeatTarget int
	Counted    bool // as a live answer
	Machine    bool // counted as one
	// Ledger is what the ledgers have of its answer, Told what the counters have: these
	// count a conversation when it begins and an abandoned call when it ends, those what
	// can no longer change.
	Ledger, Told pacing.Counts
	// Of the pacing model: when the line was placed, while it may still want a
	// seat, and when it took one.
	DialledAt, SeatedAt time.Time
	Accepted            Steps // of its writes
	// Variables of a contact that a trigger made and that may not be stored yet.
	Variables map[string]string
	// Node carries it, 0: this one, or one that the run does not know. Bare: it is
	// answered, and no socket stood for it. Withdrawn: it is being cancelled.
	Node            engine.Incarnation
	Bare, Withdrawn bool
}

// Steps is a set of the numbers that a contact gives its writes, from 1: hardly ever
// are there as many as have their place in Low.
type Steps struct {
	Low  uint64
	High map[int]struct{}
}

// Add says whether the step is a new one.
func (s *Steps) Add(step int) bool {
	if step >= 0 && step < 64 {
		bit := uint64(1) << step
		had := s.Low&bit != 0
		s.Low |= bit
		return !had
	}
	if _, had := s.High[step]; had {
		return false
	}
	if s.High == nil {
		s.High = map[int]struct{}{}
	}
	s.High[step] = struct{}{}
	return true
}

func (s *State) lineMoved(m *call.LineMoved) {
	l := s.Lines[m.Contact]
	if l == nil {
		return
	}
	if l.Attempt == "" && m.Phase == attempt.PhaseDialling {
		s.begun(l, m.Attempt) // an earlier life had decided it
		s.setPhase(l, m.Phase)
	}
	if l.Attempt != m.Attempt {
		return // of an older attempt
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
func (s *State) begun(l *Line, id engine.AttemptID) {
	l.Attempt, l.SeatTarget, l.Counted, l.Machine = id, 0, false, false
}

// answerStands: nothing takes the answer back any more, so that it counts.
func (s *State) answerStands(m *call.AnswerStands) {
	if l := s.Lines[m.Contact]; l != nil && l.Attempt == m.Attempt {
		s.countAnswer(l, false, "")
	}
}

// countAnswer adds a live answer to the ledgers, once.
func (s *State) countAnswer(l *Line, abandoned bool, cause engine.AbandonCause) {
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
		s.emit(Abandoned{l.Number, cause})
		return
	}
	s.Pace.Proof.Taken(s.concurrency())
	s.Pace.Books.Served()
	l.Ledger = pacing.Counts{Live: 1}
	s.Pace.Hours.Count(s.now, pacing.Counts{Live: 1})
}

// counted notes what an event has the counters say of a line's answer.
func (s *State) counted(e *journal.Event) {
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

// toldAhead is how far the counters are ahead of the ledgers, or behind them.
func (s *State) toldAhead() (c pacing.Counts) {
	for _, l := range s.Lines {
		c.Live += l.Told.Live - l.Ledger.Live
		c.Abandoned += l.Told.Abandoned - l.Ledger.Abandoned
		c.CapacityLoss += l.Told.CapacityLoss - l.Ledger.CapacityLoss
	}
	return c
}

func (s *State) enqueueWaiting(l *Line) {
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

// dropLine: the line's attempt is over.
func (s *State) dropLine(l *Line) {
	s.freeSeat(l)
	s.setPhase(l, attempt.PhaseOver)
	l.Counted, l.Machine, l.Attempt = false, false, ""
	l.Ledger, l.Told = pacing.Counts{}, pacing.Counts{}
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

// lineOf is the line to a number, nil when there is none.
func (s *State) lineOf(n engine.PhoneNumber) *Line { return s.Lines[s.ByNumber[n]] }

// setPhase moves a line and keeps the count.
func (s *State) setPhase(l *Line, p attempt.Phase) {
	s.modelLine(l, p)
	s.settleSockets(l, p)
	s.Phases[phaseIndex(l.Phase)]--
	l.Phase = p
	s.Phases[phaseIndex(p)]++
}

// engagedLines counts the lines with a live attempt.
func (s *State) engagedLines() int {
	return len(s.Lines) - s.Phases[phaseIndex(attempt.PhaseOver)]
}

// flying counts r of the gate: dials placed, or being reserved, that are not
// answered or over; one with a seat held counts as busy instead.
func (s *State) flying() int {
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

// linesInOrder lists the lines, always in the same order.
func (s *State) linesInOrder() []*Line {
	list := make([]*Line, 0, len(s.Lines))
	for _, l := range s.Lines {
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b *Line) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// awaitedContacts lists the contacts whose rows are being read, always in the same
// order.
func (s *State) awaitedContacts() []engine.ContactID {
	list := make([]engine.ContactID, 0, len(s.Loads))
	for id := range s.Loads {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}
