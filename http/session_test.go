package http

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	nethttp "net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"dialler/engine"
)

const sessionPath = "/api/v1/session"

// browser is a session as a browser has it.
type browser struct {
	*bench
	cookie, csrf string
}

func (b *bench) browser(email string, fields ...string) browser {
	b.t.Helper()
	a := b.do("POST", sessionPath, `{"email":"`+email+`","password":"`+password+`"}`, fields...).is(200, "")
	return browser{bench: b, cookie: cookieOf(a), csrf: a.get("csrf_token").(string)}
}

// cookieOf returns the session cookie that a response sets, as a browser sends it back.
func cookieOf(a answer) string {
	a.t.Helper()
	for _, c := range (&nethttp.Response{Header: a.header}).Cookies() {
		if c.Name == "dialler_session" {
			return c.Name + "=" + c.Value
		}
	}
	a.t.Fatalf("cookies %v", a.header.Values("Set-Cookie"))
	return ""
}

func (b browser) send(method, path, body string, fields ...string) answer {
	b.t.Helper()
	return b.do(method, path, body, append([]string{"Cookie", b.cookie, "X-CSRF-Token", b.csrf}, fields...)...)
}

func TestLogInWithACookie(t *testing.T) {
	b := newBench(t)
	a := b.do("POST", sessionPath, `{"email":" Oper@Example.org ","password":"`+password+`"}`).is(200, "")
	set := a.header.Get("Set-Cookie")
	want := regexp.MustCompile(`^dialler_session=[A-Za-z0-9_-]{43}; ` +
		`Path=/; HttpOnly; SameSite=Strict; Max-Age=604800$`)
	if !want.MatchString(set) {
		t.Errorf("Set-Cookie %q", set)
	}
	var body struct {
		User struct {
			ID    engine.UserID `json:"user_id"`
			Email string        `json:"email"`
			Role  string        `json:"role"`
		} `json:"user"`
		CSRFToken string    `json:"csrf_token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	if err := json.Unmarshal(a.body, &body); err != nil {
		t.Fatal(err)
	}
	if body.User.ID != "usr_oper" || body.User.Email != "oper@example.org" || body.User.Role != "operator" ||
		!body.ExpiresAt.Equal(testAt.Add(12*time.Hour)) || len(body.CSRFToken) != 43 {
		t.Errorf("body %+v", body)
	}
	if len(b.ports.logins) != 1 || b.ports.kept != 20 {
		t.Errorf("log-ins %v, kept %d", b.ports.logins, b.ports.kept)
	}
	token := strings.TrimPrefix(cookieOf(a), "dialler_session=")
	if _, ok := b.ports.sessions[sha256.Sum256([]byte(token))]; !ok || len(b.ports.sessions) != 1 {
		t.Error("what is stored is not the hash of the token")
	}
	if strings.Contains(string(a.body), token) || strings.Contains(b.log.String(), token) ||
		strings.Contains(b.log.String(), body.CSRFToken) {
		t.Error("the token is given away")
	}
	same := b.do("GET", sessionPath, "", "Cookie", cookieOf(a)).is(200, "")
	if string(same.body) != string(a.body) {
		t.Errorf("GET %s, POST %s", same.body, a.body)
	}

	b.do("POST", sessionPath, `{"email":"oper@example.org","password":"wrong"}`).is(401, "invalid_credentials")
	b.do("POST", sessionPath, `{"email":"nobody@example.org","password":"wrong"}`).is(401, "invalid_credentials")
	b.do("POST", sessionPath, `{"email":"","password":5,"x":1}`).is(422, "validation_failed", "email required",
		"password wrong_type", "x unknown_field")
	b.do("POST", sessionPath, `email=a`, "Content-Type", "application/x-www-form-urlencoded").is(415,
		"unsupported_media_type")
	if len(b.ports.sessions) != 1 {
		t.Error("a failed log-in opened a session")
	}
}

func TestCookiesAreSecureBehindHTTPS(t *testing.T) {
	b := newBench(t, func(c *Config) { c.SecureCookies = true })
	a := b.do("POST", sessionPath, `{"email":"oper@example.org","password":"`+password+`"}`).is(200, "")
	if set := a.header.Get("Set-Cookie"); !strings.HasSuffix(set, "; Secure") {
		t.Errorf("Set-Cookie %q", set)
	}
}

// There is one 401 body, whatever is wrong with a session.
func TestEveryBadSessionGetsTheSame401(t *testing.T) {
	b := newBench(t)
	s := b.browser("oper@example.org")
	ended, expired := b.browser("oper@example.org"), b.browser("view@example.org")
	ended.send("DELETE", sessionPath, "").is(204, "")
	b.ports.mu.Lock()
	for hash, u := range b.ports.sessions {
		if u.User == "usr_view" {
			u.ExpiresAt = testAt
			b.ports.sessions[hash] = u
		}
	}
	b.ports.mu.Unlock()
	var first string
	f := func(fields ...string) {
		t.Helper()
		a := b.do("GET", sessionPath, "", append(fields, "X-Request-ID", "same")...).is(401, "unauthorized")
		if first == "" {
			first = string(a.body)
		}
		if string(a.body) != first {
			t.Errorf("%s differs from %s", a.body, first)
		}
	}
	f()
	f("Cookie", "dialler_session=")
	f("Cookie", "other="+strings.TrimPrefix(s.cookie, "dialler_session="))
	f("Cookie", s.cookie+"x")
	f("Cookie", s.cookie[:len(s.cookie)-1])
	f("Cookie", "dialler_session="+strings.Repeat("A", 43))
	f("Cookie", "dialler_session="+strings.Repeat("!", 43))
	f("Cookie", ended.cookie)
	f("Cookie", expired.cookie)
	// A cookie is ignored when other credentials come with it.
	f("Cookie", s.cookie, "Authorization", "Bearer rubbish")
	f("Cookie", s.cookie, "Authorization", "Bearer "+b.admin)
	f("Cookie", s.cookie, "X-API-Key", b.key)
	s.send("GET", sessionPath, "").is(200, "")
}

func TestASessionStandsWhereverATokenDoes(t *testing.T) {
	b := newBench(t)
	admin, oper, view := b.browser("admin@example.org"), b.browser("oper@example.org"), b.browser("view@example.org")
	for _, s := range []browser{admin, oper, view} {
		s.send("GET", "/api/v1/campaigns", "").is(200, "")
		s.send("GET", "/api/v1/bots", "").is(200, "")
	}
	// Roles: viewer reads; operator acts on campaigns; admin also the rest.
	const bot = `{"name":"B","endpoints":["ws://127.0.0.1:1/ws"]}`
	view.send("POST", "/api/v1/campaigns/cmp_1/start", "").is(403, "role_too_low")
	oper.send("POST", "/api/v1/campaigns/cmp_1/start", "").is(200, "")
	oper.send("PUT", "/api/v1/bots/b", bot).is(403, "role_too_low")
	oper.send("GET", "/api/v1/api-keys", "").is(403, "role_too_low")
	admin.send("PUT", "/api/v1/bots/b", bot).is(201, "")
	if who := b.ports.acts[0].Who; who.User != "usr_oper" || who.Name != "oper@example.org" {
		t.Errorf("who %+v", who)
	}
	// Routes for keys only stay so, and the dialout accepts an administrator.
	admin.send("POST", triggerPath, triggerBody("")).is(401, "unauthorized")
	admin.send("POST", dialoutPath, `{"bot_id":"bot_1","to_number":"`+mobile+`"}`).is(201, "")
	// Long lists of contacts are accepted with a cookie as well.
	long := `{"contacts":[{"mobile":"` + mobile + `","metadata":{"x":"` + strings.Repeat("y", 2<<20) + `"}}]}`
	oper.send("POST", "/api/v1/campaigns/cmp_1/contacts", long).is(422, "validation_failed")

	// Requests with a token or key need no cookie and no CSRF token.
	b.byAdmin("PUT", "/api/v1/bots/b", bot).is(200, "")
	b.byAdmin("PUT", "/api/v1/bots/b", bot, "Cookie", view.cookie).is(200, "")
	b.byKey("POST", triggerPath, triggerBody(""), "Cookie", view.cookie).is(200, "")
}

func TestWithoutTheCSRFTokenACookieOnlyReads(t *testing.T) {
	b := newBench(t)
	s, other := b.browser("oper@example.org"), b.browser("oper@example.org")
	if s.csrf == other.csrf {
		t.Fatal("two sessions have the same CSRF token")
	}
	f := func(fields ...string) {
		t.Helper()
		fields = append(fields, "Cookie", s.cookie)
		b.do("POST", "/api/v1/campaigns/cmp_1/start", "", fields...).is(403, "csrf_token_invalid")
		b.do("DELETE", "/api/v1/campaigns/cmp_1", "", fields...).is(403, "csrf_token_invalid")
		b.do("DELETE", sessionPath, "", fields...).is(403, "csrf_token_invalid")
		b.do("GET", "/api/v1/campaigns", "", fields...).is(200, "")
	}
	f()
	f("X-CSRF-Token", "")
	f("X-CSRF-Token", other.csrf)
	f("X-CSRF-Token", s.csrf+"x")
	f("X-CSRF-Token", s.csrf, "X-CSRF-Token", s.csrf)
	f("X-CSRF-Token", strings.TrimPrefix(s.cookie, "dialler_session="))
	if len(b.ports.acts) != 0 {
		t.Error("a command passed")
	}
	s.send("POST", "/api/v1/campaigns/cmp_1/start", "").is(200, "")
}

func TestLoggingOutEndsTheSessionAtOnce(t *testing.T) {
	b := newBench(t)
	s, other := b.browser("oper@example.org"), b.browser("oper@example.org")
	s.send("GET", sessionPath, "").is(200, "") // it is cached now
	a := s.send("DELETE", sessionPath, "").is(204, "")
	if set := a.header.Get("Set-Cookie"); set != "dialler_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0" {
		t.Errorf("Set-Cookie %q", set)
	}
	s.send("GET", sessionPath, "").is(401, "unauthorized")
	s.send("DELETE", sessionPath, "").is(401, "unauthorized")
	other.send("GET", sessionPath, "").is(200, "")
	if len(b.ports.sessions) != 1 {
		t.Errorf("%d sessions are stored", len(b.ports.sessions))
	}
}

func TestEveryLogInIsANewSessionAndEndsTheOneBefore(t *testing.T) {
	b := newBench(t)
	first := b.browser("oper@example.org")
	second := b.browser("admin@example.org", "Cookie", first.cookie)
	if first.cookie == second.cookie {
		t.Fatal("the session was taken over")
	}
	first.send("GET", sessionPath, "").is(401, "unauthorized")
	second.send("GET", sessionPath, "").is(200, "")
	// An unknown cookie, such as a planted one, is harmless.
	planted := "dialler_session=" + strings.Repeat("A", 43)
	if third := b.browser("oper@example.org", "Cookie", planted); third.cookie == planted {
		t.Error("a planted token was kept")
	}
}

func TestASessionEndsTwelveHoursAfterItsLastUse(t *testing.T) {
	b := newBench(t)
	s := b.browser("oper@example.org")
	for range 14 { // until the seventh day
		b.clock.advance(12*time.Hour - time.Second)
		want := b.clock.Now().Add(12 * time.Hour)
		if end := testAt.Add(7 * 24 * time.Hour); want.After(end) {
			want = end
		}
		if got := s.send("GET", sessionPath, "").is(200, "").get("expires_at"); got != want.Format(time.RFC3339) {
			t.Errorf("expires at %v, want %v", got, want)
		}
	}
	// … and in any case seven days after the log-in.
	b.clock.advance(testAt.Add(7*24*time.Hour).Sub(b.clock.Now()) - time.Second)
	s.send("GET", sessionPath, "").is(200, "")
	b.clock.advance(time.Second)
	s.send("GET", sessionPath, "").is(401, "unauthorized")

	idle := b.browser("oper@example.org")
	b.clock.advance(12 * time.Hour)
	idle.send("GET", sessionPath, "").is(401, "unauthorized")
}

func TestUseOfASessionIsWrittenDownOnceAMinuteAndOffThePath(t *testing.T) {
	b := newBench(t)
	s := b.browser("oper@example.org")
	flush := func() { b.server.gate.Flush(context.Background()) }
	b.clock.advance(59 * time.Second)
	s.send("GET", sessionPath, "").is(200, "")
	flush()
	if b.ports.noted != 0 {
		t.Error("written within the minute")
	}
	b.clock.advance(time.Second)
	for range 5 {
		s.send("GET", sessionPath, "").is(200, "")
	}
	if b.ports.noted != 0 {
		t.Error("written on the request's path")
	}
	b.ports.notedFail = errBoom
	flush()
	b.ports.notedFail = nil
	flush()
	flush()
	if b.ports.noted != 1 {
		t.Errorf("written %d times", b.ports.noted)
	}
	for _, u := range b.ports.sessions {
		if !u.SeenAt.Equal(testAt.Add(time.Minute)) || !u.ExpiresAt.Equal(testAt.Add(time.Minute+12*time.Hour)) {
			t.Errorf("stored %+v", u)
		}
	}
	// A use that is not stored yet counts too.
	b.clock.advance(12*time.Hour - time.Second)
	s.send("GET", sessionPath, "").is(200, "")
	b.clock.advance(12*time.Hour - time.Second)
	s.send("GET", sessionPath, "").is(200, "")
}

func TestRevokingASessionHoldsWithinASecond(t *testing.T) {
	b := newBench(t)
	s := b.browser("oper@example.org")
	s.send("GET", sessionPath, "").is(200, "")
	lookups := b.ports.lookups
	s.send("GET", sessionPath, "").is(200, "")
	if b.ports.lookups != lookups {
		t.Error("the session was not remembered")
	}
	b.ports.mu.Lock()
	clear(b.ports.sessions)
	b.ports.mu.Unlock()
	b.clock.advance(time.Second)
	s.send("GET", sessionPath, "").is(401, "unauthorized")

	// So do a deactivation and a change of role.
	s = b.browser("oper@example.org")
	s.send("GET", sessionPath, "").is(200, "")
	change := func(f func(*engine.User)) {
		b.ports.mu.Lock()
		defer b.ports.mu.Unlock()
		f(&b.ports.users[1])
	}
	change(func(u *engine.User) { u.Role = "viewer" })
	b.clock.advance(time.Second)
	s.send("POST", "/api/v1/campaigns/cmp_1/start", "").is(403, "role_too_low")
	if a := s.send("GET", sessionPath, "").is(200, ""); a.get("user").(map[string]any)["role"] != "viewer" {
		t.Errorf("%s", a.body)
	}
	change(func(u *engine.User) { u.Active = false })
	b.clock.advance(time.Second)
	s.send("GET", sessionPath, "").is(401, "unauthorized")
	b.do("POST", sessionPath, `{"email":"oper@example.org","password":"`+password+`"}`).is(401, "invalid_credentials")
}

func TestCookieLogInsAreThrottledWithTheOthers(t *testing.T) {
	b := newBench(t)
	body := `{"email":"oper@example.org","password":"wrong"}`
	for range 3 {
		b.do("POST", sessionPath, body).is(401, "invalid_credentials")
	}
	for range 2 {
		b.do("POST", "/api/v1/auth/token", body).is(401, "invalid_credentials")
	}
	if a := b.do("POST", sessionPath, body).is(429, "too_many_logins"); a.header.Get("Retry-After") != "30" {
		t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
	b.browser("view@example.org")
}
