package http

import (
	"testing"

	"dialler/engine/besthour"
)

func TestWhatTheBestHourGainsIsShownWithItsInterval(t *testing.T) {
	b := newBench(t)
	simulated(b)
	const path = "/api/v1/campaigns/cmp_1/best-hour"
	none := b.byKey("GET", path, "").is(200, "")
	if want := `{"best_hour":false,"with":{"dials":0,"answers":0},"control":{"dials":0,"answers":0},"difference":null,` +
		`"through":null,"countries":[]}`; string(none.body) != want {
		t.Errorf("%s", none.body)
	}
	b.ports.withHour, b.ports.controlHour = besthour.Cell{Dials: 70, Answers: 56}, besthour.Cell{Dials: 80, Answers: 48}
	b.ports.hours.Through = testAt
	for i, region := range []string{"AT", "BE", "CH", "DE", "DK", "ES", "FR", "GB", "IT", "NL", "PL"} {
		b.ports.hours.Add(region, 33, besthour.Cell{Dials: uint32(i + 1), Answers: 1})
	}
	a := b.byKey("GET", path, "").is(200, "")
	difference := a.get("difference").(map[string]any)
	if difference["points"] != 20.0 || difference["low"] != 5.24 || difference["high"] != 33.39 ||
		difference["clear"] != true {
		t.Errorf("%v", difference)
	}
	countries := a.get("countries").([]any)
	first := countries[0].(map[string]any)
	hours, chances := first["hour_dials"].([]any), first["hour_chances"].([]any)
	if len(countries) != 10 || first["region"] != "PL" || first["dials"] != 11.0 || len(hours) != 168 ||
		hours[33] != 11.0 || len(chances) != 168 ||
		chances[33].(float64) >= chances[32].(float64) || chances[32] != first["chance"] {
		t.Errorf("%d countries, the first %v", len(countries), first)
	}
	b.byKey("GET", "/api/v1/campaigns/cmp_9/best-hour", "").is(404, "campaign_not_found")
}
