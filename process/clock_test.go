package process

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"dialler/engine"
)

func TestTheBootClockIsThatOfTheMachineAndNeverGoesBack(t *testing.T) {
	read := func() engine.BootTime {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
			t.Fatal(err)
		}
		return engine.BootTime(ts.Nano())
	}
	var last engine.BootTime
	for range 100_000 {
		before := read()
		boot := systemClock{}.Boot()
		if boot < last || boot < before-engine.BootTime(time.Microsecond) {
			t.Fatalf("%d after %d, the machine says %d", boot, last, before)
		}
		last = boot
	}
}

// A suspended machine's monotonic clock stands still; its wall clock is set when it wakes.
func TestTheBootClockIsReadAnewOnceTheMachineWasSuspended(t *testing.T) {
	now := time.Now()
	r := &bootReading{boot: 1000, mono: now, wall: now.UnixNano()}
	for _, c := range []struct {
		since, off time.Duration
		ok         bool
	}{
		{0, 0, true},
		{999 * time.Millisecond, 400 * time.Microsecond, true}, // slewed
		{time.Second, 0, false},
		{-time.Nanosecond, 0, false},
		{10 * time.Millisecond, 2 * time.Millisecond, false}, // suspended for 2 ms
		{10 * time.Millisecond, 8 * time.Hour, false},
		{10 * time.Millisecond, -time.Minute, false}, // the wall clock was put back
	} {
		boot, ok := r.at(now.Add(c.since), now.Add(c.since).UnixNano()+int64(c.off))
		if ok != c.ok || ok && boot != 1000+engine.BootTime(c.since) {
			t.Errorf("%v later, off by %v: %d %v", c.since, c.off, boot, ok)
		}
	}
	if _, ok := (*bootReading)(nil).at(now, 0); ok {
		t.Error("nothing was read, and goes on")
	}
}

func BenchmarkBootClock(b *testing.B) {
	for b.Loop() {
		_ = systemClock{}.Boot()
	}
}
