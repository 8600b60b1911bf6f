package campaigns

import (
	"context"
	"errors"
	nethttp "net/http"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/number"
	"dialler/engine/redial"
	"dialler/engine/window"
	"dialler/http/form"
	"dialler/http/telephony"
	"dialler/http/wire"
)

// Cadences: named tables of when each outcome is redialled, which campaigns share.

type cadenceView struct {
	ID        engine.CadenceID `json:"cadence_id"`
	Name      string           `json:"name"`
	Rules     string           `json:"rules"`
	Version   int64            `json:"version"`
	CreatedAt time.Time        `json:"created_at"`
	UpdatedAt time.Time        `json:"updated_at"`
}

func viewCadence(c *cadence.Named) cadenceView {
	return cadenceView{ID: c.ID, Name: c.Name, Rules: c.String(), Version: c.Version, CreatedAt: c.CreatedAt.UTC(),
		UpdatedAt: c.UpdatedAt.UTC()}
}

type cadenceList struct {
	Cadences []cadenceView `json:"cadences"`
	Total    int           `json:"total"`
}

func (s *API) ListCadences(r *wire.Request) error {
	list, err := s.Cadences.Cadences(r.Ctx())
	if err != nil {
		return err
	}
	out := cadenceList{Cadences: make([]cadenceView, len(list)), Total: len(list)}
	for i := range list {
		out.Cadences[i] = viewCadence(&list[i])
	}
	return r.Reply(nethttp.StatusOK, out)
}

func (s *API) ShowCadence(r *wire.Request) error {
	list, err := s.Cadences.Cadences(r.Ctx())
	if err != nil {
		return err
	}
	c := cadence.Find(list, engine.CadenceID(r.Param("cadence_id")))
	if c == nil {
		return engine.NotFound("cadence_not_found", "")
	}
	return r.Reply(nethttp.StatusOK, viewCadence(c))
}

// PutCadence creates a cadence, or edits the version that it names.
func (s *API) PutCadence(r *wire.Request) error {
	f, err := r.Body()
	if err != nil {
		return err
	}
	c := cadence.Named{ID: engine.CadenceID(wire.PathID(f, r, "cadence_id")), Name: f.Text("name", form.Required, 100)}
	c.Cadence = readRules(f)
	if f.Has("version") || len(r.HTTP.Request.Header.Peek("If-Match")) > 0 {
		c.Version = editedVersion(r, f)
	}
	f.Done()
	if err := f.Errs.Err(); err != nil {
		return err
	}
	stored, created, err := s.Cadences.PutCadence(r.Ctx(), c, s.Now(), r.Who())
	var e *engine.Error
	if errors.As(err, &e) {
		if now, ok := e.Current.(cadence.Named); ok {
			shown := *e
			shown.Current = viewCadence(&now)
			return &shown
		}
	}
	if err != nil {
		return err
	}
	return r.Reply(wire.PutStatus(created), viewCadence(&stored))
}

func (s *API) DeleteCadence(r *wire.Request) error {
	if err := s.Cadences.DeleteCadence(r.Ctx(), engine.CadenceID(r.Param("cadence_id")), r.Who()); err != nil {
		return err
	}
	r.Send(nethttp.StatusNoContent, "", nil)
	return nil
}

// readRules reads a table from its text.
func readRules(f form.Form) (c cadence.Cadence) {
	text := f.Text("rules", form.Required, cadence.TextCap)
	if text == "" {
		return c
	}
	c, wrong := cadence.Parse("rules", text)
	if wrong != nil {
		f.Fail(wrong.Field, wrong.Code, wrong.Message)
	}
	return c
}

type cadencePreview struct {
	Rules string           `json:"rules"`
	Dials []plannedView    `json:"dials"`
	After plannedAfterView `json:"after"`
}

type plannedView struct {
	Attempt int            `json:"attempt"`
	At      time.Time      `json:"at"` // with the offset of the contact's clock
	Outcome engine.Outcome `json:"outcome"`
	// By is the rule after which it comes, null for the first dial and where the Retry Delay holds.
	By *string `json:"by"`
}

type plannedAfterView struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// PreviewCadence says when a contact would be dialled by a table that need not be stored.
func (s *API) PreviewCadence(r *wire.Request) error {
	f, err := r.Body()
	if err != nil {
		return err
	}
	table := cadence.Named{Name: "of the preview", Cadence: readRules(f)}
	of, err := s.previewed(r.Ctx(), f)
	if err != nil {
		return err
	}
	from := s.Now()
	if at := f.When("from"); at != nil {
		from = *at
	}
	outcomes := readOutcomes(f)
	var home window.Home
	if f.Has("phone") {
		home = number.HomeOf(f.Phone("phone"))
	}
	f.Done()
	f.Errs.Merge(of.Settings.Validate())
	if err := f.Errs.Err(); err != nil {
		return err
	}
	dials, after := call.Plan(of, &table, home, from, outcomes)
	clock := of.Settings.Window.For(home)
	out := cadencePreview{Rules: table.String(), Dials: make([]plannedView, len(dials)),
		After: plannedAfterView{after.Code, after.Message}}
	for i, d := range dials {
		v := plannedView{Attempt: i + 1, At: clock.Local(d.At), Outcome: d.Outcome}
		if d.By != "" {
			v.By = &d.By
		}
		out.Dials[i] = v
	}
	return r.Reply(nethttp.StatusOK, out)
}

// previewed is the campaign that a preview is for: a stored one, or one with a window and the default
// settings, and what is given in place of them.
func (s *API) previewed(ctx context.Context, f form.Form) (of campaign.Campaign, err error) {
	of.Settings = campaign.Defaults()
	of.Settings.Name, of.Settings.Bot, of.Settings.Concurrency = "preview", "preview", 1
	if id := f.Text("campaign_id", form.Optional, campaignIDMost); id != "" {
		d, err := s.Campaigns.Detail(ctx, engine.CampaignID(id))
		if err != nil {
			return of, err
		}
		of.Settings = d.Campaign.Settings.WithDefaults()
		of.Settings.RetryOnSystem = d.Campaign.Settings.RetryOnSystem
	} else if !f.Has("window") {
		f.Fail("window", "required", `is required without campaign_id, for example `+
			`{"zone":"Europe/Berlin","start":"09:00","end":"18:00"}`)
	}
	for _, name := range []string{"window", "max_attempts", "retry_delay_s", "retry_on_system"} {
		readSetting(f, campaign.FieldOf(name), &of.Settings)
	}
	list, err := s.Calendars.Calendars(ctx)
	of.Narrow(list)
	return of, err
}

// readOutcomes reads how the attempts of a preview end.
func readOutcomes(f form.Form) []engine.Outcome {
	words := f.Words("outcomes", call.PlanCap)
	if len(words) == 0 {
		return []engine.Outcome{engine.OutcomeNoAnswer}
	}
	list := make([]engine.Outcome, len(words))
	for i, word := range words {
		if list[i] = engine.Outcome(word); !redial.Listable(list[i]) {
			f.Fail("outcomes["+strconv.Itoa(i)+"]", "unknown_value",
				"must be an outcome that can be redialled, for example no_answer")
		}
	}
	return list
}

// checkNamed refuses resources that the settings name and that do not exist.
func (s *API) checkNamed(ctx context.Context, c *campaign.Settings, errs *form.Errors) error {
	if err := s.checkCadence(ctx, c, errs); err != nil {
		return err
	}
	if err := s.checkCalendars(ctx, c, errs); err != nil {
		return err
	}
	return telephony.CheckMessage(ctx, s.Messages, c.CallbackMessage, errs)
}

// checkCadence refuses a cadence that does not exist.
func (s *API) checkCadence(ctx context.Context, c *campaign.Settings, errs *form.Errors) error {
	if c.Cadence == "" {
		return nil
	}
	list, err := s.Cadences.Cadences(ctx)
	if err != nil || cadence.Find(list, c.Cadence) != nil {
		return err
	}
	message := "is no cadence, and there are none yet; leave it out"
	if len(list) > 0 {
		message = "is no cadence; GET /api/v1/cadences lists them, for example " + string(list[0].ID)
	}
	errs.Add("cadence_id", "unknown_value", message)
	return nil
}
