package http

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/window"
	"dialler/http/wire"
)

const settingsJSON = `{"name":"Spring","bot_id":"bot_1","concurrency":5,
	"window":{"zone":"Europe/Berlin","start":"09:00","end":"18:30","days":["Mon","Tue"],"holidays":["2030-12-25"]},
	"number_pool":["+493023125000"]}`

func TestCreateACampaign(t *testing.T) {
	b := newBench(t)
	a := b.byAdmin("POST", "/api/v1/campaigns", settingsJSON).is(201, "")
	if a.header.Get("Location") != "/api/v1/campaigns/cmp_1" || a.get("status") != "draft" {
		t.Errorf("%s", a.body)
	}
	s := b.ports.creates[0].Settings
	if s.Concurrency != 5 || s.MaxAttempts != 3 || s.RetryDelaySec != 1800 || s.RingTimeoutSec != 30 ||
		s.AbandonCapPPM != 30_000 ||
		s.AMD != engine.AMDOff || !s.StickyExclusion || len(s.RetryOnSystem) == 0 || s.Numbers[0] != "+493023125000" {
		t.Errorf("settings %+v", s)
	}
	if s.Window.Start.String() != "09:00" || s.Window.End.String() != "18:30" || s.Window.Days[1] != window.Tue ||
		len(s.Window.Holidays) != 1 {
		t.Errorf("window %+v", s.Window)
	}
	if w := b.ports.creates[0].Who; w.User != "usr_admin" || w.Name != "admin@example.org" || w.From == "" {
		t.Errorf("who %+v", w)
	}

	b.byAdmin("POST", "/api/v1/campaigns",
		`{"name":"n","bot_id":"b","concurrency":1,"window":{"zone":"UTC","start":"00:00","end":"00:00"},
		"single_day":true,"max_attempts":7,"retry_delay_s":60,"retry_on_system":[],"retry_on_custom":["Call back"],
		"stop_redials_after_s":30,"redial_only_under_s":10,"ring_timeout_s":15,"call_limit_s":60,
		"result_timeout_s":5,"amd":"parallel","abandon_cap_pct":0,
		"pacing_mode":"progressive","max_lines":9,"callback_detection":true,"sticky_exclusion":false,"sticky_number":true,
		"local_match":true,"stop_ends_calls":true,"config_url":"https://example.org/c.json",
		"eligibility_url":"https://crm.example.org/may","eligibility_fail":"closed"}`).is(201, "")
	s = b.ports.creates[1].Settings
	if s.RetryOnSystem == nil || len(s.RetryOnSystem) != 0 || s.AbandonCapPPM != 0 || s.StickyExclusion ||
		s.MaxAttempts != 7 || !s.SingleDay ||
		s.EligibilityURL != "https://crm.example.org/may" || s.EligibilityFail != "closed" {
		t.Errorf("settings %+v", s)
	}
	b.byAdmin("POST", "/api/v1/campaigns", strings.Replace(settingsJSON, `"concurrency":5`,
		`"concurrency":5,"abandon_cap_pct":2.5`, 1)).is(201, "")
	if got := b.ports.creates[2].Settings.AbandonCapPPM; got != 25_000 {
		t.Errorf("abandon cap %d ppm", got)
	}
}

func TestCreateNamesEveryMistakeInOneAnswer(t *testing.T) {
	b := newBench(t)
	f := func(body string, want ...string) {
		t.Helper()
		b.byAdmin("POST", "/api/v1/campaigns", body).is(422, "validation_failed", want...)
	}
	f(`{}`, "name required", "bot_id required", "concurrency out_of_range", "window required")
	f(`{"name":"","bot_id":7,"concurrency":0,
		"window":{"zone":"Mars/Olympus","start":"9","end":"25:00","days":[],"holidays":["2030-02-30"],"x":1},
		"number_pool":["0151","+493023125000","+493023125000"],"max_attempts":0,"retry_delay_s":0,
		"retry_on_system":["busy","nonsense","abandoned"],
		"retry_on_custom":[" "],"ring_timeout_s":14,"call_limit_s":1,"result_timeout_s":0,"amd":"maybe","abandon_cap_pct":5.1,
		"pacing_mode":"fast","max_lines":-1,"single_day":true,"always_on":true,"config_url":"ftp://x",
		"eligibility_url":"x","eligibility_fail":"shut","stop_redials_after_s":-1,
		"redial_only_under_s":1.5,"unknown":true}`,
		"name required", "bot_id wrong_type", "concurrency out_of_range", "window.zone unknown_zone",
		"window.start invalid_time", "window.end invalid_time", "window.days empty", "window.holidays[0] invalid_date",
		"window.x unknown_field", "number_pool[0] invalid_number", "number_pool[2] duplicate", "max_attempts out_of_range",
		"retry_delay_s out_of_range", "retry_on_system[1] unknown_value", "retry_on_system[2] unknown_value",
		"retry_on_custom[0] invalid_format", "ring_timeout_s out_of_range", "call_limit_s out_of_range",
		"result_timeout_s out_of_range", "amd unknown_value", "abandon_cap_pct out_of_range", "pacing_mode unknown_value",
		"max_lines out_of_range", "always_on requires_multi_day", "config_url invalid_format",
		"eligibility_url invalid_format", "eligibility_fail unknown_value", "stop_redials_after_s out_of_range",
		"redial_only_under_s wrong_type", "unknown unknown_field")
	f(strings.Replace(settingsJSON, `"concurrency":5`,
		`"concurrency":5,"redial_only_under_s":20,"stop_redials_after_s":10`, 1),
		"redial_only_under_s exceeds_stop_redials_after")
	f(strings.Replace(settingsJSON, `"concurrency":5`, `"concurrency":5,"abandon_cap_pct":-0.00001`, 1),
		"abandon_cap_pct out_of_range")
	f(strings.Replace(settingsJSON, `"concurrency":5`, `"concurrency":5,"abandon_cap_pct":1e300`, 1),
		"abandon_cap_pct out_of_range")
	f(strings.Replace(settingsJSON, `"concurrency":5`, `"concurrency":5,"abandon_cap_pct":"3"`, 1),
		"abandon_cap_pct wrong_type")
	if len(b.ports.creates) != 0 {
		t.Error("a command passed")
	}
}

func TestLookAtCampaigns(t *testing.T) {
	b := newBench(t)
	a := b.byAdmin("GET", "/api/v1/campaigns/cmp_1", "").is(200, "")
	if a.get("status") != "running" || a.get("live") == nil || a.get("counters") == nil || a.get("settings") == nil {
		t.Errorf("%s", a.body)
	}
	b.byKey("GET", "/api/v1/campaigns/cmp_1", "").is(200, "")
	b.do("GET", "/api/v1/campaigns/cmp_1", "").is(401, "unauthorized")
	b.byAdmin("GET", "/api/v1/campaigns/cmp_none", "").is(404, "campaign_not_found")
	b.byAdmin("GET", "/api/v1/campaigns/a%20b", "").is(404, "campaign_not_found")

	b.byAdmin("GET", "/api/v1/campaigns?page=3&page_size=200&status=paused", "").is(200, "")
	if p := b.ports.pages[0]; p != (campaign.Page{Number: 3, Size: 200, Filter: "paused"}) {
		t.Errorf("page %+v", p)
	}
	b.byKey("GET", "/api/v1/campaigns", "").is(200, "")
	trigger := b.addKey(func(k *engine.APIKey) { k.Scopes = []string{"trigger"} })
	b.do("GET", "/api/v1/campaigns", "", "X-API-Key", trigger).is(403, "scope_missing")
	f := func(query string, want ...string) {
		t.Helper()
		b.byAdmin("GET", "/api/v1/campaigns?"+query, "").is(422, "validation_failed", want...)
	}
	f("page=0&page_size=201&status=x&foo=1", "page out_of_range", "page_size out_of_range", "status unknown_value",
		"foo unknown_field")
	f("page=x&page_size=-1", "page out_of_range", "page_size out_of_range")
}

func TestLifecycleCommands(t *testing.T) {
	b := newBench(t)
	for i, a := range actions {
		b.do("POST", "/api/v1/campaigns/cmp_1/"+a.name, "", "Authorization", "Bearer "+b.token("usr_oper")).is(200, "")
		if got := b.ports.acts[i]; got.Action != a.action || got.Campaign != "cmp_1" || got.Who.User != "usr_oper" {
			t.Errorf("command %+v", got)
		}
	}
	b.byAdmin("POST", "/api/v1/campaigns/cmp_1/start", `{}`).is(200, "")
	b.byAdmin("POST", "/api/v1/campaigns/cmp_1/start", `{"force":true}`).is(422, "validation_failed",
		"force unknown_field")
	b.byAdmin("POST", "/api/v1/campaigns/cmp_1/start", `{"only_unreached":true}`).is(422, "validation_failed",
		"only_unreached unknown_field")
	b.byAdmin("POST", "/api/v1/campaigns/cmp_1/restart", `{"only_unreached":1}`).is(422, "validation_failed",
		"only_unreached wrong_type")
	b.byAdmin("POST", "/api/v1/campaigns/cmp_1/restart", `{"only_unreached":true}`).is(200, "")
	if got := b.ports.acts[len(b.ports.acts)-1]; got.Action != campaign.ActionRestart || !got.Unreached {
		t.Errorf("command %+v", got)
	}
	b.byAdmin("POST", "/api/v1/campaigns/cmp_1/explode", "").is(404, "route_not_found")
	b.do("POST", "/api/v1/campaigns/cmp_1/start", "", "Authorization", "Bearer "+b.token("usr_view")).is(403,
		"role_too_low")
	b.byKey("POST", "/api/v1/campaigns/cmp_1/start", "").is(403, "scope_missing")
	b.ports.fail = &engine.Error{Kind: engine.KindConflict, Code: "preflight_failed", Detail: "No.",
		Fields: []engine.FieldError{{Field: "number_pool", Code: "no_usable_number", Message: "no usable number"}}}
	b.byAdmin("POST", "/api/v1/campaigns/cmp_1/start", "").is(409, "preflight_failed", "number_pool no_usable_number")
	b.ports.fail = &engine.Error{Kind: engine.KindConflict, Code: "version_conflict", Detail: "Changed.",
		Current: map[string]any{"version": 7}}
	if a := b.byAdmin("POST", "/api/v1/campaigns/cmp_1/start", "").is(409, "version_conflict"); a.get("current") == nil {
		t.Errorf("%s", a.body)
	}
}

func TestPreflightIsAskedWithoutStarting(t *testing.T) {
	b := newBench(t)
	a := b.byAdmin("GET", "/api/v1/campaigns/cmp_1/preflight", "").is(200, "")
	if a.get("ready") != false || a.get("estimate") == nil || len(a.get("blockers").([]any)) != 1 ||
		a.get("contacts").(map[string]any)["to_dial"] != 2.0 {
		t.Errorf("%s", a.body)
	}
	b.byKey("GET", "/api/v1/campaigns/cmp_1/preflight", "").is(200, "")
	b.byAdmin("GET", "/api/v1/campaigns/cmp_none/preflight", "").is(404, "campaign_not_found")
	b.do("GET", "/api/v1/campaigns/cmp_1/preflight", "").is(401, "unauthorized")
	if len(b.ports.acts) != 0 {
		t.Error("a command was given")
	}
}

func TestDeleteACampaign(t *testing.T) {
	b := newBench(t)
	if a := b.byAdmin("DELETE", "/api/v1/campaigns/cmp_1", "").is(204, ""); len(a.body) != 0 {
		t.Errorf("body %s", a.body)
	}
	if b.ports.acts[0].Action != campaign.ActionDelete {
		t.Errorf("command %+v", b.ports.acts[0])
	}
	b.ports.fail = engine.Conflict("already_run", "It has run.")
	b.byAdmin("DELETE", "/api/v1/campaigns/cmp_1", "").is(409, "already_run")
}

func TestAContactSaysWhyItIsNotDialledNow(t *testing.T) {
	b := newBench(t)
	for _, a := range []answer{b.byAdmin("GET", "/api/v1/campaigns/cmp_1/contacts/c1", ""),
		b.byKey("GET", "/api/v1/campaigns/cmp_1/contacts/c1", "")} {
		e, _ := a.is(200, "").get("explain").(map[string]any)
		if e["code"] != "outside_window" || e["message"] == "" || e["next_at"] == nil || e["ahead"] != 3.0 ||
			a.get("contact_id") != "c1" {
			t.Errorf("%s", a.body)
		}
	}
	b.byAdmin("GET", "/api/v1/campaigns/cmp_1/contacts/c2", "").is(404, "contact_not_found")
	b.do("GET", "/api/v1/campaigns/cmp_1/contacts/c1", "").is(401, "unauthorized")
}

func TestContactsAreFoundByNumberAndByCallback(t *testing.T) {
	b := newBench(t)
	b.byAdmin("GET", "/api/v1/campaigns/cmp_1/contacts?number=%2B4915112345678&callback=pending&status=connected",
		"").is(200, "")
	if got := b.ports.pages[0]; got.Phone != "+4915112345678" || got.Callback != contact.CallbackPending ||
		got.Filter != "connected" {
		t.Errorf("page %+v", got)
	}
	b.byAdmin("GET", "/api/v1/campaigns/cmp_1/contacts?number=0151&callback=soon&page=0", "").is(422, "validation_failed",
		"number invalid_number", "callback unknown_value", "page out_of_range")
}

func TestContactsAreAddedAllOrNone(t *testing.T) {
	b := newBench(t)
	a := b.byAdmin("POST", "/api/v1/campaigns/cmp_1/contacts", `{"contacts":[{"mobile":"`+mobile+
		`","metadata":{"a":1}},{"mobile":"+4915112345679"}]}`).is(200, "")
	if a.get("added") != 2.0 {
		t.Errorf("%s", a.body)
	}
	got := b.ports.adds[0]
	if got.Source != "api" || got.Campaign != "cmp_1" || len(got.Contacts) != 2 || got.Contacts[0].Variables["a"] != "1" ||
		got.Contacts[1].Number != "+4915112345679" {
		t.Errorf("command %+v", got)
	}
	f := func(body string, want ...string) {
		t.Helper()
		b.byAdmin("POST", "/api/v1/campaigns/cmp_1/contacts", body).is(422, "validation_failed", want...)
	}
	good := `{"mobile":"` + mobile + `"}`
	f(`{"contacts":[`+good+`,{},"x",{"mobile":"0151","extra":1},{"mobile":"`+mobile+`","metadata":{"a":1,"a":2}}]}`,
		"contacts[1].mobile required", "contacts[2] wrong_type", "contacts[3].mobile invalid_number",
		"contacts[3].extra unknown_field", "contacts[4].metadata.a duplicate_field")
	f(`{}`, "contacts required")
	f(`{"contacts":[]}`, "contacts required")
	f(`{"contacts":{}}`, "contacts wrong_type")
	f(`{"contacts":[`+strings.Repeat(good+",", 1000)+good+`]}`, "contacts too_long")
	if len(b.ports.adds) != 1 {
		t.Error("something was written")
	}
	b.ports.fail = engine.Conflict("contacts_locked", "It has run.")
	b.byAdmin("POST", "/api/v1/campaigns/cmp_1/contacts", `{"contacts":[`+good+`]}`).is(409, "contacts_locked")
}

// Lists have their own size limit, for clients with credentials.
func TestListsOfContactsMayHave20MiB(t *testing.T) {
	b := newBench(t)
	var rows strings.Builder
	for i := range 1000 {
		if i > 0 {
			rows.WriteByte(',')
		}
		fmt.Fprintf(&rows, `{"mobile":"+49151123%05d","metadata":{"note":%q}}`, i, strings.Repeat("x", 15_000))
	}
	body := `{"contacts":[` + rows.String() + `]}`
	b.byAdmin("POST", "/api/v1/campaigns/cmp_1/contacts", body).is(200, "")
	if n := len(b.ports.adds[0].Contacts); n != 1000 {
		t.Errorf("%d contacts", n)
	}
	b.do("POST", "/api/v1/campaigns/cmp_1/contacts", strings.Repeat(" ", 1<<20)+"{}").is(413, "body_too_large")
	b.byAdmin("POST", "/api/v1/campaigns/cmp_1/contacts", strings.Repeat(" ", 20<<20)+"{}").is(413, "body_too_large")
}

// A live attempt counts among the attempts, because its INVITE has left.
func TestContactsComeWithTheirAttemptTrail(t *testing.T) {
	b := newBench(t)
	a := b.byAdmin("GET", "/api/v1/campaigns/cmp_1/contacts", "").is(200, "")
	if p := b.ports.pages[0]; p != (campaign.Page{Number: 1, Size: 50}) {
		t.Errorf("page %+v", p)
	}
	c := a.get("contacts").([]any)[0].(map[string]any)
	trail := c["attempt_trail"].([]any)
	old, live := trail[0].(map[string]any), trail[1].(map[string]any)
	// spec: "The raw SIP error code is displayed when the failure is not one of
	// the mapped friendly reasons."
	if old["sip_code"] != 499.0 || old["sip_reason"] != "Strange" || old["short_id"] != "abababab" ||
		old["ended_at"] == nil {
		t.Errorf("old %v", old)
	}
	if live["ended_at"] != nil || live["state"] != "connected" || c["live_state"] != "connected" {
		t.Errorf("live %v", live)
	}
	if c["phone_number"] != mobile || c["attempts"] != 2.0 || c["max_attempts"] != 3.0 || c["last_result"] != "busy" ||
		c["callback"] == nil {
		t.Errorf("contact %v", c)
	}
	// It is no attempt of the contact: what lives above is the other one.
	back := c["calls_back"].([]any)[0].(map[string]any)
	if back["direction"] != "inbound" || back["returns_call_id"] != string(theCall) || back["started_at"] == nil {
		t.Errorf("call back %v", back)
	}
	b.byAdmin("GET", "/api/v1/campaigns/cmp_1/contacts?status=machine_detected&page=2&page_size=10", "").is(200, "")
	if p := b.ports.pages[1]; p != (campaign.Page{Number: 2, Size: 10, Filter: "machine_detected"}) {
		t.Errorf("page %+v", p)
	}
	b.byAdmin("GET", "/api/v1/campaigns/cmp_1/contacts?status=gone", "").is(422, "validation_failed",
		"status unknown_value")
	b.byKey("GET", "/api/v1/campaigns/cmp_1/contacts", "").is(200, "")
}

func TestACloneIsANewDraftAndSaysWhereItIs(t *testing.T) {
	b := newBench(t)
	path := campaignPath + "/clone"
	a := b.byAdmin("POST", path, "").is(201, "")
	if a.header.Get("Location") != "/api/v1/campaigns/cmp_2" || a.get("status") != "draft" {
		t.Errorf("%s", a.body)
	}
	b.byAdmin("POST", path, `{"name":"Autumn"}`).is(201, "")
	if c := b.ports.clones; c[0].Campaign != "cmp_1" || c[0].Name != "" || c[0].Who.User != "usr_admin" ||
		c[1].Name != "Autumn" {
		t.Errorf("commands %+v", c)
	}
	b.byAdmin("POST", path, `{"name":" ","x":1}`).is(422, "validation_failed", "name required", "x unknown_field")
	b.byAdmin("POST", path, `{"name":"`+strings.Repeat("x", 201)+`"}`).is(422, "validation_failed", "name too_long")
	b.do("POST", path, "", "Authorization", "Bearer "+b.token("usr_view")).is(403, "role_too_low")
	b.ports.fail = wire.ErrNoCampaign
	b.byAdmin("POST", path, "").is(404, "campaign_not_found")
}

// With TLS the last thing that a client sends is a record that nothing reads.
func TestACloneEndsWhenItsClientGoes(t *testing.T) {
	for _, secure := range []bool{false, true} {
		b := newBench(t)
		begun, ended := make(chan struct{}), make(chan error, 1)
		b.ports.onClone = func(ctx context.Context) {
			close(begun)
			select {
			case <-ctx.Done():
				ended <- ctx.Err()
			case <-time.After(testTimeout):
				ended <- errors.New("it goes on")
			}
		}
		c := b.connect()
		if secure {
			c = b.connectTLS()
		}
		// Data after the request does not prove that the client still waits.
		if _, err := fmt.Fprintf(c, "POST %s/clone HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: "+
			"0\r\n\r\nGET ", campaignPath, b.admin); err != nil {
			t.Fatal(err)
		}
		<-begun
		_ = c.Close()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("TLS %v: the clone of a client that has gone: %v", secure, err)
		}
	}
}

func TestAPreparedRestartNamesItsRunWhoAndWhen(t *testing.T) {
	b := newBench(t)
	if a := b.byAdmin("GET", campaignPath, "").is(200, ""); a.get("prepared") != nil {
		t.Errorf("%s", a.body)
	}
	b.ports.onDetail = func(_ context.Context, id engine.CampaignID) (campaign.Detail, error) {
		d := detail(id, campaign.Settings{Name: "n"}, campaign.Draft)
		c, at := &d.Campaign, testAt
		c.Run, c.Prepared, c.RestartedAt, c.RestartedBy = 3, true, &at, &engine.Who{Name: "oper@example.org"}
		c.Previous = &campaign.Previous{Unreached: true}
		return d, nil
	}
	a := b.byAdmin("GET", campaignPath, "").is(200, "")
	n := a.get("prepared").(map[string]any)
	if n["run"] != 3.0 || n["at"] == nil || n["by"].(map[string]any)["name"] != "oper@example.org" ||
		n["only_unreached"] != true {
		t.Errorf("%s", a.body)
	}
}

func TestTheHistoryOfRunsHasTheirCountersAndWhoDidWhat(t *testing.T) {
	b := newBench(t)
	path := campaignPath + "/runs"
	a := b.byAdmin("GET", path+"?page=2&page_size=5", "").is(200, "")
	if p := b.ports.pages[0]; p != (campaign.Page{Number: 2, Size: 5}) {
		t.Errorf("page %+v", p)
	}
	runs := a.get("runs").([]any)
	two, one := runs[0].(map[string]any), runs[1].(map[string]any)
	if two["run"] != 2.0 || two["status"] != "prepared" || two["only_unreached"] != true || two["started_at"] != nil ||
		a.get("total") != 2.0 {
		t.Errorf("%v", two)
	}
	if one["completion_reason"] != "manually_stopped" || one["ended_by"].(map[string]any)["name"] != "oper@example.org" ||
		one["counters"].(map[string]any)["total"] != 7.0 {
		t.Errorf("%v", one)
	}
	b.byKey("GET", path, "").is(200, "")
	b.byAdmin("GET", path+"?status=x", "").is(422, "validation_failed", "status unknown_field")
	b.byAdmin("GET", "/api/v1/campaigns/cmp_none/runs", "").is(404, "campaign_not_found")
}
