package window

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"pgregory.net/rapid"
)

// always is a window that is open at any time, so that a test is about calendars.
func always(zone string) Window { return Window{Zone: zone} }

func spans(list ...string) (out []Span) {
	for _, text := range list {
		s, err := ParseSpan(text)
		if err != nil {
			panic(err)
		}
		out = append(out, s)
	}
	return out
}

func weekdays(list ...string) map[Day][]Span {
	hours := map[Day][]Span{}
	for _, d := range []Day{Mon, Tue, Wed, Thu, Fri} {
		hours[d] = spans(list...)
	}
	return hours
}

func date(s string) Date {
	d, err := ParseDate(s)
	if err != nil {
		panic(err)
	}
	return d
}

func TestAWindowIsOpenWhenItsCalendarsAre(t *testing.T) {
	lunch := &Calendar{Name: "Office", Hours: weekdays("09:00-12:00", "13:00-17:00")}
	night := &Calendar{Name: "Night", Hours: map[Day][]Span{Fri: spans("22:00-02:00"), Sat: spans("01:00-03:00")}}
	paris := &Calendar{Name: "Paris", Zone: "Europe/Paris", Hours: weekdays("10:00-13:00")}
	holidays := &Calendar{Name: "DE", Holidays: []Holiday{{date("2030-12-25"), "Christmas Day"}, {date("2030-12-26"),
		""}},
		Exceptions: []Exception{{date("2030-12-24"), spans("08:00-12:00")}, {date("2030-12-26"), spans("22:00-01:00")}}}
	leap := &Calendar{Name: "leap", Hours: map[Day][]Span{},
		Exceptions: []Exception{{date("2028-02-29"), spans("00:00-24:00")}}}
	early := &Calendar{Name: "early", Hours: map[Day][]Span{Sun: spans("01:30-02:30"), Mon: spans("02:00-03:00")}}
	for _, c := range []struct {
		name, zone, from string
		calendars        []*Calendar
		opens, closes    string
	}{
		{"before it opens", "Europe/Berlin", "2030-01-07T08:00:00+01:00", []*Calendar{lunch},
			"2030-01-07T09:00:00+01:00", "2030-01-07T12:00:00+01:00"},
		{"its last moment", "Europe/Berlin", "2030-01-07T11:59:59+01:00", []*Calendar{lunch},
			"2030-01-07T11:59:59+01:00", "2030-01-07T12:00:00+01:00"},
		{"at noon it is closed", "Europe/Berlin", "2030-01-07T12:00:00+01:00", []*Calendar{lunch},
			"2030-01-07T13:00:00+01:00", "2030-01-07T17:00:00+01:00"},
		{"over the weekend", "Europe/Berlin", "2030-01-11T17:00:00+01:00", []*Calendar{lunch},
			"2030-01-14T09:00:00+01:00", "2030-01-14T12:00:00+01:00"},
		{"over midnight, into the next day's hours", "Europe/Berlin", "2030-01-11T20:00:00+01:00", []*Calendar{night},
			"2030-01-11T22:00:00+01:00", "2030-01-12T00:00:00+01:00"}, // the window's day ends
		{"what goes on after midnight", "Europe/Berlin", "2030-01-12T00:00:00+01:00", []*Calendar{night},
			"2030-01-12T00:00:00+01:00", "2030-01-12T03:00:00+01:00"},
		{"two calendars", "Europe/Berlin", "2030-01-07T00:00:00+01:00", []*Calendar{lunch, paris},
			"2030-01-07T10:00:00+01:00", "2030-01-07T12:00:00+01:00"},
		{"one by its own clock", "Europe/London", "2030-01-07T00:00:00Z", []*Calendar{lunch, paris},
			"2030-01-07T09:00:00Z", "2030-01-07T12:00:00Z"},
		{"a short day, then a holiday", "Europe/Berlin", "2030-12-24T12:00:00+01:00", []*Calendar{holidays},
			"2030-12-26T22:00:00+01:00", "2030-12-27T00:00:00+01:00"},
		{"an exception over midnight", "Europe/Berlin", "2030-12-27T00:30:00+01:00", []*Calendar{holidays},
			"2030-12-27T00:30:00+01:00", "2030-12-28T00:00:00+01:00"},
		{"one day of a leap year", "Europe/Berlin", "2027-03-01T00:00:00+01:00", []*Calendar{leap},
			"2028-02-29T00:00:00+01:00", "2028-03-01T00:00:00+01:00"},
		{"hours that the clock jumps into", "Europe/Berlin", "2030-03-31T01:45:00+01:00", []*Calendar{early},
			"2030-03-31T01:45:00+01:00", "2030-03-31T03:00:00+02:00"},
		{"hours that the clock jumps over", "America/New_York", "2030-03-10T00:00:00-05:00",
			[]*Calendar{{Hours: map[Day][]Span{Sun: spans("02:10-02:50"), Mon: spans("09:00-10:00")}}},
			"2030-03-11T09:00:00-04:00", "2030-03-11T10:00:00-04:00"},
		{"hours that the clock shows twice", "Europe/Berlin", "2030-10-27T02:30:00+02:00", []*Calendar{early},
			"2030-10-27T02:00:00+01:00", "2030-10-27T02:30:00+01:00"},
		{"a midnight that the clock skips", "America/Havana", "2030-03-09T23:30:00-05:00",
			[]*Calendar{{Hours: map[Day][]Span{Sun: spans("00:00-02:00")}}},
			"2030-03-10T01:00:00-04:00", "2030-03-10T02:00:00-04:00"},
		{"a date that Samoa left out", "Pacific/Apia", "2011-12-29T00:00:00-10:00",
			[]*Calendar{{Hours: map[Day][]Span{Fri: spans("09:00-10:00")}}},
			"2012-01-06T09:00:00+14:00", "2012-01-06T10:00:00+14:00"},
	} {
		w := always(c.zone).With(c.calendars, nil)
		at, ok := w.NextOpening(instant(c.from))
		if !ok || !at.Equal(instant(c.opens)) {
			t.Errorf("%s: opens %s, %v, want %s", c.name, at, ok, c.opens)
			continue
		}
		if end, ok := w.Closes(at); !ok || !end.Equal(instant(c.closes)) {
			t.Errorf("%s: closes %s, %v, want %s", c.name, end, ok, c.closes)
		}
	}
}

func TestCalendarsThatAreNeverOpenTogetherNeverOpen(t *testing.T) {
	now := instant("2030-01-07T00:00:00Z")
	week := &Calendar{Name: "week", Hours: weekdays("09:00-17:00")}
	for name, w := range map[string]Window{
		"days apart": always("UTC").With([]*Calendar{week, {Hours: map[Day][]Span{Sat: spans("09:00-17:00")}}}, nil),
		"no hours":   always("UTC").With([]*Calendar{{Hours: map[Day][]Span{}}}, nil),
		"the window": win("18:00", "20:00", "UTC").With([]*Calendar{week}, nil),
		"no zone":    always("UTC").With([]*Calendar{{Zone: "No/Where"}}, nil),
		"401 days on": always("UTC").With([]*Calendar{{Hours: map[Day][]Span{},
			Exceptions: []Exception{{dateOf(now).add(HorizonDays), allDay}}}}, nil),
	} {
		if at, ok := w.NextOpening(now); ok || w.CanEverOpen(now) {
			t.Errorf("%s: opens %s", name, at)
		}
	}
	within := always("UTC").With([]*Calendar{{Hours: map[Day][]Span{},
		Exceptions: []Exception{{dateOf(now).add(HorizonDays - 1), allDay}}}}, nil)
	if _, ok := within.NextOpening(now); !ok {
		t.Error("399 days on: does not open")
	}
}

func TestACalendarGoesByTheContactsClockAndThatOfACountryByItsNumbers(t *testing.T) {
	office := []*Calendar{{Name: "Office", Hours: weekdays("09:00-17:00")}}
	france := []*Calendar{{Name: "France", Countries: []string{"FR"}, Hours: weekdays("10:00-13:00", "14:00-20:00")}}
	w := Window{Zone: "Europe/Berlin", ContactZone: true}.With(office, france)
	monday := instant("2030-01-07T00:00:00+01:00")
	opens := func(w Window) string {
		at, _ := w.NextOpening(monday)
		return at.UTC().Format("15:04")
	}
	for want, of := range map[string]Window{
		"08:00": w, "14:00": w.For(Home{[]string{"America/New_York"}, "US"}),
		"09:00": w.For(Home{[]string{"Europe/Paris"}, "FR"}),
		"17:00": w.For(Home{[]string{"America/New_York", "America/Los_Angeles"}, "US"}),
		"19:00": always("Europe/Berlin").With(nil, []*Calendar{{Countries: []string{"US"},
			Hours: weekdays("14:00-20:00")}}).For(Home{[]string{"America/New_York"}, "US"}),
	} {
		if got := opens(of); got != want {
			t.Errorf("opens %s, want %s", got, want)
		}
	}
	if !w.Own() || (Window{}).Own() || !(Window{ContactZone: true}).Own() {
		t.Error("who has a window of their own")
	}
}

func TestWhatKeepsAWindowClosedIsNamed(t *testing.T) {
	de := &Calendar{Name: "Germany", Holidays: []Holiday{{date("2030-12-25"), "Christmas Day"}, {date("2030-12-26"),
		""}},
		Hours: weekdays("09:00-17:00"), Exceptions: []Exception{{date("2030-12-24"), nil}}}
	w := always("Europe/Berlin").With([]*Calendar{de}, nil)
	for at, want := range map[string]string{
		"2030-12-25T10:00:00+01:00": "Germany (Christmas Day)", "2030-12-26T10:00:00+01:00": "Germany (holiday)",
		"2030-12-24T10:00:00+01:00": "Germany", "2030-12-23T10:00:00+01:00": "", "2030-12-23T08:00:00+01:00": "Germany",
	} {
		if got := w.ClosedBy(instant(at)); got != want {
			t.Errorf("at %s: %q, want %q", at, got, want)
		}
	}
	var said []string
	for _, d := range w.SpecialDays(date("2030-12-23"), date("2030-12-26")) {
		said = append(said, d.Date.String()+" "+d.Calendar+" "+d.Holiday)
	}
	if got := strings.Join(said, ", "); got !=
		"2030-12-24 Germany , 2030-12-25 Germany Christmas Day, 2030-12-26 Germany holiday" {
		t.Error(got)
	}
}

func TestOpeningsThatFollowAtOnceAreOne(t *testing.T) {
	w := always("Europe/Berlin").With([]*Calendar{{Hours: map[Day][]Span{Fri: spans("22:00-24:00"),
		Sat: spans("00:00-24:00"), Mon: spans("09:00-12:00", "13:00-14:00")}}}, nil)
	var said []string
	for _, o := range w.Openings(instant("2030-01-11T23:00:00+01:00"), instant("2030-01-14T13:30:00+01:00")) {
		said = append(said, o.From.UTC().Format("02 15:04")+"–"+o.To.UTC().Format("02 15:04"))
	}
	if got := strings.Join(said, ", "); got != "11 22:00–12 23:00, 14 08:00–14 11:00, 14 12:00–14 12:30" {
		t.Error(got)
	}
}

func TestACalendarThatIsNotValidNamesEveryMistake(t *testing.T) {
	var long []Exception
	for i := range 401 {
		long = append(long, Exception{date("2030-01-01").add(i), nil})
	}
	for want, c := range map[string]Calendar{
		"zone": {Zone: "Berlin"}, "hours": {Hours: map[Day][]Span{"Monday": nil}},
		"hours.Mon":             {Hours: map[Day][]Span{Mon: spans("09:00-12:00", "11:00-13:00")}},
		"hours.Tue":             {Hours: map[Day][]Span{Tue: spans("22:00-02:00", "23:00-23:30")}},
		"hours.Wed":             {Hours: map[Day][]Span{Wed: {{540, 540}}}},
		"hours.Thu":             {Hours: map[Day][]Span{Thu: slices.Repeat(spans("09:00-10:00"), 9)}},
		"exceptions":            {Exceptions: []Exception{{date("2030-01-02"), nil}, {date("2030-01-02"), nil}}},
		"exceptions.2030-01-02": {Exceptions: []Exception{{date("2030-01-02"), []Span{{600, 2000}}}}},
		"exceptions ":           {Exceptions: long},
		"holidays":              {Holidays: make([]Holiday, HolidaysMost+1)},
	} {
		var e *engine.Error
		err := c.Validate()
		if e, _ = err.(*engine.Error); e == nil || len(e.Fields) != 1 || e.Fields[0].Field != strings.TrimSpace(want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	fine := Calendar{Zone: "Europe/Berlin", Hours: weekdays("09:00-12:00", "12:00-02:00"), Exceptions: long[:400]}
	if err := fine.Validate(); err != nil {
		t.Error(err)
	}
}

func TestHoursAreWrittenAsPeopleWriteThem(t *testing.T) {
	const text = `{"zone":"Europe/Paris","hours":{"Mon":["10:00-13:00","14:00-24:00"],"Sat":["22:00-02:00"]},` +
		`"holidays":[{"date":"2030-07-14","name":"Fête nationale"}],"exceptions":[{"date":"2030-07-15","hours":[]}]}`
	var c Calendar
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(&c); err != nil || string(b) != text {
		t.Errorf("%s, %v", b, err)
	}
	for _, bad := range []string{"", "09:00", "09:00-09:00", "24:00-02:00", "9:00-10:00", "09:00–18:00",
		"09:00-25:00"} {
		if s, err := ParseSpan(bad); err == nil {
			t.Errorf("%q is read as %s", bad, s)
		}
	}
}

// calendarOpen is the rule in its simplest form: what the clock on the wall shows, minute by minute of
// an opening that began today or yesterday.
func calendarOpen(c *Calendar, zone string, t time.Time) bool {
	loc, _ := time.LoadLocation(zone)
	l := t.In(loc)
	clock := l.Format("15:04")
	hours := func(noon time.Time) []Span {
		day := noon.Format(time.DateOnly)
		for _, e := range c.Exceptions {
			if e.Date.String() == day {
				return e.Hours
			}
		}
		for _, h := range c.Holidays {
			if h.Date.String() == day {
				return nil
			}
		}
		if c.Hours == nil {
			return []Span{{0, 1440}}
		}
		return c.Hours[Day(noon.Format("Mon"))]
	}
	noon := time.Date(l.Year(), l.Month(), l.Day(), 12, 0, 0, 0, time.UTC)
	for _, s := range hours(noon) {
		if from, to := s.From.String(), s.To.String(); from < to && from <= clock && clock < to || from >= to &&
			clock >= from {
			return true
		}
	}
	for _, s := range hours(noon.AddDate(0, 0, -1)) {
		if from, to := s.From.String(), s.To.String(); from >= to && clock < to {
			return true
		}
	}
	return false
}

func drawSpans(t *rapid.T) (list []Span) {
	last := 0
	for range rapid.IntRange(0, 3).Draw(t, "spans") {
		from := rapid.IntRange(last, 95).Draw(t, "from")
		to := rapid.IntRange(0, 96).Draw(t, "to")
		if from == to {
			continue
		}
		list = append(list, Span{TimeOfDay(15 * from), TimeOfDay(15 * to)})
		if to < from || to > 95 {
			break
		}
		last = to
	}
	return list
}

func drawCalendar(t *rapid.T, near Date) *Calendar {
	c := &Calendar{Zone: rapid.SampledFrom(append([]string{"", ""}, zonesWithChanges...)).Draw(t, "zone")}
	if rapid.IntRange(0, 4).Draw(t, "hours") > 0 {
		c.Hours = map[Day][]Span{}
		for _, d := range days {
			if list := drawSpans(t); list != nil {
				c.Hours[d] = list
			}
		}
	}
	for i := range 9 {
		d := near.add(i - 1)
		switch rapid.IntRange(0, 5).Draw(t, "special") {
		case 0:
			c.Holidays = append(c.Holidays, Holiday{d, "day"})
		case 1:
			c.Exceptions = append(c.Exceptions, Exception{d, drawSpans(t)})
		}
	}
	return c
}

func TestEveryMinuteOfAWindowWithCalendarsIsAsTheWallClocksSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWindow(t)
		if rapid.Bool().Draw(t, "whole day") {
			w.Start, w.End, w.Days = 0, 0, nil
		}
		now := drawInstant(t, w.Zone)
		var calendars []*Calendar
		for range rapid.IntRange(1, 3).Draw(t, "calendars") {
			calendars = append(calendars, drawCalendar(t, dateOf(now)))
			if err := calendars[len(calendars)-1].Validate(); err != nil {
				t.Fatal(err)
			}
		}
		zones := []string{w.Zone}
		if w.ContactZone = rapid.Bool().Draw(t, "by the contact's clocks"); w.ContactZone {
			zones = rapid.SliceOfN(rapid.SampledFrom(zonesWithChanges), 1, 2).Draw(t, "zones")
		}
		w = w.With(calendars, nil).For(Home{Zones: zones})
		open := func(at time.Time) bool {
			for _, z := range zones {
				if !wallOpen(w, z, at) {
					return false
				}
			}
			for _, c := range calendars {
				by := zones
				if c.Zone != "" {
					by = []string{c.Zone}
				}
				for _, z := range by {
					if !calendarOpen(c, z, at) {
						return false
					}
				}
			}
			return true
		}
		if w.Open(now) != open(now) {
			t.Fatalf("%+v at %s: open %v", w, now, w.Open(now))
		}
		next, ok := w.NextOpening(now)
		far := now.AddDate(0, 0, 12)
		if ok && (next.Before(now) || !open(next)) || ok && next.Equal(now) != open(now) {
			t.Fatalf("%+v from %s: opens %s", w, now, next)
		}
		if ok && next.Before(far) {
			far = next
		}
		for at := now; at.Before(far); at = at.Truncate(time.Minute).Add(time.Minute) {
			if open(at) {
				t.Fatalf("%+v from %s: opens %s, %v, but %s is open", w, now, next, ok, at)
			}
		}
		if !ok {
			return
		}
		end, ok := w.Closes(next)
		if !ok || !end.After(next) {
			t.Fatalf("%+v at %s: closes %s, %v", w, next, end, ok)
		}
		// A window's own opening that a clock put back interrupts has its final end, which calendars do not change.
		interrupted := false
		for _, z := range zones {
			interrupted = interrupted || !wallOpen(w, z, end.Add(-time.Millisecond))
		}
		for at := next; at.Before(end) && !interrupted; at = at.Truncate(time.Minute).Add(time.Minute) {
			if !open(at) && calendarsClosed(calendars, zones, at) {
				t.Fatalf("%+v from %s: closes %s, but %s is closed", w, next, end, at)
			}
		}
	})
}

// calendarsClosed says whether a calendar is closed.
func calendarsClosed(calendars []*Calendar, zones []string, at time.Time) bool {
	return slices.ContainsFunc(calendars, func(c *Calendar) bool {
		by := zones
		if c.Zone != "" {
			by = []string{c.Zone}
		}
		return slices.ContainsFunc(by, func(z string) bool { return !calendarOpen(c, z, at) })
	})
}

func TestAWindowWithCalendarsIsAskedWithoutAllocation(t *testing.T) {
	w := win("09:00", "18:00", "Europe/Berlin").With([]*Calendar{{Hours: weekdays("09:00-12:00", "13:00-17:00")}}, nil)
	at := instant("2030-01-07T10:00:00+01:00")
	if n := testing.AllocsPerRun(100, func() { w.OpenFor(at, time.Minute) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkNextOpeningWithCalendars(b *testing.B) {
	c := func(zone string) *Calendar {
		return &Calendar{Zone: zone, Hours: weekdays("09:00-12:00", "13:00-17:00"),
			Holidays: []Holiday{{date("2030-01-07"), "x"}}}
	}
	w := Window{Start: 540, End: 1080, ContactZone: true}.With([]*Calendar{c(""), c(""), c("Europe/Berlin")},
		nil).For(Home{Zones: []string{"America/New_York"}})
	at := instant("2030-01-04T23:00:00Z")
	for b.Loop() {
		w.NextOpening(at)
	}
}
