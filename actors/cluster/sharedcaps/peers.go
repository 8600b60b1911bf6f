package sharedcaps

import (
	"errors"
	"time"

	"dialler/actors/cluster/link"
	"dialler/engine"
	"dialler/engine/ownership"
)

// What nodes say to each other over their link: a question for a count, and something
// that is given back, which the other confirms by its answer.
const (
	asks = "ask count"
	owes = "give back"
	// gatherFor is how long either waits for more of it.
	gatherFor = 4 * time.Millisecond
	// confirmFor is how long a confirmation may take; meanwhile it is told again.
	confirmFor = 2 * time.Second
)

// errNotKept: the node that was asked keeps no such count.
var errNotKept = engine.Unavailable("keeper_replaced", "", 0)

// notice is what is said of an identity.
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

// say has another node told something and hears whether it answers; mu is held, and
// not taken by then before say returns. What is lost is asked or told again.
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
		} // else it ends when its time does
	})
}

// refused: the node that was asked is not the keeper.
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

// giveBack tells the keeper of a debt; mu is held.
func (k *Caps) giveBack(st *standing, id uint64, what []byte) {
	k.say(st.owner, owes, confirmFor, notice{st.of, what}, func(_ *link.Wire, err error) {
		if err == nil {
			k.mu.Lock()
			st.owed.Confirmed(id)
			k.mu.Unlock()
		}
	})
}

// read takes what another node says of a count.
func read(s *link.Said) (n notice, ok bool) {
	n.fields(s.Wire)
	return n, s.Whole() && s.Asked()
}

// keeps says whether this node keeps a count, and notes that a node asked for it.
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

// takeQuestion decides a question of another node. It does not block.
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

// takeBack takes what another node gives back; what this one does not keep is told
// again, to whoever does then.
func (k *Caps) takeBack(s *link.Said) {
	if n, ok := read(s); ok && k.keeps(n.of, false) {
		s.Answer(nil, gatherFor, nil)
		k.tree.Take(n.of, n.body)
	}
}
