package actors_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/window"
)

func TestACampaignOutsideItsWindowHoldsNoSeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 20*time.Second), func(s *campaign.Settings) {
			s.Window = window.Window{Zone: "UTC", Start: 2 * 60, End: 3 * 60} // it is midnight
		})
		defer r.tree.Close()
		r.results()
		r.add(5)
		r.act(campaign.ActionStart)
		r.until(
			time.Minute,
			"no seat is held for a window that is closed",
			func() bool { return r.tree.Stats().Fleet.SeatsHeld.Load() == 0 },
		)
		if r.world.Invites != 0 {
			t.Errorf("%d INVITEs outside the window", r.world.Invites)
		}
		r.until(3*time.Hour, "campaign completed", r.completed)
		r.check()
		if d := r.detail(); d.Counters.Completed != 5 {
			t.Errorf("%+v", d.Counters)
		}
	})
}

func TestExclusionByMetadataRefusesATriggerThatDoesNotRepeatIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 20*time.Second), func(s *campaign.Settings) {
			s.AlwaysOn, s.StickyExclusion = true, true
		})
		defer r.tree.Close()
		r.results()
		r.act(campaign.ActionStart)
		trigger := func(vars map[string]string) (campaign.TriggerReply, error) {
			return r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: number(1), Variables: vars})
		}
		if _, err := trigger(map[string]string{"account": "7"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // virtual: in conversation
		synctest.Wait()
		exclude := campaign.Exclude{Campaign: r.id, Match: map[string]string{"account": "7"}}
		if rep, err := r.tree.Exclude(context.Background(), exclude); err != nil || rep.Matched != 1 || rep.InCall != 1 {
			t.Fatalf("%+v %v", rep, err)
		}
		if rep, err := trigger(nil); engine.ErrorCode(err) != "contact_excluded" {
			t.Errorf("while its last call goes on: %+v %v", rep, err)
		}
		r.until(time.Minute, "excluded once the call is over",
			func() bool { return r.contactOf(number(1)).State == contact.Excluded })
		if rep, err := trigger(nil); engine.ErrorCode(err) != "contact_excluded" {
			t.Errorf("excluded: %+v %v", rep, err)
		}
		if rep, err := trigger(map[string]string{"account": "8"}); engine.ErrorCode(err) != "contact_excluded" {
			t.Errorf("with other metadata: %+v %v", rep, err)
		}
		time.Sleep(time.Minute) // virtual
		synctest.Wait()
		if r.world.Invites != 1 {
			t.Errorf("%d INVITEs, want the one before the exclusion", r.world.Invites)
		}
	})
}

func TestAnExclusionOvertakesATriggerThatIsUnderWay(t *testing.T) {
	for _, by := range []campaign.Exclude{{Number: number(1)}, {Match: map[string]string{"account": "7"}}} {
		for _, after := range []time.Duration{time.Millisecond, 3 * time.Millisecond, 5 * time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, steady(10*time.Second, 20*time.Second), func(s *campaign.Settings) {
					s.AlwaysOn, s.StickyExclusion = true, true
				})
				defer r.tree.Close()
				r.results()
				r.act(campaign.ActionStart)
				time.Sleep(time.Second) // virtual
				triggered := make(chan error, 1)
				go func() {
					_, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: number(1),
						Variables: map[string]string{"account": "7"}})
					triggered <- err
				}()
				time.Sleep(after) // virtual
				x := by
				x.Campaign = r.id
				rep, err := r.tree.Exclude(context.Background(), x)
				if err != nil {
					t.Fatal(err)
				}
				invites := r.world.Invites
				refused := <-triggered
				r.until(time.Minute, "nothing rings", func() bool { return r.world.LiveCalls() == 0 })
				synctest.Wait()
				if r.world.Invites != invites {
					t.Errorf("%v after the trigger, %+v: an INVITE left after the exclusion was confirmed", after, by)
				}
				c, stored := r.contactOf(number(1)), r.contactOf(number(1)).ID != ""
				switch {
				case refused != nil && (engine.ErrorCode(refused) != "contact_excluded" || stored || rep.Matched != 0):
					t.Errorf("%v after the trigger, %+v: trigger %v, exclude %+v, contact %+v", after, by, refused, rep, c)
				case refused == nil && (c.State != contact.Excluded || rep.Matched != 1 || rep.Excluded != 1):
					t.Errorf("%v after the trigger, %+v: exclude %+v, contact is %s", after, by, rep, c.State)
				}
			})
		}
	}
}

// The events of an exclusion are in the order in which the contact changed: the last one matches
// its row, whenever the exclusion comes.
func TestTheLastEventOfAnExcludedContactIsWhatItsRowSays(t *testing.T) {
	for _, wait := range []time.Duration{0, time.Millisecond, 50 * time.Millisecond, 150 * time.Millisecond,
		500 * time.Millisecond, 1500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, steady(2*time.Second, 30*time.Second), nil)
			defer func() { r.tree.Close() }()
			r.add(10)
			r.store.View(func() { r.store.Delay = 200 * time.Millisecond })
			r.act(campaign.ActionStart)
			time.Sleep(wait) // virtual
			var all sync.WaitGroup
			for i := range 10 {
				all.Go(func() {
					if _, err := r.tree.Exclude(t.Context(), campaign.Exclude{Campaign: r.id, Number: number(i),
						Reason: "asked"}); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			time.Sleep(time.Minute) // virtual
			r.store.View(func() {
				last := map[engine.ContactID]journal.Event{}
				for _, e := range r.store.AllEvents() {
					if e.Contact != "" && e.Data.After != nil && e.Seq > last[e.Contact].Seq {
						last[e.Contact] = e
					}
				}
				for c := range r.store.AllContacts() {
					if e, ok := last[c.ID]; ok && (e.Data.After.Live != (c.Attempt != "") || e.Data.After.State != c.State) {
						t.Errorf("excluded after %v: the last event is %s with %+v, the row has state %s and attempt %q", wait, e.Type,
							*e.Data.After, c.State, c.Attempt)
					}
				}
				if len(last) != 10 {
					t.Errorf("events of %d contacts", len(last))
				}
			})
		})
	}
}
