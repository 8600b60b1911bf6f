package http

import (
	"strings"
	"testing"

	"dialler/engine"
	"dialler/engine/campaign"
)

const campaignPath = "/api/v1/campaigns/cmp_1"

func TestAnEditIsAMergePatchOfTheSettings(t *testing.T) {
	b := newBench(t)
	b.byAdmin("PATCH", campaignPath,
		`{"version":7,"concurrency":9,"window":{"end":"20:00","days":["Sat"]},"abandon_cap_pct":2.5}`).is(200, "")
	got := b.ports.acts[0]
	s := got.Settings
	if got.Action != campaign.ActionEdit || got.Version != 7 || got.Who.User != "usr_admin" || got.Who.From == "" {
		t.Errorf("command %+v", got)
	}
	if s.Concurrency != 9 || s.AbandonCapPPM != 25_000 || s.Window.End.String() != "20:00" || len(s.Window.Days) != 1 {
		t.Errorf("patched %+v", s)
	}
	was := detail("cmp_1", campaign.Settings{Name: "n", Bot: "bot_1", Concurrency: 2}, campaign.Running).Campaign.Settings
	s.Concurrency, s.AbandonCapPPM, s.Window.End, s.Window.Days =
		was.Concurrency, was.AbandonCapPPM, was.Window.End, was.Window.Days
	if left := campaign.Changes(&was, s); len(left) != 0 {
		t.Errorf("what was not sent changed: %s", left)
	}

	b.ports.onDetail = nil
	b.byAdmin("PATCH", campaignPath, `{"config_url":null}`, "If-Match", `"3"`, "Content-Type",
		"application/merge-patch+json").is(200, "")
	if got := b.ports.acts[1]; got.Version != 3 || got.Settings.ConfigURL != "" {
		t.Errorf("command %+v", got)
	}
	b.byAdmin("PATCH", campaignPath, `{"version":3}`, "If-Match", "3").is(200, "")
}

func TestAnEditNamesItsMistakes(t *testing.T) {
	b := newBench(t)
	f := func(body string, want ...string) {
		t.Helper()
		b.byAdmin("PATCH", campaignPath, body).is(422, "validation_failed", want...)
	}
	f(`{"concurrency":3}`, "version required")
	f(`{"version":"3"}`, "version wrong_type")
	f(`{"version":1,"concurrency":0,"window":{"zone":"Mars","days":[]},"number_pool":["0151"],"ring_timeout_s":1,
		"unknown":1,"gone":null}`,
		"concurrency out_of_range", "window.zone unknown_zone", "window.days empty", "number_pool[0] invalid_number",
		"ring_timeout_s out_of_range", "unknown unknown_field", "gone unknown_field")
	f(`{"version":1,"redial_only_under_s":20,"stop_redials_after_s":10}`, "redial_only_under_s exceeds_stop_redials_after")
	f(`{"version":1,"name":null,"bot_id":"","window":null}`, "name required", "bot_id required", "window required")
	f(`{"version":1,"window":7,"always_on":true,"single_day":true}`, "window wrong_type", "always_on requires_multi_day")
	b.byAdmin("PATCH", campaignPath, `{"version":4}`, "If-Match", `"3"`).is(422, "validation_failed", "version mismatch")
	b.byAdmin("PATCH", campaignPath, `{}`, "If-Match", `*`).is(422, "validation_failed", "If-Match invalid_format")
	b.byAdmin("PATCH", campaignPath, `[]`).is(422, "validation_failed")
	b.byAdmin("PATCH", campaignPath, `{"version":1}`, "Content-Type", "text/plain").is(415, "unsupported_media_type")
	b.byAdmin("PATCH", "/api/v1/campaigns/cmp_none", `{"version":1}`).is(404, "campaign_not_found")
	b.do("PATCH", campaignPath, `{"version":1}`, "Authorization", "Bearer "+b.token("usr_view")).is(403, "role_too_low")
	b.byKey("PATCH", campaignPath, `{"version":1}`).is(403, "scope_missing")
	if len(b.ports.acts) != 0 {
		t.Error("a command passed")
	}
}

func TestAVersionConflictShowsWhatHoldsNow(t *testing.T) {
	b := newBench(t)
	e := engine.Conflict("version_conflict", "Changed.")
	e.Current = detail("cmp_1", campaign.Settings{Name: "theirs"}, campaign.Draft).Campaign
	b.ports.fail = nil
	b.ports.actFail = e
	a := b.byAdmin("PATCH", campaignPath, `{"version":1}`).is(409, "version_conflict")
	now := a.get("current").(map[string]any)
	if now["version"] != 1.0 || now["settings"].(map[string]any)["name"] != "theirs" {
		t.Errorf("%s", a.body)
	}
	if strings.Contains(string(a.body), "Epoch") {
		t.Error("insides of the campaign leave")
	}
	b.ports.actFail = &engine.Error{Kind: engine.KindConflict, Code: "field_locked", Detail: "No.",
		Fields: []engine.FieldError{{Field: "name", Code: "locked", Message: "no"}}}
	b.byAdmin("PATCH", campaignPath, `{"version":1,"name":"x"}`).is(409, "field_locked", "name locked")
}

// FuzzEdit checks every response to an edit against the contract; an accepted edit is a command
// with a version and a valid form.
func FuzzEdit(f *testing.F) {
	b := newBench(f)
	for _, s := range []string{`{"version":7,"concurrency":9,"window":{"end":"20:00","days":["Sat"]}}`,
		`{"version":1,"window":null}`, `{"version":1,"a":{"b":{}}}`,
		`{"version":1,"retry_on_system":["busy"],"config_url":null}`, `{"version":1e3}`, `[]`, `{`, `null`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		b.t = t
		b.ports.acts = nil
		a := b.directly("PATCH", campaignPath, body, "Authorization", "Bearer "+b.admin)
		switch a.status {
		case 200:
			if got := b.ports.acts; len(got) != 1 || got[0].Settings == nil || got[0].Version < 1 {
				t.Fatalf("%q became %+v", body, got)
			}
		case 422:
			if len(b.ports.acts) != 0 {
				t.Fatalf("%q was refused and carried out", body)
			}
		default:
			t.Fatalf("%q: %d %s", body, a.status, a.body)
		}
	})
}
