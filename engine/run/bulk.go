package run

import (
	"time"

	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/tally"
)

// Two changes affect every contact of a run: its end, for the contacts that wait, and a new Max
// Attempts. One write changes the contacts at rest, and its event says how many of each kind there
// were. Contacts with an actor change themselves, since only the actor knows their current state.
// Until the write is done no contact actor is started: the row it would read might predate the
// write.

// sweep prepares such a write; it leaves out contacts whose actor is running or being started.
func (s *Contacts) sweep() journal.Sweep {
	w := journal.Sweep{At: s.now}
	for _, l := range s.linesInOrder() {
		w.Except = append(w.Except, l.ID)
	}
	w.Except = append(w.Except, s.awaitedContacts()...)
	s.dropLookAhead()
	return w
}

// closeBatch is how many contacts one write closes: between two of them, the results of live calls
// are stored.
const closeBatch = 5000

func (s *Contacts) closeWaiting(as contact.State) *journal.Bulk {
	b := &journal.Bulk{To: as, Sweep: s.sweep()}
	b.Limit = closeBatch
	return b
}

// endContacts tells the contacts that have an actor to close themselves.
func (s *Contacts) endContacts(as contact.State) {
	kind := contact.RunStopped
	if as == contact.WindowClosed {
		kind = contact.WindowEnded
	}
	for _, l := range s.linesInOrder() {
		s.send(l, &call.RunEnded{Kind: kind})
	}
	for id := range s.Loads {
		s.Loads[id] = append(s.Loads[id], &call.RunEnded{Kind: kind})
	}
}

// awaitSweep waits for the write that was sent.
func (s *Contacts) awaitSweep(w *journal.Sweep) {
	if s.Sweep == nil {
		s.Sweep = &Sweep{}
	}
	s.Sweep.Seq = w.Event.Seq
	s.afterWrites(Continuation{Do: thenReadBulk, Seq: w.Event.Seq})
}

// closeAgain closes contacts that joined the run while it was ending.
func (s *Contacts) closeAgain() {
	as := s.rules.Policy.ClosedAs
	w := journal.Write{Bulk: s.closeWaiting(as)}
	s.write(w)
	s.endContacts(as)
	s.awaitSweep(&w.Bulk.Sweep)
}

// bulkRead counts what the write did. While the database is unavailable the question is repeated; a
// write that the database refused belonged to another owner.
func (s *Contacts) bulkRead(m *BulkRead) {
	switch {
	case s.Tally == nil, m.Epoch != s.M.C.Epoch:
		return // already in the counts that this instance loaded
	case m.Err != nil:
		s.later(time.Second, &readBulkAgain{m.Seq})
		return
	case m.Stored && m.Event.Run == s.M.C.Run:
		s.Tally.Apply(&m.Event)
	}
	c := s.Sweep
	if c == nil || c.Seq != m.Seq {
		return // another write is in progress
	}
	s.Sweep = nil
	more := m.Stored && m.Event.Type == journal.ContactsClosed && m.Event.Run == s.M.C.Run &&
		moved(&m.Event) >= closeBatch && s.over()
	// Contacts whose commands were held back get an actor before the next batch, which leaves them
	// out.
	s.letGo(false)
	if more {
		s.closeAgain()
	}
	for _, to := range c.Waiting {
		s.reply(to, s.detail(), nil)
	}
}

// moved counts the contacts that an event moved.
func moved(e *journal.Event) (n int) {
	for i := range e.Data.Moves {
		n += e.Data.Moves[i].Count
	}
	return n
}

// letGo delivers the commands that were held back while all contacts were being changed.
func (s *Contacts) letGo(removed bool) {
	held := s.HeldBack
	s.HeldBack = nil
	for _, h := range held {
		if removed {
			s.refuse(h.Command, errContactGone)
			continue
		}
		s.touch(h.Contact, h.Command)
	}
}

// prepare has the database reset, restore or remove the contacts, after everything that the
// contacts of the previous run still had to write.
func (s *Contacts) prepare(e campaign.Effect) {
	s.Queue.Clear()
	s.Preparing, s.BulkOwed, s.OwedAt = true, e, s.now
	s.whenAtRest()
}

func (s *Contacts) prepareNow(e campaign.Effect) {
	ev := s.bulkEvent(journal.ContactsReset, s.now)
	if _, restores := e.(campaign.RestoreContacts); restores {
		ev.Type = journal.ContactsRestored
	}
	s.emit(Prepare{Of: e, At: s.OwedAt, Campaign: s.M.C, Event: ev})
}

// prepared answers the requests that wait until the contacts are prepared, restored or removed.
func (s *Contacts) prepared(m *Prepared) {
	waiting := s.PreparedFor
	s.Preparing, s.PreparedFor = false, nil
	_, removal := m.Of.(campaign.Remove)
	removed := removal && m.Err == nil
	var d campaign.Detail
	var err error
	switch {
	case m.Err != nil:
		s.emit(Failed{"contacts not prepared for the run", m.Err})
		err = journal.Unavailable(m.Err)
		s.prepareLater(m.Of)
	case removed:
		d = campaign.Detail{Campaign: s.M.C}
		s.leave()
	default:
		s.BulkOwed = nil
		s.Expiry.From = time.Time{}
		s.broadcast(&call.Reload{})
		s.Tally = tally.From(m.Counters)
		if _, restored := m.Of.(campaign.RestoreContacts); restored {
			s.Pace.Books.Run = m.Ledgers.Books.Run
		}
		s.lookAgain()
		s.startTicking() // a run that is shown again may still await results
		d = s.detail()
	}
	for _, to := range waiting {
		s.reply(to, d, err)
	}
	s.letGo(removal)
}

// prepareAfter is how long the run waits before it retries a preparation that failed.
const prepareAfter = time.Second

// prepareLater retries a step that the campaign's row already states: its contacts must still
// follow into the run. This does not apply to a deletion.
func (s *Contacts) prepareLater(e campaign.Effect) {
	if _, removal := e.(campaign.Remove); removal {
		s.BulkOwed = nil
		return
	}
	s.later(prepareAfter, &prepareAgain{e})
}

// leave forgets a campaign that does not exist, no longer exists, or belongs to another node.
func (s *Contacts) leave() {
	s.M.C.ID, s.Tally = "", nil
	s.closeAllSockets()
	s.emit(Leave{})
}
