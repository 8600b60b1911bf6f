package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/call"
)

// erasureTime limits how long a run refuses triggers of a number being erased, in case the eraser
// has gone.
const erasureTime = time.Minute

func (s *Intake) beginErasure(m *BeginErasure, from engine.Request) {
	if _, busy := s.TriggersOf[m.Number]; busy {
		s.reply(from, nil, engine.TemporaryConflict("person_being_added",
			"", time.Second))
		return
	}
	s.Erasing[m.Number] = s.now.Add(erasureTime)
	if l := s.lineOf(m.Number); l != nil {
		s.send(l, &call.Rest{})
	}
	s.afterWrites(Continuation{Do: thenReply, Request: from})
}

func (s *Intake) endErasure(m *EndErasure, from engine.Request) {
	delete(s.Erasing, m.Number)
	s.Excluded.DropNumber(m.Number)
	for _, gone := range m.Matches {
		s.Excluded.DropMatch(gone)
	}
	if l := s.lineOf(m.Number); l != nil {
		delete(s.ByNumber, m.Number)
		l.Number, l.Alternates, l.Called, l.Variables = m.Tombstone, "", "", nil
		s.ByNumber[l.Number] = l.ID
		s.send(l, &call.Forget{Tombstone: m.Tombstone})
	}
	s.reply(from, nil, nil)
}
