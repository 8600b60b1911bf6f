package webhooks

import (
	"cmp"
	"context"
	"crypto/rand"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/webhook"
	"dialler/http/form"
	"dialler/http/wire"
)

// Webhooks: endpoints that receive events, and the log of deliveries (package engine/webhook). A
// secret appears only in the response that created it.

// API serves webhooks.
type API struct {
	*wire.Host
	Webhooks
	plain bool // http URLs are allowed
}

// New makes the API; plain allows http URLs.
func New(h *wire.Host, store Webhooks, plain bool) *API {
	return &API{Host: h, Webhooks: store, plain: plain}
}

type webhookView struct {
	ID              webhook.EndpointID  `json:"id"`
	URL             string              `json:"url"`
	Types           []string            `json:"types"`     // empty = webhook.Usual
	Campaigns       []engine.CampaignID `json:"campaigns"` // empty = all
	Description     string              `json:"description"`
	Active          bool                `json:"is_active"`
	Secret          string              `json:"secret,omitempty"` // only when it was created
	OldSecretUntil  *time.Time          `json:"old_secret_until"`
	Disabled        string              `json:"disabled_reason,omitempty"`
	DisabledAt      *time.Time          `json:"disabled_at"`
	LastDeliveredAt *time.Time          `json:"last_delivered_at"`
	CreatedAt       time.Time           `json:"created_at"`
	CreatedBy       string              `json:"created_by"`
}

func viewWebhook(e *webhook.Endpoint, now time.Time) webhookView {
	v := webhookView{
		ID: e.ID, URL: e.URL, Types: e.Types, Campaigns: e.Campaigns, Description: e.Description, Active: e.Active,
		OldSecretUntil: e.OldSecretUntil, Disabled: e.Disabled, DisabledAt: e.DisabledAt, LastDeliveredAt: e.LastDeliveredAt,
		CreatedAt: e.CreatedAt, CreatedBy: e.CreatedBy,
	}
	if v.Types == nil {
		v.Types = []string{}
	}
	if v.Campaigns == nil {
		v.Campaigns = []engine.CampaignID{}
	}
	if v.OldSecretUntil != nil && !v.OldSecretUntil.After(now) {
		v.OldSecretUntil = nil
	}
	return v
}

type deliveryView struct {
	ID        string                `json:"id"`
	Message   string                `json:"webhook_message_id"` // the header webhook-id
	Type      string                `json:"type"`
	Campaign  engine.CampaignID     `json:"campaign_id,omitempty"`
	Attempt   engine.AttemptID      `json:"attempt_id,omitempty"`
	Own       bool                  `json:"own_address"`
	State     webhook.DeliveryState `json:"state"`
	Attempts  int                   `json:"attempts"`
	Status    int                   `json:"response_status,omitempty"`
	Problem   string                `json:"problem,omitempty"`
	Excerpt   string                `json:"response_body,omitempty"`
	CreatedAt time.Time             `json:"created_at"`
	TriedAt   *time.Time            `json:"last_attempt_at"`
	NextAt    *time.Time            `json:"next_attempt_at"`
}

func viewDelivery(d *webhook.Delivery) deliveryView {
	return deliveryView{
		ID: strconv.FormatInt(d.ID, 10), Message: d.Message, Type: d.Type, Campaign: d.Campaign,
		Attempt: d.Attempt, Own: d.Own, State: d.State, Attempts: d.Tries, Status: d.Status, Problem: d.Problem,
		Excerpt: d.Excerpt, CreatedAt: d.CreatedAt, TriedAt: d.TriedAt, NextAt: d.NextAt,
	}
}

func (s *API) List(r *wire.Request) error {
	list, err := s.Webhooks.Webhooks(r.Ctx())
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(slices.Clone(list), func(e webhook.Endpoint) bool { return !within(r, e.Campaigns) })
	out := struct {
		Webhooks []webhookView `json:"webhooks"`
		Total    int           `json:"total"`
	}{make([]webhookView, len(list)), len(list)}
	for i := range list {
		out.Webhooks[i] = viewWebhook(&list[i], s.Now())
	}
	return r.Reply(nethttp.StatusOK, out)
}

func (s *API) Show(r *wire.Request) error {
	id, err := s.webhookOf(r)
	if err != nil {
		return err
	}
	e, err := s.Webhooks.Webhook(r.Ctx(), id)
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, viewWebhook(&e, s.Now()))
}

func (s *API) Create(r *wire.Request) error {
	f, err := r.Body()
	if err != nil {
		return err
	}
	e := webhook.Endpoint{ID: webhook.EndpointID("whk_" + strings.ToLower(wire.RandomText(20))), CreatedAt: s.Now(),
		CreatedBy: r.Who().Name}
	e.URL = s.webhookURL(f, form.Required)
	if list := readTypes(f); list != nil {
		e.Types = *list
	}
	if list := readCampaigns(f); list != nil {
		e.Campaigns = *list
	}
	if !within(r, e.Campaigns) {
		return errOtherCampaigns
	}
	e.Description = f.Text("description", form.Optional, webhook.DescriptionCap)
	e.Active = f.Flag("is_active", true)
	f.Done()
	if err := f.Errs.Err(); err != nil {
		return err
	}
	secret := newWebhookSecret()
	if err := s.Webhooks.CreateWebhook(r.Ctx(), e, secret, r.Who()); err != nil {
		return err
	}
	r.HTTP.Response.Header.Set("Location", "/api/v1/webhooks/"+string(e.ID))
	v := viewWebhook(&e, s.Now())
	v.Secret = secret
	return r.Reply(nethttp.StatusCreated, v)
}

func (s *API) Change(r *wire.Request) error {
	id, err := s.webhookOf(r)
	if err != nil {
		return err
	}
	f, err := r.Body()
	if err != nil {
		return err
	}
	var changes []func(*webhook.Endpoint)
	change := func(c func(*webhook.Endpoint)) { changes = append(changes, c) }
	if f.Has("url") {
		url := s.webhookURL(f, form.Required)
		change(func(e *webhook.Endpoint) { e.URL = url })
	}
	if list := readTypes(f); list != nil {
		change(func(e *webhook.Endpoint) { e.Types = *list })
	}
	if list := readCampaigns(f); list != nil {
		if !within(r, *list) {
			return errOtherCampaigns
		}
		change(func(e *webhook.Endpoint) { e.Campaigns = *list })
	}
	if f.Has("description") {
		text := f.Text("description", form.Optional, webhook.DescriptionCap)
		change(func(e *webhook.Endpoint) { e.Description = text })
	}
	if f.Has("is_active") {
		active := f.Flag("is_active", true)
		change(func(e *webhook.Endpoint) { e.Enable(active) })
	}
	f.Done()
	if err := f.Errs.Err(); err != nil {
		return err
	}
	if len(changes) == 0 {
		return engine.Invalid("validation_failed", "Name at least one field to change.")
	}
	e, err := s.Webhooks.ChangeWebhook(r.Ctx(), id, func(e *webhook.Endpoint) {
		for _, c := range changes {
			c(e)
		}
	}, r.Who())
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, viewWebhook(&e, s.Now()))
}

func (s *API) Delete(r *wire.Request) error {
	id, err := s.webhookOf(r)
	if err != nil {
		return err
	}
	if err := s.Webhooks.DeleteWebhook(r.Ctx(), id, r.Who()); err != nil {
		return err
	}
	r.Send(nethttp.StatusNoContent, "", nil)
	return nil
}

// RotateSecret makes a new secret; the previous one also signs for a day, so that the receiver can
// be changed meanwhile.
func (s *API) RotateSecret(r *wire.Request) error {
	id, err := s.webhookOf(r)
	if err != nil {
		return err
	}
	secret := newWebhookSecret()
	e, err := s.Webhooks.RotateWebhookSecret(r.Ctx(), id, secret, s.Now().Add(webhook.Overlap), r.Who())
	if err != nil {
		return err
	}
	v := viewWebhook(&e, s.Now())
	v.Secret = secret
	return r.Reply(nethttp.StatusOK, v)
}

func (s *API) Test(r *wire.Request) error {
	id, err := s.webhookOf(r)
	if err != nil {
		return err
	}
	d, err := s.Webhooks.TestWebhook(r.Ctx(), id, webhook.PingMessage(id, s.Now(), wire.RandomText(32)), r.Who())
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusAccepted, viewDelivery(&d))
}

// ListDeliveries returns a page of the log; its cursor leads to older ones.
func (s *API) ListDeliveries(r *wire.Request) error {
	id, err := s.webhookOf(r)
	if err != nil {
		return err
	}
	q := webhook.DeliveryQuery{Size: wire.DefaultPageSize, Of: r.OnlyCampaigns()}
	var errs form.Errors
	for k, v := range r.HTTP.QueryArgs().All() {
		switch key, val := string(k), string(v); key {
		case "cursor":
			n, e := strconv.ParseInt(val, 10, 64)
			if e != nil || n < 1 {
				errs.Add("cursor", "invalid_format", "must be the next_cursor of an answer")
				continue
			}
			q.Before = n
		case "page_size":
			n, e := strconv.Atoi(val)
			if e != nil || n < 1 || n > wire.MaxPageSize {
				errs.Add(
					"page_size",
					"out_of_range",
					"must be a whole number from 1 to "+strconv.Itoa(wire.MaxPageSize),
				)
				continue
			}
			q.Size = n
		case "state":
			q.State = webhook.DeliveryState(val)
			if !slices.Contains(webhook.DeliveryStates, q.State) {
				errs.Add("state", "unknown_value", "must be one of pending, delivered, failed")
			}
		default:
			errs.UnknownParameter(key)
		}
	}
	if err := errs.Err(); err != nil {
		return err
	}
	q.Size++ // one extra shows whether there are more
	list, err := s.Webhooks.Deliveries(r.Ctx(), id, q)
	if err != nil {
		return err
	}
	out := struct {
		Deliveries []deliveryView `json:"deliveries"`
		Next       *string        `json:"next_cursor"`
	}{Deliveries: []deliveryView{}}
	if len(list) == q.Size {
		list = list[:q.Size-1]
		next := strconv.FormatInt(list[len(list)-1].ID, 10)
		out.Next = &next
	}
	for i := range list {
		out.Deliveries = append(out.Deliveries, viewDelivery(&list[i]))
	}
	return r.Reply(nethttp.StatusOK, out)
}

func (s *API) ReplayDelivery(r *wire.Request) error {
	id, err := s.webhookOf(r)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(r.Param("delivery_id"), 10, 64)
	if err != nil || n < 1 {
		return errNoDelivery
	}
	d, err := s.Webhooks.Replay(r.Ctx(), id, n, r.OnlyCampaigns(), r.Who())
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusAccepted, viewDelivery(&d))
}

// ReplayFailed resends all failed messages created since a given time.
func (s *API) ReplayFailed(r *wire.Request) error {
	id, err := s.webhookOf(r)
	if err != nil {
		return err
	}
	f, err := r.Body()
	if err != nil {
		return err
	}
	since := f.When("since")
	if !f.Has("since") {
		f.Fail("since", "required", "is required")
	}
	f.Done()
	if err := f.Errs.Err(); err != nil {
		return err
	}
	n, err := s.Webhooks.ReplayFailed(r.Ctx(), id, *since, r.OnlyCampaigns(), r.Who())
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusAccepted, struct {
		Replayed int `json:"replayed"`
	}{n})
}

var (
	errNoWebhook  = engine.NotFound("webhook_not_found", "")
	errNoDelivery = engine.NotFound("delivery_not_found", "")
	// An empty list means every campaign.
	errOtherCampaigns = wire.Forbidden("campaign_not_allowed", "Name campaigns, and only those that this key may use.")
)

// webhookOf reads the endpoint of the path. One that is told of other campaigns does not exist for a key that is
// bound to some.
func (s *API) webhookOf(r *wire.Request) (webhook.EndpointID, error) {
	id := webhook.EndpointID(r.Param("webhook_id"))
	if !form.ValidIdentifier(string(id)) {
		return "", errNoWebhook
	}
	if len(r.OnlyCampaigns()) > 0 {
		if e, err := s.Webhooks.Webhook(r.Ctx(), id); err != nil || !within(r, e.Campaigns) {
			return "", cmp.Or(err, error(errNoWebhook))
		}
	}
	return id, nil
}

// within says whether an endpoint of these campaigns is told of no campaign but those of the request's key.
func within(r *wire.Request, campaigns []engine.CampaignID) bool {
	if len(campaigns) == 0 {
		return r.MayUse("")
	}
	return !slices.ContainsFunc(campaigns, func(id engine.CampaignID) bool { return !r.MayUse(id) })
}

func newWebhookSecret() string {
	var b [webhook.SecretBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	return webhook.WriteSecret(b[:])
}

func (s *API) webhookURL(f form.Form, need bool) string {
	url := f.Text("url", need, webhook.URLCap)
	if url == "" {
		return ""
	}
	if err := webhook.CheckURL(url, s.plain); err != nil {
		f.Fail("url", "invalid_format", err.Error())
	}
	return url
}

// readTypes returns nil if the field was not sent; an empty list means webhook.Usual.
func readTypes(f form.Form) *[]string { return f.SomeOf("types", webhook.Choices()) }

func readCampaigns(f form.Form) *[]engine.CampaignID {
	list := f.CampaignList()
	if list != nil && len(*list) > webhook.CampaignCap {
		f.Fail("campaigns", "too_long", "must have at most "+strconv.Itoa(webhook.CampaignCap)+" entries")
	}
	return list
}

// Webhooks stores the endpoints that receive events, and queues messages for them. Methods that
// name an endpoint return NotFound "webhook_not_found" if it is unknown.
type Webhooks interface {
	// Webhooks lists every endpoint, oldest first.
	Webhooks(ctx context.Context) ([]webhook.Endpoint, error)
	Webhook(ctx context.Context, id webhook.EndpointID) (webhook.Endpoint, error)
	// CreateWebhook: Conflict "too_many_webhooks".
	CreateWebhook(ctx context.Context, e webhook.Endpoint, secret string, who engine.Who) error
	// ChangeWebhook applies change to the stored endpoint.
	ChangeWebhook(ctx context.Context, id webhook.EndpointID, change func(*webhook.Endpoint),
		who engine.Who) (webhook.Endpoint, error)
	DeleteWebhook(ctx context.Context, id webhook.EndpointID, who engine.Who) error
	// RotateWebhookSecret sets a new secret; until then the previous one signs too.
	RotateWebhookSecret(ctx context.Context, id webhook.EndpointID, secret string, until time.Time,
		who engine.Who) (webhook.Endpoint, error)
	// TestWebhook sends a message to an endpoint, active or not.
	TestWebhook(ctx context.Context, id webhook.EndpointID, m webhook.Message, who engine.Who) (webhook.Delivery, error)
	// Deliveries gives a part of the log, newest first.
	Deliveries(ctx context.Context, id webhook.EndpointID, q webhook.DeliveryQuery) ([]webhook.Delivery, error)
	// Replay and ReplayFailed are about messages of some campaigns, nil for all. Replay returns NotFound
	// "delivery_not_found", Conflict "webhook_inactive".
	Replay(ctx context.Context, id webhook.EndpointID, delivery int64, of []engine.CampaignID,
		who engine.Who) (webhook.Delivery, error)
	// ReplayFailed returns how many were queued; Conflict "webhook_inactive".
	ReplayFailed(ctx context.Context, id webhook.EndpointID, since time.Time, of []engine.CampaignID,
		who engine.Who) (int, error)
}
