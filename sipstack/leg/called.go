package leg

import (
	"sync"

	"dialler/engine"
)

// called counts the unfinished legs of this process by callee. It is the last guard of a number,
// because it knows of legs even if the database lost them.
type called struct {
	mu sync.Mutex
	n  map[engine.PhoneNumber]int
}

// begins counts a leg; with alone it returns false, without counting, if another leg to the number
// is live.
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
