package http

import (
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/webhook"
)

const dialoutPath = "/api/v1/sip/dialout"

func TestDialoutPlacesOneCall(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"variables", "connected_event"} {
		a := b.byKey("POST", dialoutPath, `{"bot_id":"bot_1","to_number":"`+mobile+`","`+name+`":{"a":"b"}}`).is(201, "")
		if a.get("status") != "ok" || a.get("call_id") != string(theCall) ||
			a.header.Get("Location") != "/api/v1/calls/"+string(theCall) {
			t.Errorf("%s %s", a.body, a.header)
		}
		got := b.ports.dialouts[len(b.ports.dialouts)-1]
		if got.Variables["a"] != "b" || got.To != mobile || got.Bot != "bot_1" || got.From != "" || got.Deadline.IsZero() {
			t.Errorf("command %+v", got)
		}
	}
	b.byKey("POST", dialoutPath, `{"bot_id":"bot_1","to_number":"`+mobile+
		`","from_number":"+493023125000","connected_event":null}`).is(201, "")
	if got := b.ports.dialouts[2]; got.From != "+493023125000" || got.Variables != nil {
		t.Errorf("command %+v", got)
	}
}

func TestDialoutRefusesBodiesThatFailValidation(t *testing.T) {
	b := newBench(t)
	f := func(body string, want ...string) {
		t.Helper()
		b.byKey("POST", dialoutPath, body).is(422, "validation_failed", want...)
	}
	f(`{}`, "bot_id required", "to_number required")
	f(`{"bot_id":"b","to_number":"`+mobile+`","variables":{},"connected_event":{}}`, "variables mutually_exclusive",
		"connected_event mutually_exclusive")
	f(`{"bot_id":"b","to_number":"`+mobile+`","variables":{"a":1}}`, "variables.a wrong_type")
	f(`{"bot_id":"b","to_number":"`+mobile+`","connected_event":{"a":{"b":"c"}}}`, "connected_event.a wrong_type")
	f(`{"bot_id":"b","to_number":"`+mobile+`","variables":{"a":null}}`, "variables.a wrong_type")
	f(`{"bot_id":"b","to_number":"49151"}`, "to_number invalid_number")
	for _, n := range []string{"+4930110", "+4930112"} { // of an area
		f(`{"bot_id":"b","to_number":"`+n+`"}`, "to_number emergency_number")
	}
	f(`{"bot_id":"b","to_number":"`+mobile+`","transfer_targets":["+4930*","x"],"transfer_limit":6}`,
		"transfer_targets[1] invalid_format", "transfer_limit out_of_range")
	f(`{"bot_id":"b","to_number":"`+mobile+`","from_number":"x"}`, "from_number invalid_number")
	f(`{"bot_id":"b","to_number":"`+mobile+`","x":1}`, "x unknown_field")
}

func TestDialoutWithAnAdminToken(t *testing.T) {
	b := newBench(t)
	body := `{"bot_id":"bot_1","to_number":"` + mobile + `"}`
	b.byAdmin("POST", dialoutPath, body).is(201, "")
	if got := b.ports.dialouts[0].Who; got.User != "usr_admin" || got.Key != "" {
		t.Errorf("who %+v", got)
	}
	b.do("POST", dialoutPath, body, "Authorization", "Bearer "+b.token("usr_oper")).is(403, "role_too_low")
	b.do("POST", dialoutPath, body, "Authorization", "Bearer "+b.token("usr_view")).is(403, "role_too_low")
	b.do("POST", dialoutPath, body, "Authorization", "Bearer x.y.z").is(401, "unauthorized")
	b.do("POST", dialoutPath, body).is(401, "unauthorized")
	// Its Idempotency-Key is scoped to the user.
	b.byAdmin("POST", dialoutPath, body, "Idempotency-Key", "k").is(201, "")
	if a := b.byAdmin("POST", dialoutPath, body, "Idempotency-Key", "k").is(201,
		""); a.header.Get("Idempotent-Replayed") != "true" {
		t.Error("not replayed")
	}
	if a := b.byKey("POST", dialoutPath, body, "Idempotency-Key", "k").is(201,
		""); a.header.Get("Idempotent-Replayed") != "" {
		t.Error("another sender's key was replayed")
	}
}

func TestDialoutPassesOnWhatTheEngineSays(t *testing.T) {
	b := newBench(t)
	f := func(err error, status int, code string) answer {
		t.Helper()
		b.ports.fail = err
		return b.byKey("POST", dialoutPath, `{"bot_id":"bot_1","to_number":"`+mobile+`"}`).is(status, code)
	}
	f(engine.NotFound("bot_not_found", "No such bot."), 404, "bot_not_found")
	f(engine.Conflict("bot_inactive", "It is not active."), 409, "bot_inactive")
	f(engine.Conflict("suppressed", "Suppressed."), 409, "suppressed")
	f(engine.Invalid("missing_variable", "Needs name."), 422, "missing_variable")
	f(engine.Invalid("destination_not_allowed", "Not there."), 422, "destination_not_allowed")
	if a := f(engine.Unavailable("no_capacity", "No seat.", 5*time.Second), 503,
		"no_capacity"); a.header.Get("Retry-After") != "5" {
		t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
}

func TestADialoutForLaterIsAccepted(t *testing.T) {
	b := newBench(t)
	at := testAt.Add(time.Hour).Format(time.RFC3339)
	until := testAt.Add(2 * time.Hour).Format(time.RFC3339)
	body := `{"bot_id":"bot_1","to_number":"` + mobile + `","not_before":"` + at + `","expires_at":"` + until +
		`","priority":9}`
	a := b.byKey("POST", dialoutPath, body, "Idempotency-Key", "k").is(202, "")
	if a.get("status") != "scheduled" || a.get("not_before") != at || a.get("priority") != 9.0 ||
		a.header.Get("Location") != "/api/v1/calls/"+string(theCall) {
		t.Errorf("%s %s", a.body, a.header)
	}
	got := b.ports.dialouts[0].Times
	if !got.NotBefore.Equal(testAt.Add(time.Hour)) || !got.ExpiresAt.Equal(testAt.Add(2*time.Hour)) || *got.Priority != 9 {
		t.Errorf("%+v", got)
	}
	again := b.byKey("POST", dialoutPath, body, "Idempotency-Key", "k").is(202, "")
	if again.header.Get("Idempotent-Replayed") != "true" || again.get("call_id") != a.get("call_id") ||
		len(b.ports.dialouts) != 1 {
		t.Errorf("%s", again.body)
	}
	f := func(times string, want ...string) {
		t.Helper()
		b.byKey("POST", dialoutPath, `{"bot_id":"b","to_number":"`+mobile+`",`+times+`}`).
			is(422, "validation_failed", want...)
	}
	f(`"not_before":"`+testAt.Add(-time.Hour).Format(time.RFC3339)+`"`, "not_before in_the_past")
	f(`"not_before":"`+testAt.Add(91*24*time.Hour).Format(time.RFC3339)+`"`, "not_before out_of_range")
	f(`"not_before":"`+until+`","expires_at":"`+at+`"`, "expires_at contradictory")
	f(`"not_before":"tomorrow"`, "not_before invalid_format")
	f(`"priority":10`, "priority out_of_range")
	b.ports.fail = &engine.Error{Kind: engine.KindTooMany, Code: "too_many_scheduled", RetryAfter: time.Minute}
	if a := b.byKey("POST", dialoutPath, body).is(429, "too_many_scheduled"); a.header.Get("Retry-After") != "60" {
		t.Errorf("%s", a.header)
	}
}

func TestADialoutThatWaitsIsShownAndCancelled(t *testing.T) {
	b := newBench(t)
	path := "/api/v1/calls/" + string(theCall)
	at := testAt.Add(time.Hour)
	d := campaign.NewScheduledDialout(theAttempt, campaign.Dialout{Bot: "bot_1", To: mobile,
		Times: contact.Times{NotBefore: &at}}, testAt)
	b.ports.attempt = d.Shown()
	a := b.byKey("GET", path, "").is(200, "")
	times, _ := a.get("scheduled").(map[string]any)
	why, _ := a.get("explanation").(map[string]any)
	if a.get("state") != "scheduled" || a.get("outcome") != nil || a.get("started_at") != nil ||
		a.get("number_held") != nil || times["not_before"] != at.Format(time.RFC3339) || times["priority"] != 5.0 ||
		why["code"] != "not_before" || why["next_at"] != at.Format(time.RFC3339) {
		t.Errorf("%s", a.body)
	}
	b.byKey("GET", "/api/v1/calls?state=scheduled", "").is(200, "")
	if q := b.ports.asked[len(b.ports.asked)-1]; q.State != "scheduled" {
		t.Errorf("%+v", q)
	}
	b.byKey("DELETE", path, "").is(200, "")
	if got := b.ports.unscheduled; len(got) != 1 || got[0].Call != theCall || got[0].Who.Key == "" {
		t.Errorf("%+v", got)
	}
	b.do("DELETE", path, "", "Authorization", "Bearer "+b.token("usr_view")).is(403, "role_too_low")
	b.byKey("DELETE", "/api/v1/calls/CAx", "").is(404, "call_not_found")
	// One that ended while it waited has not begun.
	b.ports.attempt = d.Ended(engine.OutcomeExpired, at.Add(time.Hour), 0)
	if a := b.byKey("GET", path, "").is(200, ""); a.get("outcome") != "expired" || a.get("started_at") != nil ||
		a.get("scheduled") != nil {
		t.Errorf("%s", a.body)
	}
	b.ports.fail = engine.Conflict(engine.CodeDialoutPlaced, "")
	b.byAdmin("DELETE", path, "").is(409, "dialout_placed")
}

// Both requests that begin calls read it, and name what is wrong with it.
func TestWhereACallIsToldOfIsReadFromTheRequest(t *testing.T) {
	b := newBench(t)
	dialout := func(rest string) string { return `{"bot_id":"bot_1","to_number":"` + mobile + `"` + rest + `}` }
	const address = `,"status_callback":"https://crm.example.org/calls?order=4711"`
	status := func(path string, body string, want int) *campaign.StatusCallback {
		t.Helper()
		b.byKey("POST", path, body).is(want, "")
		if path == dialoutPath {
			return b.ports.dialouts[len(b.ports.dialouts)-1].Status
		}
		return b.ports.triggers[len(b.ports.triggers)-1].Status
	}
	for path, body := range map[string]func(string) string{dialoutPath: dialout, triggerPath: triggerBody} {
		want := map[string]int{dialoutPath: 201, triggerPath: 200}[path]
		if s := status(path, body(""), want); s != nil {
			t.Errorf("%s: %+v", path, s)
		}
		if s := status(path, body(address), want); s == nil || s.Types != nil ||
			s.URL != "https://crm.example.org/calls?order=4711" {
			t.Errorf("%s: %+v", path, s)
		}
		// An empty one takes the address of a contact away; a call that is yet to be has none.
		if s := status(path, body(`,"status_callback":""`), want); (s != nil) != (path == triggerPath) ||
			s != nil && (s.URL != "" || s.Types != nil) {
			t.Errorf("%s: %+v", path, s)
		}
		s := status(path, body(address+`,"status_callback_events":["call.answered","call.ended"]`), want)
		if s == nil || len(s.Types) != 2 || s.Types[1] != "call.ended" {
			t.Errorf("%s: %+v", path, s)
		}
		f := func(rest string, wrong ...string) {
			t.Helper()
			b.byKey("POST", path, body(rest)).is(422, "validation_failed", wrong...)
		}
		f(`,"status_callback":7`, "status_callback wrong_type")
		f(`,"status_callback":"crm.example.org"`, "status_callback invalid_format")
		f(`,"status_callback":"https://ada:secret@crm.example.org/"`, "status_callback invalid_format")
		f(`,"status_callback":"https://crm.example.org/`+strings.Repeat("a", webhook.URLCap)+`"`, "status_callback too_long")
		f(address+`,"status_callback_events":["attempt.ended"]`, "status_callback_events[0] unknown_value")
		f(`,"status_callback_events":["call.ended"]`, "status_callback_events status_callback_missing")
		f(`,"status_callback":"","status_callback_events":["call.ended"]`, "status_callback_events status_callback_missing")
	}
	for _, secret := range []string{"order=4711", "ada:secret"} {
		if strings.Contains(b.log.String(), secret) {
			t.Errorf("%s is in the log", secret)
		}
	}
}
