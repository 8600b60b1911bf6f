package calendar

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/holidays"
	"dialler/engine/window"
)

// Named is a calendar under its name.
type Named struct {
	ID   engine.CalendarID
	Name string
	// Hours are what it says, complete: with the holidays of its sets and of its file.
	Hours window.Calendar
	// Sets are built-in sets of holidays (engine/holidays), by code.
	Sets []string
	// URL is where its file of holidays is fetched from, "" for one that was uploaded, or none.
	URL                  string
	File                 File
	Version              int64 // for edits; the first is 1
	CreatedAt, UpdatedAt time.Time
}

// File is the last good file of holidays; the zero value is none.
type File struct {
	Text     string // as it came; not loaded for runs
	Holidays []window.Holiday
	ReadAt   time.Time // when it came
	// TriedAt is when a file was last asked for, Problem why it could not be had, "" if it could.
	TriedAt time.Time
	Problem string
}

// Limits of calendars.
const (
	SetsMost    = 5
	OfCampaign  = 10 // calendars that a campaign names
	CountryMost = 50

	// FileYears is how many years after the present one the days of a file are read for.
	FileYears = 10
	// RefreshEvery is how often a file is fetched, and how often the days of one are read anew.
	RefreshEvery = 24 * time.Hour
	// BeingFetched is the problem of a file until its fetch is over: it stays if the node that fetched it ended.
	// FetchTakes is how long it is none yet.
	BeingFetched = "it is being fetched, or its fetch was interrupted"
	FetchTakes   = 5 * time.Minute
	// RetryEvery is how soon a fetch that failed is repeated.
	RetryEvery = time.Hour
)

// Complete gives the hours the name and the holidays of the sets and of the file.
func (n *Named) Complete() {
	n.Hours.Name = n.Name
	list := slices.Clone(n.File.Holidays)
	for _, code := range n.Sets {
		days, _ := holidays.Of(code)
		list = append(list, days...)
	}
	if n.Hours.Holidays = holidays.Sorted(list); len(list) == 0 {
		n.Hours.Holidays = nil
	}
}

// Read takes the days of a file that came at a time. An error leaves the calendar unchanged.
func (n *Named) Read(text string, at time.Time) error {
	year := at.UTC().Year()
	days, err := holidays.Read(text, window.Date{Year: year - 1, Month: time.January, Day: 1},
		window.Date{Year: year + FileYears, Month: time.December, Day: 31})
	if err != nil {
		return err
	}
	n.File = File{Text: text, Holidays: days, ReadAt: at, TriedAt: at}
	n.Complete()
	return nil
}

// Renew is Read for a file that was fetched again. One without a day from then on is an error where the last
// one had some: a server that fails may answer with an empty calendar, and nothing would be closed.
func (n *Named) Renew(text string, at time.Time) error {
	last := *n
	if err := n.Read(text, at); err != nil {
		return err
	}
	if n.URL != "" && last.File.ahead(at) && !n.File.ahead(at) {
		*n = last
		return engine.Invalid("invalid_holidays_file", "the file has no day from today on, and the last one had some")
	}
	return nil
}

// ahead says whether the file has a day from a time on.
func (f *File) ahead(at time.Time) bool {
	days := f.Holidays
	return len(days) > 0 && days[len(days)-1].Date.Compare(window.DateOf(at.UTC())) >= 0
}

// Due says whether the file is due to be fetched or read again: a day after it came, an hour after that
// failed.
func (n *Named) Due(now time.Time) bool {
	wait := RefreshEvery
	switch {
	case n.URL == "" && n.File.ReadAt.IsZero():
		return false
	case n.File.Problem != "":
		wait = RetryEvery
	}
	return now.Sub(n.File.TriedAt) >= wait || now.Before(n.File.TriedAt)
}

// Validate names every mistake by the field's name on the wire.
func (n *Named) Validate(country func(code string) bool) error {
	var fields []engine.FieldError
	wrong := func(field, code, message string) {
		fields = append(fields, engine.FieldError{Field: field, Code: code, Message: message})
	}
	if len(n.Sets) > SetsMost {
		wrong("holiday_sets", "too_long", fmt.Sprintf("must have at most %d entries", SetsMost))
	}
	for i, code := range n.Sets {
		if _, ok := holidays.Of(code); !ok {
			wrong(fmt.Sprintf("holiday_sets[%d]", i), "unknown_value",
				"is no built-in set of holidays, for example DE or DE-BY; GET /api/v1/calendars/sets lists them")
		}
	}
	for i, code := range n.Hours.Countries {
		if !country(code) {
			wrong(fmt.Sprintf("countries[%d]", i), "unknown_value", "is no country, for example DE (ISO 3166-1)")
		}
	}
	if len(n.Hours.Countries) > CountryMost {
		wrong("countries", "too_long", fmt.Sprintf("must have at most %d entries", CountryMost))
	}
	var of *engine.Error
	if errors.As(n.Hours.Validate(), &of) {
		fields = append(fields, of.Fields...)
	}
	if fields != nil {
		return engine.Invalid("invalid_calendar", "", fields...)
	}
	return nil
}

// Find is the calendar with an identifier, nil if there is none.
func Find(list []Named, id engine.CalendarID) *Named {
	for i := range list {
		if list[i].ID == id {
			return &list[i]
		}
	}
	return nil
}

// Same says whether nothing of a list was edited, nor read anew, since the other.
func Same(list, other []Named) bool {
	return slices.EqualFunc(list, other, func(a, b Named) bool {
		return a.ID == b.ID && a.Version == b.Version && a.CreatedAt.Equal(b.CreatedAt) &&
			a.File.ReadAt.Equal(b.File.ReadAt) && slices.Equal(a.File.Holidays, b.File.Holidays)
	})
}

// Missing lists the identifiers of which there is no calendar.
func Missing(ids []engine.CalendarID, list []Named) (none []engine.CalendarID) {
	for _, id := range ids {
		if Find(list, id) == nil {
			none = append(none, id)
		}
	}
	return none
}

// Narrow is a window within the named calendars of a list, which must not be changed afterwards; and
// for each contact within those of its number's country. A calendar that does not exist is never open.
func Narrow(w window.Window, ids []engine.CalendarID, list []Named) window.Window {
	var of, countries []*window.Calendar
	for _, id := range ids {
		if c := Find(list, id); c != nil {
			of = append(of, &c.Hours)
		} else {
			of = append(of, &window.Calendar{Name: string(id) + ", which does not exist", Hours: map[window.Day][]window.Span{}})
		}
	}
	for i := range list {
		if len(list[i].Hours.Countries) > 0 {
			countries = append(countries, &list[i].Hours)
		}
	}
	return w.With(of, countries)
}

// Names are the names of the calendars in a sentence.
func Names(ids []engine.CalendarID, list []Named) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
		if c := Find(list, id); c != nil {
			names[i] = c.Name
		}
	}
	return strings.Join(names, ", ")
}
