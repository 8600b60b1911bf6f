package campaign

import (
	"testing"
	"time"

	"dialler/engine/pacing"
)

func TestAPreparedRunBeginsWithAnEmptyAbandonLedger(t *testing.T) {
	created := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	now := created.Add(50 * time.Hour)
	f := func(state State, started *time.Time, wantRun, wantDay int) {
		t.Helper()
		c := &Campaign{State: state, CreatedAt: created, StartedAt: started}
		b, err := Books(c, now, func(since time.Time) (pacing.Counts, error) {
			return pacing.Counts{Live: int(now.Sub(since).Hours())}, nil
		})
		if err != nil || b.Run.Live != wantRun || b.Day.Live != wantDay {
			t.Errorf("%s: the run counts %d, the day %d (%v); want %d and %d", state, b.Run.Live, b.Day.Live, err, wantRun,
				wantDay)
		}
	}
	started := now.Add(-40 * time.Hour)
	f(Draft, nil, 0, 0)
	f(Running, &started, 40, 11)
	f(Paused, &started, 40, 11)
	f(Completed, &started, 40, 11)
	f(Failed, &started, 40, 11)
	f(Draft, &started, 0, 11) // prepared: StartedAt is the earlier run's
}
