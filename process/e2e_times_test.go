package process

import (
	"strings"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/campaign"
)

func (w *world) triggerTimed(id engine.CampaignID, number string, times map[string]any) (rep campaign.TriggerReply) {
	w.t.Helper()
	body := map[string]any{"campaign_id": id, "mobile": number}
	for k, v := range times {
		body[k] = v
	}
	w.crm("POST", "/api/v1/campaigns/trigger", body).expect(200).into(&rep)
	return rep
}

func TestAPersonIsCalledFromNotBeforeOnAndNotAfterExpiresAt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 100*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	open, paused := w.running(nil), w.running(nil)
	w.act(paused, "pause").expect(200)
	stamp := func(in time.Duration) (string, time.Time) {
		at := time.Now().Add(in).Truncate(time.Millisecond)
		return at.Format(time.RFC3339Nano), at
	}
	from, at := stamp(3 * time.Second)
	until, _ := stamp(3 * time.Second)
	later := newNumber()
	rep := w.triggerTimed(open, later, map[string]any{"not_before": from, "priority": 9})
	if rep.Status != "queued" || rep.Reason != "not_before" || rep.NextEligibleAt == nil || !rep.NextEligibleAt.Equal(at) {
		t.Errorf("who may be called later: %+v", rep)
	}
	if code, next := w.why(open, string(rep.ContactID)); code != "not_before" || next == nil || !next.Equal(at) {
		t.Errorf("why not now: %s at %v", code, next)
	}
	lost := w.triggerTimed(paused, newNumber(), map[string]any{"expires_at": until})

	type shown struct {
		Status    string
		ExpiresAt *time.Time `json:"expires_at"`
		Priority  int
		Trail     []struct {
			StartedAt time.Time `json:"started_at"`
		} `json:"attempt_trail"`
	}
	read := func(id engine.CampaignID, contact engine.ContactID) (c shown) {
		w.operator("GET", "/api/v1/campaigns/"+string(id)+"/contacts/"+string(contact), nil).expect(200).into(&c)
		return c
	}
	eventually(t, "it is called", func() bool { return len(read(open, rep.ContactID).Trail) > 0 })
	if c := read(open, rep.ContactID); c.Trail[0].StartedAt.Before(at) || c.Priority != 9 {
		t.Errorf("called at %s, before %s; priority %d", c.Trail[0].StartedAt, at, c.Priority)
	}
	eventually(t, "the other expires", func() bool { return read(paused, lost.ContactID).Status == "expired" })
	if c := read(paused, lost.ContactID); len(c.Trail) > 0 || c.ExpiresAt == nil {
		t.Errorf("%+v", c)
	}
	for _, c := range model.Ledger().Calls() {
		if c.Number.E164() != later || c.InviteAt.Before(at) {
			t.Errorf("the carrier got a call at %s", c.InviteAt)
		}
	}
	if code, _ := w.why(paused, string(lost.ContactID)); code != "expired" {
		t.Errorf("why not now: %s", code)
	}
	var d struct{ Counters struct{ Expired int } }
	w.operator("GET", "/api/v1/campaigns/"+string(paused), nil).expect(200).into(&d)
	if d.Counters.Expired != 1 {
		t.Errorf("%d expired", d.Counters.Expired)
	}
	past, _ := stamp(-time.Hour)
	refused := w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": open, "mobile": newNumber(),
		"expires_at": past}).expect(422)
	if !strings.Contains(string(refused.body), "a valid one is") {
		t.Errorf("%s", refused.body)
	}
}
