package http

import (
	"strings"
	"testing"
)

// FuzzBodies checks every answer to a body against the contract, on all other routes with a body
// except log-ins, which are slow on purpose: any input is either carried out or refused, and never
// causes an internal error.
func FuzzBodies(f *testing.F) {
	b := newBench(f)
	routes := []struct{ method, path string }{
		{"POST", "/api/v1/sip/dialout"}, {"POST", "/api/v1/contacts/exclude"}, {"POST",
			"/api/v1/calls/" + string(theCall) + "/result"},
		{"POST", "/api/v1/calls/" + string(theCall) + "/transfer"}, {"POST", "/api/v1/calls/" + string(theCall) + "/digits"},
		{"POST", "/api/v1/calls/" + string(theCall) + "/hang-up"}, {"POST", "/api/v1/api-keys"},
		{"POST", "/api/v1/campaigns"},
		{"POST", campaignPath + "/contacts"}, {"POST", campaignPath + "/clone"}, {"POST", "/api/v1/suppressions"},
		{"PUT", "/api/v1/bots/bot_1"}, {"PUT", "/api/v1/trunks/carrier"}, {"POST", "/api/v1/trunks/carrier/test"},
		{"PUT", "/api/v1/numbers/+493023125001"},
	}
	for i, s := range []string{`{"phone_number":"+4915112345678","bot_id":"bot_1"}`,
		`{"contacts":[{"phone_number":"+4915112345678"}]}`,
		`{"disposition":"x","callback":{"requested":true,"at":"2030-03-01T12:00:00Z"},` +
			`"variables":{"a":1},"do_not_call":true}`,
		`{"target":"sip:a@example.org"}`, `{"digits":"12#"}`, `{}`, `{"name":"x","scopes":["trigger"]}`,
		`{"name":"c","bot_id":"bot_1","concurrency":1}`,
		`{"contacts":[{"phone_number":"+4915112345678","variables":{"a":"b"}}]}`, `{"name":"x"}`,
		`{"phone_numbers":["+4915112345678"]}`,
		`{"endpoints":["wss://bot.example"],"seats":2}`,
		`{"host":"192.0.2.1","media":{"codecs":["PCMU"]},"extra_headers":[{"name":"X-A","value":"b"}]}`,
		`{"to":"+4915112345678","from":"+493023125000"}`, `{"hour_cap":20}`, `[`, `null`, `{"":{"":[]}}`} {
		f.Add(uint8(i), s)
	}
	f.Fuzz(func(t *testing.T, which uint8, body string) {
		if len(body) > 16<<10 {
			return
		}
		b.t = t
		r := routes[int(which)%len(routes)]
		a := b.directly(r.method, r.path, body, "Authorization", "Bearer "+b.admin)
		if a.status >= 500 || a.status < 200 || a.status >= 300 && !strings.Contains(string(a.body), `"code":`) {
			t.Fatalf("%s %s %q: %d %s", r.method, r.path, body, a.status, a.body)
		}
	})
}
