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
	ladderQueue   = 4096 // ladders waiting for the database; more are dropped and counted
	ladderBatch   = 256
	ladderTimeout = 5 * time.Second
)

// ladderStore stores ladders.
type ladderStore interface {
	SaveLadders(ctx context.Context, l []engine.Ladder) error
}

// ladderKeeper stores the SIP messages of failed calls, outside the path of the call: a slow or
// unavailable database costs ladders, never calls.
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
	k := &ladderKeeper{store: store, all: all, log: log, queue: make(chan engine.Ladder, ladderQueue),
		stop: make(chan struct{}), done: make(chan struct{})}
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
		clear(batch) // a burst's messages must not stay in memory until the next
		if err != nil {
			k.dropped.Add(int64(n))
			k.log.Warn().Err(err).Int("ladders", n).Msg("SIP ladders of failed calls not stored")
			if stopped {
				return // shutdown must not wait for a database that is down
			}
		}
	}
}

// close stores the waiting ladders.
func (k *ladderKeeper) close() {
	close(k.stop)
	<-k.done
}
