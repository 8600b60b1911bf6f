package trunk

import (
	"time"

	"dialler/actors/lease"
	"dialler/engine"
)

// What nodes ask and tell each other of a trunk whose caps they share. Writer and reader
// of each message stand one below the other.

// putLegs writes legs of a trunk: a question for channels and tokens.
func putLegs(b []byte, legs []engine.LegID) []byte {
	b = lease.PutInt(b, len(legs))
	for _, l := range legs {
		b = lease.PutText(b, l)
	}
	return b
}

func readLegs(w *lease.Reader) []engine.LegID {
	n := w.Int()
	if n < 0 || n > int64(len(w.B)) { // each has a byte at least
		w.Bad = true
		return nil
	}
	legs := make([]engine.LegID, 0, n)
	for range n {
		legs = append(legs, engine.LegID(w.Text()))
	}
	return legs
}

// trunkGrant answers it: which of the legs, in their order, how long each INVITE has
// to wait, and why not the rest.
type trunkGrant struct {
	got        []bool
	wait       []time.Duration // one a leg
	constraint engine.Constraint
	retryAt    time.Time
}

func (g *trunkGrant) bytes() []byte {
	b := lease.PutInt(nil, len(g.got))
	for _, ok := range g.got {
		b = lease.PutFlag(b, ok)
	}
	b = lease.PutTime(lease.PutText(b, g.constraint), g.retryAt)
	for _, d := range g.wait {
		b = lease.PutInt(b, int64(d))
	}
	return b
}

func readTrunkGrant(b []byte, legs int) (g trunkGrant, ok bool) {
	w := lease.Reader{B: b}
	if w.Int() != int64(legs) || len(w.B) < legs {
		return g, false
	}
	g.got = make([]bool, legs)
	for i := range g.got {
		g.got[i] = w.Flag()
	}
	g.constraint, g.retryAt = engine.Constraint(w.Text()), w.Time()
	g.wait = make([]time.Duration, legs)
	for i := range g.wait {
		g.wait[i] = time.Duration(w.Int())
	}
	return g, !w.Bad
}

// trunkNotice gives legs back, or tells that one was sent, or refused for too many
// calls.
type trunkNotice struct {
	legs      []engine.LegID
	sent      bool
	over      bool
	throttled bool
	after     time.Duration
}

func (n *trunkNotice) bytes() []byte {
	return lease.PutFlag(lease.PutInt(lease.PutFlag(lease.PutFlag(putLegs(nil, n.legs), n.over), n.throttled),
		int64(n.after)), n.sent)
}

func readTrunkNotice(b []byte) (n trunkNotice, ok bool) {
	w := lease.Reader{B: b}
	n.legs, n.over, n.throttled, n.after = readLegs(&w), w.Flag(), w.Flag(), time.Duration(w.Int())
	n.sent = w.Flag()
	return n, !w.Bad
}
