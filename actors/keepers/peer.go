package keepers

import (
	"sync"
	"time"

	"dialler/engine"
)

const (
	// gatherFor is how long what goes to a node waits for more of it.
	gatherFor = 4 * time.Millisecond
	// queueMost bounds what waits for a node; questions beyond it are lost, and
	// debts are repeated.
	queueMost = 50_000
)

// peer is the way to another node.
type peer struct {
	id    engine.Incarnation
	items []item // under Keepers.mu, as the next two
	armed bool
	sent  engine.BootTime

	order sync.Mutex // of frames on their way out
	n     uint64     // under order
}

// queue adds an item for a node; mu is held.
func (k *Keepers) queue(to engine.Incarnation, it item) {
	p := k.peers[to]
	if p == nil {
		p = &peer{id: to}
		k.peers[to] = p
	}
	if len(p.items) >= queueMost {
		k.stats.Lost.Add(1)
		return
	}
	p.items = append(p.items, it)
	if p.armed {
		return
	}
	p.armed = true
	time.AfterFunc(max(0, time.Duration(p.sent.Add(gatherFor)-k.clock.Boot())), func() { k.flush(p) })
}

// flush sends what waits for a node.
func (k *Keepers) flush(p *peer) {
	p.order.Lock()
	defer p.order.Unlock()
	k.mu.Lock()
	items := p.items
	p.items, p.armed, p.sent = nil, false, k.clock.Boot()
	node, over := k.node, k.closed
	k.mu.Unlock()
	if over || node.Incarnation() == 0 {
		return // nothing is granted, and debts are told again
	}
	for len(items) > 0 {
		size, m := 0, 0
		for m < len(items) && (m == 0 || size+items[m].size() <= frameFill) {
			size += items[m].size()
			m++
		}
		p.n++
		k.stats.Frames.Add(1)
		_ = node.Tell(p.id, Name, encode(p.n, items[:m])) // what is lost is asked or told again
		items = items[m:]
	}
}

// forgetPeers drops the ways to nodes that are gone; mu is held.
func (k *Keepers) forgetPeers(live map[engine.Incarnation]bool) {
	for id, p := range k.peers {
		if !live[id] && len(p.items) == 0 && !p.armed {
			delete(k.peers, id)
		}
	}
}
