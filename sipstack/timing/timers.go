package timing

import (
	"math/rand/v2"
	"time"

	"dialler/engine"

	"golang.org/x/sys/unix"
)

// Timers are the timer values of RFC 3261 §17 and table 4; zero fields take
// the default. Timers B, D, F and J are 64*T1.
type Timers struct {
	T1 time.Duration // round-trip estimate, default 500 ms
	T2 time.Duration // longest interval between retransmissions, default 4 s
	// Keep is how long a leg whose end was reported but not forgotten can still be attached to;
	// default 10 min.
	Keep time.Duration
	// Flow is the interval of pings on connections that we opened; default 95 s
	// (RFC 5626 §4.4.1: 80% of two minutes).
	Flow time.Duration
	// RegisterRetry is the first pause after a failed registration; it doubles up to 4 times as
	// much while the registrar is unreachable, and up to 60 times as much while it refuses. Default
	// 30 s (RFC 5626 §4.5).
	RegisterRetry time.Duration
	// OptionsRetry is the longest pause after OPTIONS that were not answered; default 30 s.
	OptionsRetry time.Duration
	// InviteSilence is how long an INVITE may stay without any response before its trunk is asked by
	// OPTIONS, OptionsWait how long these may then stay without one; default 3 s and 4 s. Retransmissions
	// are lost now and then; seven seconds of them are not.
	InviteSilence, OptionsWait time.Duration
}

func (t *Timers) SetDefaults() {
	if t.T1 <= 0 {
		t.T1 = 500 * time.Millisecond
	}
	if t.T2 <= 0 {
		t.T2 = 4 * time.Second
	}
	if t.Keep <= 0 {
		t.Keep = 10 * time.Minute
	}
	if t.Flow <= 0 {
		t.Flow = 95 * time.Second
	}
	if t.RegisterRetry <= 0 {
		t.RegisterRetry = 30 * time.Second
	}
	if t.OptionsRetry <= 0 {
		t.OptionsRetry = 30 * time.Second
	}
	if t.InviteSilence <= 0 {
		t.InviteSilence = 3 * time.Second
	}
	if t.OptionsWait <= 0 {
		t.OptionsWait = 4 * time.Second
	}
}

// Transaction is the time after which a transaction times out (timers B, D, F, H and J for an
// unreliable transport).
func (t *Timers) Transaction() time.Duration { return 64 * t.T1 }

// BootNow reads CLOCK_BOOTTIME, the clock of send-by times.
func BootNow() engine.BootTime {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		// When the time is unknown, no INVITE must be sent.
		return engine.BootTime(1<<63 - 1)
	}
	return engine.BootTime(ts.Nano())
}

// Earliest is the smaller of two times, where 0 means none.
func Earliest(a, b time.Duration) time.Duration {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

// Glare is how long the owner of the Call-ID waits after a 491: 2.1 to 4 s in
// steps of 10 ms (RFC 3261 §14.1) with the default T1, in proportion otherwise.
func (t *Timers) Glare() time.Duration {
	return time.Duration(210+rand.IntN(191)) * t.T1 / 50 //nolint:gosec // not secret
}

// Clock is the monotonic clock for deadlines: the time since shortly before its start.
type Clock struct{ start time.Time }

// StartClock returns a clock that started a second ago, so that 0 can mean "never".
func StartClock() Clock { return Clock{time.Now().Add(-time.Second)} }

func (c Clock) Now() time.Duration { return time.Since(c.start) }

// At converts a reading to a time of day.
func (c Clock) At(d time.Duration) time.Time { return c.start.Add(d) }
