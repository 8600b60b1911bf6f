package sharedcaps

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors/cluster/link"
	"dialler/engine"
	"dialler/engine/ownership"
	"dialler/engine/quota"
)

// cluster is several nodes with a common database and network.
type cluster struct {
	t     *testing.T
	begun time.Time
	mu    sync.Mutex
	nodes []*node
	owner map[ownership.Identity]ownership.Owner
	rng   *rand.Rand
	loss  int // per 100 frames; as many are duplicated or late

	open map[string]engine.Incarnation // in use according to the database
	live int                           // at the carrier
	most int
	used int
}

// node is one of them, with a tree that grants up to cap uses of anything.
type node struct {
	c     *cluster
	k     *Caps
	links *link.Links
	as    engine.Incarnation
	until time.Time // it stops a second before, others may claim a second after
	gone  bool
	mute  bool // isolated
	cap   int
	book  map[string]struct{}
}

var theTrunk = quota.Trunk("model")

func newCluster(t *testing.T, nodes, most, loss int) *cluster {
	c := &cluster{t: t, begun: time.Now(), owner: map[ownership.Identity]ownership.Owner{},
		rng: rand.New(rand.NewPCG(1, 7)), loss: loss, open: map[string]engine.Incarnation{}}
	for i := range nodes {
		n := &node{c: c, as: engine.Incarnation(i + 1), cap: most, book: map[string]struct{}{},
			until: time.Now().Add(time.Hour)}
		n.begin()
		c.nodes = append(c.nodes, n)
	}
	for _, n := range c.nodes {
		n.k.Start(n, n.links, c, n)
	}
	return c
}

func (c *cluster) close() {
	for _, n := range c.nodes {
		n.k.Close()
		n.links.Close()
	}
}

// begin creates the parts of a node.
func (n *node) begin() {
	n.k = New(n.c, zerolog.Nop())
	n.links = link.New(link.Config{Clock: n.c, Log: zerolog.Nop()})
	n.links.Through(n.carry)
	n.links.Join(n.as)
}

func (c *cluster) Now() time.Time { return time.Now() }

func (c *cluster) Boot() engine.BootTime { return engine.BootTime(time.Since(c.begun)) + 1 }

// --- the node and the database -------------------------------------------------

func (n *node) Incarnation() engine.Incarnation {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if n.gone || !time.Now().Before(n.until.Add(-time.Second)) {
		return 0
	}
	return n.as
}

func (n *node) State() ownership.State { return ownership.Member }

// carry is a node's network.
func (n *node) carry(to engine.Incarnation, frame []byte) {
	c := n.c
	c.mu.Lock()
	times, late := 1, time.Millisecond
	if n.mute {
		times = 0
	}
	if !n.mute && c.rng.IntN(100) < c.loss {
		times, late = c.rng.IntN(3), time.Duration(c.rng.IntN(1500))*time.Millisecond
	}
	c.mu.Unlock()
	for range times {
		time.AfterFunc(late, func() {
			for _, p := range c.nodes {
				c.mu.Lock()
				there := p.as == to && !p.gone && !p.mute
				c.mu.Unlock()
				if there {
					p.links.Receive(frame)
				}
			}
		})
	}
}

func (c *cluster) lives(id engine.Incarnation) *node {
	for _, n := range c.nodes {
		if n.as == id {
			return n
		}
	}
	return nil
}

func (n *node) Acting(_ context.Context, of ownership.Identity) (ownership.Owner, bool, error) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	w := n.c.owner[of]
	o := n.c.lives(w.Incarnation)
	w.Live = o != nil && time.Now().Before(o.until)
	return w, w.Live, nil
}

func (n *node) Claim(_ context.Context, of ownership.Identity) (ownership.Owner, error) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	w := n.c.owner[of]
	if o := n.c.lives(w.Incarnation); o != nil && time.Now().Before(o.until.Add(time.Second)) {
		return w, nil
	}
	w = ownership.Owner{Identity: of, Incarnation: n.as, Epoch: w.Epoch + 1, Live: true}
	n.c.owner[of] = w
	return w, nil
}

func (n *node) Release(_ context.Context, of ownership.Identity) error {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if w := n.c.owner[of]; w.Incarnation == n.as {
		w.Incarnation = 0
		n.c.owner[of] = w
	}
	return nil
}

func (c *cluster) Nodes(context.Context) (all []ownership.Node, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.nodes {
		all = append(all, ownership.Node{Incarnation: n.as, Live: time.Now().Before(n.until), ExpiresAt: n.until})
	}
	return all, nil
}

func (c *cluster) Node(ctx context.Context, id engine.Incarnation) (ownership.Node, bool, error) {
	all, err := c.Nodes(ctx)
	for _, n := range all {
		if n.Incarnation == id {
			return n, true, err
		}
	}
	return ownership.Node{}, false, err
}

// kill ends a node; its lease lasts five seconds longer.
func (c *cluster) kill(n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n.gone, n.until = true, time.Now().Add(5*time.Second)
}

// --- its tree --------------------------------------------------------------------

func (n *node) Count(_ context.Context, _ []ownership.Identity, anew bool) error {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if anew {
		n.book = map[string]struct{}{}
	}
	for leg := range n.c.open {
		n.book[leg] = struct{}{}
	}
	return nil
}

func (n *node) Serve(_ ownership.Identity, _ engine.Incarnation, question []byte, answer func([]byte)) {
	n.c.mu.Lock()
	leg, ok := string(question), "no"
	if _, has := n.book[leg]; has || len(n.book) < n.cap {
		n.book[leg] = struct{}{}
		ok = "yes"
	}
	n.c.mu.Unlock()
	answer([]byte(ok))
}

func (n *node) Take(_ ownership.Identity, notice []byte) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	delete(n.book, string(notice))
}

func (n *node) Drop(ownership.Identity) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.book = map[string]struct{}{}
}

// ask asks as a tree does: locally if the count is kept here.
func (n *node) ask(leg string) (got bool, useBy engine.BootTime, err error) {
	if n.k.Mine(theTrunk) {
		n.Serve(theTrunk, n.as, []byte(leg), func(b []byte) { got = string(b) == "yes" })
		return got, engine.BootTime(time.Hour), nil
	}
	done := make(chan struct{})
	n.k.Ask(theTrunk, []byte(leg), []byte(leg), func(b []byte, asked engine.BootTime, e error) {
		got, useBy, err = string(b) == "yes", quota.UseBy(asked), e
		close(done)
	})
	<-done
	return got && err == nil, useBy, err
}

// call uses a grant for a while, unless it came too late.
func (n *node) call(leg string, by engine.BootTime, wait, talk time.Duration) {
	c := n.c
	time.Sleep(wait)
	if c.Boot() < by && n.Incarnation() != 0 {
		c.mu.Lock()
		c.open[leg] = n.as
		c.live++
		c.used++
		if c.most = max(c.most, c.live); c.live > n.cap {
			c.t.Errorf("%d are live, the cap is %d", c.live, n.cap)
		}
		c.mu.Unlock()
		time.Sleep(talk)
		c.mu.Lock()
		c.live--
		c.mu.Unlock()
		time.Sleep(5 * time.Millisecond) // the database learns of it a little later
		c.mu.Lock()
		delete(c.open, leg)
		c.mu.Unlock()
	}
	n.k.Owe(theTrunk, []byte(leg))
}

// Nodes that share a cap of three over a network that loses, delays and duplicates frames never use
// more. They recover within seconds when the keeper is killed, and again when its successor hands
// over.
func TestACapHoldsOverABadNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 3
		c := newCluster(t, 4, most, 20)
		defer c.close()
		over := make(chan struct{})
		var dialling sync.WaitGroup
		for i, n := range c.nodes {
			for line := range 3 {
				dialling.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(i), uint64(line)))
					for k := 0; ; k++ {
						select {
						case <-over:
							return
						default:
						}
						leg := fmt.Sprintf("%d-%d-%d", i, line, k)
						got, by, err := n.ask(leg)
						if !got || err != nil {
							time.Sleep(50 * time.Millisecond)
							continue
						}
						n.call(leg, by, time.Duration(rng.IntN(200))*time.Millisecond, time.Duration(100+rng.IntN(900))*time.Millisecond)
					}
				})
			}
		}
		goesOn := func(what string, within time.Duration) {
			t.Helper()
			c.mu.Lock()
			before := c.used
			c.mu.Unlock()
			for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				c.mu.Lock()
				now := c.used
				c.mu.Unlock()
				if now > before+5 {
					return
				}
			}
			t.Errorf("%s: nothing is used for %v", what, within)
		}
		keeper := func() *node {
			for range 1000 {
				c.mu.Lock()
				n := c.lives(c.owner[theTrunk].Incarnation)
				c.mu.Unlock()
				if n != nil && n.k.Mine(theTrunk) {
					return n
				}
				time.Sleep(50 * time.Millisecond)
			}
			t.Fatal("nobody keeps the count")
			return nil
		}
		goesOn("at first", 5*time.Second)
		c.kill(keeper())
		time.Sleep(6 * time.Second)
		goesOn("after the keeper's death", 4*time.Second)
		keeper().k.HandOver(t.Context())
		goesOn("after the hand-over", 5*time.Second)
		time.Sleep(20 * time.Second)
		close(over)
		dialling.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		t.Logf("%d uses, %d at a time", c.used, c.most)
		if c.most != most || c.used < 50 {
			t.Errorf("%d uses, %d at a time; the cap of %d is not used", c.used, c.most, most)
		}
	})
}

// Every returned grant reaches the keeper, even one returned while it was unreachable.
func TestWhatIsGivenBackArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, 10, 0)
		defer c.close()
		first, second := c.nodes[0], c.nodes[1]
		if got, _, err := first.ask("first"); !got || err != nil {
			t.Fatalf("the first who asks: %v %v", got, err)
		}
		if got, _, err := second.ask("second"); !got || err != nil {
			t.Fatalf("another node: %v %v", got, err)
		}
		c.mu.Lock()
		c.loss = 100
		c.mu.Unlock()
		for range 5 {
			second.k.Owe(theTrunk, []byte("second"))
		}
		time.Sleep(time.Second)
		c.mu.Lock()
		c.loss = 0
		c.mu.Unlock()
		time.Sleep(2 * time.Second)
		c.mu.Lock()
		left := maps.Clone(first.book)
		c.mu.Unlock()
		if _, held := left["second"]; held || len(left) != 1 {
			t.Errorf("held: %v", left)
		}
		if n := second.k.Stats().Owed.Load(); n != 0 {
			t.Errorf("%d are owed", n)
		}
	})
}

// No answer is waited for longer than quota.Patience, and what may have been granted meanwhile is
// returned.
func TestASilentKeeperIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, 10, 0)
		defer c.close()
		first, second := c.nodes[0], c.nodes[1]
		for _, n := range c.nodes {
			if got, _, err := n.ask(fmt.Sprint("of ", n.as)); !got || err != nil {
				t.Fatalf("node %d: %v %v", n.as, got, err)
			}
		}
		c.mu.Lock()
		first.mute = true // its lease goes on
		c.mu.Unlock()
		asked := time.Now()
		if got, _, err := second.ask("late"); got || engine.ErrorCode(err) != "keeper_away" {
			t.Errorf("without an answer: %v %v", got, err)
		}
		if took := time.Since(asked); took > quota.Patience+2*tickEvery {
			t.Errorf("it was waited for %v", took)
		}
		c.mu.Lock()
		first.mute = false
		c.mu.Unlock()
		time.Sleep(2 * time.Second)
		if got, _, err := second.ask("again"); !got || err != nil {
			t.Errorf("when it answers again: %v %v", got, err)
		}
		c.mu.Lock()
		_, held := first.book["late"]
		c.mu.Unlock()
		if held {
			t.Error("what was asked for in vain is held")
		}
	})
}

// A node that asks again after a failed question keeps what it is then granted.
func TestWhatIsAskedForAgainIsNotGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, 10, 0)
		defer c.close()
		first, second := c.nodes[0], c.nodes[1]
		for _, n := range c.nodes {
			if got, _, err := n.ask(fmt.Sprint("of ", n.as)); !got || err != nil {
				t.Fatalf("node %d: %v %v", n.as, got, err)
			}
		}
		mute := func(is bool) {
			c.mu.Lock()
			defer c.mu.Unlock()
			first.mute = is
		}
		mute(true)
		if got, _, err := second.ask("leg"); got || err == nil {
			t.Fatalf("without an answer: %v %v", got, err)
		}
		mute(false)
		if got, _, err := second.ask("leg"); !got || err != nil {
			t.Fatalf("once more: %v %v", got, err)
		}
		time.Sleep(3 * time.Second) // virtual: a return would have arrived by now
		c.mu.Lock()
		_, held := first.book["leg"]
		c.mu.Unlock()
		if !held {
			t.Error("what was granted to the second question was given back for the first")
		}
		if n := second.k.Stats().Owed.Load(); n != 0 {
			t.Errorf("%d are owed", n)
		}
	})
}

// A node that needs nothing for a minute releases its counts, so that a node that does need them
// can keep them.
func TestAnIdleCountIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, 10, 0)
		defer c.close()
		first, second := c.nodes[0], c.nodes[1]
		if got, _, err := first.ask("a"); !got || err != nil {
			t.Fatalf("%v %v", got, err)
		}
		time.Sleep(quota.IdleAfter + 5*time.Second)
		if first.k.Mine(theTrunk) {
			t.Error("it still keeps the count")
		}
		if got, _, err := second.ask("b"); !got || err != nil || !second.k.Mine(theTrunk) {
			t.Errorf("who asks does not keep it: %v %v", got, err)
		}
	})
}

func TestANoticeCrossesTheWire(t *testing.T) {
	for _, in := range []notice{
		{theTrunk, []byte("question")}, {quota.Seats("anna"), nil}, {quota.Shard("+4930"), bytes.Repeat([]byte{7}, 5000)},
	} {
		b := link.Write(link.Moment{}, in.fields)
		for cut := range len(b) + 1 {
			var out notice
			w := link.Reader(b[:cut], link.Moment{})
			out.fields(w)
			if whole := w.Whole(); whole != (cut == len(b)) ||
				whole && (out.of != in.of || !bytes.Equal(out.body, in.body)) {
				t.Fatalf("%+v became %+v of %d of %d bytes", in, out, cut, len(b))
			}
		}
	}
	none := notice{body: []byte("of nothing")}
	w := link.Reader(link.Write(link.Moment{}, func(w *link.Wire) {
		link.Text(w, &none.of.Kind)
		link.Text(w, &none.of.ID)
		w.Octets(&none.body)
	}), link.Moment{})
	if none.fields(w); w.Whole() {
		t.Error("a notice of nothing was read")
	}
}
