package call

import (
	"sync"
	"time"

	"dialler/engine"
	"dialler/engine/pacing"
)

// AbandonedNumbers are the recently abandoned numbers that this process knows of: from its own
// calls at once, from earlier ones when the numbers enter a look-ahead. All campaigns share it.
type AbandonedNumbers struct {
	mu    sync.RWMutex
	at    map[engine.PhoneNumber]time.Time
	swept time.Time
}

// Add records that a call to a number was abandoned.
func (b *AbandonedNumbers) Add(n engine.PhoneNumber, at, now time.Time) {
	if !pacing.NeedsSeat(at, now) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at == nil {
		b.at, b.swept = map[engine.PhoneNumber]time.Time{}, now
	}
	if at.After(b.at[n]) {
		b.at[n] = at
	}
	if now.Sub(b.swept) < time.Hour {
		return
	}
	b.swept = now
	for n, at := range b.at {
		if !pacing.NeedsSeat(at, now) {
			delete(b.at, n)
		}
	}
}

// NeedsSeat says whether a number may only be dialled with a seat held.
func (b *AbandonedNumbers) NeedsSeat(n engine.PhoneNumber, now time.Time) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return pacing.NeedsSeat(b.at[n], now)
}

// Forget drops the number of an erased person.
func (b *AbandonedNumbers) Forget(n engine.PhoneNumber) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.at, n)
}
