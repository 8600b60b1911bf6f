package http

import (
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/people"
)

// says compares parts of the answer's text.
func (a answer) says(parts ...string) {
	a.t.Helper()
	for _, part := range parts {
		if !strings.Contains(string(a.body), part) {
			a.t.Errorf("%s is missing in %s", part, a.body)
		}
	}
}

func TestPeopleAreSearchedInAllCampaigns(t *testing.T) {
	b := newBench(t)
	of := people.CampaignOf{ID: "cmp_1", Name: "Renewals", State: campaign.Running}
	b.ports.searched = people.Searched{More: true, People: []people.Found{{Number: mobile, Contacts: []people.Contact{{
		Of: of, Contact: contact.Contact{ID: "c1", Campaign: "cmp_1", Number: mobile, State: contact.Pending, Max: 3,
			CreatedAt: testAt, UpdatedAt: testAt, Variables: map[string]string{"first_name": "Zoe"}}}}}},
		Campaigns: []people.CampaignOf{of}}
	a := b.byAdmin("GET", "/api/v1/search?q=zoe%209999&limit=5", "").is(200, "")
	a.says(`{"people":[{"phone_number":"`+mobile+`","contacts":[{"campaign_id":"cmp_1","campaign_name":"Renewals",`,
		`"variables":{"first_name":"Zoe"}`, `"more":true,"partial":false`,
		`"campaigns":[{"campaign_id":"cmp_1","name":"Renewals","status":"running"}]`)
	if q := b.ports.sought; len(q) != 1 || len(q[0].Words) != 2 || q[0].Words[0] != "9999" {
		t.Errorf("sought %+v", q)
	}
	b.byAdmin("GET", "/api/v1/search", "").is(422, "validation_failed", "q required")
	b.byAdmin("GET", "/api/v1/search?q=z", "").is(422, "validation_failed", "q search_too_short")
	b.byAdmin("GET", "/api/v1/search?q=1+2+3+4+5+6+77", "").is(422, "validation_failed", "q search_too_long")
	b.byAdmin("GET", "/api/v1/search?q=zoe&limit=51&why=x", "").is(422, "validation_failed", "limit out_of_range",
		"why unknown_field")
	b.byKey("GET", "/api/v1/search?q=zoe", "").is(200, "")
	b.ports.fail = engine.Unavailable("search_too_slow", "", 5*time.Second)
	b.byAdmin("GET", "/api/v1/search?q=zoe", "").is(503, "search_too_slow")
}

func TestAPersonIsShownOverAllCampaigns(t *testing.T) {
	b := newBench(t)
	at, of := testAt, people.CampaignOf{ID: "cmp_1", Name: "Renewals", State: campaign.Paused}
	b.ports.person = people.Person{Number: mobile, Held: true,
		Contacts: []people.Contact{{Of: of, Contact: contact.Contact{ID: "c1", Campaign: "cmp_1", Number: mobile,
			State: contact.Excluded, Reason: "asked", Max: 3, CreatedAt: at, UpdatedAt: at}}},
		Calls: []attempt.Attempt{{ID: "0123456789abcdef0123456789abcdef", To: mobile, State: attempt.Ended,
			Outcome: engine.OutcomeNoAnswer, ReservedAt: &at, EndedAt: &at}},
		Exclusions: []people.Exclusion{{Of: of, Exclusion: journal.Exclusion{Campaign: "cmp_1", Number: mobile,
			Reason: "asked", CreatedAt: at}}},
		Suppressed: []journal.Suppression{{Number: mobile, Reason: "manual", CreatedAt: at}}}
	a := b.byAdmin("GET", "/api/v1/persons/"+mobile, "").is(200, "")
	a.says(`"status":"excluded","reason":"asked"`, `"outcome":"no_answer"`, `"campaign_name":"Renewals","phone_number"`,
		`"reason":"manual"`, `"held":true,"held_until":null`)
	b.byAdmin("GET", "/api/v1/persons/0151?x=y", "").is(422, "validation_failed", "number invalid_number",
		"x unknown_field")
	b.byKey("GET", "/api/v1/persons/"+mobile, "").is(200, "")
}

// A list that is searched is never the whole list.
func TestContactsOfACampaignAreSearched(t *testing.T) {
	b := newBench(t)
	const path = "/api/v1/campaigns/cmp_1/contacts"
	b.byAdmin("GET", path+"?q=Z-777&page=2", "").is(200, "")
	if p := b.ports.pages; len(p) != 1 || p[0].Search == nil || p[0].Search.Words[0] != "Z-777" || p[0].Number != 2 {
		t.Errorf("asked for %+v", p)
	}
	for _, q := range []string{"", "z", "+%20"} {
		b.byAdmin("GET", path+"?q="+q, "").is(422, "validation_failed", "q search_too_short")
	}
	b.ports.fail = contact.ErrSearchBroad
	b.byAdmin("GET", path+"?q=151", "").is(422, "search_too_broad")
}
