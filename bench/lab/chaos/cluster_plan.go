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
	killNode     deed = "node killed"
	stopNode     deed = "node stands still"
	drainNode    deed = "node drained and started again"
	upgradeNodes deed = "rolling upgrade"
	partNodes    deed = "two nodes cut from each other"
	partNode     deed = "node cut from all others"
	partDatabase deed = "node cut from PostgreSQL"
	partEtcd     deed = "node cut from etcd"
	stopEtcd     deed = "etcd stands still"
)

// longDeck is what a long run deals, again and again in another order; shortDeck
// is all of a short one.
var (
	longDeck = []deed{killNode, killNode, killNode, stopNode, drainNode, upgradeNodes, partNodes, partNodes, partNode,
		partDatabase, partDatabase, partDatabase, partEtcd, stopEtcd}
	shortDeck = []deed{killNode, drainNode, partNodes, partDatabase}
)

// clusterBlow is one of them, planned.
type clusterBlow struct {
	deed  deed
	node  int            // whom it hits
	other int            // of partNodes
	way   site.Direction // of a partition
	after time.Duration  // the cluster was whole before
	lasts time.Duration
	down  time.Duration // from the end of a node to its restart
}

// replaced says whether others have to take over what the node acted for.
func (b *clusterBlow) replaced() bool {
	switch b.deed {
	case killNode, stopNode, drainNode, partDatabase:
		return true
	default:
		return false
	}
}

// label is the row of the report.
func (b *clusterBlow) label() string {
	switch b.deed {
	case partNodes, partNode, partDatabase, partEtcd:
		return string(b.deed) + ", " + b.way.String()
	default:
		return string(b.deed)
	}
}

func (b *clusterBlow) String() string {
	s := b.label()
	switch b.deed {
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

// clusterPlan draws blows one by one.
type clusterPlan struct {
	rng   *rand.Rand
	nodes int
	short bool
	deck  []deed
	hit   []int
	ways  []site.Direction
}

func (p *clusterPlan) next() *clusterBlow {
	span := func(lo, hi time.Duration) time.Duration { return lo + time.Duration(p.rng.Int64N(int64(hi-lo))) }
	all := longDeck
	if p.short {
		all = shortDeck
	}
	if p.short && p.hit == nil { // first what takes longest to be over
		rest := slices.DeleteFunc(slices.Clone(all), func(d deed) bool { return d == partDatabase })
		p.rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		p.deck = append([]deed{partDatabase}, rest...)
	}
	everybody := make([]int, p.nodes)
	for i := range everybody {
		everybody[i] = i
	}
	b := &clusterBlow{deed: next(p.rng, &p.deck, all), node: next(p.rng, &p.hit, everybody), after: span(time.Second, 4*time.Second)}
	b.other = (b.node + 1 + p.rng.IntN(p.nodes-1)) % p.nodes
	switch b.deed {
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
