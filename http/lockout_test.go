package http

import (
	"testing"
	"time"

	"dialler/engine"
)

// After many log-ins that fail in a row an account takes none for a while, not even
// the right one, and nobody hears of it but administrators; who is logged in stays so.
func TestAnAccountIsLockedAfterManyLogInsThatFail(t *testing.T) {
	b := newBench(t)
	const path = "/api/v1/auth/token"
	wrong, right := `{"email":"oper@example.org","password":"wrong"}`, `{"email":"oper@example.org","password":"`+password+`"}`
	in := b.do("POST", path, right).is(200, "").get("token").(string)
	fail := func(n int) {
		t.Helper()
		for range n {
			b.clock.advance(time.Minute) // slower than the throttle
			b.do("POST", path, wrong).is(401, "invalid_credentials")
		}
	}
	fail(engine.LogInFailures - 1)
	b.clock.advance(time.Minute)
	b.do("POST", path, right).is(200, "") // which forgets them
	fail(engine.LogInFailures)
	b.clock.advance(time.Minute)
	b.do("POST", path, right).is(401, "invalid_credentials")
	b.do("POST", path, `{"email":"view@example.org","password":"`+password+`"}`).is(200, "")
	b.do("GET", "/api/v1/campaigns", "", "Authorization", "Bearer "+in).is(200, "")
	if b.ports.locker.Name != "log-in" || b.ports.locker.From == "" {
		t.Errorf("the audit names %+v", b.ports.locker)
	}
	users := b.byAdmin("GET", "/api/v1/users", "").is(200, "").get("users").([]any)
	for _, u := range users {
		u := u.(map[string]any)
		if locked := u["locked_until"] != nil; locked != (u["id"] == "usr_oper") {
			t.Errorf("%v", u)
		}
	}

	// An administrator unlocks it, ...
	if a := b.byAdmin("PATCH", "/api/v1/users/usr_oper", `{"unlock":true}`).is(200, ""); a.get("locked_until") != nil {
		t.Errorf("%s", a.body)
	}
	b.do("POST", path, right).is(200, "")
	// ... time does, ...
	fail(engine.LogInFailures)
	b.clock.advance(engine.LogInLock - time.Second)
	b.do("POST", path, right).is(401, "invalid_credentials")
	b.clock.advance(time.Minute)
	b.do("POST", path, right).is(200, "")
	// ... and so does a new password.
	fail(engine.LogInFailures)
	b.byAdmin("PATCH", "/api/v1/users/usr_oper", `{"password":"another horse battery"}`).is(200, "")
	right = `{"email":"oper@example.org","password":"another horse battery"}`
	b.clock.advance(time.Minute)
	b.do("POST", path, right).is(200, "")
}
