package memory

import (
	"context"
	"sync"
	"time"

	"dialler/engine"
)

// Memory caches a store's answers for a short while, including that there is nothing. What must
// take effect at once is dropped by key.
type Memory[K comparable, V any] struct {
	load func(ctx context.Context, key K) (v V, found bool, err error)
	ttl  time.Duration
	cap  int // entries; when exceeded, all are dropped
	now  func() time.Time
	// Spare is how old a cached answer may be if the store cannot be queried.
	Spare time.Duration

	mu         sync.Mutex
	entries    map[K]memorised[V]
	generation uint64 // grows with every forget, so that a pending look-up is not cached
}

type memorised[V any] struct {
	v     V
	found bool
	at    time.Time
}

// New makes a cache of at most size entries, each for ttl; load queries the store.
func New[K comparable, V any](ttl time.Duration, size int, now func() time.Time,
	load func(context.Context, K) (V, bool, error)) *Memory[K, V] {
	return &Memory[K, V]{load: load, ttl: ttl, cap: size, now: now, entries: make(map[K]memorised[V])}
}

// Get returns the cached answer, or queries the store.
func (m *Memory[K, V]) Get(ctx context.Context, key K) (v V, found bool, err error) {
	now := m.now()
	m.mu.Lock()
	e, ok := m.entries[key]
	generation := m.generation
	m.mu.Unlock()
	if ok && now.Sub(e.at) < m.ttl && !now.Before(e.at) {
		return e.v, e.found, nil
	}
	if v, found, err = m.load(ctx, key); err != nil {
		if ok && Away(err) && now.Sub(e.at) < m.Spare && !now.Before(e.at) {
			return e.v, e.found, nil
		}
		return v, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.generation == generation {
		if len(m.entries) >= m.cap {
			clear(m.entries)
		}
		m.entries[key] = memorised[V]{v: v, found: found, at: now}
	}
	return v, found, nil
}

// SparePeriod is how long credentials that were valid stay accepted while the database is down:
// nobody can revoke them then, and an operator must see what is going on. If other nodes may have
// revoked them, there is no such period.
const SparePeriod = 15 * time.Minute

// Away says whether an error means that the database could not be queried.
func Away(err error) bool { return engine.ErrorCode(err) == "database_unavailable" }

// Forget drops the cached answer for a key: the next request queries the store.
func (m *Memory[K, V]) Forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation++
	delete(m.entries, key)
}

// ForgetAll drops all cached answers.
func (m *Memory[K, V]) ForgetAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation++
	clear(m.entries)
}
