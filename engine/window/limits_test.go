package window

import (
	"testing"
	"time"
)

func TestTheFirstAndTheLastOfTimesAndDatesAreAccepted(t *testing.T) {
	for _, s := range []string{"00:00", "09:59", "23:59", "24:00"} {
		v, err := ParseTimeOfDay(s)
		if err != nil || v.String() != s {
			t.Errorf("%s: %v, %v", s, v, err)
		}
		if b, err := v.MarshalText(); err != nil || string(b) != s {
			t.Errorf("%s is written %q, %v", s, b, err)
		}
	}
	for _, s := range []string{"09:60", "24:01", "25:00", "9:00", "0a:00"} {
		if v, err := ParseTimeOfDay(s); err == nil {
			t.Errorf("%s is read as %v", s, v)
		}
	}
	for d, want := range map[Date]bool{{1, 1, 1}: true, {9999, 12, 31}: true, {0, 12, 31}: false, {10000, 1, 1}: false,
		{2030, 2, 29}: false} {
		if _, err := d.MarshalText(); (err == nil) != want {
			t.Errorf("%v: %v", d, err)
		}
	}
}

func TestAWindowInTwoZonesIsLookedForOverThreeHundredAndSeventyDays(t *testing.T) {
	// The clocks of Seoul and Pyongyang differed by half an hour until 4 May 2018.
	w := Window{Zone: "UTC", Start: hm("09:00"), End: hm("09:30"),
		ContactZone: true}.For(Home{Zones: []string{"Asia/Seoul", "Asia/Pyongyang"}})
	opens := instant("2018-05-05T00:00:00Z")
	early := opens.AddDate(0, 0, -370)
	if at, ok := w.NextOpening(early); ok {
		t.Errorf("370 days before: %v", at)
	}
	if at, ok := w.NextOpening(early.Add(1)); !ok || !at.Equal(opens) {
		t.Errorf("a moment less than 370 days before: %v, %v", at, ok)
	}
}

func TestAWindowThatTheClockJumpsOverFromItsFirstMinuteDoesNotOpen(t *testing.T) {
	w := win("02:00", "02:30", "Europe/Berlin") // 02:00 is 03:00 that night
	if at, ok := w.NextOpening(instant("2030-03-31T00:00:00+01:00")); !ok ||
		!at.Equal(instant("2030-04-01T02:00:00+02:00")) {
		t.Errorf("%v, %v", at, ok)
	}
}

func TestAnOpeningThatEndsAsTheClockIsPutBackEndsAtTheSecondOfItsEnds(t *testing.T) {
	w := win("02:30", "03:00", "Europe/Berlin") // 03:00 is 02:00 again that night
	if at, ok := w.Closes(instant("2030-10-27T02:45:00+02:00")); !ok || !at.Equal(instant("2030-10-27T03:00:00+01:00")) {
		t.Errorf("%v, %v", at, ok)
	}
}

func TestOpenTimeIsCountedOverFiftyThousandOpenings(t *testing.T) {
	w := win("09:00", "10:00", "UTC")
	from := instant("2030-01-01T00:00:00Z")
	want := from.AddDate(0, 0, 49_999).Add(10 * time.Hour)
	if at, ok := w.After(from, 50_000*time.Hour); !ok || !at.Equal(want) {
		t.Errorf("50000 hours: %v, %v, want %v", at, ok, want)
	}
	if at, ok := w.After(from, 50_000*time.Hour+1); ok {
		t.Errorf("more: %v", at)
	}
}
