package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/number"
	"dialler/engine/window"
)

// Windows is what the run knows about the campaign's window, and about its contacts' own windows.
type Windows struct {
	WindowOpen              bool // last known state, valid from WindowFrom until WindowUntil
	WindowFrom, WindowUntil time.Time
	WindowEnds              time.Time         // of the open window
	Closed                  []contact.Contact // to be put off, or expired
	Opens                   time.Time         // earliest opening among the contacts that were put off
}

// windowOpen says whether the campaign may dial, and evaluates the window only when its answer may
// have changed. With contact zones each contact has a window of its own; the campaign is outside
// its window when no contact is left whose window is open.
func (s *Floor) windowOpen() bool {
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
func (s *Record) windowOf(n engine.PhoneNumber) window.Window {
	w := s.M.C.Settings.Window
	if w.Own() {
		w = w.For(number.HomeOf(n))
	}
	return w
}

// dialableFor is callableFor within the contact's own times.
func (s *Record) dialableFor(c *contact.Contact) time.Duration {
	return c.DialWithin(s.now, s.callableFor(c.NextNumber()))
}

// callableFor is how long, from now on, an INVITE to the number may leave: until its window closes
// or the single-day run ends, and never longer than an intent is valid; 0 when it may not leave.
func (s *Record) callableFor(n engine.PhoneNumber) time.Duration {
	most := s.Config.SendBy
	if end := s.M.C.WindowEndsAt; end != nil {
		most = min(most, end.Sub(s.now))
	}
	return s.windowOf(n).OpenFor(s.now, most)
}
