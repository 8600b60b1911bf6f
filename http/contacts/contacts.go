package contacts

import (
	"errors"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/number"
	"dialler/http/calls"
	"dialler/http/download"
	"dialler/http/form"
	"dialler/http/idempotency"
	"dialler/http/live"
	"dialler/http/wire"
)

// maxContactsPerRequest bounds one list; longer ones are sent in parts.
const maxContactsPerRequest = 1000

// API serves the contacts of campaigns and their sources: lists, files, triggers.
type API struct {
	*wire.Host
	replays *idempotency.Replays
	feeds   *live.Feeds
	files   *download.Files
	Ports
	bodyCap int64 // of a file
}

// Ports are what the API needs from the rest of the dialler.
type Ports struct {
	Campaigns    Campaigns
	People       People
	Imports      Imports
	Destinations wire.Destinations
}

// New makes the API.
func New(h *wire.Host, kept *idempotency.Replays, live *live.Feeds, f *download.Files, p Ports, bodyCap int64) *API {
	return &API{Host: h, replays: kept, feeds: live, files: f, Ports: p, bodyCap: bodyCap}
}

type contactView struct {
	ID          engine.ContactID  `json:"contact_id"`
	PhoneNumber string            `json:"phone_number"`
	Alternates  []alternateView   `json:"alternates,omitempty"`  // the person's other numbers
	NextNumber  string            `json:"next_number,omitempty"` // of several, the one that is called next
	Status      string            `json:"status"`
	Reason      string            `json:"reason,omitempty"`
	Attempts    int               `json:"attempts"`
	MaxAttempts int               `json:"max_attempts"`
	Run         int               `json:"run"`
	Source      string            `json:"source"`
	LastResult  string            `json:"last_result"` // disposition, else outcome, else ""
	LastOutcome engine.Outcome    `json:"last_outcome,omitempty"`
	Variables   map[string]string `json:"variables"`
	// LiveState is the finer state while an attempt is live (SEMANTICS §3).
	LiveState      string              `json:"live_state,omitempty"`
	NextEligibleAt *time.Time          `json:"next_eligible_at"`
	NotBefore      *time.Time          `json:"not_before"`
	ExpiresAt      *time.Time          `json:"expires_at"`
	Priority       int                 `json:"priority"`
	Callback       *callbackView       `json:"callback"`
	CreatedAt      time.Time           `json:"created_at"`
	UpdatedAt      time.Time           `json:"updated_at"`
	Trail          []calls.AttemptView `json:"attempt_trail"` // newest last
	CallsBack      []calls.AttemptView `json:"calls_back,omitempty"`
}

// alternateView is a number of the person beside the first. Barred says that it is invalid or on the
// suppression list, and is not called any more in this run.
type alternateView struct {
	Number string `json:"number"`
	Label  string `json:"label,omitempty"`
	Barred bool   `json:"barred,omitempty"`
}

func viewAlternates(c *contact.Contact) (list []alternateView) {
	for i, a := range c.Alternates.List() {
		list = append(list, alternateView{Number: a.Number.E164(), Label: a.Label, Barred: c.Choice.Out(i + 1)})
	}
	return list
}

type callbackView struct {
	State contact.CallbackState `json:"state"`
	At    *time.Time            `json:"at"`
}

func viewContact(cv *campaign.ContactView) contactView {
	c := &cv.Contact
	v := contactView{
		ID: c.ID, PhoneNumber: c.Number.E164(), Status: c.State.Shown(), Reason: c.Reason, Attempts: c.Used,
		MaxAttempts: c.Max, Run: c.Run, Source: c.Source, LastResult: c.LastDisposition,
		LastOutcome: c.LastOutcome, Variables: c.Variables, NextEligibleAt: c.DueAt,
		NotBefore: c.NotBefore, ExpiresAt: c.ExpiresAt, Priority: c.Priority(),
		CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, Trail: make([]calls.AttemptView, len(cv.Attempts)),
	}
	if v.Alternates = viewAlternates(c); v.Alternates != nil {
		v.NextNumber = c.NextNumber().E164()
	}
	if c.Awaited() != "" {
		v.LastResult, v.LastOutcome = "", "" // not final
	}
	if v.LastResult == "" {
		v.LastResult = string(v.LastOutcome)
	}
	if v.Variables == nil {
		v.Variables = map[string]string{}
	}
	if c.Callback != contact.CallbackNone {
		v.Callback = &callbackView{State: c.Callback, At: c.CallbackAt}
	}
	for i := range cv.Attempts {
		a := &cv.Attempts[i]
		v.Trail[i] = calls.ViewAttempt(a)
		if a.Live() {
			v.LiveState = string(a.State)
			if a.InviteAt != nil {
				v.Attempts++ // consumed once its INVITE left, unless its end says otherwise
			}
		}
	}
	for i := range cv.CallsBack {
		v.CallsBack = append(v.CallsBack, calls.ViewAttempt(&cv.CallsBack[i]))
	}
	return v
}

type contactList struct {
	Contacts []contactView `json:"contacts"`
	Page     int           `json:"page"`
	PageSize int           `json:"page_size"`
	Total    int           `json:"total"`
}

func (s *API) List(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	page := campaign.Page{}
	page.Number, page.Size, page.Filter, err = r.PageOf(contact.Filters(),
		func(key, val string, errs *form.Errors) bool {
			switch key {
			case "number":
				n, err := number.Parse(val)
				var e *engine.Error
				if errors.As(err, &e) {
					errs.Add("number", e.Code, e.Detail)
				}
				page.Phone = n
			case "q":
				page.Search = searchOf(val, errs)
			case "callback":
				page.Callback = contact.CallbackState(val)
				if !slices.Contains(contact.CallbackStates, page.Callback) {
					errs.Add(
						"callback",
						"unknown_value",
						"must be one of "+strings.Join(wire.Names(contact.CallbackStates), ", "),
					)
				}
			default:
				return false
			}
			return true
		})
	if err != nil {
		return err
	}
	list, err := s.Campaigns.Contacts(r.Ctx(), id, page)
	if err != nil {
		return err
	}
	out := contactList{Contacts: make([]contactView, len(list.Contacts)), Page: page.Number, PageSize: page.Size,
		Total: list.Total}
	for i := range list.Contacts {
		out.Contacts[i] = viewContact(&list.Contacts[i])
	}
	return r.Reply(nethttp.StatusOK, out)
}

type contactDetail struct {
	contactView
	Explain campaign.Explanation `json:"explain"`
}

func (s *API) Show(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	c, err := s.Campaigns.Contact(r.Ctx(), id, engine.ContactID(r.Param("contact_id")))
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, contactDetail{viewContact(&c.ContactView), c.Explain})
}

// Act carries out an operator's action on one contact, and shows it afterwards.
func (s *API) Act(action campaign.ContactAction) wire.Handler {
	return func(r *wire.Request) error {
		id, err := r.CampaignOf()
		if err != nil {
			return err
		}
		cmd := campaign.ActOnContact{Campaign: id, Contact: engine.ContactID(r.Param("contact_id")), Action: action,
			Who: r.Who(), Deadline: r.Deadline()}
		if err := contactOptions(r, &cmd); err != nil {
			return err
		}
		if err := s.Campaigns.ActOnContact(r.Ctx(), cmd); err != nil {
			return err
		}
		return s.Show(r)
	}
}

// contactOptions reads the body, which only CallBack needs.
func contactOptions(r *wire.Request, cmd *campaign.ActOnContact) error {
	if len(r.HTTP.PostBody()) == 0 && cmd.Action != campaign.CallBack {
		return nil
	}
	f, err := r.Body()
	if err != nil {
		return err
	}
	switch cmd.Action {
	case campaign.ExcludeContact:
		cmd.Reason = f.Text("reason", form.Optional, 500)
	case campaign.CallBack:
		if at := f.When("at"); at != nil {
			cmd.At = *at
		} else if !f.Has("at") {
			f.Fail("at", "required", "is required")
		}
	case campaign.RetryNow:
	}
	f.Done()
	return f.Errs.Err()
}

// Add accepts a list. An error in one row refuses the whole list, so that nothing is half written
// and the same list can be sent again.
func (s *API) Add(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	f, err := r.Body()
	if err != nil {
		return err
	}
	rows, callees := contactRows(f, "contacts", maxContactsPerRequest, r.Began())
	f.Done()
	for i := range callees {
		if callees[i].to.Number == "" {
			continue // named already
		}
		var e *engine.Error
		if errors.As(s.Destinations.Destination(callees[i].to), &e) {
			f.Fail(callees[i].field, e.Code, e.Detail)
		}
	}
	if err := f.Errs.Err(); err != nil {
		return err
	}
	report, err := s.Campaigns.AddContacts(r.Ctx(), campaign.AddContacts{
		Campaign: id, Source: "api", Contacts: rows, Who: r.Who(),
	})
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, report)
}

// givenCallee is a number to be called, with the field that has it.
type givenCallee struct {
	field string
	to    number.Callee
}

// contactRows reads the list of contacts; the fields are the trigger's.
func contactRows(f form.Form, field string, limit int, now time.Time) (rows []campaign.NewContact,
	callees []givenCallee) {
	items := f.Items(field, limit)
	rows, callees = make([]campaign.NewContact, 0, len(items)), make([]givenCallee, 0, len(items))
	for i := range items {
		item := &items[i]
		at := field + "[" + strconv.Itoa(i) + "]"
		if item.Kind != form.Object {
			f.WrongType(at, form.Object, item.Kind)
			continue
		}
		row := form.Form{Value: item, Path: f.Name(at), Errs: f.Errs}
		to := row.Callee("mobile")
		alternates, others := row.Alternates(to.Number)
		rows = append(rows, campaign.NewContact{Number: to.Number, Alternates: alternates,
			Variables: row.Variables("metadata", true), Times: row.Times(now)})
		callees = append(callees, givenCallee{at + ".mobile", to})
		for k := range others {
			callees = append(callees, givenCallee{at + "." + alternateField(k), others[k]})
		}
		row.Done()
	}
	return rows, callees
}
