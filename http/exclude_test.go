package http

import (
	"maps"
	"testing"

	"dialler/engine"
	"dialler/http/wire"
)

const excludePath = "/api/v1/contacts/exclude"

func TestExcludeByNumberOrByUpToTwoMetadataKeys(t *testing.T) {
	b := newBench(t)
	f := func(selector string, number engine.PhoneNumber, match map[string]string) {
		t.Helper()
		a := b.byKey("POST", excludePath, `{"campaign_id":"cmp_1",`+selector+`,"reason":"asked"}`).is(200, "")
		for _, field := range []string{"matched", "excluded", "cancelled_ringing", "in_call"} {
			if a.get(field) == nil {
				t.Errorf("%s is missing", field)
			}
		}
		got := b.ports.excludes[len(b.ports.excludes)-1]
		if got.Number != number || !maps.Equal(got.Match, match) || got.Reason != "asked" || got.Who.Key == "" {
			t.Errorf("command %+v", got)
		}
	}
	f(`"mobile":"`+mobile+`"`, mobile, nil)
	f(`"mobile":"`+mobile+`","match":null`, mobile, nil)
	f(`"match":{"account":"7"}`, "", map[string]string{"account": "7"})
	f(`"match":{"account":7,"vip":true}`, "", map[string]string{"account": "7", "vip": "true"})
	f(`"match":[{"key":"account","value":"7"}]`, "", map[string]string{"account": "7"})
	f(`"match":[{"key":"account","value":7},{"value":"","key":"b"}]`, "", map[string]string{"account": "7", "b": ""})
}

func TestExcludeRefusesBodiesThatFailValidation(t *testing.T) {
	b := newBench(t)
	f := func(body string, want ...string) {
		t.Helper()
		b.byKey("POST", excludePath, body).is(422, "validation_failed", want...)
	}
	f(`{}`, "campaign_id required", "mobile required", "match required")
	f(`{"campaign_id":"cmp_1"}`, "mobile required", "match required")
	f(`{"campaign_id":"cmp_1","mobile":"`+mobile+`","match":{"a":"b"}}`, "mobile mutually_exclusive",
		"match mutually_exclusive")
	f(`{"campaign_id":"cmp_1","match":{}}`, "match out_of_range")
	f(`{"campaign_id":"cmp_1","match":[]}`, "match out_of_range")
	f(`{"campaign_id":"cmp_1","match":{"a":"1","b":"2","c":"3"}}`, "match out_of_range")
	f(`{"campaign_id":"cmp_1","match":[{"key":"a","value":"1"},{"key":"b","value":"1"},{"key":"c","value":"1"}]}`,
		"match out_of_range")
	f(`{"campaign_id":"cmp_1","match":"a"}`, "match wrong_type")
	f(`{"campaign_id":"cmp_1","match":7}`, "match wrong_type")
	f(`{"campaign_id":"cmp_1","match":["a"]}`, "match[0] wrong_type")
	f(`{"campaign_id":"cmp_1","match":[{"key":"a"}]}`, "match[0].value required")
	f(`{"campaign_id":"cmp_1","match":[{"value":"a"}]}`, "match[0].key required")
	f(`{"campaign_id":"cmp_1","match":[{"key":"a","value":"1","x":2}]}`, "match[0].x unknown_field")
	f(`{"campaign_id":"cmp_1","match":[{"key":"a","value":"1"},{"key":"a","value":"2"}]}`, "match[1].key duplicate_field")
	f(`{"campaign_id":"cmp_1","match":{"a":{}}}`, "match.a wrong_type")
	f(`{"campaign_id":"cmp_1","match":{"a":null}}`, "match.a wrong_type")
	f(`{"campaign_id":"cmp_1","match":{"":"x"}}`, "match. invalid_format")
	f(`{"campaign_id":"cmp_1","mobile":"0151"}`, "mobile invalid_number")
	f(`{"campaign_id":"cmp_1","mobile":5}`, "mobile wrong_type")
	f(`{"campaign_id":"cmp_1","mobile":"`+mobile+`","reason":1}`, "reason wrong_type")
	f(`{"campaign_id":"cmp_1","mobile":"`+mobile+`","extra":1}`, "extra unknown_field")
}

func TestExcludePassesOnWhatTheCampaignSays(t *testing.T) {
	b := newBench(t)
	b.ports.fail = wire.ErrNoCampaign
	b.byKey("POST", excludePath, `{"campaign_id":"cmp_x","mobile":"`+mobile+`"}`).is(404, "campaign_not_found")
	b.ports.fail = engine.Unavailable("database", "Away.", 0)
	b.byKey("POST", excludePath, `{"campaign_id":"cmp_x","mobile":"`+mobile+`"}`).is(503, "database")
}
