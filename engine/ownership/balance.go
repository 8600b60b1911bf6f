package ownership

import (
	"maps"
	"time"

	"dialler/engine"
)

// Balance decides, for one node, when it hands a campaign over to a node with fewer, after a node
// has joined. All nodes decide by the same rule from the database's data, so that only one of them
// gives at a time:
//
//   - the node with the most campaigns (of several the one that joined first)
//     gives to the one with the fewest, while the two differ by two or more;
//   - nothing moves while campaigns wait for an owner, while a node drains or is
//     without its lease, and for Calm after one is gone;
//   - nothing moves until everything has been unchanged for Settle.
//
// Each move reduces the difference, so moving ends, and no campaign moves back. The zero value has
// seen nothing yet.
type Balance struct {
	Settle time.Duration // 5 s
	Calm   time.Duration // 30 s

	seen  map[engine.Incarnation]int
	since engine.BootTime // seen has been unchanged
	calm  engine.BootTime // nothing moves before
}

// WithDefaults fills in zero values.
func (b Balance) WithDefaults() Balance {
	if b.Settle <= 0 {
		b.Settle = 5 * time.Second
	}
	if b.Calm <= 0 {
		b.Calm = 30 * time.Second
	}
	return b
}

// Disturbed notes that a node is gone, or that a hand-over failed.
func (b *Balance) Disturbed(now engine.BootTime) { b.calm = max(b.calm, now.Add(b.Calm)) }

// Look takes the nodes that have not left, with the number of active campaigns that each owns, and
// the number of campaigns without an owner; call it about every second. give says whether this node
// (me) hands one of its campaigns to another.
func (b *Balance) Look(now engine.BootTime, me engine.Incarnation, nodes []Load, waiting int) (to engine.Incarnation,
	give bool) {
	counts := make(map[engine.Incarnation]int, len(nodes))
	for i := range nodes {
		counts[nodes[i].Incarnation] = nodes[i].Owned
		if !nodes[i].Live || nodes[i].Draining {
			waiting++
		}
	}
	if b.seen == nil || waiting > 0 || !maps.Equal(counts, b.seen) {
		b.seen, b.since = counts, now
	}
	if waiting > 0 || now < b.since.Add(b.Settle) || now < b.calm {
		return 0, false
	}
	most, fewest := me, me
	for id, n := range counts {
		if n > counts[most] || n == counts[most] && id < most {
			most = id
		}
		if n < counts[fewest] || n == counts[fewest] && id > fewest {
			fewest = id
		}
	}
	if _, is := counts[me]; !is || most != me || counts[most]-counts[fewest] < 2 {
		return 0, false
	}
	b.since = now // whether or not it has moved
	return fewest, true
}

// Lightest is the campaign with the fewest live calls, ties by name: the cheapest to hand over. ok
// is false if there is none.
func Lightest(calls map[engine.CampaignID]int) (id engine.CampaignID, ok bool) {
	for c, n := range calls {
		if !ok || n < calls[id] || n == calls[id] && c < id {
			id, ok = c, true
		}
	}
	return id, ok
}
