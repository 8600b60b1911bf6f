package sharedcaps

import (
	"errors"
	"time"

	"dialler/actors/cluster/link"
	"dialler/engine"
	"dialler/engine/ownership"
)

// Messages between nodes over their link: a question for a count, and a returned grant, which the
// other node confirms by its answer.
const (
	asks = "ask count"
	owes = "give back"
	// gatherFor is how long either waits to be sent together with more.
	gatherFor = 4 * time.Millisecond
	// confirmFor is how long a confirmation may take; then the message is repeated.
	confirmFor = 2 * time.Second
)

// errNotKept means that the node that was asked does not keep that count.
var errNotKept = engine.Unavailable("keeper_replaced", "", 0)

// notice is a message about an identity.
type notice struct {
	of   ownership.Identity
	body []byte
}

func (n *notice) fields(w *link.Wire) {
	link.Text(w, &n.of.Kind)
	link.Text(w, &n.of.ID)
	w.Octets(&n.body)
	if !n.of.Valid() {
		w.Fail()
	}
}

// say sends another node a message and reports whether it answers; mu is held, and then does not
// lock it before say returns. Lost messages are repeated.
func (k *Caps) say(to engine.Incarnation, name string, within time.Duration, n notice,
	then func(*link.Wire, error)) {
	l := k.links.To(to)
	if l == nil || k.as() == 0 {
		return
	}
	l.Ask(link.Question{Name: name, Within: within, Gather: gatherFor, Say: n.fields, Then: then})
}

// putQuestion asks the keeper; mu is held.
func (k *Caps) putQuestion(st *standing, id uint64, by engine.BootTime, body []byte) {
	to := st.owner
	k.say(to, asks, max(time.Duration(by-k.clock.Boot()), 1), notice{st.of, body}, func(w *link.Wire, err error) {
		switch {
		case err == nil:
			var answer []byte
			w.Octets(&answer)
			k.answered(id, answer)
		case errors.Is(err, errNotKept):
			k.refused(st, to, id)
		} // otherwise it ends at its deadline
	})
}

// refused handles the answer that the node that was asked is not the keeper.
func (k *Caps) refused(st *standing, by engine.Incarnation, id uint64) {
	k.mu.Lock()
	if st.owner == by {
		st.owner = 0
	}
	q, ok := k.asks.Answered(id)
	k.mu.Unlock()
	if ok {
		k.stats.Unanswered.Add(1)
		q.then(nil, 0, ErrAway)
	}
}

// giveBack tells the keeper of a returned grant; mu is held.
func (k *Caps) giveBack(st *standing, id uint64, what []byte) {
	k.say(st.owner, owes, confirmFor, notice{st.of, what}, func(_ *link.Wire, err error) {
		if err == nil {
			k.mu.Lock()
			st.owed.Confirmed(id)
			k.mu.Unlock()
		}
	})
}

// read decodes another node's message about a count.
func read(s *link.Said) (n notice, ok bool) {
	n.fields(s.Wire)
	return n, s.Whole() && s.Asked()
}

// keeps says whether this node keeps a count, and records that another node asked for it.
func (k *Caps) keeps(of ownership.Identity, asked bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	st := k.of[of]
	if k.closed || st == nil || !st.keeper.May(k.as()) {
		return false
	}
	if asked {
		st.asked = k.clock.Boot()
		st.served = st.asked
	}
	return true
}

// takeQuestion decides another node's question. It does not block.
func (k *Caps) takeQuestion(s *link.Said) {
	n, ok := read(s)
	switch {
	case !ok:
	case !k.keeps(n.of, true):
		s.Answer(errNotKept, gatherFor, nil)
	default:
		k.stats.Served.Add(1)
		k.tree.Serve(n.of, s.Link.Peer(), n.body, func(b []byte) {
			s.Answer(nil, gatherFor, func(w *link.Wire) { w.Octets(&b) })
		})
	}
}

// takeBack takes what another node returns. If this node does not keep that count, the sender tells
// the keeper instead.
func (k *Caps) takeBack(s *link.Said) {
	if n, ok := read(s); ok && k.keeps(n.of, false) {
		s.Answer(nil, gatherFor, nil)
		k.tree.Take(n.of, n.body)
	}
}
