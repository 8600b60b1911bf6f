package process

import (
	"cmp"
	"context"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors/host"
	"dialler/engine/besthour"
	"dialler/persistence"
)

// learnEvery is how often it is looked for dials to learn from.
const learnEvery = time.Minute

// learnPause is between two pieces of time: at first there are up to 90 days of dials, on a database that is
// busy with calls.
func learnPause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(200 * time.Millisecond):
	}
}

// hourLearner learns at which hours people answer, and tells the runs.
type hourLearner struct {
	store *persistence.Store
	clock host.Clock
	log   zerolog.Logger
	tell  func(besthour.Table)
	every time.Duration         // 0: learnEvery
	pause func(context.Context) // between two pieces of time
}

func (h *hourLearner) run(ctx context.Context) {
	tick := time.NewTicker(cmp.Or(h.every, learnEvery))
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
	for {
		more, err := h.store.LearnHours(ctx, h.clock.Now())
		if err != nil {
			return told, err
		}
		if !more {
			break
		}
		h.pause(ctx)
	}
	learned, err := h.store.AnswerHours(ctx)
	if err == nil && learned.Through.After(told) {
		h.tell(learned)
		told = learned.Through
	}
	return told, err
}
