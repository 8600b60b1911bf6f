package contacts

import (
	"errors"
	nethttp "net/http"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/people"
	"dialler/http/calls"
	"dialler/http/form"
	"dialler/http/wire"
)

// Searching people and showing one of them, over all campaigns. A key bound to campaigns may do neither.

const (
	defaultPeople = 20
	mostPeople    = 50
)

// personContact is a contact as a person's page shows it.
type personContact struct {
	CampaignID     engine.CampaignID `json:"campaign_id"`
	CampaignName   string            `json:"campaign_name"`
	CampaignStatus campaign.State    `json:"campaign_status"`
	ContactID      engine.ContactID  `json:"contact_id"`
	PhoneNumber    string            `json:"phone_number"`
	Alternates     []alternateView   `json:"alternates,omitempty"`
	Status         string            `json:"status"`
	Reason         string            `json:"reason,omitempty"`
	Attempts       int               `json:"attempts"`
	MaxAttempts    int               `json:"max_attempts"`
	LastResult     string            `json:"last_result"`
	Source         string            `json:"source"`
	Variables      map[string]string `json:"variables"`
	NextEligibleAt *time.Time        `json:"next_eligible_at"`
	CreatedAt      time.Time         `json:"created_at"`
	UpdatedAt      time.Time         `json:"updated_at"`
}

func viewPersonContacts(list []people.Contact) []personContact {
	out := make([]personContact, len(list))
	for i := range list {
		v := viewContact(&campaign.ContactView{Contact: list[i].Contact})
		out[i] = personContact{CampaignID: list[i].Of.ID, CampaignName: list[i].Of.Name, CampaignStatus: list[i].Of.State,
			ContactID: v.ID, PhoneNumber: v.PhoneNumber, Alternates: v.Alternates, Status: v.Status, Reason: v.Reason,
			Attempts: v.Attempts, MaxAttempts: v.MaxAttempts, LastResult: v.LastResult, Source: v.Source,
			Variables: v.Variables, NextEligibleAt: v.NextEligibleAt, CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt}
	}
	return out
}

type foundPerson struct {
	PhoneNumber string          `json:"phone_number"`
	Contacts    []personContact `json:"contacts"`
}

type foundCampaign struct {
	CampaignID engine.CampaignID `json:"campaign_id"`
	Name       string            `json:"name"`
	Status     campaign.State    `json:"status"`
}

type searched struct {
	People    []foundPerson   `json:"people"`
	More      bool            `json:"more"`
	Partial   bool            `json:"partial"`
	Campaigns []foundCampaign `json:"campaigns"`
}

// searchOf reads the parameter q.
func searchOf(val string, errs *form.Errors) *contact.Search {
	q, err := contact.ParseSearch(val)
	var e *engine.Error
	if errors.As(err, &e) {
		errs.Add("q", e.Code, e.Detail)
	}
	return &q
}

// Search finds people and campaigns.
func (s *API) Search(r *wire.Request) error {
	var errs form.Errors
	var q *contact.Search
	limit := defaultPeople
	for k, v := range r.HTTP.QueryArgs().All() {
		switch key, val := string(k), string(v); key {
		case "q":
			q = searchOf(val, &errs)
		case "limit":
			n, err := strconv.Atoi(val)
			if err != nil || n < 1 || n > mostPeople {
				errs.Add("limit", "out_of_range", "must be a whole number from 1 to "+strconv.Itoa(mostPeople))
			}
			limit = n
		default:
			errs.UnknownParameter(key)
		}
	}
	if q == nil && len(errs.List) == 0 {
		errs.Add("q", "required", "is required, such as q=9999")
	}
	if !r.MayUse("") {
		return wire.ErrCampaignForbidden
	}
	if err := errs.Err(); err != nil {
		return err
	}
	found, err := s.People.SearchPeople(r.Ctx(), *q, limit)
	if err != nil {
		return err
	}
	out := searched{People: make([]foundPerson, len(found.People)), More: found.More, Partial: found.Partial,
		Campaigns: make([]foundCampaign, len(found.Campaigns))}
	for i := range found.People {
		out.People[i] = foundPerson{PhoneNumber: found.People[i].Number.E164(),
			Contacts: viewPersonContacts(found.People[i].Contacts)}
	}
	for i, c := range found.Campaigns {
		out.Campaigns[i] = foundCampaign{CampaignID: c.ID, Name: c.Name, Status: c.State}
	}
	return r.Reply(nethttp.StatusOK, out)
}

type personExclusion struct {
	CampaignID   engine.CampaignID `json:"campaign_id"`
	CampaignName string            `json:"campaign_name"`
	PhoneNumber  string            `json:"phone_number"`
	Reason       string            `json:"reason"`
	CreatedAt    time.Time         `json:"created_at"`
}

type personSuppression struct {
	Number    string    `json:"number"`
	Reason    string    `json:"reason"`
	CreatedAt time.Time `json:"created_at"`
}

type personView struct {
	PhoneNumber  string              `json:"phone_number"`
	Contacts     []personContact     `json:"contacts"`
	Calls        []calls.CallView    `json:"calls"`
	Exclusions   []personExclusion   `json:"exclusions"`
	Suppressions []personSuppression `json:"suppressions"`
	Held         bool                `json:"held"`
	HeldUntil    *time.Time          `json:"held_until"`
	More         bool                `json:"more"`
}

// ShowPerson shows what is known of a number in all campaigns.
func (s *API) ShowPerson(r *wire.Request) error {
	f := form.Form{Errs: &form.Errors{}}
	n := f.ParsePhone("number", r.Param("number"))
	for k := range r.HTTP.QueryArgs().All() {
		f.Errs.UnknownParameter(string(k))
	}
	if !r.MayUse("") {
		return wire.ErrCampaignForbidden
	}
	if err := f.Errs.Err(); err != nil {
		return err
	}
	p, err := s.People.Person(r.Ctx(), n)
	if err != nil {
		return err
	}
	out := personView{PhoneNumber: p.Number.E164(), Contacts: viewPersonContacts(p.Contacts),
		Calls: make([]calls.CallView, len(p.Calls)), Exclusions: make([]personExclusion, len(p.Exclusions)),
		Suppressions: make([]personSuppression, len(p.Suppressed)), Held: p.Held, HeldUntil: p.HeldUntil, More: p.More}
	for i := range p.Calls {
		out.Calls[i] = calls.ViewCall(&p.Calls[i], s.Now())
	}
	for i := range p.Exclusions {
		x := &p.Exclusions[i]
		out.Exclusions[i] = personExclusion{CampaignID: x.Of.ID, CampaignName: x.Of.Name, PhoneNumber: x.Number.E164(),
			Reason: x.Reason, CreatedAt: x.CreatedAt}
	}
	for i, x := range p.Suppressed {
		out.Suppressions[i] = personSuppression{Number: x.Number.E164(), Reason: x.Reason, CreatedAt: x.CreatedAt}
	}
	return r.Reply(nethttp.StatusOK, out)
}
