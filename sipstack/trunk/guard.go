package trunk

import (
	"net/netip"
	"sync"
	"time"
)

// Requests outside of dialogs that one address may send: enough for a keepalive
// a second of many trunks, and for a carrier that tries its luck.
const (
	strangeRate  = 50 // a second
	strangeBurst = 100
)

// guard is who may ask us something outside of a live dialog, and how often.
// Only addresses of trunks ever have an entry, so that it stays small.
type guard struct {
	mu      sync.Mutex
	buckets map[netip.Addr]*tokens
}

// tokens is a token bucket.
type tokens struct {
	left float64
	at   time.Duration // when that was
}

// take says whether one more request is answered now.
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

// keep drops what is known of addresses that are no peers any more.
func (g *guard) keep(peer func(netip.Addr) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for a := range g.buckets {
		if !peer(a) {
			delete(g.buckets, a)
		}
	}
}
