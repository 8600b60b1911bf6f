package process

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine/seal"
	"dialler/persistence/history"
)

const day = 24 * time.Hour

// keepCap bounds the days of --keep-ladders, --keep-flights, --keep-attempts and --keep-events.
const keepCap = 36500

// checkKeep refuses retention periods that would drop calls that the rules still need.
func checkKeep(f *Flags) error {
	for _, k := range []struct {
		name  string
		days  int
		least int
	}{
		{"keep-ladders", f.KeepLadders, 0}, {"keep-flights", f.KeepFlights, 0},
		{"keep-attempts", f.KeepAttempts, int(history.LeastKept / day)},
		{"keep-events", f.KeepEvents, int(history.LeastKept / day)},
	} {
		if k.days != 0 && (k.days < k.least || k.days > keepCap || k.days < 0) {
			return fmt.Errorf(
				"--%s must be 0 (forever) or %d to %d days; got %d",
				k.name,
				max(1, k.least),
				keepCap,
				k.days,
			)
		}
	}
	if f.RecordRuns && (f.FlightsSize < 1 || f.FlightsSize > 1<<20) {
		return fmt.Errorf("--flights-size must be 1 to %d MiB; got %d", 1<<20, f.FlightsSize)
	}
	return nil
}

// keepTime drops data past its retention, at the start and periodically, until ctx ends.
func keepTime(
	ctx context.Context,
	records *history.Records,
	settings func() Flags,
	key func() (seal.Key, error),
	log zerolog.Logger,
) {
	tick := time.NewTicker(6 * time.Hour)
	defer tick.Stop()
	for now := time.Now(); ; {
		retain(ctx, now, records, settings(), key, log)
		select {
		case <-ctx.Done():
			return
		case now = <-tick.C:
		}
	}
}

// retain drops data past its retention.
func retain(
	ctx context.Context,
	now time.Time,
	records *history.Records,
	f Flags,
	key func() (seal.Key, error),
	log zerolog.Logger,
) {
	days := func(n int) time.Duration { return time.Duration(n) * day }
	keep := history.Keep{Attempts: days(f.KeepAttempts), Events: days(f.KeepEvents), Ladders: days(f.KeepLadders)}
	if keep.Attempts > 0 || keep.Events > 0 {
		signs, err := key()
		if err != nil {
			log.Error().
				Err(err).
				Msg("expired data is kept: without a key nothing can be signed in its place")
			return
		}
		keep.Key = signs
	}
	d, err := records.Retain(ctx, now, keep)
	if err != nil && ctx.Err() == nil {
		log.Error().Err(err).Msg("not all expired data was dropped; it is tried again")
	}
	if d.Attempts > 0 || len(d.Partitions) > 0 {
		log.Info().
			Int("attempts", d.Attempts).
			Int("runs", d.Runs).
			Strs("partitions", d.Partitions).
			Msg("expired data dropped")
	}
}
