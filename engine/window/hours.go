package window

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dialler/engine"
)

// HorizonDays is over how many days an opening of a window with calendars is looked for. Calendars that
// are not open together within that time count as never open.
const HorizonDays = 400

// Calendar says when a country, a region or an office may be called: hours for each weekday, closed on
// holidays, other hours on some dates. Windows of campaigns are narrowed by calendars (Window.With).
type Calendar struct {
	Name string `json:"-"` // as people know it
	// Zone is the clock that it goes by; "" means the clocks of the window.
	Zone string `json:"zone,omitempty"`
	// Hours are those of each weekday, none on a weekday that is not listed; nil means at any time.
	Hours map[Day][]Span `json:"hours,omitempty"`
	// Holidays are closed days, by date.
	Holidays []Holiday `json:"holidays,omitempty"`
	// Exceptions hold in place of the weekday's hours and of a holiday, by date.
	Exceptions []Exception `json:"exceptions,omitempty"`
	// Countries are those whose numbers it holds for in every campaign (ISO 3166).
	Countries []string `json:"countries,omitempty"`
}

// Span is a part of a day, [From, To). To at or before From is on the next day: the span belongs to
// the day on which it begins. It is written "09:00-18:00".
type Span struct{ From, To TimeOfDay }

// Holiday is a day on which a calendar is closed.
type Holiday struct {
	Date Date   `json:"date"`
	Name string `json:"name,omitempty"`
}

// Exception gives one date hours of its own; none means closed.
type Exception struct {
	Date  Date   `json:"date"`
	Hours []Span `json:"hours"`
}

var allDay = []Span{{0, minutesOfDay}}

// ParseSpan reads "09:00-18:00".
func ParseSpan(s string) (Span, error) {
	from, to, ok := strings.Cut(s, "-")
	x, err := ParseTimeOfDay(from)
	y, err2 := ParseTimeOfDay(to)
	if !ok || err != nil || err2 != nil || x == y || x == minutesOfDay {
		return Span{}, engine.Invalid("invalid_time", "hours are written HH:MM-HH:MM, for example 09:00-18:00")
	}
	return Span{x, y}, nil
}

func (s Span) String() string { return fmt.Sprintf("%s-%s", s.From, s.To) }

// MarshalText writes "09:00-18:00".
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads "09:00-18:00".
func (s *Span) UnmarshalText(b []byte) error {
	v, err := ParseSpan(string(b))
	*s = v
	return err
}

// overnight says whether the span ends on the next day.
func (s Span) overnight() bool { return s.To <= s.From }

// On returns the hours that begin on a date, and the holiday that it is.
func (c *Calendar) On(d Date) (hours []Span, holiday string) {
	if i, ok := slices.BinarySearchFunc(c.Holidays, d, func(h Holiday, d Date) int { return h.Date.Compare(d) }); ok {
		if holiday = c.Holidays[i].Name; holiday == "" {
			holiday = "holiday"
		}
	}
	i, ok := slices.BinarySearchFunc(c.Exceptions, d, func(e Exception, d Date) int { return e.Date.Compare(d) })
	switch {
	case ok:
		return c.Exceptions[i].Hours, holiday
	case holiday != "":
		return nil, holiday
	case c.Hours == nil:
		return allDay, ""
	}
	return c.Hours[days[d.weekday()]], ""
}

// excepted says whether a date has hours of its own.
func (c *Calendar) excepted(d Date) bool {
	_, ok := slices.BinarySearchFunc(c.Exceptions, d, func(e Exception, d Date) int { return e.Date.Compare(d) })
	return ok
}

// Compare orders dates.
func (d Date) Compare(other Date) int { return d.since(other) }

// until is how far into the date the hours go on that a time of it is in; 0 if it is in none. What
// goes on at midnight is until the end of the day.
func (c *Calendar) until(d Date, at time.Duration) (end time.Duration) {
	today, _ := c.On(d)
	for _, s := range today {
		to := s.To.sinceMidnight()
		if s.overnight() {
			to = 24 * time.Hour
		}
		if at >= s.From.sinceMidnight() && at < to {
			end = max(end, to)
		}
	}
	yesterday, _ := c.On(d.add(-1))
	for _, s := range yesterday {
		if to := s.To.sinceMidnight(); s.overnight() && at < to {
			end = max(end, to)
		}
	}
	return end
}

// edge is the first time of the date, from a time of it on, at which the calendar is open, or closed.
func (c *Calendar) edge(d Date, at time.Duration, open bool) (time.Duration, bool) {
	if !open {
		for at < 24*time.Hour {
			end := c.until(d, at)
			if end == 0 {
				return at, true
			}
			at = end
		}
		return 0, false
	}
	if c.until(d, at) > 0 {
		return at, true
	}
	next, found := 24*time.Hour, false
	today, _ := c.On(d)
	for _, s := range today {
		if from := s.From.sinceMidnight(); from >= at && from < next {
			next, found = from, true
		}
	}
	return next, found
}

// next is the first instant from t on, before the limit, at which the calendar is open, or closed, by
// the clock of a zone. Between two changes of the clock the wall clock runs evenly, so that no minute
// has to be looked at but those at which hours begin and end.
func (c *Calendar) next(zone string, t time.Time, open bool, limit time.Time) (time.Time, bool) {
	loc, known := location(zone)
	if !known {
		return t, !open
	}
	for at := t.In(loc); at.Before(limit); {
		change := nextChange(at)
		end := limit
		if !change.IsZero() && change.Before(limit) {
			end = change
		}
		midnight, since := at.Add(-sinceMidnight(at)), sinceMidnight(at)
		for day := dateOf(at); midnight.Before(end); day = day.add(1) {
			if x, ok := c.edge(day, since, open); ok {
				if found := midnight.Add(x); found.Before(end) {
					return found, true
				}
				break
			}
			midnight, since = midnight.Add(24*time.Hour), 0
		}
		at = end
	}
	return time.Time{}, false
}

// narrow is a calendar with the zones of the contact that it goes by, none for those of the window.
type narrow struct {
	*Calendar
	contact []string
}

// With is the window within calendars: it is open when all of them are, too. Of those of countries,
// For chooses.
func (w Window) With(calendars, countries []*Calendar) Window {
	w.calendars, w.countries = nil, countries
	for _, c := range calendars {
		w.calendars = append(w.calendars, narrow{c, nil})
	}
	return w
}

// Calendars returns what With was given.
func (w Window) Calendars() (calendars, countries []*Calendar) {
	for _, c := range w.calendars {
		calendars = append(calendars, c.Calendar)
	}
	return calendars, w.countries
}

// OpensWithout says whether the window has calendars, and without them would open at or after t: an edit of
// theirs may open it.
func (w Window) OpensWithout(t time.Time) bool {
	return len(w.calendars) > 0 && w.With(nil, nil).CanEverOpen(t)
}

// Own says whether contacts have windows of their own.
func (w Window) Own() bool { return w.ContactZone || len(w.countries) > 0 }

// zonesOf are the clocks that a calendar goes by.
func (w *Window) zonesOf(c *narrow, one *[1]string) []string {
	switch {
	case c.Zone != "":
		one[0] = c.Zone
	case len(c.contact) > 0:
		return c.contact
	case len(w.contact) > 0:
		return w.contact
	default:
		one[0] = w.Zone
	}
	return one[:]
}

func (w *Window) allOpen(t time.Time) bool {
	_, _, closed := w.firstClosed(t)
	return !closed
}

// firstClosed is the first calendar that is closed at t, by which clock.
func (w *Window) firstClosed(t time.Time) (c *Calendar, local time.Time, closed bool) {
	var one [1]string
	for i := range w.calendars {
		c := &w.calendars[i]
		for _, z := range w.zonesOf(c, &one) {
			loc, ok := location(z)
			if !ok {
				return c.Calendar, t, true
			}
			if local := t.In(loc); c.until(dateOf(local), sinceMidnight(local)) == 0 {
				return c.Calendar, local, true
			}
		}
	}
	return nil, t, false
}

// ClosedBy says which calendar keeps the window closed at t, with the holiday if it is for one, such
// as "Germany (Christmas Day)"; "" when none does.
func (w Window) ClosedBy(t time.Time) string {
	c, local, closed := w.firstClosed(t)
	if !closed {
		return ""
	}
	if _, holiday := c.On(dateOf(local)); holiday != "" {
		return c.Name + " (" + holiday + ")"
	}
	return c.Name
}

// nextOfCalendars is not before t and not after the first time at which all calendars are open. It is
// t when they are.
func (w *Window) nextOfCalendars(t, limit time.Time) (time.Time, bool) {
	var one [1]string
	for i := range w.calendars {
		c := &w.calendars[i]
		for _, z := range w.zonesOf(c, &one) {
			next, ok := c.next(z, t, true, limit)
			if !ok {
				return time.Time{}, false
			}
			if next.After(t) {
				t = next
			}
		}
	}
	return t, true
}

// calendarsClose is when the first of the calendars closes after t, at most the end. ok is false if
// one is closed.
func (w *Window) calendarsClose(t, end time.Time) (time.Time, bool) {
	var one [1]string
	for i := range w.calendars {
		c := &w.calendars[i]
		for _, z := range w.zonesOf(c, &one) {
			if at, ok := c.next(z, t, false, end); ok {
				end = at
			}
		}
	}
	return end, end.After(t)
}

// Opening is a time during which a window is open.
type Opening struct{ From, To time.Time }

// Openings lists when the window is open between two times. Openings that follow at once are one.
func (w Window) Openings(from, to time.Time) (list []Opening) {
	for range spansCap {
		opens, end, ok := w.next(from)
		if !ok || !opens.Before(to) {
			break
		}
		if end.After(to) {
			end = to
		}
		if n := len(list); n > 0 && list[n-1].To.Equal(opens) {
			list[n-1].To = end
		} else {
			list = append(list, Opening{opens, end})
		}
		from = end
	}
	return list
}

// SpecialDay is a date on which a calendar has no usual hours.
type SpecialDay struct {
	Date     Date
	Calendar string
	Holiday  string // "" for an exception that is no holiday
	Hours    []Span
}

// SpecialDays lists the holidays and exceptions of the calendars between two dates, both included.
func (w Window) SpecialDays(from, to Date) (list []SpecialDay) {
	for d := from; to.since(d) >= 0; d = d.add(1) {
		for _, c := range w.calendars {
			if hours, holiday := c.On(d); holiday != "" || c.excepted(d) {
				list = append(list, SpecialDay{d, c.Name, holiday, hours})
			}
		}
	}
	return list
}

// Limits of a calendar.
const (
	spansMost      = 8
	exceptionsMost = 400
	// HolidaysMost is how many holidays a calendar has at most, all years together.
	HolidaysMost = 2000
)

// Validate refuses invalid values, with one field error per mistake.
func (c *Calendar) Validate() error {
	var fields []engine.FieldError
	wrong := func(field, code, message string) {
		fields = append(fields, engine.FieldError{Field: field, Code: code, Message: message})
	}
	if _, ok := location(c.Zone); !ok {
		wrong("zone", "unknown_zone", "a name of the IANA time zone database is needed, for example Europe/Berlin")
	}
	for _, day := range days {
		judgeHours("hours."+string(day), c.Hours[day], wrong)
	}
	for day := range c.Hours {
		if _, ok := day.weekday(); !ok {
			wrong("hours", "unknown_day", "days are Mon, Tue, Wed, Thu, Fri, Sat and Sun")
		}
	}
	if len(c.Exceptions) > exceptionsMost {
		wrong("exceptions", "too_long", fmt.Sprintf("must have at most %d dates", exceptionsMost))
	}
	for i, e := range c.Exceptions {
		if !e.Date.valid() || i > 0 && e.Date.since(c.Exceptions[i-1].Date) <= 0 {
			wrong("exceptions", "invalid_date", "dates are written YYYY-MM-DD, must exist and stand once")
			break
		}
		judgeHours("exceptions."+e.Date.String(), e.Hours, wrong)
	}
	if len(c.Holidays) > HolidaysMost {
		wrong("holidays", "too_long", fmt.Sprintf("must be at most %d days", HolidaysMost))
	}
	if fields != nil {
		return engine.Invalid("invalid_calendar", "", fields...)
	}
	return nil
}

// judgeHours refuses hours that overlap: one of them is a mistake.
func judgeHours(field string, hours []Span, wrong func(field, code, message string)) {
	if len(hours) > spansMost {
		wrong(field, "too_long", fmt.Sprintf("must have at most %d parts", spansMost))
		return
	}
	for i, s := range hours {
		if s.From < 0 || s.From >= minutesOfDay || s.To < 0 || s.To > minutesOfDay || s.From == s.To {
			wrong(field, "invalid_time", "hours are written HH:MM-HH:MM, for example 09:00-18:00")
			return
		}
		if i > 0 && (hours[i-1].overnight() || s.From < hours[i-1].To) {
			wrong(field, "overlapping", "the parts of a day must follow one another, for example 09:00-12:00, 13:00-18:00")
			return
		}
	}
}
