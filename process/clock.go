package process

import (
	"time"

	"golang.org/x/sys/unix"

	"dialler/engine"
)

// systemClock implements the machine's clocks.
type systemClock struct{}

// Now is the wall clock with Go's monotonic reading.
func (systemClock) Now() time.Time { return time.Now() }

// Boot is CLOCK_BOOTTIME.
func (systemClock) Boot() engine.BootTime {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0 // never happens on Linux; a send-by time of 0 refuses to dial
	}
	return engine.BootTime(ts.Nano())
}
