package http

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/http/wire"
)

// authorisation lists for every route the scope that opens it to keys, and the role that opens it
// to users; "-" is none. What a bot does with its own call is also open to the call's token; "call"
// means to that token only; "open" is open to everyone.
const authorisation = `
POST   /api/v1/sip/dialout                                       dialout admin
POST   /api/v1/campaigns/trigger                                 trigger -
POST   /api/v1/contacts/exclude                                  exclude -

GET    /api/v1/calls                                             read viewer
GET    /api/v1/calls/{call_id}                                   read,dialout viewer
DELETE /api/v1/calls/{call_id}                                   dialout operator
POST   /api/v1/calls/{call_id}/hang-up                           dialout operator
GET    /api/v1/calls/{call_id}/ladder                            read viewer
POST   /api/v1/calls/{call_id}/transfer                          results -
GET    /api/v1/calls/{call_id}/transfer                          results -
POST   /api/v1/calls/{call_id}/digits                            dialout -
POST   /api/v1/calls/{call_id}/result                            results -
POST   /2010-04-01/Accounts/{account}/Calls/{call}.json          call

POST   /api/v1/auth/token                                        open
POST   /api/v1/session                                           open
GET    /api/v1/session                                           session
DELETE /api/v1/session                                           session
PUT    /api/v1/password                                          - viewer
GET    /api/v1/api-keys                                          - admin
POST   /api/v1/api-keys                                          - admin
PATCH  /api/v1/api-keys/{key_id}                                 - admin
DELETE /api/v1/api-keys/{key_id}                                 - admin
GET    /api/v1/users                                             - admin
POST   /api/v1/users                                             - admin
PATCH  /api/v1/users/{user_id}                                   - admin

GET    /api/v1/campaigns                                         - viewer
POST   /api/v1/campaigns                                         - operator
GET    /api/v1/campaigns/{campaign_id}                           read viewer
PATCH  /api/v1/campaigns/{campaign_id}                           - operator
DELETE /api/v1/campaigns/{campaign_id}                           - operator
GET    /api/v1/campaigns/{campaign_id}/preflight                 read viewer
POST   /api/v1/campaigns/{campaign_id}/simulate                  - viewer
GET    /api/v1/campaigns/{campaign_id}/windows                   - viewer
GET    /api/v1/campaigns/{campaign_id}/live                      read viewer
GET    /api/v1/live                                              - viewer
GET    /api/v1/campaigns/{campaign_id}/contacts                  read viewer
GET    /api/v1/campaigns/{campaign_id}/contacts/{contact_id}     read viewer
POST   /api/v1/campaigns/{campaign_id}/contacts/{contact_id}/exclude   - operator
POST   /api/v1/campaigns/{campaign_id}/contacts/{contact_id}/call-back - operator
POST   /api/v1/campaigns/{campaign_id}/contacts/{contact_id}/retry-now - operator
POST   /api/v1/campaigns/{campaign_id}/contacts                  - operator
POST   /api/v1/campaigns/{campaign_id}/contacts:batch            trigger operator
GET    /api/v1/campaigns/{campaign_id}/attempts.csv              read viewer
GET    /api/v1/campaigns/{campaign_id}/runs                      read viewer
GET    /api/v1/campaigns/{campaign_id}/series                    read viewer
GET    /api/v1/campaigns/{campaign_id}/back-tests                read viewer
GET    /api/v1/campaigns/{campaign_id}/best-hour                 read viewer
GET    /api/v1/campaigns/{campaign_id}/breakdown                 read viewer
GET    /api/v1/campaigns/{campaign_id}/capacity                  read viewer
GET    /api/v1/campaigns/{campaign_id}/runs/{run}/evidence       - admin
POST   /api/v1/campaigns/{campaign_id}/clone                     - operator
GET    /api/v1/campaigns/{campaign_id}/activity                  - viewer
GET    /api/v1/activity                                          - viewer
GET    /api/v1/campaigns/{campaign_id}/exclusions                read viewer
GET    /api/v1/campaigns/{campaign_id}/exclusions.csv            read viewer
POST   /api/v1/campaigns/{campaign_id}/exclusions                - operator
POST   /api/v1/campaigns/{campaign_id}/exclusions/lift           - operator
POST   /api/v1/campaigns/{campaign_id}/exclusions/imports        - operator
GET    /api/v1/campaigns/{campaign_id}/imports                   - viewer
POST   /api/v1/campaigns/{campaign_id}/imports                   - operator
GET    /api/v1/campaigns/{campaign_id}/imports/{import_id}       - viewer
DELETE /api/v1/campaigns/{campaign_id}/imports/{import_id}       - operator
GET    /api/v1/campaigns/{campaign_id}/imports/{import_id}/live  - viewer
GET    /api/v1/campaigns/{campaign_id}/imports/{import_id}/rejected - viewer
GET    /api/v1/campaigns/{campaign_id}/imports/{import_id}/rejected.csv - viewer
POST   /api/v1/campaigns/{campaign_id}/start                     - operator
POST   /api/v1/campaigns/{campaign_id}/pause                     - operator
POST   /api/v1/campaigns/{campaign_id}/resume                    - operator
POST   /api/v1/campaigns/{campaign_id}/stop                      - operator
POST   /api/v1/campaigns/{campaign_id}/restart                   - operator
POST   /api/v1/campaigns/{campaign_id}/cancel-restart            - operator

GET    /api/v1/recordings/{attempt_id}                           read admin
DELETE /api/v1/recordings/{attempt_id}                           - admin
GET    /api/v1/amd/reviews                                       - viewer
GET    /api/v1/amd/reviews/{attempt_id}                          - viewer
PUT    /api/v1/amd/reviews/{attempt_id}                          - admin
GET    /api/v1/amd/reviews/{attempt_id}/audio                    - admin
GET    /api/v1/amd/confusion                                     - viewer
GET    /api/v1/amd/export.zip                                    - admin
GET    /api/v1/voicemails                                        - viewer
POST   /api/v1/voicemails                                        - operator
GET    /api/v1/voicemails/{voicemail_id}/audio                   - viewer
DELETE /api/v1/voicemails/{voicemail_id}                         - operator
GET    /api/v1/suppressions                                      - viewer
POST   /api/v1/suppressions                                      exclude operator
POST   /api/v1/suppressions/imports                              - operator
DELETE /api/v1/suppressions/{number}                             - admin
DELETE /api/v1/persons/{number}                                  - admin

GET    /api/v1/cadences                                          - viewer
GET    /api/v1/cadences/{cadence_id}                             - viewer
PUT    /api/v1/cadences/{cadence_id}                             - operator
DELETE /api/v1/cadences/{cadence_id}                             - operator
POST   /api/v1/cadences/preview                                  - viewer
GET    /api/v1/calendars                                         - viewer
GET    /api/v1/calendars/choices                                 - viewer
GET    /api/v1/calendars/{calendar_id}                           - viewer
PUT    /api/v1/calendars/{calendar_id}                           - operator
DELETE /api/v1/calendars/{calendar_id}                           - operator
GET    /api/v1/calendars/{calendar_id}/windows                   - viewer

GET    /api/v1/bots                                              - viewer
PUT    /api/v1/bots/{bot_id}                                     - admin
DELETE /api/v1/bots/{bot_id}                                     - admin
GET    /api/v1/trunks                                            - viewer
GET    /api/v1/trunks/{trunk_id}                                 - viewer
PUT    /api/v1/trunks/{trunk_id}                                 - admin
DELETE /api/v1/trunks/{trunk_id}                                 - admin
POST   /api/v1/trunks/{trunk_id}/test                            - admin
GET    /api/v1/numbers                                           - viewer
PUT    /api/v1/numbers/{number}                                  - admin

GET    /api/v1/webhooks                                          - operator
POST   /api/v1/webhooks                                          - admin
GET    /api/v1/webhooks/{webhook_id}                             - operator
PATCH  /api/v1/webhooks/{webhook_id}                             - admin
DELETE /api/v1/webhooks/{webhook_id}                             - admin
POST   /api/v1/webhooks/{webhook_id}/rotate-secret               - admin
POST   /api/v1/webhooks/{webhook_id}/test                        - admin
POST   /api/v1/webhooks/{webhook_id}/replay                      - admin
GET    /api/v1/webhooks/{webhook_id}/deliveries                  - operator
POST   /api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/replay - admin

GET    /api/v1/health                                            - viewer
GET    /healthz                                                  open
GET    /readyz                                                   open
GET    /metrics                                                  open
GET    /api/openapi.yaml                                         open
GET    /api/openapi.json                                         open
GET    /api/docs                                                 open
`

// TestEveryRouteForEverybody requests every route with every kind of credential: who gets 401, who
// 403, and who is let in.
func TestEveryRouteForEverybody(t *testing.T) {
	b := newBench(t, func(c *Config) { c.KeyRate = 1e9 })
	past := testAt.Add(-time.Second)
	keys := map[string]string{
		"an inactive key": b.addKey(func(k *engine.APIKey) { k.Active = false }),
		"an expired key":  b.addKey(func(k *engine.APIKey) { k.ExpiresAt = &past }),
		"an unknown key":  "vx_" + strings.Repeat("a", 32),
		"a malformed key": "vx_short",
	}
	for _, scope := range wire.Scopes {
		keys[scope] = b.addKey(func(k *engine.APIKey) { k.Scopes = []string{scope} })
	}
	tokens := map[string]string{"viewer": b.token("usr_view"), "operator": b.token("usr_oper"), "admin": b.admin}
	ranks := []string{"viewer", "operator", "admin"}
	listed := map[string]bool{}
	for line := range strings.Lines(authorisation) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		method, path, rule := words[0], words[1], words[2:]
		listed[method+" "+path] = true
		var at []string
		for part := range strings.SplitSeq(path, "/") {
			if open, end := strings.IndexByte(part, '{'), strings.IndexByte(part, '}'); open >= 0 {
				part = part[:open] + "nothing" + part[end+1:]
			}
			at = append(at, part)
		}
		target := strings.Join(at, "/")
		ask := func(who string, want int, credentials ...string) { // want: 401, 403, or 0 for anything else
			t.Helper()
			head := method + " " + target + " HTTP/1.1\r\nHost: api.test\r\n"
			for i := 0; i < len(credentials); i += 2 {
				head += credentials[i] + ": " + credentials[i+1] + "\r\n"
			}
			a, _, ok := b.direct([]byte(head + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"))
			if !ok {
				t.Fatalf("%s %s was not read", method, target)
			}
			b.ports.mu.Lock()
			b.ports.users, b.ports.keys = b.ports.users[:3], b.ports.keys[:1+len(keys)-2]
			b.ports.mu.Unlock()
			got := a.status
			if got != 401 && got != 403 {
				got = 0
			}
			if got != want {
				t.Errorf("%s %s for %s: %d %s, want %d", method, path, who, a.status, a.body, want)
			}
		}
		switch rule[0] {
		case "open":
			ask("nobody", 0)
			continue
		case "session":
			for _, rank := range ranks {
				ask(rank+" with a token", 401, "Authorization", "Bearer "+tokens[rank])
			}
			ask("nobody", 401)
			continue
		case "call":
			ask("nobody", 401)
			ask("an admin", 401, "Authorization", "Bearer "+tokens["admin"])
			for _, scope := range wire.Scopes {
				ask("a key of "+scope, 401, "X-API-Key", keys[scope])
			}
			continue
		}
		opens := strings.Split(rule[0], ",")
		ask("nobody", 401)
		for name, key := range keys {
			switch {
			case slices.Contains(opens, name):
				ask("a key of "+name, 0, "X-API-Key", key)
			case slices.Contains(wire.Scopes, name) && opens[0] != "-":
				ask("a key of "+name, 403, "X-API-Key", key)
			default:
				ask(name, 401, "X-API-Key", key)
			}
		}
		ask("a token that is none", 401, "Authorization", "Bearer abc")
		for i, rank := range ranks {
			want := 0
			if least := slices.Index(ranks, rule[1]); least < 0 {
				want = 401
			} else if i < least {
				want = 403
			}
			ask("a "+rank, want, "Authorization", "Bearer "+tokens[rank])
		}
	}
	for _, rt := range b.server.routes {
		if !listed[rt.method+" "+rt.path] {
			t.Errorf("%s %s is not in the table: who may use it?", rt.method, rt.path)
		}
	}
	if len(listed) != len(b.server.routes) {
		t.Errorf("%d routes are in the table, %d there are", len(listed), len(b.server.routes))
	}
}
