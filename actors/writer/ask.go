package writer

import (
	"context"
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/host"
	"dialler/engine"
)

// Ask sends a request and waits for its answer until ctx ends, or until the database has been down
// for a while, because most answers wait for something to be stored.
func Ask[T any](ctx context.Context, g *Group, to *actor.PID, msg any) (T, error) {
	var zero T
	limit := 10 * time.Second
	if dl, ok := ctx.Deadline(); ok {
		limit = time.Until(dl)
	}
	f := g.Root.RequestFuture(to, msg, max(limit, time.Millisecond))
	release := g.Database.bound(f)
	err := f.Wait()
	if release() || err != nil && g.Database.Away() { // given up, or timed out meanwhile
		return zero, errLeftWhileAway
	}
	if err != nil { // an answer may still come: it is ignored
		return zero, engine.Unavailable("timeout",
			"the dialler did not answer in time; the command may or may not have been carried out, try again with the same "+
				"Idempotency-Key", time.Second)
	}
	res, _ := f.Result()
	a, ok := res.(*host.Answer)
	if !ok {
		return zero, errors.New("actors: unexpected answer")
	}
	if a.Err != nil {
		return zero, a.Err
	}
	v, _ := a.Value.(T)
	return v, nil
}
