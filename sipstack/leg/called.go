package leg

import (
	"sync"

	"dialler/engine"
)

// called counts the legs of this life that are not over, by whom they call. It is the
// last guard of a number: it knows what no database can have lost.
type called struct {
	mu sync.Mutex
	n  map[engine.PhoneNumber]int
}

// begins counts a leg; with alone it is false, and the leg does not count, when another
// one to the number lives.
func (c *called) begins(to engine.PhoneNumber, alone bool) bool {
	if to == "" {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if alone && c.n[to] > 0 {
		return false
	}
	if c.n == nil {
		c.n = map[engine.PhoneNumber]int{}
	}
	c.n[to]++
	return true
}

// over takes a leg out that begins has counted.
func (c *called) over(to engine.PhoneNumber) {
	if to == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n[to]--; c.n[to] == 0 {
		delete(c.n, to)
	}
}

func (c *called) has(to engine.PhoneNumber) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[to] > 0
}
