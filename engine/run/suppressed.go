package run

import (
	"maps"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
)

// suppressedPage bounds how many contacts are looked up at once.
const suppressedPage = 512

// suppressed ends the calls to numbers that are now on the suppression list.
func (s *Intake) suppressed(m *Suppressed, from engine.Request) {
	s.OpSeq++
	n := s.OpSeq
	op := &ExcludeOp{Request: from, Persisted: true, Found: true}
	s.Ops[n] = op
	for _, l := range s.linesInOrder() {
		own := slices.Collect(l.person().Numbers())
		if called := l.called(); l.Attempt != "" && !slices.Contains(own, called) {
			own = append(own, called) // it rings at a number that a request has taken from its person since
		}
		for _, number := range own {
			if _, ok := m.Numbers[number]; ok {
				op.Awaited++
				s.send(l, &call.End{Reason: engine.CodeSuppressed, Number: number, Op: n})
			}
		}
	}
	s.finishExclude(n)
	s.findSuppressed(slices.Sorted(maps.Keys(m.Numbers)), "")
}

// findSuppressed asks for the contacts of the run, after the given one, that wait for a dial
// although their number is suppressed: of these numbers, or of all suppressed numbers when none are
// given. Contacts of a draft are refused when they are dialled.
func (s *Intake) findSuppressed(numbers []engine.PhoneNumber, after engine.ContactID) {
	if s := s.M.C.State; s != campaign.Running && s != campaign.Paused {
		return
	}
	s.emit(ReadSuppressed{Read: s.beginRead(), Run: s.M.C.Run, Numbers: numbers, After: after, Limit: suppressedPage})
}

func (s *Intake) suppressedRead(m *SuppressedRead) {
	defer s.endRead(m.Read)
	switch _, mine := s.Reads[m.Read]; {
	case !mine || s.over() || m.Run != s.M.C.Run:
		return
	case m.Err != nil:
		s.emit(Failed{"suppressed contacts not read; trying again", m.Err})
		s.later(time.Second, &suppressAgain{m.Numbers, m.After})
		return
	}
	for i := range m.Rows {
		s.touchFound(m.Read, m.Rows[i], &call.End{Reason: engine.CodeSuppressed})
	}
	if n := len(m.Rows); n == suppressedPage {
		s.findSuppressed(m.Numbers, m.Rows[n-1].ID)
	}
}
