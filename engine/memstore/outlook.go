package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

// Outlook counts the contacts of a campaign that would be dialled in the run, and the others by
// reason, and the results of its latest attempts. It reads every contact, and is only called before
// a run.
func (s *Roster) Outlook(_ context.Context, id engine.CampaignID, run int, now time.Time) (o campaign.Outlook,
	_ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[id]
	if b == nil {
		return o, nil
	}
	skipped := map[string]int{}
	for _, r := range b.rows {
		c := &r.c
		if c.Run != run {
			continue
		}
		o.Total++
		switch {
		case c.State == contact.Excluded:
			skipped["excluded"]++
		case !c.Open():
			skipped["processed"]++
		case !waits(c):
			skipped["in_progress"]++
		case c.Choice.Stopped(): // excluded when its turn comes
			skipped["excluded"]++
		case c.StopsFor(s.suppressed):
			skipped["suppressed"]++
		case c.Expired(now):
			skipped["expired"]++
		default:
			o.Waiting++
			if c.NotYet(now) {
				o.Later++
			}
			o.Attempts += max(c.Max-c.Used, 1)
			for _, v := range c.Variables {
				if len(v) > engine.VariableHeaderCap {
					o.TooLong++
					break
				}
			}
		}
	}
	for _, reason := range []string{"excluded", "expired", "in_progress", "processed", "suppressed"} {
		if n := skipped[reason]; n > 0 {
			o.Skipped = append(o.Skipped, campaign.SkipReason{Reason: reason, Count: n})
		}
	}
	o.Past = s.past(id)
	return o, nil
}

func (s *tables) past(id engine.CampaignID) (p campaign.Past) {
	var list []*attempt.Attempt
	for _, r := range byBegin(s.attempts) {
		if a := &r.a; a.Campaign == id && !a.Live() && a.Consumed && a.InviteAt != nil {
			list = append(list, a)
		}
	}
	slices.SortStableFunc(list, func(x, y *attempt.Attempt) int { return y.ReservedAt.Compare(*x.ReservedAt) })
	for _, a := range list[:min(len(list), campaign.PastCap)] {
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
	return p
}

// WaitingNumbers groups the numbers that Outlook counts as waiting by their first digits, the
// largest groups first.
func (s *Roster) WaitingNumbers(_ context.Context, id engine.CampaignID, run int,
	now time.Time) (groups []campaign.NumberGroup, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[id]
	if b == nil {
		return nil, nil
	}
	place := map[engine.PhoneNumber]int{}
	for r := range b.run(run).queue.all {
		n := r.c.NextNumber()
		if r.c.StopsFor(s.suppressed) || r.c.Expired(now) {
			continue
		}
		prefix := n[:min(len(n), campaign.GroupDigits)]
		i, ok := place[prefix]
		if !ok {
			i = len(groups)
			place[prefix] = i
			groups = append(groups, campaign.NumberGroup{Sample: n})
		}
		groups[i].Sample = min(groups[i].Sample, n)
		groups[i].Count++
	}
	slices.SortFunc(groups, func(x, y campaign.NumberGroup) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Sample, y.Sample))
	})
	return groups[:min(len(groups), campaign.GroupCap)], nil
}
