package http

import (
	"context"
	"fmt"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/number"
	"dialler/engine/people"
)

func (p *ports) AddContacts(_ context.Context, c campaign.AddContacts) (campaign.AddReport, error) {
	defer p.lock()()
	p.adds = append(p.adds, c)
	return campaign.AddReport{Added: len(c.Contacts), Total: len(c.Contacts)}, p.fail
}

func (p *ports) AddBatch(_ context.Context, c campaign.AddBatch) (campaign.BatchReply, error) {
	p.mu.Lock()
	p.batches = append(p.batches, c)
	rows := make([]campaign.BatchResult, len(c.Contacts))
	for i := range rows {
		rows[i] = campaign.BatchResult{Status: campaign.RowAdded, ContactID: engine.ContactID(fmt.Sprintf("%032x", i+1))}
	}
	reply, fail := c.Reply(rows), p.fail
	p.mu.Unlock()
	if fail != nil {
		return campaign.BatchReply{}, fail
	}
	return reply, p.commit(c.Idempotency, 200, reply)
}

func (p *ports) ListExclusions(_ context.Context, _ engine.CampaignID, n engine.PhoneNumber,
	page campaign.Page) (list []journal.Exclusion, total int, err error) {
	defer p.lock()()
	p.pages = append(p.pages, page)
	for _, x := range p.exclusions {
		if n == "" || x.Number == n {
			list = append(list, x)
		}
	}
	return list, len(list), p.fail
}

func (p *ports) ExclusionsAfter(_ context.Context, _ engine.CampaignID, after journal.Exclusion,
	limit int) (list []journal.Exclusion, err error) {
	defer p.lock()()
	for _, x := range p.exclusions {
		if (x.Number > after.Number || after.Number == "" && len(after.Match) == 0) && len(list) < limit {
			list = append(list, x)
		}
	}
	return list, p.fail
}

func (p *ports) ExclusionsImported(_ context.Context, c campaign.ExclusionsImported) error {
	defer p.lock()()
	p.importedExclusions = append(p.importedExclusions, c)
	return p.fail
}

func (p *ports) Lift(_ context.Context, c campaign.Lift) (campaign.LiftReply, error) {
	if err := asText(c.Campaign); err != nil {
		return campaign.LiftReply{}, err
	}
	defer p.lock()()
	p.lifts = append(p.lifts, c)
	return campaign.LiftReply{Readmitted: 1}, p.fail
}

func (p *ports) Suppressions(_ context.Context, n engine.PhoneNumber, page campaign.Page) (list []journal.Suppression,
	total int, err error) {
	defer p.lock()()
	p.pages = append(p.pages, page)
	for _, x := range p.suppressed {
		if n == "" || x.Number == n {
			list = append(list, x)
		}
	}
	return list, len(list), p.fail
}

func (p *ports) Suppress(_ context.Context, numbers []engine.PhoneNumber, reason string, who engine.Who) (added int,
	err error) {
	if err := asText(reason); err != nil {
		return 0, err
	}
	defer p.lock()()
	p.suppressors = append(p.suppressors, who)
	for _, n := range numbers {
		if !slices.ContainsFunc(p.suppressed, func(x journal.Suppression) bool { return x.Number == n }) {
			p.suppressed = append(p.suppressed, journal.Suppression{Number: n, Reason: reason, CreatedAt: testAt})
			added++
		}
	}
	return added, p.fail
}

func (p *ports) Unsuppress(_ context.Context, n engine.PhoneNumber, _ engine.Who) (bool, error) {
	defer p.lock()()
	before := len(p.suppressed)
	p.suppressed = slices.DeleteFunc(p.suppressed, func(x journal.Suppression) bool { return x.Number == n })
	return len(p.suppressed) < before, p.fail
}

// Destination does not allow calls to Austria.
func (p *ports) Destination(to number.Callee) error {
	if to.Region == "AT" {
		return engine.Invalid("destination_not_allowed", "calls to AT are not allowed")
	}
	return nil
}

func (p *ports) OnlyCountry() string { return p.country }

func (p *ports) Contacts(_ context.Context, _ engine.CampaignID, page campaign.Page) (campaign.ContactList, error) {
	if err := asText(page.Filter); err != nil {
		return campaign.ContactList{}, err
	}
	defer p.lock()()
	p.pages = append(p.pages, page)
	a := p.attempt
	ended := testAt.Add(time.Minute)
	unmapped := attempt.Attempt{ID: theAttempt, Number: 1, State: attempt.Ended, Outcome: engine.OutcomeSystemError,
		From: "+493023125000", SIPCode: 499, SIPReason: "Strange", ReservedAt: &ended, EndedAt: &ended}
	return campaign.ContactList{Total: 1, Contacts: []campaign.ContactView{{
		Contact: contact.Contact{ID: "c1", Number: mobile, State: contact.Connected, Used: 1, Max: 3, Run: 1, Source: "api",
			CreatedAt: testAt, UpdatedAt: testAt, Callback: contact.CallbackPending, LastOutcome: engine.OutcomeBusy},
		Attempts: []attempt.Attempt{unmapped, a},
		CallsBack: []attempt.Attempt{{ID: theAttempt, Inbound: true, Returns: theAttempt, State: attempt.Connected,
			InviteAt: &ended, To: mobile, From: "+493023125000"}},
	}}}, p.fail
}

func (p *ports) Contact(_ context.Context, id engine.CampaignID, cid engine.ContactID) (campaign.ContactDetail, error) {
	if err := asText(id); err != nil {
		return campaign.ContactDetail{}, err
	}
	defer p.lock()()
	if cid != "c1" {
		return campaign.ContactDetail{}, engine.NotFound("contact_not_found", "The campaign has no such contact.")
	}
	at, ahead := testAt.Add(time.Hour), 3
	return campaign.ContactDetail{
		ContactView: campaign.ContactView{Contact: contact.Contact{ID: cid, Campaign: id, Number: mobile,
			State: contact.Pending, Max: 3, Run: 1,
			Source: "api", CreatedAt: testAt, UpdatedAt: testAt, DueAt: &at}},
		Explain: campaign.Explanation{Code: campaign.WhyOutsideWindow, Message: "its calling window opens then", NextAt: &at,
			Ahead: &ahead},
	}, p.fail
}

func (p *ports) Trigger(ctx context.Context, c campaign.Trigger) (campaign.TriggerReply, error) {
	p.mu.Lock()
	if _, answered := p.replies[replyKey(c.Idempotency)]; answered && c.Idempotency.Present() {
		p.mu.Unlock()
		return campaign.TriggerReply{}, journal.ErrReplyExists
	}
	p.triggers = append(p.triggers, c)
	hook, fail := p.onTrigger, p.fail
	p.mu.Unlock()
	if hook != nil {
		return hook(ctx, c)
	}
	if fail != nil {
		return campaign.TriggerReply{}, fail
	}
	reply := campaign.TriggerReply{Status: "dialled", ContactID: "c1", CampaignID: c.Campaign, AttemptID: theAttempt}
	return reply, p.commit(c.Idempotency, 200, reply)
}

func (p *ports) Exclude(_ context.Context, c campaign.Exclude) (campaign.ExcludeReply, error) {
	p.mu.Lock()
	p.excludes = append(p.excludes, c)
	fail := p.fail
	if p.excludeCap > 0 && len(p.excludes) > p.excludeCap {
		fail = engine.Unavailable("database_unavailable", "Away.", 0)
	}
	p.mu.Unlock()
	if fail != nil {
		return campaign.ExcludeReply{}, fail
	}
	reply := campaign.ExcludeReply{Matched: 1, Excluded: 1}
	return reply, p.commit(c.Idempotency, 200, reply)
}

func (p *ports) ActOnContact(_ context.Context, c campaign.ActOnContact) error {
	defer p.lock()()
	p.contactActs = append(p.contactActs, c)
	return p.fail
}

func (p *ports) SearchPeople(_ context.Context, q contact.Search, _ int) (people.Searched, error) {
	defer p.lock()()
	p.sought = append(p.sought, q)
	return p.searched, p.fail
}

func (p *ports) Person(_ context.Context, n engine.PhoneNumber) (people.Person, error) {
	defer p.lock()()
	found := p.person
	found.Number = n
	return found, p.fail
}

func (p *ports) ErasePerson(_ context.Context, n engine.PhoneNumber, suppress *bool,
	who engine.Who) (engine.ErasedPerson, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return engine.ErasedPerson{}, p.fail
	}
	p.erasures = append(p.erasures, fmt.Sprintf("%s %v %v %s", n.E164(), suppress != nil, suppress != nil && *suppress,
		who.User))
	until := testAt
	return engine.ErasedPerson{Contacts: 2, Attempts: 3, Recordings: 1, Suppressed: suppress != nil && *suppress,
		RestsUntil: &until}, nil
}
