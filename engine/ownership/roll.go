package ownership

import (
	"cmp"
	"slices"
	"time"

	"dialler/engine"
)

// Roll determines from repeated lists of the database's nodes which nodes are gone. The zero value,
// with a Margin, has seen no list yet.
type Roll struct {
	// Margin is how long a node may be seen without a lease before it counts as gone: by then it
	// sends nothing any more.
	Margin time.Duration

	seen map[engine.Incarnation]presence
}

// presence is a node that has not left.
type presence struct {
	node   Node            // as last listed
	lapsed bool            // it was seen without a lease
	since  engine.BootTime // the first time
	gone   bool
}

// Call takes the database's current list of nodes that have not left, and returns those gone since
// the last call, in order and as they were last listed: one that has left is listed no more. A node is
// reported as gone once.
func (r *Roll) Call(now engine.BootTime, all []Node) (gone []Node) {
	seen := make(map[engine.Incarnation]presence, len(all))
	for i := range all {
		id := all[i].Incarnation
		p := r.seen[id]
		switch {
		case all[i].Live:
			p = presence{}
		case !p.lapsed:
			p = presence{lapsed: true, since: now}
		case !p.gone && now >= p.since.Add(r.Margin):
			p.gone = true
			gone = append(gone, all[i])
		}
		p.node = all[i]
		seen[id] = p
	}
	for id, p := range r.seen {
		if _, is := seen[id]; !is && !p.gone {
			gone = append(gone, p.node)
		}
	}
	r.seen = seen
	slices.SortFunc(gone, func(a, b Node) int { return cmp.Compare(a.Incarnation, b.Incarnation) })
	return gone
}

// There says whether a node was present at the last Call.
func (r *Roll) There(id engine.Incarnation) bool {
	p, is := r.seen[id]
	return is && !p.gone
}
