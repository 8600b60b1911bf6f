package actors_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

// A contact uses up its attempts, the process ends, and the run ends in the next process with
// contacts that were answered.
func TestARunRemembersAcrossARestartThatAttemptsWereUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(n engine.PhoneNumber, nth int) actortest.Script {
			if n == number(0) {
				return actortest.Script{Ring: time.Second, Code: 486}
			}
			return actortest.Script{Ring: 2 * time.Second, Code: 200, Talk: 20 * time.Minute}
		}, func(s *campaign.Settings) { s.MaxAttempts, s.CallLimitSec, s.Concurrency = 1, 3600, 2 })
		r.results()
		r.add(2)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "one has used up its attempts, the other talks", func() bool {
			return r.contactOf(number(0)).Reason == contact.ReasonExhausted && r.detail().Live.InProgress == 1
		})
		time.Sleep(time.Second) // virtual
		r.kill()
		r.start()
		defer func() { r.tree.Close() }()
		r.until(time.Hour, "campaign completed", r.completed)
		if got := r.detail().Campaign.CompletionReason; got != campaign.ReasonRetriesDone {
			t.Errorf("%s", got)
		}
	})
}

// What happened in run 1 is no reason for the end of run 2.
func TestTheNextRunDoesNotEndForTheReasonsOfTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(_ engine.PhoneNumber, nth int) actortest.Script {
			if nth == 1 {
				return actortest.Script{Ring: time.Second, Code: 486}
			}
			return actortest.Script{Ring: time.Second, Code: 404} // nobody retries that
		}, func(s *campaign.Settings) { s.MaxAttempts = 1 })
		defer r.tree.Close()
		r.add(3)
		for run, want := range []campaign.CompletionReason{campaign.ReasonRetriesDone, campaign.ReasonAllFinal} {
			r.act(campaign.ActionStart)
			r.until(time.Hour, "campaign completed", r.completed)
			if d := r.detail(); d.Campaign.CompletionReason != want || d.Counters.Failed != 3 {
				t.Errorf("run %d ended with %s: %+v", run+1, d.Campaign.CompletionReason, d.Counters)
			}
			if run == 0 {
				r.act(campaign.ActionRestart)
			}
		}
	})
}

// Two late results of one call arrive while the contact is redialled: both are stored, one counts.
func TestTwoResultsOfAnEarlierCallDuringARedialCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(_ engine.PhoneNumber, nth int) actortest.Script {
			if nth == 1 {
				return steady(time.Second, 5*time.Second)("", 1)
			}
			return actortest.Script{Ring: 10 * time.Second, Code: 486}
		}, func(s *campaign.Settings) {
			s.MaxAttempts, s.RetryDelaySec = 2, 1
			s.RetryOnSystem = []engine.Outcome{engine.OutcomeConnectedNoResult}
		})
		defer r.tree.Close()
		r.add(1)
		r.act(campaign.ActionStart)
		r.until(5*time.Minute, "redialled", func() bool { return r.world.Invited() == 2 })
		var first engine.AttemptID
		r.store.View(func() {
			for a := range r.store.AllAttempts() {
				if a.State == attempt.Ended {
					first = a.ID
				}
			}
		})
		var wg sync.WaitGroup
		for _, d := range []string{"sold", "not sold", "sold"} {
			wg.Go(func() {
				if err := r.tree.SubmitResult(context.Background(), campaign.SubmitResult{Call: first.Call(),
					Result: attempt.Result{Disposition: d}}); err != nil {
					t.Errorf("%s: %v", d, err)
				}
			})
		}
		wg.Wait()
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		if n := r.detail().Counters.ResultCalls; n != 1 {
			t.Errorf("%d calls with a result", n)
		}
	})
}
