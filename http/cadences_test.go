package http

import (
	"strings"
	"testing"
)

const (
	cadencesPath = "/api/v1/cadences"
	evenings     = cadencesPath + "/evenings"
	previewPath  = cadencesPath + "/preview"
	someRules    = "busy: 5m, 15m, 1h · no_answer: 3h, another part of the day, next day · at most 2 a day"
	plainWindow  = `"window":{"zone":"Europe/Berlin","start":"09:00","end":"18:00"}`
)

func TestCadencesAreCreatedEditedByVersionAndDeletedUnlessUsed(t *testing.T) {
	b := newBench(t)
	a := b.byAdmin("PUT", evenings, `{"name":"Evenings too","rules":"Busy: 5m; no_answer: 3h, then the next day"}`)
	a.is(201, "")
	if a.get("rules") != "busy: 5m · no_answer: 3h, next day" || a.get("version") != 1.0 {
		t.Errorf("%s", a.body)
	}
	b.byAdmin("PUT", evenings, `{"name":"Again","rules":"busy: 5m"}`).is(409, "version_conflict")
	b.byAdmin("PUT", evenings, `{"name":"Edited","rules":"busy: 5m","version":1}`).is(200, "")
	a = b.byAdmin("PUT", evenings, `{"name":"Late","rules":"busy: 9m"}`, "If-Match", `"1"`).is(409, "version_conflict")
	if text := string(a.body); !strings.Contains(text, `"current":{"cadence_id":"evenings","name":"Edited",`) {
		t.Errorf("%s", text)
	}
	b.byAdmin("PUT", cadencesPath+"/none", `{"name":"x","rules":"busy: 5m","version":4}`).is(404, "cadence_not_found")
	if a = b.byAdmin("GET", evenings, "").is(200, ""); a.get("name") != "Edited" || a.get("version") != 2.0 {
		t.Errorf("%s", a.body)
	}
	if a = b.byAdmin("GET", cadencesPath, "").is(200, ""); a.get("total") != 1.0 {
		t.Errorf("%s", a.body)
	}
	b.byAdmin("POST", "/api/v1/campaigns", campaignWith(`"cadence_id":"evenings"`)).is(201, "")
	b.byAdmin("DELETE", evenings, "").is(409, "cadence_in_use")
	b.ports.creates = nil
	b.byAdmin("DELETE", evenings, "").is(204, "")
	b.byAdmin("DELETE", evenings, "").is(404, "cadence_not_found")
	b.byAdmin("GET", evenings, "").is(404, "cadence_not_found")
}

func TestACadencesMistakesNameTheFieldAndAValidExample(t *testing.T) {
	b := newBench(t)
	a := b.byAdmin("PUT", evenings, `{"rules":"busy: soon"}`)
	a.is(422, "validation_failed", "name required", "rules invalid_format")
	if !strings.Contains(string(a.body), "for example busy: 5m, 15m, 1h") {
		t.Errorf("%s", a.body)
	}
	b.byAdmin("PUT", evenings, `{"name":"x","rules":"busy: 1m","version":0}`).is(422, "validation_failed",
		"version required")
	b.byAdmin("PUT", cadencesPath+"/a%20b", `{"name":"x","rules":"busy: 1m"}`).is(422, "validation_failed",
		"cadence_id invalid_format")
	b.byAdmin("POST", "/api/v1/campaigns", campaignWith(`"cadence_id":"none"`)).is(422, "validation_failed",
		"cadence_id unknown_value")
	b.byAdmin("PUT", evenings, `{"name":"x","rules":"busy: 1m"}`).is(201, "")
	a = b.byAdmin("PATCH", campaignPath, `{"version":1,"cadence_id":"none"}`)
	if a.is(422, "validation_failed", "cadence_id unknown_value"); !strings.Contains(string(a.body), "example evenings") {
		t.Errorf("%s", a.body)
	}
	b.byAdmin("PATCH", campaignPath, `{"version":1,"cadence_id":"evenings"}`).is(200, "")
	b.byAdmin("PATCH", campaignPath, `{"version":1,"cadence_id":null}`).is(200, "")
	if acts := b.ports.acts; acts[0].Settings.Cadence != "evenings" || acts[1].Settings.Cadence != "" {
		t.Errorf("%q, then %q", acts[0].Settings.Cadence, acts[1].Settings.Cadence)
	}
}

func TestAPreviewSaysOnWhichDatesAContactWhoNeverAnswersIsDialled(t *testing.T) {
	b := newBench(t)
	a := b.byAdmin("POST", previewPath, `{"rules":"`+someRules+`",`+plainWindow+
		`,"max_attempts":4,"from":"2030-01-07T10:00:00+01:00"}`).is(200, "")
	for _, want := range []string{
		`{"attempt":1,"at":"2030-01-07T10:00:00+01:00","outcome":"no_answer","by":null}`,
		`{"attempt":2,"at":"2030-01-07T13:00:00+01:00","outcome":"no_answer","by":"no_answer: 3h"}`,
		`{"attempt":3,"at":"2030-01-08T09:00:00+01:00","outcome":"no_answer","by":"no_answer: another part of the day"}`,
		`{"attempt":4,"at":"2030-01-09T09:00:00+01:00","outcome":"no_answer","by":"no_answer: next day"}`,
		`"after":{"code":"attempts_exhausted"`,
	} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("%s lacks %s", a.body, want)
		}
	}
	a = b.byAdmin("POST", previewPath, `{"rules":"busy: 5m","campaign_id":"cmp_1","outcomes":["busy","rejected"],`+
		`"retry_on_system":["busy"],"phone":"+4915112345678"}`).is(200, "")
	if text := string(a.body); !strings.Contains(text, `"by":"busy: 5m"`) ||
		!strings.Contains(text, `"after":{"code":"outcome_not_retried"`) {
		t.Errorf("%s", text)
	}
	b.byAdmin("POST", previewPath, `{"rules":"busy: 5m"}`).is(422, "validation_failed", "window required")
	b.byAdmin("POST", previewPath, `{"rules":"","campaign_id":"cmp_none"}`).is(404, "campaign_not_found")
	b.byAdmin("POST", previewPath, `{"rules":"x","outcomes":["blocked"],"max_attempts":0,"from":"soon","more":1,`+
		plainWindow+`}`).is(422, "validation_failed", "rules invalid_format", "outcomes[0] unknown_value",
		"max_attempts out_of_range", "from invalid_format", "more unknown_field")
	if len(b.ports.cadences) != 0 {
		t.Error("a preview stores something")
	}
}

// campaignWith is a campaign with one more setting.
func campaignWith(setting string) string {
	return `{"name":"n","bot_id":"bot_1","concurrency":1,` + plainWindow + `,` + setting + `}`
}
