package window

import (
	"slices"
	"time"

	"dialler/engine"
)

// Window is a daily calling window, stored and transmitted as
//
//	{"start":"09:00","end":"18:00","zone":"Europe/Berlin",
//	 "days":["Mon","Tue"],"holidays":["2030-12-25"]}
//
// The zero value is always open, in UTC; it does not pass Validate.
type Window struct {
	Start TimeOfDay `json:"start"`
	End   TimeOfDay `json:"end"` // exclusive; at or before Start: see the package's invariants
	Zone  string    `json:"zone"`
	// Days are the working days; nil means all seven. Validate refuses an empty list that is not
	// nil.
	Days     []Day  `json:"days"`
	Holidays []Date `json:"holidays,omitempty"`
	// ContactZone says that contacts are called by the clocks where their number is at home, see
	// For; Zone remains the zone of the campaign itself and of numbers whose zone is unknown.
	ContactZone bool `json:"contact_zone,omitempty"`

	contact []string // zones of the contact, set by For
	// calendars narrow the window, set by With; of countries are those of countries, from which For
	// chooses. Who restores a window sets them anew.
	calendars []narrow    `snapshot:"-"`
	countries []*Calendar `snapshot:"-"`
}

// Validate refuses invalid values, with one field error per mistake.
func (w Window) Validate() error {
	var fields []engine.FieldError
	wrong := func(field, code, message string) {
		fields = append(fields, engine.FieldError{Field: "window." + field, Code: code, Message: message})
	}
	if w.Start < 0 || w.Start >= minutesOfDay {
		wrong("start", "out_of_range", "a time from 00:00 to 23:59 is needed")
	}
	if w.End < 0 || w.End > minutesOfDay {
		wrong("end", "out_of_range", "a time from 00:00 to 24:00 is needed")
	}
	if _, ok := location(w.Zone); !ok || w.Zone == "" {
		wrong("zone", "unknown_zone", "a name of the IANA time zone database is needed, for example Europe/Berlin")
	}
	if w.Days != nil && len(w.Days) == 0 {
		wrong("days", "empty", "at least one working day is needed; leave the field out for all seven")
	}
	for _, d := range w.Days {
		if _, ok := d.weekday(); !ok {
			wrong("days", "unknown_day", "days are Mon, Tue, Wed, Thu, Fri, Sat and Sun")
			break
		}
	}
	for _, d := range w.Holidays {
		if !d.valid() {
			wrong("holidays", "invalid_date", "dates are written YYYY-MM-DD and must exist")
			break
		}
	}
	if fields != nil {
		return engine.Invalid("invalid_window", "", fields...)
	}
	return nil
}

// Home is where a number is at home.
type Home struct {
	Zones   []string // of the IANA time zone database; none if not known
	Country string   // ISO 3166; "" if not known
}

// For is the window of one contact: with ContactZone, by the clocks where its number is at home;
// without it, or if no zone is known, by that of the campaign. It is within the calendars of the
// number's country, which go by the contact's clocks.
func (w Window) For(home Home) Window {
	if w.ContactZone && len(home.Zones) > 0 {
		w.contact = home.Zones
	}
	for _, c := range w.countries {
		if slices.Contains(c.Countries, home.Country) {
			w.calendars = append(slices.Clip(w.calendars), narrow{c, home.Zones})
		}
	}
	return w
}

// Open says whether calls may be placed at t.
func (w Window) Open(t time.Time) bool {
	if len(w.contact) == 0 {
		return w.openIn(w.Zone, t) && w.allOpen(t)
	}
	for _, z := range w.contact {
		if !w.openIn(z, t) {
			return false
		}
	}
	return w.allOpen(t)
}

func (w *Window) openIn(zone string, t time.Time) bool {
	loc, ok := location(zone)
	if !ok {
		return false
	}
	_, open := w.opening(t.In(loc))
	return open
}

// opening returns the day to whose opening the wall clock reading belongs.
func (w *Window) opening(local time.Time) (Date, bool) {
	today := dateOf(local)
	minute := TimeOfDay(local.Hour()*60 + local.Minute())
	start, end := w.span()
	switch {
	case start < end:
		return today, minute >= start && minute < end && w.working(today)
	case minute >= start:
		return today, w.working(today)
	case minute < end:
		yesterday := today.add(-1)
		return yesterday, w.working(yesterday)
	}
	return today, false
}

// span returns start and end as minutes of the clock, with the whole day as [0, 1440).
func (w *Window) span() (start, end TimeOfDay) {
	start, end = w.Start, w.End
	if end == start || start == 0 && end == minutesOfDay {
		return 0, minutesOfDay
	}
	if end == minutesOfDay {
		end = 0 // "24:00" of a window that starts later than midnight
	}
	return start, end
}

func (w *Window) working(d Date) bool {
	if w.Days != nil {
		day := days[d.weekday()]
		if !slices.Contains(w.Days, day) {
			return false
		}
	}
	return !slices.Contains(w.Holidays, d)
}

// Location is the campaign's zone; an unknown one counts as UTC. It is loaded from the time zone
// database only once.
func (w Window) Location() *time.Location {
	if loc, ok := location(w.Zone); ok {
		return loc
	}
	return time.UTC
}

// Day is the calendar day of t in the campaign's zone: the key of daily
// figures. An unknown zone counts as UTC.
func (w Window) Day(t time.Time) Date { return dateOf(t.In(w.Location())) }

// Parts implements snapshot.Parts.
func (w *Window) Parts() []any { return []any{&w.contact} }
