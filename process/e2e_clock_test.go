package process

import (
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/engine"
)

// stepClock is the machine's clocks, with a wall clock that can be stepped.
type stepClock struct{ by atomic.Int64 }

func (c *stepClock) Now() time.Time         { return stepped(time.Now(), time.Duration(c.by.Load())) }
func (c *stepClock) Boot() engine.BootTime  { return systemClock{}.Boot() }
func (c *stepClock) step(by time.Duration)  { c.by.Add(int64(by)) }
func (c *stepClock) show() (hour time.Time) { return c.Now().UTC() }

// stepped is what time.Now returns after the wall clock was stepped by whole seconds: its monotonic
// reading is unchanged. Package time has no way to create one; the test below checks that this
// works.
func stepped(now time.Time, by time.Duration) time.Time {
	raw := (*struct {
		wall uint64 // 1, 33 bits of seconds since 1885, 30 of nanoseconds
		ext  int64  // nanoseconds of the monotonic clock
		loc  *time.Location
	})(unsafe.Pointer(&now))
	raw.wall += uint64(by/time.Second) << 30
	return now
}

func TestASteppedClockChangesTheWallClockAlone(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		now := time.Now()
		if s := stepped(now, by); s.Sub(now) != 0 || !s.Round(0).Equal(now.Round(0).Add(by)) {
			t.Errorf("a step of %v: %v becomes %v, %v later", by, now, s, s.Sub(now))
		}
	}
}

// The whole process, its clock stepped an hour forward into the window, back out
// of it, and forward again.
func TestStepsOfTheClockNeitherDialOutsideTheWindowNorTwice(t *testing.T) {
	t.Parallel()
	clock := &stepClock{}
	w := newWorld(t, tuning{clock: clock}, 1500*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	at := clock.show()
	id := w.campaign(map[string]any{"concurrency": 2, "window": map[string]any{"zone": "UTC",
		"start": at.Add(30 * time.Minute).Format("15:04"), "end": at.Add(90 * time.Minute).Format("15:04")}})
	numbers := make([]string, 7)
	for i := range numbers {
		numbers[i] = newNumber()
	}
	w.addTo(id, numbers...).expect(200)
	w.act(id, "start").expect(200)
	closed := func() bool {
		d := w.detail(id)
		return d.Live != nil && d.Live.Constraint == engine.ConstraintWindow
	}
	eventually(t, "it waits for its window", closed)
	if n := len(model.Ledger().Calls()); n != 0 {
		t.Errorf("%d calls before the window", n)
	}

	clock.step(time.Hour)
	talking := func() (list []bot.Session) {
		for _, one := range w.bot.Sessions() {
			if one.FramesIn > 0 && one.EndedAt.IsZero() {
				list = append(list, one)
			}
		}
		return list
	}
	// Both lines, so that no other call is in progress.
	var during []bot.Session
	eventually(t, "two are called in the window and talk", func() bool { during = talking(); return len(during) == 2 })

	clock.step(-time.Hour)
	eventually(t, "the window is closed again", closed)
	before := len(model.Ledger().Calls())
	if before == 0 || before == len(numbers) {
		t.Fatalf("%d calls by then, of %d contacts", before, len(numbers))
	}
	for _, one := range during {
		s := w.session(one.CallID, "over", func(s bot.Session) bool { return !s.EndedAt.IsZero() })
		if s.EndedBy != bot.EndedByBot || s.EndedAt.Sub(s.StartedAt) < 1400*time.Millisecond {
			t.Errorf("the conversation was cut: %+v", s)
		}
	}
	never(t, model, 2*time.Second, "a call was placed after the clock was set back before the window",
		func(l carrier.Ledger) bool { return len(l.Calls()) > before })
	if !closed() {
		t.Errorf("%+v", w.detail(id).Live)
	}

	clock.step(time.Hour)
	eventually(t, "everybody else is called in the window", func() bool { return w.detail(id).Status == "completed" })
	for i, n := range numbers {
		if calls := model.Ledger().To(engine.PhoneNumber(n)); len(calls) != 1 {
			t.Errorf("contact %d: %d calls", i, len(calls))
		}
	}
	if dup, lap := model.Ledger().DuplicateInvites(), model.Ledger().Overlaps(); len(dup)+len(lap) > 0 {
		t.Errorf("duplicates %v, overlaps %v", dup, lap)
	}
	w.quiet()
}
