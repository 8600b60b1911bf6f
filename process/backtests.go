package process

import (
	"cmp"
	"context"
	"time"

	"dialler/engine/campaign"
	"dialler/engine/forecast"
)

const (
	// backTestEvery is how often is looked for a run that is over.
	backTestEvery = 30 * time.Second
	// backTestSlice is for how long a back-test works before it rests for three times as
	// long: it takes a quarter of a processor from the calls at most.
	backTestSlice = 5 * time.Millisecond
)

// backTest foretells runs that are over, one at a time, and keeps what came of it.
func (p *Process) backTest(ctx context.Context) {
	tick := time.NewTicker(cmp.Or(p.tuning.backTestEvery, backTestEvery))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for p.backTestOne(ctx) {
			continue
		}
	}
}

// backTestOne says whether there may be another one.
func (p *Process) backTestOne(ctx context.Context) bool {
	c, ok, err := p.store.ClaimBackTest(ctx, p.clock.Now())
	if err != nil || !ok { // of a database that is away others tell
		return false
	}
	began := time.Now()
	points, err := p.backTestOf(ctx, &c)
	if err == nil && ctx.Err() == nil {
		err = p.store.KeepBackTest(ctx, c.ID, c.Run, points)
	}
	switch log := p.log.With().Str("campaign_id", string(c.ID)).Int("run", c.Run).Logger(); {
	case ctx.Err() != nil:
		return false
	case err != nil:
		log.Warn().Err(err).Msg("run not back-tested; it is tried again in an hour")
	default:
		log.Debug().Int("points", len(points)).Dur("took", time.Since(began)).Msg("run back-tested")
	}
	return true
}

func (p *Process) backTestOf(ctx context.Context, c *campaign.Campaign) (points []forecast.BackTestPoint, err error) {
	at, course, few, err := p.store.BackTestMoments(ctx, c)
	if err != nil || few || c.Settings.AlwaysOn {
		return nil, err
	}
	questions := make([]forecast.Question, len(at))
	for i := range at { // before a restart moves the list on
		if questions[i], err = p.front.questionAt(ctx, c, at[i]); err != nil {
			return nil, err
		}
		questions[i].Plays = p.tuning.backTestPlays
	}
	if now, err := p.store.Campaign(ctx, c.ID); err != nil || now.Run != c.Run || now.State != campaign.Completed {
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

// questionAt is what would have been asked of a campaign at a time.
func (f *Front) questionAt(ctx context.Context, c *campaign.Campaign, at time.Time) (q forecast.Question, err error) {
	of := *c
	of.Settings = c.Settings.WithDefaults()
	q.Settings, q.Start, q.Seed = of.Settings, at, 1
	if q.Standing, err = f.Standing(ctx, &of, at); err != nil {
		return q, err
	}
	people, err := f.People(ctx, c.ID, at)
	if err != nil {
		return q, err
	}
	q.Meet(&people)
	bots, err := f.Bots(ctx)
	if err != nil {
		return q, err
	}
	trunks, err := f.Trunks(ctx)
	if err != nil {
		return q, err
	}
	numbers, err := f.Numbers(ctx)
	q.Use(bots, trunks, numbers)
	return q, err
}
