package window

import "time"

// spansCap limits the number of openings considered in one query: two centuries of working days.
const spansCap = 50_000

// After is when d of open time has passed since t: t itself if d is not positive. ok is false if
// that never happens.
func (w Window) After(t time.Time, d time.Duration) (at time.Time, ok bool) {
	for range spansCap {
		if d <= 0 {
			return t, true
		}
		opens, end, ok := w.next(t)
		if !ok {
			return time.Time{}, false
		}
		if rest := end.Sub(opens); rest < d {
			d, t = d-rest, end
			continue
		}
		return opens.Add(d), true
	}
	return time.Time{}, false
}

// OpenBetween is how long the window is open between two times.
func (w Window) OpenBetween(from, to time.Time) (sum time.Duration) {
	for range spansCap {
		opens, end, ok := w.next(from)
		if !ok || !opens.Before(to) {
			return sum
		}
		if !end.Before(to) {
			return sum + to.Sub(opens)
		}
		sum, from = sum+end.Sub(opens), end
	}
	return sum
}

// next is the opening that t is in, or the first one after it.
func (w *Window) next(t time.Time) (opens, end time.Time, ok bool) {
	if opens, ok = w.NextOpening(t); !ok {
		return opens, end, false
	}
	end, ok = w.Closes(opens)
	return opens, end, ok && end.After(opens)
}
