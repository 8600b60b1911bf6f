package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Contacts blocked only by the lifted exclusion are called, sticky or not; those blocked by another
// one stay blocked.
func TestWhoseExclusionIsLiftedCanBeCalledAgain(t *testing.T) {
	for _, sticky := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, steady(2*time.Second, 10*time.Second), func(s *campaign.Settings) {
				s.StickyExclusion, s.AlwaysOn = sticky, true
			})
			defer r.tree.Close()
			r.results()
			r.add(4) // 0 … 3, each with its i
			exclude := func(x campaign.Exclude) {
				x.Campaign = r.id
				if _, err := r.tree.Exclude(context.Background(), x); err != nil {
					t.Fatal(err)
				}
			}
			lift := func(x campaign.Lift, want int, code string) {
				t.Helper()
				x.Campaign, x.Who = r.id, engine.Who{User: "usr_1", Name: "Ada"}
				got, err := r.tree.Lift(context.Background(), x)
				if got.Readmitted != want || (err == nil) != (code == "") || err != nil && engine.ErrorCode(err) != code {
					t.Errorf("sticky %v: lifting %v %v gave %+v, %v; want %d, %q", sticky, x.Number, x.Match, got, err, want, code)
				}
			}
			one, two := map[string]string{"i": "1"}, map[string]string{"i": "2"}
			exclude(campaign.Exclude{Number: number(0)})
			exclude(campaign.Exclude{Match: one})
			exclude(campaign.Exclude{Match: two})
			exclude(campaign.Exclude{Number: number(2)})
			exclude(campaign.Exclude{Number: number(7)}) // in advance
			r.act(campaign.ActionStart)
			time.Sleep(time.Minute) // virtual
			if n := r.world.Invited(); n != 1 {
				t.Fatalf("%d INVITEs, want the one to who is not excluded", n)
			}
			lift(campaign.Lift{Number: number(0)}, 1, "")
			lift(campaign.Lift{Match: one}, 1, "")
			lift(campaign.Lift{Match: two}, 0, "") // the number is excluded too
			lift(campaign.Lift{Number: number(7)}, 0, "")
			lift(campaign.Lift{Number: number(0)}, 0, "exclusion_not_found")
			lift(campaign.Lift{Match: one}, 0, "exclusion_not_found")
			lift(campaign.Lift{Number: number(3)}, 0, "exclusion_not_found")
			if _, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: number(7)}); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute) // virtual
			synctest.Wait()
			for i, want := range map[int]contact.State{0: contact.Completed, 1: contact.Completed, 2: contact.Excluded,
				3: contact.Completed, 7: contact.Completed} {
				calls := map[contact.State]int{contact.Completed: 1}[want]
				if c, n := r.contactOf(number(i)), r.world.InvitedTo(number(i)); c.State != want || n != calls {
					t.Errorf("sticky %v: contact %d is %s, %d calls, want %s", sticky, i, c.State, n, want)
				}
			}
			if n := r.tree.Stats().Calls.Illegal.Load(); n > 0 {
				t.Errorf("%d events were refused by machines", n)
			}
			file := campaign.ExclusionsImported{Campaign: r.id, Numbers: 3, Reason: "robinson",
				Who: engine.Who{User: "usr_1", Name: "Ada"}}
			if err := r.tree.ExclusionsImported(context.Background(), file); err != nil {
				t.Error(err)
			}
			r.store.View(func() {
				e := r.store.AllEvents()[len(r.store.AllEvents())-1]
				if e.Type != journal.ExclusionsImported || e.Data.Count != 3 || e.Data.Reason != "robinson" ||
					e.Data.Who.Name != "Ada" || e.Campaign != r.id {
					t.Errorf("the history has %+v", e)
				}
			})
			r.threeWays()
			r.act(campaign.ActionStop)
			lift(campaign.Lift{Number: number(2)}, 0, "run_over")
		})
	}
}

// A lift during a conversation of the excluded contact withdraws the exclusion that waits for its
// end.
func TestALiftWithinAConversationLeavesTheContactAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, time.Minute), func(s *campaign.Settings) { s.AlwaysOn = true })
		defer r.tree.Close()
		r.results()
		r.add(1)
		r.act(campaign.ActionStart)
		time.Sleep(20 * time.Second) // virtual: talking
		x := campaign.Exclude{Campaign: r.id, Number: number(0)}
		if got, err := r.tree.Exclude(context.Background(), x); got.InCall != 1 || err != nil {
			t.Fatalf("%+v, %v", got, err)
		}
		if got, err := r.tree.Lift(context.Background(),
			campaign.Lift{Campaign: r.id, Number: number(0)}); got.Readmitted != 1 || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
		time.Sleep(2 * time.Minute) // virtual
		synctest.Wait()
		if c := r.contactOf(number(0)); c.State != contact.Completed || r.world.Invited() != 1 {
			t.Errorf("%s after %d calls", c.State, r.world.Invited())
		}
		r.threeWays()
		r.act(campaign.ActionStop)
	})
}
