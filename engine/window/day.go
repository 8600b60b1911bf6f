package window

import "time"

// Local is the time as a clock on the wall shows it: where the contact's number is at home (the
// first of its zones), else in the campaign's zone.
func (w Window) Local(t time.Time) time.Time {
	if len(w.contact) > 0 {
		if loc, ok := location(w.contact[0]); ok {
			return t.In(loc)
		}
	}
	return t.In(w.Location())
}

// CallingDay is the day of the opening that t is in, by the clock of Local; outside the window it
// is the calendar day. A night belongs to the day on which it began.
func (w Window) CallingDay(t time.Time) Date {
	local := w.Local(t)
	day, open := w.opening(local)
	if !open {
		return dateOf(local)
	}
	return day
}

// NextDay is the first opening after t that is on a later calling day than t. ok is false if there
// is none.
func (w Window) NextDay(t time.Time) (at time.Time, ok bool) {
	today := w.CallingDay(t)
	next := today.add(1)
	at = time.Date(next.Year, next.Month, next.Day, 0, 0, 0, 0, w.Local(t).Location())
	if at.Before(t) {
		at = t
	}
	// Midnight may still be in today's opening, in pieces where a clock is put back, or there are several zones or
	// calendars.
	for range 64 {
		if at, ok = w.NextOpening(at); !ok {
			return time.Time{}, false
		}
		if w.CallingDay(at).since(today) > 0 {
			return at, true
		}
		if at, ok = w.Closes(at); !ok {
			return time.Time{}, false
		}
	}
	return time.Time{}, false
}

// Number is the number of the date, counted in days from 1970-01-01.
func (d Date) Number() int { return d.since(Date{1970, time.January, 1}) }
