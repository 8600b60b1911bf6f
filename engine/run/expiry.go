package run

import (
	"time"

	"dialler/engine/contact"
)

// Contacts that expire while they wait for a dial, in a running or paused campaign and whether its
// window is open or not: nobody has to come to their turn. That none is dialled from its expires_at
// on is ensured where it is dialled.

// Expiry is what the run knows about the contacts that expire.
type Expiry struct {
	From    time.Time // nobody else expires before; zero: that is not known
	Reading bool
}

const (
	expiryLook  = time.Second    // when somebody who expired could not be ended yet
	expiryNever = 24 * time.Hour // when nobody expires
)

// lookForExpired asks for the contacts that have expired, if there may be any.
func (s *Contacts) lookForExpired() {
	if s.Expiry.Reading || s.Sweep != nil || s.Preparing || s.over() || s.now.Before(s.Expiry.From) {
		return
	}
	s.Expiry = Expiry{From: s.now.Add(expiryNever), Reading: true}
	s.emit(ReadExpired{Read: s.beginRead(), Run: s.M.C.Run, Limit: deferBatch})
}

// expiredRead ends the contacts at rest. One with an actor is looked for again: it is in a call, or
// about to rest.
func (s *Contacts) expiredRead(m *ExpiredRead) {
	defer s.endRead(m.Read)
	s.Expiry.Reading = false
	switch {
	case m.Err != nil:
		s.expectExpiryIn(expiryLook)
		return
	case s.Sweep != nil || s.Preparing || s.over() || m.Run != s.M.C.Run:
		s.Expiry.From = time.Time{}
		return
	}
	s.expectExpiryAt(m.Next)
	if m.More {
		s.expectExpiryIn(0)
	}
	for i := range m.Rows {
		id := m.Rows[i].ID
		if s.Lines[id] != nil || s.Loads[id] != nil || !s.current(m.Read, id) {
			s.expectExpiryIn(expiryLook)
			continue
		}
		s.Queue.Take(id)
		if s.Round != nil {
			s.Round.touch(id)
		}
		s.Closed = append(s.Closed, m.Rows[i])
	}
	s.deferClosed()
}

// expectExpiry notes that a contact that waits for a dial expires.
func (s *Contacts) expectExpiry(c *contact.Contact) {
	if c.DueAt != nil {
		s.expectExpiryAt(c.ExpiresAt)
	}
}

func (s *Contacts) expectExpiryAt(at *time.Time) {
	if at != nil && at.Before(s.Expiry.From) {
		s.Expiry.From = at.Round(0)
	}
}

func (s *Contacts) expectExpiryIn(d time.Duration) {
	at := s.now.Add(d)
	s.expectExpiryAt(&at)
}
