package http

import (
	"strings"

	"dialler/http/wire"
)

// authenticate finds out who sends the request and whether they may. Spec: "A
// key is checked on every request". When both a key and a token come, the key
// is what counts; a cookie counts when neither does.
func (s *Server) authenticate(r *wire.Request) error {
	a := r.Access
	if a.Open {
		return nil
	}
	if given := r.HTTP.Request.Header.PeekAll("X-Api-Key"); len(given) > 0 && a.Scope != "" {
		if len(given) > 1 {
			return wire.ErrUnauthorized
		}
		return s.authenticateKey(r, given[0], a.Scope, a.AlsoScope)
	}
	if cookie, ok := cookie(r); ok && a.Role != wire.RoleNone {
		return s.authenticateSession(r, cookie)
	}
	token, ok := bearer(r)
	if !ok || a.Role == wire.RoleNone || a.Session {
		return wire.ErrUnauthorized
	}
	user, err := s.tokens.verify(r.Ctx(), token)
	if err != nil {
		return err
	}
	r.User = &user
	return a.NeedRole(user)
}

// authenticateKey checks a key, its rate limit and its scope.
func (s *Server) authenticateKey(r *wire.Request, given []byte, anyOf ...string) error {
	key, err := s.keys.check(r.Ctx(), given)
	if err != nil {
		return err
	}
	r.Key = key
	if err := s.pace.admit(r); err != nil {
		return err
	}
	if !wire.InScope(key, anyOf...) {
		return wire.ErrScope
	}
	return nil
}

// bearer is the token of "Authorization: Bearer …".
func bearer(r *wire.Request) (string, bool) {
	const scheme = "bearer "
	given := r.HTTP.Request.Header.PeekAll("Authorization")
	if len(given) != 1 || len(given[0]) <= len(scheme) || !strings.EqualFold(string(given[0][:len(scheme)]), scheme) {
		return "", false
	}
	return strings.TrimSpace(string(given[0][len(scheme):])), true
}
