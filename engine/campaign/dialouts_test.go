package campaign

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
)

func TestADialoutForLaterExpiresAnHourAfterItsTimeUnlessToldOtherwise(t *testing.T) {
	now := time.Date(2030, 3, 4, 10, 0, 0, 0, time.UTC)
	at, until, priority := now.Add(time.Hour), now.Add(90*time.Minute), 9
	cmd := Dialout{Bot: "bot", To: "+4915112345678", Who: engine.Who{Key: "key"}, Deadline: now,
		Idempotency: engine.Idempotency{Token: "k"}, Times: contact.Times{NotBefore: &at}}
	d := NewScheduledDialout("0000000000000000000000000000000a", cmd, now)
	if !d.ExpiresAt.Equal(at.Add(DialoutLasts)) || !d.NextAt.Equal(at) || d.Precedence != 0 ||
		d.Command.Idempotency.Present() || !d.Command.Deadline.IsZero() || !d.Command.Times.ExpiresAt.Equal(d.ExpiresAt) {
		t.Errorf("%+v", d)
	}
	cmd.Times.ExpiresAt, cmd.Times.Priority = &until, &priority
	d = NewScheduledDialout(d.ID, cmd, now)
	if !d.ExpiresAt.Equal(until) || d.Precedence != -4 {
		t.Errorf("%+v", d)
	}
	if r := d.Reply(); r.Status != "scheduled" || r.CallID != d.ID.Call() || *r.Priority != 9 || r.FromNumber != "" {
		t.Errorf("%+v", r)
	}
	if a := d.Shown(); a.State != attempt.Scheduled || a.Waits.Priority != 9 || a.Key != "key" {
		t.Errorf("%+v", a)
	}
}

func TestWhyADialoutIsNotDialledNow(t *testing.T) {
	now := time.Date(2030, 3, 4, 10, 0, 0, 0, time.UTC)
	w := attempt.Waits{NotBefore: now.Add(time.Hour), ExpiresAt: now.Add(2 * time.Hour)}
	f := func(at time.Time, reason, code string, next bool) {
		t.Helper()
		w.Reason = reason
		if e := ExplainDialout(&w, at); e.Code != code || (e.NextAt != nil) != next || e.Message == "" {
			t.Errorf("%+v, want %s", e, code)
		}
	}
	f(now, "", WhyNotBefore, true)
	f(w.NotBefore, "", WhyQueued, false)
	f(w.NotBefore, "no_capacity", "no_capacity", false)
	f(w.ExpiresAt, "no_capacity", WhyExpires, false)
}
