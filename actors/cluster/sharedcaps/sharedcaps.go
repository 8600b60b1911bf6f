package sharedcaps

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors/cluster/link"
	"dialler/engine"
	"dialler/engine/ownership"
	"dialler/engine/quota"
)

// Caps is this node among those that keep counts. Until Start it keeps none
// and nobody can be asked.
type Caps struct {
	clock Clock
	log   zerolog.Logger
	stats Stats

	mu      sync.Mutex
	node    Node
	links   *link.Links
	store   Store
	tree    Tree
	of      map[ownership.Identity]*standing
	asks    quota.Asks[question]
	drained bool // it claims nothing more
	closed  bool
	busy    bool            // books are being compared
	next    engine.BootTime // when they are compared again
	trouble engine.BootTime // until then, often

	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// Stats are its figures for /metrics.
type Stats struct {
	Kept       atomic.Int64 // identities whose count this node keeps
	Asked      atomic.Int64 // questions that went to another node
	Unanswered atomic.Int64 // of them and of those that nobody could be asked, those without an answer
	Served     atomic.Int64 // questions of other nodes
	Owed       atomic.Int64 // what other nodes have not confirmed to have taken back
	Lost       atomic.Int64 // what was to be given back and found no room
}

// standing is what is known of one identity.
type standing struct {
	of      ownership.Identity
	keeper  quota.Keeper
	owner   engine.Incarnation // another node that keeps the count, 0: not known
	waiting []uint64           // questions, until it is known who decides
	finding bool
	wanted  bool            // its keeper is gone, and it was used recently
	again   engine.BootTime // when it is looked for again
	owed    quota.Owed[[]byte]
	asked   engine.BootTime // when somebody last wanted something
	served  engine.BootTime // when another node last did of this one, 0: never
}

type question struct {
	of   ownership.Identity
	body []byte
	undo []byte // gives back what may have been granted, nil: nothing is
	then func([]byte, engine.BootTime, error)
}

const (
	tickEvery = 50 * time.Millisecond
	// lookFor bounds a look at the database, findAgain is between two that led to
	// nobody.
	lookFor   = 2 * time.Second
	findAgain = 200 * time.Millisecond
	// Books are compared with the database so often, and more often for a while
	// after something went wrong.
	compareEvery   = 30 * time.Second
	compareTrouble = time.Second
	troubleFor     = time.Minute
)

// New gives a node's part before it has joined.
func New(clock Clock, log zerolog.Logger) *Caps {
	return &Caps{clock: clock, log: log, of: map[ownership.Identity]*standing{}}
}

// Start begins, and takes what other nodes ask from now on.
func (k *Caps) Start(node Node, links *link.Links, store Store, tree Tree) {
	ctx, cancel := context.WithCancel(context.Background())
	k.mu.Lock()
	k.node, k.links, k.store, k.tree, k.cancel = node, links, store, tree, cancel
	k.mu.Unlock()
	links.On(asks, k.takeQuestion)
	links.On(owes, k.takeBack)
	k.wg.Go(func() {
		t := time.NewTicker(tickEvery)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				k.tick(ctx)
			}
		}
	})
}

// Close ends it: nothing is kept and nobody asked.
func (k *Caps) Close() {
	k.mu.Lock()
	k.closed = true
	cancel := k.cancel
	k.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	k.wg.Wait()
}

// Stats gives the figures.
func (k *Caps) Stats() *Stats { return &k.stats }

// as is whom this node acts as, 0: it must not act; mu is held.
func (k *Caps) as() engine.Incarnation {
	if k.node == nil || k.closed {
		return 0
	}
	return k.node.Incarnation()
}

func (k *Caps) standing(of ownership.Identity) *standing {
	st := k.of[of]
	if st == nil {
		st = &standing{of: of}
		k.of[of] = st
	}
	return st
}

// As is whom this node acts as, 0: it has no lease.
func (k *Caps) As() engine.Incarnation {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.as()
}

// Mine says whether this node keeps the count of an identity and may grant now.
func (k *Caps) Mine(of ownership.Identity) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	st := k.of[of]
	if st == nil || !st.keeper.May(k.as()) {
		return false
	}
	st.asked = k.clock.Boot()
	return true
}

// Ask has whoever keeps the count decide. then is called once, within about
// quota.Patience, from any goroutine: with the answer and when it was asked for,
// or with ErrAway; undo is then given back (Owe), in case it was granted after
// all.
func (k *Caps) Ask(of ownership.Identity, body, undo []byte,
	then func(answer []byte, asked engine.BootTime, err error)) {
	k.mu.Lock()
	if k.as() == 0 {
		k.mu.Unlock()
		then(nil, 0, ErrAway)
		return
	}
	now := k.clock.Boot()
	st := k.standing(of)
	st.asked = now
	if undo != nil && st.owed.Len() > 0 {
		// It was asked before in vain: told again after this question's answer, the debt
		// would give back what that grants.
		st.owed.Withdraw(func(notice []byte) bool { return bytes.Equal(notice, undo) })
	}
	id := k.asks.Add(now, question{of, body, undo, then})
	do := k.route(st, id)
	k.mu.Unlock()
	if do != nil {
		do()
	}
}

// route passes an open question on; what it gives is done without mu, which is
// held.
func (k *Caps) route(st *standing, id uint64) func() {
	q, asked, ok := k.asks.Get(id)
	if !ok {
		return nil
	}
	switch as := k.as(); {
	case st.keeper.May(as):
		return func() { k.tree.Serve(q.of, as, q.body, func(b []byte) { k.answered(id, b) }) }
	case st.keeper.Stage != quota.Away:
		k.asks.Answered(id)
		k.stats.Unanswered.Add(1)
		return func() { q.then(nil, 0, ErrAway) }
	case st.owner != 0:
		k.stats.Asked.Add(1)
		k.putQuestion(st, id, asked.Add(quota.Patience), q.body)
	default:
		st.waiting = append(st.waiting, id)
		k.find(st)
	}
	return nil
}

func (k *Caps) answered(id uint64, b []byte) {
	k.mu.Lock()
	_, asked, _ := k.asks.Get(id)
	q, ok := k.asks.Answered(id)
	k.mu.Unlock()
	if ok {
		q.then(b, asked, nil)
	}
}

// Owe has whoever keeps the count told something until that is confirmed.
func (k *Caps) Owe(of ownership.Identity, notice []byte) {
	k.mu.Lock()
	if k.node == nil || k.closed {
		k.mu.Unlock()
		return
	}
	st := k.standing(of)
	if st.keeper.May(k.as()) {
		k.mu.Unlock()
		k.tree.Take(of, notice)
		return
	}
	id, ok := st.owed.Add(notice)
	switch {
	case !ok:
		k.stats.Lost.Add(1)
	case st.owner != 0:
		st.owed.Told(id, k.clock.Boot())
		k.giveBack(st, id, notice)
	}
	k.mu.Unlock()
}

// Recount has the books compared with the database soon, and often for a while:
// a node is gone, or a campaign has changed hands.
func (k *Caps) Recount() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = 0
	k.trouble = k.clock.Boot().Add(troubleFor)
}

// Gone says that another node is gone: what it kept is claimed at once by whoever
// has used it recently.
func (k *Caps) Gone(id engine.Incarnation) {
	k.Recount()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.succeed(id)
}

// succeed looks for successors of a keeper that is gone; mu is held.
func (k *Caps) succeed(gone engine.Incarnation) {
	now := k.clock.Boot()
	for _, st := range k.of {
		if st.owner != gone {
			continue
		}
		st.owner, st.again = 0, 0
		if st.wanted = now < st.asked.Add(quota.IdleAfter); st.wanted {
			k.find(st)
		}
	}
}
