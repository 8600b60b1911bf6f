package process

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
)

// settings returns a campaign's settings for calls at any time; change overrides fields.
func settings(change map[string]any) map[string]any {
	s := map[string]any{"name": "Spring", "bot_id": ourBot, "concurrency": 5, "number_pool": []string{ourNumber},
		"window": map[string]any{"zone": "UTC", "start": "00:00", "end": "00:00"}, "abandon_cap_pct": 0, "ring_timeout_s": 15}
	for k, v := range change {
		s[k] = v
	}
	return s
}

// closedWindow is a calling window that opens in two hours, for one hour.
func closedWindow() map[string]any {
	now := time.Now().UTC()
	return map[string]any{"zone": "UTC", "start": now.Add(2 * time.Hour).Format("15:04"),
		"end": now.Add(3 * time.Hour).Format("15:04")}
}

// campaign makes a draft campaign.
func (w *world) campaign(change map[string]any) engine.CampaignID {
	w.t.Helper()
	var c struct {
		ID engine.CampaignID `json:"campaign_id"`
	}
	w.operator("POST", "/api/v1/campaigns", settings(change)).expect(201).into(&c)
	return c.ID
}

// act sends a lifecycle command.
func (w *world) act(id engine.CampaignID, action string) answer {
	w.t.Helper()
	return w.operator("POST", "/api/v1/campaigns/"+string(id)+"/"+action, nil)
}

// running makes a campaign that runs until it is stopped.
func (w *world) running(change map[string]any) engine.CampaignID {
	w.t.Helper()
	all := map[string]any{"always_on": true}
	for k, v := range change {
		all[k] = v
	}
	id := w.campaign(all)
	w.act(id, "start").expect(200)
	return id
}

// census counts the rows of every table that a command may write to.
func (w *world) census() string {
	w.t.Helper()
	var b strings.Builder
	for _, table := range []string{"campaigns", "contacts", "attempts", "legs", "number_holds", "exclusions",
		"suppressions", "idempotency", "events"} {
		fmt.Fprintf(&b, "%s %d, ", table, w.rows(table))
	}
	return b.String()
}

func TestARefusedRequestSaysWhyAndWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{carrier.Busy()}})
	draft := w.campaign(nil)
	live := w.running(nil)
	single := w.campaign(map[string]any{"single_day": true, "window": closedWindow()})
	w.operator("POST", "/api/v1/campaigns/"+string(single)+"/contacts",
		map[string]any{"contacts": []any{map[string]any{"mobile": newNumber()}}}).expect(200)
	w.act(single, "start").expect(200)
	w.operator("PUT", "/api/v1/bots/asleep", map[string]any{"name": "Asleep", "active": false,
		"endpoints": []string{w.bot.URL()}}).expect(201)
	w.operator("PUT", "/api/v1/bots/curious", map[string]any{"name": "Curious", "endpoints": []string{w.bot.URL()},
		"required_variables": []string{"account"}}).expect(201)
	expired := w.newKey(map[string]any{"expires_at": time.Now().Add(-time.Minute).Format(time.RFC3339)})
	inactive := w.newKey(map[string]any{"is_active": false})
	narrow := w.newKey(map[string]any{"scopes": []string{"read"}})
	elsewhere := w.newKey(map[string]any{"campaigns": []string{string(draft)}})

	const dialout, trigger, exclude = "/api/v1/sip/dialout", "/api/v1/campaigns/trigger", "/api/v1/contacts/exclude"
	to, long := newNumber(), strings.Repeat("x", 1<<20)
	call := func(fields string) string {
		return `{"bot_id":"` + ourBot + `","to_number":"` + to + `"` + fields + `}`
	}
	add := func(id engine.CampaignID, fields string) string {
		return fmt.Sprintf(`{"campaign_id":%q,"mobile":%q%s}`, id, to, fields)
	}
	bar := func(fields string) string { return fmt.Sprintf(`{"campaign_id":%q%s}`, live, fields) }

	before := w.census()
	f := func(path, key, body string, status int, code string) {
		t.Helper()
		headers := []string{"X-API-Key", key}
		if key == "" {
			headers = nil
		}
		r := w.send("POST", path, body, headers...)
		if r.status != status || r.code() != code {
			t.Errorf("POST %s %.100s: %s, want %d %s", path, body, r, status, code)
		}
		if got := r.header.Get("Content-Type"); got != "application/problem+json" {
			t.Errorf("POST %s %.100s: content type %q", path, body, got)
		}
	}
	// 401: one response for a missing, malformed, unknown, inactive and expired key.
	unknown := "vx_" + strings.Repeat("Z", 32)
	for _, path := range []string{dialout, trigger, exclude} {
		for _, key := range []string{"", "nonsense", unknown, expired, inactive} {
			f(path, key, `{}`, 401, "unauthorized")
		}
		f(path, narrow, `{}`, 403, "scope_missing")
		f(path, w.key, `{"a":`, 422, "malformed_json")
		f(path, w.key, ``, 422, "empty_body")
		f(path, w.key, `[1]`, 422, "validation_failed")
		f(path, w.key, `{}`, 422, "validation_failed")
		f(path, w.key, `{"campaign_id":"`+long+`"}`, 413, "body_too_large")
	}

	f(dialout, w.key, call(`,"colour":"red"`), 422, "validation_failed")
	f(dialout, w.key, `{"bot_id":7,"to_number":"`+to+`"}`, 422, "validation_failed")
	f(dialout, w.key, `{"bot_id":"`+ourBot+`","to_number":"0151123456"}`, 422, "validation_failed")
	f(dialout, w.key, `{"bot_id":"`+ourBot+`","to_number":"+49"}`, 422, "validation_failed")
	f(dialout, w.key, call(`,"variables":{"a":"1"},"connected_event":{"a":"1"}`), 422, "validation_failed")
	f(dialout, w.key, call(`,"variables":{"a":1}`), 422, "validation_failed")
	f(dialout, w.key, call(`,"variables":["a"]`), 422, "validation_failed")
	f(dialout, w.key, call(`,"from_number":"+493099999999"`), 422, "from_number_unknown")
	f(dialout, w.key, `{"bot_id":"nobody","to_number":"`+to+`"}`, 404, "bot_not_found")
	f(dialout, w.key, `{"bot_id":"asleep","to_number":"`+to+`"}`, 409, "bot_inactive")
	f(dialout, w.key, `{"bot_id":"curious","to_number":"`+to+`"}`, 422, "missing_variables")

	f(trigger, elsewhere, add(live, ``), 403, "campaign_not_allowed")
	f(trigger, elsewhere, add(live, `,"colour":"red"`), 403, "campaign_not_allowed") // before 422
	f(trigger, w.key, add(live, `,"colour":"red"`), 422, "validation_failed")
	f(trigger, w.key, add("cmp_none", `,"colour":"red"`), 422, "validation_failed") // before 404
	f(trigger, w.key, add(live, `,"metadata":"red"`), 422, "validation_failed")
	f(trigger, w.key, `{"campaign_id":"`+string(live)+`","mobile":49151}`, 422, "validation_failed")
	f(trigger, w.key, `{"campaign_id":"`+string(live)+`","mobile":"0151 123"}`, 422, "validation_failed")
	f(trigger, w.key, add(live, `,"metadata":{"k":"`+strings.Repeat("v", 17<<10)+`"}`), 422, "validation_failed")
	f(trigger, w.key, add("cmp_none", ``), 404, "campaign_not_found")
	f(trigger, w.key, add(draft, ``), 409, "campaign_not_running")
	f(trigger, w.key, add(single, ``), 409, "outside_window")

	f(exclude, elsewhere, bar(`,"mobile":"`+to+`"`), 403, "campaign_not_allowed")
	f(exclude, w.key, bar(``), 422, "validation_failed")
	f(exclude, w.key, bar(`,"mobile":"`+to+`","match":{"a":"1"}`), 422, "validation_failed")
	f(exclude, w.key, bar(`,"match":{"a":"1","b":"2","c":"3"}`), 422, "validation_failed")
	f(exclude, w.key, bar(`,"match":{}`), 422, "validation_failed")
	f(exclude, w.key, bar(`,"match":"a"`), 422, "validation_failed")
	f(exclude, w.key, bar(`,"mobile":"`+to+`","reason":5`), 422, "validation_failed")
	f(exclude, w.key, `{"campaign_id":"cmp_none","mobile":"`+to+`"}`, 404, "campaign_not_found")

	// Nor does a single wrong field in an operator's request write half of it.
	for path, body := range map[string]any{
		"/api/v1/campaigns": settings(map[string]any{"concurrency": 0}),
		"/api/v1/campaigns/" + string(draft) + "/contacts": map[string]any{"contacts": []any{
			map[string]any{"mobile": newNumber()}, map[string]any{"mobile": "no number"}}},
	} {
		w.operator("POST", path, body).expect(422)
	}
	w.operator("POST", "/api/v1/campaigns/"+string(draft)+"/start", nil).expect(409) // preflight: no contacts to call
	w.operator("POST", "/api/v1/campaigns/cmp_none/start", nil).expect(404)
	w.operator("GET", "/api/v1/campaigns/cmp_none", nil).expect(404)
	w.crm("GET", "/api/v1/calls/CA"+strings.Repeat("0", 32), nil).expect(404)

	if after := w.census(); after != before {
		t.Errorf("rows before: %s\nafter: %s", before, after)
	}
	if n := len(model.Ledger().Calls()); n != 0 {
		t.Errorf("%d calls were placed", n)
	}
	w.quiet()
}

func TestADeactivatedKeyIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	w.crm("GET", "/api/v1/calls/CA"+strings.Repeat("0", 32), nil).expect(404)
	var list struct {
		Keys []struct {
			ID     string
			Masked string
		} `json:"api_keys"`
	}
	all := w.operator("GET", "/api/v1/api-keys", nil).expect(200)
	all.into(&list)
	if len(list.Keys) != 1 || strings.Contains(string(all.body), w.key) || !strings.HasPrefix(list.Keys[0].Masked, "vx_") {
		t.Fatalf("a stored key shows nothing but its mask: %s", all)
	}
	w.operator("PATCH", "/api/v1/api-keys/"+list.Keys[0].ID, map[string]any{"is_active": false}).expect(200)
	w.crm("GET", "/api/v1/calls/CA"+strings.Repeat("0", 32), nil).expect(401)
	w.operator("PATCH", "/api/v1/api-keys/"+list.Keys[0].ID, map[string]any{"is_active": true}).expect(200)
	w.crm("GET", "/api/v1/calls/CA"+strings.Repeat("0", 32), nil).expect(404)
	var hash []byte
	var row string
	w.query("SELECT hash, to_jsonb(k)::text FROM api_keys k", &hash, &row)
	if sum := sha256.Sum256([]byte(w.key)); !bytes.Equal(hash, sum[:]) || strings.Contains(row, w.key) {
		t.Errorf("stored form %x of %s", hash, row)
	}
}
