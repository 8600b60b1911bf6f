package process

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors/host"
	"dialler/engine/besthour"
	"dialler/persistence"
)

// learnEvery is how often it is looked for dials to learn from.
const learnEvery = time.Minute

// hourLearner learns at which hours people answer, and tells the runs.
type hourLearner struct {
	store *persistence.Store
	clock host.Clock
	log   zerolog.Logger
	tell  func(besthour.Table)
}

func (h *hourLearner) run(ctx context.Context) {
	tick := time.NewTicker(learnEvery)
	defer tick.Stop()
	var told time.Time
	for {
		if through, err := h.learn(ctx, told); err == nil {
			told = through
		} else if ctx.Err() == nil {
			h.log.Warn().Err(err).Msg("hours of answers not learned; it is tried again")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// learn returns until when the runs know what was learned, which may have been by another node.
func (h *hourLearner) learn(ctx context.Context, told time.Time) (through time.Time, err error) {
	for more := true; more; {
		if more, err = h.store.LearnHours(ctx, h.clock.Now()); err != nil {
			return told, err
		}
	}
	learned, err := h.store.AnswerHours(ctx)
	if err == nil && learned.Through.After(told) {
		h.tell(learned)
		told = learned.Through
	}
	return told, err
}
