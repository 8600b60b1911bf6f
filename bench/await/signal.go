package await

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// poll is the interval at which a condition is checked even without a reported change, for counters
// that change too often to be reported.
const poll = 100 * time.Millisecond

// Signal reports that something changed. The zero value is ready. Notify costs one atomic load if
// nothing waits.
type Signal struct {
	waiting atomic.Bool
	mu      sync.Mutex
	ch      chan struct{}
}

func (s *Signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
		s.waiting.Store(true)
	}
	return s.ch
}

// Notify wakes all waiters.
func (s *Signal) Notify() {
	if !s.waiting.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
		s.waiting.Store(false)
	}
}

// Until returns nil once cond holds, or the error of ctx.
func (s *Signal) Until(ctx context.Context, cond func() bool) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		changed := s.wait() // before the check, so that no change is missed
		if cond() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-tick.C:
		}
	}
}
