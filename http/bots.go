package http

import (
	nethttp "net/http"
	"strconv"
	"time"

	"dialler/engine"
)

// Bots: configured voice bots. The token that signs upgrade requests is
// write-only.

type botView struct {
	ID        engine.BotID `json:"id"`
	Name      string       `json:"name"`
	Active    bool         `json:"active"`
	Seats     int          `json:"seats"`
	Endpoints []string     `json:"endpoints"`
	Account   string       `json:"account"`
	HasToken  bool         `json:"has_auth_token"`
	Required  []string     `json:"required_variables"`
	CreatedAt time.Time    `json:"created_at"`
	Status    *botStatus   `json:"status,omitempty"`
}

// botStatus is how a bot stands at this moment.
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
		v.Endpoints[i] = endpointStatus{Endpoint: e.Endpoint, Health: string(e.Health), Reason: e.Reason, AskedAgainAt: e.AskedAgainAt}
		if !e.Since.IsZero() {
			v.Endpoints[i].Since = &e.Since
		}
	}
	return v
}

func viewBot(b *engine.Bot) botView {
	v := botView{
		ID: b.ID, Name: b.Name, Active: b.Active, Seats: b.Seats, Endpoints: b.Endpoints, Account: b.Account,
		HasToken: b.AuthToken != "", Required: b.Variables, CreatedAt: b.CreatedAt,
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

func (s *Server) listBots(r *request) error {
	bots, err := s.Bots.Bots(r.ctx())
	if err != nil {
		return err
	}
	statuses, err := s.Bots.BotStatuses(r.ctx())
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
	return r.reply(nethttp.StatusOK, out)
}

func (s *Server) putBot(r *request) error {
	f, err := r.body()
	if err != nil {
		return err
	}
	bot := engine.Bot{
		ID:        engine.BotID(f.pathID(r, "bot_id")),
		Name:      f.text("name", required, 100),
		Active:    f.flag("active", true),
		Seats:     f.within("seats", 1, 1, 100_000),
		Endpoints: f.words("endpoints", engine.EndpointsCap),
		AuthToken: f.text("auth_token", optional, 255),
		Account:   f.text("account", optional, 34),
		Variables: f.words("required_variables", maxVariables),
		CreatedAt: s.Now(),
	}
	if wrong := len(f.errs.list) > 0; !wrong || len(bot.Endpoints) > 0 {
		for _, e := range engine.CheckEndpoints(bot.Endpoints) {
			f.fail(e.Field, e.Code, e.Message)
		}
	}
	for i, v := range bot.Variables {
		if v == "" || len(v) > maxVariableName {
			f.fail("required_variables["+strconv.Itoa(i)+"]", "invalid_format", "must be a name of 1 to 64 bytes")
		}
	}
	// INTERFACES §1: ids are AC + 32 hex.
	if bot.Account != "" && !validAccount(bot.Account) {
		f.fail("account", "invalid_format", "must be AC and 32 hex digits")
	}
	keep := !f.sent("auth_token")
	f.done()
	if err := f.errs.err(); err != nil {
		return err
	}
	stored, created, err := s.Bots.PutBot(r.ctx(), bot, keep, r.who())
	if err != nil {
		return err
	}
	return r.reply(putStatus(created), viewBot(&stored))
}

// deleteBot needs force=true while campaigns that run or are paused use the bot.
func (s *Server) deleteBot(r *request) error {
	id := r.param("bot_id")
	if !validIdentifier(id) {
		return errNoBot
	}
	force := false
	var errs fieldErrors
	for k, v := range r.rc.QueryArgs().All() {
		switch {
		case string(k) != "force":
			errs.add(clipName(string(k)), "unknown_field", "is not a parameter of this request")
		case string(v) != "true" && string(v) != "false":
			errs.add("force", "unknown_value", "must be true or false")
		default:
			force = string(v) == "true"
		}
	}
	if err := errs.err(); err != nil {
		return err
	}
	if err := s.Bots.DeleteBot(r.ctx(), engine.BotID(id), force, r.who()); err != nil {
		return err
	}
	r.send(nethttp.StatusNoContent, "", nil)
	return nil
}

var errNoBot = engine.NotFound("bot_not_found", "There is no such bot.")

func putStatus(created bool) int {
	if created {
		return nethttp.StatusCreated
	}
	return nethttp.StatusOK
}

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

// pathID is an identifier of the path; a body that repeats it must agree.
func (f form) pathID(r *request, param string) string {
	id := r.param(param)
	if !validIdentifier(id) {
		f.fail(param, "invalid_format", "must be 1 to 64 letters, digits, dots, dashes and underscores")
	}
	if in := f.text("id", optional, 64); in != "" && in != id {
		f.fail("id", "mismatch", "must be the one in the path")
	}
	return id
}

// within reads an integer of a range.
func (f form) within(field string, def, low, high int) int {
	n := f.whole(field, def)
	if n < low || n > high {
		f.fail(field, "out_of_range", "must be from "+strconv.Itoa(low)+" to "+strconv.Itoa(high))
		return def
	}
	return n
}

// oneOf reads a string out of a closed set.
func (f form) oneOf(field, def string, set ...string) string {
	if !f.has(field) {
		return def
	}
	got := f.text(field, optional, 64)
	list := ""
	for i, s := range set {
		if s == got {
			return got
		}
		if i > 0 {
			list += ", "
		}
		list += s
	}
	f.fail(field, "unknown_value", "must be one of "+list)
	return def
}
