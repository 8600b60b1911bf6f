package http

import (
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"dialler/engine/journal"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
)

func TestStateAndOutcomeOfACall(t *testing.T) {
	b := newBench(t)
	path := "/api/v1/calls/" + string(theCall)
	a := b.byKey("GET", path, "").is(200, "")
	if a.get("state") != "connected" || a.get("to_number") != mobile || a.get("campaign_id") != "cmp_1" {
		t.Errorf("%s", a.body)
	}
	at := testAt
	end := at.Add(90 * time.Second)
	b.ports.attempt = attempt.Attempt{
		ID:             theAttempt,
		Bot:            "bot_1",
		To:             mobile,
		State:          attempt.Ended,
		Outcome:        engine.OutcomeCompleted,
		HungUpBy:       engine.PartyBot,
		BotConnectedAt: &at,
		EndedAt:        &end,
		Verdict:        engine.VerdictHuman,
		Friendly:       "Answered",
		SIPCode:        200,
		Session:        "MZ1",
		Quality: &engine.MediaQuality{
			Codec:           "PCMA",
			PacketsReceived: 50,
			PacketsLost:     2,
			Jitter:          1260 * time.Microsecond,
			MOS:             4.1,
			FarReports:      1,
			FarMOS:          3.9,
			RoundTrip:       80 * time.Millisecond,

			HeardFrom: "203.0.113.1:4000", DroppedElsewhere: 7,
		},
		Result: &attempt.Result{Disposition: "sold", ReceivedAt: end},
	}
	a = b.byAdmin("GET", path, "").is(200, "")
	if a.get("talk_s") != 90.0 || a.get("disposition") != "sold" || a.get("sip_code") != nil || a.get("result") == nil {
		t.Errorf("%s", a.body)
	}
	if q, _ := a.get("quality").(map[string]any); q["codec"] != "PCMA" || q["packets_lost"] != 2.0 ||
		q["jitter_ms"] != 1.3 || q["mos"] != 4.1 ||
		q["far_mos"] != 3.9 ||
		q["far_packets_lost"] != 0.0 ||
		q["round_trip_ms"] != 80.0 || q["heard_from"] != "203.0.113.1:4000" ||
		q["packets_dropped"].(map[string]any)["elsewhere"] != 7.0 {
		t.Errorf("%v", q)
	}
	for _, id := range []string{"CA" + strings.Repeat("cd", 16), "CAx", "x", "%00"} {
		b.byKey("GET", "/api/v1/calls/"+id, "").is(404, "call_not_found")
	}
	b.do("GET", path, "").is(401, "unauthorized")
	b.do("GET", path, "", "X-API-Key", b.addKey(func(k *engine.APIKey) { k.Scopes = []string{"dialout"} })).is(200, "")
	b.do("GET", path, "", "X-API-Key", b.addKey(func(k *engine.APIKey) { k.Scopes = []string{"trigger"} })).
		is(403, "scope_missing")
}

func TestWhyANumberIsHeldIsShownWithItsCall(t *testing.T) {
	b := newBench(t)
	until := testAt.Add(17 * time.Minute)
	owed := &attempt.Hold{Attempt: theAttempt, Until: &until}
	f := func(state attempt.State, h *attempt.Hold, want any, why string) {
		t.Helper()
		b.ports.attempt.State, b.ports.hold = state, h
		a := b.byAdmin("GET", "/api/v1/calls/"+string(theCall), "").is(200, "")
		held, shown := a.get("number_held").(map[string]any)
		if shown != (why != "") || shown && held["until"] != want || !strings.Contains(string(a.body), why) {
			t.Errorf("%s", a.body)
		}
	}
	f(attempt.Connected, nil, nil, "is not over")
	f(attempt.Ended, owed, until.Format(time.RFC3339), "there is no proof")
	f(attempt.Ended, nil, nil, "")
	f(attempt.Ended, &attempt.Hold{Attempt: "another", Until: &until}, nil, "")

	b.ports.fail = journal.ErrNumberHeld
	body := `{"bot_id":"bot_1","to_number":"` + mobile + `"}`
	b.ports.hold = owed
	a := b.byKey("POST", dialoutPath, body).is(409, "number_held")
	if d, _ := a.get("detail").(string); !strings.Contains(d, until.UTC().Format(time.RFC3339)) ||
		a.header.Get("Retry-After") != "1020" {
		t.Errorf("%s %s", d, a.header)
	}
	b.ports.hold = nil
	b.byKey("POST", dialoutPath, body).is(409, "number_held")
}

func TestResultsComeWithTheCallsTokenOrAKey(t *testing.T) {
	b := newBench(t)
	path := "/api/v1/calls/" + string(theCall) + "/result"
	body := `{"disposition":"sold","sub_disposition":"x","summary":"s",
		"callback":{"requested":true,"at":"2030-03-02T09:00:00+01:00","reason":"r"},
		"variables":{"n":1},"do_not_call":true,"transcript_url":"https://example.org/t",
		"recording_url":"http://example.org/r"}`
	b.do("POST", path, body, "Authorization", "Bearer call-token").is(200, "")
	got := b.ports.results[0]
	if got.Call != theCall || got.Result.Disposition != "sold" || !got.Result.DoNotCall ||
		got.Result.Variables["n"] != "1" ||
		!got.Result.Callback.Requested ||
		got.Result.Callback.At.UTC().Hour() != 8 ||
		!got.Result.ReceivedAt.Equal(testAt) {
		t.Errorf("result %+v", got)
	}
	b.byKey("POST", path, `{}`).is(200, "")
	b.do("POST", path, `{}`, "X-API-Key", b.addKey(func(k *engine.APIKey) { k.Scopes = []string{"results"} })).
		is(200, "")

	b.do("POST", path, body).is(401, "unauthorized")
	b.do("POST", path, body, "Authorization", "Bearer wrong").is(401, "unauthorized")
	b.do("POST", path, body, "Authorization", "Bearer ").is(401, "unauthorized")
	b.do("POST", path, body, "Authorization", "Bearer "+b.admin).is(401, "unauthorized")
	b.do("POST", path, `{}`, "X-API-Key", b.addKey(func(k *engine.APIKey) { k.Scopes = []string{"trigger"} })).
		is(403, "scope_missing")
	other := "/api/v1/calls/CA" + strings.Repeat("cd", 16) + "/result"
	b.do("POST", other, body, "Authorization", "Bearer call-token").is(401, "unauthorized")
	b.byKey("POST", other, body).is(404, "call_not_found")

	f := func(body string, want ...string) {
		t.Helper()
		b.byKey("POST", path, body).is(422, "validation_failed", want...)
	}
	f(`{"disposition":1,"callback":{"at":"tomorrow"},"variables":[],"do_not_call":"yes","transcript_url":"file:///x"}`,
		"disposition wrong_type", "callback.at invalid_format", "variables wrong_type",
		"do_not_call wrong_type", "transcript_url invalid_format")
	// SEMANTICS §9: at is RFC 3339 with offset, else 422.
	f(`{"callback":{"requested":true,"at":"2030-03-02T09:00:00"}}`, "callback.at invalid_format")
	f(`{"callback":[]}`, "callback wrong_type")

	// A call without a token of its own accepts none.
	b.ports.attempt.ResultToken = ""
	b.do("POST", path, body, "Authorization", "Bearer x").is(401, "unauthorized")
}

// A bot posts once: a result that cannot be stored now, but is kept, is accepted.
func TestAResultThatIsKeptForLaterIsAccepted(t *testing.T) {
	b := newBench(t)
	b.ports.resultLater = true
	a := b.byKey("POST", "/api/v1/calls/"+string(theCall)+"/result", `{"disposition":"sold"}`).is(202, "")
	if a.get("status") != "kept" || a.get("call_id") != string(theCall) {
		t.Errorf("%s", a.body)
	}
}

func TestAResultOnTheSocketIsTakenAsAPostIs(t *testing.T) {
	b := newBench(t)
	f := func(body, want string) {
		t.Helper()
		if got := string(b.server.ResultOnSocket(t.Context(), theCall, []byte(body))); got != want {
			t.Errorf("%s is answered %s, want %s", body, got, want)
		}
	}
	call := `"call_id":"` + string(theCall) + `"`
	f(`{"disposition":"sold","mood":"good"}`, `{"status":"ok",`+call+`,"unknown_fields":["mood"]}`)
	if r := b.ports.results; len(r) != 1 || r[0].Call != theCall || r[0].Result.Disposition != "sold" ||
		r[0].Result.Unknown["mood"] != "good" {
		t.Errorf("stored %+v", r)
	}
	f(`{"disposition":5}`, `{"status":"refused",`+call+`,"code":"validation_failed",`+
		`"detail":"The body failed validation; see errors.",`+
		`"errors":[{"field":"disposition","code":"wrong_type","message":"must be a string, not a number"}]}`)
	b.ports.resultLater = true
	f(`{"disposition":"sold"}`, `{"status":"kept",`+call+`}`)
}

func TestAFieldOfAResultThatIsNotKnownLosesNothing(t *testing.T) {
	b := newBench(t)
	path := "/api/v1/calls/" + string(theCall) + "/result"
	post := func(body string) (attempt.Result, answer) {
		t.Helper()
		b.ports.results = nil
		a := b.byKey("POST", path, body).is(200, "")
		return b.ports.results[0].Result, a
	}

	got, a := post(`{"outcome":"interested","disposition":"sold","callback":{"requested":true,"when":"soon"},
		"score": 0.75, "extra": {"a": [1, null]}, "nothing": null}`)
	if got.Disposition != "sold" || got.Callback == nil || !got.Callback.Requested {
		t.Errorf("what is known is not stored: %+v", got)
	}
	want := map[string]string{
		"outcome":       "interested",
		"callback.when": "soon",
		"score":         "0.75",
		"extra":         `{"a":[1,null]}`,
		"nothing":       "",
	}
	if !maps.Equal(got.Unknown, want) {
		t.Errorf("stored %v, want %v", got.Unknown, want)
	}
	if named := fmt.Sprint(a.get("unknown_fields")); named != "[callback.when outcome score extra nothing]" ||
		a.get("dropped_fields") != nil {
		t.Errorf("the answer is %s", a.body)
	}
	b.ports.attempt.Result = &got
	shown, _ := b.byKey("GET", strings.TrimSuffix(path, "/result"), "").is(200, "").get("result").(map[string]any)
	if fields, _ := shown["unknown_fields"].(map[string]any); len(fields) != len(want) ||
		fields["outcome"] != "interested" {
		t.Errorf("the call shows %v", shown)
	}

	if got, a = post(`{"disposition":"sold"}`); got.Unknown != nil || a.get("unknown_fields") != nil {
		t.Errorf("%v, %s", got.Unknown, a.body)
	}

	// Data that is too large is named, and nothing else is lost.
	got, a = post(
		`{"outcome":"interested","long":"` + strings.Repeat(
			"x",
			contact.VariablesCap,
		) + `","` + strings.Repeat(
			"n",
			65,
		) + `":1,"":1,
		"callback.when":1,"callback":{"when":"soon"}}`,
	)
	if !maps.Equal(got.Unknown, map[string]string{"outcome": "interested", "callback.when": "soon"}) {
		t.Errorf("stored %v", got.Unknown)
	}
	if dropped, _ := a.get("dropped_fields").([]any); len(dropped) != 4 {
		t.Errorf("the answer is %s", a.body)
	}
	many := ""
	for i := range 2 * contact.VariableCountCap {
		many += fmt.Sprintf(`,"f%d":%d`, i, i)
	}
	if got, a = post(`{"disposition":"sold"` + many + `}`); len(got.Unknown) != contact.VariableCountCap {
		t.Errorf("%d fields stored", len(got.Unknown))
	}
	if dropped, _ := a.get("dropped_fields").([]any); len(dropped) != contact.VariableCountCap {
		t.Errorf("%d fields dropped", len(dropped))
	}

	// A wrong value of a known field is still an error, and the only one.
	bad := b.byKey("POST", path, `{"outcome":"x","disposition":7,"callback":{"x":1}}`).
		is(422, "validation_failed", "disposition wrong_type")
	if e := bad.problem().Errors; len(e) != 1 {
		t.Errorf("errors %v", e)
	}
}

func TestBotsHangUpByTheirRoute(t *testing.T) {
	b := newBench(t)
	path := "/2010-04-01/Accounts/" + theAccount + "/Calls/" + string(theCall) + ".json"
	basic := func(user, password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	post := func(path, auth, form string) answer {
		t.Helper()
		return b.do("POST", path, form, "Authorization", auth, "Content-Type", "application/x-www-form-urlencoded")
	}
	good := basic(theAccount, "bot-secret")
	a := post(path, good, "Status=completed").is(200, "")
	if a.get("status") != "completed" || a.get("sid") != string(theCall) || len(b.ports.hungUp) != 1 ||
		b.ports.hungUp[0] != theCall {
		t.Errorf("%s %v", a.body, b.ports.hungUp)
	}
	bad := func(a answer, status int, code float64) {
		t.Helper()
		if a.status != status || a.get("code") != code || a.get("status") != float64(status) {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	for _, auth := range []string{basic(theAccount, "x"), basic("ACx", "bot-secret"), "Bearer x", "Basic !",
		basic(theAccount, "")} {
		bad(post(path, auth, "Status=completed"), 401, 20003)
	}
	other := strings.Replace(path, theAccount, "AC"+strings.Repeat("1", 32), 1)
	bad(post(other, good, "Status=completed"), 401, 20003)
	bad(post(path, good, "Status=busy"), 400, 20001)
	bad(post(path, good, ""), 400, 20001)
	bad(
		post(strings.Replace(path, string(theCall), "CA"+strings.Repeat("cd", 16), 1), good, "Status=completed"),
		404,
		20404,
	)
	bad(post(strings.Replace(path, string(theCall), "CAx", 1), good, "Status=completed"), 404, 20404)
	b.ports.attempt.Bot = "bot_2" // another bot's call
	bad(post(path, good, "Status=completed"), 404, 20404)
	b.ports.attempt.Bot, b.ports.attempt.State = "bot_1", attempt.Ended
	bad(post(path, good, "Status=completed"), 404, 20404)
	if len(b.ports.hungUp) != 1 {
		t.Error("hung up without right")
	}
	b.ports.attempt.State = attempt.Connected
	b.ports.fail = errBoom
	bad(post(path, good, "Status=completed"), 500, 20500)
	// Errors before the route have the same format.
	bad(b.do("GET", path, "", "Authorization", good), 405, 20004)
	bad(post("/2010-04-01/Accounts/"+theAccount+"/Messages.json", good, "To=x"), 404, 20404)
}

func TestKeysAreSentWithTheCallsTokenOrAKey(t *testing.T) {
	b := newBench(t)
	path := "/api/v1/calls/" + string(theCall) + "/digits"
	b.do("POST", path, `{"digits":"12#"}`, "Authorization", "Bearer call-token").is(200, "")
	b.do("POST", path, `{"digits":"A"}`, "X-API-Key", b.addKey(func(k *engine.APIKey) { k.Scopes = []string{"dialout"} })).
		is(200, "")
	if got := b.ports.digits; len(got) != 2 || got[0] != "12#" || got[1] != "A" {
		t.Errorf("%q", got)
	}
	b.do("POST", path, `{"digits":"1"}`, "X-API-Key", b.addKey(func(k *engine.APIKey) { k.Scopes = []string{"results"} })).
		is(403, "scope_missing")
	b.do("POST", path, `{"digits":"1"}`, "Authorization", "Bearer wrong").is(401, "unauthorized")
	b.do("POST", path, `{"digits":"1"}`).is(401, "unauthorized")
	f := func(body, want string) {
		t.Helper()
		b.byKey("POST", path, body).is(422, "validation_failed", want)
	}
	f(`{"digits":"1 2"}`, "digits invalid_format")
	f(`{"digits":""}`, "digits required")
	f(`{}`, "digits required")
	f(`{"digits":"`+strings.Repeat("1", 33)+`"}`, "digits too_long")
	b.ports.fail = engine.Conflict("call_not_answered", "not yet")
	b.byKey("POST", path, `{"digits":"1"}`).is(409, "call_not_answered")
}
