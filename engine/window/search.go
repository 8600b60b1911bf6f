package window

import "time"

// horizonDays bounds the search for a window in several zones, which may never be open in all of
// them at once: within a year the clocks of two zones pass through all their differences.
const horizonDays = 370

// NextOpening is t itself if the window is open then, otherwise the first instant after t at which
// it opens. ok is false if it never does.
func (w Window) NextOpening(t time.Time) (at time.Time, ok bool) {
	zones, one := w.contact, [1]string{w.Zone}
	if len(zones) == 0 {
		if len(w.calendars) == 0 {
			return w.nextIn(w.Zone, t)
		}
		zones = one[:]
	}
	limit := t.AddDate(0, 0, w.horizon())
	at = t
	for at.Before(limit) {
		latest := at
		for _, z := range zones {
			next, ok := w.nextIn(z, at)
			if !ok {
				return time.Time{}, false
			}
			if next.After(latest) {
				latest = next
			}
		}
		if latest, ok = w.nextOfCalendars(latest, limit); !ok {
			return time.Time{}, false
		}
		if latest.Equal(at) {
			return at, true
		}
		at = latest // it cannot be open in all of them before that
	}
	return time.Time{}, false
}

// horizon is over how many days an opening in several zones, or with calendars, is looked for.
func (w *Window) horizon() int {
	if len(w.calendars) > 0 {
		return HorizonDays
	}
	return horizonDays + 7*len(w.Holidays)
}

// CanEverOpen says whether the window opens at or after t at all.
func (w Window) CanEverOpen(t time.Time) bool {
	_, ok := w.NextOpening(t)
	return ok
}

// nextIn searches one zone. Between two changes of its clock the wall clock runs evenly, so the
// next start is arithmetic; a change may itself jump into the window and is checked separately.
func (w *Window) nextIn(zone string, t time.Time) (time.Time, bool) {
	loc, ok := location(zone)
	if !ok {
		return time.Time{}, false
	}
	limit := t.AddDate(0, 0, w.searchDays()+2)
	for at := t.In(loc); at.Before(limit); {
		if _, open := w.opening(at); open {
			if at.Equal(t) {
				return t, true
			}
			return at, true
		}
		change := nextChange(at)
		next, found := w.nextStart(at)
		if found && (change.IsZero() || next.Before(change)) {
			return next, true
		}
		if change.IsZero() {
			return time.Time{}, false
		}
		at = change
	}
	return time.Time{}, false
}

// nextStart is the first start of a working day at or after at, on a clock that keeps its present
// offset.
func (w *Window) nextStart(at time.Time) (time.Time, bool) {
	start, _ := w.span()
	day := dateOf(at)
	next := at.Add(start.sinceMidnight() - sinceMidnight(at))
	for range w.searchDays() {
		if !next.Before(at) && w.working(day) {
			return next, true
		}
		day = day.add(1)
		next = next.Add(24 * time.Hour)
	}
	return time.Time{}, false
}

// searchDays is long enough: among any seven days there is a working day, and each holiday can
// remove one of them.
func (w *Window) searchDays() int { return 8 + 7*len(w.Holidays) }

// Closes is the end of the opening that t belongs to: of the day's opening, so that a whole-day
// window closes at midnight even if the next day follows at once. ok is false if the window is not
// open at t. If a clock that is put back interrupts an opening, the result is its final end.
func (w Window) Closes(t time.Time) (at time.Time, ok bool) {
	if at, ok = w.closes(t); !ok || len(w.calendars) == 0 {
		return at, ok
	}
	return w.calendarsClose(t, at)
}

// closes is Closes without the calendars.
func (w *Window) closes(t time.Time) (at time.Time, ok bool) {
	if len(w.contact) == 0 {
		return w.closesIn(w.Zone, t)
	}
	for _, z := range w.contact {
		end, open := w.closesIn(z, t)
		if !open {
			return time.Time{}, false
		}
		if at.IsZero() || end.Before(at) {
			at = end
		}
	}
	return at, true
}

func (w *Window) closesIn(zone string, t time.Time) (time.Time, bool) {
	loc, ok := location(zone)
	if !ok {
		return time.Time{}, false
	}
	local := t.In(loc)
	day, open := w.opening(local)
	if !open {
		return time.Time{}, false
	}
	start, end := w.span()
	last := day
	if end <= start {
		last = day.add(1)
	}
	// With the clock's offset at each moment, the opening is over when the wall shows `end` of its
	// last day; an earlier change of the clock may move that moment, or put the wall back before
	// it.
	var over time.Time
	for at := local; ; {
		reading := at.Add(end.sinceMidnight() - sinceMidnight(at)).Add(24 * time.Hour * time.Duration(last.since(dateOf(at))))
		change := nextChange(at)
		if change.IsZero() || reading.Before(change) {
			if reading.After(at) || over.IsZero() {
				over = reading
			}
			if change.IsZero() || !w.repeats(change, day) {
				return over, true
			}
		} else {
			// The change comes first: it may jump over the end.
			over = change
			if !w.reaches(change, last, end) {
				return over, true
			}
		}
		at = change
	}
}

// repeats says whether a clock put back at the change shows a time of the
// day's opening again.
func (w *Window) repeats(change time.Time, day Date) bool {
	d, open := w.opening(change)
	return open && d == day
}

// reaches says whether the end of the last day is still to come on the wall after the change.
func (w *Window) reaches(change time.Time, last Date, end TimeOfDay) bool {
	left := end.sinceMidnight() - sinceMidnight(change) + 24*time.Hour*time.Duration(last.since(dateOf(change)))
	return left > 0
}

// OpenFor is how long the window stays open from t on, at most `most`; 0 if it is closed.
// Consecutive days are one opening here.
func (w Window) OpenFor(t time.Time, most time.Duration) time.Duration {
	var open time.Duration
	for open < most {
		at := t.Add(open)
		end, ok := w.Closes(at)
		if !ok || !end.After(at) {
			break
		}
		open = end.Sub(t)
	}
	return min(open, most)
}

// nextChange is the next change of the clock after at, zero if there is none. It may return an
// instant at which nothing changes; callers only check that instant more closely. Once a zone's
// table is used up, Time.ZoneBounds assumes 365 days for every year, so that on the last day of a
// leap year the returned end has already passed.
func nextChange(at time.Time) time.Time {
	_, change := at.ZoneBounds()
	if !change.IsZero() && !change.After(at) {
		return at.Add(24 * time.Hour)
	}
	return change
}

// sinceMidnight is the wall clock's time of day as a duration.
func sinceMidnight(local time.Time) time.Duration {
	h, m, s := local.Clock()
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second +
		time.Duration(local.Nanosecond())
}
