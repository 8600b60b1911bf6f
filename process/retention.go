package process

import (
	"context"
	"fmt"
	"time"

	"dialler/persistence/history"
)

const day = 24 * time.Hour

// keepCap bounds the days of --keep-ladders, --keep-attempts and --keep-events.
const keepCap = 36500

// checkKeep refuses what would drop calls that the rules still ask for.
func checkKeep(f *Flags) error {
	for _, k := range []struct {
		name  string
		days  int
		least int
	}{
		{"keep-ladders", f.KeepLadders, 0}, {"keep-attempts", f.KeepAttempts, int(history.LeastKept / day)},
		{"keep-events", f.KeepEvents, int(history.LeastKept / day)},
	} {
		if k.days != 0 && (k.days < k.least || k.days > keepCap || k.days < 0) {
			return fmt.Errorf("--%s must be 0 (for ever) or %d to %d days; got %d", k.name, max(1, k.least), keepCap, k.days)
		}
	}
	return nil
}

// keepTime drops what has served its time, at the start and now and then.
func (p *Process) keepTime() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(6 * time.Hour)
		defer tick.Stop()
		for now := time.Now(); ; {
			p.retain(ctx, now)
			select {
			case <-ctx.Done():
				return
			case now = <-tick.C:
			}
		}
	}()
	p.closing = append(p.closing, func() { cancel(); <-done })
}

// retain drops what has served its time.
func (p *Process) retain(ctx context.Context, now time.Time) {
	days := func(n int) time.Duration { return time.Duration(n) * day }
	f := p.settings()
	keep := history.Keep{Attempts: days(f.KeepAttempts), Events: days(f.KeepEvents), Ladders: days(f.KeepLadders)}
	if keep.Attempts > 0 || keep.Events > 0 {
		key, err := p.signingKey()
		if err != nil {
			p.log.Error().Err(err).Msg("nothing that has served its time is dropped without a key that signs what is kept of it")
			return
		}
		keep.Key = &key
	}
	d, err := p.store.Records.Retain(ctx, now, keep)
	if err != nil && ctx.Err() == nil {
		p.log.Error().Err(err).Msg("what has served its time is not all dropped; it is tried again")
	}
	if d.Attempts > 0 || len(d.Partitions) > 0 {
		p.log.Info().Int("attempts", d.Attempts).Int("runs", d.Runs).Strs("partitions", d.Partitions).Msg("what had served its time is dropped")
	}
}
