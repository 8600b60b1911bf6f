package http

import (
	"encoding/json"
	"strings"
	"testing"

	"dialler/engine"
	"dialler/engine/holidays"
)

const (
	calendarsPath = "/api/v1/calendars"
	germany       = calendarsPath + "/germany"
	someHours     = `"hours":{"Mon":["13:00-17:00","09:00-12:00"],"Fri":["22:00-02:00"]}`
)

func inJSON(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func TestCalendarsAreCreatedEditedByVersionAndDeletedUnlessUsed(t *testing.T) {
	b := newBench(t)
	a := b.byAdmin("PUT", germany, `{"name":"Germany","zone":"Europe/Berlin",`+someHours+`,"holiday_sets":["DE"],
		"exceptions":[{"date":"2030-12-31","hours":[]},{"date":"2030-12-24","hours":["09:00-12:00"]}]}`)
	a.is(201, "")
	for _, want := range []string{`"hours":{"Fri":["22:00-02:00"],"Mon":["09:00-12:00","13:00-17:00"]}`,
		`"holiday_sets":["DE"]`, `"holidays_url":null,"holidays_file":null`, `"countries":[],"version":1`,
		`"exceptions":[{"date":"2030-12-24","hours":["09:00-12:00"]},{"date":"2030-12-31","hours":[]}]`} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("%s is missing in %s", want, a.body)
		}
	}
	b.byAdmin("PUT", germany, `{"name":"Again"}`).is(409, "version_conflict")
	b.byAdmin("PUT", germany, `{"name":"Edited","version":1}`).is(200, "")
	a = b.byAdmin("PUT", germany, `{"name":"Late"}`, "If-Match", `"1"`).is(409, "version_conflict")
	if text := string(a.body); !strings.Contains(text,
		`"current":{"calendar_id":"germany","name":"Edited","zone":null,"hours":null`) {
		t.Errorf("%s", text)
	}
	b.byAdmin("PUT", calendarsPath+"/none", `{"name":"x","version":4}`).is(404, "calendar_not_found")
	if a = b.byAdmin("GET", calendarsPath, "").is(200, ""); a.get("total") != 1.0 {
		t.Errorf("%s", a.body)
	}
	b.byAdmin("POST", "/api/v1/campaigns", campaignWith(`"calendar_ids":["germany"]`)).is(201, "")
	b.byAdmin("DELETE", germany, "").is(409, "calendar_in_use")
	b.ports.creates = nil
	b.byAdmin("DELETE", germany, "").is(204, "")
	b.byAdmin("DELETE", germany, "").is(404, "calendar_not_found")
	b.byAdmin("GET", germany, "").is(404, "calendar_not_found")
}

func TestACalendarsMistakesNameTheFieldAndAValidExample(t *testing.T) {
	b := newBench(t)
	bad := `{"zone":"Berlin","hours":{"Mon":["9-17"],"Monday":[]},"holiday_sets":["XX"],"countries":["Germany"],
		"exceptions":[{"date":"2030-02-30","hours":["09:00-12:00"]},7],"preset":"none"}`
	a := b.byAdmin("PUT", germany, bad).is(422, "validation_failed", "preset unknown_value", "name required",
		"hours.Mon[0] invalid_format", "hours.Monday unknown_field", "exceptions[0].date invalid_date",
		"exceptions[1] wrong_type",
		"holiday_sets[0] unknown_value", "countries[0] unknown_value", "zone unknown_zone")
	for _, example := range []string{"for example 09:00-18:00", "for example DE or DE-BY", "for example Europe/Berlin",
		"for example 2030-12-24"} {
		if !strings.Contains(string(a.body), example) {
			t.Errorf("%q is missing in %s", example, a.body)
		}
	}
	b.byAdmin("PUT", germany, `{"name":"x","hours":{"Mon":["09:00-12:00","11:00-13:00"]}}`).is(422, "validation_failed",
		"hours.Mon overlapping")
	b.byAdmin("PUT", germany, `{"name":"x","holidays_file":"<html>"}`).is(422, "validation_failed",
		"holidays_file invalid_format")
	b.byAdmin("PUT", germany, `{"name":"x","holidays_url":"ftp://x"}`).is(422, "validation_failed",
		"holidays_url invalid_format")
	b.byAdmin("PUT", germany, `{"name":"x","holidays_url":"https://x.example"}`).is(422, "validation_failed",
		"holidays_url unreachable")
	b.byAdmin("PUT", germany, `{"name":"x","holidays_url":"https://x.example","holidays_file":"x"}`).is(422,
		"validation_failed", "holidays_file conflict")
	b.byAdmin("POST", "/api/v1/campaigns", campaignWith(`"calendar_ids":["none"]`)).is(422, "validation_failed",
		"calendar_ids[0] unknown_value")
	b.byAdmin("PUT", germany, `{"name":"x","hours":{}}`).is(422, "validation_failed", "hours never_opens")
	b.byAdmin("PUT", germany, `{"name":"x"}`).is(201, "")
	b.byAdmin("POST", "/api/v1/campaigns", campaignWith(`"calendar_ids":["germany","germany"]`)).is(422,
		"validation_failed", "calendar_ids[1] duplicate")
}

func TestACalendarHasAFileOfHolidaysByUploadOrURL(t *testing.T) {
	b := newBench(t)
	a := b.byAdmin("PUT", germany, `{"name":"x","holidays_file":`+inJSON(holidays.Example)+`}`).is(201, "")
	if !strings.Contains(string(a.body), `"holidays_file":{"days":`) {
		t.Errorf("%s", a.body)
	}
	a = b.byAdmin("PUT", germany, `{"name":"y","version":1}`).is(200, "") // the file stays
	if !strings.Contains(string(a.body), `"holidays_file":{"days":`) {
		t.Errorf("%s", a.body)
	}
	a = b.byAdmin("PUT", germany, `{"name":"y","version":2,"holidays_file":null}`).is(200, "")
	if !strings.Contains(string(a.body), `"holidays_file":null`) {
		t.Errorf("%s", a.body)
	}
	b.ports.holidays = holidays.Example
	b.byAdmin("PUT", germany, `{"name":"y","version":3,"holidays_url":"https://x.example/a.ics"}`).is(200, "")
	b.ports.holidays = "<html>"
	b.byAdmin("PUT", germany, `{"name":"z","version":4,"holidays_url":"https://x.example/a.ics"}`).is(200,
		"") // not asked again
	b.byAdmin("PUT", germany, `{"name":"z","version":5,"holidays_url":"https://x.example/b.ics"}`).is(422,
		"validation_failed",
		"holidays_url invalid_format")
}

// Addresses of private calendars are secrets.
func TestAViewerSeesOfAFilesAddressOnlyItsServer(t *testing.T) {
	b := newBench(t)
	b.ports.holidays = holidays.Example
	b.byAdmin("PUT", germany, `{"name":"x","holidays_url":"https://x.example/secret/a.ics?key=secret"}`).is(201, "")
	for user, want := range map[engine.UserID]string{"usr_view": `"holidays_url":"https://x.example/***"`,
		"usr_oper": "https://x.example/secret/a.ics?key=secret"} {
		for _, path := range []string{calendarsPath, germany} {
			a := b.do("GET", path, "", "Authorization", "Bearer "+b.token(user)).is(200, "")
			if text := string(a.body); !strings.Contains(text, want) || user == "usr_view" && strings.Contains(text, "secret") {
				t.Errorf("%s sees at %s: %s", user, path, text)
			}
		}
	}
}

func TestHoursOfACountryAreAnAdministrators(t *testing.T) {
	b := newBench(t)
	operator := func(method, path, body string) answer {
		t.Helper()
		return b.do(method, path, body, "Authorization", "Bearer "+b.token("usr_oper"))
	}
	operator("PUT", germany, `{"preset":"de-code-of-conduct"}`).is(403, "role_too_low")
	a := b.byAdmin("PUT", germany, `{"preset":"de-code-of-conduct"}`).is(201, "")
	if !strings.Contains(string(a.body), `"countries":["DE"]`) || a.get("name") != "Germany, code of conduct" {
		t.Errorf("%s", a.body)
	}
	operator("PUT", germany, `{"name":"looser","version":1}`).is(403, "role_too_low")
	operator("DELETE", germany, "").is(403, "role_too_low")
	operator("PUT", calendarsPath+"/mine", `{"name":"mine"}`).is(201, "")
	operator("PUT", calendarsPath+"/mine", `{"name":"mine","version":1,"countries":["DE"]}`).is(403, "role_too_low")
	if a = b.byAdmin("GET", calendarsPath+"/choices", "").is(200, ""); !strings.Contains(string(a.body),
		`"since":"2023-03-01"`) {
		t.Errorf("%s", a.body)
	}
}

func TestTheWindowsOfACampaignAndOfACalendarAreListed(t *testing.T) {
	b := newBench(t)
	b.byAdmin("PUT", germany, `{"name":"Germany",`+someHours+`,"holiday_sets":["DE"]}`).is(201, "")
	a := b.byAdmin("GET", germany+"/windows?zone=Europe/Berlin&from=2030-12-20T00:00:00Z&to=2030-12-31T00:00:00Z",
		"").is(200, "")
	for _, want := range []string{`"zone":"Europe/Berlin"`,
		`{"from":"2030-12-20T22:00:00+01:00","to":"2030-12-21T02:00:00+01:00"}`,
		`{"date":"2030-12-25","calendar":"Germany","holiday":"Weihnachtstag","hours":[]}`} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("%s is missing in %s", want, a.body)
		}
	}
	a = b.byAdmin("GET", campaignPath+"/windows", "").is(200, "")
	if list, _ := a.get("openings").([]any); len(list) == 0 {
		t.Errorf("%s", a.body)
	}
	b.byAdmin("GET", campaignPath+"/windows?from=x", "").is(422, "validation_failed", "from invalid_format")
	b.byAdmin("GET", campaignPath+"/windows?from=2030-01-01T00:00:00Z&to=2031-01-01T00:00:00Z", "").is(422,
		"validation_failed", "to out_of_range")
	b.byAdmin("GET", campaignPath+"/windows?phone=12", "").is(422, "validation_failed", "phone invalid_format")
	b.byAdmin("GET", campaignPath+"/windows?x=1", "").is(422, "validation_failed", "x unknown_field")
	b.byAdmin("GET", germany+"/windows?zone=Berlin", "").is(422, "validation_failed", "zone unknown_zone")
	b.byAdmin("GET", calendarsPath+"/none/windows", "").is(404, "calendar_not_found")
}

func TestEverybodySeesHowManyCalendarsAreStaleAndUsersWhich(t *testing.T) {
	b := newBench(t)
	b.ports.checks = []Check{{Name: "calendars", OK: true, Warning: HolidaysStale, Detail: "stale: 1",
		Known: "stale: Office"}}
	if a := b.do("GET", "/readyz", "").is(200, ""); !strings.Contains(string(a.body), "stale: 1") {
		t.Errorf("%s", a.body)
	}
	if a := b.byAdmin("GET", "/api/v1/health", "").is(200, ""); !strings.Contains(string(a.body), "stale: Office") {
		t.Errorf("%s", a.body)
	}
}
