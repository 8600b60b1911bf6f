package window

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"dialler/engine"
)

// TimeOfDay is a wall-clock time, in minutes since midnight; 24:00 is the end of a day. It is
// written "HH:MM".
type TimeOfDay int

const minutesOfDay = 24 * 60

// ParseTimeOfDay parses "HH:MM", 00:00 to 24:00.
func ParseTimeOfDay(s string) (TimeOfDay, error) {
	bad := func() (TimeOfDay, error) {
		return 0, engine.Invalid("invalid_time", "times of day are written HH:MM, from 00:00 to 24:00")
	}
	if len(s) != 5 || s[2] != ':' {
		return bad()
	}
	h, ok := twoDigits(s[:2])
	m, ok2 := twoDigits(s[3:])
	t := TimeOfDay(h*60 + m)
	if !ok || !ok2 || m > 59 || t > minutesOfDay {
		return bad()
	}
	return t, nil
}

func twoDigits(s string) (int, bool) {
	a, b := s[0]-'0', s[1]-'0'
	return int(a)*10 + int(b), a <= 9 && b <= 9
}

func (t TimeOfDay) sinceMidnight() time.Duration { return time.Duration(t) * time.Minute }

func (t TimeOfDay) String() string { return fmt.Sprintf("%02d:%02d", int(t)/60, int(t)%60) }

// MarshalText writes "HH:MM".
func (t TimeOfDay) MarshalText() ([]byte, error) {
	if t < 0 || t > minutesOfDay {
		return nil, engine.Invalid("invalid_time", "a time of day must be between 00:00 and 24:00")
	}
	return []byte(t.String()), nil
}

// UnmarshalText reads "HH:MM".
func (t *TimeOfDay) UnmarshalText(b []byte) error {
	v, err := ParseTimeOfDay(string(b))
	if err != nil {
		return err
	}
	*t = v
	return nil
}

// Day is the abbreviation of a day of the week: Mon, Tue, Wed, Thu, Fri, Sat, Sun.
type Day string

// Days of the week, as stored and transmitted.
const (
	Sun Day = "Sun"
	Mon Day = "Mon"
	Tue Day = "Tue"
	Wed Day = "Wed"
	Thu Day = "Thu"
	Fri Day = "Fri"
	Sat Day = "Sat"
)

// days is indexed by time.Weekday.
var days = [7]Day{Sun, Mon, Tue, Wed, Thu, Fri, Sat}

func (d Day) weekday() (time.Weekday, bool) {
	i := slices.Index(days[:], d)
	return time.Weekday(i), i >= 0
}

// Date is a calendar date. It is written "YYYY-MM-DD".
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// ParseDate reads "YYYY-MM-DD".
func ParseDate(s string) (Date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return Date{}, engine.Invalid("invalid_date", "dates are written YYYY-MM-DD and must exist")
	}
	return dateOf(t), nil
}

// DateOf is the date that a time shows in its location.
func DateOf(t time.Time) Date { return dateOf(t) }

func dateOf(local time.Time) Date {
	y, m, d := local.Date()
	return Date{y, m, d}
}

// noon stands for the date in calculations; in UTC every day has one.
func (d Date) noon() time.Time { return time.Date(d.Year, d.Month, d.Day, 12, 0, 0, 0, time.UTC) }

// Midnight is the beginning of the date in UTC.
func (d Date) Midnight() time.Time { return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC) }

// Add is the date so many days later.
func (d Date) Add(days int) Date { return d.add(days) }

func (d Date) add(days int) Date { return dateOf(d.noon().AddDate(0, 0, days)) }

func (d Date) weekday() time.Weekday { return d.noon().Weekday() }

// since is the number of days from other to d.
func (d Date) since(other Date) int { return int(d.noon().Sub(other.noon()) / (24 * time.Hour)) }

func (d Date) valid() bool {
	return d.Year >= 1 && d.Year <= 9999 && dateOf(d.noon()) == d
}

func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, int(d.Month), d.Day) }

// MarshalText writes "YYYY-MM-DD".
func (d Date) MarshalText() ([]byte, error) {
	if !d.valid() {
		return nil, engine.Invalid("invalid_date", "the date does not exist")
	}
	return []byte(d.String()), nil
}

// UnmarshalText reads "YYYY-MM-DD".
func (d *Date) UnmarshalText(b []byte) error {
	v, err := ParseDate(string(b))
	if err != nil {
		return err
	}
	*d = v
	return nil
}

// locations caches loaded zones: loading parses zone data and would dominate every query. Only
// existing names are kept, so the cache is bounded by the time zone database.
var locations sync.Map // name → *time.Location

// location finds a zone by its name; "" is UTC, and "Local" is refused because it means another
// zone on every machine.
func location(name string) (*time.Location, bool) {
	if l, ok := locations.Load(name); ok {
		return l.(*time.Location), true
	}
	if name == "Local" {
		return nil, false
	}
	l, err := time.LoadLocation(name)
	if err != nil {
		return nil, false
	}
	locations.Store(name, l)
	return l, true
}
