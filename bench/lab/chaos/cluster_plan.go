package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"dialler/bench/site"
)

// What is done to the nodes of a cluster and to the network between them.
const (
	killNode     kind = "node killed"
	stopNode     kind = "node stands still"
	drainNode    kind = "node drained and started again"
	upgradeNodes kind = "rolling upgrade"
	partNodes    kind = "two nodes cut from each other"
	partNode     kind = "node cut from all others"
	partDatabase kind = "node cut from PostgreSQL"
	partEtcd     kind = "node cut from etcd"
	isolateNode  kind = "node cut from all but the carrier"
	killServer   kind = "PostgreSQL killed"
	stopEtcd     kind = "etcd stands still"
)

// longDeck is what a long run deals, again and again in another order, lastingDeck one whose
// conversations outlast it; shortDeck is all of a short one.
var (
	longDeck = []kind{killNode, killNode, killNode, stopNode, drainNode, upgradeNodes, partNodes, partNodes, partNode,
		partDatabase, partDatabase, partDatabase, partEtcd, stopEtcd}
	lastingDeck = []kind{killNode, killNode, killNode, stopNode, stopNode, stopNode, stopNode, isolateNode, isolateNode,
		isolateNode, isolateNode, isolateNode, partDatabase, partDatabase, partDatabase, partDatabase, partNodes, partNodes,
		partNode, partNode, partEtcd, stopEtcd, killServer, drainNode}
	shortDeck = []kind{killNode, drainNode, partNodes, partDatabase}
)

// clusterDisturbance is one of them, planned.
type clusterDisturbance struct {
	kind  kind
	node  int            // whom it hits
	other int            // of partNodes
	way   site.Direction // of a partition
	after time.Duration  // the cluster was whole before
	lasts time.Duration
	down  time.Duration // from the end of a node to its restart
	// Of a lasting run: what a call is in, and how long after that began it strikes.
	during during
	delay  time.Duration
}

// replaced says whether others have to take over what the node acted for.
func (b *clusterDisturbance) replaced() bool {
	switch b.kind {
	case killNode, drainNode:
		return true
	case stopNode, partDatabase, isolateNode:
		return b.lasts > replacedAfter
	default:
		return false
	}
}

// replacedAfter is the end of a lease, as others count it: a node that is back sooner may not have been replaced.
const replacedAfter = 8 * time.Second

// label is the row of the report.
func (b *clusterDisturbance) label() string {
	switch b.kind {
	case partNodes, partNode, partDatabase, partEtcd, isolateNode:
		return string(b.kind) + ", " + b.way.String()
	default:
		return string(b.kind)
	}
}

func (b *clusterDisturbance) String() string {
	s := b.label()
	switch b.kind {
	case stopEtcd, upgradeNodes, killServer:
	case partNodes:
		s += fmt.Sprintf(": n%d from n%d", b.node+1, b.other+1)
	default:
		s += fmt.Sprintf(": n%d", b.node+1)
	}
	if b.during == ringing || b.during == answered {
		s += ", " + string(b.during)
	}
	if b.lasts > 0 {
		s += fmt.Sprintf(" for %v", b.lasts.Round(10*time.Millisecond))
	}
	if b.down > 0 {
		s += fmt.Sprintf("; down for %v", b.down.Round(10*time.Millisecond))
	}
	return s
}

// clusterPlan draws disturbances one by one.
type clusterPlan struct {
	rng   *rand.Rand
	nodes int
	short bool
	// lasting: for 4 to 60 s, and in the moments of calls.
	lasting bool
	deck    []kind
	hit     []int
	ways    []site.Direction
	moments []during
}

func (p *clusterPlan) next() *clusterDisturbance {
	span := func(lo, hi time.Duration) time.Duration { return lo + time.Duration(p.rng.Int64N(int64(hi-lo))) }
	all := longDeck
	switch {
	case p.lasting:
		all = lastingDeck
	case p.short:
		all = shortDeck
	}
	if p.short && p.hit == nil { // first what takes longest to be over
		rest := slices.DeleteFunc(slices.Clone(all), func(d kind) bool { return d == partDatabase })
		p.rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		p.deck = append([]kind{partDatabase}, rest...)
	}
	everybody := make([]int, p.nodes)
	for i := range everybody {
		everybody[i] = i
	}
	b := &clusterDisturbance{kind: next(p.rng, &p.deck, all), node: next(p.rng, &p.hit, everybody),
		after: span(time.Second, 4*time.Second)}
	b.other = (b.node + 1 + p.rng.IntN(p.nodes-1)) % p.nodes
	switch b.kind {
	case killNode:
		b.down = span(0, 12*time.Second) // before it is replaced, and after
	case stopNode:
		b.lasts = 20 * time.Second
	case partNodes, partNode, partDatabase, partEtcd, isolateNode:
		b.way = next(p.rng, &p.ways, []site.Direction{site.Both, site.Out, site.In})
		b.lasts = span(5*time.Second, 20*time.Second)
	case stopEtcd:
		b.lasts = span(5*time.Second, 20*time.Second)
	case drainNode:
		b.down = span(0, 3*time.Second)
	default:
	}
	if p.lasting {
		p.last(b, span)
	}
	if p.short {
		b.after, b.lasts, b.down = b.after/2, min(b.lasts, 6*time.Second), min(b.down, time.Second)
	}
	return b
}

// last draws the moment and the length of a disturbance where conversations last: half are over before the lease is,
// some of those of a process that stands still are longer than lease and limbo together.
func (p *clusterPlan) last(b *clusterDisturbance, span func(lo, hi time.Duration) time.Duration) {
	b.during = next(p.rng, &p.moments, []during{anyTime, ringing, ringing, answered})
	if b.during == ringing {
		b.delay = span(0, 2*time.Second)
	}
	switch kind := p.rng.IntN(8); {
	case b.kind == killServer:
		b.lasts = span(time.Second, 8*time.Second)
	case b.lasts == 0:
	case kind < 4:
		b.lasts = span(4*time.Second, 7*time.Second)
	case kind < 7 || b.kind != stopNode && b.kind != isolateNode:
		b.lasts = span(10*time.Second, 20*time.Second)
	default:
		b.lasts = span(38*time.Second, 60*time.Second)
	}
}
