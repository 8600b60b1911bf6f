package trunk

import (
	"time"

	"dialler/actors/cluster/link"
	"dialler/engine"
)

// Messages between nodes about a trunk whose caps they share: one description both writes and reads
// each message.

// legsOf describes legs of a trunk: a question for channels and tokens.
func legsOf(w *link.Wire, legs *[]engine.LegID) {
	link.List(w, legs, func(l *engine.LegID) { link.Text(w, l) })
}

// trunkGrant answers it: which of the legs are granted, in order, how long each INVITE must wait,
// and why the rest are not. A refused leg that waits is to ask again; one that does not is for the
// next trunk.
type trunkGrant struct {
	got        []bool
	wait       []time.Duration // one a leg
	constraint engine.Constraint
	retryAt    time.Time
}

func (g *trunkGrant) fields(w *link.Wire) {
	link.List(w, &g.got, w.Flag)
	link.Text(w, &g.constraint)
	w.Date(&g.retryAt)
	link.List(w, &g.wait, func(d *time.Duration) { link.Number(w, d) })
}

func readTrunkGrant(b []byte, legs int) (g trunkGrant, ok bool) {
	ok = link.Unpack(b, g.fields)
	return g, ok && len(g.got) == legs && len(g.wait) == legs
}

// trunkNotice returns legs, or reports that one was sent, or refused because of too many calls.
type trunkNotice struct {
	legs      []engine.LegID
	sent      bool
	over      bool
	throttled bool
	after     time.Duration
}

func (n *trunkNotice) fields(w *link.Wire) {
	legsOf(w, &n.legs)
	w.Flag(&n.over)
	w.Flag(&n.throttled)
	link.Number(w, &n.after)
	w.Flag(&n.sent)
}
