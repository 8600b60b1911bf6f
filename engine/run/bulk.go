package run

import (
	"time"

	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/tally"
)

// Two changes affect every contact of a run: its end, for those that wait, and
// another Max Attempts. Those at rest are changed by one write, whose event says how
// many of each kind there were; those that have an actor do it themselves, since only
// it knows how they stand. Until the write is done nobody is brought up: the row
// might be the one from before.

// sweep prepares such a write; the contacts that are up, or on their way, are left
// out of it.
func (s *Contacts) sweep() journal.Sweep {
	w := journal.Sweep{At: s.now}
	for _, l := range s.linesInOrder() {
		w.Except = append(w.Except, l.ID)
	}
	w.Except = append(w.Except, s.awaitedContacts()...)
	s.dropLookAhead()
	return w
}

// closeBatch is how many contacts are closed by one write: between two of them
// the answers of calls that still live are stored.
const closeBatch = 5000

func (s *Contacts) closeWaiting(as contact.State) *journal.Bulk {
	b := &journal.Bulk{To: as, Sweep: s.sweep()}
	b.Limit = closeBatch
	return b
}

// endContacts asks the contacts that are up to close themselves.
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

// closeAgain closes contacts that came into the run while it was ended.
func (s *Contacts) closeAgain() {
	as := s.rules.Policy.ClosedAs
	w := journal.Write{Bulk: s.closeWaiting(as)}
	s.write(w)
	s.endContacts(as)
	s.awaitSweep(&w.Bulk.Sweep)
}

// bulkRead counts what the write did. While the database is away it is asked
// again; a write that it refused was another owner's to make.
func (s *Contacts) bulkRead(m *BulkRead) {
	switch {
	case s.Tally == nil, m.Epoch != s.M.C.Epoch:
		return // counted by what this life loaded
	case m.Err != nil:
		s.later(time.Second, &readBulkAgain{m.Seq})
		return
	case m.Stored && m.Event.Run == s.M.C.Run:
		s.Tally.Apply(&m.Event)
	}
	c := s.Sweep
	if c == nil || c.Seq != m.Seq {
		return // another one is under way
	}
	s.Sweep = nil
	more := m.Stored && m.Event.Type == journal.ContactsClosed && m.Event.Run == s.M.C.Run &&
		moved(&m.Event) >= closeBatch && s.over()
	// Who was kept back meanwhile has an actor before the next batch, and is left
	// out of it.
	s.letGo(false)
	if more {
		s.closeAgain()
	}
	for _, to := range c.Waiting {
		s.reply(to, s.detail(), nil)
	}
}

// moved counts the contacts of an event.
func moved(e *journal.Event) (n int) {
	for i := range e.Data.Moves {
		n += e.Data.Moves[i].Count
	}
	return n
}

// letGo gives the contacts what was kept for them while they were changed as a
// whole.
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

// prepare has the database do what only it can: reset, restore or remove the
// contacts, behind everything that those of the run before still had to say.
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

// prepared answers whoever waits for the contacts to be prepared, restored or
// removed.
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
		s.broadcast(&call.Reload{})
		s.Tally = tally.From(m.Counters)
		if _, restored := m.Of.(campaign.RestoreContacts); restored {
			s.Pace.Books.Run = m.Ledgers.Books.Run
		}
		s.lookAgain()
		s.startTicking() // results may be owed to a run that is shown again
		d = s.detail()
	}
	for _, to := range waiting {
		s.reply(to, d, err)
	}
	s.letGo(removal)
}

// prepareAfter is how long what the database did not do waits.
const prepareAfter = time.Second

// prepareLater tries again what the campaign's row says already: its contacts are
// owed the step into its run. A deletion is no such thing.
func (s *Contacts) prepareLater(e campaign.Effect) {
	if _, removal := e.(campaign.Remove); removal {
		s.BulkOwed = nil
		return
	}
	s.later(prepareAfter, &prepareAgain{e})
}

// leave forgets a campaign that does not exist, or not any more, or that another node
// acts for.
func (s *Contacts) leave() {
	s.M.C.ID, s.Tally = "", nil
	s.closeAllSockets()
	s.emit(Leave{})
}
