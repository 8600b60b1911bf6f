package http

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

const contactPath = campaignPath + "/contacts/c1"

func TestAnOperatorActsOnOneContact(t *testing.T) {
	b := newBench(t)
	f := func(path, body string, want campaign.ActOnContact) {
		t.Helper()
		a := b.byAdmin("POST", contactPath+path, body).is(200, "")
		if a.get("contact_id") != "c1" || a.get("explain") == nil {
			t.Errorf("%s: %s", path, a.body)
		}
		got := b.ports.contactActs[len(b.ports.contactActs)-1]
		if got.Who.User != "usr_admin" || got.Deadline.IsZero() {
			t.Errorf("%s: by %+v until %v", path, got.Who, got.Deadline)
		}
		if got.Who, got.Deadline = (engine.Who{}), (time.Time{}); !got.At.Equal(want.At) {
			t.Errorf("%s: at %v", path, got.At)
		}
		got.At = want.At
		want.Campaign, want.Contact = "cmp_1", "c1"
		if got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
	f("/exclude", "", campaign.ActOnContact{Action: campaign.ExcludeContact})
	f("/exclude", `{"reason":"asked"}`, campaign.ActOnContact{Action: campaign.ExcludeContact, Reason: "asked"})
	f("/retry-now", "", campaign.ActOnContact{Action: campaign.RetryNow})
	f("/call-back", `{"at":"2030-03-01T14:00:00+01:00"}`, campaign.ActOnContact{Action: campaign.CallBack,
		At: testAt.Add(time.Hour)})
}

func TestActionsOnAContactAreRefused(t *testing.T) {
	b := newBench(t)
	for path, bodies := range map[string][]string{
		"/call-back": {`{}`, `{"at":null}`, `{"at":"tomorrow"}`, `{"at":"2030-03-01T14:00:00"}`, `{"at":5}`,
			`{"at":"2030-03-01T14:00:00Z","x":1}`},
		"/exclude":   {`{"reason":5}`, `{"mobile":"+4915112345678"}`},
		"/retry-now": {`{"at":"2030-03-01T14:00:00Z"}`},
	} {
		for _, body := range bodies {
			b.byAdmin("POST", contactPath+path, body).is(422, "validation_failed")
		}
	}
	if len(b.ports.contactActs) > 0 {
		t.Errorf("carried out: %+v", b.ports.contactActs)
	}
	// The contact's own refusal is passed on; every refusing state is one of engine/contact's.
	m := &contact.Machine{C: contact.Contact{State: contact.Pending, DueAt: &time.Time{}}}
	past := m.Refusal(contact.Event{Kind: contact.CallbackSet, At: testAt, Until: testAt.Add(-time.Hour),
		Policy: contact.Policy{Callbacks: true}})
	for status, fails := range map[int][]error{
		404: {engine.NotFound("contact_not_found", "The campaign has no such contact.")},
		409: {engine.Conflict("campaign_not_running", "x"), engine.Conflict("call_in_progress", "x"), journal.ErrSuppressed,
			(&campaign.Campaign{State: campaign.Draft}).Dials()},
		422: {past},
	} {
		for _, fail := range fails {
			b.ports.fail = fail
			b.byAdmin("POST", contactPath+"/call-back", `{"at":"2030-03-01T14:00:00Z"}`).is(status, engine.ErrorCode(fail))
		}
	}
	b.ports.fail = past
	b.byAdmin("POST", contactPath+"/call-back", `{"at":"2030-03-01T14:00:00Z"}`).is(422, "validation_failed", "at")
}

func TestTheActivityLogSaysWhatWasDoneToAContact(t *testing.T) {
	b := newBench(t)
	at := testAt.Add(time.Hour)
	b.ports.events = []journal.Event{{Campaign: "cmp_1", Seq: 1, Run: 1, At: testAt, Type: journal.ContactCallBackSet,
		Contact: "c1",
		Data:    journal.Data{Who: &engine.Who{User: "usr_oper", Name: "oper@example.org"}, DueAt: &at}}}
	a := b.byAdmin("GET", campaignPath+"/activity?kinds=call_back_contact,retry_contact,exclude_contact", "").is(200, "")
	if e := a.get("activity").([]any)[0].(map[string]any); e["action"] != "call_back_contact" || e["contact_id"] != "c1" ||
		e["due_at"] != "2030-03-01T13:00:00Z" {
		t.Errorf("%s", a.body)
	}
}
