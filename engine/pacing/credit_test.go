package pacing

import "testing"

func TestHowManyAnswersEarnACreditMore(t *testing.T) {
	for _, c := range []struct {
		counts Counts
		cap    int
		want   int
	}{
		{Counts{}, 30_000, 33},                           // 0.97 / 0.03
		{Counts{Live: 102, Abandoned: 46}, 30_000, 1464}, // abandoned calls are made up for first
		{Counts{Live: 32}, 30_000, 1},
		{Counts{Live: 33}, 30_000, 32},
		{Counts{Live: 100, Abandoned: 1, Machines: 10}, 10_000, 99},
		{Counts{Live: 100}, 0, 0},
	} {
		got := c.counts.AnswersToCredit(c.cap, 0)
		if got != c.want {
			t.Errorf("%+v at %d ppm: %d, want %d", c.counts, c.cap, got, c.want)
		}
		if got == 0 {
			continue
		}
		before, after := c.counts, c.counts
		before.Live, after.Live = before.Live+got-1, after.Live+got
		if has := c.counts.Credit(c.cap, 0); before.Credit(c.cap, 0) != has || after.Credit(c.cap, 0) != has+1 {
			t.Errorf("%+v: %d answers do not earn just one", c.counts, got)
		}
	}
}
