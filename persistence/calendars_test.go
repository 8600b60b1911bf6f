package persistence_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/calendar"
	"dialler/engine/campaign"
	"dialler/engine/holidays"
	"dialler/engine/window"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

func TestACalendarIsEditedByItsVersionAndStaysWhileACampaignNamesIt(t *testing.T) {
	t.Parallel()
	s := storetest.OpenAt(t, storetest.URL(t), persistence.Config{})
	ctx, who, at := t.Context(), engine.Who{Name: "ann@example.org"}, time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC)
	c := calendar.Named{ID: "de", Name: "Germany", Sets: []string{"DE"}, URL: "https://x.example/a.ics"}
	c.Hours = window.Calendar{
		Zone: "Europe/Berlin", Hours: map[window.Day][]window.Span{window.Mon: {{From: 540, To: 1080}}},
		Exceptions: []window.Exception{{Date: window.Date{Year: 2030, Month: 12, Day: 24}, Hours: []window.Span{}}},
		Countries:  []string{"DE"}}
	if err := c.Read(holidays.Example, at); err != nil {
		t.Fatal(err)
	}
	put := func(c calendar.Named, keep bool) (calendar.Named, error) {
		stored, _, err := s.PutCalendar(ctx, c, keep, at, who)
		return stored, err
	}
	made, err := put(c, false)
	if err != nil || made.Version != 1 || !made.CreatedAt.Equal(at) || made.Hours.Zone != "Europe/Berlin" ||
		fmt.Sprint(made.Hours) != fmt.Sprint(c.Hours) || !made.File.ReadAt.Equal(at) || made.URL != c.URL {
		t.Fatalf("%v\n%+v\n%+v", err, made, c)
	}
	if text, err := s.CalendarFile(ctx, "de"); err != nil || text != holidays.Example {
		t.Errorf("%v %q", err, text)
	}
	if _, err := put(c, false); engine.ErrorCode(err) != "version_conflict" {
		t.Errorf("created again: %v", err)
	}
	edited := calendar.Named{ID: "de", Name: "Deutschland", URL: c.URL, Version: 1}
	if edited, err = put(edited, true); err != nil || edited.Version != 2 || len(edited.File.Holidays) == 0 ||
		edited.Hours.Hours != nil {
		t.Errorf("the file does not stay: %v %+v", err, edited)
	}
	var conflict *engine.Error
	if _, err := put(c, false); !errors.As(err, &conflict) || conflict.Current.(calendar.Named).Name != "Deutschland" {
		t.Errorf("an edit of an earlier version: %v", err)
	}
	if _, err := put(calendar.Named{ID: "gone", Version: 3}, false); engine.ErrorCode(err) != "calendar_not_found" {
		t.Error(err)
	}
	if err := s.InsertCampaign(ctx, campaign.Campaign{ID: "cmp_1", Settings: campaign.Settings{
		Calendars: []engine.CalendarID{"other", "de"}}, State: campaign.Completed, CreatedAt: at}); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteCalendar(ctx, "de", who); !errors.As(err, &conflict) || conflict.Code != "calendar_in_use" ||
		len(conflict.Fields) != 1 {
		t.Error(err)
	}
	if _, err := put(calendar.Named{ID: "fr", Name: "France"}, false); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteCalendar(ctx, "fr", who); err != nil {
		t.Error(err)
	}
	if err := s.DeleteCalendar(ctx, "fr", who); engine.ErrorCode(err) != "calendar_not_found" {
		t.Error(err)
	}
	for i := 2; i <= 100; i++ {
		if _, err := put(calendar.Named{ID: engine.CalendarID(fmt.Sprint("c", i)), Name: "x"}, false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := put(calendar.Named{ID: "one_more", Name: "x"}, false); engine.ErrorCode(err) != "too_many_calendars" {
		t.Error(err)
	}
}

func TestAFileOfHolidaysIsHadByOneNodeAndTheLastGoodOneStays(t *testing.T) {
	t.Parallel()
	s := storetest.OpenAt(t, storetest.URL(t), persistence.Config{})
	ctx, who, at := t.Context(), engine.Who{Name: "daily refresh"}, time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC)
	c := calendar.Named{ID: "de", Name: "Germany", URL: "https://x.example/a.ics"}
	if err := c.Read(holidays.Example, at); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.PutCalendar(ctx, c, false, at, who); err != nil {
		t.Fatal(err)
	}
	claim := func(after time.Duration) (calendar.Named, bool) {
		t.Helper()
		c, ok, err := s.ClaimCalendarFile(ctx, at.Add(after))
		if err != nil {
			t.Fatal(err)
		}
		return c, ok
	}
	if _, ok := claim(23 * time.Hour); ok {
		t.Error("it is claimed within a day")
	}
	got, ok := claim(24 * time.Hour)
	if !ok || got.ID != "de" || got.File.Text != holidays.Example {
		t.Fatalf("%v %+v", ok, got)
	}
	if _, ok := claim(24 * time.Hour); ok {
		t.Error("it is claimed twice")
	}
	events := func() (n int) {
		t.Helper()
		list, _ := s.Calendars(ctx)
		return len(list[0].File.Holidays)
	}
	if changed, err := s.KeepCalendarFile(ctx, &got, "its server answered 500", who); err != nil || changed {
		t.Error(changed, err)
	}
	if list, _ := s.Calendars(ctx); list[0].File.Problem != "its server answered 500" || events() == 0 {
		t.Errorf("%+v", list[0].File)
	}
	if got, ok = claim(25 * time.Hour); !ok {
		t.Fatal("it is not tried again after an hour")
	}
	if changed, err := s.KeepCalendarFile(ctx, &got, "", who); err != nil || changed {
		t.Errorf("the same file is a change: %v, %v", changed, err)
	}
	if list, _ := s.Calendars(ctx); list[0].File.Problem != "" {
		t.Errorf("%+v", list[0].File)
	}
	stale := func(after time.Duration) string {
		t.Helper()
		names, err := s.StaleCalendars(ctx, at.Add(after))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(names)
	}
	if _, ok := claim(49 * time.Hour); !ok || stale(49*time.Hour) != "[]" ||
		stale(49*time.Hour+6*time.Minute) != "[Germany]" {
		t.Errorf("%v: its node ends: %s", ok, stale(50*time.Hour))
	}
	if got, ok = claim(50 * time.Hour); !ok {
		t.Fatal("it is not claimed an hour after its node ended")
	}
	if err := got.Read("BEGIN:VCALENDAR\nEND:VCALENDAR", at.Add(50*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if changed, err := s.KeepCalendarFile(ctx, &got, "", who); err != nil || !changed || events() != 0 {
		t.Errorf("another file is not taken: %v, %v", changed, err)
	}
	old := got
	old.Version = 7 // it was edited meanwhile
	if err := old.Read(holidays.Example, at); err != nil {
		t.Fatal(err)
	}
	if changed, err := s.KeepCalendarFile(ctx, &old, "", who); err != nil || changed {
		t.Errorf("a file of another version is taken: %v, %v", changed, err)
	}
}
