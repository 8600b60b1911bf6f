package pacing

import (
	"maps"
	"time"
)

// Hours are counts by the hour, for rates over a moving span, which are shown without a guarantee.
// The zero value is empty.
type Hours struct {
	hours map[int64]Counts // by hours since 1970
	begun int64            // the newest
}

// hoursKept is how many hours are needed: thirty days and the current one.
const hoursKept = 30*24 + 1

// HourOf numbers the hours in UTC.
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

// Clone returns an independent copy.
func (h *Hours) Clone() Hours { return Hours{hours: maps.Clone(h.hours), begun: h.begun} }

// Count adds the present event's counts.
func (h *Hours) Count(now time.Time, c Counts) { h.Put(HourOf(now), c) }

// Over sums the last hours, including the current one: a span of 24 h begins with the full hour 23
// to 24 h ago.
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
