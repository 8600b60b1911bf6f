package http

import (
	"strings"
	"testing"
)

const usersPath = "/api/v1/users"

func (b *bench) logInAs(email, password string) answer {
	b.t.Helper()
	return b.do("POST", "/api/v1/auth/token", `{"email":"`+email+`","password":"`+password+`"}`)
}

func TestAnAdministratorAddsAUserWhoCanLogIn(t *testing.T) {
	b := newBench(t)
	a := b.byAdmin("POST", usersPath, `{"email":" Bea@Example.org ","role":"viewer"}`).is(201, "")
	generated, _ := a.get("password").(string)
	if a.get("email") != "bea@example.org" || a.get("role") != "viewer" || a.get("is_active") != true ||
		len(generated) < 20 {
		t.Fatalf("%s", a.body)
	}
	b.logInAs("bea@example.org", generated).is(200, "")
	own := b.byAdmin("POST", usersPath, `{"email":"cem@example.org","role":"operator","password":"a long sentence"}`).is(
		201, "")
	if strings.Contains(string(own.body), "a long sentence") || strings.Contains(string(own.body), `"password"`) {
		t.Errorf("a password that was chosen is shown: %s", own.body)
	}
	b.logInAs("cem@example.org", "a long sentence").is(200, "")
	list := b.byAdmin("GET", usersPath, "").is(200, "")
	if list.get("total") != 5.0 || strings.Contains(string(list.body), "argon2") ||
		strings.Contains(string(list.body), generated) {
		t.Errorf("%s", list.body)
	}
	if log := b.log.String(); strings.Contains(log, generated) || strings.Contains(log, "a long sentence") {
		t.Error("a password is in the log")
	}
}

func TestUsersAreRefusedWithAReason(t *testing.T) {
	b := newBench(t)
	for body, want := range map[string][]string{
		`{}`:                               {"email required", "role required"},
		`{"email":"nobody","role":"boss"}`: {"email invalid_format", "role unknown_value"},
		`{"email":"a@b.org, c@d.org","role":"admin"}`:                         {"email invalid_format"},
		`{"email":"a@b.org","role":"admin","password":"short"}`:               {"password too_short"},
		`{"email":"a@b.org","role":"admin","password":""}`:                    {"password too_short"},
		`{"email":"a@b.org","role":"admin","password":"long enough?","id":1}`: {"id unknown_field"},
	} {
		b.byAdmin("POST", usersPath, body).is(422, "validation_failed", want...)
	}
	b.byAdmin("POST", usersPath, `{"email":"OPER@example.org","role":"admin"}`).is(409, "user_exists")
	b.byAdmin("PATCH", usersPath+"/usr_view", `{}`).is(422, "validation_failed")
	b.byAdmin("PATCH", usersPath+"/usr_view", `{"reset_password":true,"password":"long enough?"}`).is(422,
		"validation_failed", "reset_password mutually_exclusive")
	b.byAdmin("PATCH", usersPath+"/usr_none", `{"role":"viewer"}`).is(404, "user_not_found")
	b.byAdmin("PATCH", usersPath+"/usr_admin", `{"role":"viewer"}`).is(409, "last_admin")
}

// SEMANTICS §12: roles, and log-ins that can be revoked.
func TestAChangeOfAUserCountsAtOnce(t *testing.T) {
	b := newBench(t)
	oper := func(want int) {
		t.Helper()
		if a := b.do("POST", campaignPath+"/pause", "", "Authorization", "Bearer "+b.token("usr_oper")); a.status != want {
			t.Errorf("answered %d, want %d", a.status, want)
		}
	}
	oper(200)
	b.byAdmin("PATCH", usersPath+"/usr_oper", `{"role":"viewer"}`).is(200, "")
	oper(403)
	b.byAdmin("PATCH", usersPath+"/usr_oper", `{"role":"operator"}`).is(200, "")
	oper(200)
	b.byAdmin("PATCH", usersPath+"/usr_oper", `{"is_active":false}`).is(200, "")
	oper(401)
	b.logInAs("oper@example.org", password).is(401, "invalid_credentials")
}

func TestANewPasswordEndsTheTokensBefore(t *testing.T) {
	b := newBench(t)
	before, ok := b.logInAs("view@example.org", password).is(200, "").get("token").(string)
	if !ok {
		t.Fatal("no token")
	}
	look := func(token string) answer {
		return b.do("GET", "/api/v1/campaigns", "", "Authorization", "Bearer "+token)
	}
	look(before).is(200, "")
	generated, _ := b.byAdmin("PATCH", usersPath+"/usr_view", `{"reset_password":true}`).is(200,
		"").get("password").(string)
	look(before).is(401, "unauthorized")
	b.logInAs("view@example.org", password).is(401, "invalid_credentials")
	after, _ := b.logInAs("view@example.org", generated).is(200, "").get("token").(string)
	look(after).is(200, "")
}

func TestEverybodyChangesTheirOwnPasswordKnowingTheOldOne(t *testing.T) {
	b := newBench(t)
	view := b.browser("view@example.org")
	view.send("PUT", "/api/v1/password", `{"current_password":"not that one","new_password":"another long one"}`).is(422,
		"validation_failed", "current_password wrong_password")
	view.send("PUT", "/api/v1/password", `{"current_password":"`+password+`"}`).is(422, "validation_failed",
		"new_password required")
	view.send("PUT", "/api/v1/password", `{"current_password":"`+password+`","new_password":"short"}`).is(422,
		"validation_failed", "new_password too_short")
	view.send("PUT", "/api/v1/password", `{"current_password":"`+password+`","new_password":"another long one"}`).is(204,
		"")
	b.logInAs("view@example.org", "another long one").is(200, "")
	b.do("PUT", "/api/v1/password", `{"current_password":"x","new_password":"another long one"}`).is(401, "unauthorized")
	// Guessing the password from an open session is slow.
	other := b.browser("oper@example.org")
	for range 5 {
		other.send("PUT", "/api/v1/password", `{"current_password":"guess","new_password":"another long one"}`).is(422,
			"validation_failed")
	}
	other.send("PUT", "/api/v1/password", `{"current_password":"guess","new_password":"another long one"}`).is(429,
		"too_many_logins")
	if who := b.ports.users[0]; who.ID != "usr_admin" || who.TokenGeneration != 0 {
		t.Error("somebody else was changed")
	}
}
