package fleet

import (
	"sync"
	"time"

	"dialler/engine"
)

// Reach is what calls know of how bots are reached now. The fleet writes it, every call reads it.
type Reach struct {
	mu   sync.RWMutex
	bots map[engine.BotID]reached
}

type reached struct {
	order      []string  // of the endpoints, as they are tried
	heardUntil time.Time // see fleet.Endpoints
}

func (r *Reach) put(id engine.BotID, b reached) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bots == nil {
		r.bots = map[engine.BotID]reached{}
	}
	r.bots[id] = b
}

func (r *Reach) of(id engine.BotID) reached {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.bots[id]
}

// Of gives the endpoints that a call with the bot tries.
func (r *Reach) Of(b *engine.Bot) []string { return r.Order(b.ID, b.Endpoints) }

// Order returns a bot's known endpoints in the order in which to try them.
func (r *Reach) Order(id engine.BotID, known []string) []string {
	if order := r.of(id).order; len(order) > 0 {
		return order
	}
	return known
}

// Heard says whether the bot has lately taken a call.
func (r *Reach) Heard(id engine.BotID, now time.Time) bool { return now.Before(r.of(id).heardUntil) }
