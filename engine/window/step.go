package window

import "time"

// StepLeast is how far the wall clock must leave the boot-time clock between two
// looks to have been stepped (SEMANTICS §8). Less is the work of whoever keeps
// the clock right, or of a machine that was late.
const StepLeast = 2 * time.Second

// Reading is what both clocks said at one moment.
type Reading struct {
	Wall time.Time
	Boot time.Duration // since the machine was started, its sleep included
}

// Stepped is how far the wall clock was stepped since an earlier reading,
// forward or (negative) back; 0 when it was not, or nothing was read before.
func (r Reading) Stepped(earlier Reading) time.Duration {
	if earlier.Wall.IsZero() {
		return 0
	}
	// Without the monotonic reading, which no step shows in.
	d := r.Wall.Round(0).Sub(earlier.Wall.Round(0)) - (r.Boot - earlier.Boot)
	if d.Abs() <= StepLeast {
		return 0
	}
	return d
}
