package memstore

import (
	"context"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/tally"
)

// Changes of all contacts of a campaign at once: each goes through the contact machine, and one
// event covers them all.

// moves counts the contacts with the same change.
type moves struct {
	kinds map[kind]int // places in list
	list  []journal.Move
}

type kind struct{ before, after contact.Facts }

func (m *moves) add(before *contact.Facts, after contact.Facts) {
	k := kind{after: after}
	if before != nil {
		k.before = *before
	}
	i, ok := m.kinds[k]
	if !ok {
		if m.kinds == nil {
			m.kinds = map[kind]int{}
		}
		i = len(m.list)
		m.kinds[k] = i
		m.list = append(m.list, journal.Move{Before: before, After: &after})
	}
	m.list[i].Count++
}

// tell stores the event of the moves unless it is already stored.
func (s *tables) tell(ev journal.Event, m *moves) {
	ev.Data.Moves = m.list
	s.keepEvent(&ev, true)
}

// sweeps applies a write's changes to the contacts at rest.
func (s *tables) sweeps(w *journal.Write) error {
	if b := w.Bulk; b != nil {
		kind := contact.RunStopped
		if b.To == contact.WindowClosed {
			kind = contact.WindowEnded
		}
		of := s.book(w.Campaign).run(b.Event.Run).queue.all
		if err := s.sweep(&b.Sweep, contact.Event{Kind: kind, At: b.At}, of); err != nil {
			return err
		}
	}
	if x := w.Retune; x != nil {
		of := func(yield func(*row) bool) {
			for _, r := range s.book(w.Campaign).rows {
				if r.c.Run == x.Event.Run && r.c.Attempt == "" && r.c.Open() && r.c.Max != x.MaxAttempts && !yield(r) {
					return
				}
			}
		}
		ev := contact.Event{Kind: contact.Retuned, At: x.At, Policy: contact.Policy{MaxAttempts: x.MaxAttempts}}
		return s.sweep(&x.Sweep, ev, of)
	}
	return nil
}

func (s *tables) sweep(w *journal.Sweep, ev contact.Event, of func(yield func(*row) bool)) error {
	if s.told(&w.Event) {
		return nil
	}
	s.asked++
	for _, id := range w.Except {
		if r := s.rows[id]; r != nil {
			r.left = s.asked
		}
	}
	var found []*row
	for r := range of {
		if w.Limit > 0 && len(found) == w.Limit {
			break
		}
		if r.left != s.asked {
			found = append(found, r)
		}
	}
	var all moves
	for _, r := range found {
		m, before := contact.Machine{C: r.c}, r.c.Facts()
		if err := m.Apply(ev); err != nil {
			return err
		}
		s.set(r, &m.C)
		all.add(&before, m.C.Facts())
	}
	s.tell(w.Event, &all)
	return nil
}

// RunOfContacts is the run that the campaign's contacts are in, 0 when there are
// none.
func (s *Store) RunOfContacts(_ context.Context, id engine.CampaignID) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.books[id]; b != nil && len(b.rows) > 0 {
		return b.rows[0].c.Run, nil
	}
	return 0, nil
}

// inRun returns a campaign, whose row must be in the given run.
func (s *tables) inRun(id engine.CampaignID, run int) (*book, error) {
	b, err := s.campaign(id)
	if err == nil && b.row.Run != run {
		err = engine.Conflict("run_moved", "")
	}
	return b, err
}

// ResetContacts prepares every contact for a run and keeps its state from the previous one.
func (s *Store) ResetContacts(_ context.Context, id engine.CampaignID, run int, unreached bool, now time.Time,
	ev journal.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.inRun(id, run)
	if err != nil {
		return err
	}
	reset := contact.Event{Kind: contact.RunReset, At: now, Run: run, Unreached: unreached,
		Policy: contact.Policy{MaxAttempts: b.row.Settings.MaxAttempts}}
	var all moves
	for _, r := range b.rows {
		if r.c.Run < run {
			m := contact.Machine{C: r.c}
			if err := m.Apply(reset); err != nil {
				return err
			}
			b.run(r.c.Run).keep(&r.c)
			s.set(r, &m.C)
		}
		all.add(nil, r.c.Facts())
	}
	s.tell(ev, &all)
	return nil
}

// keep stores a contact as a run leaves it; the run's counters still include it.
func (n *run) keep(c *contact.Contact) {
	if _, ok := n.earlier[c.ID]; ok {
		return
	}
	if n.earlier == nil {
		n.earlier = map[engine.ContactID]contact.Contact{}
	}
	n.earlier[c.ID] = *c
	f := c.Facts()
	n.tally.Contacts(&f, 1)
}

// change replaces a kept contact.
func (n *run) change(c *contact.Contact) {
	was, ok := n.earlier[c.ID]
	if !ok || c.Version <= was.Version {
		return
	}
	before, after := was.Facts(), c.Facts()
	n.tally.Contacts(&before, -1)
	n.tally.Contacts(&after, 1)
	n.earlier[c.ID] = *c
}

// KeptContact returns a contact as an earlier run left it.
func (s *Store) KeptContact(_ context.Context, id engine.ContactID, run int) (c contact.Contact, ok bool, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rows[id]; r != nil {
		c, ok = r.book.run(run).earlier[id]
	}
	return c, ok, nil
}

// drop forgets the contacts that a run left.
func (n *run) drop() {
	for _, c := range n.earlier {
		f := c.Facts()
		n.tally.Contacts(&f, -1)
	}
	n.earlier = nil
}

// RestoreContacts restores the contacts as they were in the given run; contacts excluded since stay
// excluded, and who asked since not to be called is not forgotten.
func (s *Store) RestoreContacts(_ context.Context, id engine.CampaignID, run int, ev journal.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.inRun(id, run)
	if err != nil {
		return err
	}
	var all moves
	for _, r := range b.rows {
		was, ok := b.run(run).earlier[r.c.ID]
		if !ok || r.c.Run <= run {
			continue
		}
		back := was
		back.Version = max(r.c.Version, was.Version) + 1
		back.CallsBack, back.CallsBackUntil = r.c.CallsBack, r.c.CallsBackUntil
		back.Choice |= r.c.Choice & contact.ChoiceKept
		if r.c.State == contact.Excluded && was.State != contact.Excluded {
			m := contact.Machine{C: back}
			if err := m.Apply(contact.Event{Kind: contact.ExcludedBy, At: was.UpdatedAt, Reason: r.c.Reason}); err != nil {
				return err
			}
			m.C.Version = back.Version
			back = m.C
			before := was.Facts()
			all.add(&before, back.Facts())
		}
		s.set(r, &back)
	}
	s.tell(ev, &all)
	for n, r := range b.runs {
		if n >= run {
			r.drop()
		}
	}
	return nil
}

// Counters are those of engine/tally; for an earlier run, with its contacts as it left them.
func (s *Store) Counters(_ context.Context, id engine.CampaignID, run int) (campaign.Counters, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.books[id]; b != nil {
		return b.run(run).tally.Counters(), nil
	}
	return tally.New().Counters(), nil
}
