package actortest

import (
	"context"
	"slices"
	"sort"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Outlook implements actors.Store.
func (s *Store) Outlook(_ context.Context, id engine.CampaignID, run int) (o campaign.Outlook, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	skipped := map[string]int{}
	for _, c := range s.contactsOf(id, run) {
		o.Total++
		switch {
		case c.State == contact.Excluded:
			skipped["excluded"]++
		case !c.Open():
			skipped["processed"]++
		case c.Attempt != "" || c.DueAt == nil:
			skipped["in_progress"]++
		case s.Supp[c.Number]:
			skipped["suppressed"]++
		default:
			o.Waiting++
			o.Attempts += max(c.Max-c.Used, 1)
		}
	}
	for reason, n := range skipped {
		o.Skipped = append(o.Skipped, campaign.SkipReason{Reason: reason, Count: n})
	}
	sort.Slice(o.Skipped, func(i, j int) bool { return o.Skipped[i].Reason < o.Skipped[j].Reason })
	var list []attempt.Attempt
	for _, a := range s.Attempts {
		if a.Campaign == id && !a.Live() && a.Consumed && a.InviteAt != nil {
			list = append(list, a)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].ReservedAt.After(*list[j].ReservedAt) })
	for _, a := range list[:min(len(list), campaign.PastCap)] {
		p := &o.Past
		p.Dials++
		over := a.EndedAt
		if a.AnsweredAt != nil {
			p.Answered++
			over = a.AnsweredAt
		}
		p.RingSeconds += over.Sub(*a.InviteAt).Seconds()
		if a.WasConnected() {
			p.Connected++
			p.TalkSeconds += a.Talk().Seconds()
		}
		if a.Outcome == engine.OutcomeAbandoned {
			p.Abandoned++
		}
	}
	return o, nil
}

// Suppressed implements actors.Store.
func (s *Store) Suppressed(_ context.Context, numbers ...engine.PhoneNumber) (map[engine.PhoneNumber]journal.Suppression, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[engine.PhoneNumber]journal.Suppression{}
	for _, n := range numbers {
		if s.Supp[n] {
			out[n] = journal.Suppression{Number: n}
		}
	}
	return out, nil
}

// SuppressedContacts implements actors.Store.
func (s *Store) SuppressedContacts(_ context.Context, id engine.CampaignID, run int, numbers []engine.PhoneNumber, after engine.ContactID, limit int) (list []contact.Contact, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.contactsOf(id, run) {
		if c.DueAt != nil && c.Attempt == "" && s.Supp[c.Number] && c.ID > after && (len(numbers) == 0 || slices.Contains(numbers, c.Number)) {
			list = append(list, c)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	return list[:min(len(list), limit)], nil
}

// WaitingNumbers implements actors.Store: every number is a group.
func (s *Store) WaitingNumbers(_ context.Context, id engine.CampaignID, run int) (groups []campaign.NumberGroup, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.contactsOf(id, run) {
		if c.Open() && c.Attempt == "" && c.DueAt != nil && !s.Supp[c.Number] {
			groups = append(groups, campaign.NumberGroup{Sample: c.Number, Count: 1})
		}
	}
	return groups, nil
}
