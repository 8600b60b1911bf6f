package http

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/http/wire"
)

// row is one expected response to a request, from the specification and the rulebook (spec: Errors;
// SEMANTICS §10–12).
type row struct {
	says   string
	body   string // "" means the valid one
	who    string // header and value; "" means the unrestricted key
	given  func(*bench)
	path   string // "" means the route's own
	more   []string
	status int
	code   string
}

// operation is a route with all its responses in the table.
type operation struct {
	route string // in openapi.yaml
	path  string
	good  string
	rows  []row
}

const (
	noKey    = "-"
	hangPath = "/2010-04-01/Accounts/{account}/Calls/{call}.json"
)

// fails makes the engine refuse with an error.
func fails(err error) func(*bench) { return func(b *bench) { b.ports.fail = err } }

// everyRoute returns the rows that all routes for keys share.
func everyRoute(good string) []row {
	return []row{
		{says: "key missing", who: noKey, status: 401, code: "unauthorized"},
		{says: "key malformed", who: "X-API-Key vx_short", status: 401, code: "unauthorized"},
		{says: "key unknown", who: "X-API-Key vx_" + strings.Repeat("a", 32), status: 401, code: "unauthorized"},
		{says: "key inactive", who: "X-API-Key inactive", status: 401, code: "unauthorized"},
		{says: "key expired", who: "X-API-Key expired", status: 401, code: "unauthorized"},
		{says: "key without the scope", who: "X-API-Key read", status: 403, code: "scope_missing"},
		{says: "faster than the key's limit", given: (*bench).slowKeys, status: 429, code: "rate_limited"},
		{says: "longer than a body may be", body: `{"x":"` + strings.Repeat("x", 1<<20) + `"}`, status: 413,
			code: "body_too_large"},
		{says: "not JSON by its type", body: good, more: []string{"Content-Type", "text/plain"}, status: 415,
			code: "unsupported_media_type"},
		{says: "not JSON", body: `{"a":`, status: 422, code: "malformed_json"},
		{says: "no object", body: `[1]`, status: 422, code: "validation_failed"},
		{says: "nothing in it", body: `{}`, status: 422, code: "validation_failed"},
		{says: "a field that there is not", body: strings.Replace(good, "{", `{"colour":"red",`, 1), status: 422,
			code: "validation_failed"},
		{says: "the fault is the dialler's", given: fails(errBoom), status: 500, code: "internal"},
		{says: "the database is away", given: fails(engine.Unavailable("database_unavailable", "Away.", time.Second)),
			status: 503, code: "database_unavailable"},
		{says: "past its deadline", given: fails(engine.Unavailable("deadline_passed", "Too late.", time.Second)),
			status: 503, code: "deadline_passed"},
	}
}

// repeated returns the rows of an Idempotency-Key.
func repeated(good string) []row {
	key := []string{"Idempotency-Key", "k"}
	first := func(body string) func(*bench) {
		return func(b *bench) {
			if a := b.byKey("POST", b.path, body, key...); a.status >= 300 {
				b.t.Fatalf("the first answer is %d %s", a.status, a.body)
			}
		}
	}
	other := strings.TrimSuffix(good, "}") + " }"
	return []row{
		{says: "repeat with another body", more: key, given: first(other), status: 422, code: "idempotency_mismatch"},
		{says: "a key that is none", more: []string{"Idempotency-Key", strings.Repeat("k", 256)}, status: 422,
			code: "idempotency_key_invalid"},
	}
}

func operations() []operation {
	dialout := `{"bot_id":"bot_1","to_number":"` + mobile + `"}`
	to := func(fields string) string { return strings.TrimSuffix(dialout, "}") + fields + "}" }
	trigger := `{"campaign_id":"cmp_1","mobile":"` + mobile + `"}`
	abroad := strings.Replace(trigger, mobile, "+436641234567", 1)
	exclude := `{"campaign_id":"cmp_1","mobile":"` + mobile + `"}`
	whom := func(fields string) string { return `{"campaign_id":"cmp_1"` + fields + `}` }
	call := "/api/v1/calls/" + string(theCall)
	none := "/api/v1/calls/CA" + strings.Repeat("cd", 16)
	bot := "Authorization Basic " + base64.StdEncoding.EncodeToString([]byte(theAccount+":bot-secret"))
	twilio := strings.NewReplacer("{account}", theAccount, "{call}", string(theCall)).Replace(hangPath)
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}

	return []operation{
		{"/api/v1/sip/dialout", dialoutPath, dialout, slices.Concat(everyRoute(dialout), repeated(dialout), []row{
			{says: "the call is placed", status: 201},
			{says: "it is stored for later", status: 202,
				body: to(`,"not_before":"` + testAt.Add(time.Hour).Format(time.RFC3339) + `"`)},
			{says: "with an administrator's token", who: "Authorization admin", status: 201},
			{says: "with variables", body: to(`,"variables":{"a":"b"}`), status: 201},
			{says: "with connected_event", body: to(`,"connected_event":{"a":"b"}`), status: 201},
			{says: "a token that is none", who: "Authorization Bearer x.y.z", status: 401, code: "unauthorized"},
			{says: "an operator's token", who: "Authorization usr_oper", status: 403, code: "role_too_low"},
			{says: "a viewer's token", who: "Authorization usr_view", status: 403, code: "role_too_low"},
			{says: "unknown bot", given: fails(engine.NotFound("bot_not_found", "No such bot.")), status: 404,
				code: "bot_not_found"},
			{says: "inactive bot", given: fails(engine.Conflict("bot_inactive", "Not active.")), status: 409,
				code: "bot_inactive"},
			{says: "suppressed", given: fails(engine.Conflict("suppressed", "Suppressed.")), status: 409, code: "suppressed"},
			{says: "both variables and connected_event", body: to(`,"variables":{},"connected_event":{}`), status: 422,
				code: "validation_failed"},
			{says: "a value that is no string", body: to(`,"variables":{"a":1}`), status: 422, code: "validation_failed"},
			{says: "no bot", body: `{"to_number":"` + mobile + `"}`, status: 422, code: "validation_failed"},
			{says: "number without a plus", body: `{"bot_id":"bot_1","to_number":"4915112345678"}`, status: 422,
				code: "validation_failed"},
			{says: "a variable of the bot is missing", given: fails(engine.Invalid("missing_variables", "Needs name.")),
				status: 422, code: "missing_variables"},
			{says: "none of our numbers", given: fails(engine.Invalid("from_number_unknown", "Not ours.")), status: 422,
				code: "from_number_unknown"},
			{says: "destination not allowed", body: strings.Replace(dialout, mobile, "+436641234567", 1), status: 422,
				code: "destination_not_allowed"},
			{says: "no capacity", given: fails(engine.Unavailable("no_capacity", "No seat.", 5*time.Second)), status: 503,
				code: "no_capacity"},
		})},
		{"/api/v1/campaigns/trigger", triggerPath, trigger, slices.Concat(everyRoute(trigger), repeated(trigger), []row{
			{says: "dialled or queued", status: 200},
			{says: "with metadata", body: strings.TrimSuffix(trigger, "}") + `,"metadata":{"a":1}}`, status: 200},
			{says: "a token of a user", who: "Authorization admin", status: 401, code: "unauthorized"},
			{says: "key without the campaign", who: "X-API-Key elsewhere", status: 403, code: "campaign_not_allowed"},
			{says: "that comes before the body", who: "X-API-Key elsewhere", body: `{"campaign_id":"cmp_1","mobile":7}`,
				status: 403, code: "campaign_not_allowed"},
			{says: "unknown campaign", given: fails(wire.ErrNoCampaign), status: 404, code: "campaign_not_found"},
			{
				says:   "the body comes before that",
				body:   `{"campaign_id":"cmp_1"}`,
				given:  fails(wire.ErrNoCampaign),
				status: 422,
				code:   "validation_failed",
			},
			{
				says:   "out of hours of a single-day campaign",
				given:  fails(engine.Conflict("outside_window", "Closed.")),
				status: 409,
				code:   "outside_window",
			},
			{
				says:   "draft, completed or failed",
				given:  fails(engine.Conflict("campaign_not_running", "Draft.")),
				status: 409,
				code:   "campaign_not_running",
			},
			{
				says:   "excluded",
				given:  fails(engine.Conflict("contact_excluded", "Excluded.")),
				status: 409,
				code:   "contact_excluded",
			},
			{
				says:   "suppressed",
				given:  fails(engine.Conflict("suppressed", "Suppressed.")),
				status: 409,
				code:   "suppressed",
			},
			{
				says:   "no number",
				body:   `{"campaign_id":"cmp_1","mobile":"0151"}`,
				status: 422,
				code:   "validation_failed",
			},
			{
				says:   "metadata that is no object",
				body:   strings.TrimSuffix(trigger, "}") + `,"metadata":"x"}`,
				status: 422,
				code:   "validation_failed",
			},
			{says: "destination not allowed", body: abroad, status: 422, code: "destination_not_allowed"},
		})},
		{"/api/v1/contacts/exclude", excludePath, exclude, slices.Concat(everyRoute(exclude), repeated(exclude), []row{
			{says: "by number", status: 200},
			{says: "by one key", body: whom(`,"match":{"a":"1"}`), status: 200},
			{says: "by two keys", body: whom(`,"match":[{"key":"a","value":"1"},{"key":"b","value":"2"}]`), status: 200},
			{says: "a token of a user", who: "Authorization admin", status: 401, code: "unauthorized"},
			{says: "key without the campaign", who: "X-API-Key elsewhere", status: 403, code: "campaign_not_allowed"},
			{says: "unknown campaign", given: fails(wire.ErrNoCampaign), status: 404, code: "campaign_not_found"},
			{says: "the same key still runs",
				given: fails(engine.TemporaryConflict("idempotency_in_progress", "Runs.", time.Second)), status: 409,
				code: "idempotency_in_progress"},
			{says: "neither mobile nor match", body: whom(``), status: 422, code: "validation_failed"},
			{says: "both", body: whom(`,"mobile":"` + mobile + `","match":{"a":"1"}`), status: 422, code: "validation_failed"},
			{says: "three keys", body: whom(`,"match":{"a":"1","b":"2","c":"3"}`), status: 422, code: "validation_failed"},
			{says: "no key", body: whom(`,"match":{}`), status: 422, code: "validation_failed"},
		})},
		{"/api/v1/calls/{call_id}/hang-up", call + "/hang-up", "", []row{
			{says: "the call is being ended", status: 200},
			{says: "an operator's token", who: "Authorization usr_oper", status: 200},
			{says: "nobody", who: noKey, status: 401, code: "unauthorized"},
			{says: "key without the scope", who: "X-API-Key read", status: 403, code: "scope_missing"},
			{says: "a viewer's token", who: "Authorization usr_view", status: 403, code: "role_too_low"},
			{says: "unknown call", path: none + "/hang-up", status: 404, code: "call_not_found"},
			{says: "of a campaign that the key may not use", who: "X-API-Key elsewhere", status: 404, code: "call_not_found"},
			{says: "the call is over", given: func(b *bench) { b.ports.hangFail = engine.NotFound("call_ended", "Over.") },
				status: 404, code: "call_ended"},
			{says: "a scheduled one is being placed just now", status: 409, code: "dialout_placed",
				given: func(b *bench) { b.ports.hangFail = engine.Conflict(engine.CodeDialoutPlaced, "") }},
			{says: "faster than the key's limit", given: (*bench).slowKeys, status: 429, code: "rate_limited"},
			{says: "the fault is the dialler's", given: fails(errBoom), status: 500, code: "internal"},
			{says: "the database is away", given: fails(engine.Unavailable("database_unavailable", "Away.", time.Second)),
				status: 503, code: "database_unavailable"},
		}},
		{hangPath, twilio, "Status=completed", []row{
			{says: "the call is being ended", who: bot, more: form, status: 200},
			{says: "by its other name", who: bot, more: form, body: "Status=canceled", status: 200},
			{says: "another status", who: bot, more: form, body: "Status=busy", status: 400, code: "20001"},
			{says: "nobody", who: noKey, more: form, status: 401, code: "20003"},
			{says: "another password", who: "Authorization Basic " + base64.StdEncoding.EncodeToString([]byte(theAccount+":x")),
				more: form, status: 401, code: "20003"},
			{says: "unknown call", who: bot, more: form, path: strings.Replace(twilio, string(theCall),
				"CA"+strings.Repeat("cd", 16), 1), status: 404, code: "20404"},
			{says: "the call is over", who: bot, more: form, given: func(b *bench) { b.ports.attempt.State = attempt.Ended },
				status: 404, code: "20404"},
			{says: "longer than a body may be", who: bot, more: form, body: "Status=completed&x=" + strings.Repeat("x", 1<<20),
				status: 413, code: "20413"},
			{says: "the fault is the dialler's", who: bot, more: form, given: fails(errBoom), status: 500, code: "20500"},
			{says: "the database is away", who: bot, more: form,
				given: fails(engine.Unavailable("database_unavailable", "Away.", time.Second)), status: 503, code: "20503"},
		}},
		{"/api/v1/calls/{call_id}/result", call + "/result", `{"disposition":"sold"}`,
			slices.Concat(slices.DeleteFunc(everyRoute(`{"disposition":"sold"}`), func(r row) bool {
				// Every field of a result is optional, and unknown ones are stored.
				return r.says == "nothing in it" || r.says == "a field that there is not"
			}), []row{
				{says: "a field that there is not", body: `{"disposition":"sold","outcome":"interested"}`, status: 200},
				{says: "a wrong value beside it", body: `{"disposition":7,"outcome":"interested"}`, status: 422,
					code: "validation_failed"},
				{says: "do_not_call that not every node confirms", body: `{"do_not_call":true}`,
					given: fails(engine.Unavailable("suppression_unconfirmed", "Not confirmed.", time.Second)), status: 503,
					code: "suppression_unconfirmed"},
				{says: "stored, by the call's token", who: "Authorization Bearer call-token", status: 200},
				{says: "stored, by a key", status: 200},
				{says: "kept while the database is away", given: func(b *bench) { b.ports.resultLater = true }, status: 202},
				{says: "nothing in it", body: `{}`, status: 200},
				{says: "another token", who: "Authorization Bearer wrong", status: 401, code: "unauthorized"},
				{says: "a token of a user", who: "Authorization admin", status: 401, code: "unauthorized"},
				{says: "unknown call", path: none + "/result", status: 404, code: "call_not_found"},
				{says: "of an unknown call with a token", who: "Authorization Bearer call-token", path: none + "/result",
					status: 401, code: "unauthorized"},
				{says: "the call still rings", given: func(b *bench) {
					b.ports.resultFail = engine.Conflict("call_not_answered", "Not yet.")
				}, status: 409, code: "call_not_answered"},
				{says: "a callback without an offset", body: `{"callback":{"requested":true,"at":"2030-03-02T09:00:00"}}`,
					status: 422, code: "validation_failed"},
				{says: "an address that is none", body: `{"recording_url":"file:///x"}`, status: 422, code: "validation_failed"},
			})},
	}
}

// Every row of the tables of dialout, trigger, exclude, hang-up and result is tested, and every
// response that openapi.yaml lists for them has a row.
func TestEveryRowOfTheTables(t *testing.T) {
	doc, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range operations() {
		seen := map[string]bool{}
		for _, r := range op.rows {
			seen[strconv.Itoa(r.status)] = true
			t.Run(op.route+" "+strconv.Itoa(r.status)+" "+r.says, func(t *testing.T) { r.ask(newBench(t), &op) })
		}
		named := slices.Sorted(maps.Keys(doc.Paths.Value(op.route).Post.Responses.Map()))
		if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, named) {
			t.Errorf("%s: rows for %v, openapi.yaml names %v", op.route, got, named)
		}
	}
}

func (r *row) ask(b *bench, op *operation) {
	b.t.Helper()
	path, body := op.path, op.good
	if r.path != "" {
		path = r.path
	}
	if r.body != "" {
		body = r.body
	}
	b.path = path
	head := slices.Clone(r.more)
	name, value, _ := strings.Cut(r.who, " ")
	past := b.clock.Now().Add(-time.Second)
	switch {
	case r.who == noKey:
	case r.who == "":
		head = append(head, "X-API-Key", b.key)
	case value == "inactive":
		head = append(head, name, b.addKey(func(k *engine.APIKey) { k.Active = false }))
	case value == "expired":
		head = append(head, name, b.addKey(func(k *engine.APIKey) { k.ExpiresAt = &past }))
	case value == "read":
		head = append(head, name, b.addKey(func(k *engine.APIKey) { k.Scopes = []string{"read"} }))
	case value == "elsewhere":
		head = append(head, name, b.addKey(func(k *engine.APIKey) { k.Campaigns = []engine.CampaignID{"cmp_2"} }))
	case value == "admin":
		head = append(head, name, "Bearer "+b.admin)
	case strings.HasPrefix(value, "usr_"):
		head = append(head, name, "Bearer "+b.token(engine.UserID(value)))
	default:
		head = append(head, name, value)
	}
	if r.given != nil {
		r.given(b)
	}
	a := b.do("POST", path, body, head...)
	if strings.HasPrefix(path, wire.TwilioPrefix) {
		if a.is(r.status, ""); r.code != "" && a.get("code") != asNumber(r.code) {
			b.t.Errorf("%s", a.body)
		}
		return
	}
	a.is(r.status, r.code)
	switch r.status {
	case 401:
		if a.header.Get("WWW-Authenticate") == "" {
			b.t.Error("no WWW-Authenticate")
		}
	case 429, 503:
		if a.header.Get("Retry-After") == "" {
			b.t.Error("no Retry-After")
		}
	}
}

func asNumber(s string) any {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil
	}
	return n
}
