package http

import (
	"context"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
)

func TestTheSeriesOfARunIsAskedForInTimeAndPoints(t *testing.T) {
	b := newBench(t)
	var asked campaign.SeriesQuery
	b.ports.onSeries = func(q campaign.SeriesQuery) (campaign.Series, error) {
		asked = q
		s := campaign.NewSeries(testAt, testAt.Add(10*time.Second), 2)
		s.Run = 2
		s.Points[0] = campaign.SeriesPoint{Dials: 3, Decided: 2, Answered: 1, LiveAnswers: 1, Abandoned: 1, Ringing: 1.23456,
			Connected: 0.5}
		return s, nil
	}
	a := b.byKey("GET", "/api/v1/campaigns/cmp_1/series?run=2&from=2030-03-01T13:00:00%2B01:00"+
		"&to=2030-03-01T12:00:10Z&points=2", "").is(200, "")
	if asked.Campaign != "cmp_1" || asked.Run != 2 || !asked.From.Equal(testAt) ||
		!asked.Until.Equal(testAt.Add(10*time.Second)) || asked.Points != 2 || !asked.Now.Equal(testAt) {
		t.Errorf("asked for %+v", asked)
	}
	for name, want := range map[string]float64{"dials": 3, "decided": 2, "answered": 1, "live_answers": 1, "abandoned": 1,
		"ringing": 1.235, "connected": 0.5} {
		if list := a.get(name).([]any); len(list) != 2 || list[0] != want || list[1] != 0.0 {
			t.Errorf("%s %v", name, list)
		}
	}
	if a.get("step_s") != 5.0 || a.get("run") != 2.0 || a.get("from") != "2030-03-01T12:00:00Z" ||
		a.get("to") != "2030-03-01T12:00:10Z" {
		t.Errorf("%s", a.body)
	}
	b.byKey("GET", "/api/v1/campaigns/cmp_1/series", "").is(200, "")
	if asked.Run != 0 || asked.Points != 240 || !asked.From.IsZero() || !asked.Until.IsZero() {
		t.Errorf("asked for %+v", asked)
	}
	for query, field := range map[string]string{
		"run=0": "run out_of_range", "run=x": "run out_of_range", "points=0": "points out_of_range",
		"points=501": "points out_of_range", "from=yesterday": "from invalid_format",
		"from=0001-01-01T00:00:00Z":                         "from out_of_range",
		"to=9999-01-01T00:00:00Z":                           "to out_of_range",
		"from=2030-03-01T12:00:00Z&to=2030-03-01T11:59:59Z": "to out_of_range", "colour=red": "colour unknown_field",
	} {
		b.byKey("GET", "/api/v1/campaigns/cmp_1/series?"+query, "").is(422, "validation_failed", field)
	}
}

func TestAChartIsCountedOnceForAllWhoLookAtIt(t *testing.T) {
	b := newBench(t)
	var counted atomic.Int32
	b.ports.onSeries = func(q campaign.SeriesQuery) (campaign.Series, error) {
		counted.Add(1)
		return campaign.NewSeries(q.Now, q.Now, q.Points), nil
	}
	for range 3 {
		b.byKey("GET", "/api/v1/campaigns/cmp_1/series", "").is(200, "")
	}
	if n := counted.Load(); n != 1 {
		t.Errorf("counted %d times", n)
	}
	b.byKey("GET", "/api/v1/campaigns/cmp_1/series?run=1", "").is(200, "")
	b.clock.advance(5 * time.Second)
	b.byKey("GET", "/api/v1/campaigns/cmp_1/series", "").is(200, "")
	if n := counted.Load(); n != 3 {
		t.Errorf("counted %d times", n)
	}
	// A key bound to one campaign cannot see another one, cached or not.
	bound := b.addKey(func(k *engine.APIKey) { k.Campaigns = []engine.CampaignID{"cmp_2"} })
	b.do("GET", "/api/v1/campaigns/cmp_1/series", "", "X-API-Key", bound).is(403, "campaign_not_allowed")
}

func TestThreeChartsAreCountedAtATime(t *testing.T) {
	b := newBench(t)
	begun, goOn := make(chan struct{}), make(chan struct{})
	b.ports.onSeries = func(q campaign.SeriesQuery) (campaign.Series, error) {
		begun <- struct{}{}
		<-goOn
		return campaign.NewSeries(q.Now, q.Now, q.Points), nil
	}
	var asked sync.WaitGroup
	for i := range 3 {
		asked.Go(func() { b.byKey("GET", "/api/v1/campaigns/cmp_1/series?run="+strconv.Itoa(i+1), "").is(200, "") })
		<-begun
	}
	b.byKey("GET", "/api/v1/campaigns/cmp_1/series", "").is(503, "too_many_charts")
	close(goOn)
	asked.Wait()
	go func() { <-begun }()
	b.byKey("GET", "/api/v1/campaigns/cmp_1/series", "").is(200, "")
}

func TestABreakdownTellsCausesNumbersAndTheTimeToTheFirstSound(t *testing.T) {
	b := newBench(t)
	b.ports.onBreakdown = func(id engine.CampaignID, run int) (campaign.Breakdown, error) {
		if id != "cmp_1" || run != 2 {
			t.Errorf("asked for run %d of %s", run, id)
		}
		heard := make([]int, len(campaign.FirstAudioBounds)+1)
		heard[1], heard[len(heard)-1] = 7, 1
		return campaign.Breakdown{Run: 2, Dials: 40, FirstAudio: heard,
			Causes: []campaign.DialCause{{Code: 486, Reason: "Busy Here", Outcome: engine.OutcomeBusy, Count: 10}},
			Numbers: []campaign.NumberDials{{Number: "+493023125000", Dials: 30, Decided: 20, Answered: 10},
				{Number: "+493023125009"}}}, nil
	}
	a := b.byKey("GET", "/api/v1/campaigns/cmp_1/breakdown?run=2", "").is(200, "")
	cause := a.get("sip_causes").([]any)[0].(map[string]any)
	if cause["sip_code"] != 486.0 || cause["sip_reason"] != "Busy Here" || cause["outcome"] != "busy" ||
		cause["count"] != 10.0 || cause["share"] != 0.25 {
		t.Errorf("cause %v", cause)
	}
	numbers := a.get("numbers").([]any)
	first, second := numbers[0].(map[string]any), numbers[1].(map[string]any)
	if first["answer_rate"] != 0.5 || first["decided"] != 20.0 || first["state"] != "resting" || first["strikes"] != 2.0 ||
		second["answer_rate"] != nil || second["state"] != "active" {
		t.Errorf("numbers %v", numbers)
	}
	heard := a.get("first_audio").([]any)
	if v := heard[1].(map[string]any); v["up_to_ms"] != 200.0 || v["count"] != 7.0 {
		t.Errorf("first audio %v", heard)
	}
	if v := heard[len(heard)-1].(map[string]any); v["up_to_ms"] != nil || v["count"] != 1.0 {
		t.Errorf("first audio %v", heard)
	}
	b.byKey("GET", "/api/v1/campaigns/cmp_1/breakdown?points=2", "").is(422, "validation_failed", "points unknown_field")
}

// Capacity matches the live figures of the same moment.
func TestTheCapacityOfACampaignIsThatOfItsLiveFigures(t *testing.T) {
	d := detail("cmp_1", campaign.Settings{Name: "n", Bot: "bot_1", Concurrency: 8}, campaign.Running)
	d.Live.Constraint = engine.ConstraintSeats
	d.Live.Resources = []campaign.Resource{{Resource: "seats", Used: 4, Of: 6, Binding: true, Out: map[string]int{}}}
	b := newBench(t)
	b.ports.onDetail = func(context.Context, engine.CampaignID) (campaign.Detail, error) { return d, nil }
	capacity := b.byKey("GET", "/api/v1/campaigns/cmp_1/capacity", "").is(200, "")
	live := b.byKey("GET", "/api/v1/campaigns/cmp_1", "").is(200, "").get("live").(map[string]any)
	for _, name := range []string{"at", "constraint", "resources"} {
		if !reflect.DeepEqual(capacity.get(name), live[name]) {
			t.Errorf("%s: %v, live %v", name, capacity.get(name), live[name])
		}
	}
	b.ports.onList = func(context.Context, campaign.Page) ([]campaign.Detail, int, error) {
		return []campaign.Detail{d}, 1, nil
	}
	campaigns := b.byAdmin("GET", "/api/v1/campaigns", "").is(200, "").get("campaigns").([]any)
	listed := campaigns[0].(map[string]any)["live"].(map[string]any)
	if len(listed["resources"].([]any)) != 0 || listed["constraint"] != "seats" {
		t.Errorf("listed: %v", listed)
	}
	d.Live = nil
	if got := b.byKey("GET", "/api/v1/campaigns/cmp_1/capacity", "").is(200, "").get("resources"); len(got.([]any)) != 0 {
		t.Errorf("%v", got)
	}
}
