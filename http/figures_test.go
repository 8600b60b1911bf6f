package http

import (
	"context"
	"testing"

	"dialler/engine"
	"dialler/engine/campaign"
)

func TestACampaignShowsItsPassesAndWithDetectionOnItsCallbacks(t *testing.T) {
	b := newBench(t)
	at, rate, delay := testAt, 0.25, 12.5
	d := detail("cmp_1", campaign.Settings{Name: "n", CallbackDetection: true}, campaign.Running)
	d.Counters.Passes = []campaign.Pass{
		{Number: 1, Eligible: 10, Attempted: 8, Connected: 2, ConnectedRate: &rate, FirstDialAt: &at, LastDialAt: &at, Running: true},
		{Number: 2, Eligible: 1},
	}
	d.Counters.Callbacks = campaign.Callbacks{Requested: 3, Pending: 1, Completed: 1, Cancelled: 1, MeanDelaySeconds: &delay}
	b.ports.onDetail = func(context.Context, engine.CampaignID) (campaign.Detail, error) { return d, nil }
	a := b.byAdmin("GET", "/api/v1/campaigns/cmp_1", "").is(200, "")
	passes := a.get("passes").([]any)
	first, second := passes[0].(map[string]any), passes[1].(map[string]any)
	if first["pass"] != 1.0 || first["eligible"] != 10.0 || first["attempted"] != 8.0 || first["connected_rate"] != 0.25 || first["running"] != true ||
		second["connected_rate"] != nil || second["first_dial_at"] != nil {
		t.Errorf("passes %v", passes)
	}
	if c := a.get("callbacks").(map[string]any); c["requested"] != 3.0 || c["pending"] != 1.0 || c["completed"] != 1.0 || c["mean_delay_s"] != 12.5 {
		t.Errorf("callbacks %v", c)
	}
	d.Campaign.Settings.CallbackDetection = false
	d.Counters.Passes = nil
	a = b.byAdmin("GET", "/api/v1/campaigns/cmp_1", "").is(200, "")
	if passes, ok := a.get("passes").([]any); !ok || len(passes) != 0 || a.get("callbacks") != nil {
		t.Errorf("passes %v, callbacks %v", a.get("passes"), a.get("callbacks"))
	}
}
