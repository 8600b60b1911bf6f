package actors_test

import (
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/campaign"
)

func TestAFaultAnywhereInTheTreeLosesNoCallAndNoLease(t *testing.T) {
	for _, target := range []string{"campaign", "contacts", "pool", "slot/+4930111111", "trunks/trunk-trunk",
		"numbers/number-+4930111111",
		"writer-0", "writer-1", "writer-2", "writer-3", "fleet", "trunks", "numbers", "campaigns", "run"} {
		t.Run(target, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, steady(2*time.Second, 20*time.Second), func(s *campaign.Settings) { s.Numbers = s.Numbers[:1] })
				defer r.tree.Close()
				r.results()
				r.store.View(func() { r.store.TrunkList[0].ChannelCap = 12 })
				if err := r.tree.TrunksChanged(t.Context(), "trunk"); err != nil {
					t.Fatal(err)
				}
				r.add(30)
				r.act(campaign.ActionStart)
				st, faults := r.tree.Stats(), int64(0)
				for _, at := range []time.Duration{50 * time.Millisecond, 1100 * time.Millisecond, 2 * time.Second,
					15 * time.Second, 9 * time.Second} {
					time.Sleep(at) // virtual: reserving, ringing, answered, in conversation, the next ones
					before, channels, numbers := r.world.LiveCalls(), st.Trunks.Leases.Load(), st.Numbers.Leases.Load()
					byes := r.world.HungUp()
					r.faults.Crash(target, r.id, "")
					synctest.Wait()
					if faults++; st.Actors.Restarts.Load() != faults {
						t.Fatalf("%d faults counted, want %d", st.Actors.Restarts.Load(), faults)
					}
					if r.world.LiveCalls() < before || r.world.HungUp() != byes || st.Trunks.Leases.Load() < channels ||
						st.Numbers.Leases.Load() < numbers {
						t.Errorf(
							"%d of %d calls, %d of %d channels, %d of %d numbers",
							r.world.LiveCalls(),
							before,
							st.Trunks.Leases.Load(),
							channels,
							st.Numbers.Leases.Load(),
							numbers,
						)
					}
					// Nothing that is still in use is granted twice.
					if held := st.Trunks.Leases.Load(); held > 12 {
						t.Errorf("%d channels of 12", held)
					}
				}
				r.until(time.Hour, "campaign completed", r.completed)
				r.check()
				if n := r.detail().Counters; n.Completed != 30 || n.Attempts != 30 || r.world.Invited() != 30 ||
					r.world.PeakBots > 10 {
					t.Errorf("%d INVITEs, at most %d conversations, %+v", r.world.Invited(), r.world.PeakBots, n)
				}
			})
		})
	}
}

// A trunk that forgot its grants would grant its channels a second time.
func TestTheCapsOfATrunkAndANumberHoldAcrossTheirFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 60*time.Second), func(s *campaign.Settings) { s.Numbers = s.Numbers[:1] })
		defer r.tree.Close()
		r.results()
		r.store.View(func() {
			r.store.TrunkList[0].ChannelCap = 4
			r.store.Nums = []engine.NumberSettings{{Number: "+4930111111", State: "active", ConcurrentCap: 3, DayCap: 8}}
		})
		if err := r.tree.TrunksChanged(t.Context(), "trunk"); err != nil {
			t.Fatal(err)
		}
		r.tree.NumberChanged(r.store.Nums[0])
		r.add(30)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "three talk", func() bool { return r.detail().Live.InProgress == 3 })
		for range 3 {
			r.faults.Crash("trunks/trunk-trunk", "", "")
			r.faults.Crash("numbers/number-+4930111111", "", "")
			time.Sleep(5 * time.Second) // virtual
			if n := r.world.LiveCalls(); n > 3 {
				t.Fatalf("%d calls from a number that may have three", n)
			}
		}
		time.Sleep(time.Hour) // virtual
		if n := r.world.Invited(); n != 8 {
			t.Errorf("%d dials from a number that may have 8 a day", n)
		}
		r.act(campaign.ActionStop)
		time.Sleep(time.Minute) // virtual
		r.check()
	})
}

// Poison: a fault that recurs whenever the actor starts.
func TestAContactThatFaultsAgainAndAgainWaitsEverLongerAndItsSiblingsNoticeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 20*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.add(30)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "ten talk, and no write is under way, which an actor would wait for", func() bool {
			return r.detail().Live.InProgress == 10 && r.tree.Stats().Writers.Waiting.Load() == 0
		})
		sick := r.contactOf(number(0)).ID
		for range 60 {
			r.faults.Crash("contact", r.id, sick)
		}
		synctest.Wait()
		st := r.tree.Stats()
		if n := st.Actors.Restarts.Load(); n != 21 || st.Actors.Failing.Load() != 1 {
			t.Fatalf("%d faults at once, %d actors wait", n, st.Actors.Failing.Load())
		}
		r.until(5*time.Minute, "everybody else is served", func() bool { return r.detail().Counters.Completed >= 29 })
		if n := st.Actors.Restarts.Load(); n > 40 {
			t.Errorf("%d faults within minutes", n)
		}
		r.until(time.Hour, "it has calmed down, and the campaign is completed", r.completed)
		if st.Actors.Failing.Load() != 0 || st.Actors.Restarts.Load() != 60 {
			t.Errorf("%d wait after %d faults", st.Actors.Failing.Load(), st.Actors.Restarts.Load())
		}
		r.check()
		if n := r.detail().Counters; n.Attempts != 30 || r.world.Invited() != 30 {
			t.Errorf("%d INVITEs, %+v", r.world.Invited(), n)
		}
	})
}

// A run that cannot start: its calls go on, and other campaigns are not affected.
func TestARunThatFaultsAgainAndAgainHangsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 90*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.add(20)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "ten talk", func() bool { return r.detail().Live.InProgress == 10 })
		byes := r.world.HungUp()
		for range 25 {
			r.faults.Crash("run", r.id, "")
		}
		time.Sleep(20 * time.Second) // virtual
		st := r.tree.Stats()
		if st.Actors.Failing.Load() != 1 || r.world.LiveCalls() < 10 || r.world.HungUp() != byes {
			t.Errorf(
				"%d wait, %d calls live, %d BYEs",
				st.Actors.Failing.Load(),
				r.world.LiveCalls(),
				r.world.HungUp()-byes,
			)
		}
		if err := r.tree.Alive(); err != nil {
			t.Errorf("the tree: %v", err)
		}
		if _, err := r.tree.Detail(t.Context(), r.id); engine.ErrorCode(err) != "timeout" {
			t.Errorf("the campaign answers %v", err)
		}
		time.Sleep(time.Minute) // virtual: its last restart
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		if n := r.detail().Counters; n.Completed != 20 || n.Attempts != 20 {
			t.Errorf("%+v", n)
		}
	})
}

// The actor that should have returned a channel faulted on that message: the channel is not lost.
func TestALeaseThatNobodyGaveBackIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(engine.PhoneNumber, int) actortest.Script {
			return actortest.Script{Ring: 20 * time.Second, Code: 486}
		},
			func(s *campaign.Settings) { s.MaxAttempts = 1; s.RingTimeoutSec = 30 })
		defer r.tree.Close()
		r.add(5)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "five ring", func() bool { return r.detail().Live.Ringing == 5 })
		r.faults.OnRelease("trunks/trunk-trunk", "numbers/number-+4930111111", "numbers/number-+4930111112")
		r.until(time.Minute, "campaign completed", r.completed)
		st := r.tree.Stats()
		if st.Trunks.Leases.Load() != 5 || st.Numbers.Leases.Load() != 5 {
			t.Fatalf(
				"%d channels, %d numbers held: nothing was lost",
				st.Trunks.Leases.Load(),
				st.Numbers.Leases.Load(),
			)
		}
		r.until(
			15*time.Minute,
			"they are back",
			func() bool { return st.Trunks.Leases.Load() == 0 && st.Numbers.Leases.Load() == 0 },
		)
		r.check()
	})
}
