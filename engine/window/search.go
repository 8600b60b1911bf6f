package window

import "time"

// horizonDays bounds the search of a window in several zones, which may never
// be open in all of them at once: the clocks of two zones stand in every
// relation they ever have within a year.
const horizonDays = 370

// NextOpening gives t itself when the window is open then, else the first
// instant after t at which it opens. ok is false when it never does.
func (w Window) NextOpening(t time.Time) (at time.Time, ok bool) {
	if len(w.contact) == 0 {
		return w.nextIn(w.Zone, t)
	}
	limit := t.AddDate(0, 0, horizonDays+7*len(w.Holidays))
	at = t
	for at.Before(limit) {
		latest := at
		for _, z := range w.contact {
			next, ok := w.nextIn(z, at)
			if !ok {
				return time.Time{}, false
			}
			if next.After(latest) {
				latest = next
			}
		}
		if latest.Equal(at) {
			return at, true
		}
		at = latest // nothing before it can be open in all zones
	}
	return time.Time{}, false
}

// CanEverOpen says whether the window opens at or after t at all.
func (w Window) CanEverOpen(t time.Time) bool {
	_, ok := w.NextOpening(t)
	return ok
}

// nextIn searches one zone. Between two changes of its clock the wall clock
// runs evenly, so the next start is arithmetic; a change itself may jump into
// the window and is looked at on its own.
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

// nextStart gives the first start of a working day at or after at, on a clock
// that keeps the offset it has now.
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

// searchDays: among any seven days there is a working day, and each holiday
// can spoil one of them.
func (w *Window) searchDays() int { return 8 + 7*len(w.Holidays) }

// Closes gives the end of the opening that t belongs to: of the day's opening,
// so that a whole-day window closes at midnight even if the next day follows
// at once. ok is false when the window is not open at t. A clock that is put
// back may interrupt an opening; what is given is its final end.
func (w Window) Closes(t time.Time) (at time.Time, ok bool) {
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
	// On the clock as it is set at each moment, the opening is over when the
	// wall shows `end` of its last day; a change of the clock before then may
	// move that moment, or put the wall back before it.
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

// reaches says whether the wall still has the end of the last day before it
// after the change.
func (w *Window) reaches(change time.Time, last Date, end TimeOfDay) bool {
	left := end.sinceMidnight() - sinceMidnight(change) + 24*time.Hour*time.Duration(last.since(dateOf(change)))
	return left > 0
}

// OpenFor says how long the window stays open from t on, most at the most; 0
// when it is closed. Days that follow on each other are one opening here.
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

// nextChange is the next change of the clock after at, zero when there is none.
// It may give an instant at which nothing changes; callers only look closer
// there. Time.ZoneBounds takes every year for 365 days once the zone's table is
// used up, so that on the last day of a leap year its end has already passed.
func nextChange(at time.Time) time.Time {
	_, change := at.ZoneBounds()
	if !change.IsZero() && !change.After(at) {
		return at.Add(24 * time.Hour)
	}
	return change
}

// sinceMidnight is what the wall clock shows, as a duration.
func sinceMidnight(local time.Time) time.Duration {
	h, m, s := local.Clock()
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second + time.Duration(local.Nanosecond())
}
