package actors_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/trunk"
)

func (r *rig) trunkStatus(id engine.TrunkID) trunk.Status {
	r.t.Helper()
	all, err := r.tree.TrunkStatuses(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return all[id]
}

// trunks configures the trunks in the list; put are the edited ones.
func (r *rig) trunks(list []engine.TrunkSettings, put ...engine.TrunkID) {
	r.t.Helper()
	r.store.View(func() { r.store.TrunkList = list })
	if err := r.tree.TrunksChanged(context.Background(), put...); err != nil {
		r.t.Fatal(err)
	}
	r.heard()
	synctest.Wait()
}

func TestEditingOneTrunkLeavesAnotherOnesHealthAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(engine.PhoneNumber, int) actortest.Script {
			return actortest.Script{Ring: time.Second, Code: 401}
		}, nil)
		defer r.tree.Close()
		r.store.View(func() { r.store.Nums = []engine.NumberSettings{{Number: "+4930111111", State: "active"}} })
		r.tree.NumberChanged(r.store.Nums[0])
		list := []engine.TrunkSettings{{ID: "trunk", Active: true, CPSCap: 50, ChannelCap: 500},
			{ID: "other", Active: true, Priority: 9}}
		r.trunks(list)
		time.Sleep(time.Second) // virtual: a restarted trunk waits for its first token
		if _, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second) // virtual
		if s := r.trunkStatus("trunk"); s.Health != trunk.Held || s.RetryAt == nil {
			t.Fatalf("%+v", s)
		}
		list[1].CPSCap = 3
		r.trunks(list, "other")
		if s := r.trunkStatus("trunk"); s.Health != trunk.Held {
			t.Errorf("after an edit of another one: %+v", s)
		}
		r.trunks(list, "trunk") // saved unchanged: the operator says it is fixed
		if s := r.trunkStatus("trunk"); s.Health != trunk.Up {
			t.Errorf("after it was put again: %+v", s)
		}
	})
}

func TestADeletedTrunkTakesNoCallAndItsLiveOneGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 60*time.Second), nil)
		defer r.tree.Close()
		r.store.View(func() { r.store.Nums = []engine.NumberSettings{{Number: "+4930111111", State: "active"}} })
		r.tree.NumberChanged(r.store.Nums[0])
		synctest.Wait()
		rep, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // virtual
		if s := r.trunkStatus("trunk"); s.Legs != 1 || s.Health != trunk.Up {
			t.Fatalf("%+v", s)
		}
		r.trunks([]engine.TrunkSettings{{ID: "other", Active: true}})
		if s := r.trunkStatus("trunk"); s.Legs != 1 || s.Health != trunk.Off {
			t.Errorf("%+v", s)
		}
		second, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(2)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second) // virtual
		if a, err := r.tree.Call(context.Background(), second.CallID); err != nil || a.Trunk != "other" {
			t.Errorf("by trunk %q, %v", a.Trunk, err)
		}
		if a, err := r.tree.Call(context.Background(), rep.CallID); err != nil || !a.Live() {
			t.Errorf("the call over the deleted trunk: %+v, %v", a.State, err)
		}
		time.Sleep(3 * time.Minute) // virtual
		if s := r.trunkStatus("trunk"); s.Legs != 0 {
			t.Errorf("its channel is not back: %+v", s)
		}
	})
}

// A carrier that refuses one of our numbers affects only that number: other calls over the trunk go
// on.
func TestARefusedCallerIDStopsNoOtherCampaign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const theirs = 1000 // the healthy campaign's contacts start here
		answers := steady(2*time.Second, 5*time.Second)
		r := newRig(t, func(to engine.PhoneNumber, nth int) actortest.Script {
			if to < number(theirs) {
				return actortest.Script{Ring: 200 * time.Millisecond, Code: 403}
			}
			return answers(to, nth)
		}, func(s *campaign.Settings) { s.Numbers, s.MaxAttempts = []engine.PhoneNumber{"+4930111111"}, 1 })
		defer r.tree.Close()
		r.results()
		r.add(60)
		r.act(campaign.ActionStart)
		other := r.beside("cmp_other", theirs, 40, func(s *campaign.Settings) {
			s.Numbers = []engine.PhoneNumber{"+4930222222"}
		})
		other.until(2*time.Minute, "everybody of the healthy campaign was called", func() bool {
			if s := r.trunkStatus("trunk"); s.Health != trunk.Up {
				t.Fatalf("the trunk is %s: %s", s.Health, s.Reason)
			}
			return other.completed()
		})
		refused := 0
		for _, a := range r.attempts() {
			if a.SIPCode == 403 {
				refused++
			}
		}
		if c := other.detail().Counters; c.Connected != 40 || refused < 5 {
			t.Errorf("%d of 40 people were reached, %d calls were refused", c.Connected, refused)
		}
		r.act(campaign.ActionStop)
	})
}

// A trunk that goes down and comes up every second.
func TestATrunkThatFlapsLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.add(60)
		r.act(campaign.ActionStart)
		for up := false; r.world.Invited() < 60 && !r.completed(); up = !up {
			life := map[bool]engine.TrunkLife{true: engine.TrunkAlive, false: engine.TrunkLost}[up]
			r.tree.TrunkHealth(engine.TrunkHealth{Trunk: "trunk", Life: life})
			synctest.Wait()
			before := r.world.Invited()
			time.Sleep(time.Second) // virtual
			synctest.Wait()         // everything that ended at this instant is reported
			if n := r.world.Invited() - before; !up && n > 0 {
				t.Fatalf("%d calls over a trunk that is down", n)
			}
			if l := r.detail().Live; !up && l.InProgress+l.Ringing+l.Dialling == 0 &&
				l.Constraint != engine.ConstraintTrunkHealth {
				t.Errorf("the campaign says %s", l.Constraint)
			}
		}
		r.heard()
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		if n := r.detail().Counters; n.Completed != 60 || n.Attempts != 60 {
			t.Errorf("%+v", n)
		}
	})
}

// Grants are spaced, but their intents are stored together when the database recovers: even then,
// no more INVITEs leave in any second than the trunk takes.
func TestNoMoreInvitesLeaveWithinASecondThanTheTrunkTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t,
			func(engine.PhoneNumber, int) actortest.Script { return actortest.Script{Ring: time.Second, Code: 486} },
			func(s *campaign.Settings) { s.MaxAttempts, s.Concurrency = 1, 10 })
		defer r.tree.Close()
		const limit = 5
		r.store.View(func() { r.store.TrunkList[0].CPSCap = limit })
		if err := r.tree.TrunksChanged(context.Background()); err != nil {
			t.Fatal(err)
		}
		r.add(100)
		r.act(campaign.ActionStart)
		r.until(time.Hour, "campaign completed", func() bool {
			now := time.Now()
			r.store.View(func() { r.store.Delay = time.Duration(now.UnixMilli()/300%5) * 200 * time.Millisecond })
			return r.completed()
		})
		r.check()
		var left []time.Time
		for _, a := range r.dialled() {
			left = append(left, *a.InviteAt)
		}
		slices.SortFunc(left, time.Time.Compare)
		for i := limit; i < len(left); i++ {
			if d := left[i].Sub(left[i-limit]); d < time.Second {
				t.Errorf("%d INVITEs within %v", limit+1, d)
			}
		}
		if took := left[len(left)-1].Sub(left[0]); len(left) < 100 || took > 40*time.Second {
			t.Errorf("%d INVITEs in %v", len(left), took)
		}
	})
}
