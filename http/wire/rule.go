package wire

import (
	"slices"

	"dialler/engine"
)

// Scopes of API keys (SEMANTICS §12). A key without scopes has all of them.
const (
	ScopeDialout = "dialout"
	ScopeTrigger = "trigger"
	ScopeExclude = "exclude"
	ScopeResults = "results"
	ScopeRead    = "read"
)

var Scopes = []string{ScopeDialout, ScopeTrigger, ScopeExclude, ScopeResults, ScopeRead}

// Role of a user; each includes the rights of the lower ones.
type Role int

const (
	RoleNone Role = iota
	RoleViewer
	RoleOperator
	RoleAdmin
)

// ParseRole parses the name of a role.
func ParseRole(s string) Role {
	switch s {
	case "viewer":
		return RoleViewer
	case "operator":
		return RoleOperator
	case "admin":
		return RoleAdmin
	}
	return RoleNone
}

// Access says who may use a route: keys with the scope, users with at least the role, or everyone.
type Access struct {
	Open      bool
	Session   bool   // only users with a session cookie
	Scope     string // "" = no keys
	AlsoScope string // an alternative scope
	Role      Role   // roleNone = no users
}

// NeedRole checks a user against the route's role.
func (a Access) NeedRole(user engine.User) error {
	if ParseRole(user.Role) < a.Role {
		return Forbidden("role_too_low", "Your role does not allow this.")
	}
	return nil
}

var ErrScope = Forbidden("scope_missing", "This key has no scope for this request.")

// InScope says whether a key has one of the scopes.
func InScope(key *engine.APIKey, anyOf ...string) bool {
	for _, have := range key.Scopes {
		for _, want := range anyOf {
			if want != "" && have == want {
				return true
			}
		}
	}
	return len(key.Scopes) == 0
}

// MayUse says whether the request's key may access the campaign; users may access all.
func (r *Request) MayUse(id engine.CampaignID) bool {
	return r.Key == nil || InCampaigns(r.Key, id)
}

// InCampaigns says whether a key may access a campaign.
func InCampaigns(key *engine.APIKey, id engine.CampaignID) bool {
	return len(key.Campaigns) == 0 || slices.Contains(key.Campaigns, id)
}

var ErrCampaignForbidden = Forbidden("campaign_not_allowed", "This key may not use this campaign.")

// challenge returns the WWW-Authenticate of a 401.
func (r *Request) challenge() string {
	switch a := r.Access; {
	case a.Scope != "" && a.Role != RoleNone:
		return `ApiKey realm="dialler", Bearer realm="dialler"`
	case a.Scope != "":
		return `ApiKey realm="dialler"`
	default:
		return `Bearer realm="dialler"`
	}
}
