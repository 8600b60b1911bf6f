package http

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"dialler/engine"
	"dialler/http/access"
)

// The same 401 body for missing, malformed, unknown, inactive and expired keys.
func TestEveryBadKeyGetsTheSame401(t *testing.T) {
	b := newBench(t)
	inactive := b.addKey(func(k *engine.APIKey) { k.Active = false })
	expired := b.addKey(func(k *engine.APIKey) { at := testAt.Add(-time.Second); k.ExpiresAt = &at })
	expiresNow := b.addKey(func(k *engine.APIKey) { at := testAt; k.ExpiresAt = &at })
	unknown, _ := access.NewAPIKey("x", testAt)
	var first map[string]any
	f := func(fields ...string) {
		t.Helper()
		fields = append(fields, "X-Request-ID", "same")
		a := b.do("POST", triggerPath, `{"broken`, fields...).is(401, "unauthorized")
		var body map[string]any
		if err := json.Unmarshal(a.body, &body); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = body
		}
		x, _ := json.Marshal(first)
		y, _ := json.Marshal(body)
		if !bytes.Equal(x, y) {
			t.Errorf("%s differs from %s", y, x)
		}
	}
	f()
	f("X-API-Key", "")
	f("X-API-Key", "vx_short")
	f("X-API-Key", strings.Replace(b.key, "vx_", "xv_", 1))
	f("X-API-Key", b.key+"x")
	f("X-API-Key", b.key[:34]+"-")
	f("X-API-Key", unknown)
	f("X-API-Key", inactive)
	f("X-API-Key", expired)
	f("X-API-Key", expiresNow)
	f("X-API-Key", b.key, "X-API-Key", b.key)
	f("Authorization", "Bearer "+b.admin) // the trigger accepts keys only
	f("Authorization", "Bearer "+b.key)
	if len(b.ports.triggers) != 0 {
		t.Error("a command passed")
	}
}

func TestAKeyIsCheckedOnEveryRequest(t *testing.T) {
	b := newBench(t)
	expiring := b.addKey(func(k *engine.APIKey) { at := testAt.Add(200 * time.Millisecond); k.ExpiresAt = &at })
	b.do("POST", triggerPath, triggerBody(""), "X-API-Key", expiring).is(200, "")
	b.clock.advance(200 * time.Millisecond) // still cached
	b.do("POST", triggerPath, triggerBody(""), "X-API-Key", expiring).is(401, "unauthorized")

	// A change on another node takes effect within a second.
	b.byKey("POST", triggerPath, triggerBody("")).is(200, "")
	lookups := b.ports.lookups
	b.byKey("POST", triggerPath, triggerBody("")).is(200, "")
	if b.ports.lookups != lookups {
		t.Error("the key was not remembered")
	}
	b.ports.mu.Lock()
	b.ports.keys[0].Active = false
	b.ports.mu.Unlock()
	b.clock.advance(time.Second)
	b.byKey("POST", triggerPath, triggerBody("")).is(401, "unauthorized")
}

func TestAKeyWithoutAnExpiryNeverExpires(t *testing.T) {
	b := newBench(t)
	b.clock.advance(100 * 365 * 24 * time.Hour)
	b.byKey("POST", triggerPath, triggerBody("")).is(200, "")
}

func TestDeactivatingAKeyTakesEffectWithItsAnswer(t *testing.T) {
	b := newBench(t)
	id := string(b.ports.keys[0].ID)
	b.byKey("POST", triggerPath, triggerBody("")).is(200, "")
	a := b.byAdmin("PATCH", "/api/v1/api-keys/"+id, `{"is_active":false}`).is(200, "")
	if a.get("is_active") != false {
		t.Errorf("body %s", a.body)
	}
	b.byKey("POST", triggerPath, triggerBody("")).is(401, "unauthorized")
	b.byAdmin("PATCH", "/api/v1/api-keys/"+id, `{"is_active":true}`).is(200, "")
	b.byKey("POST", triggerPath, triggerBody("")).is(200, "")
}

func TestWithSharedKeysADeactivationWaitsForTheOtherNodes(t *testing.T) {
	b := newBench(t, func(c *Config) { c.SharedKeys, c.KeyCacheTTL = true, 30*time.Millisecond })
	began := time.Now()
	b.byAdmin("PATCH", "/api/v1/api-keys/"+string(b.ports.keys[0].ID), `{"is_active":false}`).is(200, "")
	if took := time.Since(began); took < 30*time.Millisecond {
		t.Errorf("answered after %v", took)
	}
}

// While the database is down no credential can be revoked, but users must still see what is going
// on.
func TestCredentialsThatWereGoodHoldOnWhileTheDatabaseIsAway(t *testing.T) {
	const path = "/api/v1/campaigns/cmp_1"
	b := newBench(t)
	key, session := b.addKey(func(*engine.APIKey) {}), b.browser("oper@example.org")
	unused := b.addKey(func(*engine.APIKey) {})
	expires := b.clock.Now().Add(5 * time.Minute)
	brief := b.addKey(func(k *engine.APIKey) { k.ExpiresAt = &expires })
	fields := map[string][]string{"key": {"X-API-Key", key}, "token": {"Authorization", "Bearer " + b.admin},
		"session": {"Cookie", session.cookie}}
	all := func(status int, code string) {
		t.Helper()
		for _, f := range fields {
			b.do("GET", path, "", f...).is(status, code)
		}
	}
	all(200, "")
	b.do("GET", path, "", "X-API-Key", brief).is(200, "")
	away := engine.Unavailable("database_unavailable", "the database is away", time.Second)
	fails := func(err error) { defer b.ports.lock()(); b.ports.userFail = err }
	fails(away)
	b.clock.advance(2 * time.Second) // the cache has expired, but it is all there is
	all(200, "")
	if a := b.do("GET", path, "", "X-API-Key", unused).is(503, "database_unavailable"); a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	b.do("GET", path, "", "X-API-Key", "vx_"+strings.Repeat("A", 32)).is(503, "database_unavailable")
	b.clock.advance(6 * time.Minute)
	b.do("GET", path, "", "X-API-Key", brief).is(401, "unauthorized") // it has expired, with or without a database
	fails(errBoom)
	b.do("GET", path, "", "X-API-Key", key).is(500, "internal") // such an error does not use the cache
	fails(away)
	b.clock.advance(15 * time.Minute)
	all(503, "database_unavailable")
	fails(nil)
	all(200, "")

	other := newBench(t, func(c *Config) { c.SharedKeys = true }) // another node may have revoked it
	other.byAdmin("GET", path, "").is(200, "")
	other.ports.userFail = away
	other.clock.advance(2 * time.Second)
	other.byAdmin("GET", path, "").is(503, "database_unavailable")
}

func TestScopesAndCampaignsOfAKey(t *testing.T) {
	b := newBench(t)
	scoped := b.addKey(func(k *engine.APIKey) { k.Scopes = []string{"exclude"} })
	// 403 comes before 422.
	b.do("POST", triggerPath, `{`, "X-API-Key", scoped).is(403, "scope_missing")
	b.do("POST", dialoutPath, `{`, "X-API-Key", scoped).is(403, "scope_missing")
	b.do("POST", excludePath, `{"campaign_id":"cmp_1","mobile":"`+mobile+`"}`, "X-API-Key", scoped).is(200, "")
	b.do("GET", "/api/v1/campaigns/cmp_1", "", "X-API-Key", scoped).is(403, "scope_missing")

	limited := b.addKey(func(k *engine.APIKey) { k.Campaigns = []engine.CampaignID{"cmp_2"} })
	b.do("POST", triggerPath, `{"campaign_id":"cmp_1"}`, "X-API-Key", limited).is(403, "campaign_not_allowed")
	b.do("POST", excludePath, `{"campaign_id":"cmp_1"}`, "X-API-Key", limited).is(403, "campaign_not_allowed")
	b.do("POST", triggerPath, `{"campaign_id":"cmp_2","mobile":"`+mobile+`"}`, "X-API-Key", limited).is(200, "")
	b.do("GET", "/api/v1/campaigns/cmp_1", "", "X-API-Key", limited).is(403, "campaign_not_allowed")
	b.do("GET", "/api/v1/campaigns/cmp_1/contacts", "", "X-API-Key", limited).is(403, "campaign_not_allowed")
	b.do("GET", "/api/v1/campaigns/cmp_2", "", "X-API-Key", limited).is(200, "")
	b.do("GET", "/api/v1/calls/"+string(theCall), "", "X-API-Key", limited).is(404, "call_not_found")
}

func TestRateLimitOfAKey(t *testing.T) {
	b := newBench(t, func(c *Config) { c.KeyRate, c.KeyBurst = 0.5, 2 })
	a := b.byKey("POST", triggerPath, triggerBody("")).is(200, "")
	if got := a.header.Get("RateLimit-Policy"); got != `"key";q=2;w=4` {
		t.Errorf("RateLimit-Policy %q", got)
	}
	if got := a.header.Get("RateLimit"); got != `"key";r=1;t=2` {
		t.Errorf("RateLimit %q", got)
	}
	b.byKey("POST", triggerPath, `{`).is(422, "malformed_json")
	a = b.byKey("POST", triggerPath, triggerBody("")).is(429, "rate_limited")
	if a.header.Get("Retry-After") != "2" || a.header.Get("RateLimit") != `"key";r=0;t=4` {
		t.Errorf("headers %v", a.header)
	}
	// Another key has its own bucket, and time refills this one.
	b.do("POST", triggerPath, triggerBody(""), "X-API-Key", b.addKey(func(*engine.APIKey) {})).is(200, "")
	b.clock.advance(2 * time.Second)
	b.byKey("POST", triggerPath, triggerBody("")).is(200, "")
	b.byKey("POST", triggerPath, triggerBody("")).is(429, "rate_limited")
}

func TestLastUseOfAKeyIsWrittenInBatches(t *testing.T) {
	b := newBench(t)
	for range 5 {
		b.byKey("POST", triggerPath, triggerBody("")).is(200, "")
	}
	if len(b.ports.used) != 0 {
		t.Error("written on the hot path")
	}
	b.server.gate.Flush(context.Background())
	if at := b.ports.used[b.ports.keys[0].ID]; !at.Equal(testAt) {
		t.Errorf("last used %v", at)
	}
}

func TestAPIKeysAreShownInFullOnce(t *testing.T) {
	b := newBench(t)
	a := b.byAdmin("POST", "/api/v1/api-keys",
		`{"name":"CRM","expires_at":"2031-01-01T00:00:00Z","scopes":["trigger"],"campaigns":["cmp_1"]}`).is(201, "")
	full, _ := a.get("key").(string)
	if !regexp.MustCompile(`^vx_[A-Za-z0-9]{32}$`).MatchString(full) {
		t.Fatalf("key %q", full)
	}
	list := b.byAdmin("GET", "/api/v1/api-keys", "").is(200, "")
	if strings.Contains(string(list.body), full) || !strings.Contains(string(list.body), full[:7]+"…") {
		t.Errorf("list %s", list.body)
	}
	b.do("POST", triggerPath, triggerBody(""), "X-API-Key", full).is(200, "")
	b.do("POST", excludePath, triggerBody(""), "X-API-Key", full).is(403, "scope_missing")

	f := func(body string, want ...string) {
		t.Helper()
		b.byAdmin("POST", "/api/v1/api-keys", body).is(422, "validation_failed", want...)
	}
	f(`{}`, "name required")
	f(`{"name":" "}`, "name required")
	f(`{"name":"x","expires_at":"tomorrow"}`, "expires_at invalid_format")
	f(`{"name":"x","expires_at":"2031-01-01T00:00:00"}`, "expires_at invalid_format")
	f(`{"name":"x","scopes":["all"]}`, "scopes[0] unknown_value")
	f(`{"name":"x","scopes":["read","read"]}`, "scopes[1] duplicate")
	f(`{"name":"x","scopes":"read"}`, "scopes wrong_type")
	f(`{"name":"x","campaigns":["a b"]}`, "campaigns[0] invalid_format")
	f(`{"name":"x","key":"vx_"}`, "key unknown_field")

	path := "/api/v1/api-keys/" + a.get("id").(string)
	b.byAdmin("PATCH", path, `{}`).is(422, "validation_failed")
	b.byAdmin("PATCH", path, `{"is_active":"no"}`).is(422, "validation_failed", "is_active wrong_type")
	b.byAdmin("PATCH", path, `{"name":"new","expires_at":null,"scopes":[],"campaigns":[]}`).is(200, "")
	if k := b.ports.keys[1]; k.Name != "new" || k.ExpiresAt != nil || len(k.Scopes) != 0 {
		t.Errorf("key %+v", k)
	}
	b.byAdmin("PATCH", "/api/v1/api-keys/key_none", `{"is_active":false}`).is(404, "key_not_found")
	b.byAdmin("DELETE", "/api/v1/api-keys/key_none", "").is(404, "key_not_found")
	b.byAdmin("PATCH", path, `{"is_active":true}`).is(200, "")
	b.byAdmin("DELETE", path, "").is(409, "key_active")
	b.byAdmin("PATCH", path, `{"is_active":false}`).is(200, "")
	b.byAdmin("DELETE", path, "").is(204, "")
	b.byAdmin("DELETE", path, "").is(404, "key_not_found")
	for _, id := range []engine.UserID{"usr_oper", "usr_view"} {
		b.do("GET", "/api/v1/api-keys", "", "Authorization", "Bearer "+b.token(id)).is(403, "role_too_low")
	}
	b.byKey("GET", "/api/v1/api-keys", "").is(403, "scope_missing")
}

func TestLogIn(t *testing.T) {
	b := newBench(t)
	a := b.do("POST", "/api/v1/auth/token", `{"email":" Oper@Example.org ","password":"`+password+`"}`).is(200, "")
	token, _ := a.get("token").(string)
	if at, _ := time.Parse(time.RFC3339, a.get("expires_at").(string)); !at.Equal(testAt.Add(12 * time.Hour)) {
		t.Errorf("expires at %v", at)
	}
	b.do("GET", "/api/v1/campaigns", "", "Authorization", "bearer "+token).is(200, "")
	if len(b.ports.logins) != 1 || b.ports.logins[0] != "usr_oper" {
		t.Errorf("log-ins %v", b.ports.logins)
	}
	b.do("POST", "/api/v1/auth/token", `{"email":"oper@example.org","password":"wrong"}`).is(401, "invalid_credentials")
	b.do("POST", "/api/v1/auth/token", `{"email":"nobody@example.org","password":"`+password+`"}`).is(401,
		"invalid_credentials")
	b.do("POST", "/api/v1/auth/token", `{"email":"","password":5,"x":1}`).is(422, "validation_failed", "email required",
		"password wrong_type", "x unknown_field")
	b.ports.mu.Lock()
	b.ports.users[1].Active = false
	b.ports.mu.Unlock()
	b.do("POST", "/api/v1/auth/token", `{"email":"oper@example.org","password":"`+password+`"}`).is(401,
		"invalid_credentials")

	// Deactivation takes effect at once for a new look-up, a second later for all.
	b.clock.advance(time.Second)
	b.do("GET", "/api/v1/campaigns", "", "Authorization", "Bearer "+token).is(401, "unauthorized")
}

func TestTokensExpireAndAreSignedWithOneAlgorithm(t *testing.T) {
	b := newBench(t)
	use := func(token string) answer {
		return b.do("GET", "/api/v1/campaigns", "", "Authorization", "Bearer "+token)
	}
	sign := func(m jwt.SigningMethod, key any, change func(*jwtClaims)) string {
		c := jwtClaims{Role: "admin", RegisteredClaims: jwt.RegisteredClaims{Issuer: jwtIssuer, Subject: "usr_admin",
			IssuedAt: jwt.NewNumericDate(testAt), ExpiresAt: jwt.NewNumericDate(testAt.Add(time.Hour))}}
		change(&c)
		token := jwt.NewWithClaims(m, c)
		token.Header[jwtKeyID] = strconv.FormatInt(jwtPeriodOf(testAt), 10)
		s, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	same, key := func(*jwtClaims) {}, jwtKey(secret, jwtPeriodOf(testAt))
	use(sign(jwt.SigningMethodHS256, secret, same)).is(401, "unauthorized") // no key is the secret itself
	use(sign(jwt.SigningMethodHS256, key, same)).is(200, "")
	use(sign(jwt.SigningMethodHS512, key, same)).is(401, "unauthorized")
	use(sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, same)).is(401, "unauthorized")
	use(sign(jwt.SigningMethodHS256, []byte(strings.Repeat("y", 32)), same)).is(401, "unauthorized")
	use(sign(jwt.SigningMethodHS256, key, func(c *jwtClaims) { c.ExpiresAt = nil })).is(401, "unauthorized")
	use(
		sign(jwt.SigningMethodHS256, key, func(c *jwtClaims) { c.ExpiresAt = jwt.NewNumericDate(testAt) }),
	).is(401, "unauthorized")
	use(
		sign(
			jwt.SigningMethodHS256,
			key,
			func(c *jwtClaims) { c.IssuedAt = jwt.NewNumericDate(testAt.Add(time.Hour)) },
		),
	).is(401, "unauthorized")
	use(sign(jwt.SigningMethodHS256, key, func(c *jwtClaims) { c.Issuer = "x" })).is(401, "unauthorized")
	use(sign(jwt.SigningMethodHS256, key, func(c *jwtClaims) { c.Subject = "usr_none" })).is(401, "unauthorized")
	use(sign(jwt.SigningMethodHS256, key, func(c *jwtClaims) { c.Subject = "" })).is(401, "unauthorized")
	// The stored role counts, not the token's.
	forged := sign(jwt.SigningMethodHS256, key, func(c *jwtClaims) { c.Subject = "usr_view" })
	b.do("POST", "/api/v1/campaigns", `{}`, "Authorization", "Bearer "+forged).is(403, "role_too_low")
	use(b.admin).is(200, "")
	b.clock.advance(12 * time.Hour)
	use(b.admin).is(401, "unauthorized")

	if _, err := New(Config{JWTSecret: []byte("short")}, Deps{}); err == nil {
		t.Error("a short secret was accepted")
	}
}

// The signing key of log-in tokens is rotated automatically; valid tokens stay valid.
func TestTheKeyOfTokensChangesWithoutAnybodyBeingLoggedOut(t *testing.T) {
	b := newBench(t, func(c *Config) { c.TokenTTL = 100 * 24 * time.Hour })
	issue := func(at time.Time) string {
		t.Helper()
		token, err := jwtSigned(
			secret,
			at,
			jwtClaims{Role: "admin", RegisteredClaims: jwt.RegisteredClaims{Issuer: jwtIssuer, Subject: "usr_admin",
				ExpiresAt: jwt.NewNumericDate(testAt.Add(1000 * 24 * time.Hour))}},
		)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	use := func(token string, status int, code string) {
		t.Helper()
		b.do("GET", "/api/v1/campaigns", "", "Authorization", "Bearer "+token).is(status, code)
	}
	old := issue(testAt)
	use(old, 200, "")
	use(issue(testAt.Add(jwtPeriod)), 200, "") // of a node whose clock is ahead
	use(issue(testAt.Add(2*jwtPeriod)), 401, "unauthorized")
	b.clock.advance(jwtPeriod)
	use(old, 200, "")
	if fresh := issue(testAt.Add(jwtPeriod)); bytes.Equal(
		jwtKey(secret, jwtPeriodOf(testAt)),
		jwtKey(secret, jwtPeriodOf(testAt.Add(jwtPeriod))),
	) {
		t.Error("the key stays the same")
	} else {
		use(fresh, 200, "")
	}
	b.clock.advance(jwtPeriod)
	use(old, 401, "unauthorized") // its key is gone, whatever its expiry says
	// A token cannot choose a key of its own.
	for _, kid := range []any{nil, "", "x", "-1", "999999999999999999999", 678.0, []any{"1"}} {
		token := jwt.NewWithClaims(
			jwt.SigningMethodHS256,
			jwtClaims{RegisteredClaims: jwt.RegisteredClaims{Issuer: jwtIssuer, Subject: "usr_admin",
				ExpiresAt: jwt.NewNumericDate(testAt.Add(1000 * 24 * time.Hour))}},
		)
		token.Header[jwtKeyID] = kid
		s, err := token.SignedString(jwtKey(secret, jwtPeriodOf(b.clock.Now())))
		if err != nil {
			t.Fatal(err)
		}
		use(s, 401, "unauthorized")
	}
}

func TestLogInsAreThrottled(t *testing.T) {
	b := newBench(t)
	body := `{"email":"oper@example.org","password":"wrong"}`
	for range 5 {
		b.do("POST", "/api/v1/auth/token", body).is(401, "invalid_credentials")
	}
	a := b.do("POST", "/api/v1/auth/token", body).is(429, "too_many_logins")
	if a.header.Get("Retry-After") != "30" {
		t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
	// Not even the right password works; other accounts are not affected.
	right := `{"email":"oper@example.org","password":"` + password + `"}`
	b.do("POST", "/api/v1/auth/token", right).is(429, "too_many_logins")
	b.do("POST", "/api/v1/auth/token", `{"email":"view@example.org","password":"`+password+`"}`).is(200, "")
	b.clock.advance(30 * time.Second)
	b.do("POST", "/api/v1/auth/token", right).is(200, "")
	b.do("POST", "/api/v1/auth/token", body).is(401, "invalid_credentials")
}

// SEMANTICS §10: "optional daily cap per key".
func TestAKeyHasADailyCapOfDialouts(t *testing.T) {
	b := newBench(t)
	const path = "/api/v1/api-keys"
	for _, bad := range []string{"-1", "1000001"} {
		b.byAdmin("POST", path, `{"name":"x","dialouts_per_day":`+bad+`}`).is(422, "validation_failed",
			"dialouts_per_day out_of_range")
	}
	b.byAdmin("POST", path, `{"name":"x","dialouts_per_day":"9"}`).is(422, "validation_failed",
		"dialouts_per_day wrong_type")
	for body, want := range map[string]int{`{"name":"x"}`: 0, `{"name":"x","dialouts_per_day":null}`: 0,
		`{"name":"x","dialouts_per_day":1000000}`: 1000000} {
		if got := b.byAdmin("POST", path, body).is(201, "").get("dialouts_per_day"); got != float64(want) {
			t.Errorf("%s: %v", body, got)
		}
	}
	a := b.byAdmin("POST", path, `{"name":"CRM","dialouts_per_day":40}`).is(201, "")
	full, id := a.get("key").(string), a.get("id").(string)
	dial := func() int {
		t.Helper()
		b.do("POST", dialoutPath, `{"bot_id":"bot_1","to_number":"`+mobile+`"}`, "X-API-Key", full).is(201, "")
		got := b.ports.dialouts[len(b.ports.dialouts)-1]
		if got.Who.Key != engine.KeyID(id) {
			t.Errorf("by %+v", got.Who)
		}
		return got.DayCap
	}
	if n := dial(); n != 40 {
		t.Errorf("placed with a cap of %d", n)
	}
	if got := b.byAdmin("PATCH", path+"/"+id, `{"dialouts_per_day":2}`).is(200, "").get("dialouts_per_day"); got != 2.0 ||
		dial() != 2 {
		t.Errorf("changed to %v", got)
	}
	b.byAdmin("PATCH", path+"/"+id, `{"name":"other"}`).is(200, "")
	if n := dial(); n != 2 {
		t.Errorf("a change of the name made it %d", n)
	}
	b.byAdmin("PATCH", path+"/"+id, `{"dialouts_per_day":null}`).is(200, "")
	if n := dial(); n != 0 {
		t.Errorf("%d without a cap", n)
	}
	b.byAdmin("POST", dialoutPath, `{"bot_id":"bot_1","to_number":"`+mobile+`"}`).is(201, "")
	if got := b.ports.dialouts[len(b.ports.dialouts)-1]; got.DayCap != 0 {
		t.Errorf("an administrator has a cap of %d", got.DayCap)
	}
}

func TestAKeyOfOtherCampaignsGetsNoReportOfThisOne(t *testing.T) {
	b := newBench(t)
	elsewhere := b.addKey(func(k *engine.APIKey) { k.Campaigns = []engine.CampaignID{"cmp_2"} })
	b.do("GET", reportPath, "", "X-API-Key", elsewhere).is(403, "campaign_not_allowed")
	b.do("GET", "/api/v1/campaigns/cmp_2/attempts.csv", "", "X-API-Key", elsewhere).is(200, "")
}

func TestTextOfAnAddressThatCannotBeStoredIsRefused(t *testing.T) {
	b := newBench(t)
	for _, bad := range []string{"%00", "a%ff"} {
		b.byAdmin("GET", "/api/v1/campaigns/"+bad+"/attempts.csv", "").is(404, "campaign_not_found")
		b.byAdmin("GET", "/api/v1/campaigns/"+bad+"/runs/1/evidence", "").is(404, "campaign_not_found")
		b.byAdmin("PATCH", "/api/v1/api-keys/"+bad, `{"is_active":false}`).is(404, "key_not_found")
		b.byAdmin("POST", "/api/v1/suppressions/imports?reason="+bad, "phone_number\n"+mobile+"\n", "Content-Type",
			"text/csv").is(422, "validation_failed", "reason invalid_format")
	}
}
