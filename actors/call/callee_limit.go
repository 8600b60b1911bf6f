package call

import (
	"sync/atomic"
	"time"

	"dialler/engine/journal"
)

// CalleeLimit is how often one number may be called within a period.
type CalleeLimit struct{ now atomic.Pointer[calleeLimit] }

type calleeLimit struct {
	attempts int
	period   time.Duration
}

// Set changes the limit, from the next intent to dial on. 0 attempts means no limit.
func (l *CalleeLimit) Set(attempts int, period time.Duration) {
	l.now.Store(&calleeLimit{attempts, period})
}

func (l *CalleeLimit) at(now time.Time) *journal.CalleeCap {
	limit := l.now.Load()
	if limit.attempts <= 0 {
		return nil
	}
	return &journal.CalleeCap{Attempts: limit.attempts, Period: limit.period, Now: now}
}
