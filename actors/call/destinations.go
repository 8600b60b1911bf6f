package call

import (
	"slices"
	"sync"

	"dialler/engine"
	"dialler/engine/destination"
)

// Destinations holds the policy of where calls may go. It may depend on our own numbers, which are
// set as they are configured.
type Destinations struct {
	mu        sync.RWMutex
	countries []string
	own       []engine.PhoneNumber
	policy    destination.Policy
}

// Configure sets the countries and our own numbers.
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

// Now returns the current policy.
func (d *Destinations) Now() destination.Policy {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.policy
}

// Judge returns why a number must not be called from a caller ID.
func (d *Destinations) Judge(to, from engine.PhoneNumber) error { return d.Now().Judge(to, from) }
