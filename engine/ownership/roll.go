package ownership

import (
	"slices"
	"time"

	"dialler/engine"
)

// Roll tells, of what the database says of the nodes time after time, who is
// gone. The zero value with its Margin has called nobody yet.
type Roll struct {
	// Margin is how long a node may be seen without a lease before it is gone: it
	// sends nothing any more then.
	Margin time.Duration

	seen map[engine.Incarnation]presence
}

// presence is a node that has not left.
type presence struct {
	lapsed bool            // it was seen without a lease
	since  engine.BootTime // the first time
	gone   bool
}

// Call takes all nodes that have not left, as the database has them now, and
// gives those that are gone since the last call, in order. A node is told to be
// gone once.
func (r *Roll) Call(now engine.BootTime, all []Node) (gone []engine.Incarnation) {
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
			gone = append(gone, id)
		}
		seen[id] = p
	}
	for id, p := range r.seen {
		if _, is := seen[id]; !is && !p.gone {
			gone = append(gone, id)
		}
	}
	r.seen = seen
	slices.Sort(gone)
	return gone
}

// There says whether a node was there when the roll was last called.
func (r *Roll) There(id engine.Incarnation) bool {
	p, is := r.seen[id]
	return is && !p.gone
}
