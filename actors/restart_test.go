package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// kill ends the tree and its adapters as kill −9 does: the store remains. Of two nodes both die,
// and the next life runs alone.
func (r *rig) kill() {
	r.tree.Close()
	synctest.Wait()
	r.far = false
	r.world = actortest.NewWorld(r.world.Script)
}

// openAttempts returns the attempts that are open in the store.
func (r *rig) openAttempts() (open []attempt.Attempt) {
	r.store.View(func() {
		for a := range r.store.AllAttempts() {
			if a.State != attempt.Ended {
				open = append(open, a)
			}
		}
	})
	return open
}

func TestLiveCallsAreThoseOfThisLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 30*time.Second), nil)
		r.results()
		r.add(30)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "ten conversations", func() bool { return r.detail().Live.InProgress == 10 })
		r.kill()
		r.start()
		defer func() { r.tree.Close() }()
		r.until(time.Minute, "the lost ones are closed and others begun",
			func() bool { return r.detail().Live.InProgress > 0 })
		synctest.Wait()
		if n, open := int(r.tree.LiveCalls()), len(r.openAttempts()); n != open {
			t.Errorf("%d live calls, %d attempts are open: a drain that waits for none would cut them", n, open)
		}
		st := r.tree.Stats()
		if begun, ended := st.Calls.Attempts.Load(), st.Calls.Ended.Load(); ended > begun {
			t.Errorf("%d attempts ended of %d that were begun in this life", ended, begun)
		}
		if n := st.Calls.Recovered.Load(); n != 10 {
			t.Errorf("%d attempts of the earlier life were closed, want 10", n)
		}
		r.until(time.Hour, "campaign completed", r.completed)
		synctest.Wait()
		if n := r.tree.LiveCalls(); n != 0 {
			t.Errorf("%d live calls after the end", n)
		}
	})
}

func TestAResultThatComesFirstAfterARestartIsStoredAndItsCallIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 30*time.Second), nil)
		r.results()
		r.add(30)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "ten conversations", func() bool { return r.detail().Live.InProgress == 10 })
		lost := r.openAttempts()
		r.kill()
		r.store.View(func() { r.store.OnWrite = nil }) // the bots report once
		r.start()
		defer func() { r.tree.Close() }()
		// The bots saw their sockets break and report at once.
		taken := map[engine.AttemptID]bool{}
		answers := make(chan engine.AttemptID, len(lost))
		for _, a := range lost {
			go func() {
				err := r.tree.SubmitResult(context.Background(), campaign.SubmitResult{Call: a.ID.Call(),
					Result: attempt.Result{Disposition: "cut", ReceivedAt: time.Now()}})
				if err != nil {
					t.Errorf("result of %s: %v", a.ID.Short(), err)
				}
				answers <- a.ID
			}()
		}
		for range lost {
			taken[<-answers] = true
		}
		r.results()
		r.until(time.Hour, "campaign completed", r.completed)
		synctest.Wait()
		r.store.View(func() {
			for a := range r.store.AllAttempts() {
				if a.State != attempt.Ended {
					t.Errorf("attempt %s is %s", a.ID.Short(), a.State)
				}
				if taken[a.ID] && (a.Result == nil || a.Result.Disposition != "cut") {
					t.Errorf("the result of %s was acknowledged and is not stored: %+v", a.ID.Short(), a.Result)
				}
			}
		})
	})
}

func TestTheLegsOfALostCallAreWatchedByTheNextLifeToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(4*time.Second, 30*time.Second), nil)
		r.results()
		r.add(30)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "ringing", func() bool { return r.detail().Live.Ringing > 3 })
		n := len(r.openAttempts())
		for range 2 {
			r.kill()
			r.world.RecoverTakes = 10 * time.Second // the far side is silent for a while
			r.start()
			r.until(5*time.Second, "closed as lost", func() bool {
				lost := 0
				r.store.View(func() {
					for a := range r.store.AllAttempts() {
						if a.Outcome == engine.OutcomeLost {
							lost++
						}
					}
				})
				return lost >= n
			})
			synctest.Wait()
		}
		defer func() { r.tree.Close() }()
		recovered := 0
		r.world.View(func() { recovered = r.world.Recovered })
		if recovered < n {
			t.Errorf("%d legs are watched after the second kill, %d may still ring", recovered, n)
		}
		r.until(time.Hour, "campaign completed", r.completed)
		synctest.Wait()
		r.store.View(func() {
			for a := range r.store.AllAttempts() {
				for _, l := range a.Legs {
					if l.EndedAt == nil {
						t.Errorf("leg %s of the %s attempt has no end", l.ID, a.Outcome)
					}
				}
			}
			if len(r.store.Holds) > 0 {
				t.Errorf("%d numbers still held", len(r.store.Holds))
			}
		})
	})
}

func TestAnExclusionThatAKillCutInTwoIsCompletedByTheNextLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
		r.results()
		r.add(30)
		r.act(campaign.ActionStart)
		time.Sleep(3 * time.Second) // virtual
		r.kill()
		// The exclusion is stored, its contact is not excluded yet.
		refused, err := r.store.Commit(t.Context(), []journal.Write{{Exclusions: []journal.Exclusion{
			{Campaign: r.id, Number: number(25), Reason: "asked", CreatedAt: time.Now()}}}})
		if err != nil || refused[0] != nil {
			t.Fatal(err, refused)
		}
		r.start()
		defer func() { r.tree.Close() }()
		r.until(time.Hour, "campaign completed", r.completed)
		synctest.Wait()
		if c := r.contactOf(number(25)); c.State != contact.Excluded || c.Reason != "asked" {
			t.Errorf("the contact is %s (%s), want excluded", c.State, c.Reason)
		}
		r.store.View(func() {
			for a := range r.store.AllAttempts() {
				if a.To == number(25) {
					t.Errorf("the excluded contact was dialled")
				}
			}
		})
	})
}

func TestAResultThatNeverComesTimesOutInAStoppedCampaignToo(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(map[bool]string{false: "one life", true: "killed"}[killed], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, steady(2*time.Second, 30*time.Second), nil)
				r.add(30)
				r.act(campaign.ActionStart)
				r.until(time.Minute, "ten conversations", func() bool { return r.detail().Live.InProgress == 10 })
				r.act(campaign.ActionStop)
				r.until(time.Minute, "they are over", func() bool { return len(r.openAttempts()) == 0 })
				if killed {
					r.kill()
					r.start()
				}
				defer func() { r.tree.Close() }()
				time.Sleep(time.Minute) // virtual: more than the result time-out
				synctest.Wait()
				r.store.View(func() {
					for c := range r.store.AllContacts() {
						if !c.State.Processed() {
							t.Errorf("a contact is still %s", c.State)
						}
					}
				})
			})
		})
	}
}

// An answered call that had no bot yet when the process died is abandoned as a capacity loss, and
// the ledgers that limit the next dials include it at once.
func TestTheAbandonsOfACrashAreInTheLedgersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(engine.PhoneNumber, int) actortest.Script {
			return actortest.Script{Ring: 2 * time.Second, Code: 200, BotIn: 1500 * time.Millisecond, Talk: time.Minute}
		}, nil)
		r.results()
		r.add(60)
		r.act(campaign.ActionStart)
		waiting := func() (n int) {
			for _, a := range r.openAttempts() {
				if a.AnsweredAt != nil && a.ServedAt == nil {
					n++
				}
			}
			return n
		}
		r.until(time.Minute, "ten calls are answered and without a bot", func() bool { return waiting() == 10 })
		r.kill()
		r.start()
		defer func() { r.tree.Close() }()
		r.until(time.Minute, "the calls of the earlier life are closed", func() bool {
			closed := 0
			r.store.View(func() {
				for a := range r.store.AllAttempts() {
					if a.Cause == engine.AbandonCapacityLoss {
						closed++
					}
				}
			})
			return closed == 10
		})
		for _, l := range r.detail().Live.Ledgers {
			if l.Abandoned != 10 || l.CapacityLoss != 10 || l.Credit != 0 {
				t.Errorf("%s: %+v", l.Period, l)
			}
		}
		r.kill()
		r.start()
		for _, l := range r.detail().Live.Ledgers {
			if l.Abandoned != 10 || l.CapacityLoss != 10 {
				t.Errorf("after another crash, %s: %+v", l.Period, l)
			}
		}
	})
}
