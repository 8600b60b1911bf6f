package pool

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Together batches queries of many callers who each ask for one key: while a query is running, new
// keys wait, and the next query takes all of them. A single caller is served at once; one who asks
// right after another waits up to togetherGather. No answer is older than its question.
type Together[K comparable, V any] struct {
	// Ask looks up the keys; a key missing from its result has no value. It must not be changed
	// after first use.
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

// PlannedEachTime is the mode for look-ups of keys joined with a fast-growing table: a cached plan
// would read the whole table until PostgreSQL has analysed it again, which happens once a minute.
const PlannedEachTime = pgx.QueryExecModeCacheDescribe

// togetherGather is the minimum time between the starts of two queries: a query costs about the
// same for one key as for ten.
const togetherGather = 2 * time.Millisecond

// togetherLimit bounds a query for several callers: it does not depend on the context of any of
// them, which may end.
const togetherLimit = 10 * time.Second

// Of returns the value of one key.
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

// serve answers questions until none is waiting.
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
