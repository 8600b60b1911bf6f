package http

import (
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
)

func TestABotHasItsCallTransferred(t *testing.T) {
	b := newBench(t)
	path := "/api/v1/calls/" + string(theCall) + "/transfer"
	token := []string{"Authorization", "Bearer call-token"}
	b.do("GET", path, "", token...).is(404, "no_transfer")
	a := b.do("POST", path, `{"to":"+493012345"}`, token...).is(202, "")
	if a.get("status") != "calling" || a.get("call_id") != string(theCall) {
		t.Errorf("%s", a.body)
	}
	longest := "sip:" + strings.Repeat("a", engine.SIPURICap-9) + "@host"
	b.byKey("POST", path, `{"to":"`+longest+`"}`).is(202, "")
	if len(b.ports.transfers) != 2 || b.ports.transfers[0] != "+493012345" || b.ports.transfers[1] != longest {
		t.Errorf("%v", b.ports.transfers)
	}
	b.byKey("POST", path, `{"to":"a`+longest+`"}`).is(422, "validation_failed", "to too_long")
	b.byKey("POST", path, `{"x":1}`).is(422, "validation_failed", "to required", "x unknown_field")
	b.do("POST", path, `{"to":"+493012345"}`).is(401, "unauthorized")
	b.do("POST", path, `{"to":"+493012345"}`, "Authorization", "Bearer x").is(401, "unauthorized")

	at := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	b.ports.attempt.Transfer = &attempt.Transfer{Kind: "number", To: "+493012345", By: "api", RequestedAt: at,
		AnsweredAt: &at, Result: attempt.TransferBridged, SIPCode: 200}
	a = b.do("GET", path, "", token...).is(200, "")
	if a.get("result") != "bridged" || a.get("to") != "+493012345" || a.get("kind") != "number" ||
		a.get("requested_by") != "api" || a.get("ended_at") != nil {
		t.Errorf("%s", a.body)
	}
	b.byKey("GET", "/api/v1/calls/"+string(theCall), "").is(200, "")

	for _, e := range []*engine.Error{
		{Kind: engine.KindForbidden, Code: "transfer_not_allowed", Detail: "x"}, engine.Conflict("transfer_in_progress", "x"),
		engine.Invalid("transfer_target", "x"), engine.NotFound("call_ended", "x"),
	} {
		b.ports.transferFail = e
		status := map[engine.Kind]int{engine.KindForbidden: 403, engine.KindConflict: 409, engine.KindInvalid: 422,
			engine.KindNotFound: 404}[e.Kind]
		b.do("POST", path, `{"to":"+493012345"}`, token...).is(status, e.Code)
	}
}
