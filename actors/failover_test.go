package actors_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/trunk"
)

// twoTrunks is a campaign whose first trunk refuses every call and whose second one takes second
// calls per second.
func twoTrunks(t *testing.T, second int, edit func(*campaign.Settings)) *rig {
	t.Helper()
	r := newRig(t, steady(2*time.Second, 5*time.Second), func(s *campaign.Settings) {
		s.MaxAttempts, s.RetryOnSystem = 1, nil
		if edit != nil {
			edit(s)
		}
	})
	r.world.View(func() {
		r.world.Trunks = map[engine.TrunkID]actortest.Script{"first": {
			Ring: 20 * time.Millisecond, Code: 503, Reason: "No circuit available", Q850: 34, RetryAfter: 20 * time.Second}}
	})
	r.trunks([]engine.TrunkSettings{
		{ID: "first", Active: true, CPSCap: 50, ChannelCap: 500},
		{ID: "second", Active: true, Priority: 1, CPSCap: second, ChannelCap: 500},
	})
	time.Sleep(2 * time.Second) // virtual: the second trunk's bucket is full
	return r
}

// A contact is not lost because the next trunk's token comes some milliseconds later.
func TestACallWaitsForTheNextTrunksToken(t *testing.T) {
	for _, cps := range []int{200, 100, 30, 10, 2, 1} { // a token every 5 ms to 1 s
		t.Run(fmt.Sprint(cps), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := twoTrunks(t, cps, nil)
				defer r.tree.Close()
				r.results()
				r.add(8)
				r.act(campaign.ActionStart)
				r.until(time.Minute, "campaign completed", r.completed)
				r.check()
				if c := r.detail().Counters; c.Completed != 8 || c.Attempts != 8 {
					t.Errorf("%+v", c)
				}
				over := 0
				for _, a := range r.attempts() {
					if l := a.Legs[len(a.Legs)-1]; l.Trunk != "second" || l.SIPCode != 200 || a.Trunk != "second" {
						t.Errorf("%s over %s: legs %+v", a.Outcome, a.Trunk, a.Legs)
					}
					if a.SIPCode != 200 || a.Q850 != 0 || a.Friendly != "" || a.RetryAfter != 0 {
						t.Errorf("told as %d, Q.850 %d, %q, retry after %v", a.SIPCode, a.Q850, a.Friendly, a.RetryAfter)
					}
					if l := a.Legs[0]; len(a.Legs) == 2 {
						if over++; l.Trunk != "first" || l.SIPCode != 503 || l.Q850 != 34 || l.SIPReason != "No circuit available" {
							t.Errorf("the first leg is told as %+v", l)
						}
					}
				}
				if over == 0 {
					t.Error("no call went over to the second trunk")
				}
			})
		})
	}
}

// New attempts must not take the tokens that failed-over calls wait for, nor may a broken trunk
// hold up the calls that the other one carries.
func TestCallsThatGoOverLoseNoTokenToNewOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := twoTrunks(t, 4, func(s *campaign.Settings) { s.Concurrency = 60 })
		defer r.tree.Close()
		r.store.View(func() { r.store.BotList[0].Seats = 60 })
		if err := r.tree.BotsChanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.results()
		r.add(120)
		began := time.Now()
		r.act(campaign.ActionStart)
		r.until(5*time.Minute, "campaign completed", r.completed)
		took := time.Since(began)
		r.check()
		if c := r.detail().Counters; c.Completed != 120 {
			t.Errorf("%+v", c)
		}
		for _, a := range r.attempts() {
			if a.Outcome != engine.OutcomeCompleted {
				t.Errorf("%s after %d legs", a.Outcome, len(a.Legs))
			}
		}
		if took > 50*time.Second {
			t.Errorf("120 calls at 4 a second took %v", took)
		}
	})
}

// waiting returns the attempts that are between two trunks.
func (r *rig) waiting() (list []attempt.Attempt) {
	for _, a := range r.attempts() {
		if a.State != attempt.Ended && a.InviteAt == nil && len(a.Legs) == 1 && a.Legs[0].Trunk == "first" &&
			r.world.InvitedTo(a.To) == 1 {
			list = append(list, a)
		}
	}
	return list
}

func TestACallThatWaitsForATrunkIsWithdrawn(t *testing.T) {
	f := func(name string, withdraw func(r *rig, to engine.PhoneNumber), state contact.State, outcome engine.Outcome) {
		decided := outcome == engine.OutcomeCongestion // by the first trunk
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := twoTrunks(t, 1, nil)
				defer r.tree.Close()
				r.add(6)
				r.act(campaign.ActionStart)
				time.Sleep(1500 * time.Millisecond) // virtual
				synctest.Wait()
				before, waiting := r.world.Invited(), r.waiting()
				if len(waiting) < 2 {
					t.Fatalf("%d calls wait for the second trunk", len(waiting))
				}
				for _, a := range waiting {
					withdraw(r, a.To)
				}
				synctest.Wait()
				for _, a := range waiting {
					now := r.attempt(a.ID)
					if now.State != attempt.Ended || now.Outcome != outcome || len(now.Legs) != 1 || (now.Friendly != "") != decided ||
						(now.RetryAfter != 0) != decided {
						t.Errorf("%s, %s, %q, legs %+v", now.State, now.Outcome, now.Friendly, now.Legs)
					}
					if c := r.contactOf(a.To); state != "" && c.State != state {
						t.Errorf("the contact is %s", c.State)
					}
				}
				time.Sleep(15 * time.Second) // virtual
				synctest.Wait()
				for _, a := range waiting {
					if n := r.world.InvitedTo(a.To); n != 1 {
						t.Errorf("%d INVITEs to a number whose call was withdrawn", n)
					}
				}
				if name != "exclusion" && r.world.Invited() != before {
					t.Errorf("%d INVITEs after it", r.world.Invited()-before)
				}
				if s := r.trunkStatus("second"); s.Legs != 0 || s.Health != trunk.Up {
					t.Errorf("%+v", s)
				}
			})
		})
	}
	f("exclusion", func(r *rig, to engine.PhoneNumber) { r.excludeOne(to) }, contact.Excluded, engine.OutcomeExcluded)
	stopped := false
	f("stop", func(r *rig, _ engine.PhoneNumber) {
		if !stopped {
			stopped = true
			r.act(campaign.ActionStop)
		}
	}, "", engine.OutcomeCancelled)
	paused := false
	f("pause", func(r *rig, _ engine.PhoneNumber) {
		if !paused {
			paused = true
			r.act(campaign.ActionPause)
		}
	}, contact.Failed, engine.OutcomeCongestion)
}

// A campaign's bursts, below the calls a second of the first trunk, stay on it; equal trunks share
// them by weight.
func TestABurstStaysOnTheFirstTrunkAndWeightsHoldInIt(t *testing.T) {
	f := func(name string, trunks []engine.TrunkSettings, want func(first, second int) bool) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// Everybody is engaged after a second, so that all lines are free together, five times.
				busy := func(engine.PhoneNumber, int) actortest.Script {
					return actortest.Script{Ring: time.Second, Code: 486}
				}
				r := newRig(t, busy, func(s *campaign.Settings) { s.Concurrency, s.MaxAttempts, s.RetryOnSystem = 40, 1, nil })
				defer r.tree.Close()
				r.store.View(func() { r.store.BotList[0].Seats = 40 })
				if err := r.tree.BotsChanged(t.Context()); err != nil {
					t.Fatal(err)
				}
				r.trunks(trunks)
				time.Sleep(2 * time.Second) // virtual: the buckets are full
				r.add(200)
				r.act(campaign.ActionStart)
				r.until(time.Minute, "campaign completed", r.completed)
				r.check()
				by := map[engine.TrunkID]int{}
				for _, a := range r.attempts() {
					by[a.Trunk]++
				}
				if by["first"]+by["second"] != 200 || !want(by["first"], by["second"]) {
					t.Errorf("%v", by)
				}
			})
		})
	}
	first := engine.TrunkSettings{ID: "first", Active: true, CPSCap: 50, ChannelCap: 500}
	second := first
	second.ID, second.Priority = "second", 1
	f("priority", []engine.TrunkSettings{first, second}, func(_, second int) bool { return second == 0 })
	first.Weight, second.Priority, second.Weight = 3, 0, 1
	f("weight", []engine.TrunkSettings{first, second},
		func(first, _ int) bool { return first > 130 && first < 170 })
}
