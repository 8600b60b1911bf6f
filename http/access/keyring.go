package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"sync"
	"sync/atomic"
	"time"

	"dialler/engine"
	"dialler/http/memory"
	"dialler/http/wire"
)

// spec: "the prefix vx_ followed by 32 random characters".
const (
	keyPrefix   = "vx_"
	keyLength   = len(keyPrefix) + 32
	maskedChars = 4
)

// NewAPIKey creates a key: the full text, shown once, and the stored form.
func NewAPIKey(name string, now time.Time) (full string, key engine.APIKey) {
	full, secret := newSecret()
	return full, engine.APIKey{
		ID: engine.KeyID("key_" + wire.RandomText(16)), Name: name, Hash: secret.Hash, Masked: secret.Masked,
		Active: true, CreatedAt: now,
	}
}

func newSecret() (full string, stored KeySecret) {
	full = keyPrefix + wire.RandomText(32)
	return full, KeySecret{sha256.Sum256([]byte(full)), full[:len(keyPrefix)+maskedChars] + "…"}
}

// validHash says whether a secret with the hash opens a key now: its own, or the one before a rotation.
func validHash(k *engine.APIKey, hash [32]byte, now time.Time) bool {
	if subtle.ConstantTimeCompare(k.Hash[:], hash[:]) == 1 {
		return true
	}
	return k.OldHash != nil && subtle.ConstantTimeCompare(k.OldHash[:], hash[:]) == 1 &&
		k.OldUntil != nil && now.Before(*k.OldUntil)
}

func wellFormedKey(k []byte) bool {
	if len(k) != keyLength || string(k[:len(keyPrefix)]) != keyPrefix {
		return false
	}
	for _, c := range k[len(keyPrefix):] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// keyring checks keys. It caches the store's answer for at most a second and drops it at once when
// a key changes here; whether a key is active and not expired is checked on every request.
type keyring struct {
	store Keys
	ttl   time.Duration
	now   func() time.Time
	spare time.Duration // as in memory

	mu         sync.RWMutex
	entries    map[[32]byte]*keyEntry
	generation uint64 // grows with every forget, so that a concurrent lookup is not cached

	usedMu sync.Mutex
	used   map[engine.KeyID]time.Time
}

type keyEntry struct {
	key     engine.APIKey
	found   bool
	at      time.Time
	notedAt atomic.Int64 // unix seconds of the last use noted
}

// keyringCap limits the memory that unknown keys can use.
const keyringCap = 10_000

func newKeyring(store Keys, ttl time.Duration, now func() time.Time) *keyring {
	return &keyring{store: store, ttl: ttl, now: now,
		entries: make(map[[32]byte]*keyEntry), used: make(map[engine.KeyID]time.Time)}
}

// check returns the key for the given text, ErrUnauthorized for any problem with it, and ErrKeyExpired for one that was
// good until it expired.
func (k *keyring) check(ctx context.Context, given []byte) (*engine.APIKey, error) {
	if !wellFormedKey(given) {
		return nil, wire.ErrUnauthorized
	}
	hash := sha256.Sum256(given)
	now := k.now()
	entry, err := k.lookup(ctx, hash, now)
	if err != nil {
		return nil, err
	}
	switch key := &entry.key; {
	case !entry.found || !key.Active || !validHash(key, hash, now):
		return nil, wire.ErrUnauthorized
	case key.ExpiresAt != nil && !now.Before(*key.ExpiresAt):
		return nil, wire.ErrKeyExpired
	}
	if sec := now.Unix(); entry.notedAt.Swap(sec) != sec {
		k.usedMu.Lock()
		k.used[entry.key.ID] = now
		k.usedMu.Unlock()
	}
	return &entry.key, nil
}

func (k *keyring) lookup(ctx context.Context, hash [32]byte, now time.Time) (*keyEntry, error) {
	k.mu.RLock()
	entry, generation := k.entries[hash], k.generation
	k.mu.RUnlock()
	if entry != nil && now.Sub(entry.at) < k.ttl && !now.Before(entry.at) {
		return entry, nil
	}
	key, found, err := k.store.KeyByHash(ctx, hash)
	if err != nil {
		if entry != nil && memory.Away(err) && now.Sub(entry.at) < k.spare && !now.Before(entry.at) {
			return entry, nil
		}
		return nil, err
	}
	entry = &keyEntry{key: key, found: found, at: now}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.generation == generation {
		if len(k.entries) >= keyringCap {
			clear(k.entries)
		}
		k.entries[hash] = entry
	}
	return entry, nil
}

// forget drops everything cached: the next request asks the store.
func (k *keyring) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.generation++
	clear(k.entries)
}

// flush stores when keys were last used.
func (k *keyring) flush(ctx context.Context) {
	k.usedMu.Lock()
	used := k.used
	k.used = make(map[engine.KeyID]time.Time)
	k.usedMu.Unlock()
	if len(used) == 0 {
		return
	}
	if err := k.store.KeysUsed(ctx, used); err == nil {
		return
	}
	// Kept for the next time, unless a newer use was noted meanwhile.
	k.usedMu.Lock()
	defer k.usedMu.Unlock()
	for id, at := range used {
		if _, newer := k.used[id]; !newer {
			k.used[id] = at
		}
	}
}
