package actors_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
)

func TestACrashAtTheTopOfTheTreeHangsUpNobodyHoweverOftenItComes(t *testing.T) {
	for _, target := range []string{"campaigns", "dialout", "fleet", "trunks", "numbers"} {
		t.Run(target, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, steady(2*time.Second, 40*time.Second), nil)
				defer r.tree.Close()
				r.results()
				// Configured after the start, as in most installations.
				r.store.View(func() {
					r.store.Nums = []engine.NumberSettings{{Number: "+4930111111", State: "active"}}
					r.store.BotList = append(r.store.BotList, engine.Bot{ID: "late", Active: true, Seats: 2,
						Endpoints: []string{"ws://late"}})
				})
				r.tree.NumberChanged(r.store.Nums[0])
				if err := r.tree.BotsChanged(context.Background()); err != nil {
					t.Fatal(err)
				}
				r.add(5)
				r.act(campaign.ActionStart)
				dial := func(n engine.PhoneNumber) engine.CallID {
					t.Helper()
					rep, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "late", To: n})
					if err != nil {
						t.Fatal(err)
					}
					return rep.CallID
				}
				call := dial(number(100))
				r.until(time.Minute, "six conversations", func() bool {
					return r.detail().Live.InProgress == 5 &&
						r.world.PeakBots == 6
				})
				byes := r.world.Byes
				for range 20 {
					r.faults.Crash(target, "", "")
				}
				synctest.Wait()
				if n := r.tree.Stats().Actors.Restarts.Load(); n != 20 {
					t.Errorf("%d faults counted, want 20", n)
				}
				if r.world.Byes != byes || r.world.LiveCalls() != 6 {
					t.Errorf("%d calls live, %d BYEs", r.world.LiveCalls(), r.world.Byes-byes)
				}
				second := dial(number(101)) // the tree goes on with its whole configuration
				r.until(time.Hour, "campaign completed", r.completed)
				r.until(time.Minute, "the dialouts end", func() bool { return r.tree.LiveCalls() == 0 })
				for _, id := range []engine.CallID{call, second} {
					if a, err := r.tree.Call(context.Background(), id); err != nil || !a.WasConnected() || a.Live() {
						t.Errorf("dialout %s: %s %v", id, a.Outcome, err)
					}
				}
				r.check()
				if d := r.detail(); d.Counters.Completed != 5 || d.Counters.Attempts != 5 {
					t.Errorf("%+v", d.Counters)
				}
			})
		})
	}
}

func TestTheLogSaysWhereAnActorFaulted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 40*time.Second), nil)
		defer r.tree.Close()
		r.add(1)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "a conversation", func() bool { return r.detail().Live.InProgress == 1 })
		r.faults.Crash("contact", r.id, r.contactOf(number(0)).ID)
		synctest.Wait()
		if said := r.said.String(); !strings.Contains(said, "fault injected") || !strings.Contains(said,
			"(*contactActor).Receive") {
			t.Errorf("%s", said)
		}
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
	})
}

func TestAClosedTreeDoesNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
		r.results()
		r.add(20)
		r.act(campaign.ActionStart)
		time.Sleep(5 * time.Second) // virtual
		r.tree.Close()
		synctest.Wait()
		invites, commits := r.world.Invites, r.tree.Stats().Writers.Commits.Load()+r.tree.Stats().Writers.Failures.Load()
		time.Sleep(10 * time.Minute) // virtual
		synctest.Wait()
		if r.world.Invites != invites ||
			r.tree.Stats().Writers.Commits.Load()+r.tree.Stats().Writers.Failures.Load() != commits {
			t.Errorf("a closed tree placed %d calls and wrote", r.world.Invites-invites)
		}
	})
}
