package http

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"dialler/engine"
)

func TestBotsAreUpsertedAndTheirTokenIsWriteOnly(t *testing.T) {
	b := newBench(t)
	a := b.byAdmin("GET", "/api/v1/bots", "").is(200, "")
	if strings.Contains(string(a.body), "bot-secret") {
		t.Error("the token is shown")
	}
	if text := string(a.body); !strings.Contains(text,
		`"status":{"health":"down","seats_held":3,"endpoints":[{"endpoint":`) ||
		!strings.Contains(text, `"health":"down","since":"2026-11-20T10:00:00Z",`+
			`"reason":"the bot answered HTTP 503","asked_again_at":"2026-11-20T10:00:00Z"`) {
		t.Errorf("how it stands: %s", text)
	}
	body := `{"name":"Bea","endpoints":["wss://bot.example.org/ws"],"seats":3,"required_variables":["name"]`
	a = b.byAdmin("PUT", "/api/v1/bots/bot_1", body+`}`).is(200, "")
	if !b.ports.keep || a.get("has_auth_token") != true || b.ports.bots[0].AuthToken != "bot-secret" {
		t.Errorf("%s", a.body)
	}
	a = b.byAdmin("PUT", "/api/v1/bots/bot_1", body+`,"auth_token":null}`).is(200, "")
	if b.ports.keep || a.get("has_auth_token") != false {
		t.Errorf("%s", a.body)
	}
	b.byAdmin("PUT", "/api/v1/bots/bot_new", body+`,"auth_token":"s","account":"`+theAccount+
		`","active":false,"id":"bot_new"}`).is(201, "")
	f := func(body string, want ...string) {
		t.Helper()
		b.byAdmin("PUT", "/api/v1/bots/bot_1", body).is(422, "validation_failed", want...)
	}
	f(`{}`, "name required")
	f(`{"name":"x"}`, "endpoints required")
	f(`{"name":"x","endpoints":["http://x","ws://",7],"seats":0,"account":"AC1","required_variables":[""],
		"id":"other","active":"y"}`,
		"endpoints[0] invalid_format", "endpoints[1] invalid_format", "endpoints[2] wrong_type", "seats out_of_range",
		"account invalid_format", "required_variables[0] invalid_format", "id mismatch", "active wrong_type")
	b.byAdmin("PUT", "/api/v1/bots/a%20b", body+`}`).is(422, "validation_failed", "bot_id invalid_format")
	b.do("PUT", "/api/v1/bots/bot_1", body+`}`, "Authorization", "Bearer "+b.token("usr_oper")).is(403, "role_too_low")
	b.do("GET", "/api/v1/bots", "", "Authorization", "Bearer "+b.token("usr_view")).is(200, "")
}

func TestTheHeadersOfABotAreNamedAndNeverShown(t *testing.T) {
	b := newBench(t)
	put := func(more string) answer {
		t.Helper()
		a := b.byAdmin("PUT", "/api/v1/bots/bot_1", `{"name":"Bea","endpoints":["wss://bot.example.org/ws"]`+more+`}`)
		if strings.Contains(string(a.body), "s3cret") {
			t.Errorf("a value is shown: %s", a.body)
		}
		return a
	}
	stored := func(want ...engine.HTTPHeader) {
		t.Helper()
		if got := b.ports.bots[0].Headers; len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("stored %+v, want %+v", got, want)
		}
	}
	auth, key := engine.HTTPHeader{Name: "Authorization", Value: "Bearer s3cret"}, engine.HTTPHeader{Name: "xi-api-key",
		Value: "s3cret"}
	a := put(`,"headers":[{"name":"Authorization","value":"Bearer s3cret"}],"health_url":"/up"`).is(200, "")
	stored(auth)
	if text := string(a.body); !strings.Contains(text, `"headers":[{"name":"Authorization"}]`) ||
		a.get("health_url") != "/up" || a.get("probe") != "connection" {
		t.Errorf("shown as %s", text)
	}
	// Left out, all stay; named without a value, one stays; null and an empty list remove them.
	a = put(`,"probe":"session"`).is(200, "")
	stored(auth)
	if a.get("health_url") != nil || a.get("probe") != "session" {
		t.Errorf("shown as %s", a.body)
	}
	put(`,"headers":[{"name":"xi-api-key","value":"s3cret"},{"name":"authorization"}]`).is(200, "")
	stored(key, engine.HTTPHeader{Name: "authorization", Value: auth.Value})
	// A bot that is now called by SIP keeps none, and may not be given any.
	sip := `{"name":"Bea","endpoints":["sip:bea@bot.example.org"]`
	b.byAdmin("PUT", "/api/v1/bots/bot_1", sip+`,"headers":[{"name":"X-A","value":"b"}]}`).
		is(422, "validation_failed", "headers not_for_sip")
	b.byAdmin("PUT", "/api/v1/bots/bot_1", sip+`}`).is(200, "")
	stored()
	put(`,"headers":[{"name":"Authorization","value":"Bearer s3cret"}]`).is(200, "")
	put(`,"headers":null`).is(200, "")
	stored()
	f := func(more string, want ...string) {
		t.Helper()
		put(more).is(422, "validation_failed", want...)
	}
	f(`,"headers":[{"name":"X-A"},7,{"name":"Host","value":"a","more":1}]`, "headers[1] wrong_type",
		"headers[2].more unknown_field", "headers[0].value invalid_format", "headers[1].name invalid_format",
		"headers[1].value invalid_format", "headers[2].name reserved_header")
	f(`,"headers":{},"health_url":"up","probe":"ping"`, "headers wrong_type", "health_url invalid_format",
		"probe unknown_value")
	f(`,"health_url":"/up","probe":"session"`, "probe mutually_exclusive")
}

func TestTrunksAreUpsertedAndTheirPasswordIsWriteOnly(t *testing.T) {
	b := newBench(t)
	a := b.byAdmin("GET", "/api/v1/trunks", "").is(200, "")
	if strings.Contains(string(a.body), "trunk-secret") {
		t.Error("the password is shown")
	}
	a = b.byAdmin("PUT", "/api/v1/trunks/t1", `{"host":"192.0.2.1","username":"u"}`).is(200, "")
	if !b.ports.keep || a.get("has_password") != true || a.get("port") != 5060.0 || a.get("cps_cap") != 10.0 {
		t.Errorf("%s", a.body)
	}
	a = b.byAdmin("PUT", "/api/v1/trunks/t1", `{"host":"[2001:db8::1]","password":""}`).is(200, "")
	if b.ports.keep || a.get("has_password") != false {
		t.Errorf("%s", a.body)
	}
	b.byAdmin("PUT", "/api/v1/trunks/t2",
		`{"host":"x","password":"p","transport":"tcp","number_format":"e164_no_plus"}`).is(201, "")
	b.byAdmin("PUT", "/api/v1/trunks/t2",
		`{"host":"a b","port":-1,"transport":"sctp","username":"a\r\nb","password":"\n","from_domain":"x/y",
		"number_format":"z","cps_cap":0,"channel_cap":0,"priority":-1,"weight":0,"options_s":1,"x":1}`).
		is(422, "validation_failed",
			"host invalid_format", "port out_of_range", "transport unknown_value", "username invalid_format",
			"password invalid_format", "from_domain invalid_format", "number_format unknown_value", "cps_cap out_of_range",
			"channel_cap out_of_range", "priority out_of_range", "weight out_of_range", "options_s out_of_range",
			"x unknown_field")
}

// wholeTrunk has every field of a trunk, none with its default.
const wholeTrunk = `{"host":"sip.example.net","port":5070,"transport":"tls","kind":"registered","username":"acme",
	"password":"geheim",
	"from_domain":"acme.example","from_user":"acme","caller_id_header":"p_preferred_identity","privacy":"id;critical",
	"number_format":"national","number_country":"DE","outbound_proxy":"proxy.example.net:5080","listener":"wan",
	"external_host":"203.0.113.9","tls_server_name":"sip.example.net","tls_roots":"-----BEGIN","tls_insecure":true,
	"tls_certificate":"-----BEGIN CERTIFICATE","tls_key":"-----BEGIN PRIVATE KEY","register_s":300,
	"user_agent":"acme/1","extra_headers":[{"name":"X-Account","value":"42"}],"redirects":3,
	"reliable_provisionals":"required","session_s":900,"inbound":"busy",
	"media":{"codecs":["G722","PCMA"],"srtp":"required","dtmf":"info","family":"ipv6"},"cps_cap":7,"channel_cap":70,
	"priority":2,	"weight":5,"options_s":60,"active":false}`

func TestEveryFieldOfATrunkIsSetAndShown(t *testing.T) {
	b := newBench(t)
	a := b.byAdmin("PUT", "/api/v1/trunks/whole", wholeTrunk).is(201, "")
	stored := b.ports.trunks[len(b.ports.trunks)-1]
	v := reflect.ValueOf(stored)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Active" && name != "Origin" {
			t.Errorf("%s is not taken from the request", name)
		}
	}
	var sent map[string]any
	if err := json.Unmarshal([]byte(wholeTrunk), &sent); err != nil {
		t.Fatal(err)
	}
	delete(sent, "password")
	delete(sent, "tls_key")
	for field, want := range sent {
		if got := a.get(field); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is answered as %v, sent was %v", field, got, want)
		}
	}
	if strings.Contains(string(a.body), "geheim") || a.get("has_password") != true || a.get("origin") != "api" ||
		strings.Contains(string(a.body), "PRIVATE") || a.get("has_tls_key") != true {
		t.Errorf("%s", a.body)
	}
	shown := b.byAdmin("GET", "/api/v1/trunks/whole", "").is(200, "")
	if string(shown.body) != string(a.body) {
		t.Errorf("shown as %s", shown.body)
	}
}

func TestTheKeyOfATrunkStaysWhileThereIsACertificate(t *testing.T) {
	b := newBench(t)
	b.byAdmin("PUT", "/api/v1/trunks/whole", wholeTrunk).is(201, "")
	f := func(fields, want string) {
		t.Helper()
		a := b.byAdmin("PUT", "/api/v1/trunks/whole", `{"host":"a.example"`+fields+`}`).is(200, "")
		stored := b.ports.trunks[len(b.ports.trunks)-1]
		if stored.TLSKey != want || a.get("has_tls_key") != (want != "") || strings.Contains(string(a.body), "PRIVATE") {
			t.Errorf("with %q: %q, %s", fields, stored.TLSKey, a.body)
		}
	}
	f(`,"tls_certificate":"-----BEGIN CERTIFICATE 2"`, "-----BEGIN PRIVATE KEY")
	f(`,"tls_certificate":"-----BEGIN CERTIFICATE 2","tls_key":"-----BEGIN PRIVATE KEY 2"`, "-----BEGIN PRIVATE KEY 2")
	f("", "")
	b.byAdmin("PUT", "/api/v1/trunks/whole", `{"host":"a.example","tls_certificate":"-----BEGIN CERTIFICATE"}`).
		is(422, "validation_failed", "tls_key required")
}

func TestATrunkIsShownAsItStands(t *testing.T) {
	b := newBench(t)
	a := b.do("GET", "/api/v1/trunks/t1", "", "Authorization", "Bearer "+b.token("usr_view")).is(200, "")
	status := a.get("status").(map[string]any)
	for field, want := range map[string]any{"health": "held", "reason": "200 OK", "checked_at": "2026-03-02T09:00:00Z",
		"registered_until": "2026-03-02T09:10:00Z",
		"calls_per_second": 5.0, "cps_share": 0.5, "placed_per_second": 2.5, "live_legs": 7.0,
		"retry_at": "2026-03-02T09:01:00Z"} {
		if status[field] != want {
			t.Errorf("%s: %v, want %v", field, status[field], want)
		}
	}
	list := b.byAdmin("GET", "/api/v1/trunks", "").is(200, "").get("trunks").([]any)
	if listed := list[0].(map[string]any); !reflect.DeepEqual(listed["status"], a.get("status")) {
		t.Errorf("listed as %v", listed)
	}
	b.byAdmin("GET", "/api/v1/trunks/nobody", "").is(404, "trunk_not_found")
}

func TestATrunkIsDeletedUnlessTheFileHasIt(t *testing.T) {
	b := newBench(t)
	b.do("DELETE", "/api/v1/trunks/t1", "", "Authorization", "Bearer "+b.token("usr_oper")).is(403, "role_too_low")
	b.byAdmin("DELETE", "/api/v1/trunks/t1", "").is(204, "")
	b.byAdmin("DELETE", "/api/v1/trunks/t1", "").is(404, "trunk_not_found")
	b.ports.trunks = []engine.TrunkSettings{{ID: "f1", Host: "192.0.2.1", Port: 5060, Transport: "udp",
		Kind: engine.TrunkByIP, NumberFormat: "e164", Origin: engine.TrunkOfFile}}
	b.byAdmin("DELETE", "/api/v1/trunks/f1", "").is(409, "trunk_of_file")
	if a := b.byAdmin("PUT", "/api/v1/trunks/f1", `{"host":"192.0.2.2"}`).is(200, ""); a.get("origin") != "file" {
		t.Errorf("%s", a.body)
	}
}

func TestWhatIsWrongWithATrunkIsSaidFieldByField(t *testing.T) {
	b := newBench(t)
	b.byAdmin("PUT", "/api/v1/trunks/t3",
		`{"host":"192.0.2.1","kind":"registered","from_user":"a@b","caller_id_header":"x","privacy":"x",
		"number_format":"national","outbound_proxy":"sip:x","listener":"a b","external_host":"a b",
		"tls_server_name":"a b","tls_insecure":1,"register_s":1,"user_agent":"a\nb",
		"extra_headers":[{"name":"Via","value":"x"},{"name":"X-A","value":"a\r\nb"},7,{"nome":"x"}],
		"redirects":6,"reliable_provisionals":"x","session_s":1,"inbound":"x",
		"media":{"codecs":["OPUS"],"srtp":"x","dtmf":"x","x":1}}`).is(422, "validation_failed",
		"username required", "from_user invalid_format", "caller_id_header unknown_value", "privacy unknown_value",
		"number_country required", "outbound_proxy invalid_format", "listener invalid_format", "external_host invalid_format",
		"tls_server_name invalid_format", "tls_insecure wrong_type", "register_s out_of_range", "user_agent invalid_format",
		"extra_headers[0].name reserved_header", "extra_headers[1].value invalid_format", "extra_headers[2] wrong_type",
		"extra_headers[3].nome unknown_field", "extra_headers[3].name required", "extra_headers[3].value required",
		"redirects out_of_range", "reliable_provisionals unknown_value",
		"session_s out_of_range", "inbound unknown_value", "media.codecs[0] unknown_value", "media.srtp unknown_value",
		"media.dtmf unknown_value", "media.x unknown_field")
	b.byAdmin("PUT", "/api/v1/trunks/a%20b", `{"host":"192.0.2.1"}`).is(422, "validation_failed",
		"trunk_id invalid_format")
}

func TestNumbersAreUpserted(t *testing.T) {
	b := newBench(t)
	list := b.byAdmin("GET", "/api/v1/numbers", "").is(200, "")
	if n := list.get("numbers").([]any)[0].(map[string]any); n["state"] != "resting" || n["strikes"] != 2.0 ||
		n["day_dials"] != 20.0 || n["answer_rate"] != 0.25 || n["in_use"] != 1.0 {
		t.Errorf("%s", list.body)
	}
	a := b.byAdmin("PUT", "/api/v1/numbers/%2B493023125001", `{"hour_cap":20,"state":"retired"}`).is(201, "")
	if a.get("number") != "+493023125001" || a.get("hour_cap") != 20.0 {
		t.Errorf("%s", a.body)
	}
	b.byAdmin("PUT", "/api/v1/numbers/+493023125001", `{"number":"+493023125001"}`).is(201, "")
	b.byAdmin("PUT", "/api/v1/numbers/0151", `{}`).is(422, "validation_failed", "number invalid_number")
	b.byAdmin("PUT", "/api/v1/numbers/+493023125001", `{"number":"+493023125002","hour_cap":-1,"state":"resting"}`).is(422,
		"validation_failed", "number mismatch", "hour_cap out_of_range", "state unknown_value")
}

func TestWhatCallersGetExists(t *testing.T) {
	b := newBench(t)
	b.ports.voicemails = []engine.Voicemail{{ID: "vm_1", Name: "Sorry"}}
	const path = "/api/v1/numbers/+493023125001"
	b.byAdmin("PUT", path, `{"callback_policy":"message","callback_bot_id":"none","callback_message_id":"vm_2"}`).
		is(422, "validation_failed", "callback_bot_id unknown_value", "callback_message_id unknown_value")
	b.byAdmin("PUT", path, `{"callback_policy":"bot"}`).is(422, "validation_failed", "callback_bot_id required")
	a := b.byAdmin("PUT", path, `{"callback_policy":"bot","callback_bot_id":"bot_1","callback_message_id":"vm_1"}`).
		is(201, "")
	if a.get("callback_bot_id") != "bot_1" || a.get("callback_message_id") != "vm_1" {
		t.Errorf("%s", a.body)
	}

	const unknown, known = `"callback_message_id":"vm_2"`, `"callback_message_id":"vm_1"`
	b.byAdmin("POST", "/api/v1/campaigns", campaignWith(unknown)).is(422, "validation_failed",
		"callback_message_id unknown_value")
	b.byAdmin("PATCH", campaignPath, `{"version":1,`+unknown+`}`).is(422, "validation_failed",
		"callback_message_id unknown_value")
	b.byAdmin("POST", "/api/v1/campaigns", campaignWith(known)).is(201, "")
}

// SEMANTICS §7: "answer-rate watch".
func TestTheAnswerRateOfANumberIsShownWithItsAlarm(t *testing.T) {
	b := newBench(t)
	const path = "/api/v1/numbers/+493023125001"
	if a := b.byAdmin("PUT", path, `{"answer_floor_pct":30}`).is(201, ""); a.get("answer_floor_pct") != 30.0 ||
		b.ports.numbers[len(b.ports.numbers)-1].AnswerFloor != 30 {
		t.Errorf("%s", a.body)
	}
	for _, bad := range []string{"-1", "101"} {
		b.byAdmin("PUT", path, `{"answer_floor_pct":`+bad+`}`).is(422, "validation_failed", "answer_floor_pct out_of_range")
	}
	alarms := map[string]any{}
	for _, n := range b.byAdmin("GET", "/api/v1/numbers", "").is(200, "").get("numbers").([]any) {
		n := n.(map[string]any)
		alarms[n["number"].(string)] = n["answer_alarm"]
	}
	if alarms["+493023125000"] != "below_floor" || alarms["+493023125001"] != "none" {
		t.Errorf("%v", alarms)
	}
}

func TestProbes(t *testing.T) {
	b := newBench(t)
	b.do("GET", "/healthz", "").is(200, "")
	if a := b.do("GET", "/readyz", "").is(200, ""); a.get("status") != "ready" || len(a.get("checks").([]any)) != 4 {
		t.Errorf("%s", a.body)
	}
	b.ports.alive = errors.New("decision loop stale for 31 s")
	b.do("GET", "/healthz", "").is(503, "")
	b.ports.checks = []Check{{Name: "database", OK: true}, {Name: "draining", Detail: "the process is draining"}}
	if a := b.byAdmin("GET", "/api/v1/health", "").is(200, ""); a.get("status") != "not_ready" {
		t.Errorf("the console is told %s", a.body)
	}
	if a := b.do("GET", "/readyz", "").is(503, ""); a.get("status") != "not_ready" {
		t.Errorf("%s", a.body)
	}
	b.ports.checks = nil
	b.do("GET", "/readyz", "").is(200, "")
}

func TestMetricsHaveClosedLabels(t *testing.T) {
	b := newBench(t)
	b.byKey("POST", triggerPath, triggerBody("")).is(200, "")
	b.byAdmin("PUT", "/api/v1/numbers/+493023125001", `{}`).is(201, "")
	b.do("GET", "/some/"+mobile, "").is(404, "route_not_found")
	b.do("BREW", "/healthz", "").is(405, "method_not_allowed")
	a := b.do("GET", "/metrics", "").is(200, "")
	text := string(a.body)
	for _, want := range []string{
		`dialler_http_requests_total{method="POST",route="/api/v1/campaigns/trigger",status="200"} 1`,
		`dialler_http_requests_total{method="PUT",route="/api/v1/numbers/{number}",status="201"} 1`,
		`dialler_http_requests_total{method="other",route="none",status="404"} 1`,
		`dialler_http_requests_total{method="other",route="none",status="405"} 1`,
		`dialler_http_request_duration_seconds_count{method="POST",route="/api/v1/campaigns/trigger"} 1`,
		`dialler_http_requests_in_flight 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "15112345678") || strings.Contains(text, "BREW") {
		t.Error("a path or a method became a label")
	}
}

func TestABotInUseIsDeletedOnlyByForce(t *testing.T) {
	b := newBench(t)
	path := "/api/v1/bots/bot_1"
	b.byAdmin("DELETE", path, "").is(409, "bot_in_use", "campaign_id running")
	b.byAdmin("DELETE", path+"?force=yes&x=1", "").is(422, "validation_failed", "force unknown_value", "x unknown_field")
	b.byAdmin("DELETE", path+"?force=true", "").is(204, "")
	b.byAdmin("DELETE", "/api/v1/bots/none", "").is(404, "bot_not_found")
	b.byAdmin("DELETE", "/api/v1/bots/a%20b", "").is(404, "bot_not_found")
	b.do("DELETE", path, "", "Authorization", "Bearer "+b.token("usr_oper")).is(403, "role_too_low")
	if len(b.ports.forced) != 1 {
		t.Errorf("%v", b.ports.forced)
	}
}
