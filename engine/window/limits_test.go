package window

import "testing"

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
	for d, want := range map[Date]bool{{1, 1, 1}: true, {9999, 12, 31}: true, {0, 12, 31}: false, {10000, 1, 1}: false, {2030, 2, 29}: false} {
		if _, err := d.MarshalText(); (err == nil) != want {
			t.Errorf("%v: %v", d, err)
		}
	}
}
