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
GET    /api/v1/calls/{call_id}                                   calls:read viewer
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
GET    /api/v1/oidc                                              open
GET    /api/v1/oidc/log-in                                       open
GET    /api/v1/oidc/callback                                     open
GET    /api/v1/session                                           session
DELETE /api/v1/session                                           session
PUT    /api/v1/password                                          - viewer
GET    /api/v1/api-keys                                          keys admin
POST   /api/v1/api-keys                                          keys admin
PATCH  /api/v1/api-keys/{key_id}                                 keys admin
POST   /api/v1/api-keys/{key_id}/rotate-secret                   keys admin
DELETE /api/v1/api-keys/{key_id}                                 keys admin
GET    /api/v1/users                                             users admin
POST   /api/v1/users                                             users admin
PATCH  /api/v1/users/{user_id}                                   users admin

GET    /api/v1/campaigns                                         campaigns:read viewer
POST   /api/v1/campaigns                                         campaigns operator
GET    /api/v1/campaigns/{campaign_id}                           campaigns:read viewer
PATCH  /api/v1/campaigns/{campaign_id}                           campaigns operator
DELETE /api/v1/campaigns/{campaign_id}                           campaigns operator
GET    /api/v1/campaigns/{campaign_id}/preflight                 campaigns:read viewer
POST   /api/v1/campaigns/{campaign_id}/simulate                  campaigns:read viewer
GET    /api/v1/campaigns/{campaign_id}/windows                   campaigns:read viewer
GET    /api/v1/campaigns/{campaign_id}/live                      campaigns:read viewer
GET    /api/v1/live                                              campaigns:read viewer
GET    /api/v1/campaigns/{campaign_id}/contacts                  read viewer
GET    /api/v1/campaigns/{campaign_id}/contacts/{contact_id}     read viewer
POST   /api/v1/campaigns/{campaign_id}/contacts/{contact_id}/exclude campaigns operator
POST   /api/v1/campaigns/{campaign_id}/contacts/{contact_id}/call-back campaigns operator
POST   /api/v1/campaigns/{campaign_id}/contacts/{contact_id}/retry-now campaigns operator
POST   /api/v1/campaigns/{campaign_id}/contacts                  imports operator
POST   /api/v1/campaigns/{campaign_id}/contacts:batch            trigger operator
GET    /api/v1/campaigns/{campaign_id}/attempts.csv              read viewer
GET    /api/v1/campaigns/{campaign_id}/runs                      campaigns:read viewer
GET    /api/v1/campaigns/{campaign_id}/series                    campaigns:read viewer
GET    /api/v1/campaigns/{campaign_id}/back-tests                campaigns:read viewer
GET    /api/v1/campaigns/{campaign_id}/best-hour                 campaigns:read viewer
GET    /api/v1/campaigns/{campaign_id}/breakdown                 campaigns:read viewer
GET    /api/v1/campaigns/{campaign_id}/capacity                  campaigns:read viewer
GET    /api/v1/campaigns/{campaign_id}/runs/{run}/evidence       evidence admin
POST   /api/v1/campaigns/{campaign_id}/clone                     campaigns operator
GET    /api/v1/campaigns/{campaign_id}/activity                  activity viewer
GET    /api/v1/activity                                          activity viewer
GET    /api/v1/campaigns/{campaign_id}/exclusions                read viewer
GET    /api/v1/campaigns/{campaign_id}/exclusions.csv            read viewer
POST   /api/v1/campaigns/{campaign_id}/exclusions                exclusions operator
POST   /api/v1/campaigns/{campaign_id}/exclusions/lift           exclusions operator
POST   /api/v1/campaigns/{campaign_id}/exclusions/imports        exclusions operator
GET    /api/v1/campaigns/{campaign_id}/imports                   imports viewer
POST   /api/v1/campaigns/{campaign_id}/imports                   imports operator
GET    /api/v1/campaigns/{campaign_id}/imports/{import_id}       imports viewer
DELETE /api/v1/campaigns/{campaign_id}/imports/{import_id}       imports operator
GET    /api/v1/campaigns/{campaign_id}/imports/{import_id}/live  imports viewer
GET    /api/v1/campaigns/{campaign_id}/imports/{import_id}/undo  imports viewer
POST   /api/v1/campaigns/{campaign_id}/imports/{import_id}/undo  imports operator
GET    /api/v1/campaigns/{campaign_id}/imports/{import_id}/rejected imports viewer
GET    /api/v1/campaigns/{campaign_id}/imports/{import_id}/rejected.csv imports viewer
POST   /api/v1/campaigns/{campaign_id}/start                     campaigns operator
POST   /api/v1/campaigns/{campaign_id}/pause                     campaigns operator
POST   /api/v1/campaigns/{campaign_id}/resume                    campaigns operator
POST   /api/v1/campaigns/{campaign_id}/stop                      campaigns operator
POST   /api/v1/campaigns/{campaign_id}/restart                   campaigns operator
POST   /api/v1/campaigns/{campaign_id}/cancel-restart            campaigns operator

GET    /api/v1/recordings/{attempt_id}                           read admin
DELETE /api/v1/recordings/{attempt_id}                           privacy admin
GET    /api/v1/amd/reviews                                       reviews:read viewer
GET    /api/v1/amd/reviews/{attempt_id}                          reviews:read viewer
PUT    /api/v1/amd/reviews/{attempt_id}                          reviews admin
GET    /api/v1/amd/reviews/{attempt_id}/audio                    reviews admin
GET    /api/v1/amd/confusion                                     reviews:read viewer
GET    /api/v1/amd/export.zip                                    reviews admin
GET    /api/v1/voicemails                                        voicemails:read viewer
POST   /api/v1/voicemails                                        voicemails operator
GET    /api/v1/voicemails/{voicemail_id}/audio                   voicemails:read viewer
DELETE /api/v1/voicemails/{voicemail_id}                         voicemails operator
GET    /api/v1/suppressions                                      suppressions viewer
POST   /api/v1/suppressions                                      exclude operator
POST   /api/v1/suppressions/imports                              suppressions operator
DELETE /api/v1/suppressions/{number}                             suppressions admin
GET    /api/v1/search                                            read viewer
GET    /api/v1/persons/{number}                                  read viewer
DELETE /api/v1/persons/{number}                                  privacy admin

GET    /api/v1/cadences                                          cadences:read viewer
GET    /api/v1/cadences/{cadence_id}                             cadences:read viewer
PUT    /api/v1/cadences/{cadence_id}                             cadences operator
DELETE /api/v1/cadences/{cadence_id}                             cadences operator
POST   /api/v1/cadences/preview                                  cadences:read viewer
GET    /api/v1/calendars                                         calendars:read viewer
GET    /api/v1/calendars/choices                                 calendars:read viewer
GET    /api/v1/calendars/{calendar_id}                           calendars:read viewer
PUT    /api/v1/calendars/{calendar_id}                           calendars operator
DELETE /api/v1/calendars/{calendar_id}                           calendars operator
GET    /api/v1/calendars/{calendar_id}/windows                   calendars:read viewer

GET    /api/v1/bots                                              bots:read viewer
PUT    /api/v1/bots/{bot_id}                                     bots admin
DELETE /api/v1/bots/{bot_id}                                     bots admin
GET    /api/v1/trunks                                            trunks:read viewer
GET    /api/v1/trunks/{trunk_id}                                 trunks:read viewer
PUT    /api/v1/trunks/{trunk_id}                                 trunks admin
DELETE /api/v1/trunks/{trunk_id}                                 trunks admin
POST   /api/v1/trunks/{trunk_id}/test                            trunks admin
GET    /api/v1/numbers                                           numbers:read viewer
PUT    /api/v1/numbers/{number}                                  numbers admin
GET    /api/v1/set-up                                            - viewer
PUT    /api/v1/set-up                                            - admin

GET    /api/v1/webhooks                                          webhooks:read operator
POST   /api/v1/webhooks                                          webhooks admin
GET    /api/v1/webhooks/{webhook_id}                             webhooks:read operator
PATCH  /api/v1/webhooks/{webhook_id}                             webhooks admin
DELETE /api/v1/webhooks/{webhook_id}                             webhooks admin
POST   /api/v1/webhooks/{webhook_id}/rotate-secret               webhooks admin
POST   /api/v1/webhooks/{webhook_id}/test                        webhooks admin
POST   /api/v1/webhooks/{webhook_id}/replay                      webhooks admin
GET    /api/v1/webhooks/{webhook_id}/deliveries                  webhooks:read operator
POST   /api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/replay webhooks admin

GET    /api/v1/health                                            health viewer
GET    /healthz                                                  open
GET    /readyz                                                   open
GET    /metrics                                                  open
GET    /api/openapi.yaml                                         open
GET    /api/openapi.json                                         open
GET    /api/docs                                                 open
`

// gives are the scopes that hold another one, beside those that end in ":read", which the scope before that holds.
var gives = map[string][]string{"calls:read": {"dialout", "read"}, "campaigns:read": {"read", "campaigns"}}

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
			for name, key := range keys {
				ask(name, 401, "X-API-Key", key)
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
		opens := append([]string{rule[0]}, gives[rule[0]]...)
		if noun, ok := strings.CutSuffix(rule[0], ":read"); ok && noun != "calls" {
			opens = append(opens, noun)
		}
		ask("nobody", 401)
		for name, key := range keys {
			switch {
			case slices.Contains(opens, name):
				ask("a key of "+name, 0, "X-API-Key", key)
			case slices.Contains(wire.Scopes, name):
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
