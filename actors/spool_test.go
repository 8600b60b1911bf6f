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
	"dialler/engine/journal"
)

// newSpoolRig is a rig with a spool, and with calls that ring for five seconds.
func newSpoolRig(t *testing.T, talk time.Duration) *rig {
	r := newRig(t, steady(5*time.Second, talk), nil)
	r.tree.Close()
	r.spool = actortest.NewSpool()
	r.start()
	return r
}

// ordered checks that a contact's events are committed in the order of their sequence, repeats
// aside.
func (r *rig) ordered() {
	last := map[engine.ContactID]int64{}
	seen := map[int64]bool{}
	also := r.store.OnWrite
	r.store.OnWrite = func(w *journal.Write) {
		if also != nil {
			also(w)
		}
		for i := range w.Events {
			e := &w.Events[i]
			if seen[e.Seq] || e.Contact == "" {
				continue
			}
			seen[e.Seq] = true
			if e.Seq < last[e.Contact] {
				r.t.Errorf("%s (%d) is committed behind %d of the same contact", e.Type, e.Seq, last[e.Contact])
			}
			last[e.Contact] = e.Seq
		}
	}
}

// spoolEmpty waits until the database has everything.
func (r *rig) spoolEmpty() {
	r.t.Helper()
	r.until(time.Minute, "the spool is empty", func() bool { return r.spool.Waiting() == 0 })
	r.spool.View(func() {
		if r.spool.Bad > 0 {
			r.t.Errorf("%d writes were spooled that only the database can accept", r.spool.Bad)
		}
	})
}

func TestCallsAnsweredWhileTheDatabaseIsAwayGoOnToTheBot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSpoolRig(t, 30*time.Second)
		defer func() { r.tree.Close() }()
		r.results()
		r.ordered()
		r.add(60)
		r.act(campaign.ActionStart)
		time.Sleep(4 * time.Second) // virtual: ten ring
		synctest.Wait()
		r.store.SetDown(true)
		invites := r.world.Invited()
		r.until(10*time.Second, "every call is answered, confirmed and with the bot", func() bool {
			return r.detail().Live.InProgress == 10 && r.world.Acked() == 10
		})
		time.Sleep(2 * time.Minute) // virtual: every conversation ends meanwhile
		synctest.Wait()
		if n := r.world.Invited() - invites; n > 0 {
			t.Errorf("%d INVITEs left while no intent could be durable", n)
		}
		if c := r.detail().Live.Constraint; c != engine.ConstraintDatabase {
			t.Errorf("the campaign says %q, want database", c)
		}
		if n := r.spool.Waiting(); n < 30 { // answered, connected, ended
			t.Errorf("%d writes wait in the spool", n)
		}
		if n := r.tree.Stats().Writers.Waiting.Load(); n > 20 {
			t.Errorf("%d writes wait in memory", n)
		}
		r.store.SetDown(false)
		r.spoolEmpty()
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		if d := r.detail(); d.Counters.Abandoned > 0 || d.Counters.ConnectedCalls < 60 {
			t.Errorf("%+v", d.Counters)
		}
	})
}

func TestACrashWhileTheDatabaseIsAwayLosesNothingOfLiveCalls(t *testing.T) {
	// Before the answers, in the conversations, when some are over.
	for _, after := range []time.Duration{500 * time.Millisecond, 1300 * time.Millisecond, 4 * time.Second,
		31500 * time.Millisecond, 40 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newSpoolRig(t, 30*time.Second)
				r.add(20)
				r.act(campaign.ActionStart)
				time.Sleep(4500 * time.Millisecond) // virtual: ten ring
				synctest.Wait()
				r.store.SetDown(true)
				time.Sleep(after) // virtual
				synctest.Wait()
				// What the first process knows of its calls.
				was := map[engine.AttemptID]attempt.Attempt{}
				var ids []engine.AttemptID
				r.store.View(func() {
					for a := range r.store.AllAttempts() {
						ids = append(ids, a.ID)
					}
				})
				for _, id := range ids {
					a, err := r.tree.Call(context.Background(), id.Call())
					if err != nil {
						t.Fatal(err)
					}
					was[id] = a
				}
				acked := r.world.Acked()
				r.tree.Close() // kill −9: memory is lost, the spool remains
				synctest.Wait()
				r.store.SetDown(false)
				r.ordered()
				first := r.world
				r.world, r.far = actortest.NewWorld(first.Script), false
				r.start()
				defer r.tree.Close()
				synctest.Wait()
				if n := r.spool.Waiting(); n != 0 {
					t.Errorf("%d writes still wait in the spool", n)
				}
				answered, served, ended := 0, 0, 0
				r.store.View(func() {
					for is := range r.store.AllAttempts() {
						was, ok := was[is.ID]
						if !ok {
							continue
						}
						if was.AnsweredAt != nil {
							answered++
							if is.AnsweredAt == nil || !is.AnsweredAt.Equal(*was.AnsweredAt) || is.Legs[0].Dialog == nil {
								t.Errorf("it was answered, and is stored as %s with %+v", is.State, is.Legs)
							}
						}
						if was.ServedAt != nil {
							served++
							if is.ServedAt == nil {
								t.Errorf("the bot had it, and it is stored as %s", is.State)
							}
						}
						if was.State == attempt.Ended {
							ended++
							if is.State != attempt.Ended || is.Outcome != was.Outcome {
								t.Errorf("it had ended as %s, and is stored as %s %s", was.Outcome, is.State, is.Outcome)
							}
						}
					}
				})
				t.Logf("answered %d, served %d, ended %d", answered, served, ended)
				if answered < acked {
					t.Errorf("%d answers were confirmed, %d are stored", acked, answered)
				}
				r.results()
				r.until(2*time.Hour, "campaign completed", r.completed)
				r.store.View(func() {
					for is := range r.store.AllAttempts() {
						was, ok := was[is.ID]
						if !ok {
							continue
						}
						want := engine.OutcomeLost
						switch {
						case was.State == attempt.Ended:
							continue
						case was.AnsweredAt != nil && was.ServedAt == nil:
							want = engine.OutcomeAbandoned
						}
						if is.State != attempt.Ended || is.Outcome != want {
							t.Errorf("it was %s, and came to %s %s", was.State, is.State, is.Outcome)
						}
					}
				})
				r.threeWays()
				if r.world.Overlaps+first.Overlaps > 0 {
					t.Error("calls overlapped")
				}
			})
		})
	}
}

func TestAnAnswerDoesNotWaitForACommitThatTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSpoolRig(t, 30*time.Second)
		defer func() { r.tree.Close() }()
		r.results()
		r.ordered()
		r.add(10)
		r.act(campaign.ActionStart)
		time.Sleep(4500 * time.Millisecond) // virtual: ten ring
		synctest.Wait()
		r.store.View(func() { r.store.Delay = 4 * time.Second })
		r.until(2*time.Second, "every answer is confirmed", func() bool { return r.world.Acked() == 10 })
		if c := r.detail().Live.Constraint; c == engine.ConstraintDatabase ||
			r.tree.Stats().Writers.Failures.Load() > 0 {
			t.Errorf("a slow database is called away: %s", c)
		}
		r.until(time.Hour, "campaign completed", r.completed)
		r.spoolEmpty()
		r.check()
		if d := r.detail(); d.Counters.Abandoned > 0 {
			t.Errorf("%+v", d.Counters)
		}
	})
}

func TestASpoolThatIsFullOrFailsMakesAnswersWaitForTheDatabase(t *testing.T) {
	for name, break_ := range map[string]func(*actortest.Spool){
		"full":  func(s *actortest.Spool) { s.View(func() { s.Room = 3 }) },
		"fails": func(s *actortest.Spool) { s.SetFailing(true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newSpoolRig(t, 30*time.Second)
				defer func() { r.tree.Close() }()
				r.results()
				r.ordered()
				r.add(10)
				r.act(campaign.ActionStart)
				time.Sleep(4500 * time.Millisecond) // virtual: ten ring
				synctest.Wait()
				break_(r.spool)
				r.store.SetDown(true)
				time.Sleep(time.Second) // virtual
				synctest.Wait()
				taken := 0
				r.spool.View(func() { taken = r.spool.Taken })
				if n := r.world.Acked(); n != taken || n > 3 {
					t.Errorf("%d answers were confirmed, %d are durable", n, taken)
				}
				r.store.SetDown(false)
				r.until(5*time.Second, "every answer is confirmed", func() bool { return r.world.Acked() == 10 })
				r.until(time.Hour, "campaign completed", r.completed)
				r.spoolEmpty()
				r.check()
			})
		})
	}
}

func TestACommitThatNobodyHeardOfIsNotCountedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSpoolRig(t, 10*time.Second)
		defer func() { r.tree.Close() }()
		r.results()
		r.ordered()
		r.add(40)
		r.act(campaign.ActionStart)
		for range 6 {
			time.Sleep(4 * time.Second) // virtual
			r.store.SetDeaf(true)
			time.Sleep(3 * time.Second) // virtual
			r.store.SetDeaf(false)
		}
		r.until(time.Hour, "campaign completed", r.completed)
		r.spoolEmpty()
		r.check()
	})
}

func TestSpooledWritesOfAnOwnerThatWasReplacedAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSpoolRig(t, 30*time.Second)
		r.add(10)
		r.act(campaign.ActionStart)
		time.Sleep(4500 * time.Millisecond) // virtual: ten ring
		synctest.Wait()
		r.store.SetDown(true)
		r.until(5*time.Second, "every answer is confirmed", func() bool { return r.world.Acked() == 10 })
		r.tree.Close()
		synctest.Wait()
		r.store.SetDown(false)
		r.store.View(func() { r.store.CampaignRow(r.id).Epoch++ }) // another node has it
		r.world = actortest.NewWorld(r.world.Script)
		r.start()
		defer r.tree.Close()
		synctest.Wait()
		r.spool.View(func() {
			if r.spool.Refused == 0 || r.spool.Refused != r.spool.Taken {
				t.Errorf("%d of %d writes were refused", r.spool.Refused, r.spool.Taken)
			}
		})
		// No other process knows how to end them, unless another node carries them.
		want := 10
		if r.far {
			want = 0
		}
		r.world.View(func() {
			if r.world.RecoveredAnswered != want {
				t.Errorf("%d of %d answered calls were ended", r.world.RecoveredAnswered, want)
			}
		})
		r.store.View(func() {
			for a := range r.store.AllAttempts() {
				if a.AnsweredAt != nil {
					t.Errorf("a stale owner's write is stored: %+v", a)
				}
			}
		})
	})
}

func TestMoreThanASlowDatabaseTakesIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSpoolRig(t, 30*time.Second)
		r.tree.Close()
		r.writesCap = 2000
		r.start()
		defer func() { r.tree.Close() }()
		r.add(1)
		r.act(campaign.ActionStart)
		r.act(campaign.ActionPause)
		r.store.View(func() { r.store.Delay = 3500 * time.Millisecond })
		var mu sync.Mutex
		codes := map[string]int{}
		var asked sync.WaitGroup
		for batch := range 11 {
			for i := range 200 {
				asked.Go(func() {
					_, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: number(1 + 200*batch + i)})
					mu.Lock()
					defer mu.Unlock()
					codes[engine.ErrorCode(err)]++
				})
			}
			time.Sleep(100 * time.Millisecond) // virtual
			synctest.Wait()
		}
		if n := r.tree.Stats().Writers.Waiting.Load(); n < 2000 || n > 2200 {
			t.Errorf("%d writes lie in memory", n)
		}
		asked.Wait()
		if n := codes["overloaded"]; n < 1000 || n > 1400 { // each trigger has a write and waits for it
			t.Errorf("answers by code: %v", codes)
		}
		r.store.View(func() { r.store.Delay = time.Millisecond })
		r.until(time.Minute, "all is stored", func() bool { return r.tree.Stats().Writers.Waiting.Load() == 0 })
	})
}

func TestTheAPIIsRefusedBeforeAnythingIsDoneWhileTheDatabaseIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSpoolRig(t, 30*time.Second)
		defer func() { r.tree.Close() }()
		r.results()
		r.add(10)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "ten conversations", func() bool { return r.detail().Live.InProgress == 10 })
		r.store.SetDown(true)
		time.Sleep(40 * time.Second) // virtual: the conversations end, and the failure is noticed
		synctest.Wait()
		ctx, who := context.Background(), engine.Who{Name: "test"}
		var writes int
		r.store.View(func() { writes = len(r.store.AllEvents()) })
		for name, f := range map[string]func() error{
			"trigger": func() error {
				_, err := r.tree.Trigger(ctx, campaign.Trigger{Campaign: r.id, Number: number(77), Who: who})
				return err
			},
			"exclude": func() error {
				_, err := r.tree.Exclude(ctx, campaign.Exclude{Campaign: r.id, Number: number(78)})
				return err
			},
			"dialout": func() error {
				_, err := r.tree.Dialout(ctx, campaign.Dialout{Bot: "bot", To: number(79), Who: who})
				return err
			},
			"pause": func() error {
				_, err := r.tree.Act(ctx, campaign.Act{Campaign: r.id, Action: campaign.ActionPause, Who: who})
				return err
			},
			"contacts": func() error {
				_, err := r.tree.AddContacts(ctx, campaign.AddContacts{Campaign: r.id,
					Contacts: []campaign.NewContact{{Number: number(80)}}})
				return err
			},
			"result": func() error {
				return r.tree.SubmitResult(ctx, campaign.SubmitResult{Call: r.contactOf(number(1)).Attempt.Call()})
			},
		} {
			began := time.Now()
			err := f()
			if code := engine.ErrorCode(err); code != "database_unavailable" || time.Since(began) > time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(began))
			}
		}
		if s := r.detail().Campaign.State; s != campaign.Running {
			t.Errorf("the campaign is %s", s)
		}
		r.store.SetDown(false)
		r.spoolEmpty()
		r.until(time.Hour, "campaign completed", r.completed)
		r.store.View(func() {
			contacts, exclusions, _ := r.store.Counts()
			if events := len(r.store.AllEvents()); exclusions > 0 || contacts != 10 || events <= writes {
				t.Errorf("%d exclusions, %d contacts, %d events", exclusions, contacts, events)
			}
		})
		r.check()
	})
}
