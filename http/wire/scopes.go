package wire

import (
	"slices"

	"dialler/engine"
)

// Scope is something that an API key may be allowed to do. Each route needs exactly one (http/routes.go);
// openapi.yaml, docs/access.md and the console's form are made from this table.
type Scope struct {
	Name  string
	Group string
	May   string
	// Includes are further scopes that a key with this one has.
	Includes []string
	// First says that a key has it if nothing is said about its scopes. These are the scopes of SEMANTICS §12,
	// and what every key could do before there were others.
	First bool
}

const (
	ScopeDialout  = "dialout"
	ScopeCall     = "calls:read"
	ScopeResults  = "results"
	ScopeRead     = "read"
	ScopeTrigger  = "trigger"
	ScopeExclude  = "exclude"
	ScopeImports  = "imports"
	ScopeExcluded = "exclusions"
	ScopeSuppress = "suppressions"
	ScopePrivacy  = "privacy"

	ScopeCampaigns     = "campaigns"
	ScopeSeeCampaigns  = "campaigns:read"
	ScopeCadences      = "cadences"
	ScopeSeeCadences   = "cadences:read"
	ScopeCalendars     = "calendars"
	ScopeSeeCalendars  = "calendars:read"
	ScopeVoicemails    = "voicemails"
	ScopeSeeVoicemails = "voicemails:read"
	ScopeReviews       = "reviews"
	ScopeSeeReviews    = "reviews:read"

	ScopeBots       = "bots"
	ScopeSeeBots    = "bots:read"
	ScopeTrunks     = "trunks"
	ScopeSeeTrunks  = "trunks:read"
	ScopeNumbers    = "numbers"
	ScopeSeeNumbers = "numbers:read"

	ScopeWebhooks    = "webhooks"
	ScopeSeeWebhooks = "webhooks:read"
	ScopeHealth      = "health"
	ScopeActivity    = "activity"
	ScopeEvidence    = "evidence"
	ScopeKeys        = "keys"
	ScopeUsers       = "users"
)

// ScopeTable has every scope, in the order in which they are shown.
var ScopeTable = []Scope{
	{Name: ScopeDialout, Group: "Calls", May: "Place single calls, follow them and hang them up", First: true,
		Includes: []string{ScopeCall}},
	{Name: ScopeResults, Group: "Calls", May: "Send the results of conversations, and transfer calls", First: true},
	{Name: ScopeRead, Group: "Calls", May: "Read campaigns, contacts, calls, recordings and reports", First: true,
		Includes: []string{ScopeCall, ScopeSeeCampaigns}},
	{Name: ScopeCall, Group: "Calls", May: "Look up a call by its identifier"},

	{Name: ScopeTrigger, Group: "Contacts", May: "Add contacts to campaigns", First: true},
	{Name: ScopeExclude, Group: "Contacts", May: "Exclude contacts and put numbers on the suppression list",
		First: true},
	{Name: ScopeImports, Group: "Contacts",
		May: "Upload lists of contacts, follow the uploads and read the rows that were refused"},
	{Name: ScopeExcluded, Group: "Contacts", May: "Upload, add and lift exclusions of campaigns"},
	{Name: ScopeSuppress, Group: "Contacts", May: "Read the suppression list, upload to it and lift numbers from it"},
	{Name: ScopePrivacy, Group: "Contacts", May: "Erase people and recordings"},

	{Name: ScopeCampaigns, Group: "Campaigns", May: "Create, change, steer and delete campaigns",
		Includes: []string{ScopeSeeCampaigns}},
	{Name: ScopeSeeCampaigns, Group: "Campaigns", May: "Read campaigns and their figures, without contacts and calls"},
	{Name: ScopeCadences, Group: "Campaigns", May: "Change cadences", Includes: []string{ScopeSeeCadences}},
	{Name: ScopeSeeCadences, Group: "Campaigns", May: "Read cadences"},
	{Name: ScopeCalendars, Group: "Campaigns", May: "Change calendars and the hours of countries",
		Includes: []string{ScopeSeeCalendars}},
	{Name: ScopeSeeCalendars, Group: "Campaigns", May: "Read calendars"},
	{Name: ScopeVoicemails, Group: "Campaigns", May: "Add and delete messages for answering machines",
		Includes: []string{ScopeSeeVoicemails}},
	{Name: ScopeSeeVoicemails, Group: "Campaigns", May: "Read the messages for answering machines"},
	{Name: ScopeReviews, Group: "Campaigns", May: "Hear and label who answered, and export it",
		Includes: []string{ScopeSeeReviews}},
	{Name: ScopeSeeReviews, Group: "Campaigns", May: "Read who answered, and how often that was right"},

	{Name: ScopeBots, Group: "Lines", May: "Change bots", Includes: []string{ScopeSeeBots}},
	{Name: ScopeSeeBots, Group: "Lines", May: "Read bots"},
	{Name: ScopeTrunks, Group: "Lines", May: "Change and test trunks", Includes: []string{ScopeSeeTrunks}},
	{Name: ScopeSeeTrunks, Group: "Lines", May: "Read trunks"},
	{Name: ScopeNumbers, Group: "Lines", May: "Change outbound numbers", Includes: []string{ScopeSeeNumbers}},
	{Name: ScopeSeeNumbers, Group: "Lines", May: "Read outbound numbers"},

	{Name: ScopeWebhooks, Group: "Installation", May: "Subscribe, change and replay webhooks",
		Includes: []string{ScopeSeeWebhooks}},
	{Name: ScopeSeeWebhooks, Group: "Installation", May: "Read webhooks and their deliveries"},
	{Name: ScopeHealth, Group: "Installation", May: "Read the dialler's health"},
	{Name: ScopeActivity, Group: "Installation", May: "Read activity logs"},
	{Name: ScopeEvidence, Group: "Installation", May: "Download the evidence of runs"},
	{Name: ScopeKeys, Group: "Installation", May: "Manage API keys that may do no more than this one"},
	{Name: ScopeUsers, Group: "Installation", May: "Manage users, administrators among them"},
}

// Scopes are the names of all scopes; FirstScopes those of a key about whose scopes nothing is said.
var (
	Scopes      = namesOf(func(Scope) bool { return true })
	FirstScopes = namesOf(func(s Scope) bool { return s.First })

	// includes are the scopes that each gives, itself among them.
	includes = func() map[string][]string {
		all := make(map[string][]string, len(ScopeTable))
		for _, s := range ScopeTable {
			all[s.Name] = append([]string{s.Name}, s.Includes...)
		}
		return all
	}()
)

func namesOf(of func(Scope) bool) (names []string) {
	for _, s := range ScopeTable {
		if of(s) {
			names = append(names, s.Name)
		}
	}
	return names
}

// ScopesOf returns the scopes that a key was given.
func ScopesOf(key *engine.APIKey) []string {
	if len(key.Scopes) == 0 {
		return FirstScopes
	}
	return key.Scopes
}

// InScope says whether a key has a scope.
func InScope(key *engine.APIKey, want string) bool {
	return want != "" && slices.ContainsFunc(ScopesOf(key), func(have string) bool {
		return slices.Contains(includes[have], want)
	})
}

// ErrScope refuses a key that lacks a scope, and names it.
func ErrScope(want string) error {
	return Forbidden("scope_missing", "This key needs the scope "+want+" for this request.")
}

// ErrPeopleOnly refuses a key where there is nothing for one: it has no session and no password.
var ErrPeopleOnly = Forbidden("people_only", "")
