package actors_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

// dials returns the stored attempts, in order.
func (r *rig) dials() []attempt.Attempt {
	list := r.attempts()
	slices.SortFunc(list, func(a, b attempt.Attempt) int { return cmp.Compare(a.Number, b.Number) })
	return list
}

func TestAShortConversationWithoutAResultIsDialledAgainAfterRetryDelay(t *testing.T) {
	for _, delay := range []int{1, 20, 60} { // before its contact is idle; before its result is overdue; after that
		synctest.Test(t, func(t *testing.T) {
			script := func(_ engine.PhoneNumber, nth int) actortest.Script {
				return steady(time.Second, time.Duration(nth*nth)*2*time.Second)("", nth) // 2 s, then 8 s
			}
			r := newRig(t, script, func(s *campaign.Settings) {
				s.RedialOnlyUnderSec, s.RetryDelaySec, s.ResultTimeoutSec = 5, delay, 30
			})
			defer r.tree.Close()
			r.add(1)
			r.act(campaign.ActionStart)
			r.until(10*time.Minute, "campaign completed", r.completed)
			r.check()
			d := r.dials()
			if len(d) != 2 {
				t.Fatalf("%d dials, want 2", len(d))
			}
			if wait := d[1].ReservedAt.Sub(*d[0].EndedAt).Round(time.Second); wait != time.Duration(delay)*time.Second {
				t.Errorf("dialled again %v after the end, want %d s", wait, delay)
			}
			if c := r.contactOf(number(0)); c.State != contact.Failed || c.Reason != string(engine.OutcomeConnectedNoResult) {
				t.Errorf("%s %s", c.State, c.Reason)
			}
		})
	}
}

func TestAShortConversationIsDialledAgainWhateverItsResultUnlessItForbidsCalls(t *testing.T) {
	f := func(result attempt.Result, want int) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, steady(time.Second, 2*time.Second), func(s *campaign.Settings) {
				s.RedialOnlyUnderSec, s.MaxAttempts = 5, 2
				s.RetryOnCustom = []string{"again"}
			})
			defer r.tree.Close()
			r.add(1)
			r.act(campaign.ActionStart)
			r.until(time.Minute, "a conversation", func() bool { return r.detail().Live.InProgress == 1 })
			if err := r.tree.SubmitResult(context.Background(), campaign.SubmitResult{Call: r.dials()[0].ID.Call(),
				Result: result}); err != nil {
				t.Fatal(err)
			}
			r.until(10*time.Minute, "campaign completed", r.completed)
			r.check()
			if n := len(r.dials()); n != want {
				t.Errorf("%+v: %d dials, want %d", result, n, want)
			}
		})
	}
	f(attempt.Result{Disposition: "nope"}, 2)
	f(attempt.Result{Disposition: "again", DoNotCall: true}, 1)
}
