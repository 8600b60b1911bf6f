package fleet

import (
	"sync"

	"dialler/engine"
)

// Reach holds the order in which bot endpoints are tried now. The fleet writes it, every call reads
// it.
type Reach struct {
	mu    sync.RWMutex
	order map[engine.BotID][]string
}

func (r *Reach) put(id engine.BotID, order []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.order == nil {
		r.order = map[engine.BotID][]string{}
	}
	r.order[id] = order
}

// Of gives the endpoints that a call with the bot tries.
func (r *Reach) Of(b *engine.Bot) []string { return r.Order(b.ID, b.Endpoints) }

// Order returns a bot's known endpoints in the order in which to try them.
func (r *Reach) Order(id engine.BotID, known []string) []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if order := r.order[id]; len(order) > 0 {
		return order
	}
	return known
}
