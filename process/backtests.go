package process

import (
	"cmp"
	"context"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors/host"
	"dialler/engine/campaign"
	"dialler/engine/forecast"
	"dialler/persistence"
)

const (
	// backTestEvery is how often finished runs are looked for.
	backTestEvery = 30 * time.Second
	// backTestSlice is how long a back-test works before it pauses for three times as long: it
	// takes at most a quarter of a CPU from the calls.
	backTestSlice = 5 * time.Millisecond
)

// backTester foretells runs that are over, one at a time, and keeps what came of it.
type backTester struct {
	store *persistence.Store
	clock host.Clock
	log   zerolog.Logger
	// question gives what would have been asked of a campaign at a time.
	question func(ctx context.Context, c *campaign.Campaign, at time.Time) (forecast.Question, error)
	every    time.Duration // 0: backTestEvery
	plays    int           // of each question; 0: the usual
}

func (b *backTester) run(ctx context.Context) {
	tick := time.NewTicker(cmp.Or(b.every, backTestEvery))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for b.one(ctx) {
			continue
		}
	}
}

// one says whether there may be another one.
func (b *backTester) one(ctx context.Context) bool {
	c, ok, err := b.store.ClaimBackTest(ctx, b.clock.Now())
	if err != nil || !ok { // others report that the database is unavailable
		return false
	}
	began := time.Now()
	points, err := b.test(ctx, &c)
	if err == nil && ctx.Err() == nil {
		err = b.store.KeepBackTest(ctx, c.ID, c.Run, points)
	}
	switch log := b.log.With().Str("campaign_id", string(c.ID)).Int("run", c.Run).Logger(); {
	case ctx.Err() != nil:
		return false
	case err != nil:
		log.Warn().Err(err).Msg("run not back-tested; it is tried again in an hour")
	default:
		log.Debug().Int("points", len(points)).Dur("took_ms", time.Since(began)).Msg("run back-tested")
	}
	return true
}

func (b *backTester) test(ctx context.Context, c *campaign.Campaign) (points []forecast.BackTestPoint, err error) {
	at, course, few, err := b.store.BackTestMoments(ctx, c)
	if err != nil || few || c.Settings.AlwaysOn {
		return nil, err
	}
	questions := make([]forecast.Question, len(at))
	for i := range at { // before a restart changes the list
		if questions[i], err = b.question(ctx, c, at[i]); err != nil {
			return nil, err
		}
		questions[i].Plays = b.plays
	}
	if now, err := b.store.Campaign(ctx, c.ID); err != nil || now.Run != c.Run || now.State != campaign.Completed {
		return nil, err
	}
	began := time.Now()
	halt := func() bool {
		if worked := time.Since(began); worked >= backTestSlice {
			rest := time.NewTimer(3 * min(worked, 20*backTestSlice))
			defer rest.Stop()
			select {
			case <-rest.C:
			case <-ctx.Done():
			}
			began = time.Now()
		}
		return ctx.Err() != nil
	}
	for i := range questions {
		point, ok := course.BackTest(&questions[i], forecast.BackTestShares[i], halt)
		if !ok {
			return nil, ctx.Err()
		}
		points = append(points, point)
	}
	return points, nil
}
