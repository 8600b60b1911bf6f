package pool

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Together lets many callers who each ask about one key share queries: while one
// is under way, what is asked waits, and the next takes all of it. Who asks alone
// asks at once; who asks right after somebody waits up to togetherGather. No
// answer is older than its question.
type Together[K comparable, V any] struct {
	// Ask finds what there is for the keys; one that is missing in what it gives
	// has nothing. It must not be changed once it was used.
	Ask func(ctx context.Context, keys []K) (map[K]V, error)

	mu   sync.Mutex
	busy bool
	next *question[K, V] // nil: nobody waits
}

type question[K comparable, V any] struct {
	keys  []K
	found map[K]V
	err   error
	done  chan struct{}
}

// PlannedEachTime is how keys are looked up that are joined with a table that
// grows fast: a plan that is kept reads the whole table until PostgreSQL has
// counted its rows again, which it does once a minute.
const PlannedEachTime = pgx.QueryExecModeCacheDescribe

// togetherGather is the least time between the beginnings of two queries: a
// query costs about the same for one key and for ten.
const togetherGather = 2 * time.Millisecond

// togetherLimit bounds a query that is made for several callers: it is none of
// theirs, whose patience may end.
const togetherLimit = 10 * time.Second

// Of gives what there is for one key.
func (t *Together[K, V]) Of(ctx context.Context, key K) (v V, ok bool, err error) {
	t.mu.Lock()
	q := t.next
	if q == nil {
		q = &question[K, V]{done: make(chan struct{})}
		t.next = q
	}
	q.keys = append(q.keys, key)
	first := !t.busy
	if first {
		t.busy, t.next = true, nil
	}
	t.mu.Unlock()
	if first {
		go t.serve(context.WithoutCancel(ctx), q)
	}
	select {
	case <-q.done:
	case <-ctx.Done():
		return v, false, ctx.Err()
	}
	v, ok = q.found[key]
	return v, ok && q.err == nil, q.err
}

// serve answers until nobody waits.
func (t *Together[K, V]) serve(ctx context.Context, q *question[K, V]) {
	for q != nil {
		next := time.NewTimer(togetherGather)
		t.answer(ctx, q)
		<-next.C
		t.mu.Lock()
		q, t.next = t.next, nil
		t.busy = q != nil
		t.mu.Unlock()
	}
}

func (t *Together[K, V]) answer(ctx context.Context, q *question[K, V]) {
	ctx, cancel := context.WithTimeout(ctx, togetherLimit)
	defer cancel()
	defer close(q.done)
	q.found, q.err = t.Ask(ctx, q.keys)
}
