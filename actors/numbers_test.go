package actors_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/numberpool"
)

// beside starts another campaign in the same tree, with n contacts from the given number on.
func (r *rig) beside(id engine.CampaignID, from, n int, edit func(*campaign.Settings)) *rig {
	r.t.Helper()
	other := &rig{t: r.t, store: r.store, world: r.world, tree: r.tree, id: id, configs: r.configs, optOut: r.optOut}
	other.life.Store(r.life.Load())
	c, err := r.store.Campaign(r.t.Context(), r.id)
	if err != nil {
		r.t.Fatal(err)
	}
	c.ID, c.State, c.Run, c.EverRun = id, campaign.Draft, 1, false
	c.StartedAt, c.Epoch, c.Seq = nil, 0, 0
	edit(&c.Settings)
	if err := r.store.InsertCampaign(r.t.Context(), c); err != nil {
		r.t.Fatal(err)
	}
	cmd := campaign.AddContacts{Campaign: id, Source: "api"}
	for i := range n {
		cmd.Contacts = append(cmd.Contacts, campaign.NewContact{Number: number(from + i)})
	}
	if _, err := r.tree.AddContacts(context.Background(), cmd); err != nil {
		r.t.Fatal(err)
	}
	other.act(campaign.ActionStart)
	return other
}

func TestTwoCampaignsShareTheSeatsOfTheirBotByWeight(t *testing.T) {
	for _, weight := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			edit := func(w int) func(*campaign.Settings) {
				return func(s *campaign.Settings) { s.AbandonCapPPM, s.MaxAttempts, s.Concurrency, s.Weight = 0, 1, 20, w }
			}
			r := newRig(t, steady(2*time.Second, 20*time.Second), edit(1))
			defer r.tree.Close()
			r.results()
			r.add(800)
			r.act(campaign.ActionStart)
			r.until(time.Minute, "it has all seats", func() bool { return r.detail().Live.Seats == 10 })
			other := r.beside("cmp_other", 1000, 800, edit(weight))
			time.Sleep(2 * time.Minute) // virtual: seats move as calls end
			want := map[int][2]int{1: {5, 5}, 4: {2, 8}}[weight]
			for range 20 {
				a, b := r.detail().Live, other.detail().Live
				if a.Seats != want[0] || b.Seats != want[1] {
					t.Fatalf("weights 1 and %d: %d and %d seats, want %v", weight, a.Seats, b.Seats, want)
				}
				time.Sleep(time.Second) // virtual
			}
			// A campaign with nobody to dial leaves its share to the other.
			other.act(campaign.ActionPause)
			r.until(2*time.Minute, "it has all seats again", func() bool { return r.detail().Live.Seats == 10 })
			r.act(campaign.ActionStop)
			other.act(campaign.ActionStop)
		})
	}
}

func TestAStickyNumberCallsTheContactAgain(t *testing.T) {
	for _, sticky := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t,
				func(engine.PhoneNumber, int) actortest.Script { return actortest.Script{Ring: time.Second, Code: 486} },
				func(s *campaign.Settings) {
					s.StickyNumber = sticky
					for i := range 5 {
						s.Numbers = append(s.Numbers, engine.PhoneNumber("+493011112"+string(rune('0'+i))))
					}
				})
			defer r.tree.Close()
			r.add(40)
			r.act(campaign.ActionStart)
			r.until(time.Hour, "campaign completed", r.completed)
			r.check()
			from, changed := map[engine.ContactID]engine.PhoneNumber{}, 0
			for _, a := range r.inOrder() {
				if n, ok := from[a.Contact]; ok && n != a.From {
					changed++
				}
				from[a.Contact] = a.From
			}
			used := map[engine.PhoneNumber]bool{}
			for _, n := range from {
				used[n] = true
			}
			if sticky == (changed > 0) || len(used) < 5 {
				t.Errorf("sticky %v: %d calls from another number, %d numbers used", sticky, changed, len(used))
			}
		})
	}
}

// With the option, a contact is called from a number of its area, else of its country; without it
// the numbers take turns, wherever the contact lives.
func TestTheOptionLocalMatchHasContactsCalledFromTheNumberOfTheirArea(t *testing.T) {
	const berlin, munich, manhattan engine.PhoneNumber = "+493023125000", "+498923125000", "+12125550100"
	homes := []struct {
		area   engine.PhoneNumber
		nearby []engine.PhoneNumber
	}{
		{"+493023126", []engine.PhoneNumber{berlin}},
		{"+498923126", []engine.PhoneNumber{munich}},
		{"+121255502", []engine.PhoneNumber{manhattan}},
		{"+494023126", []engine.PhoneNumber{berlin, munich}}, // Hamburg
	}
	for _, local := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			script, edit := oneByOne(time.Second, func(s *campaign.Settings) {
				s.LocalMatch, s.MaxAttempts, s.Numbers = local, 1, []engine.PhoneNumber{berlin, munich, manhattan}
			})
			r := newRig(t, script, edit)
			defer r.tree.Close()
			for _, n := range []engine.PhoneNumber{berlin, munich, manhattan} { // their countries may be called
				r.tree.NumberChanged(engine.NumberSettings{Number: n, State: "active"})
			}
			cmd := campaign.AddContacts{Campaign: r.id, Source: "api"}
			for i := range 5 {
				for _, home := range homes {
					n := home.area + engine.PhoneNumber(fmt.Sprintf("%02d", i))
					cmd.Contacts = append(cmd.Contacts, campaign.NewContact{Number: n})
				}
			}
			if rep, err := r.tree.AddContacts(context.Background(), cmd); err != nil || rep.Added != len(cmd.Contacts) {
				t.Fatalf("%+v, %v", rep, err)
			}
			r.act(campaign.ActionStart)
			r.until(time.Hour, "campaign completed", r.completed)
			r.check()
			calls, far := r.inOrder(), 0
			for _, a := range calls {
				for _, home := range homes {
					if strings.HasPrefix(string(a.To), string(home.area)) && !slices.Contains(home.nearby, a.From) {
						far++
					}
				}
			}
			if len(calls) != len(cmd.Contacts) || local != (far == 0) {
				t.Errorf("local match %v: %d of %d calls came from far away", local, far, len(calls))
			}
		})
	}
}

func TestTheCapsOfANumberHoldAcrossCampaigns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		edit := func(s *campaign.Settings) { s.Numbers, s.MaxAttempts = []engine.PhoneNumber{"+4930111111"}, 1 }
		r := newRig(t, func(engine.PhoneNumber, int) actortest.Script {
			return actortest.Script{Ring: 2 * time.Second, Code: 486}
		}, edit)
		r.tree.Close()
		r.store.View(func() {
			r.store.Nums = []engine.NumberSettings{{Number: "+4930111111", ConcurrentCap: 3, HourCap: 20, State: "active"}}
		})
		r.start()
		defer r.tree.Close()
		r.add(100)
		r.act(campaign.ActionStart)
		other := r.beside("cmp_other", 1000, 100, edit)
		most := 0
		for range 600 {
			most = max(most, r.world.LiveCalls())
			time.Sleep(100 * time.Millisecond) // virtual
		}
		if n := r.world.Invited(); most != 3 || n != 20 {
			t.Errorf("%d calls at once, %d in the first hour; the number's caps are 3 and 20", most, n)
		}
		if l := r.detail().Live; l.Constraint != engine.ConstraintNumberPool {
			t.Errorf("the campaign is held by %s", l.Constraint)
		}
		time.Sleep(65 * time.Minute) // virtual
		if n := r.world.Invited(); n != 40 {
			t.Errorf("%d calls in two hours", n)
		}
		r.act(campaign.ActionStop)
		other.act(campaign.ActionStop)
	})
}

// numberStatus returns a number's status.
func (r *rig) numberStatus(n engine.PhoneNumber) numberpool.Status {
	r.t.Helper()
	all, err := r.tree.NumberStatuses(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return all[n]
}

func TestTheDialsOfANumberCountAcrossARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const from = engine.PhoneNumber("+4930111111")
		r := newRig(t, func(engine.PhoneNumber, int) actortest.Script {
			return actortest.Script{Ring: 2 * time.Second, Code: 486}
		},
			func(s *campaign.Settings) { s.Numbers, s.MaxAttempts = []engine.PhoneNumber{from}, 1 })
		r.tree.Close()
		r.store.View(func() {
			r.store.Nums = []engine.NumberSettings{{Number: from, HourCap: 12, DayCap: 20, State: "active"}}
		})
		r.start()
		r.add(50)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "the hour's dials", func() bool { return r.world.Invited() == 12 })
		time.Sleep(10 * time.Second) // virtual
		r.kill()
		r.start()
		defer func() { r.tree.Close() }()
		time.Sleep(time.Minute) // virtual
		if n := r.world.Invited(); n != 0 {
			t.Errorf("%d dials beyond the hour's cap after a restart", n)
		}
		if s := r.numberStatus(from); s.HourDials != 12 || s.DayDials != 12 || s.State != numberpool.Active {
			t.Errorf("%+v", s)
		}
		time.Sleep(3 * time.Hour) // virtual
		if n := r.world.Invited(); n != 8 {
			t.Errorf("%d dials more, the day's cap leaves 8", n)
		}
		r.act(campaign.ActionStop)
	})
}

func TestStrikesQuarantineANumberUntilAnOperatorEndsThat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bad = engine.PhoneNumber("+4930111111")
		refused := true
		r := newRig(t, func(engine.PhoneNumber, int) actortest.Script {
			if refused {
				return actortest.Script{Ring: 2 * time.Second, Code: 608, Reason: "Rejected"}
			}
			return actortest.Script{Ring: 2 * time.Second, Code: 486}
		}, func(s *campaign.Settings) { s.Numbers, s.MaxAttempts, s.AlwaysOn = []engine.PhoneNumber{bad}, 1, true })
		r.add(20)
		r.act(campaign.ActionStart)
		r.until(time.Hour, "quarantined", func() bool { return r.numberStatus(bad).State == numberpool.Quarantined })
		if s := r.numberStatus(bad); s.Strikes < 5 {
			t.Errorf("%+v", s)
		}
		r.until(time.Minute, "stored", func() (stored bool) {
			r.store.View(func() { stored = len(r.store.Nums) == 1 && r.store.Nums[0].State == "quarantined" })
			return stored
		})
		time.Sleep(10 * time.Second) // virtual
		r.kill()
		refused = false
		r.start()
		defer func() { r.tree.Close() }()
		time.Sleep(time.Minute) // virtual
		if s := r.numberStatus(bad); s.State != numberpool.Quarantined || r.world.Invited() != 0 {
			t.Errorf("after a restart: %+v, %d dials", s, r.world.Invited())
		}
		if l := r.detail().Live; l.Constraint != engine.ConstraintNumberPool {
			t.Errorf("the campaign is held by %s", l.Constraint)
		}
		r.tree.NumberChanged(engine.NumberSettings{Number: bad, State: "active"})
		r.until(10*time.Minute, "everybody is dialled", func() bool { return r.detail().Counters.Pending == 0 })
		time.Sleep(10 * time.Second) // virtual
		if s := r.numberStatus(bad); s.State != numberpool.Active || s.Strikes != 0 || s.Ended == 0 {
			t.Errorf("ended by an operator: %+v", s)
		}
		r.act(campaign.ActionStop)
	})
}

func TestStrikesRestAndAnswerRateOfANumberSurviveTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const from = engine.PhoneNumber("+4930111111")
		r := newRig(t, func(n engine.PhoneNumber, _ int) actortest.Script {
			if n == number(0) || n == number(1) {
				return actortest.Script{Ring: time.Second, Code: 403}
			}
			return actortest.Script{Ring: time.Second, Code: 486}
		}, func(s *campaign.Settings) { s.Numbers, s.MaxAttempts = []engine.PhoneNumber{from}, 1 })
		r.tree.Close()
		r.store.View(func() {
			r.store.Nums = []engine.NumberSettings{{Number: from, ConcurrentCap: 1, RestSec: 60, AnswerFloor: 1,
				State: "active"}}
		})
		r.start()
		r.add(100)
		r.act(campaign.ActionStart)
		r.until(3*time.Hour, "70 calls", func() bool { return r.numberStatus(from).Ended == 64 && r.world.Invited() == 70 })
		r.until(time.Minute, "the last is over, and it rests",
			func() bool { return r.numberStatus(from).State == numberpool.Resting })
		before := r.numberStatus(from)
		if before.Alarm != numberpool.AlarmFloor || before.RestsTill == nil ||
			before.Strikes != 0 { // those of the first two calls are long gone
			t.Fatalf("%+v", before)
		}
		time.Sleep(time.Second) // virtual
		r.kill()
		r.start()
		defer func() { r.tree.Close() }()
		r.until(10*time.Second, "what it went through is loaded", func() bool { return r.numberStatus(from).Ended == 64 })
		after := r.numberStatus(from)
		if after.State != numberpool.Resting || after.Ended != 64 || after.Answered != 0 ||
			after.Alarm != numberpool.AlarmFloor ||
			after.RestsTill == nil || after.RestsTill.Sub(*before.RestsTill).Abs() > time.Second {
			t.Errorf("after a restart %+v, before %+v", after, before)
		}
		r.act(campaign.ActionStop)
	})
}

func TestStrikesBelowTheLimitSurviveTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const from = engine.PhoneNumber("+4930111111")
		r := newRig(t,
			func(engine.PhoneNumber, int) actortest.Script { return actortest.Script{Ring: time.Second, Code: 403} },
			func(s *campaign.Settings) { s.Numbers, s.MaxAttempts, s.AlwaysOn = []engine.PhoneNumber{from}, 1, true })
		r.tree.Close()
		r.store.View(func() { r.store.Nums = []engine.NumberSettings{{Number: from, ConcurrentCap: 1, State: "active"}} })
		r.start()
		r.add(4)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "four strikes", func() bool {
			return r.numberStatus(from).Strikes == 4 && r.detail().Counters.Failed == 4
		})
		time.Sleep(time.Second) // virtual
		r.kill()
		r.start()
		defer func() { r.tree.Close() }()
		if _, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: number(50)}); err != nil {
			t.Fatal(err)
		}
		r.until(time.Minute, "the fifth quarantines it",
			func() bool { return r.numberStatus(from).State == numberpool.Quarantined })
	})
}

func TestANumberWhoseAnswerRateFallsRaisesAnAlarmAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const from = engine.PhoneNumber("+4930111111")
		var labelled atomic.Bool
		r := newRig(t, func(engine.PhoneNumber, int) actortest.Script {
			if labelled.Load() {
				return actortest.Script{Ring: time.Second, Code: 486}
			}
			return actortest.Script{Ring: time.Second, Code: 200, Talk: 2 * time.Second}
		}, func(s *campaign.Settings) { s.Numbers, s.MaxAttempts = []engine.PhoneNumber{from}, 1 })
		defer r.tree.Close()
		r.results()
		r.tree.NumberChanged(engine.NumberSettings{Number: from, State: "active"})
		r.add(320)
		r.act(campaign.ActionStart)
		r.until(time.Hour, "200 calls", func() bool { return r.world.Invited() >= 200 })
		if s := r.numberStatus(from); s.Alarm != numberpool.AlarmNone {
			t.Errorf("%+v", s)
		}
		labelled.Store(true)
		r.until(time.Hour, "an alarm", func() bool { return r.numberStatus(from).Alarm == numberpool.AlarmFalling })
		n := r.world.Invited()
		r.until(time.Hour, "campaign completed", r.completed)
		if s := r.numberStatus(from); r.world.Invited() <= n || s.State != numberpool.Active {
			t.Errorf("%d dials after the alarm, %+v", r.world.Invited()-n, s)
		}
	})
}
