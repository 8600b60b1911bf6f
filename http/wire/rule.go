package wire

import (
	"slices"

	"dialler/engine"
)

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
	Open    bool
	Session bool   // only users with a session cookie
	Scope   string // "" = no keys
	// OwnToken says that a call's own token opens the route too; its handler checks key and token.
	OwnToken bool
	Role     Role // roleNone = no users
	// Bound is what a key that is bound to campaigns may do here.
	Bound Bound
}

// Bound is what a route means for a key that is bound to campaigns. One with a campaign in its path is BoundByPath
// unless it says otherwise; any other about which nothing is said is closed.
type Bound int

const (
	BoundUnsaid Bound = iota
	BoundClosed       // it is about the whole installation
	BoundByPath       // the campaign of the path must be one of the key's
	BoundWithin       // the handler keeps to the key's campaigns
	BoundShared       // it is about no campaign
)

// NeedRole checks a user against the route's role.
func (a Access) NeedRole(user engine.User) error {
	if ParseRole(user.Role) < a.Role {
		return Forbidden("role_too_low", "Your role does not allow this.")
	}
	return nil
}

// MayUse says whether the request's key may access the campaign; users may access all.
func (r *Request) MayUse(id engine.CampaignID) bool {
	return r.Key == nil || InCampaigns(r.Key, id)
}

// InCampaigns says whether a key may access a campaign.
func InCampaigns(key *engine.APIKey, id engine.CampaignID) bool {
	return len(key.Campaigns) == 0 || slices.Contains(key.Campaigns, id)
}

// Reaches says whether a key may use a route at all, and there a campaign, "" for none.
func (a Access) Reaches(key *engine.APIKey, id engine.CampaignID) bool {
	switch a.Bound {
	case BoundWithin, BoundShared:
		return true
	case BoundByPath:
		return InCampaigns(key, id)
	case BoundUnsaid, BoundClosed:
	}
	return len(key.Campaigns) == 0
}

// OnlyCampaigns are the campaigns that the request's key is bound to, nil for all.
func (r *Request) OnlyCampaigns() []engine.CampaignID {
	if r.Key == nil {
		return nil
	}
	return r.Key.Campaigns
}

// MayAs says whether the sender may do what takes a role within a route: a key may do all that its scope is for.
func (r *Request) MayAs(role Role) error {
	if r.User == nil {
		return nil
	}
	return Access{Role: role}.NeedRole(*r.User)
}

var ErrCampaignForbidden = Forbidden("campaign_not_allowed", "This key may not use this campaign.")

// challenge returns the WWW-Authenticate of a 401.
func (r *Request) challenge() string {
	switch a := r.Access; {
	case a.Scope != "" && (a.Role != RoleNone || a.OwnToken):
		return `ApiKey realm="dialler", Bearer realm="dialler"`
	case a.Scope != "":
		return `ApiKey realm="dialler"`
	default:
		return `Bearer realm="dialler"`
	}
}
