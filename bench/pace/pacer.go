package pace

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Frame is the time between two turns of a member.
	Frame = 20 * time.Millisecond

	slotCount = 5
	slotTime  = Frame / slotCount
	// maxCatchUp is how many late slots are made up for; more are skipped, as a stalled sender's
	// packets are never sent.
	maxCatchUp = 10 * slotCount
)

// Member gets one turn per Frame. Turns of one member never overlap, but one may still be running
// when Remove returns.
type Member interface{ Tick(now time.Time) }

// Group is a set of pacers that share the members.
type Group struct {
	pacers []*pacer
	turn   atomic.Uint32
}

// Start runs n pacers, one goroutine each.
func Start(n int) *Group {
	g := &Group{}
	for range n {
		p := &pacer{added: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
		for i := range p.slots {
			p.slots[i] = map[Member]struct{}{}
		}
		go p.run()
		g.pacers = append(g.pacers, p)
	}
	return g
}

// Close ends all turns; none is running when it returns.
func (g *Group) Close() {
	for _, p := range g.pacers {
		close(p.stop)
	}
	for _, p := range g.pacers {
		<-p.done
	}
}

// Add gives m turns until remove is called.
func (g *Group) Add(m Member) (remove func()) {
	p := g.pacers[int(g.turn.Add(1))%len(g.pacers)]
	p.mu.Lock()
	defer p.mu.Unlock()
	slot := p.next % slotCount
	p.next++
	p.slots[slot][m] = struct{}{}
	p.members++
	if p.members == 1 {
		select {
		case p.added <- struct{}{}:
		default:
		}
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if _, ok := p.slots[slot][m]; ok {
			delete(p.slots[slot], m)
			p.members--
		}
	}
}

type pacer struct {
	mu         sync.Mutex
	slots      [slotCount]map[Member]struct{}
	next       int
	members    int
	added      chan struct{} // there is a member again
	stop, done chan struct{}
}

func (p *pacer) empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.members == 0
}

func (p *pacer) run() {
	defer close(p.done)
	tick := time.NewTicker(slotTime)
	defer tick.Stop()
	var due []Member
	begun, served := time.Now(), 0
	for {
		if p.empty() {
			tick.Stop() // there is nobody to wake for
			select {
			case <-p.stop:
				return
			case <-p.added:
			}
			tick.Reset(slotTime)
			begun, served = time.Now(), 0
		}
		select {
		case <-p.stop:
			return
		case now := <-tick.C:
			want := int(now.Sub(begun) / slotTime)
			served = max(served, want-maxCatchUp)
			for ; served < want; served++ {
				due = due[:0]
				p.mu.Lock()
				for m := range p.slots[served%slotCount] {
					due = append(due, m)
				}
				p.mu.Unlock()
				for _, m := range due {
					m.Tick(now)
				}
			}
			clear(due) // removed members must not be kept alive
		}
	}
}
