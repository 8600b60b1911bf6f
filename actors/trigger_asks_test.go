package actors_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// keyed triggers a number under an Idempotency-Key.
func (r *rig) keyed(n int, token string, vars map[string]string) (campaign.TriggerReply, error) {
	return r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: number(n), Variables: vars,
		Idempotency: engine.Idempotency{Key: "key_1", Route: "trigger", Token: token, BodyHash: "x"}})
}

// calledAndPaused has idle contacts that were called; triggers are queued.
func (r *rig) calledAndPaused(n int) {
	r.t.Helper()
	r.add(n)
	r.act(campaign.ActionStart)
	r.until(time.Minute, "all are called", func() bool {
		return r.detail().Counters.Connected+r.detail().Counters.Completed >= n && r.world.LiveCalls() == 0
	})
	time.Sleep(time.Minute) // virtual: results have come
	r.act(campaign.ActionPause)
	synctest.Wait()
}

// The write itself detects that the number is already in the campaign, and that the key was used.
func TestATriggerThatIsQueuedMeetsAContactThatThereIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), func(s *campaign.Settings) { s.AlwaysOn = true })
		defer r.tree.Close()
		r.results()
		r.calledAndPaused(3)
		before := r.detail().Counters.Total
		for i, token := range []string{"a", "b"} { // without a query, then with one
			rep, err := r.keyed(i, token, map[string]string{"said": token})
			if err != nil || rep.Status != "queued" {
				t.Errorf("%s: %+v, %v", token, rep, err)
			}
			synctest.Wait()
			if c := r.contactOf(number(i)); !c.Open() || c.ID != rep.ContactID || c.Variables["said"] != token {
				t.Errorf("%s: %+v", token, c)
			}
		}
		if rep, err := r.keyed(50, "c", nil); err != nil || rep.Status != "queued" {
			t.Errorf("a new number: %+v, %v", rep, err)
		}
		if got := r.detail().Counters.Total; got != before+1 {
			t.Errorf("%d contacts, then %d", before, got)
		}
	})
}

// A repeat must not reach the contact that the first one added: it would be merged, or opened
// again.
func TestATriggerUnderAKeyThatWasUsedChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), func(s *campaign.Settings) { s.AlwaysOn = true })
		defer r.tree.Close()
		r.results()
		r.act(campaign.ActionStart)
		time.Sleep(time.Second) // virtual
		repeated := func(when string) {
			t.Helper()
			for range 2 {
				if rep, err := r.keyed(1, "a", map[string]string{"again": "1"}); !errors.Is(err, journal.ErrReplyExists) {
					t.Errorf("%s: %+v, %v", when, rep, err)
				}
			}
			synctest.Wait()
			if d := r.detail(); d.Counters.Total != 1 || r.contactOf(number(1)).Variables["again"] != "" {
				t.Errorf("%s: %+v, %v", when, d.Counters, r.contactOf(number(1)).Variables)
			}
		}
		if rep, err := r.keyed(1, "a", nil); err != nil || rep.Status != "dialled" {
			t.Fatalf("%+v, %v", rep, err)
		}
		repeated("while it rings")
		r.until(time.Minute, "its end", func() bool { c := r.contactOf(number(1)); return c.Attempt == "" && !c.Open() })
		time.Sleep(time.Second) // virtual
		repeated("when it is over")
		r.act(campaign.ActionPause)
		repeated("while the campaign is paused")
		if n := r.world.Invited(); n != 1 {
			t.Errorf("%d INVITEs", n)
		}
	})
}

// An exclusion finds the contact of a trigger that was written without a query, whether it was new
// or not.
func TestAnExclusionBehindAQueuedTriggerCoversItsContact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), func(s *campaign.Settings) {
			s.AlwaysOn, s.StickyExclusion = true, true
		})
		defer r.tree.Close()
		r.results()
		r.calledAndPaused(1)
		for _, n := range []int{0, 50} {
			told := make(chan error, 1)
			go func() {
				_, err := r.keyed(n, number(n).E164(), nil)
				told <- err
			}()
			synctest.Wait() // it is being committed
			if _, err := r.tree.Exclude(context.Background(), campaign.Exclude{Campaign: r.id, Number: number(n)}); err != nil {
				t.Fatal(err)
			}
			if err := <-told; err != nil && engine.ErrorCode(err) != "contact_excluded" {
				t.Error(err)
			}
			synctest.Wait()
			if c := r.contactOf(number(n)); c.State != contact.Excluded {
				t.Errorf("%d: %s", n, c.State)
			}
		}
		r.act(campaign.ActionResume)
		time.Sleep(time.Minute) // virtual
		if n := r.world.Invited(); n != 1 {
			t.Errorf("%d INVITEs", n)
		}
	})
}
