package actors_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

// steady answers every call at once, with a long conversation.
func steady(ring, talk time.Duration) func(engine.PhoneNumber, int) actortest.Script {
	return func(engine.PhoneNumber, int) actortest.Script {
		return actortest.Script{Ring: ring, Code: 200, Verdict: engine.VerdictHuman, VerdictIn: time.Second,
			BotIn: 20 * time.Millisecond, BotTalk: talk}
	}
}

func (r *rig) contactOf(n engine.PhoneNumber) contact.Contact {
	c, _, _ := r.store.ContactByNumber(context.Background(), r.id, n)
	return c
}

func TestManySeedsEndWithEqualLedgersAndAbandonsUnderTheCap(t *testing.T) {
	for seed := uint64(2); seed < 14; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, actortest.Mix(seed, 0.3+float64(seed%5)*0.1, 0.15, 15*time.Second), func(s *campaign.Settings) {
					s.Concurrency = 3 + int(seed%8)
					if seed%4 == 0 {
						s.AMD = engine.AMDOff
					}
					if seed%4 == 1 {
						s.AMD = engine.AMDSequential
					}
				})
				defer r.tree.Close()
				r.results()
				r.add(120)
				r.act(campaign.ActionStart)
				r.until(6*time.Hour, "campaign completed", r.completed)
				r.check()
			})
		})
	}
}

func TestACrashedRunHangsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 40*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.add(40)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "ten conversations", func() bool { return r.detail().Live.InProgress == 10 })
		before := r.world.LiveCalls()
		byes := r.world.HungUp()
		r.faults.Crash("run", r.id, "")
		synctest.Wait()
		d := r.detail()
		if d.Live.InProgress != 10 || r.world.LiveCalls() < before-1 || r.world.HungUp() != byes {
			t.Errorf("after the crash: %d conversations, %d calls (before %d), %d BYEs (before %d)", d.Live.InProgress,
				r.world.LiveCalls(), before, r.world.HungUp(), byes)
		}
		if n := r.tree.Stats().Actors.Restarts.Load(); n != 1 {
			t.Errorf("restarts %d, want 1", n)
		}
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		if d := r.detail(); d.Counters.Completed != 40 || d.Counters.Attempts != 40 {
			t.Errorf("every contact is dialled once and served: %+v", d.Counters)
		}
	})
}

// What one activation of the run requested, or waited for, does not affect the next one.
func TestARunThatCrashesAgainAndAgainHangsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 60*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.add(20)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "ten conversations", func() bool { return r.detail().Live.InProgress == 10 })
		before, byes := r.world.LiveCalls(), r.world.HungUp()
		for range 15 {
			r.faults.Crash("run", r.id, "")
			time.Sleep(2 * time.Second) // virtual: its predecessor would have stopped waiting by now
		}
		synctest.Wait()
		if d := r.detail(); d.Live.InProgress != 10 || r.world.LiveCalls() < before || r.world.HungUp() != byes {
			t.Errorf("%d conversations, %d calls (before %d), %d BYEs (before %d)", d.Live.InProgress, r.world.LiveCalls(),
				before, r.world.HungUp(), byes)
		}
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		if d := r.detail(); d.Counters.Completed != 20 || d.Counters.Attempts != 20 {
			t.Errorf("every contact is dialled once and served: %+v", d.Counters)
		}
	})
}

func TestARunThatCrashedGivesTheSeatsOfTheLifeBeforeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 5*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.add(40)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "seats", func() bool { return r.tree.Stats().Fleet.SeatsHeld.Load() > 0 })
		r.act(campaign.ActionPause)
		r.until(20*time.Second, "nobody talks", func() bool { return r.world.LiveCalls() == 0 })
		r.act(campaign.ActionResume)
		r.until(time.Second, "seats again", func() bool { return r.tree.Stats().Fleet.SeatsHeld.Load() > 0 })
		r.faults.Crash("run", r.id, "")
		r.act(campaign.ActionStop)
		r.until(
			20*time.Second,
			"every seat is back before its lease ends",
			func() bool { return r.tree.Stats().Fleet.SeatsHeld.Load() == 0 },
		)
	})
}

func TestACrashedContactHangsUpNobodyAndItsSiblingsNoticeNothing(t *testing.T) {
	for _, at := range []time.Duration{100 * time.Millisecond, 1500 * time.Millisecond, 2500 * time.Millisecond,
		3100 * time.Millisecond, 10 * time.Second} {
		t.Run(at.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, steady(2*time.Second, 40*time.Second), nil)
				defer r.tree.Close()
				r.results()
				r.add(10)
				r.act(campaign.ActionStart)
				time.Sleep(at) // virtual: reserved, ringing, screening, connected, in conversation
				synctest.Wait()
				for i := range 5 {
					r.faults.Crash("contact", r.id, r.contactOf(number(i)).ID)
				}
				synctest.Wait()
				r.until(time.Hour, "campaign completed", r.completed)
				r.check()
				if n := r.tree.Stats().Actors.Restarts.Load(); n != 5 {
					t.Errorf("restarts %d, want 5", n)
				}
				d := r.detail()
				if d.Counters.Completed != 10 || d.Counters.Attempts != 10 || r.world.Invited() != 10 {
					t.Errorf("every call goes on and is served: %d INVITEs, %+v", r.world.Invited(), d.Counters)
				}
			})
		})
	}
}

func TestAnEarlierLifeIsClosedAsLostAndNobodyIsDialledTwiceAtOnce(t *testing.T) {
	for i, at := range []time.Duration{5 * time.Millisecond, 300 * time.Millisecond, 1500 * time.Millisecond,
		2500 * time.Millisecond, 9 * time.Second, 47 * time.Second} {
		t.Run(at.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, actortest.Mix(uint64(i), 0.6, 0.2, 20*time.Second), nil)
				r.results()
				r.add(60)
				r.act(campaign.ActionStart)
				time.Sleep(at) // virtual
				// kill −9: the tree and its adapters are gone, the store remains.
				r.tree.Close()
				synctest.Wait()
				first := r.world
				r.world, r.far = actortest.NewWorld(first.Script), false
				r.start()
				defer r.tree.Close()
				r.results()
				r.until(3*time.Hour, "campaign completed", r.completed)
				synctest.Wait()
				r.store.View(func() {
					lost := 0
					for a := range r.store.AllAttempts() {
						if a.State != attempt.Ended {
							t.Errorf("attempt %s is %s", a.ID.Short(), a.State)
						}
						if a.Outcome == engine.OutcomeLost || a.Cause == engine.AbandonCapacityLoss {
							lost++
						}
					}
					if lost != r.world.Recovered {
						t.Errorf("%d attempts lost, %d legs recovered", lost, r.world.Recovered)
					}
					if len(r.store.Holds) > 0 {
						t.Errorf("%d numbers still held", len(r.store.Holds))
					}
				})
				if r.world.Overlaps+first.Overlaps > 0 {
					t.Errorf("overlapping calls")
				}
			})
		})
	}
}

func TestADatabaseThatIsAwayStopsDialsAndLiveCallsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 30*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.add(60)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "ten conversations", func() bool { return r.detail().Live.InProgress == 10 })
		r.store.SetDown(true)
		time.Sleep(5 * time.Second) // virtual
		synctest.Wait()
		invites := r.world.Invited()
		if n := r.detail().Live.InProgress; n < 9 {
			t.Errorf("%d conversations go on, want 10", n)
		}
		time.Sleep(2 * time.Minute) // virtual: every conversation ends meanwhile
		synctest.Wait()
		if r.world.Invited() != invites {
			t.Errorf("%d INVITEs left while no intent could be durable", r.world.Invited()-invites)
		}
		if c := r.detail().Live.Constraint; c != engine.ConstraintDatabase {
			t.Errorf("the campaign says %q, want database", c)
		}
		r.store.SetDown(false)
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
	})
}

func TestExcludeCancelsARingingLegAndNoInviteLeavesAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(10*time.Second, 20*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.add(30)
		r.act(campaign.ActionStart)
		time.Sleep(6 * time.Second) // virtual: ten ring
		synctest.Wait()
		exclude := func(n engine.PhoneNumber) campaign.ExcludeReply {
			rep, err := r.tree.Exclude(context.Background(), campaign.Exclude{Campaign: r.id, Number: n, Reason: "asked"})
			if err != nil {
				t.Fatal(err)
			}
			return rep
		}
		if rep := exclude(number(0)); rep != (campaign.ExcludeReply{Matched: 1, Excluded: 1, CancelledRinging: 1}) {
			t.Errorf("a ringing contact: %+v", rep)
		}
		if rep := exclude(number(25)); rep != (campaign.ExcludeReply{Matched: 1, Excluded: 1}) {
			t.Errorf("a waiting contact: %+v", rep)
		}
		if rep := exclude(number(999)); rep != (campaign.ExcludeReply{}) {
			t.Errorf("a number that is not in the campaign: %+v", rep)
		}
		time.Sleep(10 * time.Second) // virtual: in conversation
		synctest.Wait()
		if rep := exclude(number(1)); rep != (campaign.ExcludeReply{Matched: 1, Excluded: 1, InCall: 1}) {
			t.Errorf("a contact in conversation: %+v", rep)
		}
		rep, err := r.tree.Exclude(context.Background(), campaign.Exclude{Campaign: r.id,
			Match: map[string]string{"i": "27"}})
		if err != nil || rep.Matched != 1 || rep.Excluded != 1 {
			t.Errorf("by metadata: %+v %v", rep, err)
		}
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		for _, i := range []int{0, 1, 25, 27} {
			if c := r.contactOf(number(i)); c.State != contact.Excluded {
				t.Errorf("contact %d is %s, want excluded", i, c.State)
			}
		}
		r.store.View(func() {
			for a := range r.store.AllAttempts() {
				if (a.To == number(25) || a.To == number(27)) && a.InviteAt != nil {
					t.Errorf("an excluded contact was dialled")
				}
			}
		})
	})
}

func TestTriggerDialsQueuesMergesAndReopens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 20*time.Second),
			func(s *campaign.Settings) { s.AlwaysOn = true; s.Concurrency = 2; s.AbandonCapPPM = 0 })
		defer r.tree.Close()
		r.results()
		trigger := func(n engine.PhoneNumber, token string) (campaign.TriggerReply, error) {
			return r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: n,
				Variables:   map[string]string{"k": "v"},
				Idempotency: engine.Idempotency{Key: "key", Route: "trigger", Token: token}})
		}
		if _, err := trigger(number(1), ""); engine.ErrorCode(err) != "campaign_not_running" {
			t.Errorf("a draft takes no trigger: %v", err)
		}
		r.act(campaign.ActionStart)
		time.Sleep(time.Second) // virtual
		got, err := trigger(number(1), "t1")
		if err != nil || got.Status != "dialled" || got.AttemptID == "" {
			t.Fatalf("with capacity: %+v %v", got, err)
		}
		again, err := trigger(number(1), "")
		if err != nil || again.Status != "queued" || again.Reason != "merged" || again.ContactID != got.ContactID {
			t.Errorf("an open contact merges: %+v %v", again, err)
		}
		if _, err = trigger(number(2), ""); err != nil {
			t.Fatal(err)
		}
		third, err := trigger(number(3), "t3")
		if err != nil || third.Status != "queued" || third.Reason == "" {
			t.Errorf("without capacity: %+v %v", third, err)
		}
		r.until(10*time.Minute, "all three served", func() bool { return r.detail().Counters.Completed == 3 })
		reopened, err := trigger(number(1), "")
		if err != nil || reopened.ContactID != got.ContactID || reopened.Status != "dialled" ||
			reopened.AttemptID == "" || reopened.AttemptID == got.AttemptID {
			t.Errorf("a final contact is reopened and dialled: %+v %v", reopened, err)
		}
		r.until(10*time.Minute, "dialled again", func() bool { return r.world.Invited() == 4 })
		r.store.View(func() {
			if len(r.store.Replies) != 2 {
				t.Errorf("%d stored replies, want 2", len(r.store.Replies))
			}
		})
		r.act(campaign.ActionStop)
		time.Sleep(time.Minute) // virtual
		r.check()
	})
}

func TestPauseLetsCallsFinishAndStopCompletesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(4*time.Second, 30*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.add(50)
		r.act(campaign.ActionStart)
		time.Sleep(3 * time.Second) // virtual: ten ring
		d := r.act(campaign.ActionPause)
		if d.Campaign.State != campaign.Paused {
			t.Errorf("state %s", d.Campaign.State)
		}
		if d.Live.Constraint != engine.ConstraintPaused {
			t.Errorf("why it does not dial: %q", d.Live.Constraint)
		}
		invites := r.world.Invited()
		time.Sleep(5 * time.Minute) // virtual
		synctest.Wait()
		if r.world.Invited() != invites || r.detail().Counters.Completed != invites {
			t.Errorf("paused: %d INVITEs (before %d), %d served", r.world.Invited(), invites, r.detail().Counters.Completed)
		}
		r.act(campaign.ActionResume)
		time.Sleep(10 * time.Second) // virtual: in conversation; others ring after the first end
		d = r.act(campaign.ActionStop)
		if d.Campaign.State != campaign.Completed || d.Campaign.CompletionReason != campaign.ReasonManuallyStopped ||
			!d.Draining {
			t.Errorf("stopped: %s %s draining %v", d.Campaign.State, d.Campaign.CompletionReason, d.Draining)
		}
		if _, err := r.tree.Act(context.Background(),
			campaign.Act{Campaign: r.id, Action: campaign.ActionRestart}); engine.ErrorCode(err) != "calls_in_progress" {
			t.Errorf("restart while draining: %v", err)
		}
		time.Sleep(2 * time.Minute) // virtual
		r.check()
		if d := r.detail(); d.Counters.ManuallyStopped == 0 || d.Draining {
			t.Errorf("%+v", d.Counters)
		}
	})
}

func TestAResultThatNeverComesFailsTheContact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
		defer r.tree.Close()
		r.add(5)
		r.act(campaign.ActionStart)
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		if c := r.contactOf(number(0)); c.State != contact.Failed || c.Reason != string(engine.OutcomeConnectedNoResult) {
			t.Errorf("%s %s", c.State, c.Reason)
		}
	})
}

func TestDialoutHoldsASeatFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
		defer r.tree.Close()
		r.store.View(func() {
			r.store.Nums = []engine.NumberSettings{{Number: "+4930111111", State: "active"}}
			r.store.BotList[0].Seats = 2
		})
		dial := func(n engine.PhoneNumber) (campaign.DialoutReply, error) {
			return r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: n})
		}
		if err := r.tree.BotsChanged(context.Background()); err != nil {
			t.Fatal(err)
		}
		r.tree.NumberChanged(r.store.Nums[0])
		time.Sleep(time.Second) // virtual
		a, err := dial(number(1))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(1200 * time.Millisecond) // virtual
		if call, err := r.tree.Call(context.Background(), a.CallID); err != nil || call.State != attempt.Ringing {
			t.Errorf("a ringing call says %s, %v", call.State, err)
		}
		if _, err := dial(number(1)); engine.ErrorCode(err) != "number_held" {
			t.Errorf("the same number at once: %v", err)
		}
		time.Sleep(time.Second) // virtual: the refused one's seat is back
		if _, err := dial(number(2)); err != nil {
			t.Error(err)
		}
		if _, err := dial(number(3)); engine.ErrorCode(err) != "no_capacity" {
			t.Errorf("no seat left: %v", err)
		}
		if _, err := r.tree.Dialout(context.Background(),
			campaign.Dialout{Bot: "none", To: number(4)}); engine.ErrorCode(err) != "bot_not_found" {
			t.Error(err)
		}
		time.Sleep(time.Minute) // virtual
		call, err := r.tree.Call(context.Background(), a.CallID)
		if err != nil || call.State != attempt.Ended || call.Outcome != engine.OutcomeConnectedNoResult {
			t.Errorf("%+v %v", call.Outcome, err)
		}
		if err := r.tree.SubmitResult(context.Background(), campaign.SubmitResult{Call: a.CallID,
			Result: attempt.Result{Disposition: "ok"}}); err != nil {
			t.Error(err)
		}
		if call, _ = r.tree.Call(context.Background(), a.CallID); call.Outcome != engine.OutcomeCompleted {
			t.Errorf("after its result: %s", call.Outcome)
		}
		time.Sleep(time.Minute) // virtual
		synctest.Wait()
		st := r.tree.Stats()
		if st.Fleet.SeatsHeld.Load() != 0 || st.Trunks.Leases.Load() != 0 || st.Numbers.Leases.Load() != 0 {
			t.Errorf(
				"leases held: %d seats, %d channels, %d numbers",
				st.Fleet.SeatsHeld.Load(),
				st.Trunks.Leases.Load(),
				st.Numbers.Leases.Load(),
			)
		}
	})
}

// A bot without an answer repeats its result, here while the actor that stored the previous one is
// ending.
func TestResultsOfADialoutThatComeTogetherAreAllAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, everyoneTalks, nil)
		defer r.tree.Close()
		r.store.View(func() { r.store.Nums = []engine.NumberSettings{{Number: "+4930111111", State: "active"}} })
		r.tree.NumberChanged(r.store.Nums[0])
		time.Sleep(time.Second) // virtual
		a, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // virtual
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 300 {
					if err := r.tree.SubmitResult(context.Background(), campaign.SubmitResult{Call: a.CallID,
						Result: attempt.Result{Disposition: "ok"}}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		if n := r.tree.Stats().Actors.Restarts.Load(); n != 0 {
			t.Errorf("%d faults", n)
		}
		unknown := engine.AttemptID(strings.Repeat("ab", 16)).Call()
		for range 3 {
			if err := r.tree.SubmitResult(context.Background(), campaign.SubmitResult{Call: unknown,
				Result: attempt.Result{Disposition: "ok"}}); engine.ErrorCode(err) != "call_not_found" {
				t.Errorf("of a call that is not known: %v", err)
			}
		}
	})
}

// The message is lost with which the actor of a call crashes; what it waits for because of that never comes.
func TestACallThatCrashedWithItsResultIsOver(t *testing.T) {
	for _, lost := range []any{&call.StoreResult{}, &call.Durable{}} {
		for _, over := range []bool{false, true} {
			t.Run(fmt.Sprintf("%T, over %v", lost, over), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, steady(2*time.Second, 40*time.Second), nil)
					defer r.tree.Close()
					r.store.View(func() { r.store.Nums = []engine.NumberSettings{{Number: "+4930111111", State: "active"}} })
					r.tree.NumberChanged(r.store.Nums[0])
					time.Sleep(time.Second) // virtual
					a, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1)})
					if err != nil {
						t.Fatal(err)
					}
					r.until(time.Minute, "a conversation", func() (talking bool) {
						r.world.View(func() { talking = r.world.PeakBots == 1 })
						return talking
					})
					if over {
						time.Sleep(time.Hour) // virtual
					}
					r.faults.InCall(lost)
					ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
					defer cancel()
					_ = r.tree.SubmitResult(ctx, campaign.SubmitResult{Call: a.CallID, Result: attempt.Result{Disposition: "ok"}})
					time.Sleep(time.Hour) // virtual
					if n := r.tree.Stats().Actors.Restarts.Load(); n != 1 {
						t.Errorf("%d faults", n)
					}
					left := r.faults.Ends()
					if left.Look(); left.Seen() != 0 {
						t.Errorf("%d actors are left of the call", left.Seen())
					}
				})
			})
		}
	}
}

func TestAnIdleCampaignGivesItsSeatsToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), func(s *campaign.Settings) { s.AlwaysOn = true })
		defer r.tree.Close()
		r.results()
		r.add(3)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "three served", func() bool { return r.detail().Counters.Completed == 3 })
		time.Sleep(20 * time.Second) // virtual
		synctest.Wait()
		if n := r.tree.Stats().Fleet.SeatsHeld.Load(); n != 0 {
			t.Errorf("%d seats held with nobody to dial", n)
		}
		got, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: number(50)})
		if err != nil || got.Status != "dialled" {
			t.Errorf("a trigger still finds its seat at once: %+v %v", got, err)
		}
		r.act(campaign.ActionStop)
		time.Sleep(time.Minute) // virtual
	})
}
