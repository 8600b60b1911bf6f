package calendar

import (
	"errors"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/holidays"
	"dialler/engine/window"
)

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestACalendarHasTheHolidaysOfItsSetsAndItsFile(t *testing.T) {
	n := Named{Name: "Bavaria", Sets: []string{"DE-BY", "FR"}}
	if err := n.Read(strings.Replace(holidays.Example, "1225", "0704", 1), at("2030-01-07T00:00:00Z")); err != nil {
		t.Fatal(err)
	}
	w := window.Window{Zone: "Europe/Berlin"}.With([]*window.Calendar{&n.Hours}, nil)
	for day, want := range map[string]string{"2030-07-04": "Bavaria (Christmas Day)",
		"2030-06-20": "Bavaria (Fronleichnam)",
		"2030-07-14": "Bavaria (Fête Nationale)", "2030-07-15": "", "2040-07-04": "Bavaria (Christmas Day)",
		"2041-07-04": ""} {
		if got := w.ClosedBy(at(day + "T12:00:00Z")); got != want {
			t.Errorf("%s: %q, want %q", day, got, want)
		}
	}
	before := n
	if err := n.Read("<html>", at("2030-01-08T00:00:00Z")); engine.ErrorCode(err) != "invalid_holidays_file" ||
		len(n.File.Holidays) != len(before.File.Holidays) || n.File.Text != before.File.Text {
		t.Errorf("a bad file is taken: %v", err)
	}
}

func TestAnEmptyFileReplacesNoneWithDaysToCome(t *testing.T) {
	empty, now := "BEGIN:VCALENDAR\nEND:VCALENDAR", at("2030-01-08T00:00:00Z")
	n := Named{URL: "https://x"}
	if err := n.Read(holidays.Example, now); err != nil {
		t.Fatal(err)
	}
	if err := n.Renew(empty, now); engine.ErrorCode(err) != "invalid_holidays_file" || n.File.Text != holidays.Example ||
		len(n.Hours.Holidays) == 0 {
		t.Errorf("%v %+v", err, n)
	}
	// A file whose days have all passed is replaced by any other.
	if err := n.Read(strings.Replace(holidays.Example, "RRULE:FREQ=YEARLY", "UID:a", 1), now); err != nil {
		t.Fatal(err)
	}
	if err := n.Renew(empty, at("2031-06-01T00:00:00Z")); err != nil || n.File.Text != empty {
		t.Errorf("%v %+v", err, n)
	}
}

func TestAFileIsHadAgainDailyAndSoonerAfterAFailure(t *testing.T) {
	came := at("2030-01-07T00:00:00Z")
	for _, c := range []struct {
		n     Named
		after time.Duration
		want  bool
	}{
		{Named{}, 1000 * time.Hour, false},
		{Named{URL: "https://x"}, 0, true},
		{Named{URL: "https://x", File: File{ReadAt: came, TriedAt: came}}, RefreshEvery - 1, false},
		{Named{URL: "https://x", File: File{ReadAt: came, TriedAt: came}}, RefreshEvery, true},
		{Named{File: File{ReadAt: came, TriedAt: came}}, RefreshEvery, true}, // its days are read anew
		{Named{URL: "https://x", File: File{TriedAt: came, Problem: "404"}}, RetryEvery - 1, false},
		{Named{URL: "https://x", File: File{TriedAt: came, Problem: "404"}}, RetryEvery, true},
		{Named{URL: "https://x", File: File{ReadAt: came, TriedAt: came}}, -time.Second, true},
		// the clock was put back
	} {
		if got := c.n.Due(came.Add(c.after)); got != c.want {
			t.Errorf("%+v %s after: %v", c.n, c.after, got)
		}
	}
}

func TestACalendarThatDoesNotExistIsNeverOpen(t *testing.T) {
	now := at("2030-01-07T12:00:00Z")
	list := []Named{{ID: "a", Name: "A"}}
	w := Narrow(window.Window{Zone: "UTC"}, []engine.CalendarID{"a", "b"}, list)
	if w.Open(now) || w.CanEverOpen(now) || w.ClosedBy(now) != "b, which does not exist" {
		t.Errorf("%v, %s", w.Open(now), w.ClosedBy(now))
	}
	if got := Missing([]engine.CalendarID{"a", "b"}, list); len(got) != 1 || got[0] != "b" {
		t.Error(got)
	}
	if got := Names([]engine.CalendarID{"a", "b"}, list); got != "A, b" {
		t.Error(got)
	}
}

func TestACalendarNamesItsMistakes(t *testing.T) {
	known := func(code string) bool { return code == "DE" }
	bad := Named{Sets: []string{"DE", "XX"}, Hours: window.Calendar{Zone: "Berlin", Countries: []string{"DE",
		"Germany"}}}
	var e *engine.Error
	if !errors.As(bad.Validate(known), &e) {
		t.Fatal("it is accepted")
	}
	var fields []string
	for _, f := range e.Fields {
		fields = append(fields, f.Field)
	}
	if got := strings.Join(fields, " "); got != "holiday_sets[1] countries[1] zone" {
		t.Error(got)
	}
	many := Named{Sets: make([]string, SetsMost+1), Hours: window.Calendar{Countries: make([]string, CountryMost+1)}}
	if err := many.Validate(known); err == nil {
		t.Error("too many are accepted")
	}
}

func TestThePresetsAreTheHoursOfTheirSources(t *testing.T) {
	open := map[string]string{ // by the clock there
		"de-code-of-conduct 2030-01-07T08:00:00+01:00": "open",
		"de-code-of-conduct 2030-01-07T20:00:00+01:00": "closed",
		"de-code-of-conduct 2030-01-12T17:59:00+01:00": "open",
		"de-code-of-conduct 2030-01-12T18:00:00+01:00": "closed",
		"de-code-of-conduct 2030-01-13T12:00:00+01:00": "closed",
		"de-code-of-conduct 2030-05-01T12:00:00+02:00": "closed",
		"fr-solicitation 2030-01-07T09:59:00+01:00":    "closed", "fr-solicitation 2030-01-07T10:00:00+01:00": "open",
		"fr-solicitation 2030-01-07T13:00:00+01:00": "closed", "fr-solicitation 2030-01-07T14:00:00+01:00": "open",
		"fr-solicitation 2030-01-07T20:00:00+01:00": "closed", "fr-solicitation 2030-01-12T12:00:00+01:00": "closed",
		"fr-solicitation 2030-05-08T12:00:00+02:00": "closed", // Victoire 1945
		"us-tsr 2030-01-06T08:00:00-05:00":          "open", "us-tsr 2030-01-06T21:00:00-05:00": "closed",
	}
	zone := map[string]string{"DE": "Europe/Berlin", "FR": "Europe/Paris", "US": "America/New_York"}
	for question, want := range open {
		id, moment, _ := strings.Cut(question, " ")
		for i := range Presets {
			p := &Presets[i]
			if p.ID != id {
				continue
			}
			n := p.Calendar()
			if err := n.Validate(func(string) bool { return true }); err != nil || p.Source == "" || p.Since == "" {
				t.Errorf("%s: %v", id, err)
			}
			w := window.Window{Zone: zone[p.Country]}.With([]*window.Calendar{&n.Hours}, nil)
			if w.Open(at(moment)) != (want == "open") {
				t.Errorf("%s is not %s", question, want)
			}
		}
	}
}
