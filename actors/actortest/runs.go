package actortest

import (
	"context"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Between runs, and at their end: what happens to all contacts of a campaign
// at once, each with the event that tells it.

// contactsOf gives the contacts of a run, of an earlier one as it left them.
func (s *Store) contactsOf(id engine.CampaignID, run int) (list []contact.Contact) {
	for _, c := range s.Rows {
		if c.Campaign == id && c.Run == run {
			list = append(list, *c)
		}
	}
	if len(list) > 0 {
		return list
	}
	for _, c := range s.Earlier[run] {
		if c.Campaign == id {
			list = append(list, c)
		}
	}
	return list
}

// tell stores an event unless it is there, with the moves put together.
func (s *Store) tell(ev journal.Event, moves []journal.Move) {
	type kinds struct{ before, after contact.Facts }
	n := map[kinds]int{}
	for _, m := range moves {
		var k kinds
		if m.Before != nil {
			k.before = *m.Before
		}
		k.after = *m.After
		n[k]++
	}
	for k, count := range n {
		m := journal.Move{After: &k.after, Count: count}
		if k.before.State != "" {
			m.Before = &k.before
		}
		ev.Data.Moves = append(ev.Data.Moves, m)
	}
	s.putEvent(ev)
}

func (s *Store) told(ev *journal.Event) bool {
	return slices.ContainsFunc(s.Events, func(e journal.Event) bool { return e.Campaign == ev.Campaign && e.Seq == ev.Seq })
}

func (s *Store) closeWaiting(id engine.CampaignID, b *journal.Bulk) {
	kind := contact.RunStopped
	if b.To == contact.WindowClosed {
		kind = contact.WindowEnded
	}
	s.sweep(id, &b.Sweep, contact.Event{Kind: kind, At: b.At}, func(c *contact.Contact) bool { return c.DueAt != nil })
}

func (s *Store) retune(id engine.CampaignID, x *journal.Retune) {
	ev := contact.Event{Kind: contact.Retuned, At: x.At, Policy: contact.Policy{MaxAttempts: x.MaxAttempts}}
	s.sweep(id, &x.Sweep, ev, func(c *contact.Contact) bool { return c.Max != x.MaxAttempts })
}

func (s *Store) sweep(id engine.CampaignID, w *journal.Sweep, ev contact.Event, concerns func(*contact.Contact) bool) {
	if s.told(&w.Event) {
		return
	}
	var moves []journal.Move
	for cid, c := range s.Rows {
		if w.Limit > 0 && len(moves) == w.Limit {
			break
		}
		if c.Campaign != id || c.Run != w.Event.Run || c.Attempt != "" || !c.Open() || slices.Contains(w.Except, cid) || !concerns(c) {
			continue
		}
		m, before := contact.Machine{C: *c}, c.Facts()
		if err := m.Apply(ev); err != nil {
			panic(err)
		}
		after := m.C.Facts()
		moves = append(moves, journal.Move{Before: &before, After: &after})
		s.Rows[cid] = &m.C
	}
	s.tell(w.Event, moves)
}

// RunOfContacts implements actors.Store.
func (s *Store) RunOfContacts(_ context.Context, id engine.CampaignID) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.Rows {
		if c.Campaign == id {
			return c.Run, nil
		}
	}
	return 0, nil
}

var errRunMoved = engine.Conflict("run_moved", "the campaign's row is in another run")

// inRun: the campaign's row must be in the given run.
func (s *Store) inRun(id engine.CampaignID, run int) error {
	switch c := s.Campaigns[id]; {
	case c == nil:
		return errCampaignNotFound
	case c.Run != run:
		return errRunMoved
	}
	return nil
}

// ResetContacts implements actors.Store.
func (s *Store) ResetContacts(ctx context.Context, id engine.CampaignID, run int, unreached bool, now time.Time, ev journal.Event) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.inRun(id, run); err != nil {
		return err
	}
	p := contact.Policy{MaxAttempts: s.Campaigns[id].Settings.MaxAttempts}
	var moves []journal.Move
	for cid, c := range s.Rows {
		if c.Campaign != id {
			continue
		}
		if c.Run < run {
			if s.Earlier[c.Run] == nil {
				s.Earlier[c.Run] = map[engine.ContactID]contact.Contact{}
			}
			s.Earlier[c.Run][cid] = *c
			m := contact.Machine{C: *c}
			if err := m.Apply(contact.Event{Kind: contact.RunReset, At: now, Run: run, Unreached: unreached, Policy: p}); err != nil {
				return err
			}
			s.Rows[cid] = &m.C
		}
		after := s.Rows[cid]
		f := after.Facts()
		moves = append(moves, journal.Move{After: &f})
	}
	if !s.told(&ev) {
		s.tell(ev, moves)
	}
	return nil
}

// RestoreContacts implements actors.Store.
func (s *Store) RestoreContacts(ctx context.Context, id engine.CampaignID, run int, ev journal.Event) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.inRun(id, run); err != nil {
		return err
	}
	var moves []journal.Move
	for cid, was := range s.Earlier[run] {
		c := s.Rows[cid]
		if was.Campaign != id || c == nil || c.Run <= run {
			continue
		}
		back := was
		back.Version = max(c.Version, was.Version) + 1
		if c.State == contact.Excluded && was.State != contact.Excluded {
			back.State, back.DueAt, back.Reason = contact.Excluded, nil, c.Reason
			before, after := was.Facts(), back.Facts()
			moves = append(moves, journal.Move{Before: &before, After: &after})
		}
		s.Rows[cid] = &back
	}
	if !s.told(&ev) {
		s.tell(ev, moves)
	}
	for n := range s.Earlier {
		if n >= run {
			delete(s.Earlier, n)
		}
	}
	return nil
}

// EventAt implements actors.Store.
func (s *Store) EventAt(ctx context.Context, id engine.CampaignID, seq int64) (e journal.Event, ok bool, err error) {
	if err := s.wait(ctx); err != nil {
		return e, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.Events, func(e journal.Event) bool { return e.Campaign == id && e.Seq == seq })
	if i < 0 {
		return e, false, nil
	}
	return s.Events[i], true, nil
}
