// Package placement chooses which node of a cluster carries a new call, based on reports that the
// nodes exchange every second.
//
// It must not know the rules of the choice (engine/placement), how messages travel, what a node can
// carry, or how that is measured.
//
// A report may be late; a node that has been silent for three seconds gets no calls. Each node
// reports to at most Audience others a second, so that its traffic does not grow with the cluster.
package placement

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dialler/actors/cluster/link"
	"dialler/engine"
	"dialler/engine/placement"
)

const (
	// Interval is how often nodes report what they can carry.
	Interval = time.Second
	// Audience is to how many other nodes at once.
	Audience = 32
	// maxUnusable bounds the list that is sent, and accepted from another node.
	maxUnusable = 128
	// Name is the link name of these reports.
	Name = "capacity"
)

// Config configures Carriers.
type Config struct {
	Policy placement.Policy
	// Boot reads the boot-time clock.
	Boot func() engine.BootTime
	// Own returns the state of this node, Tell sends another node a message, Ready says whether
	// calls can start there. They do not block.
	Own   func() placement.Report
	Tell  func(to engine.Incarnation, say func(*link.Wire))
	Ready func(engine.Incarnation) bool
}

// Carriers is safe for concurrent use.
type Carriers struct {
	cfg Config

	mu     sync.Mutex
	table  *placement.Table
	others []engine.Incarnation
	round  int

	// Figures for /metrics.
	Here, There, Failures atomic.Int64
}

// New makes Carriers that know of no other node.
func New(cfg Config) *Carriers {
	return &Carriers{cfg: cfg, table: placement.NewTable(cfg.Policy)}
}

// describe codes a report.
func describe(w *link.Wire, r *placement.Report) {
	link.Number(w, &r.Calls)
	link.Number(w, &r.Room)
	w.Real(&r.Load)
	w.Flag(&r.Draining)
	link.List(w, &r.Unusable, func(t *engine.TrunkID) { link.Text(w, t) })
	if r.Calls < 0 || math.IsNaN(r.Load) || len(r.Unusable) > maxUnusable {
		w.Fail()
	}
}

// Choose gives the node for a new call over a trunk, 0 for this one.
func (c *Carriers) Choose(trunk engine.TrunkID) engine.Incarnation {
	own := c.cfg.Own()
	c.mu.Lock()
	n := c.table.Choose(own, trunk, c.cfg.Boot(), rand.IntN, c.cfg.Ready)
	c.mu.Unlock()
	if n == 0 {
		c.Here.Add(1)
	} else {
		c.There.Add(1)
	}
	return n
}

// Failed says that a node could not place a call that it was given.
func (c *Carriers) Failed(node engine.Incarnation) {
	c.Failures.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.table.Failed(node, c.cfg.Boot())
}

// Know sets which other nodes get reports.
func (c *Carriers) Know(others []engine.Incarnation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.others = slices.Clone(others)
}

// Heard takes another node's report.
func (c *Carriers) Heard(from engine.Incarnation, w *link.Wire) {
	var r placement.Report
	describe(w, &r)
	if !w.Whole() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.table.Heard(from, r, c.cfg.Boot())
}

// Candidates counts the other nodes that are eligible for a call.
func (c *Carriers) Candidates() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.table.Candidates(c.cfg.Boot())
}

// Own returns the state of this node.
func (c *Carriers) Own() placement.Report { return c.cfg.Own() }

// Run reports to the others what this node can carry, until ctx ends.
func (c *Carriers) Run(ctx context.Context) {
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.Tell()
		}
	}
}

// Tell reports to the others now.
func (c *Carriers) Tell() {
	r := c.cfg.Own()
	if len(r.Unusable) > maxUnusable { // the node as a whole has a fault
		r.Unusable, r.Room = nil, 0
	}
	c.mu.Lock()
	to := placement.Audience(c.others, c.round, Audience)
	c.round++
	c.mu.Unlock()
	for _, id := range to {
		c.cfg.Tell(id, func(w *link.Wire) { describe(w, &r) })
	}
}
