package http

import (
	"context"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/http/wire"
)

const triggerPath = "/api/v1/campaigns/trigger"

func triggerBody(rest string) string {
	return `{"campaign_id":"cmp_1","mobile":"` + mobile + `"` + rest + `}`
}

func TestTriggerAddsOneContact(t *testing.T) {
	b := newBench(t)
	a := b.byKey("POST", triggerPath, triggerBody(`,"metadata":{"name":"Ünal","age":42,"big":12345678901234567890,`+
		`"vip":true,"none":null,"tags":[ 1, "a b" ],"at":{"x": {"y":1}}}`)).is(200, "")
	if a.get("status") != "dialled" || a.get("contact_id") != "c1" {
		t.Fatalf("body %s", a.body)
	}
	got := b.ports.triggers[0]
	want := map[string]string{"name": "Ünal", "age": "42", "big": "12345678901234567890", "vip": "true", "none": "",
		"tags": `[1,"a b"]`, "at": `{"x":{"y":1}}`}
	for k, v := range want {
		if got.Variables[k] != v {
			t.Errorf("variable %s is %q, want %q", k, got.Variables[k], v)
		}
	}
	if got.Number != mobile || got.Campaign != "cmp_1" || got.Who.Key == "" || got.Who.From == "" {
		t.Errorf("command %+v", got)
	}
	if d := got.Deadline.Sub(b.clock.Now()); d != 10*time.Second {
		t.Errorf("deadline in %v", d)
	}
	if got.Idempotency.Present() {
		t.Error("an idempotency that nobody asked for")
	}
}

func TestAPersonMayHaveFiveNumbers(t *testing.T) {
	b := newBench(t)
	const list = `,"alternates":[{"number":"+4930901820","label":"Büro"},{"number":"+4930901821"}]`
	b.byKey("POST", triggerPath, triggerBody(list)).is(200, "")
	want := contact.NewAlternates([]contact.Alternate{{Number: "+4930901820", Label: "Büro"}, {Number: "+4930901821"}})
	if got := b.ports.triggers[0].Alternates; got != want {
		t.Errorf("%q", string(got))
	}
	b.byAdmin("POST", "/api/v1/campaigns/cmp_1/contacts", `{"contacts":[{"mobile":"`+mobile+`"`+list+`}]}`).is(200, "")
	if got := b.ports.adds[0].Contacts[0].Alternates; got != want {
		t.Errorf("in a list: %q", string(got))
	}
	const vienna = `,"alternates":[{"number":"+43676123456"}]`
	b.byKey("POST", triggerPath, triggerBody(vienna)).is(422, "destination_not_allowed",
		"alternates[0].number destination_not_allowed")
	b.byAdmin("POST", "/api/v1/campaigns/cmp_1/contacts", `{"contacts":[{"mobile":"`+mobile+`"`+vienna+`}]}`).
		is(422, "validation_failed", "contacts[0].alternates[0].number destination_not_allowed")
	f := func(alternates string, want ...string) {
		t.Helper()
		b.byKey("POST", triggerPath, triggerBody(`,"alternates":`+alternates)).is(422, "validation_failed", want...)
	}
	f(`{}`, "alternates wrong_type")
	f(`[1]`, "alternates[0] wrong_type")
	f(`[{}]`, "alternates[0].number required")
	f(`[{"number":"+4930901820","state":"x"}]`, "alternates[0].state unknown_field")
	f(`[{"number":"+4930901820","label":"a\u0007"}]`, "alternates[0].label invalid_format")
	f(`[{"number":"`+mobile+`"}]`, "alternates[0].number duplicate")
	f(`[{"number":"+4930901820"},{"number":"+4930901821"},{"number":"+4930901822"},{"number":"+4930901823"},`+
		`{"number":"+4930901824"}]`, "alternates too_long")
}

func TestDestinationsThatAreNotCalledAreRefused(t *testing.T) {
	b := newBench(t)
	const vienna = "+43676123456"
	b.byKey("POST", triggerPath, `{"campaign_id":"cmp_1","mobile":"`+vienna+`"}`).is(422, "destination_not_allowed",
		"mobile destination_not_allowed")
	b.byKey("POST", dialoutPath, `{"bot_id":"bot_1","to_number":"`+vienna+`"}`).is(422, "destination_not_allowed",
		"to_number destination_not_allowed")
	b.byAdmin("POST", "/api/v1/campaigns/cmp_1/contacts", `{"contacts":[{"mobile":"`+mobile+`"},{"mobile":"`+vienna+
		`"}]}`).
		is(422, "validation_failed", "contacts[1].mobile destination_not_allowed")
	b.byKey("POST", "/api/v1/contacts/exclude", `{"campaign_id":"cmp_1","mobile":"`+vienna+`"}`).is(200,
		"") // to leave somebody alone is always allowed
	if len(b.ports.triggers)+len(b.ports.dialouts)+len(b.ports.adds) != 0 {
		t.Error("a command was given")
	}
}

func TestTriggerRefusesBodiesThatFailValidation(t *testing.T) {
	b := newBench(t)
	f := func(body string, want ...string) {
		t.Helper()
		b.byKey("POST", triggerPath, body).is(422, "validation_failed", want...)
	}
	f(`{}`, "campaign_id required", "mobile required")
	f(`{"campaign_id":"","mobile":""}`, "campaign_id required", "mobile invalid_number")
	f(`{"campaign_id":null,"mobile":null}`, "campaign_id required", "mobile required")
	f(`{"campaign_id":1,"mobile":true}`, "campaign_id wrong_type", "mobile wrong_type")
	f(`{"campaign_id":{},"mobile":[]}`, "campaign_id wrong_type", "mobile wrong_type")
	f(`{"campaign_id":"`+strings.Repeat("x", 65)+`","mobile":"`+mobile+`"}`, "campaign_id too_long")
	f(triggerBody(`,"extra":1,"Mobile":"x"`), "extra unknown_field", "Mobile unknown_field")
	f(triggerBody(`,"mobile":"`+mobile+`"`), "mobile duplicate_field")
	f(triggerBody(`,"metadata":{"a":1,"a":2}`), "metadata.a duplicate_field")
	f(triggerBody(`,"metadata":[]`), "metadata wrong_type")
	f(triggerBody(`,"metadata":"x"`), "metadata wrong_type")
	f(triggerBody(`,"metadata":{"":"x"}`), "metadata invalid_format")
	f(triggerBody(`,"metadata":{"a":"\u0000"}`), "metadata.a invalid_character")
	f(triggerBody(`,"metadata":{"`+strings.Repeat("k", 65)+`":1}`), "metadata."+strings.Repeat("k", 65)+" too_long")
	f(triggerBody(`,"metadata":{"a":"`+strings.Repeat("v", 16<<10)+`"}`), "metadata too_long")
	many := make([]string, 65)
	for i := range many {
		many[i] = `"k` + strings.Repeat("x", i) + `":1`
	}
	f(triggerBody(`,"metadata":{`+strings.Join(many[:63], ",")+`,"y":1,"z":1}`), "metadata too_many")
	for _, n := range []string{"4915112345678", "0049151", "+0151123456", "+49 151 12345678", "+49",
		"+4915112345678901234", "abc", "+49151abc5678"} {
		f(`{"campaign_id":"cmp_1","mobile":"`+n+`"}`, "mobile invalid_number")
	}
	f(`[]`)
	f(`"x"`)
	f(`null`)
	if len(b.ports.triggers) != 0 {
		t.Error("a command passed")
	}
}

func TestAProblemHasTheMembersOfRFC9457AndACode(t *testing.T) {
	b := newBench(t)
	a := b.byKey("POST", triggerPath, `{"campaign_id":"cmp_1"}`).is(422, "validation_failed")
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type %q", got)
	}
	for _, member := range []string{"type", "title", "detail", "instance"} {
		if s, _ := a.get(member).(string); s == "" {
			t.Errorf("no %s in %s", member, a.body)
		}
	}
	if a.get("status") != 422.0 || a.get("request_id") != a.header.Get("X-Request-Id") || a.get("request_id") == "" {
		t.Errorf("%s, X-Request-ID %q", a.body, a.header.Get("X-Request-Id"))
	}
	first, _ := a.get("errors").([]any)[0].(map[string]any)
	if first["field"] != "mobile" || first["code"] != "required" || first["message"] == "" || len(first) != 3 {
		t.Errorf("%v", first)
	}
}

func TestAtMost100MistakesAreListed(t *testing.T) {
	b := newBench(t)
	var body strings.Builder
	for i := range 300 {
		body.WriteString(`,"f`)
		body.WriteString(strings.Repeat("x", i%50))
		body.WriteByte(byte('a' + i%26))
		body.WriteByte(byte('a' + i/26))
		body.WriteString(`":1`)
	}
	p := b.byKey("POST", triggerPath, triggerBody(body.String())).is(422, "validation_failed").problem()
	if len(p.Errors) != 100 || !strings.Contains(p.Detail, "200 more") {
		t.Errorf("%d errors: %s", len(p.Errors), p.Detail)
	}
}

func TestMalformedBodies(t *testing.T) {
	b := newBench(t)
	f := func(body, code string) {
		t.Helper()
		b.byKey("POST", triggerPath, body).is(422, code)
	}
	f(``, "empty_body")
	f(`   `, "empty_body")
	for _, body := range []string{
		`{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{a:1}`, `{"a" 1}`, `{"a":01}`, `{"a":1.}`, `{"a":-}`,
		`{"a":1e}`, `{"a":tru}`, `{"a":"x}`, `{"a":"\x"}`, `{"a":"\u12"}`, `{"a":"\ud800"}`, `{"a":"\udc00\ud800"}`,
		"{\"a\":\"\xff\"}", "{\"a\":\"\n\"}",
		triggerBody("") + `x`, triggerBody("") + triggerBody(""), `{"a":[1,]}`, `{"a":[1`, `{"a":NaN}`,
		strings.Repeat("[", 100) + strings.Repeat("]", 100), strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40),
	} {
		f(body, "malformed_json")
	}
}

func TestContentTypeMustBeJSON(t *testing.T) {
	b := newBench(t)
	for _, ct := range []string{"text/plain", "application/x-www-form-urlencoded", "application/jsonx",
		"multipart/form-data; boundary=x", "application/xml"} {
		b.byKey("POST", triggerPath, triggerBody(""), "Content-Type", ct).is(415, "unsupported_media_type")
	}
	for _, ct := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON ;x=y"} {
		b.byKey("POST", triggerPath, triggerBody(""), "Content-Type", ct).is(200, "")
	}
}

func TestBodiesOverOneMebibyteAreRefused(t *testing.T) {
	b := newBench(t)
	b.byKey("POST", triggerPath, strings.Repeat(" ", 1<<20-len(triggerBody("")))+triggerBody("")).is(200, "")
	b.byKey("POST", triggerPath, strings.Repeat(" ", 1<<20)+triggerBody("")).is(413, "body_too_large")
}

func TestTriggerPassesOnWhatTheCampaignSays(t *testing.T) {
	b := newBench(t)
	f := func(err error, status int, code string) answer {
		t.Helper()
		b.ports.fail = err
		return b.byKey("POST", triggerPath, triggerBody("")).is(status, code)
	}
	f(wire.ErrNoCampaign, 404, "campaign_not_found")
	f(engine.Conflict("outside_window", "The window is closed."), 409, "outside_window")
	f(engine.Conflict("campaign_not_running", "It is a draft."), 409, "campaign_not_running")
	f(engine.Conflict("contact_excluded", "Excluded."), 409, "contact_excluded")
	f(engine.Invalid("destination_not_allowed", "No.", engine.FieldError{Field: "mobile", Code: "x", Message: "y"}), 422,
		"destination_not_allowed")
	a := f(engine.Unavailable("database", "Away.", 2500*time.Millisecond), 503, "database")
	if a.header.Get("Retry-After") != "3" {
		t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
	f(context.DeadlineExceeded, 503, "deadline_exceeded")
	a = f(errBoom, 500, "internal")
	if strings.Contains(string(a.body), "pq:") {
		t.Error("an internal text leaked")
	}
}

func TestPastItsDeadlineACommandIsAnswered503(t *testing.T) {
	b := newBench(t, func(c *Config) { c.CommandTimeout = time.Millisecond })
	b.ports.onTrigger = func(ctx context.Context, _ campaign.Trigger) (campaign.TriggerReply, error) {
		<-ctx.Done()
		return campaign.TriggerReply{}, ctx.Err()
	}
	a := b.byKey("POST", triggerPath, triggerBody("")).is(503, "deadline_exceeded")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

func TestPanicsAreAnswered500AndTheConnectionLives(t *testing.T) {
	b := newBench(t)
	b.ports.onTrigger = func(context.Context, campaign.Trigger) (campaign.TriggerReply, error) {
		panic("secret " + mobile)
	}
	a := b.byKey("POST", triggerPath, triggerBody("")).is(500, "internal")
	if strings.Contains(string(a.body), "secret") || strings.Contains(string(a.body), "goroutine") {
		t.Errorf("a panic leaked: %s", a.body)
	}
	if a.header.Get("Connection") == "close" {
		t.Error("the connection was closed")
	}
	b.ports.onTrigger = nil
	b.byKey("POST", triggerPath, triggerBody("")).is(200, "")
}

func TestNothingPersonalIsLogged(t *testing.T) {
	b := newBench(t)
	b.byKey("POST", triggerPath, triggerBody(`,"metadata":{"iban":"DE8937040044"}`)).is(200, "")
	b.byKey("POST", triggerPath, triggerBody(`,"x":1`)).is(422, "")
	b.ports.fail = errBoom
	b.byKey("POST", triggerPath, triggerBody("")).is(500, "")
	b.byAdmin("PUT", "/api/v1/numbers/%2B493023125001", `{}`).is(201, "")
	b.do("GET", "/api/v1/nowhere/"+mobile, "").is(404, "")
	log := b.log.String()
	for _, bad := range []string{"15112345678", "DE8937", "493023125001", b.key, b.admin, "127.0.0.1"} {
		if strings.Contains(log, bad) {
			t.Errorf("the log contains %q:\n%s", bad, log)
		}
	}
	for _, good := range []string{`"route":"/api/v1/campaigns/trigger"`, `"status":422`, `"request_id"`, `"key_id"`} {
		if !strings.Contains(log, good) {
			t.Errorf("the log lacks %s:\n%s", good, log)
		}
	}
}

// FuzzTriggerBody checks every response of the trigger against the contract, and every command
// against the rules.
func FuzzTriggerBody(f *testing.F) {
	b := newBench(f)
	for _, s := range []string{triggerBody(""), triggerBody(`,"metadata":{"a":[1,{}],"b":null}`), `{"campaign_id":1}`,
		`[]`, `{`, `{"campaign_id":"x","mobile":"+1"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		b.t = t
		a := b.directly("POST", triggerPath, body, "X-API-Key", b.key)
		switch a.status {
		case 200:
			got := b.ports.triggers[len(b.ports.triggers)-1]
			if got.Campaign == "" || got.Number == "" || len(got.Variables) > contact.VariableCountCap {
				t.Fatalf("%q became %+v", body, got)
			}
		case 422:
		default:
			t.Fatalf("%q: %d", body, a.status)
		}
		b.ports.triggers = nil
	})
}
