package process

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/ladder"
)

const (
	ladderQueue   = 4096 // ladders that wait for the database; more are dropped and counted
	ladderBatch   = 256
	ladderTimeout = 5 * time.Second
)

// ladderStore is where ladders go.
type ladderStore interface {
	SaveLadders(ctx context.Context, l []engine.Ladder) error
}

// ladderKeeper stores what crossed the wire in calls that failed, beside the
// path of the call: a database that is slow or away costs ladders, never calls.
type ladderKeeper struct {
	store   ladderStore
	all     bool
	log     zerolog.Logger
	queue   chan engine.Ladder
	stop    chan struct{}
	done    chan struct{}
	dropped atomic.Int64
}

func newLadderKeeper(store ladderStore, all bool, log zerolog.Logger) *ladderKeeper {
	k := &ladderKeeper{store: store, all: all, log: log, queue: make(chan engine.Ladder, ladderQueue), stop: make(chan struct{}), done: make(chan struct{})}
	go k.run()
	return k
}

// legOver implements sipstack.Config.OnLegOver; it does not block.
func (k *ladderKeeper) legOver(final engine.LegEvent, answered bool, messages func() []engine.SIPMessage) {
	if !k.all && !ladder.Worth(final, answered) {
		return
	}
	select {
	case k.queue <- engine.Ladder{Attempt: final.Attempt, Leg: final.Leg, At: final.At, Messages: messages()}:
	default:
		k.dropped.Add(1)
	}
}

func (k *ladderKeeper) run() {
	defer close(k.done)
	batch := make([]engine.Ladder, 0, ladderBatch)
	for stopped := false; !stopped || len(k.queue) > 0; {
		batch = batch[:0]
		select {
		case l := <-k.queue:
			batch = append(batch, l)
		case <-k.stop:
			stopped = true
		}
		for len(batch) < ladderBatch && len(k.queue) > 0 {
			batch = append(batch, <-k.queue)
		}
		if len(batch) == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), ladderTimeout)
		err := k.store.SaveLadders(ctx, batch)
		cancel()
		n := len(batch)
		clear(batch) // the messages of a burst are not to stay until the next one
		if err != nil {
			k.dropped.Add(int64(n))
			k.log.Warn().Err(err).Int("ladders", n).Msg("SIP ladders of failed calls not stored")
			if stopped {
				return // the way out must not wait for a database that is away
			}
		}
	}
}

// close stores what waits.
func (k *ladderKeeper) close() {
	close(k.stop)
	<-k.done
}
