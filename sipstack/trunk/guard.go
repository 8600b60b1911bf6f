package trunk

import (
	"net/netip"
	"sync"
	"time"
)

// The limit on requests outside dialogs from one address: enough for a keepalive per second on many
// trunks, and for a carrier's occasional attempts.
const (
	strangeRate  = 50 // a second
	strangeBurst = 100
)

// guard limits who may send requests outside a live dialog, and how often. Only addresses of trunks
// ever have an entry, so that it stays small.
type guard struct {
	mu      sync.Mutex
	buckets map[netip.Addr]*tokens
}

// tokens is a token bucket.
type tokens struct {
	left float64
	at   time.Duration // when that was
}

// take says whether one more request may be answered now.
func (g *guard) take(from netip.Addr, now time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.buckets[from]
	if t == nil {
		if g.buckets == nil {
			g.buckets = map[netip.Addr]*tokens{}
		}
		t = &tokens{left: strangeBurst, at: now}
		g.buckets[from] = t
	}
	t.left = min(strangeBurst, t.left+strangeRate*(now-t.at).Seconds())
	t.at = now
	if t.left < 1 {
		return false
	}
	t.left--
	return true
}

// keep drops the entries of addresses that are no longer peers.
func (g *guard) keep(peer func(netip.Addr) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for a := range g.buckets {
		if !peer(a) {
			delete(g.buckets, a)
		}
	}
}
