package http

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/http/wire"
)

const exclusionsPath = "/api/v1/campaigns/cmp_1/exclusions"

func TestExclusionsAreListedMadeAndLifted(t *testing.T) {
	b := newBench(t)
	oper := []string{"Authorization", "Bearer " + b.token("usr_oper")}
	b.ports.exclusions = []journal.Exclusion{
		{Campaign: "cmp_1", Number: mobile, Reason: "asked", CreatedAt: testAt},
		{Campaign: "cmp_1", Match: map[string]string{"account": "7"}, CreatedAt: testAt},
	}
	a := b.byKey("GET", exclusionsPath+"?page=2&page_size=10", "").is(200, "")
	list := a.get("exclusions").([]any)
	first, second := list[0].(map[string]any), list[1].(map[string]any)
	if a.get("total") != 2.0 || b.ports.pages[0] != (campaign.Page{Number: 2, Size: 10}) || first["mobile"] != mobile ||
		first["reason"] != "asked" ||
		first["match"] != nil || second["mobile"] != nil || second["match"].(map[string]any)["account"] != "7" {
		t.Errorf("%s", a.body)
	}
	a = b.byAdmin("GET", exclusionsPath+"?number=%2B4915112345678", "").is(200, "")
	if a.get("total") != 1.0 {
		t.Errorf("%s", a.body)
	}
	b.byAdmin("GET", exclusionsPath+"?number=x&page=0&status=x", "").is(422, "validation_failed", "number invalid_number",
		"page out_of_range", "status unknown_field")

	a = b.do("POST", exclusionsPath, `{"mobile":"`+mobile+`","reason":"asked"}`, oper...).is(200, "")
	if got := b.ports.excludes[0]; a.get("matched") == nil || got.Campaign != "cmp_1" || got.Number != mobile ||
		got.Reason != "asked" || got.Who.User != "usr_oper" || got.Deadline.IsZero() {
		t.Errorf("%s %+v", a.body, got)
	}
	b.byAdmin("POST", exclusionsPath, `{"match":{"account":7}}`).is(200, "")
	b.byAdmin("POST", exclusionsPath, `{"campaign_id":"cmp_2"}`).is(422, "validation_failed", "campaign_id unknown_field",
		"mobile required", "match required")

	lift := exclusionsPath + "/lift"
	a = b.do("POST", lift, `{"mobile":"`+mobile+`"}`, oper...).is(200, "")
	if got := b.ports.lifts[0]; a.get("readmitted") != 1.0 || got.Campaign != "cmp_1" || got.Number != mobile ||
		got.Match != nil || got.Who.User != "usr_oper" {
		t.Errorf("%s %+v", a.body, got)
	}
	b.byAdmin("POST", lift, `{"match":[{"key":"account","value":"7"}]}`).is(200, "")
	if got := b.ports.lifts[1]; got.Number != "" || !maps.Equal(got.Match, map[string]string{"account": "7"}) {
		t.Errorf("%+v", got)
	}
	b.byAdmin("POST", lift, `{}`).is(422, "validation_failed", "mobile required", "match required")
	b.byAdmin("POST", lift, `{"mobile":"`+mobile+`","match":{"a":"b"},"reason":"x"}`).is(422, "validation_failed",
		"mobile mutually_exclusive", "reason unknown_field")
	b.do("POST", lift, `{"mobile":"`+mobile+`"}`, "Authorization", "Bearer "+b.token("usr_view")).is(403, "role_too_low")
	b.byKey("POST", lift, `{"mobile":"`+mobile+`"}`).is(403, "scope_missing")
	for err, status := range map[error]int{engine.NotFound("exclusion_not_found", "No."): 404,
		engine.Conflict("run_over", "No."): 409} {
		b.ports.fail = err
		b.byAdmin("POST", lift, `{"mobile":"`+mobile+`"}`).is(status, engine.ErrorCode(err))
	}
	b.ports.fail = wire.ErrNoCampaign
	b.byAdmin("GET", exclusionsPath, "").is(404, "campaign_not_found")
	b.byAdmin("POST", exclusionsPath, `{"mobile":"`+mobile+`"}`).is(404, "campaign_not_found")
}

func TestAFileOfNumbersIsExcluded(t *testing.T) {
	b := newBench(t)
	var file strings.Builder
	file.WriteString("name,Phone_Number\r\n")
	for i := range 300 {
		fmt.Fprintf(&file, "x,+491511%07d\r\n", i)
	}
	file.WriteString("x,0151\r\n")
	kind := []string{"Content-Type", "text/csv"}
	a := b.byAdmin("POST", exclusionsPath+"/imports?reason=robinson", file.String(), kind...).is(200, "")
	each := b.ports.excludes[0]
	if a.get("rows") != 301.0 || a.get("invalid") != 1.0 || len(a.get("rejected").([]any)) != 1 ||
		len(b.ports.excludes) != 300 || each.Reason != "robinson" || each.Campaign != "cmp_1" {
		t.Errorf("%s, %d excluded, %+v", a.body, len(b.ports.excludes), each)
	}
	if n := b.ports.importedExclusions; len(n) != 1 || n[0].Numbers != 300 || n[0].Reason != "robinson" ||
		n[0].Campaign != "cmp_1" || n[0].Who.User != "usr_admin" {
		t.Errorf("the activity log has %+v", n)
	}
	numbers := map[engine.PhoneNumber]bool{}
	for _, x := range b.ports.excludes {
		numbers[x.Number] = true
	}
	if len(numbers) != 300 {
		t.Errorf("%d numbers", len(numbers))
	}
	b.ports.excludeCap = 300 + 2*128
	b.byAdmin("POST", exclusionsPath+"/imports", file.String(), kind...).is(503, "database_unavailable")
	if n := b.ports.importedExclusions; len(n) != 2 || n[1].Numbers != 256 {
		t.Errorf("of a file that breaks off the activity log has %+v", n[1:])
	}
	b.byAdmin("POST", exclusionsPath+"/imports", "name\r\nx\r\n", kind...).is(422, "missing_column")
	b.byAdmin("POST", exclusionsPath+"/imports", `{}`).is(415, "unsupported_media_type")
	b.byAdmin("POST", exclusionsPath+"/imports?x=1", "phone_number\r\n", kind...).is(422, "validation_failed",
		"x unknown_field")
	b.ports.fail = engine.Unavailable("database_unavailable", "Away.", 0)
	b.byAdmin("POST", exclusionsPath+"/imports", file.String(), kind...).is(503, "database_unavailable")
}

func TestExclusionsAreDownloadedAsAFile(t *testing.T) {
	b := newBench(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	b.ports.exclusions = []journal.Exclusion{{Match: map[string]string{"account": "=1", "b": "2"}, Reason: "=HYPERLINK(1)",
		CreatedAt: at}}
	for i := range 2 * 1000 {
		b.ports.exclusions = append(b.ports.exclusions,
			journal.Exclusion{Number: engine.PhoneNumber(fmt.Sprintf("+49151%08d", i)), Reason: "asked", CreatedAt: at})
	}
	path := exclusionsPath + ".csv"
	a := b.byKey("GET", path, "").is(200, "")
	rows, err := csv.NewReader(strings.NewReader(string(a.body))).ReadAll()
	if err != nil || len(rows) != 2+2*1000 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	const moment = "2026-03-01T12:00:00.000Z"
	for i, want := range map[int][]string{0: {"phone_number", "match", "reason", "created_at"},
		1: {"", `{"account":"=1","b":"2"}`, "'=HYPERLINK(1)", moment},
		2: {"+4915100000000", "", "asked", moment}, 1 + 2*1000: {"+4915100001999", "", "asked", moment}} {
		if !slices.Equal(rows[i], want) {
			t.Errorf("row %d: %q", i, rows[i])
		}
	}
	b.byAdmin("POST", exclusionsPath+"/imports", string(a.body), "Content-Type", "text/csv").is(200, "")
	if n := len(b.ports.excludes); n != 2*1000 {
		t.Errorf("%d of its numbers can be imported", n)
	}
	zipped := b.page("GET", path, "Accept-Encoding", "gzip", "Authorization", "Bearer "+b.token("usr_view"))
	if in, err := gzip.NewReader(bytes.NewReader(zipped.body)); err != nil || !equalText(in, a.body) {
		t.Errorf("compressed it is another: %v", err)
	}
	b.byKey("GET", path+"?page=2", "").is(422, "validation_failed", "page unknown_field")
	b.ports.fail = wire.ErrNoCampaign
	b.byKey("GET", path, "").is(404, "campaign_not_found")
	eventually(t, "no report is counted", func() bool { return b.server.files.Sheets.Load() == 0 })
}

func equalText(in io.Reader, want []byte) bool {
	got, err := io.ReadAll(in)
	return err == nil && bytes.Equal(got, want)
}
