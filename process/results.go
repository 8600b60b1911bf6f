package process

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/persistence/spool"
)

const (
	// resultsEvery is the interval of submitting kept results.
	resultsEvery = time.Second
	// resultsMost results are submitted in one go, resultsAtOnce concurrently.
	resultsMost, resultsAtOnce = 256, 32
	// resultTries bounds how often a result is submitted whose owner cannot accept it: a quarter of
	// an hour.
	resultTries = 900
)

// socketResultTimeout bounds the storing of a result that a bot gives on its socket.
const socketResultTimeout = 10 * time.Second

// resultOnSocket stores such a result and returns the answer.
func (p *Process) resultOnSocket(id engine.CallID, body []byte) []byte {
	api := p.results.Load()
	if api == nil {
		return nil // no call has been placed yet
	}
	ctx, cancel := context.WithTimeout(context.Background(), socketResultTimeout)
	defer cancel()
	return api.ResultOnSocket(ctx, id, body)
}

// unheard says whether the error means that no node could store a result now.
func unheard(err error) bool {
	return journal.Temporary(err) || engine.ErrorCode(err) == "node_fenced"
}

// deferred says whether to keep a result for later: it could not be stored, or its owner could not
// be asked or did not answer. If the owner has stored it already, repeating it does no harm,
// because a repeated result changes nothing. A suppression that not all confirmed is stored with its
// result: the bot is told, and asks again.
func deferred(err error) bool {
	if engine.ErrorCode(err) == "suppression_unconfirmed" {
		return false
	}
	var e *engine.Error
	return unheard(err) || errors.As(err, &e) && e.Kind == engine.KindUnavailable
}

// submitKept stores the kept results once the database is back, including those of an earlier
// process. submit passes one to the owner of its call.
func submitKept(
	ctx context.Context,
	kept *spool.Spool,
	submit func(context.Context, campaign.SubmitResult) error,
	log zerolog.Logger,
) {
	tick := time.NewTicker(resultsEvery)
	defer tick.Stop()
	tries := map[uint64]int{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			submitAll(ctx, kept, submit, tries, log)
		}
	}
}

// submitAll submits the waiting results until one finds the database down; those of one call in
// their original order.
func submitAll(ctx context.Context, kept *spool.Spool, submit func(context.Context, campaign.SubmitResult) error,
	tries map[uint64]int, log zerolog.Logger) {
	var mu sync.Mutex // of tries
	one := func(ctx context.Context, r spool.KeptResult) (done bool, err error) {
		within, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		err = submit(within, r.SubmitResult)
		if err != nil && (unheard(err) || ctx.Err() != nil) {
			return false, err
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			if tries[r.ID]++; !campaign.ResultRefused(err) && tries[r.ID] < resultTries {
				return false, nil
			}
			log.Error().Err(err).Str("call_id", string(r.Call)).Msg("a kept result was refused and is lost")
		}
		delete(tries, r.ID)
		if failed := kept.ResultDone(r.ID, err != nil); failed != nil {
			log.Error().Err(failed).Msg("could not remove a result from the spool")
		}
		return true, nil
	}
	ctx, away := context.WithCancel(ctx)
	defer away()
	var all sync.WaitGroup
	turns := make(chan struct{}, resultsAtOnce)
	for _, results := range byCall(kept.KeptResults(resultsMost)) {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			for _, r := range results {
				done, err := one(ctx, r)
				if err != nil {
					away()
				}
				if !done {
					return
				}
			}
		})
	}
	all.Wait()
}

func byCall(list []spool.KeptResult) map[engine.CallID][]spool.KeptResult {
	calls := map[engine.CallID][]spool.KeptResult{}
	for _, r := range list {
		calls[r.Call] = append(calls[r.Call], r)
	}
	return calls
}
