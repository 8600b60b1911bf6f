package actors_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/campaign"
)

// newBusyRig is a rig with enough dials for seconds: thirty a second, and workers for all of them.
func newBusyRig(t *testing.T, script func(engine.PhoneNumber, int) actortest.Script) *rig {
	t.Helper()
	r := newRig(t, script, func(s *campaign.Settings) { s.Concurrency, s.MaxAttempts = 100, 1 })
	r.store.View(func() {
		r.store.BotList[0].Seats = 100
		r.store.TrunkList[0].CPSCap = 30
	})
	r.tree.Close()
	r.start()
	r.results()
	r.add(100)
	r.act(campaign.ActionStart)
	return r
}

// brakes holds something back until the campaign reports overload, and checks that nothing more is
// admitted meanwhile; then all contacts are dialled.
func (r *rig) brakes(held, let func()) {
	r.t.Helper()
	attempts := func() int64 { return r.tree.Stats().Calls.Attempts.Load() }
	r.until(time.Minute, "some are dialled", func() bool { return attempts() >= 15 })
	held()
	r.until(
		5*time.Second,
		"the campaign says overload",
		func() bool { return r.detail().Live.Constraint == engine.ConstraintOverload },
	)
	before := attempts()
	for range 5 {
		time.Sleep(100 * time.Millisecond) // virtual
		synctest.Wait()
		if l := r.detail().Live; l.Constraint != engine.ConstraintOverload || l.Explanation == "" {
			r.t.Errorf("meanwhile it says %q (%s)", l.Constraint, l.Explanation)
		}
	}
	if n := attempts() - before; n != 0 {
		r.t.Errorf("%d dials were admitted meanwhile", n)
	}
	let()
	r.until(30*time.Second, "all are dialled", func() bool { return attempts() == 100 })
	r.until(
		4*time.Second,
		"it is told no more",
		func() bool { return r.detail().Live.Constraint != engine.ConstraintOverload },
	)
	r.until(time.Hour, "campaign completed", r.completed)
}

func TestNoDialIsAdmittedWhileCommitsAreLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBusyRig(t, steady(2*time.Second, 20*time.Second))
		defer func() { r.tree.Close() }()
		delay := func(d time.Duration) { r.store.View(func() { r.store.Delay = d }) }
		r.brakes(func() { delay(2 * time.Second) }, func() { delay(2 * time.Millisecond) })
		r.check()
		if n := r.detail().Counters; n.Completed != 100 || n.Attempts != 100 {
			t.Errorf("%+v", n)
		}
	})
}

func TestNoDialIsAdmittedWhileTheBotsSocketsAreLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		r := newBusyRig(t, func(to engine.PhoneNumber, nth int) actortest.Script {
			s := steady(200*time.Millisecond, 20*time.Second)(to, nth)
			if slow.Load() {
				s.BotIn = 1700 * time.Millisecond
			}
			return s
		})
		defer func() { r.tree.Close() }()
		r.brakes(func() { slow.Store(true) }, func() { slow.Store(false) })
		r.check()
		if n := r.detail().Counters; n.Completed != 100 || n.Abandoned != 0 {
			t.Errorf("%+v", n)
		}
	})
}

// One call in ten meets an endpoint that accepts its connection and then says nothing.
func TestASocketThatHangsBesideOthersHoldsNoDialBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		r := newBusyRig(t, func(to engine.PhoneNumber, nth int) actortest.Script {
			s := steady(200*time.Millisecond, 20*time.Second)(to, nth)
			if n.Add(1)%10 == 0 {
				s.BotIn = -1
			}
			return s
		})
		defer func() { r.tree.Close() }()
		r.until(time.Minute, "all are dialled", func() bool {
			if l := r.detail().Live; l.Constraint == engine.ConstraintOverload {
				t.Fatal(l.Explanation)
			}
			return r.tree.Stats().Calls.Attempts.Load() == 100
		})
	})
}
