package telephony

import (
	"cmp"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/http/form"
	"dialler/http/wire"
)

// Bots: configured voice bots. The token that signs upgrade requests is
// write-only, and so are the values of their own headers.

// API serves the resources for calls: bots, trunks, numbers.
type API struct {
	*wire.Host
	Ports
}

// Ports are what the API needs from the rest of the dialler.
type Ports struct {
	Bots         Bots
	Trunks       Trunks
	Numbers      Numbers
	Messages     Messages
	Calls        Calls
	Destinations wire.Destinations
	SetUp        SetUp
}

// New makes the API.
func New(h *wire.Host, p Ports) *API { return &API{Host: h, Ports: p} }

type botView struct {
	ID        engine.BotID `json:"id"`
	Name      string       `json:"name"`
	Active    bool         `json:"active"`
	Seats     int          `json:"seats"`
	Endpoints []string     `json:"endpoints"`
	Account   string       `json:"account"`
	HasToken  bool         `json:"has_auth_token"`
	Headers   []headerView `json:"headers"`
	HealthURL string       `json:"health_url,omitempty"`
	Probe     string       `json:"probe"`
	Required  []string     `json:"required_variables"`
	CreatedAt time.Time    `json:"created_at"`
	Status    *botStatus   `json:"status,omitempty"`
}

// headerView is a header of a bot's own; its value is write-only.
type headerView struct {
	Name string `json:"name"`
}

// botStatus is the current status of a bot.
type botStatus struct {
	Health    string           `json:"health"`
	SeatsHeld int              `json:"seats_held"`
	Endpoints []endpointStatus `json:"endpoints"`
}

type endpointStatus struct {
	Endpoint     string     `json:"endpoint"`
	Health       string     `json:"health"`
	Since        *time.Time `json:"since"`
	Reason       string     `json:"reason,omitempty"`
	AskedAgainAt *time.Time `json:"asked_again_at"`
}

func viewBotStatus(s BotStatus) *botStatus {
	v := &botStatus{Health: string(s.Health), SeatsHeld: s.Held, Endpoints: make([]endpointStatus, len(s.Endpoints))}
	for i, e := range s.Endpoints {
		v.Endpoints[i] = endpointStatus{Endpoint: e.Endpoint, Health: string(e.Health), Reason: e.Reason,
			AskedAgainAt: e.AskedAgainAt}
		if !e.Since.IsZero() {
			v.Endpoints[i].Since = &e.Since
		}
	}
	return v
}

func viewBot(b *engine.Bot) botView {
	v := botView{
		ID: b.ID, Name: b.Name, Active: b.Active, Seats: b.Seats, Endpoints: b.Endpoints, Account: b.Account,
		HasToken: b.AuthToken != "", Headers: make([]headerView, len(b.Headers)), HealthURL: b.HealthURL,
		Probe: cmp.Or(b.Probe, engine.ProbeConnection), Required: b.Variables, CreatedAt: b.CreatedAt,
	}
	for i, h := range b.Headers {
		v.Headers[i].Name = h.Name
	}
	if v.Endpoints == nil {
		v.Endpoints = []string{}
	}
	if v.Required == nil {
		v.Required = []string{}
	}
	return v
}

type botList struct {
	Bots  []botView `json:"bots"`
	Total int       `json:"total"`
}

func (s *API) ListBots(r *wire.Request) error {
	bots, err := s.Bots.Bots(r.Ctx())
	if err != nil {
		return err
	}
	statuses, err := s.Bots.BotStatuses(r.Ctx())
	if err != nil {
		return err
	}
	out := botList{Bots: make([]botView, len(bots)), Total: len(bots)}
	for i := range bots {
		out.Bots[i] = viewBot(&bots[i])
		if status, ok := statuses[bots[i].ID]; ok {
			if !bots[i].Active {
				status.Health = "off"
			}
			out.Bots[i].Status = viewBotStatus(status)
		}
	}
	return r.Reply(nethttp.StatusOK, out)
}

func (s *API) PutBot(r *wire.Request) error {
	f, err := r.Body()
	if err != nil {
		return err
	}
	bot := engine.Bot{
		ID:        engine.BotID(wire.PathID(f, r, "bot_id")),
		Name:      f.Text("name", form.Required, 100),
		Active:    f.Flag("active", true),
		Seats:     f.Within("seats", 1, 1, 100_000),
		Endpoints: f.Words("endpoints", engine.EndpointsCap),
		AuthToken: f.Text("auth_token", form.Optional, 255),
		HealthURL: f.Text("health_url", form.Optional, 2048),
		Probe:     f.Term("probe", ""),
		Account:   f.Text("account", form.Optional, 34),
		Variables: f.Words("required_variables", contact.VariableCountCap),
		CreatedAt: s.Now(),
	}
	if bot.Headers, err = s.botHeaders(r, f, &bot); err != nil {
		return err
	}
	if wrong := len(f.Errs.List) > 0; !wrong || len(bot.Endpoints) > 0 {
		for _, e := range engine.CheckBot(&bot) {
			f.Fail(e.Field, e.Code, e.Message)
		}
	}
	for i, v := range bot.Variables {
		if v == "" || len(v) > contact.VariableNameCap {
			f.Fail("required_variables["+strconv.Itoa(i)+"]", "invalid_format", "must be a name of 1 to 64 bytes")
		}
	}
	// INTERFACES §1: ids are AC + 32 hex.
	if bot.Account != "" && !validAccount(bot.Account) {
		f.Fail("account", "invalid_format", "must be AC and 32 hex digits")
	}
	keep := !f.Sent("auth_token")
	f.Done()
	if err := f.Errs.Err(); err != nil {
		return err
	}
	stored, created, err := s.Bots.PutBot(r.Ctx(), bot, keep, r.Who())
	if err != nil {
		return err
	}
	return r.Reply(wire.PutStatus(created), viewBot(&stored))
}

// botHeaders reads a bot's own headers. The stored ones stay when none are sent, and so does the
// value of one that is sent without it. A bot that is now called by SIP keeps none.
func (s *API) botHeaders(r *wire.Request, f form.Form, bot *engine.Bot) ([]engine.HTTPHeader, error) {
	bots, err := s.Bots.Bots(r.Ctx())
	if err != nil {
		return nil, err
	}
	var stored []engine.HTTPHeader
	same := func(b engine.Bot) bool { return b.ID == bot.ID }
	if i := slices.IndexFunc(bots, same); i >= 0 && bot.URIs() == nil {
		stored = bots[i].Headers
	}
	if !f.Sent("headers") {
		return stored, nil
	}
	return eachHeader(f, "headers", engine.BotHeadersCap, func(item form.Form) (h engine.HTTPHeader) {
		h.Name = item.Text("name", form.Optional, engine.BotHeaderCap)
		i := slices.IndexFunc(stored, func(o engine.HTTPHeader) bool { return strings.EqualFold(o.Name, h.Name) })
		if !item.Sent("value") && i >= 0 {
			h.Value = stored[i].Value
			return h
		}
		h.Value = item.Text("value", form.Optional, engine.BotHeaderCap)
		return h
	}), nil
}

// DeleteBot needs force=true if running or paused campaigns use the bot.
func (s *API) DeleteBot(r *wire.Request) error {
	id := r.Param("bot_id")
	if !form.ValidIdentifier(id) {
		return errNoBot
	}
	force := false
	var errs form.Errors
	for k, v := range r.HTTP.QueryArgs().All() {
		switch {
		case string(k) != "force":
			errs.UnknownParameter(string(k))
		case string(v) != "true" && string(v) != "false":
			errs.Add("force", "unknown_value", "must be true or false")
		default:
			force = string(v) == "true"
		}
	}
	if err := errs.Err(); err != nil {
		return err
	}
	if err := s.Bots.DeleteBot(r.Ctx(), engine.BotID(id), force, r.Who()); err != nil {
		return err
	}
	r.Send(nethttp.StatusNoContent, "", nil)
	return nil
}

var errNoBot = engine.NotFound("bot_not_found", "")

func validAccount(s string) bool {
	if len(s) != 34 || s[:2] != "AC" {
		return false
	}
	for _, c := range s[2:] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
