package http

import (
	"context"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/webhook"
)

// hooks fakes the endpoints behind the API.
type hooks struct {
	endpoints []webhook.Endpoint
	secrets   map[webhook.EndpointID][]string
	log       []webhook.Delivery // newest first
	since     []time.Time
	of        []engine.CampaignID // what the last request for the log or a replay was about
}

func (p *ports) hook(id webhook.EndpointID) (*webhook.Endpoint, error) {
	for i := range p.hooks.endpoints {
		if p.hooks.endpoints[i].ID == id {
			return &p.hooks.endpoints[i], nil
		}
	}
	return nil, notFound("webhook_not_found")
}

func (p *ports) Webhooks(context.Context) ([]webhook.Endpoint, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.hooks.endpoints), p.fail
}

func (p *ports) Webhook(_ context.Context, id webhook.EndpointID) (webhook.Endpoint, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, err := p.hook(id)
	if err != nil {
		return webhook.Endpoint{}, err
	}
	return *e, nil
}

func (p *ports) CreateWebhook(_ context.Context, e webhook.Endpoint, secret string, _ engine.Who) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.hooks.endpoints) == webhook.EndpointCap {
		return engine.Conflict("too_many_webhooks", "full")
	}
	p.hooks.endpoints = append(p.hooks.endpoints, e)
	if p.hooks.secrets == nil {
		p.hooks.secrets = map[webhook.EndpointID][]string{}
	}
	p.hooks.secrets[e.ID] = []string{secret}
	return nil
}

func (p *ports) ChangeWebhook(_ context.Context, id webhook.EndpointID, change func(*webhook.Endpoint),
	_ engine.Who) (webhook.Endpoint, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, err := p.hook(id)
	if err != nil {
		return webhook.Endpoint{}, err
	}
	change(e)
	return *e, nil
}

func (p *ports) DeleteWebhook(_ context.Context, id webhook.EndpointID, _ engine.Who) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.hook(id); err != nil {
		return err
	}
	p.hooks.endpoints = slices.DeleteFunc(p.hooks.endpoints, func(e webhook.Endpoint) bool { return e.ID == id })
	return nil
}

func (p *ports) RotateWebhookSecret(_ context.Context, id webhook.EndpointID, secret string, until time.Time,
	_ engine.Who) (webhook.Endpoint, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, err := p.hook(id)
	if err != nil {
		return webhook.Endpoint{}, err
	}
	e.OldSecretUntil = &until
	p.hooks.secrets[id] = append(p.hooks.secrets[id], secret)
	return *e, nil
}

func (p *ports) TestWebhook(_ context.Context, id webhook.EndpointID, m webhook.Message,
	_ engine.Who) (webhook.Delivery, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.hook(id); err != nil {
		return webhook.Delivery{}, err
	}
	d := webhook.Delivery{ID: int64(len(p.hooks.log) + 1), Message: m.ID, Type: m.Type, State: webhook.Pending,
		CreatedAt: m.At, NextAt: &m.At}
	p.hooks.log = append([]webhook.Delivery{d}, p.hooks.log...)
	return d, nil
}

func (p *ports) Deliveries(_ context.Context, id webhook.EndpointID, q webhook.DeliveryQuery) ([]webhook.Delivery,
	error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.hook(id); err != nil {
		return nil, err
	}
	p.hooks.of = q.Of
	var out []webhook.Delivery
	for _, d := range p.hooks.log {
		if (q.Before == 0 || d.ID < q.Before) && (q.State == "" || d.State == q.State) && len(out) < q.Size {
			out = append(out, d)
		}
	}
	return out, nil
}

func (p *ports) Replay(_ context.Context, id webhook.EndpointID, delivery int64, of []engine.CampaignID,
	_ engine.Who) (webhook.Delivery, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hooks.of = of
	e, err := p.hook(id)
	if err != nil {
		return webhook.Delivery{}, err
	}
	if !e.Active {
		return webhook.Delivery{}, engine.Conflict("webhook_inactive", "inactive")
	}
	for i := range p.hooks.log {
		if d := &p.hooks.log[i]; d.ID == delivery {
			d.State, d.Tries = webhook.Pending, 0
			return *d, nil
		}
	}
	return webhook.Delivery{}, notFound("delivery_not_found")
}

func (p *ports) ReplayFailed(_ context.Context, id webhook.EndpointID, since time.Time, of []engine.CampaignID,
	_ engine.Who) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hooks.of = of
	if _, err := p.hook(id); err != nil {
		return 0, err
	}
	p.hooks.since = append(p.hooks.since, since)
	return 3, nil
}
