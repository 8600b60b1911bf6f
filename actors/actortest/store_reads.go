package actortest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/disposition"
	"dialler/engine/journal"
)

// FindReply implements actors.Store.
func (s *Store) FindReply(_ context.Context, id engine.Idempotency) (journal.Reply, bool, error) {
	defer s.answerLate()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.FailLookUps > 0 {
		s.FailLookUps--
		return journal.Reply{}, false, errDown
	}
	r, ok := s.Replies[keyOfReply(id)]
	if !ok || time.Since(r.At) >= replyLife {
		return journal.Reply{}, false, nil
	}
	return r, true, nil
}

// ContactByNumber implements actors.Store.
func (s *Store) ContactByNumber(_ context.Context, id engine.CampaignID, n engine.PhoneNumber) (contact.Contact, bool, error) {
	defer s.answerLate()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.FailLookUps > 0 {
		s.FailLookUps--
		return contact.Contact{}, false, errDown
	}
	for _, c := range s.Rows {
		if c.Campaign == id && c.Number == n {
			return *c, true, nil
		}
	}
	return contact.Contact{}, false, nil
}

// ContactByID implements actors.Store.
func (s *Store) ContactByID(_ context.Context, id engine.ContactID) (contact.Contact, bool, error) {
	defer s.answerLate()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Reads++
	if c := s.Rows[id]; c != nil {
		return *c, true, nil
	}
	return contact.Contact{}, false, nil
}

// ContactsMatching implements actors.Store.
func (s *Store) ContactsMatching(_ context.Context, id engine.CampaignID, match map[string]string) ([]contact.Contact, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.FailLookUps > 0 {
		s.FailLookUps--
		return nil, errDown
	}
	if len(match) == 0 {
		return nil, nil
	}
	var rows []contact.Contact
next:
	for _, c := range s.Rows {
		if c.Campaign != id {
			continue
		}
		for k, v := range match {
			if c.Variables[k] != v {
				continue next
			}
		}
		rows = append(rows, *c)
	}
	slices.SortFunc(rows, func(a, b contact.Contact) int { return cmp.Compare(a.Position, b.Position) })
	return rows, nil
}

// ExcludedContacts implements actors.Store.
func (s *Store) ExcludedContacts(_ context.Context, id engine.CampaignID, numbers []engine.PhoneNumber) ([]contact.Contact, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []contact.Contact
	for _, c := range s.Rows {
		if c.Campaign == id && c.State == contact.Excluded && slices.Contains(numbers, c.Number) {
			rows = append(rows, *c)
		}
	}
	return rows, nil
}

// Exclusions implements actors.Store.
func (s *Store) Exclusions(_ context.Context, id engine.CampaignID) ([]journal.Exclusion, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []journal.Exclusion
	for _, x := range s.Excl {
		if x.Campaign == id && !x.Lifted {
			list = append(list, x)
		}
	}
	slices.SortStableFunc(list, func(a, b journal.Exclusion) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return list, nil
}

// ResultsOverdue implements actors.Store.
func (s *Store) ResultsOverdue(_ context.Context, id engine.CampaignID, now time.Time, limit int) ([]contact.Contact, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []contact.Contact
	for _, c := range s.Rows {
		if c.Campaign == id && c.ResultDueAt != nil && !c.ResultDueAt.After(now) && len(rows) < limit {
			rows = append(rows, *c)
		}
	}
	return rows, nil
}

// OpenAttempts implements actors.Store.
func (s *Store) OpenAttempts(context.Context) ([]attempt.Attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []attempt.Attempt
	for _, a := range s.Attempts {
		if a.State != attempt.Ended {
			list = append(list, a)
		}
	}
	return list, nil
}

// OpenLegs implements actors.Store.
func (s *Store) OpenLegs(context.Context) ([]attempt.Attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []attempt.Attempt
	for _, a := range s.Attempts {
		h, held := s.Holds[a.To]
		if a.State != attempt.Ended || !held || h.Attempt != a.ID || !time.Now().Before(h.Until) {
			continue
		}
		if a.OpenLeg() {
			list = append(list, a)
		}
	}
	return list, nil
}

// Attempt implements actors.Store.
func (s *Store) Attempt(_ context.Context, id engine.AttemptID) (attempt.Attempt, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Reads++
	a, ok := s.Attempts[id]
	return a, ok, nil
}

// Bots implements actors.Store.
func (s *Store) Bots(context.Context) ([]engine.Bot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.BotList), nil
}

// Trunks implements actors.Store.
func (s *Store) Trunks(context.Context) ([]engine.TrunkSettings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.TrunkList), nil
}

// Numbers implements actors.Store.
func (s *Store) Numbers(context.Context) ([]engine.NumberSettings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.Nums), nil
}

// NumberDials implements actors.Store.
func (s *Store) NumberDials(_ context.Context, since time.Time) ([]engine.NumberDials, error) {
	defer s.answerLate()
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []engine.NumberDials
	for _, n := range s.Nums {
		for _, a := range s.Attempts {
			if (n.HourCap > 0 || n.DayCap > 0) && a.From == n.Number && a.ReservedAt != nil && !a.ReservedAt.Before(since) &&
				(a.State != attempt.Ended || a.InviteAt != nil) {
				list = append(list, engine.NumberDials{Number: n.Number, At: a.ReservedAt.Truncate(time.Minute), Count: 1})
			}
		}
	}
	return list, nil
}

// NumberEnds implements actors.Store; nothing is ever forgiven.
func (s *Store) NumberEnds(_ context.Context, since time.Time, most int) ([]engine.NumberEnd, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []engine.NumberEnd
	for _, n := range s.Nums {
		var of []engine.NumberEnd
		for _, a := range s.Attempts {
			if a.From == n.Number && a.ReservedAt != nil && !a.ReservedAt.Before(since) && a.State == attempt.Ended && a.InviteAt != nil {
				of = append(of, engine.NumberEnd{Number: n.Number, At: *a.EndedAt, Answered: a.AnsweredAt != nil, Struck: disposition.Struck(a.Outcome, a.SIPCode)})
			}
		}
		slices.SortFunc(of, func(a, b engine.NumberEnd) int { return a.At.Compare(b.At) })
		list = append(list, of[max(0, len(of)-most):]...)
	}
	return list, nil
}

// QuarantineNumber implements actors.Store.
func (s *Store) QuarantineNumber(ctx context.Context, n engine.PhoneNumber) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.Nums {
		if s.Nums[i].Number == n {
			s.Nums[i].State = "quarantined"
			return nil
		}
	}
	s.Nums = append(s.Nums, engine.NumberSettings{Number: n, State: "quarantined"})
	return nil
}
