package holidays

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/teambition/rrule-go"

	"dialler/engine"
	"dialler/engine/window"
)

// Limits of a file.
const (
	FileMost    = 512 << 10 // bytes
	eventsMost  = 2000
	yearlyMost  = 200 // events with a recurrence
	daysOfEvent = 366
	datesMost   = 100     // RDATE and EXDATE of one event
	looksMost   = 200_000 // occurrences of all events and their days, and what is examined to find them
	firstYear   = 1900    // of a recurrence
)

// Example is a file with one holiday of every year.
const Example = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20301225\nRRULE:FREQ=YEARLY\n" +
	"SUMMARY:Christmas Day\nEND:VEVENT\nEND:VCALENDAR"

// event is a VEVENT of a file (RFC 5545 §3.6.1).
type event struct {
	uid, name  string
	start      time.Time // midnight UTC stands for a date
	days       int       // its length
	rule       string    // RRULE
	dates, not []time.Time
	replaces   time.Time // RECURRENCE-ID
	cancelled  bool
}

// Read lists the holidays of a file that are from one date to another, both included, by date. An
// error names the line and what is wrong with it.
func Read(text string, from, to window.Date) ([]window.Holiday, error) {
	if len(text) > FileMost {
		return nil, wrong(0, "the file is larger than %d KiB", FileMost>>10)
	}
	events, err := readEvents(text)
	if err != nil {
		return nil, err
	}
	replaced := map[string][]time.Time{} // by UID
	for _, e := range events {
		if !e.replaces.IsZero() {
			replaced[e.uid] = append(replaced[e.uid], e.replaces)
		}
	}
	names, looks := map[window.Date]string{}, 0
	for i := range events {
		e := &events[i]
		if e.cancelled {
			continue
		}
		var moved []time.Time
		if e.replaces.IsZero() {
			moved = replaced[e.uid]
		}
		for begins := range e.occurrences(from.Midnight(), to.Midnight(), moved, &looks) {
			first, next := window.DateOf(begins), window.DateOf(begins).Add(e.days)
			if first.Compare(from) < 0 {
				first = from
			}
			for d := first; d.Compare(next) < 0 && d.Compare(to) <= 0; d = d.Add(1) {
				if _, ok := names[d]; !ok {
					names[d] = e.name
				}
				looks++
			}
			if looks++; looks > looksMost {
				break
			}
			if len(names) > window.HolidaysMost {
				return nil, wrong(0, "the file has too many holidays from %s to %s; at most %d are kept", from, to,
					window.HolidaysMost)
			}
		}
		if looks > looksMost {
			return nil, wrong(0, "the file repeats its events too often, or by rules with too many values: at most %d "+
				"days, and values in each year, are read", looksMost)
		}
	}
	list := make([]window.Holiday, 0, len(names))
	for d, name := range names {
		list = append(list, window.Holiday{Date: d, Name: name})
	}
	return Sorted(list), nil
}

func wrong(line int, format string, a ...any) error {
	text := fmt.Sprintf(format, a...)
	if line > 0 {
		text = "line " + strconv.Itoa(line) + ": " + text
	}
	return engine.Invalid("invalid_holidays_file", text)
}

// occurrences are the days on which the event begins, until a time, without those that were moved; one may
// come twice, and those that are over before from may be missing. They end early after too many looks.
func (e *event) occurrences(from, until time.Time, moved []time.Time, looks *int) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		skip := map[time.Time]bool{}
		for _, list := range [][]time.Time{e.not, moved} {
			for _, at := range list {
				skip[at] = true
			}
		}
		goes := func(at time.Time) bool { return skip[at] || at.After(until) || yield(at) }
		if e.rule == "" {
			if !goes(e.start) {
				return
			}
		} else {
			for at := range e.recurs(from, until, looks) {
				if !goes(at) {
					return
				}
			}
		}
		for _, at := range e.dates {
			if !goes(at) {
				return
			}
		}
	}
}

// recurs are the days on which the event begins by its rule, until a time. It takes one year after the
// other, since a rule may have no day in any: the library would go on to the year 9999.
func (e *event) recurs(from, until time.Time, looks *int) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		o, err := e.recurrence()
		if err != nil {
			return
		}
		if !o.Until.IsZero() && o.Until.Before(until) {
			until = o.Until
		}
		left, every := o.Count, min(max(o.Interval, 1), rrule.MAXYEAR)
		o.Until, o.Count, o.Interval = time.Time{}, 0, rrule.MAXYEAR // the rule's next year is none
		if len(o.Byweekno)+len(o.Byyearday)+len(o.Bymonthday)+len(o.Byweekday)+len(o.Byeaster) == 0 {
			if o.Bymonthday = []int{e.start.Day()}; len(o.Bymonth) == 0 {
				o.Bymonth = []int{int(e.start.Month())}
			}
		}
		values := 1 + len(o.Bysetpos) + len(o.Bymonth) + len(o.Bymonthday) + len(o.Byyearday) + len(o.Byweekno) +
			len(o.Byweekday) + len(o.Byeaster)
		year := e.start.Year()
		if before := from.Year() - 1 - year; left == 0 && before > 0 { // no event lasts longer than a year
			year += (before + every - 1) / every * every
		}
		for ; year <= until.Year(); year += every {
			if *looks += values; *looks > looksMost {
				return
			}
			if year > e.start.Year() {
				o.Dtstart = time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
			}
			r, err := rrule.NewRRule(*o)
			if err != nil {
				return
			}
			next := r.Iterator()
			for at, ok := next(); ok && !at.After(until); at, ok = next() {
				if left--; !yield(at) || left == 0 {
					return
				}
			}
		}
	}
}

func (e *event) recurrence() (*rrule.ROption, error) {
	o, err := rrule.StrToROption(e.rule)
	if err != nil {
		return nil, err
	}
	if o.Freq != rrule.YEARLY {
		return nil, errors.New("only FREQ=YEARLY is read")
	}
	if len(o.Byhour)+len(o.Byminute)+len(o.Bysecond) > 0 {
		return nil, errors.New("BYHOUR, BYMINUTE and BYSECOND are not read")
	}
	if e.start.Year() < firstYear {
		return nil, fmt.Errorf("it begins before %d", firstYear)
	}
	o.Dtstart = e.start
	_, err = rrule.NewRRule(*o)
	return o, err
}

// readEvents reads the lines of a file (RFC 5545 §3.1).
func readEvents(text string) (list []event, err error) {
	var e *event
	var end time.Time
	depth, calendar, ended, yearly, began := 0, false, false, 0, 0
	for n, line := range unfolded(text) {
		name, params, value := contentLine(line)
		switch {
		case name == "BEGIN" && strings.EqualFold(value, "VCALENDAR"):
			calendar, ended = true, false
		case !calendar && strings.TrimSpace(line) != "":
			return nil, wrong(n, "it does not begin with BEGIN:VCALENDAR: the file is no calendar (RFC 5545)")
		case name == "BEGIN" && strings.EqualFold(value, "VEVENT") && e == nil:
			e, end, began = &event{days: 1}, time.Time{}, n
		case name == "BEGIN" && e != nil:
			depth++ // an alarm in the event
		case name == "END" && depth > 0:
			depth--
		case name == "END" && e != nil:
			if e.start.IsZero() {
				return nil, wrong(began, "the event has no DTSTART, for example DTSTART;VALUE=DATE:20301225")
			}
			if !end.IsZero() {
				e.days = int(end.Sub(e.start) / (24 * time.Hour))
			}
			if e.days = max(e.days, 1); e.days > daysOfEvent {
				return nil, wrong(began, "the event lasts %d days; at most %d are read", e.days, daysOfEvent)
			}
			if e.rule != "" {
				if _, err := e.recurrence(); err != nil {
					return nil, wrong(began, "the event's RRULE cannot be used: %s; for example RRULE:FREQ=YEARLY", err)
				}
				yearly++
			}
			if list = append(list, *e); len(list) > eventsMost || yearly > yearlyMost {
				return nil, wrong(0, "the file has more than %d events, or more than %d with an RRULE", eventsMost,
					yearlyMost)
			}
			e = nil
		case name == "END" && strings.EqualFold(strings.TrimSpace(value), "VCALENDAR"):
			ended = true
		case e != nil && depth == 0:
			if end, err = e.take(name, params, value, end); err != nil {
				return nil, wrong(n, "%s", err)
			}
		}
	}
	switch {
	case !calendar:
		return nil, wrong(0, "the file is empty; it begins with BEGIN:VCALENDAR (RFC 5545)")
	case e != nil:
		return nil, wrong(began, "the event does not end: the file is cut off")
	case !ended:
		return nil, wrong(0, "the file does not end with END:VCALENDAR: it is cut off")
	}
	return list, nil
}

// take takes one property of the event; end is that of the event as far as it is known.
func (e *event) take(name, params, value string, end time.Time) (time.Time, error) {
	var err error
	switch name {
	case "UID":
		e.uid = value
	case "SUMMARY":
		e.name = shortened(unescaped(value))
	case "DTSTART":
		e.start, _, err = day(name, value)
	case "DTEND":
		var timed bool
		if end, timed, err = day(name, value); timed && !midnight(value) {
			end = end.AddDate(0, 0, 1) // a date with a time belongs to the event
		}
	case "DURATION":
		days, ok := strings.CutPrefix(value, "P")
		n, weeks := 0, strings.HasSuffix(days, "W")
		if n, err = strconv.Atoi(strings.TrimRight(days, "DW")); ok && err == nil && n > 0 && n <= daysOfEvent {
			if e.days = n; weeks {
				e.days = 7 * n
			}
		}
		err = nil // a duration in hours is a day
	case "RRULE":
		e.rule = value
	case "RDATE":
		e.dates, err = days(e.dates, name, params, value)
	case "EXDATE":
		e.not, err = days(e.not, name, params, value)
	case "RECURRENCE-ID":
		e.replaces, _, err = day(name, value)
	case "STATUS":
		e.cancelled = strings.EqualFold(value, "CANCELLED")
	}
	return end, err
}

func days(list []time.Time, name, params, value string) ([]time.Time, error) {
	if strings.Contains(strings.ToUpper(params), "VALUE=PERIOD") {
		return list, errors.New(name + " with periods is not read")
	}
	for one := range strings.SplitSeq(value, ",") {
		at, _, err := day(name, one)
		if err != nil {
			return list, err
		}
		if list = append(list, at); len(list) > datesMost {
			return list, fmt.Errorf("the event has more than %d dates in %s", datesMost, name)
		}
	}
	return list, nil
}

// day is the date of a DATE or DATE-TIME value.
func day(name, value string) (at time.Time, timed bool, err error) {
	date, _, timed := strings.Cut(value, "T")
	if at, err = time.Parse("20060102", date); err != nil || at.Year() < 1 {
		return at, timed, errors.New(name + " is no date, for example " + name + ";VALUE=DATE:20301225")
	}
	return at, timed, nil
}

// midnight says whether the time of a DATE-TIME value is the beginning of its date.
func midnight(value string) bool {
	_, clock, _ := strings.Cut(value, "T")
	return strings.HasPrefix(clock, "000000")
}

// unfolded gives the lines of a file with their numbers; a line that begins with a blank continues
// the one before.
func unfolded(text string) func(func(int, string) bool) {
	return func(yield func(int, string) bool) {
		var line strings.Builder
		first, n := 1, 0
		for raw := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
			raw = strings.TrimSuffix(raw, "\r")
			if n++; n > 1 && (strings.HasPrefix(raw, " ") || strings.HasPrefix(raw, "\t")) {
				line.WriteString(raw[1:])
				continue
			}
			if n > 1 && !yield(first, line.String()) {
				return
			}
			line.Reset()
			line.WriteString(raw)
			first = n
		}
		yield(first, line.String())
	}
}

// contentLine takes a line apart: NAME;PARAM=VALUE:VALUE, where a quoted parameter may hold a colon.
func contentLine(line string) (name, params, value string) {
	quoted := false
	for i := range len(line) {
		switch {
		case line[i] == '"':
			quoted = !quoted
		case line[i] == ':' && !quoted:
			name, params, _ = strings.Cut(line[:i], ";")
			return strings.ToUpper(name), params, line[i+1:]
		}
	}
	return "", "", ""
}

// unescaped is a TEXT value as it is meant (RFC 5545 §3.3.11).
func unescaped(text string) string {
	return strings.NewReplacer(`\\`, `\`, `\;`, ";", `\,`, ",", `\n`, " ", `\N`, " ").Replace(text)
}

// shortened is a name that fits into a sentence.
func shortened(name string) string {
	if runes := []rune(strings.TrimSpace(strings.ToValidUTF8(name, "�"))); len(runes) > 100 {
		return string(runes[:100])
	}
	return strings.TrimSpace(strings.ToValidUTF8(name, "�"))
}
