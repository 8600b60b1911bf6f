package http

import (
	"testing"
	"time"

	"dialler/engine"
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
