package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/number"
	"dialler/engine/window"
)

// Windows by the clocks of the contacts (SEMANTICS §8, option contact zone). A
// contact whose turn comes while its own window is closed gets the time of its
// next opening, durably, and is out of the way until then: at most one write a
// contact and day, whatever the size of the list.

// deferBatch bounds how many contacts are put off at once: one write, and not
// too long a turn of the run.
const deferBatch = 512

// Windows is what the run knows of the campaign's window, and of its contacts' own.
type Windows struct {
	WindowOpen              bool // as last asked, of the time from WindowFrom until WindowUntil
	WindowFrom, WindowUntil time.Time
	WindowEnds              time.Time         // of the open window
	Closed                  []contact.Contact // taken from the look-ahead, to be put off
	Opens                   time.Time         // the earliest opening of those that were put off
}

// windowOpen says whether the campaign may dial, and asks the window only when
// its answer may have changed. By the contacts' clocks that is said of each; the
// campaign is outside its window when nobody is left whose window is open.
func (s *State) windowOpen() bool {
	w := &s.M.C.Settings.Window
	if w.ContactZone {
		s.WindowEnds = time.Time{}
		return s.Queue.Len() > 0 || len(s.Triggers) > 0 || s.Round != nil || !s.now.Before(s.Opens)
	}
	if s.now.Before(s.WindowUntil) && !s.now.Before(s.WindowFrom) {
		return s.WindowOpen
	}
	s.WindowOpen = w.Open(s.now)
	s.WindowEnds, _ = w.Closes(s.now)
	s.WindowFrom = s.now
	s.WindowUntil = s.now.Add(time.Second)
	return s.WindowOpen
}

// windowOf is the window of a contact.
func (s *State) windowOf(n engine.PhoneNumber) window.Window {
	w := s.M.C.Settings.Window
	if w.ContactZone {
		w = w.For(number.Zones(n))
	}
	return w
}

// callableFor is how long, from now on, an INVITE to the number may leave:
// until its window closes or the single-day run ends, and never longer than an
// intent stands. 0 when it may not.
func (s *State) callableFor(n engine.PhoneNumber) time.Duration {
	most := s.Config.SendBy
	if end := s.M.C.WindowEndsAt; end != nil {
		most = min(most, end.Sub(s.now))
	}
	return s.windowOf(n).OpenFor(s.now, most)
}

// deferClosed puts off the contacts whose window is closed. Until that is
// durable they count as being loaded: whoever wants one of them waits for the
// row as it will be.
func (s *State) deferClosed() {
	if len(s.Closed) == 0 {
		return
	}
	rows := s.Closed
	s.Closed = nil
	var w journal.Write
	var ids []engine.ContactID
	for i := range rows {
		c := contact.Machine{C: rows[i]}
		before := c.C.Facts()
		err := c.Apply(contact.Event{Kind: contact.Deferred, At: s.now, Policy: s.rules.PolicyFor(rows[i].Number,
			number.Zones)})
		if err != nil {
			s.emit(Illegal{})
			continue
		}
		if c.C.Version == rows[i].Version { // it opened just now
			s.Queue.Push(rows[i])
			continue
		}
		after := c.C.Facts()
		w.Contacts = append(w.Contacts, c.C)
		w.Events = append(w.Events, journal.Event{At: s.now, Type: journal.ContactChanged, Version: 1, Contact: c.C.ID,
			Data: journal.Data{Before: &before, After: &after, DueAt: c.C.DueAt, Reason: "outside_window"}})
		ids = append(ids, c.C.ID)
		s.Loads[c.C.ID] = []any{}
		if s.Reading {
			s.LiveWhileReading[c.C.ID] = struct{}{}
		}
		if due := c.C.DueAt; due != nil {
			s.expect(*due)
			if !s.now.Before(s.Opens) || due.Before(s.Opens) {
				s.Opens = *due
			}
		}
	}
	if len(ids) == 0 {
		return
	}
	s.write(w)
	s.afterWrites(Continuation{Do: thenPutOff, Contacts: ids})
}

// putOff: the contacts have the times of their next openings.
func (s *State) putOff(ids []engine.ContactID) {
	for _, id := range ids {
		if len(s.Loads[id]) > 0 {
			s.emit(ReadContact{Contact: id})
		} else {
			delete(s.Loads, id)
		}
	}
	s.lookAgain()
}

// watchClock looks whether the wall clock was stepped (SEMANTICS §8). Due times
// and windows are its, so that what was concluded from it before no longer
// holds: whether the window is open, who is due, and when to look again.
func (s *State) watchClock() {
	before := s.Clocks
	s.Clocks = window.Reading{Wall: s.now, Boot: time.Duration(s.boot)}
	step := s.Clocks.Stepped(before)
	if step == 0 {
		return
	}
	s.emit(ClockStepped{step})
	s.WindowFrom, s.WindowUntil, s.Opens = time.Time{}, time.Time{}, time.Time{}
	s.LastOverdue = time.Time{}
	s.Queue.Clear()
	s.lookAgain()
	s.ReadStale = s.Reading
}
