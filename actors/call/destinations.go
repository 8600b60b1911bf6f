package call

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dialler/engine"
	"dialler/engine/destination"
	"dialler/engine/journal"
)

// Destinations keeps the policy of where calls may go; our own numbers, of
// which it may be made, come as they are configured.
type Destinations struct {
	mu        sync.RWMutex
	countries []string
	own       []engine.PhoneNumber
	policy    destination.Policy
}

// Configure sets the countries, and our own numbers.
func (d *Destinations) Configure(countries []string, own []engine.NumberSettings) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.countries = countries
	for _, n := range own {
		d.own = append(d.own, n.Number)
	}
	d.policy = destination.New(d.countries, d.own)
}

// Allow changes the countries.
func (d *Destinations) Allow(countries []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.countries = slices.Clone(countries)
	d.policy = destination.New(d.countries, d.own)
}

// Add adds one of our own numbers.
func (d *Destinations) Add(n engine.PhoneNumber) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.own, n) {
		return
	}
	d.own = append(d.own, n)
	d.policy = destination.New(d.countries, d.own)
}

// Now is the policy as it stands.
func (d *Destinations) Now() destination.Policy {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.policy
}

// Judge says why a number must not be called from a caller ID.
func (d *Destinations) Judge(to, from engine.PhoneNumber) error { return d.Now().Judge(to, from) }

// CalleeLimit is how often one number may be called within a time.
type CalleeLimit struct{ now atomic.Pointer[calleeLimit] }

type calleeLimit struct {
	attempts int
	period   time.Duration
}

// Set changes it; it counts for the next intent to dial. 0 attempts: as often as may be.
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
