package pacing

import (
	"maps"
	"time"
)

// Hours are counts by the hour, for rates over a span that moves with the clock:
// those are shown, and guaranteed by nobody. The zero value is empty.
type Hours struct {
	hours map[int64]Counts // by hours since 1970
	begun int64            // the newest
}

// hoursKept is how many hours are of use: thirty days and the one under way.
const hoursKept = 30*24 + 1

// HourOf numbers the hours of UTC.
func HourOf(at time.Time) int64 { return at.Unix() / 3600 }

// Put adds the counts of an hour that was counted elsewhere.
func (h *Hours) Put(hour int64, c Counts) {
	if h.hours == nil {
		h.hours = make(map[int64]Counts)
	}
	sum := h.hours[hour]
	sum.Add(c)
	h.hours[hour] = sum
	if hour > h.begun {
		h.begun = hour
		for old := range h.hours {
			if old <= hour-hoursKept {
				delete(h.hours, old)
			}
		}
	}
}

// Clone is a copy that goes on by itself.
func (h *Hours) Clone() Hours { return Hours{hours: maps.Clone(h.hours), begun: h.begun} }

// Count adds what happened now.
func (h *Hours) Count(now time.Time, c Counts) { h.Put(HourOf(now), c) }

// Over sums the last hours, the one under way among them: a span of 24 h begins
// with the full hour 23 to 24 h ago.
func (h *Hours) Over(now time.Time, span time.Duration) (sum Counts) {
	last := HourOf(now)
	first := last - int64(span/time.Hour) + 1
	for hour, c := range h.hours {
		if hour >= first && hour <= last {
			sum.Add(c)
		}
	}
	return sum
}

// Parts implements snapshot.Parts.
func (h *Hours) Parts() []any { return []any{&h.hours, &h.begun} }
