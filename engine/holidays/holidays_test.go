package holidays

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teambition/rrule-go"

	"dialler/engine"
	"dialler/engine/window"
)

func listed(t *testing.T, events, from, to string) string {
	t.Helper()
	a, _ := window.ParseDate(from)
	b, _ := window.ParseDate(to)
	list, err := Read("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n"+strings.ReplaceAll(events, "\n",
		"\r\n")+"\r\nEND:VCALENDAR\r\n", a, b)
	if err != nil {
		return engine.ErrorDetail(err)
	}
	var out []string
	for _, h := range list {
		out = append(out, strings.TrimSpace(h.Date.String()+" "+h.Name))
	}
	return strings.Join(out, ", ")
}

func event1(lines ...string) string {
	return "BEGIN:VEVENT\n" + strings.Join(lines, "\n") + "\nEND:VEVENT"
}

func TestAFileOfHolidaysIsRead(t *testing.T) {
	for name, c := range map[string]struct{ events, want string }{
		"one day": {event1("DTSTART;VALUE=DATE:20301225", "SUMMARY:Christmas Day"), "2030-12-25 Christmas Day"},
		"several days, the end excluded": {event1("DTSTART;VALUE=DATE:20301230", "DTEND;VALUE=DATE:20310102",
			"SUMMARY:Break"),
			"2030-12-30 Break, 2030-12-31 Break, 2031-01-01 Break"},
		"a length":      {event1("DTSTART;VALUE=DATE:20301230", "DURATION:P2D"), "2030-12-30, 2030-12-31"},
		"a length in h": {event1("DTSTART:20301230T100000Z", "DURATION:PT8H"), "2030-12-30"},
		"with times": {event1("DTSTART;TZID=Europe/Berlin:20301230T220000", "DTEND;TZID=Europe/Berlin:20301231T020000"),
			"2030-12-30, 2030-12-31"},
		"until midnight": {event1("DTSTART:20301230T000000", "DTEND:20301231T000000"), "2030-12-30"},
		"folded, escaped, quoted": {event1(`DTSTART;X-A="a:b;c";VALUE=DATE:20301225`, `SUMMARY:Christmas\, `,
			" the first\\; day"),
			"2030-12-25 Christmas, the first; day"},
		"every year": {event1("DTSTART;VALUE=DATE:19701225", "RRULE:FREQ=YEARLY", "SUMMARY:X"),
			"2030-12-25 X, 2031-12-25 X, 2032-12-25 X"},
		"a number of times": {event1("DTSTART;VALUE=DATE:20291225", "RRULE:FREQ=YEARLY;COUNT=3"),
			"2030-12-25, 2031-12-25"},
		"until a date": {event1("DTSTART;VALUE=DATE:20291225", "RRULE:FREQ=YEARLY;UNTIL=20311225"),
			"2030-12-25, 2031-12-25"},
		"but not then": {event1("DTSTART;VALUE=DATE:20291225", "RRULE:FREQ=YEARLY",
			"EXDATE;VALUE=DATE:20311225,20321225"),
			"2030-12-25"},
		"and then": {event1("DTSTART;VALUE=DATE:20290101", "RDATE;VALUE=DATE:20300101,20310103"),
			"2030-01-01, 2031-01-03"},
		"every other year": {event1("DTSTART;VALUE=DATE:20281225", "RRULE:FREQ=YEARLY;INTERVAL=2"),
			"2030-12-25, 2032-12-25"},
		"a leap day": {event1("DTSTART;VALUE=DATE:20280229", "RRULE:FREQ=YEARLY"), "2032-02-29"},
		"the fourth Thursday of November": {event1("DTSTART;VALUE=DATE:20211125",
			"RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH"),
			"2030-11-28, 2031-11-27, 2032-11-25"},
		"an occurrence that is moved": {event1("UID:a", "DTSTART;VALUE=DATE:20291225",
			"RRULE:FREQ=YEARLY;UNTIL=20311225") + "\n" +
			event1("UID:a", "RECURRENCE-ID;VALUE=DATE:20311225", "DTSTART;VALUE=DATE:20311226"),
			"2030-12-25, 2031-12-26"},
		"what is cancelled": {event1("DTSTART;VALUE=DATE:20301225", "STATUS:CANCELLED"), ""},
		"what else a file has": {"BEGIN:VTIMEZONE\nBEGIN:STANDARD\nDTSTART:16010101T030000\n" +
			"RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10\n" +
			"END:STANDARD\nEND:VTIMEZONE\n" + event1("DTSTART;VALUE=DATE:20301225", "BEGIN:VALARM", "DTSTART:x",
			"END:VALARM"),
			"2030-12-25"},

		"no date": {event1("DTSTART:tomorrow"),
			"line 4: DTSTART is no date, for example DTSTART;VALUE=DATE:20301225"},
		"no start": {event1("SUMMARY:X"),
			"line 3: the event has no DTSTART, for example DTSTART;VALUE=DATE:20301225"},
		"every second": {event1("DTSTART:20301225T000000Z", "RRULE:FREQ=SECONDLY"),
			"line 3: the event's RRULE cannot be used: only FREQ=YEARLY is read; for example RRULE:FREQ=YEARLY"},
		"no recurrence": {event1("DTSTART:20301225", "RRULE:EVERY"),
			"line 3: the event's RRULE cannot be used: wrong format; for example RRULE:FREQ=YEARLY"},
		"a thousand years": {event1("DTSTART;VALUE=DATE:20301225", "DTEND;VALUE=DATE:20331225"),
			"line 3: the event lasts 1096 days; at most 366 are read"},
		"cut off": {"BEGIN:VEVENT\nDTSTART;VALUE=DATE:20301225", "line 3: the event does not end: the file is cut off"},
	} {
		got := listed(t, c.events, "2030-01-01", "2032-12-31")
		if name == "cut off" {
			_, err := Read("BEGIN:VCALENDAR\nX:1\n"+c.events, window.Date{}, window.Date{})
			got = engine.ErrorDetail(err)
		}
		if got != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, c.want)
		}
	}
	if list, err := Read("\ufeff"+Example, window.Date{Year: 2031, Month: 1, Day: 1},
		window.Date{Year: 2031, Month: 12, Day: 31}); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
}

func TestAFileThatIsTooLargeIsRefused(t *testing.T) {
	from, to := window.Date{Year: 2030, Month: 1, Day: 1}, window.Date{Year: 2040, Month: 12, Day: 31}
	file := func(events string) string { return "BEGIN:VCALENDAR\n" + events + "END:VCALENDAR" }
	for want, text := range map[string]string{
		"larger than 512 KiB": strings.Repeat("x", FileMost+1), "the file is empty": "", "no calendar": "<html>",
		"is cut off":            strings.TrimSuffix(Example, "END:VCALENDAR"),
		"more than 2000 events": file(strings.Repeat("BEGIN:VEVENT\nDTSTART:20301225\nEND:VEVENT\n", 2001)),
		"more than 200 with": file(strings.Repeat("BEGIN:VEVENT\nDTSTART:20301225\nRRULE:FREQ=YEARLY\nEND:VEVENT\n",
			201)),
		"more than 100 dates": file("BEGIN:VEVENT\nDTSTART:20301225\nRDATE:" + strings.Repeat("20301225,", 101) +
			"20301225\nEND:VEVENT\n"),
		"at most 2000 are kept": file(strings.Repeat("BEGIN:VEVENT\nDTSTART:20300101\nDTEND:20301231\n"+
			"RRULE:FREQ=YEARLY\nEND:VEVENT\n", 6)),
	} {
		if _, err := Read(text, from, to); err == nil || !strings.Contains(engine.ErrorDetail(err), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	// Rules without any day are the slowest ones.
	_,
		err := Read(file(strings.Repeat("BEGIN:VEVENT\nDTSTART:20300101\n"+
		"RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30\nEND:VEVENT\n",
		yearlyMost)), from, to)
	if err != nil {
		t.Error(err)
	}
}

// Years are taken one by one, and those before the wanted ones left out where nothing is counted: what a
// rule says does not change by that.
func TestARuleHasTheDaysThatTheWholeOfItHas(t *testing.T) {
	from, to := window.Date{Year: 2027, Month: 3, Day: 1}, window.Date{Year: 2040, Month: 6, Day: 30}
	for _, start := range []string{"19000101", "19991231", "20240229", "20270615", "20301225"} {
		for _, rule := range []string{"", ";INTERVAL=3", ";COUNT=9", ";INTERVAL=4;COUNT=30", ";UNTIL=20340101",
			";UNTIL=20340101T000000Z", ";BYMONTH=5", ";BYMONTH=1,12;BYDAY=-1MO,2FR", ";BYMONTHDAY=-1,31", ";BYYEARDAY=1,-1,366",
			";BYWEEKNO=1,53,-1", ";BYWEEKNO=20;BYDAY=MO;WKST=SU", ";BYEASTER=-2,0,1", ";BYDAY=MO,TU;BYSETPOS=1,-1",
			";BYDAY=-1SU",
			";BYMONTH=6;BYMONTHDAY=10,20;COUNT=25;INTERVAL=2", ";BYDAY=FR;BYMONTHDAY=13;COUNT=40"} {
			for _, last := range []int{1, 366} {
				e := event{days: last, rule: "FREQ=YEARLY" + rule}
				e.start, _, _ = day("DTSTART", start)
				o, err := e.recurrence()
				if err != nil {
					t.Fatal(rule, err)
				}
				whole, _ := rrule.NewRRule(*o)
				looks := 0
				got := slices.Collect(e.occurrences(from.Midnight(), to.Midnight(), nil, &looks))
				got = slices.DeleteFunc(got, func(at time.Time) bool {
					return at.AddDate(0, 0, last).Compare(from.Midnight()) <= 0
				})
				want := whole.Between(from.Midnight().AddDate(0, 0, 1-last), to.Midnight(), true)
				if !slices.EqualFunc(got, want, time.Time.Equal) {
					t.Errorf("from %s%s, %d days each:\n%v, want\n%v", start, rule, last, got, want)
				}
			}
		}
	}
}

func TestASmallFileOfMillionsOfDaysCostsFewMegabytes(t *testing.T) {
	from, to := window.Date{Year: 2030, Month: 1, Day: 1}, window.Date{Year: 2040, Month: 12, Day: 31}
	event := func(lines string) string { return "BEGIN:VEVENT\n" + lines + "\nEND:VEVENT\n" }
	everyDay := "RRULE:FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU\n"
	for name, c := range map[string]struct{ events, want string }{
		"every day, for a year each": {strings.Repeat(event("DTSTART:20300101\n"+everyDay+"DURATION:P366D"), 200),
			"too often"},
		"dates, for a year each": {strings.Repeat(event("DTSTART:20300101\nDURATION:P366D\nRDATE:"+
			strings.Repeat("20300101,", 99)+"20300101"), 500), "too often"},
		"every day, since long ago": {strings.Repeat(event("DTSTART:19000101\n"+everyDay+"DURATION:P366D"), 200),
			"too often"},
		"no day, since long ago": {strings.Repeat(event("DTSTART:00020101\n"+
			"RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"), 200), "before 1900"},
		"no day in any year": {strings.Repeat(event("DTSTART:19000101\n"+
			"RRULE:FREQ=YEARLY;BYWEEKNO=53;BYMONTH=6"), 200), ""},
		"no day in any year, once": {strings.Repeat(event("DTSTART:19000101\n"+
			"RRULE:FREQ=YEARLY;BYWEEKNO=53;BYMONTH=6;COUNT=1"), 20), ""},
		"a rule with too many values": {event("DTSTART:20300101\nRRULE:FREQ=YEARLY;COUNT=1;BYMONTH=2;BYMONTHDAY=" +
			strings.Repeat("30,", 150_000) + "30"), "too many values"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Read("BEGIN:VCALENDAR\n"+c.events+"END:VCALENDAR", from, to)
		runtime.ReadMemStats(&after)
		if c.want == "" && err != nil || !strings.Contains(engine.ErrorDetail(err), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n >= 50 {
			t.Errorf("%s: %d MB", name, n)
		}
	}
}

func TestTheBuiltInSetsHaveTheHolidaysOfACountry(t *testing.T) {
	// As the countries' governments publish them.
	for code, want := range map[string]string{
		"DE": "2026-01-01 2026-04-03 2026-04-06 2026-05-01 2026-05-14 2026-05-25 2026-10-03 2026-12-25 2026-12-26",
		"FR": "2026-01-01 2026-04-06 2026-05-01 2026-05-08 2026-05-14 2026-05-25 2026-07-14 " +
			"2026-08-15 2026-11-01 2026-11-11 2026-12-25",
		"GB": "2026-01-01 2026-04-03 2026-04-06 2026-05-04 2026-05-25 2026-08-31 2026-12-25 2026-12-26 2026-12-28",
	} {
		list, ok := Of(code)
		if !ok || !slices.IsSortedFunc(list, func(a, b window.Holiday) int { return a.Date.Compare(b.Date) }) {
			t.Fatal(code)
		}
		var days []string
		for _, h := range list {
			if h.Date.Year == 2026 {
				days = append(days, h.Date.String())
			}
		}
		if got := strings.Join(days, " "); got != want {
			t.Errorf("%s:\n%s, want\n%s", code, got, want)
		}
	}
	if _, ok := Of("XX"); ok {
		t.Error("there is a set of XX")
	}
	for _, s := range Sets {
		list, ok := Of(s.Code)
		if !ok || len(list) < 6*(LastYear-FirstYear) || len(list) > window.HolidaysMost {
			t.Errorf("%s has %d days", s.Code, len(list))
		}
	}
	list, _ := Of("DE-BY")
	if !slices.ContainsFunc(list, func(h window.Holiday) bool {
		return h.Date.Midnight().Equal(time.Date(2026, 6, 4, 0, 0, 0, 0, time.UTC))
	}) {
		t.Error("Corpus Christi is missing in Bavaria: " + fmt.Sprint(len(list)))
	}
}

func FuzzRead(f *testing.F) {
	f.Add(Example)
	f.Add("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20280229T120000Z\nDURATION:P1W\n" +
		"RRULE:FREQ=YEARLY;BYDAY=-1MO;BYMONTH=5\nEND:VEVENT\n")
	from, to := window.Date{Year: 2030, Month: 1, Day: 1}, window.Date{Year: 2032, Month: 12, Day: 31}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Read(text, from, to)
		for i, h := range list {
			if err != nil || h.Date.Compare(from) < 0 || h.Date.Compare(to) > 0 || i > 0 &&
				h.Date.Compare(list[i-1].Date) <= 0 {
				t.Fatalf("%v, %v", list, err)
			}
		}
	})
}
