package carrier

import (
	"sync"
	"time"
)

const (
	pacerCount = 2
	frameTime  = 20 * time.Millisecond
	// A pacer's calls are spread over slots of 4 ms, so that a thousand
	// packets do not leave in one burst.
	slotCount = 5
	slotTime  = frameTime / slotCount
	// maxCatchUp is how many late slots are made up for; more are skipped,
	// as a stalled carrier's packets never come.
	maxCatchUp = 10 * slotCount
)

// pacer sends a frame of each of its streams every 20 ms.
type pacer struct {
	mu    sync.Mutex
	slots [slotCount]map[*stream]struct{}
	next  int
	stop  chan struct{}
	done  chan struct{}
}

func startPacer() *pacer {
	p := &pacer{stop: make(chan struct{}), done: make(chan struct{})}
	for i := range p.slots {
		p.slots[i] = map[*stream]struct{}{}
	}
	go p.run()
	return p
}

func (p *pacer) add(s *stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.slot = p.next % slotCount
	p.next++
	p.slots[s.slot][s] = struct{}{}
}

func (p *pacer) remove(s *stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.slots[s.slot], s)
}

func (p *pacer) close() {
	close(p.stop)
	<-p.done
}

func (p *pacer) run() {
	defer close(p.done)
	tick := time.NewTicker(slotTime)
	defer tick.Stop()
	var due []*stream
	begun, served := time.Now(), 0
	for {
		select {
		case <-p.stop:
			return
		case now := <-tick.C:
			want := int(now.Sub(begun) / slotTime)
			served = max(served, want-maxCatchUp)
			for ; served < want; served++ {
				due = due[:0]
				p.mu.Lock()
				for s := range p.slots[served%slotCount] {
					due = append(due, s)
				}
				p.mu.Unlock()
				for _, s := range due {
					s.tick()
				}
			}
		}
	}
}
