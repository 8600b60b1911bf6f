package http

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
)

const suppressionsPath = "/api/v1/suppressions"

func TestNumbersAreSuppressedFoundAndLifted(t *testing.T) {
	b := newBench(t)
	oper := []string{"Authorization", "Bearer " + b.token("usr_oper")}
	a := b.do("POST", suppressionsPath, `{"number":"`+mobile+`","reason":"asked by letter"}`, oper...).is(200, "")
	if a.get("added") != 1.0 || a.get("known") != 0.0 || b.ports.suppressors[0].User != "usr_oper" {
		t.Errorf("%s %+v", a.body, b.ports.suppressors)
	}
	a = b.byKey("POST", suppressionsPath, `{"numbers":["`+mobile+`","+4915112345679"]}`).is(200, "")
	if a.get("added") != 1.0 || a.get("known") != 1.0 || b.ports.suppressed[0].Reason != "asked by letter" ||
		b.ports.suppressed[1].Reason != "manual" {
		t.Errorf("%s %+v", a.body, b.ports.suppressed)
	}
	a = b.byAdmin("GET", suppressionsPath+"?page=2&page_size=10", "").is(200, "")
	if a.get("total") != 2.0 || b.ports.pages[0] != (campaign.Page{Number: 2, Size: 10}) {
		t.Errorf("%s", a.body)
	}
	a = b.byAdmin("GET", suppressionsPath+"?number=%2B4915112345678", "").is(200, "")
	if list := a.get("suppressions").([]any); len(list) != 1 || list[0].(map[string]any)["number"] != mobile {
		t.Errorf("%s", a.body)
	}
	b.do("DELETE", suppressionsPath+"/"+mobile, "", oper...).is(403, "role_too_low")
	b.byAdmin("DELETE", suppressionsPath+"/"+mobile, "").is(204, "")
	b.byAdmin("DELETE", suppressionsPath+"/"+mobile, "").is(404, "suppression_not_found")
	b.byAdmin("DELETE", suppressionsPath+"/0151", "").is(422, "validation_failed", "number invalid_number")
}

func TestASuppressionThatIsNotConfirmedIsAnswered503(t *testing.T) {
	b := newBench(t)
	b.ports.fail = engine.Unavailable("suppression_unconfirmed", "Node b did not confirm.", time.Second)
	a := b.byKey("POST", suppressionsPath, `{"number":"`+mobile+`"}`).is(503, "suppression_unconfirmed")
	if !strings.Contains(string(a.body), "Node b did not confirm.") || a.header.Get("Retry-After") != "1" {
		t.Errorf("%s, Retry-After %q", a.body, a.header.Get("Retry-After"))
	}
	b.byAdmin("POST", suppressionsPath+"/imports", "phone_number\r\n"+mobile+"\r\n", "Content-Type", "text/csv").is(503,
		"suppression_unconfirmed")
	b.ports.fail = nil
	if a := b.byKey("POST", suppressionsPath, `{"number":"`+mobile+`"}`).is(200, ""); a.get("added") != 0.0 ||
		a.get("known") != 1.0 {
		t.Errorf("sent again: %s", a.body)
	}
}

func TestSuppressRefusesBodiesThatFailValidation(t *testing.T) {
	b := newBench(t)
	f := func(body string, want ...string) {
		t.Helper()
		b.byAdmin("POST", suppressionsPath, body).is(422, "validation_failed", want...)
	}
	f(`{}`, "numbers exactly_one")
	f(`{"number":"`+mobile+`","numbers":["`+mobile+`"]}`, "numbers exactly_one")
	f(`{"numbers":[]}`, "numbers required")
	f(`{"numbers":["0151",7]}`, "numbers[0] invalid_number", "numbers[1] wrong_type")
	f(`{"numbers":[`+strings.Repeat(`"`+mobile+`",`, 1000)+`"`+mobile+`"]}`, "numbers too_long")
	f(`{"number":"`+mobile+`","reason":"`+strings.Repeat("x", 201)+`"}`, "reason too_long")
	f(`{"number":"`+mobile+`","why":"x"}`, "why unknown_field")
	b.byAdmin("GET", suppressionsPath+"?number=x&page=0", "").is(422, "validation_failed", "number invalid_number",
		"page out_of_range")
	b.byKey("GET", suppressionsPath, "").is(403, "scope_missing")
	b.do("POST", suppressionsPath, `{"number":"`+mobile+`"}`, "Authorization", "Bearer "+b.token("usr_view")).is(403,
		"role_too_low")
	if len(b.ports.suppressed) != 0 {
		t.Error("something was suppressed")
	}
}

func TestAFileOfNumbersIsSuppressed(t *testing.T) {
	b := newBench(t)
	var file strings.Builder
	file.WriteString("name,Phone_Number\r\n")
	for i := range 2500 {
		fmt.Fprintf(&file, "x,+491511%07d\r\n", i)
	}
	file.WriteString("x,0151\r\nx,+4915110000000\r\n")
	csv := []string{"Content-Type", "text/csv"}
	a := b.byAdmin("POST", suppressionsPath+"/imports?reason=robinson", file.String(), csv...).is(200, "")
	if a.get("rows") != 2502.0 || a.get("added") != 2500.0 || a.get("known") != 1.0 || a.get("invalid") != 1.0 ||
		len(a.get("rejected").([]any)) != 1 {
		t.Errorf("%s", a.body)
	}
	if len(b.ports.suppressed) != 2500 || b.ports.suppressed[7].Reason != "robinson" || len(b.ports.suppressors) != 3 {
		t.Errorf("%d numbers in %d parts", len(b.ports.suppressed), len(b.ports.suppressors))
	}
	b.byAdmin("POST", suppressionsPath+"/imports", "name\r\nx\r\n", csv...).is(422, "missing_column")
	b.byAdmin("POST", suppressionsPath+"/imports", `{}`).is(415, "unsupported_media_type")
	b.byAdmin("POST", suppressionsPath+"/imports?x=1", "phone_number\r\n", csv...).is(422, "validation_failed",
		"x unknown_field")
}
