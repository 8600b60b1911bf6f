package window

import "time"

// StepLeast is how far the wall clock must deviate from the boot-time clock between two readings to
// count as stepped (SEMANTICS §8). Smaller deviations come from time synchronisation, or from a
// machine that was late.
const StepLeast = 2 * time.Second

// Reading is a reading of both clocks at one moment.
type Reading struct {
	Wall time.Time
	Boot time.Duration // since the machine was started, including sleep
}

// Stepped is how far the wall clock was stepped since an earlier reading, forward or (negative)
// back; 0 if it was not, or if there is no earlier reading.
func (r Reading) Stepped(earlier Reading) time.Duration {
	if earlier.Wall.IsZero() {
		return 0
	}
	// Without the monotonic reading, in which no step shows.
	d := r.Wall.Round(0).Sub(earlier.Wall.Round(0)) - (r.Boot - earlier.Boot)
	if d.Abs() <= StepLeast {
		return 0
	}
	return d
}
