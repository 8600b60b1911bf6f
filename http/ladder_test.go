package http

import (
	"strings"
	"testing"
	"time"

	"dialler/engine"
)

func TestALadderIsShownWithWhatEachMessageMeans(t *testing.T) {
	b := newBench(t)
	path := "/api/v1/calls/" + string(theCall) + "/ladder"
	if a := b.byKey("GET", path, "").is(200, ""); !strings.Contains(string(a.body), `"messages":[]`) {
		t.Errorf("nothing kept: %s", a.body)
	}
	b.ports.ladder = []engine.SIPMessage{
		{At: testAt, Leg: "l1", Sent: true, Method: "INVITE", CSeq: 1, Peer: "192.0.2.1:5060", Note: "SDP"},
		{At: testAt.Add(time.Second), Leg: "l1", Method: "INVITE", Code: 403, Reason: "Forbidden", CSeq: 1,
			Peer: "192.0.2.1:5060"},
	}
	a := b.byAdmin("GET", path, "").is(200, "")
	for _, want := range []string{`"title":"403 Forbidden"`, "We ask the carrier to ring the number.",
		`"drawing":"leg l1`} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("%q is not in %s", want, a.body)
		}
	}
	drawing := b.do("GET", path, "", "Authorization", "Bearer "+b.admin, "Accept", "text/plain").is(200, "")
	if !strings.Contains(string(drawing.body), "INVITE (SDP) ─") || strings.Contains(string(drawing.body), "{") {
		t.Errorf("as text: %s", drawing.body)
	}
	b.do("GET", path, "").is(401, "unauthorized")
	b.do("GET", path, "", "X-API-Key", b.addKey(func(k *engine.APIKey) { k.Scopes = []string{"dialout"} })).is(403,
		"scope_missing")
	b.byKey("GET", "/api/v1/calls/CAx/ladder", "").is(404, "call_not_found")
}

func TestATrunkIsTestedWithOneCallThatOnlyItMayCarry(t *testing.T) {
	b := newBench(t)
	b.byAdmin("PUT", "/api/v1/trunks/main", `{"host":"192.0.2.1"}`).is(201, "")
	b.byAdmin("PUT", "/api/v1/trunks/off", `{"host":"192.0.2.1","active":false}`).is(201, "")
	body := `{"bot_id":"bot_1","to_number":"` + mobile + `"}`
	b.byAdmin("POST", "/api/v1/trunks/main/test", body).is(201, "")
	if d := b.ports.dialouts; len(d) != 1 || d[0].Trunk != "main" || d[0].Bot != "bot_1" || d[0].To != mobile {
		t.Errorf("%+v", d)
	}
	b.byAdmin("POST", "/api/v1/trunks/none/test", body).is(404, "trunk_not_found")
	b.byAdmin("POST", "/api/v1/trunks/off/test", body).is(409, "trunk_inactive")
	b.byAdmin("POST", "/api/v1/trunks/main/test", `{"to_number":"x"}`).is(422, "validation_failed", "bot_id required")
	b.byKey("POST", "/api/v1/trunks/main/test", body).is(403, "scope_missing")
	to := func(country, trunks, text string) answer {
		t.Helper()
		b.ports.country = country
		for i := range b.ports.trunks {
			b.ports.trunks[i].NumberCountry = trunks
		}
		return b.byAdmin("POST", "/api/v1/trunks/main/test", `{"bot_id":"bot_1","to_number":"`+text+`"}`)
	}
	for _, c := range []struct{ country, trunks, text, want string }{
		{"DE", "", "0151 12345678", mobile},
		{"DE", "", "(0151) 123-45678", mobile},
		{"DE", "CH", "079 123 45 67", "+41791234567"}, // the trunk's country counts first
		{"", "CH", "079/1234567", "+41791234567"},
		{"", "", "0049 151 12345678", mobile},
		{"", "", "+49 151 12345678", mobile},
	} {
		to(c.country, c.trunks, c.text).is(201, "")
		if got := b.ports.dialouts[len(b.ports.dialouts)-1].To.E164(); got != c.want {
			t.Errorf("%q in %s, trunk of %s, is called as %s", c.text, c.country, c.trunks, got)
		}
	}
	if a := to("", "", "0151 12345678").is(422, "validation_failed", "to_number invalid_number"); !strings.Contains(
		string(a.body), "with a leading plus, as in +49") {
		t.Errorf("no example: %s", a.body)
	}
	if a := to("DE", "", "12").is(422, "validation_failed", "to_number invalid_number"); !strings.Contains(
		string(a.body), "has this length") {
		t.Errorf("12 is not told from another way to write: %s", a.body)
	}
	to("DE", "", "110").is(422, "validation_failed")
	to("DE", "", "0151 12345678; 1").is(422, "validation_failed", "to_number invalid_number")
	to("DE", "", strings.Repeat("1", 1000)).is(422, "validation_failed", "to_number invalid_number")
	if len(b.ports.dialouts) != 7 { // none of those that were refused
		t.Errorf("%d calls", len(b.ports.dialouts))
	}
}

func TestALiveCallIsEndedByAnOperator(t *testing.T) {
	b := newBench(t)
	path := "/api/v1/calls/" + string(theCall) + "/hang-up"
	b.byAdmin("POST", path, "").is(200, "")
	b.byKey("POST", path, "").is(200, "")
	if n := len(b.ports.hungUp); n != 2 || b.ports.hungUpBy.Key == "" {
		t.Errorf("%d hang-ups, the last by %+v", n, b.ports.hungUpBy)
	}
	b.do("POST", path, "").is(401, "unauthorized")
	b.do("POST", path, "", "X-API-Key", b.addKey(func(k *engine.APIKey) { k.Scopes = []string{"read"} })).is(403,
		"scope_missing")
	b.byAdmin("POST", "/api/v1/calls/CAx/hang-up", "").is(404, "call_not_found")
}
