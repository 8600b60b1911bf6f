package http

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"dialler/engine/campaign"
	"dialler/http/access"
	"dialler/http/form"
	"dialler/http/wire"
)

// cheapCampaigns answers at once, so that only the API is measured.
type cheapCampaigns struct{ *ports }

func (cheapCampaigns) Trigger(_ context.Context, c campaign.Trigger) (campaign.TriggerReply, error) {
	return campaign.TriggerReply{Status: "queued", ContactID: "0123456789abcdef0123456789abcdef",
		CampaignID: c.Campaign}, nil
}

// BenchmarkTrigger measures one trigger from the received request to the finished response, without
// the socket.
func BenchmarkTrigger(b *testing.B) {
	run := func(name, idempotencyKey string, cfg Config) {
		b.Run(name, func(b *testing.B) {
			p := newPorts()
			full, key := access.NewAPIKey("crm", testAt)
			p.keys = append(p.keys, key)
			cfg.JWTSecret, cfg.Registry, cfg.Log = secret, prometheus.NewRegistry(), zerolog.Nop()
			s, err := New(cfg, Deps{Campaigns: cheapCampaigns{p}, Calls: p, Keys: p, Users: p, Replies: p, Bots: p, Trunks: p,
				Numbers: p, Health: p})
			if err != nil {
				b.Fatal(err)
			}
			var rc fasthttp.RequestCtx
			rc.Request.Header.SetMethod("POST")
			rc.Request.SetRequestURI(triggerPath)
			rc.Request.Header.SetContentType(wire.ContentJSON)
			rc.Request.Header.Set("X-API-Key", full)
			if idempotencyKey != "" {
				rc.Request.Header.Set("Idempotency-Key", idempotencyKey)
			}
			rc.Request.SetBodyString(triggerBody(`,"metadata":{"name":"Ada","account":"12345","plan":"gold"}`))
			b.ReportAllocs()
			for b.Loop() {
				rc.Response.Reset()
				s.router.Handler(&rc)
				if rc.Response.StatusCode() != 200 {
					b.Fatal(rc.Response.StatusCode())
				}
			}
		})
	}
	run("plain", "", Config{})
	run("idempotent", "k-1", Config{})
	run("limited", "", Config{KeyRate: 1e9, KeyBurst: 1e9})
}

func BenchmarkParseJSON(b *testing.B) {
	body := []byte(triggerBody(`,"metadata":{"name":"Ada","account":"12345","plan":"gold"}`))
	b.ReportAllocs()
	for b.Loop() {
		var errs form.Errors
		if _, err := form.Parse(body, &errs); err != nil {
			b.Fatal(err)
		}
	}
}
