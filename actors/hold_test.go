package actors_test

import (
	"context"
	"slices"
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

// retryLost retries lost calls ten seconds later.
func retryLost(callLimit int) func(*campaign.Settings) {
	return func(s *campaign.Settings) {
		s.CallLimitSec, s.RetryDelaySec, s.RetryOnSystem = callLimit, 10, []engine.Outcome{engine.OutcomeLost}
	}
}

// answerer is the far side of all calls, on any node: its own clock says when each call begins and
// ends unless something ends it.
type answerer struct {
	mu       sync.Mutex
	calls    map[engine.PhoneNumber][]time.Time // when each begins and ends, one after the other
	overlaps int
}

// script lets each phone ring and be answered, and its call last until its own end.
func (x *answerer) script(ring, talk time.Duration) func(engine.PhoneNumber, int) actortest.Script {
	return func(to engine.PhoneNumber, nth int) actortest.Script {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.calls == nil {
			x.calls = map[engine.PhoneNumber][]time.Time{}
		}
		now, of := time.Now(), x.calls[to]
		if len(of) > 0 && now.Before(of[len(of)-1]) {
			x.overlaps++
		}
		x.calls[to] = append(of, now, now.Add(ring+talk))
		s := steady(ring, talk)(to, nth)
		s.Talk = talk
		return s
	}
}

// again returns how long after the beginning of its first call each number was called again.
func (x *answerer) again() (after []time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, of := range x.calls {
		if len(of) > 2 {
			after = append(after, of[2].Sub(of[0]))
		}
	}
	slices.Sort(after)
	return after
}

// endsOfLegs returns what proved the ends of the legs of lost calls.
func (r *rig) endsOfLegs() (proofs []engine.Proof) {
	r.store.View(func() {
		for _, e := range r.store.AllEvents() {
			if e.Type == journal.LegClosed {
				proofs = append(proofs, e.Data.Proof)
			}
		}
	})
	return proofs
}

// A node is cut off while its phones ring, or while people talk: no remaining node can end those
// calls, and nothing that is heard of them proves their end. They outlast every wait of ours, and
// yet nobody is called a second time meanwhile, neither by the campaign, which retries lost calls,
// nor by a dialout.
func TestACallThatOutlivesItsNodeIsNotOverlapped(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  time.Duration // behind the INVITE
	}{{"ringing", 3 * time.Second}, {"talking", 20 * time.Second}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var far answerer
				r := newFarRig(t, far.script(10*time.Second, 120*time.Second), retryLost(180))
				defer func() { r.tree.Close() }()
				r.outgoing()
				r.bots(engine.Bot{ID: "bot", Active: true, Seats: 20, Endpoints: []string{"ws://bot"}})
				r.near.View(func() { r.near.Unproven, r.near.RecoverTakes = true, 5*time.Second })
				r.add(10)
				r.act(campaign.ActionStart)
				r.until(time.Minute, "all are called", func() bool { return r.world.LiveCalls() == 10 })
				time.Sleep(c.cut) // virtual
				r.nodes.leave(2)
				r.nodes.place(r.nodes.lives)
				time.Sleep(6 * time.Second) // virtual: until the node counts as gone
				r.gone(2)
				r.until(time.Minute, "the legs are watched no more", func() bool {
					return len(r.endsOfLegs()) == 10
				})
				if p := slices.Compact(slices.Sorted(slices.Values(r.endsOfLegs()))); len(p) != 1 || p[0] != engine.Unproven {
					t.Errorf("the ends of the legs are proven by %q", p)
				}
				_, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(0)})
				if engine.ErrorCode(err) != engine.CodeNumberHeld {
					t.Errorf("a dialout to a number whose call may live: %v", err)
				}
				r.until(time.Hour, "completed", r.completed)
				if far.overlaps > 0 {
					t.Errorf("%d calls overlap another one to the same number", far.overlaps)
				}
				// Send-by time, ring timeout, last answer, call limit, a minute.
				bound := 10*time.Second + 15*time.Second + 32*time.Second + 180*time.Second + time.Minute
				if after := far.again(); len(after) != 10 || after[0] < bound-time.Second || after[9] > bound+time.Minute {
					t.Errorf("called again after %v, want %v", after, bound)
				}
				r.store.View(func() {
					if n := len(r.store.Holds); n > 0 {
						t.Errorf("%d numbers are held", n)
					}
				})
			})
		})
	}
}

// Proof of the end frees the number at once.
func TestALostCallWhoseEndIsProvenHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFarRig(t, steady(10*time.Second, 30*time.Second), retryLost(900))
		defer func() { r.tree.Close() }()
		r.results()
		r.add(1)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "it is called", func() bool { return r.world.LiveCalls() == 1 })
		r.nodes.leave(2)
		r.nodes.place(r.nodes.lives)
		r.gone(2) // its BYE is answered
		r.until(time.Minute, "it is called again", func() bool { return len(r.attempts()) == 2 })
		if p := r.endsOfLegs(); !slices.Equal(p, []engine.Proof{engine.ProofBye}) {
			t.Errorf("the end of the leg is proven by %q", p)
		}
	})
}

// The bound is the intent's, and holds over later lives of the process: even if the call limit is
// shorter by now, calls that began before may last as long as they were allowed.
func TestAHoldOutlivesRestartsAndEditsOfTheCallLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var far answerer
		r := newRig(t, far.script(5*time.Second, 500*time.Second), retryLost(600))
		defer func() { r.tree.Close() }()
		r.add(3)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "three talk", func() bool { return r.detail().Live.InProgress == 3 })
		r.store.View(func() { // as if by another node
			c := r.store.CampaignRow(r.id)
			c.Settings.CallLimitSec = 10
		})
		for range 3 {
			r.kill()
			r.world.Unproven, r.world.RecoverTakes = true, 30*time.Second
			r.start()
			time.Sleep(10 * time.Second) // virtual: the legs are still watched
		}
		r.until(time.Hour, "completed", r.completed)
		if far.overlaps > 0 {
			t.Errorf("%d calls overlap another one to the same number", far.overlaps)
		}
		if after := far.again(); len(after) != 3 || after[0] < 700*time.Second {
			t.Errorf("called again after %v", after)
		}
	})
}

// A call that this process ends is over when the far side confirms: after an unanswered BYE the
// number stays held.
func TestABYEThatNobodyAnswersLeavesTheNumberHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
		defer r.tree.Close()
		r.outgoing()
		r.world.MuteBYE = true
		rep, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1)})
		if err != nil {
			t.Fatal(err)
		}
		var at attempt.Attempt
		r.until(time.Minute, "it is over",
			func() bool { at, err = r.tree.Call(context.Background(), rep.CallID); return err == nil && !at.Live() })
		dial := func() error {
			_, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1)})
			return err
		}
		time.Sleep(10 * time.Minute) // virtual
		if err := dial(); engine.ErrorCode(err) != engine.CodeNumberHeld {
			t.Errorf("ten minutes later: %v", err)
		}
		time.Sleep(time.Hour) // virtual
		if err := dial(); err != nil {
			t.Errorf("behind the bound: %v", err)
		}
	})
}
