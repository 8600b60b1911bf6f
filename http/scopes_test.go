package http

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/http/wire"
)

// No route is forgotten: each is open, for people alone, or names one scope of the table; and no scope is without one.
func TestEveryRouteNeedsOneScopeAndEveryScopeOpensARoute(t *testing.T) {
	people := []string{"GET /api/v1/session", "DELETE /api/v1/session", "PUT /api/v1/password",
		"GET /api/v1/set-up", "PUT /api/v1/set-up"}
	used := map[string]bool{}
	for _, rt := range newBench(t).server.routes {
		a, name := rt.access, rt.method+" "+rt.path
		switch {
		case a.Open:
			if a.Scope != "" || a.Role != wire.RoleNone {
				t.Errorf("%s is open and is not", name)
			}
		case a.Scope == "":
			if !slices.Contains(people, name) {
				t.Errorf("%s has no scope", name)
			}
		case !slices.Contains(wire.Scopes, a.Scope):
			t.Errorf("%s has the scope %q, which there is not", name, a.Scope)
		}
		used[a.Scope] = true
		if a.Scope != "" && strings.Contains(rt.path, "{campaign_id}") && a.Bound != wire.BoundByPath &&
			a.Bound != wire.BoundClosed {
			t.Errorf("%s names a campaign, and does not look whether it is the key's", name)
		}
	}
	for _, s := range wire.ScopeTable {
		if !used[s.Name] {
			t.Errorf("the scope %s opens no route", s.Name)
		}
		for _, in := range s.Includes {
			if !slices.Contains(wire.Scopes, in) || !strings.HasSuffix(in, ":read") {
				t.Errorf("%s includes %s", s.Name, in)
			}
		}
	}
	// SEMANTICS §12.
	if want := []string{"dialout", "results", "read", "trigger", "exclude"}; !slices.Equal(wire.FirstScopes, want) {
		t.Errorf("a key about whose scopes nothing is said has %v", wire.FirstScopes)
	}
}

func TestAKeyWithoutTheScopeIsToldWhichOneItNeeds(t *testing.T) {
	b := newBench(t)
	key := b.addKey(func(k *engine.APIKey) { k.Scopes = []string{"campaigns", "imports", "webhooks"} })
	b.do("GET", "/api/v1/campaigns/cmp_1", "", "X-API-Key", key).is(200, "")
	b.do("POST", "/api/v1/campaigns/cmp_1/start", "", "X-API-Key", key).is(200, "")
	b.do("GET", "/api/v1/webhooks", "", "X-API-Key", key).is(200, "")
	a := b.do("GET", "/api/v1/trunks", "", "X-API-Key", key).is(403, "scope_missing")
	if p := a.problem(); !strings.Contains(p.Detail, "scope trunks:read") {
		t.Errorf("detail %q", p.Detail)
	}
	b.do("PUT", "/api/v1/password", `{}`, "X-API-Key", key).is(403, "people_only")
	// An older key, about whose scopes nothing was said, has none of the new ones.
	b.byKey("POST", "/api/v1/campaigns/cmp_1/start", "").is(403, "scope_missing")
	b.byKey("GET", "/api/v1/webhooks", "").is(403, "scope_missing")
}

func TestAnExpiredKeyIsToldSoByTheChallengeAlone(t *testing.T) {
	b := newBench(t)
	past := testAt.Add(-time.Second)
	expired := b.addKey(func(k *engine.APIKey) { k.ExpiresAt = &past })
	off := b.addKey(func(k *engine.APIKey) { k.ExpiresAt, k.Active = &past, false })
	says := func(key string) string {
		t.Helper()
		return b.do("POST", triggerPath, `{}`, "X-API-Key", key).is(401, "unauthorized").header.Get("WWW-Authenticate")
	}
	if got := says(expired); !strings.Contains(got, `error_description="The key has expired"`) {
		t.Errorf("challenge %q", got)
	}
	for _, key := range []string{off, "vx_" + strings.Repeat("a", 32), "vx_short"} {
		if got := says(key); strings.Contains(got, "expired") {
			t.Errorf("challenge %q", got)
		}
	}
}

// Beside each other two secrets are valid, until the moment that was given.
func TestASecretIsRotatedWithAnOverlap(t *testing.T) {
	b := newBench(t)
	const path = "/api/v1/api-keys"
	made := b.byAdmin("POST", path, `{"name":"CRM","scopes":["trigger"]}`).is(201, "")
	first, at := made.get("key").(string), path+"/"+made.get("id").(string)
	opens := func(key string, status int) {
		t.Helper()
		if a := b.do("POST", triggerPath, triggerBody(""), "X-API-Key", key); a.status != status {
			t.Errorf("%s: %d %s", key[:7], a.status, a.body)
		}
	}
	opens(first, 200) // and is remembered
	a := b.byAdmin("POST", at+"/rotate-secret", `{"old_secret_until":"`+
		testAt.Add(time.Hour).Format(time.RFC3339)+`"}`).is(200, "")
	second := a.get("key").(string)
	if second == first || a.get("masked") != second[:7]+"…" || a.get("old_secret_until") != "2030-03-01T13:00:00Z" {
		t.Errorf("rotated: %s", a.body)
	}
	opens(first, 200)
	opens(second, 200)
	b.clock.advance(time.Hour - time.Millisecond)
	opens(first, 200)
	b.clock.advance(time.Millisecond)
	opens(first, 401) // although it is remembered
	opens(second, 200)
	if got := b.byAdmin("GET", path, "").is(200, ""); strings.Contains(string(got.body), `"old_secret_until":"`) {
		t.Errorf("list %s", got.body)
	}
	// Nothing said: a day. It is ended at once by null.
	third := b.byAdmin("POST", at+"/rotate-secret", "").is(200, "")
	if third.get("old_secret_until") != "2030-03-02T13:00:00Z" {
		t.Errorf("rotated: %s", third.body)
	}
	opens(second, 200)
	b.byAdmin("PATCH", at, `{"old_secret_until":null}`).is(200, "")
	opens(second, 401)
	opens(third.get("key").(string), 200)
	fourth := b.byAdmin("POST", at+"/rotate-secret", `{"old_secret_until":null}`).is(200, "")
	opens(third.get("key").(string), 401)
	opens(fourth.get("key").(string), 200)
	for _, bad := range []string{`{"old_secret_until":"2031-01-01T00:00:00Z"}`, `{"old_secret_until":"soon"}`,
		`{"until":null}`} {
		b.byAdmin("POST", at+"/rotate-secret", bad).is(422, "validation_failed")
	}
	b.byAdmin("POST", path+"/key_none/rotate-secret", "").is(404, "key_not_found")
	b.byKey("POST", at+"/rotate-secret", "").is(403, "scope_missing")
}

// What has ended stays so, whatever is said of it later; what has not ends earlier, not later.
func TestASecretThatHasEndedStaysSo(t *testing.T) {
	b := newBench(t)
	const path = "/api/v1/api-keys"
	made := b.byAdmin("POST", path, `{"name":"CRM","scopes":["trigger"]}`).is(201, "")
	first, at := made.get("key").(string), path+"/"+made.get("id").(string)
	opens := func(key string, status int) {
		t.Helper()
		if a := b.do("POST", triggerPath, triggerBody(""), "X-API-Key", key); a.status != status {
			t.Errorf("%s: %d %s", key[:7], a.status, a.body)
		}
	}
	until := func(d time.Duration) string {
		return `{"old_secret_until":"` + b.clock.Now().Add(d).Format(time.RFC3339) + `"}`
	}
	// There is no old secret.
	b.byAdmin("PATCH", at, until(time.Hour)).is(422, "validation_failed", "old_secret_until out_of_range")
	b.byAdmin("PATCH", at, `{"old_secret_until":null}`).is(200, "")
	b.byAdmin("POST", at+"/rotate-secret", until(time.Hour)).is(200, "")
	b.byAdmin("PATCH", at, until(time.Hour+time.Second)).is(422, "validation_failed", "old_secret_until out_of_range")
	b.byAdmin("PATCH", at, until(30*time.Minute)).is(200, "")
	b.byAdmin("PATCH", at, until(time.Hour)).is(422, "validation_failed", "old_secret_until out_of_range")
	b.clock.advance(30 * time.Minute)
	opens(first, 401)
	b.byAdmin("PATCH", at, until(time.Hour)).is(422, "validation_failed", "old_secret_until out_of_range")
	opens(first, 401)
	b.byAdmin("PATCH", at, `{"name":"CRM 2"}`).is(200, "")
	if k := b.ports.keys[1]; k.OldHash != nil || k.OldUntil != nil {
		t.Errorf("the key has %+v", k)
	}
}

// The answer with a new secret may be lost: asked again, it is replaced, and the old one goes on.
func TestASecretIsRotatedAgainWhileTheOldOneIsValid(t *testing.T) {
	b := newBench(t)
	const path = "/api/v1/api-keys"
	made := b.byAdmin("POST", path, `{"name":"CRM","scopes":["trigger"]}`).is(201, "")
	first, at := made.get("key").(string), path+"/"+made.get("id").(string)
	opens := func(key string, status int) {
		t.Helper()
		if a := b.do("POST", triggerPath, triggerBody(""), "X-API-Key", key); a.status != status {
			t.Errorf("%s: %d %s", key[:7], a.status, a.body)
		}
	}
	lost := b.byAdmin("POST", at+"/rotate-secret", "").is(200, "").get("key").(string)
	b.clock.advance(time.Hour)
	again := b.byAdmin("POST", at+"/rotate-secret", "").is(200, "")
	if again.get("old_secret_until") != "2030-03-02T12:00:00Z" {
		t.Errorf("rotated again: %s", again.body)
	}
	opens(first, 200)
	opens(lost, 401)
	opens(again.get("key").(string), 200)
	b.byAdmin("POST", at+"/rotate-secret", `{"old_secret_until":"2030-03-03T12:00:00Z"}`).
		is(422, "validation_failed", "old_secret_until out_of_range")
	last := b.byAdmin("POST", at+"/rotate-secret", `{"old_secret_until":null}`).is(200, "")
	opens(first, 401)
	opens(again.get("key").(string), 401)
	opens(last.get("key").(string), 200)
}

// A key with a cap gets no more dialouts by other keys.
func TestAKeyWithACapMakesNoKeyWithDialouts(t *testing.T) {
	b := newBench(t)
	const path = "/api/v1/api-keys"
	capped := b.addKey(func(k *engine.APIKey) { k.Scopes, k.DialoutsPerDay = []string{"keys", "dialout"}, 10 })
	b.addKey(func(k *engine.APIKey) { k.Scopes, k.DialoutsPerDay, k.Active = []string{"dialout"}, 10, false })
	b.addKey(func(k *engine.APIKey) { k.Scopes, k.DialoutsPerDay = []string{"dialout"}, 10 })
	as := func(method, path, body string) answer {
		t.Helper()
		return b.do(method, path, body, "X-API-Key", capped)
	}
	at := func(i int) string { return path + "/" + string(b.ports.keys[i].ID) }
	const limit = `"dialouts_per_day":10`
	as("POST", path, `{"name":"x","scopes":["dialout"],`+limit+`}`).is(403, "key_above_own")
	as("POST", path, `{"name":"x","scopes":["dialout"],"is_active":false,`+limit+`}`).is(403, "key_above_own")
	made := as("POST", path, `{"name":"x","scopes":["keys"],`+limit+`}`).is(201, "")
	as("PATCH", path+"/"+made.get("id").(string), `{"scopes":["dialout"]}`).is(403, "key_above_own")
	as("PATCH", at(2), `{"is_active":true}`).is(403, "key_above_own")
	as("POST", at(2)+"/rotate-secret", "").is(403, "key_above_own")
	as("POST", at(3)+"/rotate-secret", "").is(403, "key_above_own")
	as("PATCH", at(3), `{"is_active":false}`).is(200, "")
	as("DELETE", at(3), "").is(204, "")
	as("POST", at(1)+"/rotate-secret", "").is(200, "") // its own: the cap is the same
}

// A key that manages keys gives away nothing that it has not.
func TestAKeyManagesOnlyKeysThatMayDoNoMoreThanItself(t *testing.T) {
	b := newBench(t)
	const path = "/api/v1/api-keys"
	until := testAt.Add(time.Hour)
	manager := b.addKey(func(k *engine.APIKey) {
		k.Scopes, k.ExpiresAt, k.DialoutsPerDay = []string{"keys", "campaigns", "exclude"}, &until, 10
	})
	as := func(method, path, body string) answer {
		t.Helper()
		return b.do(method, path, body, "X-API-Key", manager)
	}
	const fits = `"expires_at":"2030-03-01T12:30:00Z","dialouts_per_day":10`
	made := as("POST", path, `{"name":"x","scopes":["campaigns:read","exclude"],`+fits+`}`).is(201, "")
	at := path + "/" + made.get("id").(string)
	as("POST", at+"/rotate-secret", "").is(200, "")
	for _, bad := range []string{
		`"scopes":["trunks"],` + fits,
		fits, // the scopes of every key, which it has not
		`"scopes":["campaigns"],"dialouts_per_day":10`,
		`"scopes":["campaigns"],"expires_at":"2030-03-01T13:00:01Z","dialouts_per_day":10`,
		`"scopes":["campaigns"],"expires_at":"2030-03-01T12:30:00Z"`,
		`"scopes":["campaigns"],"expires_at":"2030-03-01T12:30:00Z","dialouts_per_day":11`,
	} {
		as("POST", path, `{"name":"x",`+bad+`}`).is(403, "key_above_own")
	}
	as("PATCH", at, `{"expires_at":null}`).is(403, "key_above_own")
	as("PATCH", at, `{"scopes":["users"]}`).is(403, "key_above_own")
	as("PATCH", at, `{"is_active":false}`).is(200, "")
	as("DELETE", at, "").is(204, "")
	// Of a stronger one it gets no secret, and ends none.
	strong := path + "/" + string(b.ports.keys[0].ID)
	as("POST", strong+"/rotate-secret", "").is(403, "key_above_own")
	as("PATCH", strong, `{"is_active":false}`).is(403, "key_above_own")
	as("DELETE", strong, "").is(403, "key_above_own")
	// Nor does it make itself stronger.
	own := path + "/" + string(b.ports.keys[1].ID)
	as("PATCH", own, `{"expires_at":null}`).is(403, "key_above_own")
	as("PATCH", own, `{"scopes":["keys","users"]}`).is(403, "key_above_own")
	// One that is bound to campaigns manages none.
	boundTo := b.addKey(func(k *engine.APIKey) {
		k.Scopes, k.Campaigns = []string{"keys"}, []engine.CampaignID{"cmp_1"}
	})
	b.do("GET", path, "", "X-API-Key", boundTo).is(403, "campaign_not_allowed")
}

// TestAKeyOfSomeCampaignsReachesNoOther asks every route with a key of all scopes that is bound to one campaign: with
// another campaign in the path it is refused, and so is what is about the whole installation.
func TestAKeyOfSomeCampaignsReachesNoOther(t *testing.T) {
	b := newBench(t)
	key := b.addKey(func(k *engine.APIKey) {
		k.Scopes, k.Campaigns = wire.Scopes, []engine.CampaignID{"cmp_2"}
	})
	named := 0
	for _, rt := range b.server.routes {
		if rt.access.Scope == "" {
			continue
		}
		path := strings.NewReplacer("{campaign_id}", "cmp_1", "{run}", "1").Replace(rt.path)
		inPath := path != rt.path
		for strings.Contains(path, "{") {
			i, j := strings.IndexByte(path, '{'), strings.IndexByte(path, '}')
			path = path[:i] + "nothing" + path[j+1:]
		}
		a, _, _ := b.direct([]byte(rt.method + " " + path + " HTTP/1.1\r\nHost: api.test\r\nX-API-Key: " + key +
			"\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"))
		refused := a.status == 403 && strings.Contains(string(a.body), "campaign_not_allowed")
		switch {
		case inPath:
			if named++; !refused {
				t.Errorf("%s %s: %d %s", rt.method, path, a.status, a.body)
			}
		case rt.access.Bound == wire.BoundUnsaid && !refused:
			t.Errorf("%s %s is about all campaigns: %d %s", rt.method, path, a.status, a.body)
		case rt.access.Bound == wire.BoundShared && refused:
			t.Errorf("%s %s is about none: %d %s", rt.method, path, a.status, a.body)
		}
	}
	if named < 40 {
		t.Errorf("%d routes name a campaign", named)
	}
	b.do("POST", "/api/v1/campaigns/cmp_2/clone", `{"name":"x"}`, "X-API-Key", key).is(403, "campaign_not_allowed")
	b.do("POST", "/api/v1/campaigns", `{"name":"x"}`, "X-API-Key", key).is(403, "campaign_not_allowed")
}

func TestListsShowAKeyItsOwnCampaigns(t *testing.T) {
	b := newBench(t)
	key := b.addKey(func(k *engine.APIKey) {
		k.Scopes, k.Campaigns = wire.Scopes, []engine.CampaignID{"cmp_2", "cmp_1"}
	})
	b.do("GET", "/api/v1/campaigns?page=2", "", "X-API-Key", key).is(200, "")
	if got := b.ports.pages[0].Only; got != "cmp_2,cmp_1" {
		t.Errorf("asked for %q", got)
	}
	b.byAdmin("GET", "/api/v1/campaigns", "").is(200, "")
	if got := b.ports.pages[1].Only; got != "" {
		t.Errorf("asked for %q", got)
	}
	for _, path := range []string{"/api/v1/amd/reviews", "/api/v1/amd/confusion", "/api/v1/amd/export.zip"} {
		b.do("GET", path, "", "X-API-Key", key).is(403, "campaign_not_allowed") // it must name one
		b.do("GET", path+"?campaign_id=cmp_3", "", "X-API-Key", key).is(403, "campaign_not_allowed")
		b.do("GET", path+"?campaign_id=cmp_1", "", "X-API-Key", key).is(200, "")
	}
}

func TestAKeyOfSomeCampaignsSeesAndMakesTheirWebhooksAlone(t *testing.T) {
	b := newBench(t)
	key := b.addKey(func(k *engine.APIKey) {
		k.Scopes, k.Campaigns = []string{"webhooks"}, []engine.CampaignID{"cmp_1", "cmp_2"}
	})
	const body = `{"url":"https://example.org/hook"`
	subscribe := func(campaigns string) string {
		t.Helper()
		return b.byAdmin("POST", hooksPath, body+campaigns+`}`).is(201, "").get("id").(string)
	}
	ours := subscribe(`,"campaigns":["cmp_2"]`)
	others := []string{subscribe(``), subscribe(`,"campaigns":["cmp_2","cmp_3"]`), subscribe(`,"campaigns":["cmp_3"]`)}
	as := func(method, path, body string) answer {
		t.Helper()
		return b.do(method, path, body, "X-API-Key", key)
	}
	list := as("GET", hooksPath, "").is(200, "")
	if list.get("total") != 1.0 || !strings.Contains(string(list.body), ours) {
		t.Errorf("list %s", list.body)
	}
	for _, id := range others {
		at := hooksPath + "/" + id
		as("GET", at, "").is(404, "webhook_not_found")
		as("PATCH", at, `{"is_active":false}`).is(404, "webhook_not_found")
		as("DELETE", at, "").is(404, "webhook_not_found")
		as("POST", at+"/rotate-secret", "").is(404, "webhook_not_found")
		as("POST", at+"/test", "").is(404, "webhook_not_found")
		as("GET", at+"/deliveries", "").is(404, "webhook_not_found")
		as("POST", at+"/replay", `{"since":"2030-01-01T00:00:00Z"}`).is(404, "webhook_not_found")
		as("POST", at+"/deliveries/1/replay", "").is(404, "webhook_not_found")
	}
	for _, bad := range []string{``, `,"campaigns":[]`, `,"campaigns":["cmp_1","cmp_3"]`} {
		as("POST", hooksPath, body+bad+`}`).is(403, "campaign_not_allowed")
	}
	as("POST", hooksPath, body+`,"campaigns":["cmp_1"]}`).is(201, "")
	as("PATCH", hooksPath+"/"+ours, `{"campaigns":[]}`).is(403, "campaign_not_allowed")
	as("PATCH", hooksPath+"/"+ours, `{"campaigns":["cmp_3"]}`).is(403, "campaign_not_allowed")
	as("PATCH", hooksPath+"/"+ours, `{"campaigns":["cmp_1"]}`).is(200, "")
}

// What a key does stands in the log under its name and identifier.
func TestWhatAKeyDoesIsSaidToBeItsDoing(t *testing.T) {
	b := newBench(t)
	key := b.addKey(func(k *engine.APIKey) { k.Scopes, k.Name = []string{"campaigns"}, "Planner" })
	b.do("POST", "/api/v1/campaigns/cmp_1/start", "", "X-API-Key", key).is(200, "")
	who := b.ports.acts[0].Who
	if who.Key != b.ports.keys[1].ID || who.Name != "Planner" || who.User != "" {
		t.Errorf("started by %+v", who)
	}
}
