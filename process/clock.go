package process

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"dialler/engine"
)

// systemClock implements the machine's clocks.
type systemClock struct{}

// Now is the wall clock with Go's monotonic reading.
func (systemClock) Now() time.Time { return time.Now() }

// Boot is CLOCK_BOOTTIME. It is asked for at every message, and costs a system call, which the
// monotonic clock does not. The two differ by the time for which the machine has been suspended; the kernel adds that
// to the wall clock too, at the same instant. So while the wall clock goes as the monotonic one does, so does this one.
func (systemClock) Boot() engine.BootTime {
	now := time.Now()
	last := lastBoot.Load()
	if boot, ok := last.at(now, now.UnixNano()); ok {
		return boot
	}
	return readBoot(last)
}

const (
	// bootFor is how long a reading of the clock is gone on from.
	bootFor = time.Second
	// bootDrift is by how much the wall clock may be off meanwhile: it is slewed by 0.05 % at most.
	bootDrift = time.Millisecond
)

// bootReading is a reading of CLOCK_BOOTTIME and of the clocks an instant before.
type bootReading struct {
	boot engine.BootTime
	mono time.Time
	wall int64
}

var lastBoot atomic.Pointer[bootReading]

// at goes on from the reading; ok is false when it must be read anew.
func (r *bootReading) at(now time.Time, wall int64) (boot engine.BootTime, ok bool) {
	if r == nil {
		return 0, false
	}
	since := now.Sub(r.mono)
	off := time.Duration(wall-r.wall) - since
	return r.boot.Add(since), since >= 0 && since < bootFor && -bootDrift < off && off < bootDrift
}

// readBoot reads the clock, and keeps what it says. Whoever is interrupted in between gets a time that is ahead, never
// behind: intents then expire too early, not too late. It does not go back.
func readBoot(last *bootReading) engine.BootTime {
	now := time.Now()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0 // never happens on Linux; a send-by time of 0 refuses to dial
	}
	r := &bootReading{boot: engine.BootTime(ts.Nano()), mono: now, wall: now.UnixNano()}
	if last != nil {
		r.boot = max(r.boot, last.boot.Add(now.Sub(last.mono)))
	}
	lastBoot.CompareAndSwap(last, r)
	return r.boot
}
