package http

import (
	"context"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/pacing"
)

func TestACampaignShowsItsPassesAndWithDetectionOnItsCallbacks(t *testing.T) {
	b := newBench(t)
	at, rate, delay := testAt, 0.25, 12.5
	d := detail("cmp_1", campaign.Settings{Name: "n", CallbackDetection: true}, campaign.Running)
	d.Counters.Passes = []campaign.Pass{
		{Number: 1, Eligible: 10, Attempted: 8, Connected: 2, ConnectedRate: &rate, FirstDialAt: &at, LastDialAt: &at,
			Running: true},
		{Number: 2, Eligible: 1},
	}
	d.Counters.Callbacks = campaign.Callbacks{Requested: 3, Pending: 1, Completed: 1, Cancelled: 1,
		MeanDelaySeconds: &delay}
	b.ports.onDetail = func(context.Context, engine.CampaignID) (campaign.Detail, error) { return d, nil }
	a := b.byAdmin("GET", "/api/v1/campaigns/cmp_1", "").is(200, "")
	passes := a.get("passes").([]any)
	first, second := passes[0].(map[string]any), passes[1].(map[string]any)
	if first["pass"] != 1.0 || first["eligible"] != 10.0 || first["attempted"] != 8.0 || first["connected_rate"] != 0.25 ||
		first["running"] != true ||
		second["connected_rate"] != nil || second["first_dial_at"] != nil {
		t.Errorf("passes %v", passes)
	}
	if c := a.get("callbacks").(map[string]any); c["requested"] != 3.0 || c["pending"] != 1.0 || c["completed"] != 1.0 ||
		c["mean_delay_s"] != 12.5 {
		t.Errorf("callbacks %v", c)
	}
	d.Campaign.Settings.CallbackDetection = false
	d.Counters.Passes = nil
	a = b.byAdmin("GET", "/api/v1/campaigns/cmp_1", "").is(200, "")
	if passes, ok := a.get("passes").([]any); !ok || len(passes) != 0 || a.get("callbacks") != nil {
		t.Errorf("passes %v, callbacks %v", a.get("passes"), a.get("callbacks"))
	}
}

func TestALiveCampaignShowsItsAbandonLedgersAndTheRollingRates(t *testing.T) {
	b := newBench(t)
	d := detail("cmp_1", campaign.Settings{Name: "n", AbandonCapPPM: 30_000, FalsePositivePPM: 20_000}, campaign.Running)
	counts := pacing.Counts{Live: 200, Abandoned: 2, CapacityLoss: 1, Machines: 10}
	books := pacing.NewBooks(testAt, testAt.Add(time.Hour), testAt)
	books.Run.Counts, books.Day.Counts = counts, counts
	for _, l := range []*pacing.Ledger{&books.Run, &books.Day, &books.Thirty} {
		d.Live.Ledgers = append(d.Live.Ledgers, campaign.ViewLedger(l, l.Counts, &d.Campaign.Settings))
	}
	d.Live.Rolling = campaign.Rolling{Day: campaign.ViewCounts(counts)}
	d.Live.Indicator = campaign.IndicatorIdle
	b.ports.onDetail = func(context.Context, engine.CampaignID) (campaign.Detail, error) { return d, nil }
	a := b.byAdmin("GET", "/api/v1/campaigns/cmp_1", "").is(200, "")
	live := a.get("live").(map[string]any)
	run, month := live["ledgers"].([]any)[0].(map[string]any), live["ledgers"].([]any)[2].(map[string]any)
	// ⌊(0.03·200 − 2 − 0.02·10) / 0.97⌋
	if run["period"] != "run" || run["until"] != nil || run["live_answers"] != 200.0 || run["abandoned"] != 2.0 ||
		run["capacity_loss"] != 1.0 ||
		run["machines"] != 10.0 || run["abandon_rate"] != 0.01 || run["credit"] != 3.0 {
		t.Errorf("run %v", run)
	}
	if month["period"] != "30_day" || month["abandon_rate"] != nil || month["until"] == nil {
		t.Errorf("30 days %v", month)
	}
	if day := live["rolling"].(map[string]any)["hours_24"].(map[string]any); day["abandon_rate"] != 0.01 {
		t.Errorf("rolling %v", day)
	}
	if share := a.get("settings").(map[string]any)["false_positive_share"]; share != 0.02 {
		t.Errorf("share %v", share)
	}
}

func TestTheShareOfFalseMachinesIsFromZeroToFivePerCent(t *testing.T) {
	b := newBench(t)
	with := func(v string) string {
		return strings.Replace(settingsJSON, `"concurrency":5`, `"concurrency":5,"false_positive_share":`+v, 1)
	}
	b.byAdmin("POST", "/api/v1/campaigns", with("0.025")).is(201, "")
	if got := b.ports.creates[0].Settings.FalsePositivePPM; got != 25_000 {
		t.Errorf("%d ppm", got)
	}
	for _, v := range []string{"0.051", "-0.0000001", "1e300", "-1e300"} {
		b.byAdmin("POST", "/api/v1/campaigns", with(v)).is(422, "validation_failed", "false_positive_share out_of_range")
	}
	b.byAdmin("POST", "/api/v1/campaigns", with(`"x"`)).is(422, "validation_failed", "false_positive_share wrong_type")
}

func TestAFinishedCampaignShowsItsTotals(t *testing.T) {
	b := newBench(t)
	d := detail("cmp_1", campaign.Settings{Name: "n"}, campaign.Completed)
	d.Campaign.Dialled = time.Hour
	d.Counters.Connected, d.Counters.ConnectedCalls, d.Counters.Attempts = 10, 12, 360
	b.ports.onDetail = func(context.Context, engine.CampaignID) (campaign.Detail, error) { return d, nil }
	totals := b.byAdmin("GET", "/api/v1/campaigns/cmp_1", "").is(200, "").get("totals").(map[string]any)
	if totals["total_connected"] != 10.0 || totals["dialling_s"] != 3600.0 || totals["dials_per_s"] != 0.1 ||
		totals["connected_per_h"] != 12.0 || totals["calls_per_min"] != 6.0 {
		t.Errorf("%v", totals)
	}
	d.Campaign.State = campaign.Running
	if v := b.byAdmin("GET", "/api/v1/campaigns/cmp_1", "").is(200, "").get("totals"); v != nil {
		t.Errorf("while it runs: %v", v)
	}
}
