package memstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Commit applies a group of writes and returns for each whether it was accepted (nil) or refused
// (one of journal's errors). A refused write changes nothing, and the same group may be given
// again. err says that a change of many contacts met one in a state that does not allow it.
func (s *Store) Commit(_ context.Context, group []journal.Write) (refused []error, err error) {
	if s.Committed != nil {
		defer s.Committed()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	refused = make([]error, len(group))
	answered := map[ReplyKey]bool{}
	for i := range group {
		w := &group[i]
		if refused[i] = s.refuse(w, answered); refused[i] == nil {
			if err := s.apply(w); err != nil {
				return nil, err
			}
		}
	}
	return refused, nil
}

// refuse says why a write is not accepted; answered are the replies of the group so far, which it
// updates and nothing else.
func (s *tables) refuse(w *journal.Write, answered map[ReplyKey]bool) error {
	if w.Campaign != "" {
		if b := s.books[w.Campaign]; b == nil || b.row == nil || w.Epoch != b.row.Epoch {
			return journal.ErrStaleEpoch
		}
	}
	if err := s.unscheduled(w); err != nil {
		return err
	}
	if err := s.scheduleRefused(w); err != nil {
		return err
	}
	if r := w.Reply; r != nil && (answered[keyOf(r.Idempotency)] || !s.takesReply(r)) {
		return journal.ErrReplyExists
	}
	if w.Fresh && w.Contacts[0].StopsFor(s.suppressed) {
		return journal.ErrSuppressed
	}
	for i := range w.Contacts {
		if s.taken(&w.Contacts[i], w.Fresh && i == 0) {
			return journal.ErrContactExists
		}
	}
	if err := s.refuseIntent(w); err != nil {
		return err
	}
	if w.Reply != nil {
		answered[keyOf(w.Reply.Idempotency)] = true
	}
	return nil
}

func (s *tables) refuseIntent(w *journal.Write) error {
	n := w.Intent
	if n == nil {
		return nil
	}
	if n.Refused != nil {
		return n.Refused
	}
	if !n.NotAfter.IsZero() && s.attempts[n.Attempt] == nil && !s.opt.Now().Before(n.NotAfter) {
		return journal.ErrNotInTime
	}
	if h := s.Holds[n.Number]; h.Attempt != n.Attempt && s.held(n.Number, s.opt.Now()) && !s.over(w) {
		return journal.ErrNumberHeld
	}
	if !n.Incoming && s.suppressed(n.Number) {
		return journal.ErrSuppressed
	}
	return s.capped(n)
}

// held says whether an attempt holds the number.
func (s *tables) held(n engine.PhoneNumber, now time.Time) bool {
	h, ok := s.Holds[n]
	return ok && (h.Until.IsZero() || now.Before(h.Until))
}

// over says that the attempt of an intent has ended, so that the intent is an old write repeated.
func (s *tables) over(w *journal.Write) bool {
	r := s.attempts[w.Intent.Attempt]
	return r != nil && !r.a.Live() || r == nil && s.forgotten(w)
}

// forgotten says that unknown attempts in a campaign's write are attempts that were dropped: a new
// attempt would come with a newer version of its contact.
func (s *tables) forgotten(w *journal.Write) bool {
	return !s.opt.KeepEnded && w.Campaign != "" && !slices.ContainsFunc(w.Contacts, func(c contact.Contact) bool {
		r := s.rows[c.ID]
		return r == nil || c.Version > r.c.Version
	})
}

// apply applies one write.
func (s *tables) apply(w *journal.Write) error {
	if r := w.Reply; r != nil {
		s.Replies[keyOf(r.Idempotency)] = *r
	}
	if n := w.Intent; n != nil && !s.over(w) {
		s.Holds[n.Number] = Hold{Attempt: n.Attempt, Bound: n.Bound}
	}
	s.schedule(w)
	forgotten := s.forgotten(w)
	for i := range w.Contacts {
		s.putContact(&w.Contacts[i])
	}
	for i := range w.Kept {
		s.book(w.Kept[i].Campaign).run(w.Kept[i].Run).change(&w.Kept[i])
	}
	for i := range w.Attempts {
		if a := &w.Attempts[i]; s.attempts[a.ID] != nil || !forgotten {
			s.putAttempt(a)
			s.forget(a.ID)
		}
	}
	for _, h := range w.Holds {
		s.release(h)
	}
	for _, x := range w.Exclusions {
		s.putExclusion(x)
	}
	for _, x := range w.Suppressions {
		if !s.suppressed(x.Number) {
			s.Suppressions[x.Number] = x
		}
	}
	if w.CampaignRow != nil {
		s.putCampaign(*w.CampaignRow)
	}
	for i := range w.Events {
		s.putEvent(&w.Events[i])
	}
	return s.sweeps(w)
}

func (s *tables) release(h journal.HoldRelease) {
	cur, ok := s.Holds[h.Number]
	switch {
	case !ok || cur.Attempt != h.Attempt:
	case h.Until.IsZero():
		delete(s.Holds, h.Number)
	default:
		until := h.Until
		if h.Owed && cur.Bound.After(until) {
			until = cur.Bound
		}
		if e := h.SessionEnd; !e.IsZero() && e.Before(until) {
			until = e
		}
		s.Holds[h.Number] = Hold{h.Attempt, until, cur.Bound}
	}
}

// putExclusion stores the newest exclusion or lift of a number or a match.
func (s *tables) putExclusion(x journal.Exclusion) {
	b := s.book(x.Campaign)
	key := keyOfExclusion(&x)
	i, ok := b.excludedAt[key]
	switch {
	case !ok:
		b.excludedAt[key] = len(b.exclusions)
		b.exclusions = append(b.exclusions, x)
	case x.CreatedAt.Before(b.exclusions[i].CreatedAt):
		return
	default:
		b.exclusions[i] = x
	}
	b.excluded.Add(&x)
}

func keyOfExclusion(x *journal.Exclusion) string {
	if x.Number != "" {
		return string(x.Number)
	}
	var key strings.Builder
	for _, k := range slices.Sorted(maps.Keys(x.Match)) {
		_, _ = fmt.Fprintf(&key, "%q=%q,", k, x.Match[k])
	}
	return key.String()
}

// Exclusions lists a campaign's valid exclusions by age.
func (s *Store) Exclusions(_ context.Context, id engine.CampaignID) (list []journal.Exclusion, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.books[id]; b != nil {
		for _, x := range b.exclusions {
			if !x.Lifted {
				list = append(list, x)
			}
		}
	}
	slices.SortStableFunc(list, func(x, y journal.Exclusion) int { return x.CreatedAt.Compare(y.CreatedAt) })
	return list, nil
}

// AllExclusions returns every exclusion, lifted ones too, campaign by campaign; call it under the
// lock.
func (s *tables) AllExclusions() (list []journal.Exclusion) {
	for _, b := range s.inOrder() {
		list = append(list, b.exclusions...)
	}
	return list
}

// inOrder returns the campaigns sorted by identifier.
func (s *tables) inOrder() []*book {
	list := make([]*book, 0, len(s.books))
	for _, id := range slices.Sorted(maps.Keys(s.books)) {
		list = append(list, s.books[id])
	}
	return list
}
