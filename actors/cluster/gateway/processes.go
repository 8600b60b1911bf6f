package gateway

import (
	"math"
	"sync"
	"time"

	"dialler/engine"
)

// processes are the nodes that lost their lease, by where they listen. A process that joins again has
// another incarnation, and may carry calls of the one before until LimboFor after the end of its
// last lease.
type processes struct {
	mu sync.Mutex
	at map[engine.Incarnation]string
	// last is when the last lease of an address ended.
	last map[string]engine.BootTime
}

func (p *processes) gone(node engine.Incarnation, address string, now engine.BootTime) {
	if address == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at == nil {
		p.at, p.last = map[engine.Incarnation]string{}, map[string]engine.BootTime{}
	}
	p.at[node], p.last[address] = address, now
}

// goneFor is for how long no incarnation at the node's address has had a lease that ended.
func (p *processes) goneFor(node engine.Incarnation, now engine.BootTime) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	address, ok := p.at[node]
	if !ok {
		return math.MaxInt64
	}
	return time.Duration(now - p.last[address])
}
