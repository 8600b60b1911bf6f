package http

import (
	"strings"
	"testing"

	"dialler/engine"
	"dialler/engine/setup"
)

func TestTheSetUpSaysWhatIsThereAndWhatIsMissing(t *testing.T) {
	b := newBench(t)
	b.ports.trunks, b.ports.numbers, b.ports.bots = nil, nil, nil
	shows := func(want ...string) {
		t.Helper()
		a := b.byAdmin("GET", "/api/v1/set-up", "").is(200, "")
		for _, part := range want {
			if !strings.Contains(string(a.body), part) {
				t.Errorf("%s lacks %s", a.body, part)
			}
		}
	}
	shows(`"steps":[{"step":"carrier","done":false},{"step":"caller_id","done":false},{"step":"bot","done":false},`+
		`{"step":"call","done":false}]`, `"complete":false,"hidden":false,"country":null,"model":null`)
	b.ports.trunks = []engine.TrunkSettings{{ID: "t1", Active: true}} // which is held
	b.ports.numbers = []engine.NumberSettings{{Number: "+493023125000", State: "quarantined"},
		{Number: "+493023125001", State: "active"}}
	b.ports.bots = []engine.Bot{{ID: "bot_1", Active: true}} // which is down
	b.ports.country = "DE"
	shows(`{"step":"carrier","done":false,"with":"t1"}`, `{"step":"caller_id","done":true,"with":"+493023125001"}`,
		`{"step":"bot","done":false,"with":"bot_1"}`, `"country":"DE"`)
	b.ports.trunks[0].NumberCountry = "CH"
	b.ports.called = true
	b.ports.model = &setup.Model{Host: "127.0.0.1", Port: 5070, Endpoint: "ws://127.0.0.1:5080/media",
		CallerID: "+493012345601", Callee: mobile}
	shows(`{"step":"call","done":true}`, `"complete":true`, `"country":"CH"`, `"model":{"host":"127.0.0.1","port":5070,`)
	b.byAdmin("GET", "/api/v1/set-up?all=true", "").is(422, "validation_failed", "all unknown_field")
}

func TestAnAdministratorHidesTheSetUp(t *testing.T) {
	b := newBench(t)
	put := func(body string) answer { return b.byAdmin("PUT", "/api/v1/set-up", body) }
	if put(`{"hidden":true}`).is(200, "").get("hidden") != true {
		t.Error("it is not hidden")
	}
	if b.byAdmin("GET", "/api/v1/set-up", "").get("hidden") != true {
		t.Error("it is not hidden afterwards")
	}
	if put(`{"hidden":false}`).is(200, "").get("hidden") != false {
		t.Error("it is not shown again")
	}
	put(`{}`).is(422, "validation_failed", "hidden required")
	put(`{"hidden":null}`).is(422, "validation_failed", "hidden required")
	put(`{"hidden":"yes","all":1}`).is(422, "validation_failed", "hidden wrong_type", "all unknown_field")
	as := func(method, body string, user engine.UserID) answer {
		return b.do(method, "/api/v1/set-up", body, "Authorization", "Bearer "+b.token(user))
	}
	as("PUT", `{"hidden":true}`, "usr_oper").is(403, "role_too_low")
	as("GET", "", "usr_view").is(200, "")
	b.byKey("GET", "/api/v1/set-up", "").is(403, "")
}
