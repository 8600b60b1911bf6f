package window

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // the same zones on every machine

	"pgregory.net/rapid"

	"dialler/engine"
)

func hm(s string) TimeOfDay {
	t, err := ParseTimeOfDay(s)
	if err != nil {
		panic(err)
	}
	return t
}

func win(start, end, zone string, days ...Day) Window {
	return Window{Start: hm(start), End: hm(end), Zone: zone, Days: days}
}

func instant(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestAWindowStaysOpenOverMidnightWhenTheNextDayFollowsAtOnce(t *testing.T) {
	w := Window{Zone: "UTC"}
	at := time.Date(2026, 3, 2, 23, 59, 55, 0, time.UTC)
	if d := w.OpenFor(at, time.Minute); d != time.Minute {
		t.Errorf("open for %v", d)
	}
	w.Days = []Day{Mon}
	if d := w.OpenFor(at, time.Minute); d != 5*time.Second {
		t.Errorf("the last day: open for %v", d)
	}
	if d := w.OpenFor(at.Add(5*time.Second), time.Minute); d != 0 {
		t.Errorf("closed: open for %v", d)
	}
	w = Window{Zone: "UTC", Start: 9 * 60, End: 17 * 60, ContactZone: true}.For(Home{Zones: []string{"Europe/Berlin",
		"America/New_York"}})
	if d := w.OpenFor(time.Date(2026, 3, 2, 15, 59, 58, 0, time.UTC), time.Minute); d != 2*time.Second {
		t.Errorf("of two zones the first to close rules: open for %v", d)
	}
}

func TestTheWindowIsHalfOpenOnWorkingDays(t *testing.T) {
	office := win("09:00", "18:00", "Europe/Berlin", Mon, Tue, Wed, Thu, Fri)
	office.Holidays = []Date{{2030, time.May, 1}} // a Wednesday
	f := func(at string, open bool) {
		t.Helper()
		if got := office.Open(instant(at)); got != open {
			t.Errorf("%s: open %v", at, got)
		}
	}
	f("2030-04-30T08:59:59+02:00", false)
	f("2030-04-30T09:00:00+02:00", true)
	f("2030-04-30T07:00:00Z", true)
	f("2030-04-30T17:59:59+02:00", true)
	f("2030-04-30T18:00:00+02:00", false)
	f("2030-05-01T12:00:00+02:00", false) // holiday
	f("2030-05-02T12:00:00+02:00", true)
	f("2030-05-04T12:00:00+02:00", false) // Saturday
	f("2030-01-15T08:30:00Z", true)       // winter time
	f("2030-01-15T07:30:00Z", false)
}

func TestAWindowAcrossMidnightBelongsToTheDayItOpened(t *testing.T) {
	night := win("22:00", "02:00", "UTC", Fri)
	night.Holidays = []Date{{2030, time.May, 10}} // a Friday
	f := func(at string, open bool, closes string) {
		t.Helper()
		if got := night.Open(instant(at)); got != open {
			t.Errorf("%s: open %v", at, got)
		}
		end, ok := night.Closes(instant(at))
		if ok != open || open && !end.Equal(instant(closes)) {
			t.Errorf("%s: closes %s, %v", at, end, ok)
		}
	}
	f("2030-05-03T21:59:59Z", false, "")
	f("2030-05-03T22:00:00Z", true, "2030-05-04T02:00:00Z")
	f("2030-05-04T01:59:59Z", true, "2030-05-04T02:00:00Z") // Saturday by the calendar
	f("2030-05-04T02:00:00Z", false, "")
	f("2030-05-03T01:00:00Z", false, "") // Friday by the calendar, Thursday's night
	f("2030-05-10T23:00:00Z", false, "") // holiday
	f("2030-05-11T01:00:00Z", false, "") // still the holiday's night
}

func TestEqualStartAndEndIsTheWholeDay(t *testing.T) {
	f := func(start, end, at string, open bool, closes string) {
		t.Helper()
		w := win(start, end, "Europe/Berlin", Tue, Wed)
		if got := w.Open(instant(at)); got != open {
			t.Errorf("%s-%s at %s: open %v", start, end, at, got)
		}
		c, ok := w.Closes(instant(at))
		if ok != open || open && !c.Equal(instant(closes)) {
			t.Errorf("%s-%s at %s: closes %s, %v", start, end, at, c, ok)
		}
	}
	for _, se := range [][2]string{{"00:00", "00:00"}, {"09:00", "09:00"}, {"00:00", "24:00"}} {
		f(se[0], se[1], "2030-04-30T00:00:00+02:00", true, "2030-05-01T00:00:00+02:00")
		f(se[0], se[1], "2030-04-30T23:59:59+02:00", true, "2030-05-01T00:00:00+02:00")
		f(se[0], se[1], "2030-05-01T12:00:00+02:00", true, "2030-05-02T00:00:00+02:00")
		f(se[0], se[1], "2030-05-02T00:00:00+02:00", false, "")
		f(se[0], se[1], "2030-04-29T23:59:59+02:00", false, "")
	}
	f("22:00", "24:00", "2030-04-30T23:30:00+02:00", true, "2030-05-01T00:00:00+02:00")
}

func TestDaylightSavingTimeBothWays(t *testing.T) {
	f := func(w Window, at, next, closes string) {
		t.Helper()
		got, ok := w.NextOpening(instant(at))
		if !ok || !got.Equal(instant(next)) {
			t.Errorf("%s: opens %s, %v; want %s", at, got, ok, next)
		}
		end, ok := w.Closes(got)
		if !ok || !end.Equal(instant(closes)) {
			t.Errorf("%s: opening of %s closes %s, %v; want %s", at, next, end, ok, closes)
		}
	}
	const berlin, york = "Europe/Berlin", "America/New_York"
	// Berlin: 31 March 2030 02:00 → 03:00, 27 October 2030 03:00 → 02:00.
	day := win("09:00", "18:00", berlin)
	f(day, "2030-03-30T18:00:00+01:00", "2030-03-31T09:00:00+02:00", "2030-03-31T18:00:00+02:00")
	f(day, "2030-10-26T18:00:00+02:00", "2030-10-27T09:00:00+01:00", "2030-10-27T18:00:00+01:00")
	// The start is skipped: open as soon as the clock has jumped past it.
	f(win("02:30", "04:00", berlin), "2030-03-31T00:00:00+01:00", "2030-03-31T03:00:00+02:00", "2030-03-31T04:00:00+02:00")
	// The end is skipped: closed as soon as the clock has jumped past it.
	f(win("01:00", "02:30", berlin), "2030-03-31T00:00:00+01:00", "2030-03-31T01:00:00+01:00", "2030-03-31T03:00:00+02:00")
	// The whole window is skipped: it does not open that day.
	f(win("02:15", "02:45", berlin), "2030-03-31T00:00:00+01:00", "2030-04-01T02:15:00+02:00", "2030-04-01T02:45:00+02:00")
	// Shown twice, open twice: an hour longer.
	f(win("01:00", "04:00", berlin), "2030-10-27T00:00:00+02:00", "2030-10-27T01:00:00+02:00", "2030-10-27T04:00:00+01:00")
	f(win("02:00", "03:00", berlin), "2030-10-27T00:00:00+02:00", "2030-10-27T02:00:00+02:00", "2030-10-27T03:00:00+01:00")
	// The end is shown twice: the opening is interrupted and goes on.
	f(win("01:00", "02:30", berlin), "2030-10-27T00:00:00+02:00", "2030-10-27T01:00:00+02:00", "2030-10-27T02:30:00+01:00")
	// The start is shown twice.
	f(win("02:30", "05:00", berlin), "2030-10-27T00:00:00+02:00", "2030-10-27T02:30:00+02:00", "2030-10-27T05:00:00+01:00")
	f(win("22:00", "03:00", york), "2030-03-09T12:00:00-05:00", "2030-03-09T22:00:00-05:00", "2030-03-10T03:00:00-04:00")
	f(win("22:00", "03:00", york), "2030-11-02T12:00:00-04:00", "2030-11-02T22:00:00-04:00", "2030-11-03T03:00:00-05:00")
	// Midnight itself is skipped, or shown twice.
	f(win("00:00", "00:00", "Africa/Cairo", Fri), "2030-04-25T12:00:00+02:00", "2030-04-26T01:00:00+03:00",
		"2030-04-27T00:00:00+03:00")
	f(win("00:00", "00:00", "America/Havana", Sat), "2030-11-02T00:00:00-04:00", "2030-11-02T00:00:00-04:00",
		"2030-11-03T00:00:00-04:00")
	// A day that never existed: Apia skipped 30 December 2011, a Friday.
	f(win("09:00", "17:00", "Pacific/Apia", Fri), "2011-12-29T20:00:00-10:00", "2012-01-06T09:00:00+14:00",
		"2012-01-06T17:00:00+14:00")

	inside := win("01:00", "02:30", berlin)
	for at, open := range map[string]bool{
		"2030-10-27T02:29:59+02:00": true, "2030-10-27T02:30:00+02:00": false, "2030-10-27T02:59:59+02:00": false,
		"2030-10-27T02:00:00+01:00": true, "2030-10-27T02:29:59+01:00": true, "2030-10-27T02:30:00+01:00": false,
	} {
		if inside.Open(instant(at)) != open {
			t.Errorf("%s: open %v", at, !open)
		}
	}
}

func TestTheLastDayOfALeapYearEnds(t *testing.T) {
	for _, zone := range zonesWithChanges {
		for _, year := range []int{2028, 2032, 2044} {
			loc, _ := time.LoadLocation(zone)
			w := win("09:00", "18:00", zone)
			next, ok := w.NextOpening(time.Date(year, 12, 31, 19, 0, 0, 0, loc))
			if want := time.Date(year+1, 1, 1, 9, 0, 0, 0, loc); !ok || !next.Equal(want) {
				t.Errorf("%s %d: opens %s, %v", zone, year, next, ok)
			}
			end, ok := w.Closes(time.Date(year, 12, 31, 15, 0, 0, 0, loc))
			if want := time.Date(year, 12, 31, 18, 0, 0, 0, loc); !ok || !end.Equal(want) {
				t.Errorf("%s %d: closes %s, %v", zone, year, end, ok)
			}
		}
	}
}

func TestNumbersOfSeveralZonesAreCalledWhenAllAreOpen(t *testing.T) {
	w := win("09:00", "18:00", "Europe/Berlin")
	w.ContactZone = true
	f := func(zones []string, at, next, closes string) {
		t.Helper()
		c := w.For(Home{Zones: zones})
		got, ok := c.NextOpening(instant(at))
		if ok != (next != "") || ok != c.CanEverOpen(instant(at)) || ok && !got.Equal(instant(next)) {
			t.Errorf("%v at %s: opens %s, %v", zones, at, got, ok)
			return
		}
		if !ok {
			return
		}
		if end, ok := c.Closes(got); !ok || !end.Equal(instant(closes)) {
			t.Errorf("%v at %s: closes %s, %v", zones, at, end, ok)
		}
	}
	f(nil, "2030-05-02T00:00:00Z", "2030-05-02T07:00:00Z", "2030-05-02T16:00:00Z") // the campaign's own
	f([]string{"America/New_York"}, "2030-05-02T00:00:00Z", "2030-05-02T13:00:00Z", "2030-05-02T22:00:00Z")
	f([]string{"America/New_York", "America/Los_Angeles"}, "2030-05-02T00:00:00Z", "2030-05-02T16:00:00Z",
		"2030-05-02T22:00:00Z")
	f([]string{"America/New_York", "Pacific/Guam"}, "2030-05-02T00:00:00Z", "", "") // never both
	f([]string{"America/New_York", "No/Where"}, "2030-05-02T00:00:00Z", "", "")
	if w.For(Home{Zones: []string{"America/New_York", "Pacific/Guam"}}).Open(instant("2030-05-02T14:00:00Z")) {
		t.Error("open although one zone is closed")
	}
	if _, ok := w.For(Home{Zones: []string{"America/New_York", "Pacific/Guam"}}).Closes(
		instant("2030-05-02T14:00:00Z")); ok {
		t.Error("closes although it is not open")
	}
	w.ContactZone = false
	f([]string{"America/New_York"}, "2030-05-02T00:00:00Z", "2030-05-02T07:00:00Z", "2030-05-02T16:00:00Z")
}

func TestAnUnknownZoneNeverOpens(t *testing.T) {
	for _, zone := range []string{"No/Where", "Local", "../etc/passwd", "CEST"} {
		w := win("00:00", "00:00", zone)
		now := instant("2030-05-02T14:00:00Z")
		if _, ok := w.Closes(now); ok || w.Open(now) || w.CanEverOpen(now) {
			t.Errorf("%s opens", zone)
		}
	}
	if got := win("00:00", "00:00", "No/Where").Day(instant("2030-05-02T23:30:00Z")); got != (Date{2030, 5, 2}) {
		t.Errorf("day %s", got)
	}
	if got := win("00:00", "00:00", "Europe/Berlin").Day(instant("2030-05-02T23:30:00Z")); got != (Date{2030, 5, 3}) {
		t.Errorf("day %s", got)
	}
}

func TestValidateSaysWhichFieldsAreWrong(t *testing.T) {
	f := func(change func(*Window), fields ...string) {
		t.Helper()
		w := win("09:00", "18:00", "Europe/Berlin", Mon)
		change(&w)
		err := w.Validate()
		if len(fields) == 0 {
			if err != nil {
				t.Errorf("%v", err)
			}
			return
		}
		var e *engine.Error
		if !errors.As(err, &e) || e.Code != "invalid_window" || e.Kind != engine.KindInvalid || len(e.Fields) != len(fields) {
			t.Errorf("%v, want fields %v", err, fields)
			return
		}
		for i, name := range fields {
			if e.Fields[i].Field != "window."+name || e.Fields[i].Message == "" || e.Fields[i].Code == "" {
				t.Errorf("field %+v, want %s", e.Fields[i], name)
			}
		}
	}
	f(func(*Window) {})
	f(func(w *Window) { w.Days = nil })
	f(func(w *Window) { w.End = minutesOfDay })
	f(func(w *Window) { w.Holidays = []Date{{2028, 2, 29}} })
	f(func(w *Window) { w.Zone = "" }, "zone")
	f(func(w *Window) { w.Zone = "Local" }, "zone")
	f(func(w *Window) { w.Zone = "Mars/Olympus" }, "zone")
	f(func(w *Window) { w.Days = []Day{} }, "days")
	f(func(w *Window) { w.Days = []Day{Mon, "Monday"} }, "days")
	f(func(w *Window) { w.Days = []Day{"mon", "x"} }, "days")
	f(func(w *Window) { w.Holidays = []Date{{2030, 2, 29}} }, "holidays")
	f(func(w *Window) { w.Start, w.End = minutesOfDay, minutesOfDay+1 }, "start", "end")
	f(func(w *Window) { w.Start, w.End = -1, -1 }, "start", "end")
}

func TestTheZeroWindowIsAlwaysOpen(t *testing.T) {
	var w Window
	now := instant("2030-05-02T14:00:00Z")
	if next, ok := w.NextOpening(now); !ok || next != now || !w.Open(now) {
		t.Fatal(next, ok)
	}
}

func TestJSONIsWhatTheInterfaceShows(t *testing.T) {
	const text = `{"start":"09:00","end":"18:05","zone":"Europe/Berlin","days":["Mon","Sun"],` +
		`"holidays":["2030-12-25"],"contact_zone":true}`
	var w Window
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	want := Window{Start: 540, End: 1085, Zone: "Europe/Berlin", Days: []Day{Mon, Sun}, Holidays: []Date{{2030, 12, 25}},
		ContactZone: true}
	if w.Start != want.Start || w.End != want.End || w.Zone != want.Zone || !slices.Equal(w.Days, want.Days) ||
		!slices.Equal(w.Holidays, want.Holidays) || !w.ContactZone {
		t.Fatalf("%+v", w)
	}
	if b, err := json.Marshal(w); err != nil || string(b) != text {
		t.Fatalf("%s, %v", b, err)
	}
	f := func(text string) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), &w); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
	f(`{"start":"9:00"}`)
	f(`{"start":"24:01"}`)
	f(`{"start":"12:60"}`)
	f(`{"start":"1a:00"}`)
	f(`{"start":"09.00"}`)
	f(`{"start":540}`)
	f(`{"holidays":["2030-02-29"]}`)
	f(`{"holidays":["25.12.2030"]}`)
	if _, err := json.Marshal(Window{Start: -1}); err == nil {
		t.Error("a time before midnight was written")
	}
	if _, err := json.Marshal(Window{Holidays: []Date{{}}}); err == nil {
		t.Error("a date that does not exist was written")
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"start":"09:00","end":"18:00","zone":"Europe/Berlin","days":["Mon"],"holidays":["2030-12-25"]}`))
	f.Add([]byte(`{"start":"22:00","end":"24:00","zone":"UTC","days":null}`))
	f.Add([]byte(`{"start":"00:00","end":"00:00","zone":"","days":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var w Window
		if json.Unmarshal(b, &w) != nil {
			return
		}
		now := instant("2030-03-30T23:30:00Z")
		valid := w.Validate() == nil
		next, ok := w.NextOpening(now)
		if valid && (!ok || !w.Open(next)) {
			t.Fatalf("%s never opens: %s", b, next)
		}
		if !valid {
			return
		}
		text, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		var again Window
		if err := json.Unmarshal(text, &again); err != nil || again.Open(now) != w.Open(now) || again.Validate() != nil {
			t.Fatalf("%s became %s: %v", b, text, err)
		}
	})
}

// wallOpen is the rule in its simplest form: what the clock on the wall shows.
func wallOpen(w Window, zone string, t time.Time) bool {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return false
	}
	l := t.In(loc)
	works := func(l time.Time) bool {
		if slices.Contains(w.Holidays, Date{l.Year(), l.Month(), l.Day()}) {
			return false
		}
		return w.Days == nil || slices.Contains(w.Days, Day(l.Format("Mon")))
	}
	clock, start, end := l.Format("15:04"), w.Start.String(), w.End.String()
	noon := time.Date(l.Year(), l.Month(), l.Day(), 12, 0, 0, 0, time.UTC)
	switch {
	case start == end:
		return works(noon)
	case start < end:
		return start <= clock && clock < end && works(noon)
	}
	return clock >= start && works(noon) || clock < end && works(noon.AddDate(0, 0, -1))
}

var zonesWithChanges = []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo",
	"America/Havana",
	"Africa/Casablanca", "Pacific/Chatham", "Asia/Kolkata", "UTC", "America/Sao_Paulo", "Pacific/Apia", "Asia/Tehran",
	"Europe/Dublin"}

func drawWindow(t *rapid.T) Window {
	minutes := rapid.IntRange(0, 95)
	w := Window{
		Start: TimeOfDay(15 * minutes.Draw(t, "start")),
		End:   TimeOfDay(15 * minutes.Draw(t, "end")),
		Zone:  rapid.SampledFrom(zonesWithChanges).Draw(t, "zone"),
	}
	if rapid.Bool().Draw(t, "some days") {
		w.Days = rapid.SliceOfNDistinct(rapid.SampledFrom(days[:]), 1, 7, rapid.ID).Draw(t, "days")
	}
	return w
}

// drawInstant prefers the hours around changes of the clock.
func drawInstant(t *rapid.T, zone string) time.Time {
	at := time.Date(2000, 1, 1, 0, 0, 0, 0,
		time.UTC).Add(time.Duration(rapid.Int64Range(0, 40*365*24*60).Draw(t, "minute")) * time.Minute)
	if rapid.Bool().Draw(t, "near a change") {
		loc, _ := time.LoadLocation(zone)
		if _, change := at.In(loc).ZoneBounds(); !change.IsZero() {
			at = change.Add(time.Duration(rapid.IntRange(-2000, 300).Draw(t, "off")) * time.Minute)
		}
	}
	return at.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 1, 59_999}).Draw(t, "ms")) * time.Millisecond)
}

func TestNextOpeningIsOpenAndNothingEarlierIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWindow(t)
		now := drawInstant(t, w.Zone)
		for range rapid.IntRange(0, 5).Draw(t, "holidays") {
			w.Holidays = append(w.Holidays, dateOf(now.AddDate(0, 0, rapid.IntRange(-1, 8).Draw(t, "holiday"))))
		}
		if err := w.Validate(); err != nil {
			t.Fatal(err)
		}
		if w.Open(now) != wallOpen(w, w.Zone, now) {
			t.Fatalf("%+v at %s: open %v", w, now, w.Open(now))
		}
		next, ok := w.NextOpening(now)
		if !ok || next.Before(now) || !wallOpen(w, w.Zone, next) {
			t.Fatalf("%+v from %s: opens %s, %v", w, now, next, ok)
		}
		if w.Open(now) != next.Equal(now) {
			t.Fatalf("%+v at %s: open %v, opens %s", w, now, w.Open(now), next)
		}
		for at := now; at.Before(next); at = at.Truncate(time.Minute).Add(time.Minute) {
			if wallOpen(w, w.Zone, at) {
				t.Fatalf("%+v from %s: opens %s, but %s is open", w, now, next, at)
			}
		}
	})
}

func TestClosesIsTheFirstInstantAfterTheDaysOpening(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWindow(t)
		now := drawInstant(t, w.Zone)
		loc, _ := time.LoadLocation(w.Zone)
		end, ok := w.Closes(now)
		if ok != w.Open(now) {
			t.Fatalf("%+v at %s: closes %v, open %v", w, now, ok, w.Open(now))
		}
		if !ok {
			return
		}
		day, _ := w.opening(now.In(loc))
		if !end.After(now) || end.Sub(now) > 26*time.Hour {
			t.Fatalf("%+v at %s: closes %s", w, now, end)
		}
		last := end.Add(-time.Millisecond)
		if d, open := w.opening(last.In(loc)); !open || d != day {
			t.Fatalf("%+v at %s: closes %s, but is closed before", w, now, end)
		}
		for m := range 26 * 60 {
			at := end.Add(time.Duration(m) * time.Minute)
			if d, open := w.opening(at.In(loc)); open && d == day {
				t.Fatalf("%+v at %s: closes %s, but %s is open", w, now, end, at)
			}
		}
	})
}

func TestSeveralZonesAreTheIntersection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWindow(t)
		w.ContactZone = true
		zones := rapid.SliceOfN(rapid.SampledFrom(zonesWithChanges), 1, 3).Draw(t, "zones")
		w = w.For(Home{Zones: zones})
		now := drawInstant(t, zones[0])
		all := true
		for _, z := range zones {
			all = all && wallOpen(w, z, now)
		}
		if w.Open(now) != all {
			t.Fatalf("%+v: open %v", w, w.Open(now))
		}
		next, ok := w.NextOpening(now)
		if !ok {
			next = now.AddDate(0, 0, 7)
		} else if !w.Open(next) || next.Before(now) {
			t.Fatalf("%+v: opens %s", w, next)
		}
		for at := now; at.Before(next) && at.Before(now.AddDate(0, 0, 8)); at =
			at.Truncate(5 * time.Minute).Add(5 * time.Minute) {
			if w.Open(at) {
				t.Fatalf("%+v from %s: opens %s, but %s is open", w, now, next, at)
			}
		}
	})
}

func TestOpenDoesNotAllocate(t *testing.T) {
	w := win("09:00", "18:00", "Europe/Berlin", Mon, Tue, Wed, Thu, Fri)
	now := instant("2030-05-02T14:00:00Z")
	if n := testing.AllocsPerRun(100, func() { w.Open(now) }); n > 1 {
		t.Fatalf("%v allocations", n)
	}
}

func BenchmarkOpen(b *testing.B) {
	w := win("09:00", "18:00", "Europe/Berlin", Mon, Tue, Wed, Thu, Fri)
	now := instant("2030-05-02T14:00:00Z")
	b.ReportAllocs()
	for b.Loop() {
		if !w.Open(now) {
			b.Fatal("closed")
		}
	}
}

func BenchmarkNextOpening(b *testing.B) {
	w := win("09:00", "18:00", "Europe/Berlin", Mon, Tue, Wed, Thu, Fri)
	now := instant("2030-05-03T20:00:00Z")
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := w.NextOpening(now); !ok {
			b.Fatal("never")
		}
	}
}

// FuzzTimes checks that an accepted time of day or date is written as it came.
func FuzzTimes(f *testing.F) {
	for _, s := range []string{"09:30", "24:00", "2026-02-28", "2024-02-29", "0000-01-01", "9:30", "24:01", "2026-02-30",
		"::::::"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if m, err := ParseTimeOfDay(s); err == nil {
			b, err := m.MarshalText()
			if m < 0 || m > minutesOfDay || err != nil || string(b) != s {
				t.Fatalf("%q is %d, written %q: %v", s, m, b, err)
			}
		}
		if d, err := ParseDate(s); err == nil && d.String() != s {
			t.Fatalf("%q is %q", s, d)
		}
	})
}
