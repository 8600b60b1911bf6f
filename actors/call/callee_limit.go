package call

import (
	"sync/atomic"
	"time"

	"dialler/engine"
	"dialler/engine/frequency"
	"dialler/engine/journal"
	"dialler/engine/number"
)

// CalleeLimit is how often one number may be called.
type CalleeLimit struct {
	now atomic.Pointer[frequency.Rules]
}

// Set changes the rules, from the next intent to dial on.
func (l *CalleeLimit) Set(rules frequency.Rules) { l.now.Store(&rules) }

func (l *CalleeLimit) at(to engine.PhoneNumber, now time.Time) *journal.CalleeCap {
	rules := l.now.Load()
	if rules == nil {
		return nil
	}
	country := ""
	if rules.ByCountry() {
		country = number.Region(to)
	}
	limits := rules.For(country)
	if len(limits) == 0 {
		return nil
	}
	return &journal.CalleeCap{Limits: limits, Now: now}
}
