package placement

import (
	"slices"
	"time"

	"dialler/engine"
)

// Report is a node's report about itself.
type Report struct {
	// Calls is how many calls it carries, its own campaigns' and those of other nodes.
	Calls int
	// Room is how many it can carry; 0 means none.
	Room int
	// Load is the used share of the processor time it may use, 0 to 1.
	Load     float64
	Draining bool
	// Unusable are the trunks over which it cannot place calls now.
	Unusable []engine.TrunkID
}

// Policy contains the limits of the choice. The zero value means the defaults, except for OwnShare,
// for which 0 spreads calls from the first one on.
type Policy struct {
	// OwnShare is how full the own node may be before others are considered, 0 to 1.
	OwnShare float64
	// MaxLoad is the load at which a node is full, 0.85: audio needs idle time.
	MaxLoad float64
	// Fresh is how long a report counts, 3 s: three times the interval of reports.
	Fresh time.Duration
	// Rest is how long a node that failed is left out, 5 s.
	Rest time.Duration
}

// DefaultOwnShare is how full the own node gets first.
const DefaultOwnShare = 0.6

func (p Policy) withDefaults() Policy {
	if p.MaxLoad <= 0 {
		p.MaxLoad = 0.85
	}
	if p.Fresh <= 0 {
		p.Fresh = 3 * time.Second
	}
	if p.Rest <= 0 {
		p.Rest = 5 * time.Second
	}
	return p
}

const (
	// unseen is how long a placed call may be missing from a report of the node that carries it.
	unseen = 250 * time.Millisecond
	// steady is the minimum number of calls for an estimate of their cost in processor time.
	steady = 20
	// MaxNodes limits the size of the table.
	MaxNodes = 4096
)

// node is the last known state of another node.
type node struct {
	report Report
	at     engine.BootTime // of the report
	placed int             // calls placed from here that the report cannot contain
	// Calls placed in the current interval of length unseen, and in the previous one.
	part, before int
	partAt       engine.BootTime
	rest         engine.BootTime // left out until then
}

// Table is one node's knowledge of the others. It is used by one goroutine at a time.
type Table struct {
	policy Policy
	nodes  map[engine.Incarnation]*node
	fit    []engine.Incarnation // of Choose, kept
}

// NewTable returns an empty table.
func NewTable(p Policy) *Table {
	return &Table{policy: p.withDefaults(), nodes: map[engine.Incarnation]*node{}}
}

// Heard takes another node's report.
func (t *Table) Heard(from engine.Incarnation, r Report, now engine.BootTime) {
	n := t.nodes[from]
	if n == nil {
		if t.forget(now); len(t.nodes) >= MaxNodes {
			return
		}
		n = &node{}
		t.nodes[from] = n
	}
	n.turn(now)
	n.report, n.at, n.placed = r, now, n.part+n.before
}

// Failed notes that a call could not be placed on a node, for a reason on that node's side.
func (t *Table) Failed(id engine.Incarnation, now engine.BootTime) {
	if n := t.nodes[id]; n != nil {
		n.rest = now.Add(t.policy.Rest)
	}
}

// forget drops nodes that have not reported for long.
func (t *Table) forget(now engine.BootTime) {
	for id, n := range t.nodes {
		if time.Duration(now-n.at) > 10*t.policy.Fresh {
			delete(t.nodes, id)
		}
	}
}

// turn updates the counts of recently placed calls.
func (n *node) turn(now engine.BootTime) {
	switch past := time.Duration(now - n.partAt); {
	case past >= 2*unseen:
		n.part, n.before, n.partAt = 0, 0, now
	case past >= unseen:
		n.part, n.before, n.partAt = 0, n.part, now
	}
}

// Share is how full a node is with placed calls in addition to its report: 1 is full.
func (p Policy) Share(r Report, placed int) float64 {
	if r.Room <= 0 || r.Calls+placed >= r.Room {
		return 1
	}
	load := r.Load
	if placed > 0 && r.Calls >= steady { // they will cost as much as the others
		load *= min(1+float64(placed)/float64(r.Calls), 2)
	}
	return min(max(float64(r.Calls+placed)/float64(r.Room), load/p.withDefaults().MaxLoad), 1)
}

func (r *Report) takes(trunk engine.TrunkID) bool {
	return !r.Draining && !slices.Contains(r.Unusable, trunk)
}

// takes says whether a node may be asked for a call.
func (t *Table) takes(n *node, trunk engine.TrunkID, now engine.BootTime) bool {
	return time.Duration(now-n.at) <= t.policy.Fresh && now >= n.rest && n.report.takes(trunk) &&
		t.policy.Share(n.report, n.placed) < 1
}

// Choose returns the node for a new call over a trunk, 0 for the own one, whose current state is
// own. draw returns a random number from 0 to n-1; ready says whether calls can begin on a node,
// and is only called for drawn ones.
func (t *Table) Choose(own Report, trunk engine.TrunkID, now engine.BootTime, draw func(n int) int,
	ready func(engine.Incarnation) bool) engine.Incarnation {
	here, fits := t.policy.Share(own, 0), own.takes(trunk)
	if len(t.nodes) == 0 || fits && here < t.policy.OwnShare {
		return 0
	}
	t.fit = t.fit[:0]
	for id, n := range t.nodes {
		if t.takes(n, trunk, now) {
			t.fit = append(t.fit, id)
		}
	}
	slices.Sort(t.fit)
	if fits && here < 1 {
		t.fit = append(t.fit, 0)
	}
	best, share, drawn := engine.Incarnation(0), 2.0, 0
	for len(t.fit) > 0 && drawn < 2 {
		i := draw(len(t.fit))
		id := t.fit[i]
		t.fit[i] = t.fit[len(t.fit)-1]
		t.fit = t.fit[:len(t.fit)-1]
		s := here
		if id != 0 {
			if !ready(id) {
				continue
			}
			s = t.policy.Share(t.nodes[id].report, t.nodes[id].placed)
		}
		if drawn++; s < share {
			best, share = id, s
		}
	}
	if n := t.nodes[best]; n != nil {
		n.turn(now)
		n.placed++
		n.part++
	}
	return best
}

// Candidates counts the nodes that could be chosen for a call now, whatever its trunk.
func (t *Table) Candidates(now engine.BootTime) (n int) {
	for _, other := range t.nodes {
		if t.takes(other, "", now) {
			n++
		}
	}
	return n
}

// Audience is the nodes to which a node sends its state in a round: all others, or at most `most`
// of them, different ones each time.
func Audience(others []engine.Incarnation, round, most int) []engine.Incarnation {
	if len(others) <= most {
		return others
	}
	sorted := slices.Sorted(slices.Values(others))
	told := make([]engine.Incarnation, 0, most)
	for i := range most {
		told = append(told, sorted[(round*most+i)%len(sorted)])
	}
	return told
}
