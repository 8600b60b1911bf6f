package actors_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	numbers "dialler/engine/number"
	"dialler/engine/window"
)

// byTheirClocks sets the window to 09:00 to 17:00 by the contacts' clocks; a test begins at
// midnight in UTC.
func byTheirClocks(s *campaign.Settings) {
	s.Window = window.Window{Zone: "Europe/Berlin", Start: 9 * 60, End: 17 * 60, ContactZone: true}
}

var (
	berlin  = "+493023125%03d" // 08:00 to 16:00 UTC
	newYork = "+12125550%03d"  // 14:00 to 22:00 UTC
	denver  = "+13035550%03d"  // 16:00 to 00:00 UTC
)

func (r *rig) addNumbers(n int, patterns ...string) {
	r.t.Helper()
	for _, own := range []engine.PhoneNumber{"+4930111111", "+12125550199"} { // both countries may be called
		r.tree.NumberChanged(engine.NumberSettings{Number: own, State: "active"})
	}
	cmd := campaign.AddContacts{Campaign: r.id, Source: "api"}
	for _, p := range patterns {
		for i := range n {
			cmd.Contacts = append(cmd.Contacts, campaign.NewContact{Number: engine.PhoneNumber(fmt.Sprintf(p, i))})
		}
	}
	if rep, err := r.tree.AddContacts(context.Background(), cmd); err != nil || rep.Added != len(cmd.Contacts) {
		r.t.Fatalf("add contacts: %+v, %v", rep, err)
	}
}

// dialled gives the attempts whose INVITE left.
func (r *rig) dialled() (list []attempt.Attempt) {
	r.store.View(func() {
		for a := range r.store.AllAttempts() {
			if a.InviteAt != nil {
				list = append(list, a)
			}
		}
	})
	return list
}

func TestEveryContactIsCalledByItsOwnClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDaysRig(t, actortest.Mix(3, 0.4, 0, 20*time.Second),
			func(s *campaign.Settings) { byTheirClocks(s); s.RetryDelaySec = 5 * 3600 })
		defer r.tree.Close()
		r.results()
		r.addNumbers(60, denver, newYork, berlin) // the last on the list can be called first
		r.act(campaign.ActionStart)
		r.until(time.Minute, "outside the window of all", func() bool {
			l := r.detail().Live
			return l.Indicator == "outside_window" && l.Constraint == engine.ConstraintWindow
		})
		time.Sleep(40 * time.Hour) // virtual
		time.Sleep(8 * time.Hour)  // virtual
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		first := map[string]time.Time{}
		for _, a := range r.dialled() {
			w := window.Window{Start: 9 * 60, End: 17 * 60, ContactZone: true}.For(numbers.HomeOf(a.To))
			if !w.Open(*a.InviteAt) {
				t.Errorf("%s… was dialled at %v, outside its window", a.To.E164()[:5], a.InviteAt)
			}
			key := a.To.E164()[:5]
			if f, ok := first[key]; !ok || a.InviteAt.Before(f) {
				first[key] = *a.InviteAt
			}
		}
		for key, hour := range map[string]int{"+4930": 8, "+1212": 14, "+1303": 16} {
			if opens := time.Date(2000, 1, 1, hour, 0, 0, 0, time.UTC); first[key].Before(opens) ||
				first[key].Sub(opens) > 5*time.Second {
				t.Errorf("%s: first dial at %v, its window opens at %v", key, first[key], opens)
			}
		}
		deferred := map[engine.ContactID]int{}
		r.store.View(func() {
			for _, e := range r.store.AllEvents() {
				if e.Type == journal.ContactChanged && e.Data.Reason == "outside_window" {
					deferred[e.Contact]++
				}
			}
		})
		for _, n := range deferred {
			if n > 3 {
				t.Fatalf("a contact was put off %d times in three days", n)
			}
		}
	})
}

func TestASingleDayEndsBeforeTheWindowOfAContactFarWestOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDaysRig(t, steady(2*time.Second, 20*time.Second),
			func(s *campaign.Settings) { byTheirClocks(s); s.SingleDay = true })
		defer r.tree.Close()
		r.results()
		r.addNumbers(3, denver, newYork, berlin)
		r.act(campaign.ActionStart)
		time.Sleep(16*time.Hour - time.Minute)                    // virtual
		r.until(2*time.Minute, "campaign completed", r.completed) // at 17:00 in Berlin
		r.until(time.Minute, "the bulk write is counted", func() bool { return r.detail().Counters.WindowClosed == 3 })
		d := r.detail()
		if d.Campaign.CompletionReason != campaign.ReasonWindowEnded || d.Counters.Completed != 6 ||
			d.Counters.WindowClosed != 3 {
			t.Errorf("%s: %+v", d.Campaign.CompletionReason, d.Counters)
		}
	})
}

func TestAContactOfZonesThatShareNoHourDoesNotHoldTheCampaign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDaysRig(t, steady(2*time.Second, 20*time.Second), byTheirClocks)
		defer r.tree.Close()
		r.results()
		r.addNumbers(1, "+1800555010%d", berlin) // toll-free: could be anywhere from Bermuda to Guam
		r.act(campaign.ActionStart)
		r.until(24*time.Hour, "campaign completed", r.completed)
		r.check()
		if c := r.contactOf("+18005550100"); c.State != contact.Failed || c.Reason != contact.ReasonNeverOpens {
			t.Errorf("%s %s", c.State, c.Reason)
		}
	})
}

func TestATriggerOutsideTheContactsWindowIsQueuedForItsOpening(t *testing.T) {
	for _, singleDay := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newDaysRig(t, steady(2*time.Second, 20*time.Second), func(s *campaign.Settings) {
				byTheirClocks(s)
				s.AlwaysOn, s.SingleDay = !singleDay, singleDay
			})
			defer r.tree.Close()
			r.results()
			r.addNumbers(1, berlin)
			r.act(campaign.ActionStart)
			time.Sleep(9 * time.Hour) // virtual: Berlin is open, New York is not
			rep, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: "+12125550199"})
			if singleDay {
				if r.detail().Campaign.State == campaign.Running && engine.ErrorCode(err) != "outside_window" {
					t.Errorf("single-day: %+v, %v", rep, err)
				}
				return
			}
			opens := time.Date(2000, 1, 1, 14, 0, 0, 0, time.UTC)
			if err != nil || rep.Status != "queued" || rep.Reason != "window" || rep.NextEligibleAt == nil ||
				!rep.NextEligibleAt.Equal(opens) {
				t.Fatalf("%+v, %v", rep, err)
			}
			time.Sleep(5*time.Hour - time.Second) // virtual
			r.until(time.Minute, "called at its opening", func() bool { return r.world.InvitedTo("+12125550199") == 1 })
			if late := time.Since(opens); late < 0 || late > 5*time.Second {
				t.Errorf("%v after its opening", late)
			}
			r.act(campaign.ActionStop)
		})
	}
}

// The window may close between the decision and the INVITE.
func TestNoINVITELeavesAfterTheWindowHasClosed(t *testing.T) {
	for _, own := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newDaysRig(t, steady(2*time.Second, 20*time.Second), func(s *campaign.Settings) {
				s.Window = window.Window{Zone: "Europe/Berlin", Start: 9 * 60, End: 17 * 60, ContactZone: own}
				s.AbandonCapPPM = 0
			})
			defer r.tree.Close()
			began := time.Now().Add(-time.Hour)
			r.world.View(func() { r.world.Boot = func() engine.BootTime { return engine.BootTime(time.Since(began)) + 1 } })
			r.results()
			r.addNumbers(10, berlin)
			r.store.View(func() { r.store.TrunkList[0].CPSCap = 2 })
			if err := r.tree.TrunksChanged(context.Background()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(16*time.Hour - 6*time.Second) // virtual
			r.store.View(func() { r.store.Delay = 2 * time.Second })
			r.act(campaign.ActionStart)
			time.Sleep(16*time.Hour + time.Minute) // virtual
			r.until(time.Hour, "campaign completed", r.completed)
			r.check()
			early := 0
			for _, a := range r.dialled() {
				if h := a.InviteAt.UTC().Hour(); h < 8 || h >= 16 {
					t.Errorf("an INVITE left at %v", a.InviteAt.UTC())
				} else if a.InviteAt.Day() == 1 {
					early++
				}
			}
			if early == 0 || early == 10 {
				t.Errorf("%d of 10 left before the window closed: nothing was tried at its end", early)
			}
		})
	}
}
