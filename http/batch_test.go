package http

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dialler/engine"
	"dialler/engine/campaign"
)

const batchPath = "/api/v1/campaigns/cmp_1/contacts:batch"

func batchBody(items ...string) string { return `{"contacts":[` + strings.Join(items, ",") + "]}" }

func TestEachItemOfABatchIsJudgedByItself(t *testing.T) {
	b := newBench(t)
	long := `{"mobile":"+4915112345671","metadata":{"x":"` + strings.Repeat("y", 17<<10) + `"}}`
	bad := `{"mobile":"x","a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}`
	body := batchBody(`{"mobile":"`+mobile+`","metadata":{"name":"Ada","age":36}}`, `{"mobile":"0151 1"}`, `7`,
		`{"metadata":{}}`, `{"mobile":"+4915112345679"}`, long, bad,
		`{"mobile":"+4366412345678"}`, `{"mobile":"`+mobile+`"}`)
	a := b.byKey("POST", batchPath, body).is(200, "")
	want := []string{"added", "invalid", "invalid", "invalid", "added", "invalid", "invalid", "invalid", "added"}
	problems := []string{"", "validation_failed mobile", "validation_failed", "validation_failed mobile", "",
		"validation_failed metadata", "validation_failed mobile", "destination_not_allowed", ""}
	results := a.get("results").([]any)
	for i, r := range results {
		m := r.(map[string]any)
		problem := ""
		if p, ok := m["problem"].(map[string]any); ok {
			problem = p["code"].(string)
			if errs, ok := p["errors"].([]any); ok {
				problem += " " + errs[0].(map[string]any)["field"].(string)
				if len(errs) > 8 {
					t.Errorf("item %d: %d errors", i, len(errs))
				}
			}
		}
		if m["status"] != want[i] || problem != problems[i] || (m["contact_id"] == nil) == (want[i] == "added") {
			t.Errorf("item %d: %v", i, m)
		}
	}
	if len(results) != len(want) || a.get("added") != 3.0 || a.get("invalid") != 6.0 {
		t.Errorf("%s", a.body)
	}
	got := b.ports.batches[0]
	numbers := []engine.PhoneNumber{}
	for _, c := range got.Contacts {
		numbers = append(numbers, c.Number)
	}
	if got.Campaign != "cmp_1" || got.Source != "api" ||
		!slices.Equal(numbers, []engine.PhoneNumber{mobile, "+4915112345679", mobile}) ||
		got.Contacts[0].Variables["age"] != "36" || got.Idempotency.Present() || got.Who.Name != "crm" {
		t.Errorf("%+v", got)
	}
	// Even if no item can be added, the campaign is asked, because it may refuse.
	b.ports.fail = engine.Conflict("contacts_locked", "no")
	b.byKey("POST", batchPath, batchBody("7")).is(409, "contacts_locked")
	if n := len(b.ports.batches[1].Contacts); n != 0 {
		t.Errorf("%d contacts", n)
	}
}

func TestABatchThatIsNoneIsRefused(t *testing.T) {
	b := newBench(t)
	for body, field := range map[string]string{
		`{}`: "contacts required", `{"contacts":{}}`: "contacts wrong_type", `{"contacts":[]}`: "contacts required",
		`{"contacts":[7],"x":1}`: "x unknown_field", batchBody(slices.Repeat([]string{"7"}, 1001)...): "contacts too_long",
	} {
		b.byKey("POST", batchPath, body).is(422, "validation_failed", field)
	}
	b.byKey("POST", batchPath, "", "Content-Type", "text/csv").is(422, "")
	b.byKey("POST", batchPath, "x", "Content-Type", "text/csv").is(415, "unsupported_media_type")
	b.byKey("POST", "/api/v1/campaigns/a%20b/contacts:batch", batchBody("7")).is(404, "campaign_not_found")
	other := b.addKey(func(k *engine.APIKey) { k.Campaigns = []engine.CampaignID{"cmp_2"} })
	b.do("POST", batchPath, batchBody("7"), "X-API-Key", other).is(403, "campaign_not_allowed")
	if len(b.ports.batches) != 0 {
		t.Error("one came through")
	}
}

func TestARepeatedBatchIsAnsweredTheSameAndAddsNothing(t *testing.T) {
	b := newBench(t)
	body := batchBody(`{"mobile":"`+mobile+`"}`, "7")
	first := b.byKey("POST", batchPath, body, "Idempotency-Key", "one").is(200, "")
	again := b.byKey("POST", batchPath, body, "Idempotency-Key", "one").is(200, "")
	if string(first.body) != string(again.body) || again.header.Get("Idempotent-Replayed") != "true" ||
		len(b.ports.batches) != 1 {
		t.Errorf("%s, then %s; %d batches", first.body, again.body, len(b.ports.batches))
	}
	b.byKey("POST", batchPath, batchBody("8"), "Idempotency-Key", "one").is(422, "idempotency_mismatch")
	// The key is scoped to the campaign's route.
	b.byKey("POST", strings.Replace(batchPath, "cmp_1", "cmp_2", 1), body, "Idempotency-Key", "one").is(200, "")
	if n := len(b.ports.batches); n != 2 || b.ports.batches[1].Campaign != "cmp_2" {
		t.Errorf("%d batches", n)
	}
}

func TestABatchMayHaveTwentyMebibytes(t *testing.T) {
	b := newBench(t)
	filler := strings.Repeat("y", 15<<10)
	items := make([]string, 1000)
	for i := range items {
		items[i] = fmt.Sprintf(`{"mobile":"+49151%08d","metadata":{"x":"%s"}}`, i, filler)
	}
	if body := batchBody(items...); len(body) > 20<<20 {
		t.Fatal(len(body))
	} else if a := b.byKey("POST", batchPath, body).is(200, ""); a.get("added") != 1000.0 ||
		len(b.ports.batches[0].Contacts) != 1000 {
		t.Errorf("%v added", a.get("added"))
	}
	b.byKey("POST", batchPath, batchBody(`"`+strings.Repeat("y", 20<<20)+`"`)).is(413, "body_too_large")
	if st := b.ports.batches[0].Results[0].Status; st != campaign.RowStatus("") {
		t.Errorf("judged before its time: %q", st)
	}
}
