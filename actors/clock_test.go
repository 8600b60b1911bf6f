package actors_test

import (
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/window"
)

// stepClock sets the wall clock forward or back.
func (r *rig) stepClock(d time.Duration) {
	r.t.Helper()
	now := stepped(time.Now(), 0)
	if s := stepped(time.Now(), d); s.Sub(now) != 0 || !s.Round(0).Equal(time.Now().Add(d)) {
		r.t.Fatalf("a step of %s moves the wall clock to %s and the monotonic one by %s", d, s, s.Sub(now))
	}
	r.step.Add(int64(d))
}

// stepped returns what time.Now would outside a bubble after the wall clock was stepped: a wall
// time plus a monotonic reading that no step changes. Package time cannot construct one; stepClock
// checks that this does.
func stepped(t time.Time, d time.Duration) time.Time {
	raw := struct { // the layout of package time
		wall uint64 // 1, 33 bits of seconds since 1885, 30 of nanoseconds
		ext  int64  // nanoseconds of the monotonic clock
		loc  *time.Location
	}{ext: t.UnixNano(), loc: time.UTC}
	wall := t.Add(d)
	since1885 := wall.Unix() - time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	raw.wall = 1<<63 | uint64(since1885)<<30 | uint64(wall.Nanosecond())
	return *(*time.Time)(unsafe.Pointer(&raw))
}

func TestAStepOfTheWallClockOpensAndClosesTheWindowAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which begins at midnight
		r := newRig(t, steady(2*time.Second, 20*time.Second), func(s *campaign.Settings) {
			s.Window = window.Window{Zone: "UTC", Start: 9 * 60, End: 17 * 60}
			s.Concurrency, s.AbandonCapPPM = 1, 0
		})
		defer r.tree.Close()
		r.results()
		r.add(60)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "outside the window",
			func() bool { return r.detail().Live.Constraint == engine.ConstraintWindow })
		r.stepClock(10 * time.Hour)
		r.until(5*time.Second, "dialled by the clock that was set forward", func() bool { return r.world.Invited() > 0 })
		r.stepClock(-10 * time.Hour)
		time.Sleep(2 * time.Second) // virtual: the callee stays on the line
		n := r.world.Invited()
		time.Sleep(time.Hour) // virtual
		if got := r.world.Invited(); got != n || r.detail().Live.Constraint != engine.ConstraintWindow {
			t.Errorf("%d dials after the clock was set back before the window, %s", got-n, r.detail().Live.Constraint)
		}
		r.stepClock(9 * time.Hour)
		r.until(2*time.Hour, "campaign completed", r.completed)
		r.check()
	})
}

func TestAStepOfTheWallClockChangesWhoIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := func(engine.PhoneNumber, int) actortest.Script { return actortest.Script{Ring: time.Second, Code: 486} }
		r := newRig(t, busy, func(s *campaign.Settings) { s.MaxAttempts, s.RetryDelaySec = 3, 6*3600 })
		defer r.tree.Close()
		r.add(5)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "the first attempts are over", func() bool {
			return r.world.Invited() == 5 && r.world.LiveCalls() == 0
		})
		time.Sleep(time.Minute) // virtual
		r.stepClock(6 * time.Hour)
		r.until(6*time.Second, "the retries are due by the clock that was set forward",
			func() bool { return r.world.Invited() == 10 })
		time.Sleep(time.Minute) // virtual
		// After a step back, they are due when the clock shows their time again.
		r.stepClock(-3 * time.Hour)
		time.Sleep(8 * time.Hour) // virtual
		if n := r.world.Invited(); n != 10 {
			t.Errorf("%d dials before their time by the clock", n-10)
		}
		r.until(2*time.Hour, "campaign completed", r.completed)
		if n := r.world.Invited(); n != 15 {
			t.Errorf("%d dials", n)
		}
	})
}

// Contacts in memory were due when they were read; after a step back they no longer are.
func TestAStepBackTakesContactsThatAreNotDueYetOutOfTheLookAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 60*time.Second), func(s *campaign.Settings) {
			s.Concurrency, s.AbandonCapPPM, s.AlwaysOn = 1, 0, true
		})
		defer r.tree.Close()
		r.results()
		r.add(30)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "one is on the line, the others wait in memory", func() bool {
			return r.detail().Live.InProgress == 1
		})
		r.stepClock(-5 * time.Hour) // before they were added
		time.Sleep(2 * time.Second) // virtual
		n := r.world.Invited()
		time.Sleep(4 * time.Hour) // virtual
		if got := r.world.Invited(); got != n {
			t.Errorf("%d of them were dialled", got-n)
		}
		r.until(2*time.Hour, "dialled in their time", func() bool { return r.world.Invited() > n })
	})
}
