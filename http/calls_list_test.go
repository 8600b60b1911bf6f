package http

import (
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/http/wire"
)

func TestCallsAreListedByCursor(t *testing.T) {
	b := newBench(t)
	const path = "/api/v1/calls"
	cursor := strings.Repeat("0c", 16)
	b.ports.older = engine.AttemptID(cursor)
	a := b.byKey("GET", path, "").is(200, "")
	list, _ := a.get("calls").([]any)
	first, _ := list[0].(map[string]any)
	if len(list) != 1 || first["call_id"] != string(theCall) || first["to_number"] != mobile ||
		a.get("next_cursor") != cursor {
		t.Errorf("%s", a.body)
	}
	if got := b.ports.asked[0]; got != (attempt.Query{Limit: wire.DefaultPageSize}) {
		t.Errorf("asked %+v", got)
	}

	b.ports.older = ""
	a = b.byAdmin("GET", path+"?campaign_id=cmp_1&contact_id=c1&number=%2B4915112345678&direction=inbound&trunk=t1"+
		"&state=ended"+
		"&outcome=busy&from=2030-03-01T10:00:00%2B01:00"+
		"&to=2030-03-02T00:00:00Z&page_size=200&cursor="+cursor, "").is(200, "")
	if a.get("next_cursor") != nil {
		t.Errorf("the end is null: %s", a.body)
	}
	got := b.ports.asked[1]
	if !got.From.Equal(time.Date(2030, 3, 1, 9, 0, 0, 0, time.UTC)) ||
		!got.Until.Equal(time.Date(2030, 3, 2, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("from %v to %v", got.From, got.Until)
	}
	got.From, got.Until = time.Time{}, time.Time{}
	if got != (attempt.Query{Campaign: "cmp_1", Contact: "c1", To: mobile, Direction: attempt.Inbound, Trunk: "t1",
		State: attempt.Ended, Outcome: engine.OutcomeBusy, Before: engine.AttemptID(cursor), Limit: 200}) {
		t.Errorf("asked %+v", got)
	}

	b.byAdmin("GET", path+"?campaign_id=%2F&number=x&direction=x&trunk=%20&state=x&outcome=x&from=yesterday"+
		"&to=2030-03-02T00:00:00&page_size=201&cursor=x&page=2", "").
		is(422, "validation_failed", "campaign_id invalid_format", "number invalid_number", "direction unknown_value",
			"trunk invalid_format", "state unknown_value", "outcome unknown_value", "from invalid_format",
			"to invalid_format", "page_size out_of_range", "cursor invalid_format", "page unknown_field")
	b.byAdmin("GET", path+"?from=2030-03-02T00:00:00Z&to=2030-03-01T00:00:00Z", "").is(422, "validation_failed",
		"to out_of_range")

	// A key bound to campaigns sees theirs.
	bound := b.addKey(func(k *engine.APIKey) { k.Scopes, k.Campaigns = []string{"read"}, []engine.CampaignID{"cmp_1"} })
	b.do("GET", path+"?campaign_id=cmp_1", "", "X-API-Key", bound).is(200, "")
	b.do("GET", path+"?campaign_id=cmp_2", "", "X-API-Key", bound).is(403, "campaign_not_allowed")
	b.do("GET", path, "", "X-API-Key", bound).is(403, "campaign_not_allowed")

	b.ports.fail = engine.NotFound("cursor_not_found", "no")
	b.byAdmin("GET", path+"?cursor="+cursor, "").is(404, "cursor_not_found")
}
