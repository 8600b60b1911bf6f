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
	stopEtcd     kind = "etcd stands still"
)

// longDeck is what a long run deals, again and again in another order; shortDeck
// is all of a short one.
var (
	longDeck = []kind{killNode, killNode, killNode, stopNode, drainNode, upgradeNodes, partNodes, partNodes, partNode,
		partDatabase, partDatabase, partDatabase, partEtcd, stopEtcd}
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
}

// replaced says whether others have to take over what the node acted for.
func (b *clusterDisturbance) replaced() bool {
	switch b.kind {
	case killNode, stopNode, drainNode, partDatabase:
		return true
	default:
		return false
	}
}

// label is the row of the report.
func (b *clusterDisturbance) label() string {
	switch b.kind {
	case partNodes, partNode, partDatabase, partEtcd:
		return string(b.kind) + ", " + b.way.String()
	default:
		return string(b.kind)
	}
}

func (b *clusterDisturbance) String() string {
	s := b.label()
	switch b.kind {
	case stopEtcd, upgradeNodes:
	case partNodes:
		s += fmt.Sprintf(": n%d from n%d", b.node+1, b.other+1)
	default:
		s += fmt.Sprintf(": n%d", b.node+1)
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
	deck  []kind
	hit   []int
	ways  []site.Direction
}

func (p *clusterPlan) next() *clusterDisturbance {
	span := func(lo, hi time.Duration) time.Duration { return lo + time.Duration(p.rng.Int64N(int64(hi-lo))) }
	all := longDeck
	if p.short {
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
	case partNodes, partNode, partDatabase, partEtcd:
		b.way = next(p.rng, &p.ways, []site.Direction{site.Both, site.Out, site.In})
		b.lasts = span(5*time.Second, 20*time.Second)
	case stopEtcd:
		b.lasts = span(5*time.Second, 20*time.Second)
	case drainNode:
		b.down = span(0, 3*time.Second)
	default:
	}
	if p.short {
		b.after, b.lasts, b.down = b.after/2, min(b.lasts, 6*time.Second), min(b.down, time.Second)
	}
	return b
}
