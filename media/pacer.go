package media

import (
	"slices"
	"sync/atomic"
	"time"
)

const (
	frameTime = 20 * time.Millisecond
	// catchUp is how many frames a pacer that was held up sends at once before
	// it gives up the lost time.
	catchUp = 10
)

// pacer gives the calls of its sockets a frame every 20 ms. Without any call it
// sleeps.
type pacer struct {
	e       *Engine
	sockets atomic.Pointer[[]*socket] // replaced when one is added
	offset  time.Duration             // spreads the pacers over the 20 ms
	wake    chan struct{}             // a call came to one of the sockets; holds one
}

func (p *pacer) run() {
	defer p.e.tasks.Done()
	w := newWriter(batchSize)
	var next time.Time
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		if next.IsZero() { // nobody to serve
			select {
			case <-p.e.stop:
				return
			case <-p.wake:
			}
			next = time.Now().Add(p.offset)
			timer.Reset(p.offset)
		}
		select {
		case <-p.e.stop:
			return
		case <-timer.C:
		}
		for {
			if !p.tick(w) {
				next = time.Time{}
				break
			}
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

// tick says whether there was a call.
func (p *pacer) tick(w *writer) (served bool) {
	now := p.e.now()
	for _, s := range *p.sockets.Load() {
		list := s.calls.Load()
		if list == nil || len(*list) == 0 {
			continue
		}
		served = true
		for _, c := range *list {
			c.tick(w, now)
			if w.full() {
				s.flush(w)
			}
		}
		s.flush(w)
	}
	return served
}

// serve adds a socket.
func (p *pacer) serve(s *socket) {
	var list []*socket
	if old := p.sockets.Load(); old != nil {
		list = slices.Clone(*old)
	}
	list = append(list, s)
	s.pacer = p
	p.sockets.Store(&list)
}

// called wakes the pacer up.
func (p *pacer) called() {
	select {
	case p.wake <- struct{}{}:
	default: // it will wake up anyway
	}
}

// flush sends what was gathered for the socket.
func (s *socket) flush(w *writer) {
	if w.n == 0 {
		return
	}
	sent, failed := w.flush(s.rtp.Load().raw)
	s.e.counters.sent.Add(uint64(sent))         //nolint:gosec // not negative
	s.e.counters.sendErrors.Add(uint64(failed)) //nolint:gosec // not negative
}
