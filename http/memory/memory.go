package memory

import (
	"context"
	"sync"
	"time"

	"dialler/engine"
)

// Memory keeps what a store said for a short while, also that there is
// nothing. What must hold at once is forgotten by key.
type Memory[K comparable, V any] struct {
	load func(ctx context.Context, key K) (v V, found bool, err error)
	ttl  time.Duration
	cap  int // entries; beyond it all are dropped
	now  func() time.Time
	// Spare is how old what is remembered may be when the store cannot be asked.
	Spare time.Duration

	mu         sync.Mutex
	entries    map[K]memorised[V]
	generation uint64 // grows with every forget, so that a look-up under way is not kept
}

type memorised[V any] struct {
	v     V
	found bool
	at    time.Time
}

// New makes a memory of at most size entries, each for ttl; load asks the store.
func New[K comparable, V any](ttl time.Duration, size int, now func() time.Time,
	load func(context.Context, K) (V, bool, error)) *Memory[K, V] {
	return &Memory[K, V]{load: load, ttl: ttl, cap: size, now: now, entries: make(map[K]memorised[V])}
}

// Get gives what is remembered, or asks.
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

// SparePeriod is how long credentials that were good hold on while the database
// is away: nobody can revoke them then, and an operator must see what goes on.
// Where other nodes may have revoked them there is none.
const SparePeriod = 15 * time.Minute

// Away says whether an error means that the database could not be asked.
func Away(err error) bool { return engine.ErrorCode(err) == "database_unavailable" }

// Forget drops what is remembered of a key: the next request asks the store.
func (m *Memory[K, V]) Forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation++
	delete(m.entries, key)
}

// ForgetAll has everything asked for anew.
func (m *Memory[K, V]) ForgetAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation++
	clear(m.entries)
}
