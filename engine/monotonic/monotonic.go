// Package monotonic makes times that have both a wall clock and a monotonic reading, as
// time.Now returns them. A recording of a run needs them: durations that the run works out
// follow the monotonic clock, which a step of the wall clock does not change.
//
// Package time has no way to make one, so its layout is written here, and compared with
// package time at each start: with another layout, times have no monotonic reading.
package monotonic

import (
	"time"
	"unsafe"
)

// layout is that of time.Time with a monotonic reading.
type layout struct {
	wall uint64 // 1, 33 bits of seconds since 1885, 30 of nanoseconds
	ext  int64  // nanoseconds of the monotonic clock
	loc  *time.Location
}

const (
	monotonicBit = 1 << 63
	firstYear    = 1885
	// ahead keeps readings positive, as those of the runtime are.
	ahead = time.Hour
)

// first is the beginning of firstYear, in seconds of the Unix epoch.
var first = time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC).Unix()

// known says that package time has the layout.
var known = unsafe.Sizeof(layout{}) == unsafe.Sizeof(time.Time{}) && same()

// same compares a time that is made here with what package time says of it.
func same() bool {
	at := time.Date(2030, 5, 6, 7, 8, 9, 123456789, time.UTC)
	a, b := join(at, 3*time.Second), join(at.Add(time.Hour), 5*time.Second+1)
	return a.Round(0) == at && b.Sub(a) == 2*time.Second+1 && b.Round(0).Sub(a.Round(0)) == time.Hour &&
		a.Add(time.Minute).Sub(a) == time.Minute
}

// Join returns a time with a wall clock, in its zone, and a monotonic reading, counted from any
// moment. A wall clock before 1885 or after 2157 has none.
func Join(wall time.Time, reading time.Duration) time.Time {
	if sec := wall.Unix() - first; !known || sec < 0 || sec >= 1<<33 {
		return wall
	}
	return join(wall, reading)
}

func join(wall time.Time, reading time.Duration) time.Time {
	t := wall.Round(0)
	raw := (*layout)(unsafe.Pointer(&t))                       //nolint:gosec // compared with package time: known
	sec := uint64(t.Unix() - first)                            //nolint:gosec // not negative: Join
	raw.wall = monotonicBit | sec<<30 | uint64(t.Nanosecond()) //nolint:gosec // not negative
	raw.ext = int64(ahead + reading)
	return t
}
