package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

// unscheduled refuses a write about a scheduled dialout that does not wait any more.
func (s *tables) unscheduled(w *journal.Write) error {
	if !w.Unschedule {
		return nil
	}
	a := &w.Attempts[0]
	r := s.attempts[a.ID]
	if r == nil {
		if _, waits := s.waiting[a.ID]; waits {
			return nil
		}
		return journal.ErrNotScheduled
	}
	// The write, or an earlier one of the same dial, is stored already.
	same := r.a.ReservedAt != nil && r.a.ReservedAt.Equal(*a.ReservedAt) && r.a.SendBy.Equal(a.SendBy) &&
		r.a.Node == a.Node
	if same && (a.EndedAt == nil || r.a.EndedAt == nil || r.a.EndedAt.Equal(*a.EndedAt)) {
		return nil
	}
	return journal.ErrNotScheduled
}

func (s *tables) scheduleRefused(w *journal.Write) error {
	d := w.Schedule
	if d == nil || s.attempts[d.ID] != nil {
		return nil
	}
	_, again := s.waiting[d.ID]
	switch {
	case again:
	case !w.ScheduleBy.IsZero() && !s.opt.Now().Before(w.ScheduleBy):
		return journal.ErrNotInTime
	case len(s.waiting) >= campaign.ScheduledCap:
		return journal.ErrScheduledFull
	}
	return nil
}

func (s *tables) schedule(w *journal.Write) {
	if d := w.Schedule; d != nil && s.attempts[d.ID] == nil {
		if _, again := s.waiting[d.ID]; !again {
			s.waiting[d.ID] = *d
		}
	}
	if w.Unschedule {
		delete(s.waiting, w.Attempts[0].ID)
	}
}

// DueDialouts returns the scheduled dialouts that are to be looked at now, by priority and time, and
// nobody else gets them before claim has passed; those of the bots in except are left out unless they have
// expired. next is when the next one is to be looked at.
func (s *Store) DueDialouts(_ context.Context, now time.Time, claim time.Duration, limit int,
	except []engine.BotID) (due []campaign.ScheduledDialout, next *time.Time, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.waiting {
		switch {
		case s.attempts[d.ID] != nil: // dialled through a server that was replaced
			delete(s.waiting, d.ID)
		case d.NotBefore.After(now) || d.NextAt.After(now):
		case !slices.Contains(except, d.Command.Bot) || !now.Before(d.ExpiresAt):
			due = append(due, d)
		}
	}
	slices.SortFunc(due, func(x, y campaign.ScheduledDialout) int {
		return cmp.Or(x.Precedence-y.Precedence, x.NextAt.Compare(y.NextAt), x.NotBefore.Compare(y.NotBefore),
			cmp.Compare(x.ID, y.ID))
	})
	due = due[:min(limit, len(due))]
	slices.SortFunc(due, func(x, y campaign.ScheduledDialout) int {
		return cmp.Or(x.Precedence-y.Precedence, x.NotBefore.Compare(y.NotBefore), cmp.Compare(x.ID, y.ID))
	})
	for i := range due {
		due[i].NextAt = now.Add(claim)
		s.waiting[due[i].ID] = due[i]
	}
	for _, d := range s.waiting {
		at := d.NextAt
		if d.NotBefore.After(at) {
			at = d.NotBefore
		}
		if at.After(now) && (next == nil || at.Before(*next)) {
			next = &at
		}
	}
	return due, next, nil
}

// PutOffDialout notes why a scheduled dialout could not be dialled, and when it is looked at again.
func (s *Store) PutOffDialout(_ context.Context, id engine.AttemptID, until time.Time, reason string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, ok := s.waiting[id]; ok {
		d.NextAt, d.Reason = until, reason
		s.waiting[id] = d
	}
	return nil
}

// ScheduledDialout returns a dialout that waits for its time.
func (s *Store) ScheduledDialout(_ context.Context, id engine.AttemptID) (d campaign.ScheduledDialout, ok bool,
	_ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok = s.waiting[id]
	return d, ok, nil
}

// DialoutsTo lists the dialouts to a number that wait for their time.
func (s *Store) DialoutsTo(_ context.Context, n engine.PhoneNumber) (ids []engine.AttemptID, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, d := range s.waiting {
		if d.Command.To == n {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}
