package http

import (
	"slices"
	"strings"

	"dialler/engine"
)

// Scopes of API keys (SEMANTICS §12). A key without scopes has all of them.
const (
	scopeDialout = "dialout"
	scopeTrigger = "trigger"
	scopeExclude = "exclude"
	scopeResults = "results"
	scopeRead    = "read"
)

var scopes = []string{scopeDialout, scopeTrigger, scopeExclude, scopeResults, scopeRead}

// role of a user; a higher one may do all that a lower one may.
type role int

const (
	roleNone role = iota
	roleViewer
	roleOperator
	roleAdmin
)

func parseRole(s string) role {
	switch s {
	case "viewer":
		return roleViewer
	case "operator":
		return roleOperator
	case "admin":
		return roleAdmin
	}
	return roleNone
}

// access says who may use a route: keys with the scope, users with at least
// the role, or everybody.
type access struct {
	open      bool
	session   bool   // of the users only those with a session's cookie
	scope     string // "" = no keys
	alsoScope string // another scope that will do
	role      role   // roleNone = no users
}

// authenticate finds out who sends the request and whether they may. Spec: "A
// key is checked on every request". When both a key and a token come, the key
// is what counts; a cookie counts when neither does.
func (r *request) authenticate() error {
	a := r.route.access
	if a.open {
		return nil
	}
	if given := r.rc.Request.Header.PeekAll("X-Api-Key"); len(given) > 0 && a.scope != "" {
		if len(given) > 1 {
			return errUnauthorized
		}
		return r.authenticateKey(given[0], a.scope, a.alsoScope)
	}
	if cookie, ok := r.cookie(); ok && a.role != roleNone {
		return r.authenticateSession(cookie)
	}
	token, ok := r.bearer()
	if !ok || a.role == roleNone || a.session {
		return errUnauthorized
	}
	user, err := r.server.tokens.verify(r.ctx(), token)
	if err != nil {
		return err
	}
	r.user = &user
	return a.needRole(user)
}

// needRole holds a user against the route's role.
func (a access) needRole(user engine.User) error {
	if parseRole(user.Role) < a.role {
		return forbidden("role_too_low", "Your role does not allow this.")
	}
	return nil
}

// authenticateKey checks a key, its rate limit and its scope.
func (r *request) authenticateKey(given []byte, anyOf ...string) error {
	key, err := r.server.keys.check(r.ctx(), given)
	if err != nil {
		return err
	}
	r.key = key
	if err := r.limitRate(); err != nil {
		return err
	}
	if !inScope(key, anyOf...) {
		return errScope
	}
	return nil
}

var errScope = forbidden("scope_missing", "This key has no scope for this request.")

func inScope(key *engine.APIKey, anyOf ...string) bool {
	for _, have := range key.Scopes {
		for _, want := range anyOf {
			if want != "" && have == want {
				return true
			}
		}
	}
	return len(key.Scopes) == 0
}

// mayUse says whether the request's key may touch the campaign; users may
// touch all.
func (r *request) mayUse(id engine.CampaignID) bool {
	return r.key == nil || inCampaigns(r.key, id)
}

func inCampaigns(key *engine.APIKey, id engine.CampaignID) bool {
	return len(key.Campaigns) == 0 || slices.Contains(key.Campaigns, id)
}

var errCampaignForbidden = forbidden("campaign_not_allowed", "This key may not use this campaign.")

// bearer is the token of "Authorization: Bearer …".
func (r *request) bearer() (string, bool) {
	const scheme = "bearer "
	given := r.rc.Request.Header.PeekAll("Authorization")
	if len(given) != 1 || len(given[0]) <= len(scheme) || !strings.EqualFold(string(given[0][:len(scheme)]), scheme) {
		return "", false
	}
	return strings.TrimSpace(string(given[0][len(scheme):])), true
}

// challenge is the WWW-Authenticate of a 401.
func (r *request) challenge() string {
	switch a := r.route.access; {
	case a.scope != "" && a.role != roleNone:
		return `ApiKey realm="dialler", Bearer realm="dialler"`
	case a.scope != "":
		return `ApiKey realm="dialler"`
	default:
		return `Bearer realm="dialler"`
	}
}
