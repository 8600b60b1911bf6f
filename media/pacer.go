package media

import "time"

const (
	frameTime = 20 * time.Millisecond
	// catchUp is how many frames a pacer that was held up sends at once before
	// it gives up the lost time.
	catchUp = 10
)

// pacer gives the calls of its sockets a frame every 20 ms.
type pacer struct {
	e       *Engine
	sockets []*socket
	offset  time.Duration // spreads the pacers over the 20 ms
}

func (p *pacer) run() {
	defer p.e.tasks.Done()
	w := newWriter()
	next := time.Now().Add(p.offset)
	timer := time.NewTimer(p.offset)
	defer timer.Stop()
	for {
		select {
		case <-p.e.stop:
			return
		case <-timer.C:
		}
		for {
			p.tick(w)
			next = next.Add(frameTime)
			late := time.Since(next)
			if late < 0 {
				timer.Reset(-late)
				break
			}
			if late > catchUp*frameTime {
				skipped := late / frameTime
				p.e.counters.ticksSkipped.Add(uint64(skipped))
				next = next.Add(skipped * frameTime)
			}
		}
	}
}

func (p *pacer) tick(w *writer) {
	now := p.e.now()
	for _, s := range p.sockets {
		list := s.calls.Load()
		if list == nil {
			continue
		}
		for _, c := range *list {
			c.tick(w, now)
			if w.full() {
				p.flush(w, s)
			}
		}
		p.flush(w, s)
	}
}

func (p *pacer) flush(w *writer, s *socket) {
	if w.n == 0 {
		return
	}
	sent, failed := w.flush(s.raw)
	p.e.counters.sent.Add(uint64(sent))         //nolint:gosec // not negative
	p.e.counters.sendErrors.Add(uint64(failed)) //nolint:gosec // not negative
}
