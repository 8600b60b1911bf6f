package http

import (
	"context"
	"sync"
	"time"

	"dialler/engine"
)

// memory keeps what a store said for a short while, also that there is
// nothing. What must hold at once is forgotten by key.
type memory[K comparable, V any] struct {
	load func(ctx context.Context, key K) (v V, found bool, err error)
	ttl  time.Duration
	cap  int // entries; beyond it all are dropped
	now  func() time.Time
	// spare is how old what is remembered may be when the store cannot be asked.
	spare time.Duration

	mu         sync.Mutex
	entries    map[K]memorised[V]
	generation uint64 // grows with every forget, so that a look-up under way is not kept
}

type memorised[V any] struct {
	v     V
	found bool
	at    time.Time
}

func newMemory[K comparable, V any](ttl time.Duration, size int, now func() time.Time,
	load func(context.Context, K) (V, bool, error)) *memory[K, V] {
	return &memory[K, V]{load: load, ttl: ttl, cap: size, now: now, entries: make(map[K]memorised[V])}
}

func (m *memory[K, V]) get(ctx context.Context, key K) (v V, found bool, err error) {
	now := m.now()
	m.mu.Lock()
	e, ok := m.entries[key]
	generation := m.generation
	m.mu.Unlock()
	if ok && now.Sub(e.at) < m.ttl && !now.Before(e.at) {
		return e.v, e.found, nil
	}
	if v, found, err = m.load(ctx, key); err != nil {
		if ok && away(err) && now.Sub(e.at) < m.spare && !now.Before(e.at) {
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

// sparePeriod is how long credentials that were good hold on while the database
// is away: nobody can revoke them then, and an operator must see what goes on.
// Where other nodes may have revoked them there is none.
const sparePeriod = 15 * time.Minute

// away says whether an error means that the database could not be asked.
func away(err error) bool { return engine.ErrorCode(err) == "database_unavailable" }

// forget drops what is remembered of a key: the next request asks the store.
func (m *memory[K, V]) forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation++
	delete(m.entries, key)
}

// forgetAll has everything asked for anew.
func (m *memory[K, V]) forgetAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation++
	clear(m.entries)
}
