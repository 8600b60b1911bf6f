package http

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/webhook"
)

const hooksPath = "/api/v1/webhooks"

func TestAWebhookIsMadeChangedAndRemovedAndItsSecretShownOnce(t *testing.T) {
	b := newBench(t)
	made := b.byAdmin("POST", hooksPath, `{"url":"https://crm.example.org/in?x=1","types":["attempt.ended"],
		"campaigns":["cmp_1"],"description":"CRM"}`).is(201, "")
	id, secret := made.get("id").(string), made.get("secret").(string)
	if raw, err := webhook.ReadSecret(secret); err != nil || len(raw) != webhook.SecretBytes {
		t.Errorf("secret %q: %v", secret, err)
	}
	if made.header.Get("Location") != hooksPath+"/"+id {
		t.Errorf("Location %q", made.header.Get("Location"))
	}
	if got := b.ports.hooks.secrets[webhook.EndpointID(id)]; !slices.Equal(got, []string{secret}) {
		t.Errorf("stored %q", got)
	}
	one := b.byAdmin("GET", hooksPath+"/"+id, "").is(200, "")
	list := b.byAdmin("GET", hooksPath, "").is(200, "")
	if strings.Contains(string(one.body), "whsec_") || strings.Contains(string(list.body), "whsec_") ||
		list.get("total").(float64) != 1 {
		t.Errorf("%s\n%s", one.body, list.body)
	}
	changed := b.byAdmin("PATCH", hooksPath+"/"+id,
		`{"url":"https://other.example.org/","types":[],"is_active":false}`).is(200, "")
	if changed.get("is_active") != false || changed.get("url") != "https://other.example.org/" ||
		changed.get("description") != "CRM" {
		t.Errorf("%s", changed.body)
	}
	rotated := b.byAdmin("POST", hooksPath+"/"+id+"/rotate-secret", "").is(200, "")
	if s := rotated.get("secret").(string); s == secret ||
		rotated.get("old_secret_until") != testAt.Add(webhook.Overlap).Format(time.RFC3339) {
		t.Errorf("%s", rotated.body)
	}
	b.clock.advance(webhook.Overlap)
	b.admin = b.token("usr_admin")
	if got := b.byAdmin("GET", hooksPath+"/"+id, "").is(200, ""); got.get("old_secret_until") != nil {
		t.Errorf("%s", got.body)
	}
	b.byAdmin("DELETE", hooksPath+"/"+id, "").is(204, "")
	b.byAdmin("GET", hooksPath+"/"+id, "").is(404, "webhook_not_found")
	b.byAdmin("GET", hooksPath+"/no%20id", "").is(404, "webhook_not_found")
	if strings.Contains(b.log.String(), "whsec_") {
		t.Error("a secret is in the log")
	}
}

func TestWhatIsWrongWithAWebhookIsSaid(t *testing.T) {
	b := newBench(t)
	f := func(body string, want ...string) {
		t.Helper()
		b.byAdmin("POST", hooksPath, body).is(422, "validation_failed", want...)
	}
	f(`{}`, "url required")
	f(`{"url":"ftp://x"}`, "url invalid_format")
	f(`{"url":"http://crm.example.org/"}`, "url invalid_format")
	f(`{"url":"https://u:p@crm.example.org/"}`, "url invalid_format")
	f(`{"url":"https://crm.example.org/#x"}`, "url invalid_format")
	f(`{"url":"https:///x"}`, "url invalid_format")
	f(`{"url":"https://`+strings.Repeat("a", webhook.URLCap)+`"}`, "url too_long")
	f(`{"url":"https://crm.example.org","types":["x"]}`, "types[0] unknown_value")
	f(`{"url":"https://crm.example.org","types":["attempt.ended","attempt.ended"]}`, "types[1] duplicate")
	f(`{"url":"https://crm.example.org","campaigns":["a b"]}`, "campaigns[0] invalid_format")
	f(`{"url":"https://crm.example.org","campaigns":[`+strings.TrimSuffix(strings.Repeat(`"c",`, webhook.CampaignCap+1),
		",")+`]}`, "campaigns too_long")
	f(`{"url":"https://crm.example.org","description":"`+strings.Repeat("x", webhook.DescriptionCap+1)+`","secret":"s"}`,
		"description too_long", "secret unknown_field")
	b.byAdmin("PATCH", hooksPath+"/whk_1", `{}`).is(422, "validation_failed")
	b.byAdmin("PATCH", hooksPath+"/whk_1", `{"is_active":true}`).is(404, "webhook_not_found")
	b.byAdmin("POST", hooksPath+"/whk_1/replay", `{}`).is(422, "validation_failed", "since required")
	b.byAdmin("GET", hooksPath+"/whk_1/deliveries?cursor=x&page_size=0&state=gone&q=1", "").
		is(422, "validation_failed", "cursor invalid_format", "page_size out_of_range", "state unknown_value",
			"q unknown_field")

	for range webhook.EndpointCap {
		b.byAdmin("POST", hooksPath, `{"url":"https://crm.example.org"}`).is(201, "")
	}
	b.byAdmin("POST", hooksPath, `{"url":"https://crm.example.org"}`).is(409, "too_many_webhooks")

	lab := newBench(t, func(c *Config) { c.PlainWebhooks = true })
	lab.byAdmin("POST", hooksPath, `{"url":"http://127.0.0.1:9/"}`).is(201, "")
}

// A key that is bound to campaigns reads and sends again what is about these alone.
func TestTheLogOfAWebhookIsThatOfTheKeysCampaigns(t *testing.T) {
	b := newBench(t)
	bound := []engine.CampaignID{"cmp_1", "cmp_2"}
	key := b.addKey(func(k *engine.APIKey) { k.Scopes, k.Campaigns = []string{"webhooks"}, bound })
	at := hooksPath + "/" + b.do("POST", hooksPath, `{"url":"https://crm.example.org","campaigns":["cmp_1"]}`,
		"X-API-Key", key).is(201, "").get("id").(string)
	sent := b.do("POST", at+"/test", "", "X-API-Key", key).is(202, "").get("id").(string)
	for _, ask := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", at + "/deliveries", "", 200},
		{"POST", at + "/deliveries/" + sent + "/replay", "", 202},
		{"POST", at + "/replay", `{"since":"2030-01-01T00:00:00Z"}`, 202},
	} {
		b.do(ask.method, ask.path, ask.body, "X-API-Key", key).is(ask.status, "")
		if got := b.ports.hooks.of; !slices.Equal(got, bound) {
			t.Errorf("%s %s is about %v, want %v", ask.method, ask.path, got, bound)
		}
		b.byAdmin(ask.method, ask.path, ask.body).is(ask.status, "")
		if got := b.ports.hooks.of; got != nil {
			t.Errorf("%s %s is about %v for an administrator", ask.method, ask.path, got)
		}
	}
}

func TestTheLogOfAWebhookIsReadInPartsAndItsMessagesSentAgain(t *testing.T) {
	b := newBench(t)
	id := b.byAdmin("POST", hooksPath, `{"url":"https://crm.example.org"}`).is(201, "").get("id").(string)
	at := hooksPath + "/" + id
	for range 5 {
		b.byAdmin("POST", at+"/test", "").is(202, "")
	}
	b.ports.hooks.log[2].State, b.ports.hooks.log[2].Status, b.ports.hooks.log[2].Excerpt = webhook.Failed, 500, "no"
	var ids []string
	next := ""
	for {
		part := b.byAdmin("GET", at+"/deliveries?page_size=2"+next, "").is(200, "")
		for _, d := range part.get("deliveries").([]any) {
			ids = append(ids, d.(map[string]any)["id"].(string))
		}
		cursor, ok := part.get("next_cursor").(string)
		if !ok {
			break
		}
		next = "&cursor=" + cursor
	}
	if want := []string{"5", "4", "3", "2", "1"}; !slices.Equal(ids, want) {
		t.Errorf("%q, want %q", ids, want)
	}
	failed := b.byAdmin("GET", at+"/deliveries?state=failed", "").is(200, "")
	if list := failed.get("deliveries").([]any); len(list) != 1 ||
		list[0].(map[string]any)["response_status"].(float64) != 500 {
		t.Errorf("%s", failed.body)
	}
	if got := b.byAdmin("POST", at+"/deliveries/3/replay", "").is(202, ""); got.get("state") != "pending" {
		t.Errorf("%s", got.body)
	}
	b.byAdmin("POST", at+"/deliveries/99/replay", "").is(404, "delivery_not_found")
	b.byAdmin("POST", at+"/deliveries/x/replay", "").is(404, "delivery_not_found")
	if got := b.byAdmin("POST", at+"/replay", `{"since":"2030-03-01T00:00:00Z"}`).is(202,
		""); got.get("replayed").(float64) != 3 {
		t.Errorf("%s", got.body)
	}
	b.byAdmin("PATCH", at, `{"is_active":false}`).is(200, "")
	b.byAdmin("POST", at+"/deliveries/3/replay", "").is(409, "webhook_inactive")
}

func TestOperatorsReadTheLogOfWebhooksAndOnlyAdministratorsChangeThem(t *testing.T) {
	b := newBench(t)
	id := b.byAdmin("POST", hooksPath, `{"url":"https://crm.example.org"}`).is(201, "").get("id").(string)
	for role, reads := range map[engine.UserID]int{"usr_oper": 200, "usr_view": 403} {
		as := []string{"Authorization", "Bearer " + b.token(role)}
		for _, path := range []string{hooksPath, hooksPath + "/" + id, hooksPath + "/" + id + "/deliveries"} {
			if got := b.do("GET", path, "", as...); got.status != reads {
				t.Errorf("%s GET %s: %d", role, path, got.status)
			}
		}
		b.do("POST", hooksPath, `{"url":"https://crm.example.org"}`, as...).is(403, "")
		b.do("PATCH", hooksPath+"/"+id, `{"is_active":false}`, as...).is(403, "")
		b.do("DELETE", hooksPath+"/"+id, "", as...).is(403, "")
		for _, act := range []string{"rotate-secret", "test", "replay", "deliveries/1/replay"} {
			b.do("POST", hooksPath+"/"+id+"/"+act, "", as...).is(403, "")
		}
	}
	b.byKey("GET", hooksPath, "").is(403, "scope_missing")
	b.do("GET", hooksPath, "").is(401, "")
}

// The file's webhooks are those of the table, and a message of each conforms to it.
func TestEveryTypeOfMessageIsInTheOpenAPIFileAndObeysIt(t *testing.T) {
	doc, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for name := range doc.Webhooks {
		have = append(have, name)
	}
	want := append(webhook.Names(), webhook.Ping)
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("file %q\ntable %q", have, want)
	}
	var listed []string
	for _, v := range doc.Components.Schemas["WebhookType"].Value.Enum {
		listed = append(listed, v.(string))
	}
	if !slices.Equal(listed, webhook.Choices()) {
		t.Errorf("WebhookType %q", listed)
	}
	seen := map[string]bool{}
	check := func(m webhook.Message) {
		t.Helper()
		seen[m.Type] = true
		var v any
		if err := json.Unmarshal(m.Body, &v); err != nil {
			t.Fatal(err)
		}
		item := doc.Webhooks[m.Type]
		if item == nil {
			t.Fatalf("no webhook %s in the file", m.Type)
		}
		schema := item.Post.RequestBody.Value.Content["application/json"].Schema.Value
		if err := schema.VisitJSON(v, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("%s: %v\n%s", m.Type, err, m.Body)
		}
	}
	for _, f := range everyFact() {
		for _, m := range webhook.Messages(&f, webhook.Names()) {
			check(m)
		}
	}
	check(webhook.PingMessage("whk_1", testAt, "x"))
	for _, name := range want {
		if !seen[name] {
			t.Errorf("no fact makes a %s", name)
		}
	}
}

// everyFact returns facts that together produce every type of message, once with the rows and once
// without.
func everyFact() (out []webhook.Fact) {
	at := testAt
	a := attempt.Attempt{ID: theAttempt, Campaign: "cmp_1", Contact: "c1", Bot: "bot_1", To: mobile, From: "+493023125000",
		SIPReason:  "OK",
		ReservedAt: &at, InviteAt: &at, RingingAt: &at,
		AnsweredAt: &at, BotConnectedAt: &at, ServedAt: &at, EndedAt: &at, HungUpBy: "callee",
		Session: "MZ1",
		Result: &attempt.Result{Disposition: "sale", SubDisposition: "gold", Summary: "s",
			Variables: map[string]string{"k": "v"}, TranscriptURL: "https://x", RecordingURL: "https://y"}}
	c := contact.Contact{ID: "c1", Campaign: "cmp_1", Number: mobile, Variables: map[string]string{"name": "Ada"},
		LastOutcome: engine.OutcomeCompleted, LastDisposition: "sale"}
	event := func(t journal.Type, change func(*journal.Event)) {
		e := journal.Event{Campaign: "cmp_1", Seq: int64(len(out) + 1), Run: 1, At: at, Type: t,
			Data: journal.Data{Who: &engine.Who{Name: "ada@example.org"}, Reason: "why"}}
		change(&e)
		out = append(out, webhook.Fact{Event: e}, webhook.Fact{Event: e, Call: &a, Person: &c})
	}
	for _, t := range []journal.Type{journal.CampaignStarted, journal.CampaignPaused, journal.CampaignResumed,
		journal.CampaignStopped, journal.CampaignCompleted, journal.CampaignFailed, journal.CampaignRestarted} {
		event(t, func(*journal.Event) {})
	}
	ended := func(e *journal.Event) {
		e.Contact, e.Attempt = "c1", theAttempt
		e.Data = journal.Data{Outcome: engine.OutcomeCompleted, Consumed: true, Answered: true, Connected: true, Pass: 1,
			Number: 1, Trunk: "t1", SIPCode: 200, RingMS: 5, TalkMS: 9, ReservedAt: &at, DueAt: &at}
	}
	event(journal.AttemptEnded, ended)
	for _, t := range []journal.Type{journal.AttemptReserved, journal.AttemptRinging, journal.AttemptAnswered,
		journal.AttemptConnected} {
		event(t, ended)
		event(t, func(e *journal.Event) { ended(e); e.Campaign, e.Contact, e.Seq = "", "", 0 })
	}
	event(journal.AttemptEnded, func(e *journal.Event) { ended(e); e.Campaign, e.Contact, e.Seq = "", "", 0 })
	event(journal.AttemptEnded, func(e *journal.Event) {
		ended(e)
		e.Campaign, e.Contact, e.Seq, e.Data.Inbound = "", "", 0, true
	})
	event(journal.AttemptAbandoned, func(e *journal.Event) {
		e.Contact, e.Attempt, e.Data = "c1", theAttempt, journal.Data{Cause: "no_seat"}
	})
	event(journal.ResultStored, func(e *journal.Event) { e.Contact, e.Attempt = "c1", theAttempt })
	for _, s := range []contact.State{contact.Completed, contact.Failed, contact.Abandoned, contact.MachineDetected,
		contact.WindowClosed, contact.ManuallyStopped, contact.Expired, contact.Excluded} {
		event(
			journal.ContactChanged,
			func(e *journal.Event) { e.Contact, e.Attempt, e.Data.NoResult = "c1", theAttempt, theAttempt },
		)
		event(journal.ContactChanged, func(e *journal.Event) {
			e.Contact, e.Data.Before, e.Data.After = "c1", &contact.Facts{State: contact.Pending}, &contact.Facts{State: s,
				Used: 1, Max: 3}
		})
	}
	event(journal.ContactChanged, func(e *journal.Event) {
		e.Contact, e.Data.Before, e.Data.After, e.Data.DueAt =
			"c1", &contact.Facts{}, &contact.Facts{Callback: contact.CallbackPending}, &at
	})
	event(journal.ContactChanged, func(e *journal.Event) {
		e.Contact, e.Data.Before, e.Data.After =
			"c1", &contact.Facts{Callback: contact.CallbackPending}, &contact.Facts{Callback: contact.CallbackCancelled}
	})
	event(journal.ContactsAdded, func(e *journal.Event) { e.Data.Count, e.Data.Import = 7, theImport })
	event(journal.ContactsClosed, func(e *journal.Event) {
		e.Data.Moves = []journal.Move{{After: &contact.Facts{State: contact.WindowClosed}, Count: 5},
			{Before: &contact.Facts{}, Count: 1}}
	})
	return out
}
