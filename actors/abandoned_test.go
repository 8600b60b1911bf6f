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
)

// abandonedBefore makes calls to numbers that another campaign abandoned earlier.
func (r *rig) abandonedBefore(ago time.Duration, numbers ...engine.PhoneNumber) {
	at := time.Now().Add(-ago)
	r.store.View(func() {
		for i, n := range numbers {
			id := engine.AttemptID(fmt.Sprintf("%032x", 0xabc000+i))
			r.store.PutAttempt(attempt.Attempt{ID: id, Campaign: "cmp_other", To: n, State: attempt.Ended,
				Outcome:    engine.OutcomeAbandoned,
				ReservedAt: &at, EndedAt: &at})
		}
	})
}

func every(k, n int) (list []engine.PhoneNumber) {
	for i := 0; i < n; i += k {
		list = append(list, number(i))
	}
	return list
}

// abandonedNow counts the abandoned calls of the rig's campaign, by whether their number was among
// the given ones.
func (r *rig) abandonedNow(among []engine.PhoneNumber) (those, others int) {
	in := map[engine.PhoneNumber]bool{}
	for _, n := range among {
		in[n] = true
	}
	r.store.View(func() {
		for a := range r.store.AllAttempts() {
			switch {
			case a.Campaign != r.id || a.Outcome != engine.OutcomeAbandoned:
			case in[a.To]:
				those++
			default:
				others++
			}
		}
	})
	return those, others
}

func TestANumberThatWasAbandonedAnywhereIsNotAbandonedAgainWithin72Hours(t *testing.T) {
	for _, mode := range []engine.AMDMode{engine.AMDParallel, engine.AMDSequential} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, actortest.Mix(5, 0.5, 0.1, 30*time.Second),
				func(s *campaign.Settings) { s.AMD = mode; s.MaxAttempts = 2 })
			defer r.tree.Close()
			r.results()
			those := every(2, 700)
			r.abandonedBefore(71*time.Hour, those...)
			r.add(700)
			r.act(campaign.ActionStart)
			r.until(12*time.Hour, "campaign completed", r.completed)
			r.check()
			again, others := r.abandonedNow(those)
			if again > 0 || others == 0 {
				t.Errorf("%s: %d of them abandoned again, %d others", mode, again, others)
			}
		})
	}
}

func TestAfter72HoursAnAbandonedNumberIsLikeAnyOther(t *testing.T) {
	lines := func(ago time.Duration) (most int) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, actortest.Mix(5, 0.5, 0, 30*time.Second), func(s *campaign.Settings) { s.MaxAttempts = 1 })
			defer r.tree.Close()
			r.results()
			r.abandonedBefore(ago, every(1, 500)...)
			r.add(500)
			r.act(campaign.ActionStart)
			for last := 0; !r.completed(); time.Sleep(500 * time.Millisecond) { // virtual
				n := r.world.LiveCalls()
				most, last = max(most, min(n, last)), n // a BYE may be in flight
			}
		})
		return most
	}
	if n := lines(time.Hour); n != 10 {
		t.Errorf("all of them abandoned an hour ago: %d lines at ten seats", n)
	}
	if n := lines(73 * time.Hour); n <= 10 {
		t.Errorf("all of them abandoned long ago: %d lines at ten seats", n)
	}
}

func TestASeatHeldForALineOutlivesACrashOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(20*time.Second, 20*time.Second), func(s *campaign.Settings) { s.RingTimeoutSec = 30 })
		defer r.tree.Close()
		r.results()
		those := every(1, 40)
		r.abandonedBefore(time.Hour, those...)
		r.add(40)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "ten lines ring", func() bool { return r.world.LiveCalls() == 10 })
		for range 3 {
			r.faults.Crash("run", r.id, "")
			time.Sleep(7 * time.Second) // virtual
			if n := r.world.LiveCalls(); n > 10 {
				t.Errorf("%d lines at ten seats", n)
			}
		}
		r.until(time.Hour, "campaign completed", r.completed)
		if again, _ := r.abandonedNow(those); again > 0 {
			t.Errorf("%d abandoned again", again)
		}
		if d := r.detail(); d.Counters.Completed != 40 {
			t.Errorf("%+v", d.Counters)
		}
	})
}

// A contact that needs a seat of its own does not hold up contacts that need none.
func TestWhoWaitsForASeatStandsAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(to engine.PhoneNumber, _ int) actortest.Script {
			return actortest.Script{Ring: 2 * time.Second, Code: 200, Verdict: engine.VerdictHuman, VerdictIn: time.Second,
				BotIn: 20 * time.Millisecond, BotTalk: 30 * time.Second}
		}, nil)
		defer r.tree.Close()
		r.results()
		r.add(600)
		r.act(campaign.ActionStart)
		// Half-way there is credit: then the head of the list needs seats.
		r.until(2*time.Hour, "credit", func() bool { return r.detail().Counters.Completed > 300 })
		rest := []engine.PhoneNumber{}
		r.store.View(func() {
			for c := range r.store.AllContacts() {
				if c.State == contact.Pending && c.Position <= 400 {
					rest = append(rest, c.Number)
				}
			}
		})
		r.abandonedBefore(time.Hour, rest...)
		r.faults.Crash("run", r.id, "") // it reads the list again
		r.until(2*time.Hour, "campaign completed", r.completed)
		if d := r.detail(); d.Counters.Completed+d.Counters.Abandoned != 600 {
			t.Errorf("%+v", d.Counters)
		}
		if again, _ := r.abandonedNow(rest); again > 0 || len(rest) == 0 {
			t.Errorf("%d of %d abandoned again", again, len(rest))
		}
	})
}
