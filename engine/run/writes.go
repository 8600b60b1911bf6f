package run

import (
	"errors"

	"dialler/engine/call"
	"dialler/engine/journal"
)

// persist numbers a contact's events in the campaign's sequence, folds them, and passes the write
// on.
func (s *Record) persist(m *call.Persist) {
	if l := s.Lines[m.Contact]; l != nil {
		if !l.Accepted.Add(m.Step) {
			return // repeated after a crash of this run; the first one is on its way
		}
		for i := range m.Write.Contacts {
			l.takes(&m.Write.Contacts[i])
		}
	}
	s.sequence(m.Write)
	s.emit(PassOn{m})
}

// sequence numbers and folds a write's events and stamps the owner's epoch.
func (s *Record) sequence(w *journal.Write) {
	w.Campaign, w.Epoch = s.ID, s.M.C.Epoch
	// Bulk events are counted once the store has created them.
	if w.Bulk != nil {
		w.Bulk.Event = s.bulkEvent(journal.ContactsClosed, w.Bulk.At)
	}
	if w.Retune != nil {
		w.Retune.Event = s.bulkEvent(journal.ContactsRetuned, w.Retune.At)
	}
	for i := range w.Events {
		e := &w.Events[i]
		s.M.C.Seq++
		e.Campaign, e.Seq = s.ID, s.M.C.Seq
		if e.Run == 0 {
			e.Run = s.M.C.Run
		}
		if e.Run == s.M.C.Run {
			s.Tally.Apply(e)
			s.counted(e)
		}
		s.Rates.Note(e)
	}
}

// refused reverses what was folded from a write that the database refused. A write of an earlier
// instance was never folded into this one.
func (s *Record) refused(m *WriteRefused) {
	if m.Write.Epoch != s.M.C.Epoch || s.Tally == nil {
		return
	}
	s.Replaced = s.Replaced || errors.Is(m.Err, journal.ErrStaleEpoch)
	for i := range m.Write.Events {
		if e := &m.Write.Events[i]; e.Run == s.M.C.Run {
			s.Tally.Revoke(e)
		}
	}
}

// durable says whether what was written so far is stored. A former owner cannot tell, and says so: whoever
// waits asks the next one.
func (s *Record) durable() error {
	if s.Replaced {
		return journal.ErrStaleEpoch
	}
	return nil
}

// write persists a write of the run itself.
func (s *Record) write(w journal.Write) {
	s.sequence(&w)
	s.emit(Write{Write: &w, Revoke: true})
}
