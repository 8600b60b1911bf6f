package http

import (
	"slices"
	"testing"

	"dialler/engine"
)

func TestAPersonIsErasedByAnAdministrator(t *testing.T) {
	b := newBench(t)
	const path = "/api/v1/persons/" + mobile
	a := b.byAdmin("DELETE", path, "").is(200, "")
	if a.get("contacts") != 2.0 || a.get("attempts") != 3.0 || a.get("recordings") != 1.0 ||
		a.get("suppressed") != false || a.get("rests_until") == nil {
		t.Errorf("%s", a.body)
	}
	b.byAdmin("DELETE", path+"?suppress=true", "").is(200, "")
	b.byAdmin("DELETE", path+"?suppress=false", "").is(200, "")
	who := "usr_admin"
	if want := []string{mobile + " false false " + who, mobile + " true true " + who,
		mobile + " true false " + who}; !slices.Equal(b.ports.erasures, want) {
		t.Errorf("asked for %q, want %q", b.ports.erasures, want)
	}
	b.byAdmin("DELETE", path+"?suppress=perhaps&why=x", "").is(422, "validation_failed", "suppress invalid",
		"why unknown_field")
	b.byAdmin("DELETE", "/api/v1/persons/0151", "").is(422, "validation_failed", "number invalid_number")
	b.do("DELETE", path, "", "Authorization", "Bearer "+b.token("usr_oper")).is(403, "role_too_low")
	b.byKey("DELETE", path, "").is(403, "scope_missing")
	b.ports.fail = engine.Conflict("person_in_call", "a call with this person is not over yet")
	b.byAdmin("DELETE", path, "").is(409, "person_in_call")
}
