package http

import (
	"encoding/json"
	"slices"
	"testing"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/http/campaigns"
)

func TestTheActivityLogShowsStartPauseResumeAndStopUnlessAskedForMore(t *testing.T) {
	b := newBench(t)
	path := campaignPath + "/activity"
	who := &engine.Who{User: "usr_oper", Name: "oper@example.org", From: "192.0.2.7"}
	b.ports.events = []journal.Event{
		{Campaign: "cmp_1", Seq: 4, Run: 2, At: testAt, Type: journal.CampaignEdited, Data: journal.Data{Who: who,
			Changes: []campaign.Change{{Field: "concurrency", From: json.RawMessage("1"), To: json.RawMessage("7")}}}},
		{Campaign: "cmp_1", Seq: 3, Run: 1, At: testAt, Type: journal.ContactsAdded,
			Data: journal.Data{Who: who, Count: 12, Import: theImport}},
		{Campaign: "cmp_1", Seq: 2, Run: 1, At: testAt, Type: journal.CampaignCloned,
			Data: journal.Data{Who: who, Campaign: "cmp_2"}},
		{Campaign: "cmp_1", Seq: 1, Run: 1, At: testAt, Type: journal.CampaignStopped,
			Data: journal.Data{Who: who, Reason: "manually_stopped"}},
	}
	a := b.byAdmin("GET", path+"?page=2&page_size=10", "").is(200, "")
	if p := b.ports.pages[0]; p != (campaign.Page{Number: 2, Size: 10}) {
		t.Errorf("page %+v", p)
	}
	if !slices.Equal(b.ports.kinds[0], []journal.Type{journal.CampaignStarted, journal.CampaignPaused,
		journal.CampaignResumed, journal.CampaignStopped}) {
		t.Errorf("asked for %v", b.ports.kinds[0])
	}
	list := a.get("activity").([]any)
	at := func(i int) map[string]any { return list[i].(map[string]any) }
	edit := at(0)["changes"].([]any)[0].(map[string]any)
	if at(0)["action"] != "edit" || edit["field"] != "concurrency" || edit["from"] != 1.0 || edit["to"] != 7.0 {
		t.Errorf("%v", at(0))
	}
	if w := at(0)["who"].(map[string]any); w["name"] != "oper@example.org" || w["from"] != "192.0.2.7" {
		t.Errorf("who %v", w)
	}
	if at(1)["action"] != "add_contacts" || at(1)["contacts"] != 12.0 || at(1)["import_id"] != string(theImport) ||
		at(2)["campaign_id"] != "cmp_2" || at(3)["reason"] != "manually_stopped" || a.get("total") != 4.0 {
		t.Errorf("%s", a.body)
	}

	b.byAdmin("GET", path+"?all=true", "").is(200, "")
	b.byAdmin("GET", path+"?kinds=edit,restart", "").is(200, "")
	if len(b.ports.kinds[1]) != 0 || !slices.Equal(b.ports.kinds[2],
		[]journal.Type{journal.CampaignEdited, journal.CampaignRestarted}) {
		t.Errorf("asked for %v", b.ports.kinds[1:])
	}
	f := func(query string, want ...string) {
		t.Helper()
		b.byAdmin("GET", path+"?"+query, "").is(422, "validation_failed", want...)
	}
	f("kinds=explode", "kinds unknown_value")
	f("kinds=", "kinds unknown_value")
	f("kinds=edit&all=true", "kinds not_both")
	f("all=yes&page=0&x=1", "all unknown_value", "page out_of_range", "x unknown_field")
	b.byKey("GET", path, "").is(403, "scope_missing")
	b.ports.events = nil
	b.byAdmin("GET", "/api/v1/campaigns/cmp_none/activity", "").is(404, "campaign_not_found")
	b.byAdmin("GET", path, "").is(200, "")
}

func TestWhatIsConfiguredForAllHasALogOfItsOwn(t *testing.T) {
	b := newBench(t)
	b.ports.events = []journal.Event{{At: testAt, Type: "key.changed",
		Data: journal.Data{Who: &engine.Who{Name: "admin@example.org"}, Reason: "key_1"}}}
	a := b.do("GET", "/api/v1/activity?kinds=change_key,delete", "", "Authorization",
		"Bearer "+b.token("usr_view")).is(200, "")
	if v := a.get("activity").([]any)[0].(map[string]any); v["action"] != "change_key" || v["subject"] != "key_1" {
		t.Errorf("%s", a.body)
	}
}

func TestEveryActionOfTheLogIsInTheContract(t *testing.T) {
	b := newBench(t)
	for kind := range campaigns.ActionNames {
		b.ports.events = append(b.ports.events, journal.Event{Campaign: "cmp_1", At: testAt, Type: kind})
	}
	b.byAdmin("GET", "/api/v1/activity?page_size=100", "").is(200, "") // checked against the contract
	if shown := len(b.byAdmin("GET", "/api/v1/activity?page_size=100", "").get("activity").([]any)); shown != len(
		campaigns.ActionNames,
	) {
		t.Errorf("%d of %d are shown", shown, len(campaigns.ActionNames))
	}
}
