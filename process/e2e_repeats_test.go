package process

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/engine"
	"dialler/engine/campaign"
)

// person answers after ringing and waits for the caller's BYE.
func person(ring time.Duration) carrier.Behaviour {
	return carrier.Behaviour{Kind: carrier.Human, Ring: draw.Exactly(ring)}
}

func TestARepeatedRequestIsAnsweredFromTheDatabaseAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	id := w.running(map[string]any{"sticky_exclusion": true})
	called, added, excluded := newNumber(), newNumber(), newNumber()
	type request struct {
		path   string
		body   string
		status int
	}
	requests := []request{
		{"/api/v1/sip/dialout", fmt.Sprintf(`{"bot_id":%q,"to_number":%q}`, ourBot, called), 201},
		{"/api/v1/campaigns/trigger", fmt.Sprintf(`{"campaign_id":%q,"mobile":%q,"metadata":{"a":1}}`, id, added), 200},
		{"/api/v1/contacts/exclude", fmt.Sprintf(`{"campaign_id":%q,"mobile":%q}`, id, excluded), 200},
		{"/api/v1/campaigns/trigger", fmt.Sprintf(`{"campaign_id":"cmp_none","mobile":%q}`, added), 404},
		{"/api/v1/sip/dialout", fmt.Sprintf(`{"bot_id":%q,"to_number":"12"}`, ourBot), 422},
	}
	first := make([]answer, len(requests))
	key := func(i int) string { return fmt.Sprintf("order-%d", i) }
	for i, q := range requests {
		first[i] = w.crm("POST", q.path, q.body, "Idempotency-Key", key(i)).expect(q.status)
		if first[i].header.Get("Idempotent-Replayed") != "" {
			t.Errorf("%s: the first answer is called a replay", q.path)
		}
	}
	repeat := func() {
		t.Helper()
		for i, q := range requests {
			for _, k := range []string{key(i), `"` + key(i) + `"`} { // bare or quoted
				r := w.crm("POST", q.path, q.body, "Idempotency-Key", k)
				if r.status != q.status || string(r.body) != string(first[i].body) ||
					r.header.Get("Idempotent-Replayed") != "true" ||
					r.header.Get("Content-Type") != first[i].header.Get("Content-Type") {
					t.Errorf("%s with %s again: %s %v, first %s", q.path, k, r, r.header, first[i])
				}
			}
			if r := w.crm("POST", q.path, q.body+" ", "Idempotency-Key", key(i)); r.status != 422 ||
				r.code() != "idempotency_mismatch" {
				t.Errorf("%s with another body: %s", q.path, r)
			}
		}
	}
	repeat()
	eventually(t, "both calls are over", func() bool {
		return len(model.Ledger().Calls()) == 2 && len(model.Ledger().Live()) == 0
	})
	w.quiet()
	w.restart()
	repeat()
	w.restart()
	repeat()
	// The key is scoped to its sender: the same key of another is a separate request.
	other := w.newKey(nil)
	w.send("POST", requests[2].path, requests[2].body, "X-API-Key", other, "Idempotency-Key", key(2)).expect(200)
	if r := w.crm("POST", requests[2].path, requests[2].body, "Idempotency-Key", "tab\there"); r.status != 422 ||
		r.code() != "idempotency_key_invalid" {
		t.Errorf("a key that is not printable: %s", r)
	}
	if n := len(model.Ledger().Calls()); n != 2 {
		t.Errorf("%d calls at the carrier, want one a number", n)
	}
	if n := w.rows("attempts"); n != 2 {
		t.Errorf("%d attempts, want 2", n)
	}
}

func TestTheSameRequestAtOnceIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	id := w.running(nil)
	for _, q := range []struct {
		path, body string
		status     int
	}{
		{"/api/v1/sip/dialout", fmt.Sprintf(`{"bot_id":%q,"to_number":%q}`, ourBot, newNumber()), 201},
		{"/api/v1/campaigns/trigger", fmt.Sprintf(`{"campaign_id":%q,"mobile":%q}`, id, newNumber()), 200},
	} {
		answers := make([]answer, 8)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = w.crm("POST", q.path, q.body, "Idempotency-Key", "same "+q.path) })
		}
		all.Wait()
		fresh, body := 0, ""
		for _, a := range answers {
			switch {
			case a.status == 409 && a.code() == "idempotency_in_progress":
			case a.status != q.status:
				t.Errorf("%s: %s", q.path, a)
			case a.header.Get("Idempotent-Replayed") == "":
				fresh++
				fallthrough
			default:
				if body != "" && body != string(a.body) {
					t.Errorf("%s answered %s and %s", q.path, body, a.body)
				}
				body = string(a.body)
			}
		}
		if fresh != 1 {
			t.Errorf("%s was carried out %d times", q.path, fresh)
		}
	}
	eventually(t, "both calls are over", func() bool {
		return len(model.Ledger().Live()) == 0 && w.p.tree.LiveCalls() == 0
	})
	if n := len(model.Ledger().Calls()); n != 2 {
		t.Errorf("%d calls at the carrier, want 2", n)
	}
}

func TestTheSameContactTriggeredAtOnceIsDialledOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(500 * time.Millisecond)}})
	id := w.running(nil)
	to := newNumber()
	answers, replies := make([]answer, 8), make([]campaign.TriggerReply, 8)
	var all sync.WaitGroup
	for i := range replies {
		all.Go(func() {
			answers[i] = w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": to,
				"metadata": map[string]any{fmt.Sprint("k", i): i}})
		})
	}
	all.Wait()
	for i, a := range answers {
		a.expect(200).into(&replies[i])
	}
	dialled, contact := 0, engine.ContactID("")
	for _, r := range replies {
		if contact != "" && r.ContactID != contact {
			t.Errorf("contacts %s and %s for one number", contact, r.ContactID)
		}
		contact = r.ContactID
		if r.Status == "dialled" {
			dialled++
		} else if r.Status != "queued" || r.Reason != "merged" {
			t.Errorf("%+v", r)
		}
	}
	if dialled != 1 {
		t.Errorf("dialled %d times", dialled)
	}
	eventually(t, "the call is over", func() bool {
		return len(model.Ledger().Calls()) == 1 && len(model.Ledger().Live()) == 0
	})
	c := w.contact(id, to)
	if len(c.Variables) != 8 || c.Variables["k3"] != "3" {
		t.Errorf("metadata of all requests is merged: %v", c.Variables)
	}
}

// contactRow is what the contact list shows of a contact.
type contactRow struct {
	ID          engine.ContactID `json:"contact_id"`
	PhoneNumber string           `json:"phone_number"`
	Status      string
	Reason      string
	Attempts    int
	LastResult  string `json:"last_result"`
	Variables   map[string]string
	Trail       []struct {
		Outcome engine.Outcome
	} `json:"attempt_trail"`
}

// contact finds a number in the campaign's list.
func (w *world) contact(id engine.CampaignID, number string) contactRow {
	w.t.Helper()
	for _, c := range w.contacts(id) {
		if c.PhoneNumber == number {
			return c
		}
	}
	w.t.Fatalf("the number is not in campaign %s", id)
	return contactRow{}
}

func (w *world) contacts(id engine.CampaignID) []contactRow {
	w.t.Helper()
	var list struct{ Contacts []contactRow }
	w.operator("GET", "/api/v1/campaigns/"+string(id)+"/contacts?page_size=200", nil).expect(200).into(&list)
	return list.Contacts
}
