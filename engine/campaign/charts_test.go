package campaign

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestASeriesIsDividedIntoStepsThatPeopleReadOffAClock(t *testing.T) {
	start := time.Date(2030, 5, 2, 9, 0, 7, 300e6, time.UTC)
	f := func(span time.Duration, points int, step time.Duration, n int) {
		t.Helper()
		s := NewSeries(start, start.Add(span), points)
		if s.Step != step || len(s.Points) != n {
			t.Errorf("%s in %d points: %d steps of %s, want %d of %s", span, points, len(s.Points), s.Step, n, step)
		}
	}
	f(0, 240, time.Second, 1)
	f(30*time.Second, 240, time.Second, 31)
	f(time.Hour, 240, 30*time.Second, 121)
	f(time.Hour, 60, 2*time.Minute, 31)
	f(8*time.Hour, 240, 5*time.Minute, 97)
	f(400*24*time.Hour, 240, 48*time.Hour, 201)
	f(-time.Hour, 240, time.Second, 1)
}

func TestASeriesCoversItsTimeWithNoMorePointsThanAskedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "from"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		span := time.Duration(rapid.Int64Range(0, int64(10*366*24*time.Hour)).Draw(t, "span"))
		points := rapid.IntRange(1, SeriesPointsCap).Draw(t, "points")
		s := NewSeries(from, from.Add(span), points)
		end := s.From.Add(time.Duration(len(s.Points)) * s.Step)
		if len(s.Points) < 1 || len(s.Points) > points || s.From.After(from) || end.Before(from.Add(span)) {
			t.Fatalf("%d points of %s from %s to %s", len(s.Points), s.Step, s.From, end)
		}
	})
}
