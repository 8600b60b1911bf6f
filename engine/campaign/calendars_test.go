package campaign

import (
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/calendar"
	"dialler/engine/contact"
	"dialler/engine/window"
)

// monday is a Monday in Berlin, at noon.
var monday = time.Date(2030, 1, 7, 11, 0, 0, 0, time.UTC)

func ofCalendars(list []calendar.Named, ids ...engine.CalendarID) *Campaign {
	c := &Campaign{State: Running, Settings: Defaults()}
	c.Settings.Window = window.Window{Zone: "Europe/Berlin", Start: 9 * 60, End: 18 * 60}
	c.Settings.Calendars = ids
	c.Narrow(list)
	return c
}

var calendars = []calendar.Named{
	{ID: "closed", Name: "Office", Hours: window.Calendar{Name: "Office", Holidays: []window.Holiday{{
		Date: window.DateOf(monday), Name: "Outing"}}}},
	{ID: "sunday", Name: "Sundays", Hours: window.Calendar{Name: "Sundays", Hours: map[window.Day][]window.Span{
		window.Sun: {{From: 9 * 60, To: 10 * 60}}}}},
	{ID: "saturday", Name: "Saturdays", Hours: window.Calendar{Name: "Saturdays", Hours: map[window.Day][]window.Span{
		window.Sat: {{From: 9 * 60, To: 10 * 60}}}}},
}

func TestWhyNotNowNamesTheCalendarAndWhenItOpens(t *testing.T) {
	due, tomorrow := monday.Add(-time.Minute), time.Date(2030, 1, 8, 8, 0, 0, 0, time.UTC)
	row := contact.Contact{State: contact.Pending, DueAt: &due, DueClass: contact.DueFirst, Max: 3}
	e := Explain(Question{Campaign: ofCalendars(calendars, "closed"), Contact: &row, Now: monday})
	if e.Code != WhyOutsideWindow || e.NextAt == nil || !e.NextAt.Equal(tomorrow) ||
		!strings.Contains(e.Message, "the calendar Office (Outing) is closed") {
		t.Errorf("%+v", e)
	}
	row.DueAt = &tomorrow // it was put off
	if e = Explain(Question{Campaign: ofCalendars(calendars, "closed"), Contact: &row, Now: monday}); e.Code !=
		WhyOutsideWindow || !strings.Contains(e.Message, "the calendar Office (Outing) is closed") {
		t.Errorf("%+v", e)
	}
	for _, at := range []*time.Time{&due, &tomorrow} { // when its calendars are looked at again
		for _, class := range []contact.DueClass{contact.DueFirst, contact.DueRetry, contact.DueCallback} {
			row.DueAt, row.DueClass = at, class
			e = Explain(Question{Campaign: ofCalendars(calendars, "sunday", "saturday"), Contact: &row, Now: monday})
			if e.Code != WhyNeverOpens || e.NextAt != nil ||
				!strings.Contains(e.Message, "never open together in the next 400 days") {
				t.Errorf("due %v, class %d: %+v", at, class, e)
			}
		}
	}
}

func TestCalendarsThatAreMissingOrNeverOpenTogetherForbidTheStart(t *testing.T) {
	f := PreflightFacts{BotKnown: true, Trunks: 1, Callable: true, Calendars: calendars}
	for want, c := range map[string]*Campaign{
		"window_never_opens": ofCalendars(calendars, "sunday", "saturday"),
		"calendar_missing":   ofCalendars(calendars, "closed", "gone"),
		"":                   ofCalendars(calendars, "closed", "sunday"),
	} {
		c.Settings.Numbers = []engine.PhoneNumber{"+4930123456"}
		var codes, text []string
		for _, b := range Blockers(c, f, monday) {
			codes, text = append(codes, b.Code), append(text, b.Message)
		}
		if got := strings.Join(codes, " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if said := strings.Join(text, "; "); want == "window_never_opens" && !strings.Contains(said, "(Sundays, Saturdays)") {
			t.Error(said)
		}
	}
}

func TestAnEditOfTheSettingsKeepsTheCalendarsInForce(t *testing.T) {
	m := Machine{C: *ofCalendars(nil), Calendars: calendars}
	m.C.State = Paused
	s := m.C.Settings
	s.Calendars, s.Window = []engine.CalendarID{"closed"}, window.Window{Zone: "Europe/Berlin"}
	if _, err := m.Apply(Event{Kind: Edit, At: monday, Settings: &s}, nil); err != nil {
		t.Fatal(err)
	}
	if w := m.C.Settings.Window; w.Open(monday) || w.ClosedBy(monday) != "Office (Outing)" {
		t.Errorf("it is open: %+v", w)
	}
}

func TestABreakOfACalendarDoesNotEndASingleDay(t *testing.T) {
	list := []calendar.Named{{ID: "lunch", Hours: window.Calendar{Hours: map[window.Day][]window.Span{
		window.Mon: {{From: 9 * 60, To: 11 * 60}, {From: 13 * 60, To: 15 * 60}}}}}}
	c := ofCalendars(list, "lunch")
	c.Settings.SingleDay = true
	if end := SingleDayEnd(c, monday); end == nil || !end.Equal(time.Date(2030, 1, 7, 17, 0, 0, 0, time.UTC)) {
		t.Errorf("it ends at %v", end)
	}
}
