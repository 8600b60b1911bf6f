package quota

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/ownership"
)

// world is several nodes, a database and a carrier with cap channels, and a network that loses,
// delays and repeats messages.
type world struct {
	t   *rapid.T
	now engine.BootTime
	cap int
	// patience is how long calls last.
	patience int
	nodes    []*node
	mail     []letter
	legs     int

	// The database.
	owner *node // the last claimant, nil if it was given up
	as    engine.Incarnation
	open  map[string]struct{}
	lives engine.Incarnation

	live   map[string]*node // at the carrier
	most   int
	grants int
}

// node is one process.
type node struct {
	as      engine.Incarnation // 0 means that it never joined
	until   engine.BootTime    // of its lease
	cut     bool               // it cannot renew
	still   bool               // it stands still
	dead    bool
	keeper  Keeper
	book    map[string]struct{}
	strays  Strays[string]
	served  engine.BootTime
	leaving engine.BootTime // when a count being given up is free, 0 if none is
	asks    Asks[string]
	owed    Owed[string]
	order   order
	sent    map[*node]uint64
	unused  map[string]engine.BootTime // grants and when they must be used by
}

type letter struct {
	from, to *node
	as       engine.Incarnation // the sender's incarnation
	n        uint64
	kind     string // ask, grant, refuse, owe, confirm
	id       uint64
	leg      string
}

const leaseFor = 4 * time.Second // as counted by the node

func newWorld(t *rapid.T) *world {
	w := &world{t: t, now: 1000, cap: rapid.IntRange(1, 4).Draw(t, "cap"),
		patience: rapid.IntRange(0, 4).Draw(t, "patience"), open: map[string]struct{}{}, live: map[string]*node{}}
	for range 3 {
		n := &node{sent: map[*node]uint64{}, unused: map[string]engine.BootTime{}}
		w.nodes = append(w.nodes, n)
		w.join(n)
	}
	return w
}

func (w *world) join(n *node) {
	w.lives++
	n.as, n.until = w.lives, w.now.Add(leaseFor)
}

// me is the current incarnation of a node.
func (w *world) me(n *node) engine.Incarnation {
	if n.dead || w.now >= n.until {
		return 0
	}
	return n.as
}

func (w *world) send(from, to *node, kind string, id uint64, leg string) {
	if w.me(from) == 0 {
		return
	}
	from.sent[to]++
	w.mail = append(w.mail, letter{from, to, from.as, from.sent[to], kind, id, leg})
}

// advance advances time: leases are renewed or expire.
func (w *world) advance(d time.Duration) {
	w.now = w.now.Add(d)
	for _, n := range w.nodes {
		switch {
		case n.dead || n.still:
			continue
		case w.now < n.until && !n.cut:
			n.until = w.now.Add(leaseFor)
		case w.now >= n.until && !n.cut:
			w.join(n)
		}
		if n.keeper.Stage != Away && n.keeper.As != w.me(n) {
			n.keeper.Lost()
			n.book, n.leaving = nil, 0
		}
		for _, leg := range n.asks.Late(w.now) {
			n.owed.Add(leg)
		}
		if n.keeper.Count(w.now) {
			n.book, n.strays = maps.Clone(w.open), Strays[string]{}
			n.keeper.Counted(w.now, true)
		}
		if n.leaving != 0 && w.now >= n.leaving {
			n.leaving = 0
			if w.owner == n && w.as == n.as {
				w.owner = nil
			}
		}
		for _, d := range n.owed.Due(w.now) {
			w.tell(n, d)
		}
	}
}

// keeper is the owner in the database, if it is a node with its lease.
func (w *world) keeper() *node {
	if w.owner != nil && w.as == w.owner.as && !w.owner.dead && w.now < w.owner.until {
		return w.owner
	}
	return nil
}

func (w *world) tell(n *node, d Debt[string]) {
	switch k := w.keeper(); {
	case k == n && n.keeper.May(w.me(n)):
		delete(n.book, d.What)
		n.owed.Confirmed(d.ID)
	case k != nil && k != n:
		w.send(n, k, "owe", d.ID, d.What)
	}
}

// claim makes a node the keeper, if the database permits it.
func (w *world) claim(n *node) {
	if w.me(n) == 0 || n.leaving != 0 || w.keeper() != nil {
		return
	}
	before := Nobody
	if w.owner != nil {
		ends := w.owner.until
		if w.as != w.owner.as { // it has joined again since: its lease ended before
			ends = w.now.Add(-Apart)
		}
		if w.now < ends.Add(Apart) {
			return
		}
		before = RanOut
	}
	w.owner, w.as = n, n.as
	n.keeper.Claimed(w.now, n.as, Settle(ownership.Trunk, before))
	n.book = nil
}

func (w *world) ask(n *node) {
	if w.me(n) == 0 {
		return
	}
	w.legs++
	leg := fmt.Sprintf("leg-%d", w.legs)
	switch k := w.keeper(); {
	case k == nil:
		w.claim(n)
	case k == n:
		if n.keeper.May(w.me(n)) && w.grant(n, leg) {
			n.unused[leg] = n.until // limited by its own lease
		}
	default:
		w.send(n, k, "ask", n.asks.Add(w.now, leg), leg)
	}
}

func (w *world) grant(n *node, leg string) bool {
	if _, has := n.book[leg]; !has && len(n.book) >= w.cap {
		return false
	}
	n.book[leg] = struct{}{}
	return true
}

func (w *world) deliver(l letter) {
	n := l.to
	if n.dead || n.still || !n.order.Next(l.as, l.n) {
		return
	}
	switch l.kind {
	case "ask":
		kind := "refuse"
		if n.keeper.May(w.me(n)) {
			n.served = w.now
			if w.grant(n, l.leg) {
				kind = "grant"
			}
		}
		w.send(n, l.from, kind, l.id, l.leg)
	case "grant":
		_, asked, _ := n.asks.Get(l.id)
		if leg, ok := n.asks.Answered(l.id); ok {
			n.unused[leg] = UseBy(asked)
		}
	case "refuse":
		n.asks.Answered(l.id)
	case "owe":
		if n.keeper.May(w.me(n)) {
			delete(n.book, l.leg)
			w.send(n, l.from, "confirm", l.id, "")
		}
	case "confirm":
		n.owed.Confirmed(l.id)
	}
}

// use sends an INVITE with a grant, or returns the grant.
func (w *world) use(n *node, leg string) {
	by := n.unused[leg]
	delete(n.unused, leg)
	if n.dead || n.still {
		return
	}
	if w.me(n) == 0 || w.now >= by {
		n.owed.Add(leg)
		return
	}
	w.open[leg] = struct{}{} // the intent, then the INVITE
	w.live[leg] = n
	w.grants++
	w.most = max(w.most, len(w.live))
	if len(w.live) > w.cap {
		w.t.Fatalf("%d live, the cap is %d", len(w.live), w.cap)
	}
}

// end ends a call; the database closes calls of a dead node.
func (w *world) end(leg string) {
	n := w.live[leg]
	delete(w.live, leg)
	delete(w.open, leg)
	if !n.dead {
		n.owed.Add(leg)
	}
}

// recount compares the keeper's book with the database.
func (w *world) recount(n *node) {
	if !n.keeper.May(w.me(n)) {
		return
	}
	drop, add := n.strays.Look(time.Unix(0, int64(w.now)), slices.Sorted(maps.Keys(n.book)), w.open)
	for _, leg := range drop {
		delete(n.book, leg)
	}
	for _, leg := range add {
		n.book[leg] = struct{}{}
	}
}

func one[K comparable, V any](t *rapid.T, m map[K]V, sorted func([]K)) (k K, ok bool) {
	keys := slices.Collect(maps.Keys(m))
	if len(keys) == 0 {
		return k, false
	}
	sorted(keys)
	return rapid.SampledFrom(keys).Draw(t, "of"), true
}

func (w *world) step() {
	t := w.t
	n := rapid.SampledFrom(w.nodes).Draw(t, "node")
	switch rapid.IntRange(0, 19).Draw(t, "what") {
	case 0, 1, 2, 3:
		w.ask(n)
	case 4, 5, 6, 7, 8:
		if len(w.mail) == 0 {
			return
		}
		i := 0
		if rapid.Bool().Draw(t, "another") {
			i = rapid.IntRange(0, len(w.mail)-1).Draw(t, "letter")
		}
		l := w.mail[i]
		if rapid.IntRange(0, 9).Draw(t, "fate") > 0 { // otherwise it is repeated
			w.mail = slices.Delete(w.mail, i, i+1)
		}
		if rapid.IntRange(0, 9).Draw(t, "lost") > 0 {
			w.deliver(l)
		}
	case 9:
		if leg, ok := one(t, n.unused, slices.Sort[[]string]); ok {
			w.use(n, leg)
		}
	case 10, 11, 12, 13:
		if rapid.IntRange(0, w.patience).Draw(t, "yet") > 0 {
			break
		}
		if leg, ok := one(t, w.live, slices.Sort[[]string]); ok {
			w.end(leg)
		}
	case 14:
		w.recount(n)
	case 15:
		n.cut = rapid.IntRange(0, 2).Draw(t, "cut") == 0
	case 16:
		n.still = rapid.IntRange(0, 2).Draw(t, "still") == 0
	case 17:
		if n.keeper.May(w.me(n)) { // it gives the count up
			n.keeper.Lost()
			n.book = nil
			n.leaving = max(w.now, n.served.Add(Unused(ownership.Trunk)))
			for _, by := range n.unused { // its own grants too
				n.leaving = max(n.leaving, by)
			}
		}
	case 18:
		if rapid.IntRange(0, 5).Draw(t, "dies") == 0 && !n.dead {
			w.die(n)
		}
	case 19:
		w.advance(time.Duration(rapid.IntRange(1, 2500).Draw(t, "ms")) * time.Millisecond)
		return
	}
	w.advance(time.Duration(rapid.IntRange(0, 60).Draw(t, "ms")) * time.Millisecond)
}

// die ends the process with all it knew; another takes its place.
func (w *world) die(n *node) {
	n.dead, n.unused = true, map[string]engine.BootTime{}
	for i := range w.nodes {
		if w.nodes[i] == n {
			w.nodes[i] = &node{sent: map[*node]uint64{}, unused: map[string]engine.BootTime{}}
			w.join(w.nodes[i])
		}
	}
}

// Whatever is lost, late or repeated, and whichever node dies, hangs or is cut off: there are never
// more live uses than the cap allows.
func TestWhatNodesShareIsNeverUsedBeyondItsCap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(50, 400).Draw(t, "steps") {
			w.step()
		}
	})
}

// Once the network delivers everything and no node dies any more, everything that was lost is found
// again: the whole cap can be used.
func TestNothingStaysLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(50, 300).Draw(t, "steps") {
			w.step()
		}
		for _, n := range w.nodes {
			n.cut, n.still = false, false
		}
		w.mail = nil
		settle := func() {
			for range 10 {
				w.advance(20 * time.Millisecond)
				mail := w.mail
				w.mail = nil
				for _, l := range mail {
					w.deliver(l)
				}
			}
		}
		for leg := range maps.Clone(w.live) {
			w.end(leg)
		}
		n := w.nodes[0]
		for range 100 {
			settle()
			for _, k := range w.nodes {
				for leg := range maps.Clone(k.unused) {
					delete(k.unused, leg)
					k.owed.Add(leg)
				}
				w.recount(k)
			}
			w.advance(500 * time.Millisecond)
		}
		before := w.grants
		for range 20 * w.cap {
			w.ask(n)
			settle()
			for leg := range maps.Clone(n.unused) {
				w.use(n, leg)
			}
		}
		if got := w.grants - before; got != w.cap {
			t.Fatalf("%d of %d can be used", got, w.cap)
		}
	})
}

// A keeper's last grant is used late, while its successor grants as soon as it may.
func TestTheLastGrantOfAKeeperIsNotUsedBesideItsSuccessors(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		ms := func(from, to int, what string) time.Duration {
			return time.Duration(rapid.IntRange(from, to).Draw(t, what)) * time.Millisecond
		}
		first, asker, second := w.nodes[0], w.nodes[1], w.nodes[2]
		deliver := func() {
			for len(w.mail) > 0 {
				l := w.mail[0]
				w.mail = w.mail[1:]
				w.deliver(l)
			}
		}
		for range 3 {
			w.ask(first)
			w.advance(10 * time.Millisecond)
		}
		clear(first.unused)
		clear(first.book)
		end := rapid.IntRange(0, 2).Draw(t, "end")
		if end > 0 {
			first.cut = true
			w.advance(time.Duration(first.until-w.now) - ms(1, 300, "before"))
		}
		for range w.cap {
			w.ask(asker)
		}
		w.advance(ms(0, 100, "way"))
		deliver()
		deliver()
		switch end {
		case 0: // it gives the count up
			first.keeper.Lost()
			first.leaving = first.served.Add(Unused(ownership.Trunk))
		case 1:
			w.die(first)
		}
		used, late := false, w.now.Add(ms(0, 8000, "late"))
		for range 800 {
			w.advance(10 * time.Millisecond)
			w.ask(second)
			deliver()
			for leg := range maps.Clone(second.unused) {
				w.use(second, leg)
			}
			if !used && w.now >= late {
				used = true
				for leg := range maps.Clone(asker.unused) {
					w.use(asker, leg)
				}
			}
		}
		if w.grants == 0 {
			t.Fatal("nobody is granted anything")
		}
	})
}

// order says whether each node's frames arrive in order: others are dropped, as package link drops
// late ones.
type order map[engine.Incarnation]uint64

func (o *order) Next(from engine.Incarnation, n uint64) bool {
	if *o == nil {
		*o = order{}
	}
	if n <= (*o)[from] {
		return false
	}
	(*o)[from] = n
	return true
}
