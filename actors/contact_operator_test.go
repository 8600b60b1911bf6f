package actors_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// operate carries out an operator's command on the contact with a number.
func (r *rig) operate(action campaign.ContactAction, n engine.PhoneNumber, at time.Time) error {
	r.t.Helper()
	return r.tree.ActOnContact(context.Background(), campaign.ActOnContact{Campaign: r.id, Contact: r.contactOf(n).ID,
		Action: action, At: at,
		Reason: "asked", Who: engine.Who{User: "usr_olga", Name: "olga@example.org"}})
}

// operated returns the events left by operators' commands on contacts.
func (r *rig) operated() (list []journal.Event) {
	r.store.View(func() {
		for _, e := range r.store.AllEvents() {
			if e.Contact != "" && e.Data.Who != nil {
				list = append(list, e)
			}
		}
	})
	return list
}

func TestAContactThatAnOperatorRetriesIsDialledNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 20*time.Second), func(s *campaign.Settings) {
			s.Concurrency, s.AbandonCapPPM = 1, 0
		})
		defer r.tree.Close()
		r.results()
		r.add(3000) // more than the look-ahead can hold
		r.act(campaign.ActionStart)
		time.Sleep(time.Minute) // virtual
		synctest.Wait()
		for _, n := range []engine.PhoneNumber{number(2999), number(200)} { // beyond the look-ahead, and in it
			before := r.world.Invited()
			if err := r.operate(campaign.RetryNow, n, time.Time{}); err != nil {
				t.Fatal(err)
			}
			r.until(time.Minute, "dialled", func() bool { return len(r.callsTo(n)) == 1 })
			if others := r.world.Invited() - before; others > 3 {
				t.Errorf("%d calls went before it", others)
			}
			r.until(time.Minute, "completed", func() bool { return r.contactOf(n).State == contact.Completed })
		}
		// A final contact is called once more, with fresh attempts.
		if err := r.operate(campaign.RetryNow, number(2999), time.Time{}); err != nil {
			t.Fatal(err)
		}
		r.until(time.Minute, "dialled again", func() bool { return len(r.callsTo(number(2999))) == 2 })
		list := r.operated()
		if len(list) != 3 || list[0].Type != journal.ContactRetried || list[0].Data.Who.Name != "olga@example.org" ||
			list[0].Data.DueAt == nil {
			t.Errorf("%+v", list)
		}
		r.act(campaign.ActionStop)
		r.until(time.Minute, "over", func() bool { return !r.detail().Draining })
		time.Sleep(5 * time.Second) // virtual: writes that nothing waits for are stored
		r.check()
	})
}

func TestAContactIsCalledAtTheTimeThatAnOperatorPromised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := calledBack(t, nil)
		defer r.tree.Close()
		r.results()
		r.add(2)
		r.act(campaign.ActionStart)
		r.act(campaign.ActionPause) // accepted in a paused campaign, effective once it resumes
		at := time.Now().Add(3 * time.Hour)
		if err := r.operate(campaign.CallBack, number(0), at); err != nil {
			t.Fatal(err)
		}
		if c := r.contactOf(number(0)); c.Callback != contact.CallbackPending || !c.CallbackAt.Equal(at) ||
			c.DueClass != contact.DueCallback {
			t.Errorf("%+v", c)
		}
		r.act(campaign.ActionResume)
		r.until(time.Minute, "the other is called", func() bool { return r.contactOf(number(1)).State == contact.Completed })
		r.until(4*time.Hour, "campaign completed", r.completed)
		calls := r.callsTo(number(0))
		if len(calls) != 1 || !calls[0].Callback || calls[0].InviteAt.Before(at) ||
			calls[0].InviteAt.Sub(at) > 3*time.Second {
			t.Errorf("calls %+v", calls)
		}
		if b := r.detail().Counters.Callbacks; b.Requested != 1 || b.Completed != 1 {
			t.Errorf("%+v", b)
		}
		r.check()
	})
}

func TestAnOperatorExcludesOneContact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(20*time.Second, 20*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.add(3)
		if err := r.operate(campaign.ExcludeContact, number(2), time.Time{}); err != nil { // in a draft
			t.Fatal(err)
		}
		r.act(campaign.ActionStart)
		time.Sleep(5 * time.Second) // virtual: ringing
		if err := r.operate(campaign.ExcludeContact, number(0), time.Time{}); err != nil {
			t.Fatal(err)
		}
		if err := r.operate(campaign.ExcludeContact, number(0), time.Time{}); err != nil { // once more
			t.Fatal(err)
		}
		r.until(5*time.Minute, "campaign completed", r.completed)
		if a, b := r.contactOf(number(0)), r.contactOf(number(2)); a.State != contact.Excluded ||
			b.State != contact.Excluded || a.Reason != "asked" || len(r.callsTo(number(2))) > 0 {
			t.Errorf("%+v, %+v", a, b)
		}
		if list := r.operated(); len(list) != 2 || list[1].Type != journal.ContactExcluded ||
			list[1].Contact != r.contactOf(number(0)).ID || list[1].Data.Reason != "" {
			t.Errorf("%+v", list)
		}
		r.check()
	})
}

func TestWhatAnOperatorIsRefusedOfAContact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := calledBack(t, func(s *campaign.Settings) { s.AlwaysOn, s.Concurrency = true, 1 })
		defer r.tree.Close()
		r.results()
		both := func(want string, n engine.PhoneNumber) {
			t.Helper()
			for _, action := range []campaign.ContactAction{campaign.RetryNow, campaign.CallBack} {
				if err := r.operate(action, n, time.Now().Add(time.Hour)); engine.ErrorCode(err) != want {
					t.Errorf("%s: %v, want %s", action, err, want)
				}
			}
		}
		r.add(6)
		both("campaign_not_running", number(0))
		r.act(campaign.ActionStart)
		r.until(time.Minute, "one is called", func() bool { return len(r.dialled()) > 0 })
		called := r.dialled()[0].To
		both("call_in_progress", called)
		r.act(campaign.ActionPause)
		all := []engine.PhoneNumber{number(0), number(1), number(2), number(3), number(4), number(5)}
		left := slices.DeleteFunc(all, func(n engine.PhoneNumber) bool { return len(r.callsTo(n)) > 0 })
		r.suppress(left[0])
		both("suppressed", left[0])
		if _, err := r.tree.Exclude(context.Background(), campaign.Exclude{Campaign: r.id, Number: left[1]}); err != nil {
			t.Fatal(err)
		}
		both("contact_excluded", left[1])
		both("contact_not_found", "+4915199999999")
		for _, at := range []time.Duration{-time.Hour, 15 * 24 * time.Hour} {
			if err := r.operate(campaign.CallBack, left[2], time.Now().Add(at)); engine.ErrorCode(err) != "validation_failed" {
				t.Errorf("%v from now: %v", at, err)
			}
		}
		r.mustEdit(func(s *campaign.Settings) { s.CallbackDetection = false })
		if err := r.operate(campaign.CallBack, left[2], time.Now().Add(time.Hour)); engine.ErrorCode(err) != "callbacks_off" {
			t.Errorf("%v", err)
		}
		r.act(campaign.ActionStop)
		both("campaign_not_running", left[2])
	})
}
