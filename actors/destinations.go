package actors

import (
	"slices"
	"sync"

	"dialler/engine"
	"dialler/engine/destination"
	"dialler/engine/number"
)

// destinations keeps the policy of where calls may go; our own numbers, of
// which it may be made, come as they are configured.
type destinations struct {
	mu        sync.RWMutex
	countries []string
	own       []engine.PhoneNumber
	policy    destination.Policy
}

func (d *destinations) configure(countries []string, own []engine.NumberSettings) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.countries = countries
	for _, n := range own {
		d.own = append(d.own, n.Number)
	}
	d.policy = destination.New(d.countries, d.own)
}

// allow changes the countries.
func (d *destinations) allow(countries []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.countries = slices.Clone(countries)
	d.policy = destination.New(d.countries, d.own)
}

func (d *destinations) add(n engine.PhoneNumber) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.own, n) {
		return
	}
	d.own = append(d.own, n)
	d.policy = destination.New(d.countries, d.own)
}

func (d *destinations) now() destination.Policy {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.policy
}

func (d *destinations) judge(to, from engine.PhoneNumber) error { return d.now().Judge(to, from) }

// Destination refuses (422 "destination_not_allowed") a number to which this
// installation places no calls.
func (t *Tree) Destination(to number.Callee) error { return t.d.destinations.now().JudgeCallee(to, "") }
