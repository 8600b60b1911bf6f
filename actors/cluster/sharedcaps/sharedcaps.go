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

// Caps is this node's part in the shared counts. Until Start it keeps none and cannot ask.
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
	next    engine.BootTime // time of the next comparison
	trouble engine.BootTime // until then, often

	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// Stats are the metrics of Caps for /metrics.
type Stats struct {
	Kept       atomic.Int64 // identities whose count this node keeps
	Asked      atomic.Int64 // questions sent to another node
	Unanswered atomic.Int64 // questions without an answer in time, or without a keeper to ask
	Served     atomic.Int64 // questions of other nodes
	Owed       atomic.Int64 // returns not yet confirmed by other nodes
	Lost       atomic.Int64 // returns dropped for lack of room
}

// standing is what is known of one identity.
type standing struct {
	of      ownership.Identity
	keeper  quota.Keeper
	owner   engine.Incarnation // the other node that keeps the count; 0 means unknown
	waiting []uint64           // questions, until the keeper is known
	finding bool
	wanted  bool            // its keeper is gone, and it was used recently
	again   engine.BootTime // time of the next search for its keeper
	owed    quota.Owed[[]byte]
	asked   engine.BootTime // when this node last needed it
	served  engine.BootTime // when another node last asked this one; 0 means never
}

type question struct {
	of   ownership.Identity
	body []byte
	undo []byte // returns what may have been granted; nil means nothing
	then func([]byte, engine.BootTime, error)
}

const (
	tickEvery = 50 * time.Millisecond
	// lookFor bounds a database query, findAgain is the interval after a query without a result.
	lookFor   = 2 * time.Second
	findAgain = 200 * time.Millisecond
	// Books are compared with the database this often, and more often for a while after a failure.
	compareEvery   = 30 * time.Second
	compareTrouble = time.Second
	troubleFor     = time.Minute
)

// New makes a node's Caps before it has joined.
func New(clock Clock, log zerolog.Logger) *Caps {
	return &Caps{clock: clock, log: log, of: map[ownership.Identity]*standing{}}
}

// Start begins, and accepts other nodes' questions from now on.
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

// Close stops it: no count is kept and no node asked.
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

// Stats returns the figures.
func (k *Caps) Stats() *Stats { return &k.stats }

// as returns the incarnation that this node acts as; 0 means it must not act. mu is held.
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

// As returns the incarnation that this node acts as; 0 means it has no lease.
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

// Ask has the keeper of the count decide. then is called once, within about quota.Patience, from
// any goroutine: with the answer and the time it was asked for, or with ErrAway. In the second case
// undo is returned (Owe), in case the request was granted after all.
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
		// An earlier question for the same thing failed: if its undo arrived after this question's
		// answer, it would return what this one is granted.
		st.owed.Withdraw(func(notice []byte) bool { return bytes.Equal(notice, undo) })
	}
	id := k.asks.Add(now, question{of, body, undo, then})
	do := k.route(st, id)
	k.mu.Unlock()
	if do != nil {
		do()
	}
}

// route passes an open question on. mu is held; the function it returns must be called without it.
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

// Owe has the keeper of the count sent a notice until it is confirmed.
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

// Gone says that another node is gone: nodes that used its counts recently claim them at once.
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
