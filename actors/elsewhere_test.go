package actors_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors"
	"dialler/actors/actortest"
	"dialler/actors/cluster/gateway"
	"dialler/actors/cluster/link"
	"dialler/actors/host"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/ownership"
	"dialler/engine/quota"
)

// With -elsewhere another node carries the calls of all tests of this package, over a network that
// loses, duplicates and delays. Only a test that allows no command in flight may fail then
// (TestATrunkThatFlapsLosesNothing: its trunk goes down within milliseconds of a dial).
var elsewhere = flag.Bool("elsewhere", false, "carry every call on another node")

// farNodes are two nodes: the tree is on the first, all calls on the second, whose
// incarnation is 2.
type farNodes struct {
	mu    sync.Mutex
	rand  *rand.Rand
	nodes map[engine.Incarnation]*farNode
	first *gateway.Gateway
	lives engine.Incarnation
	// carrier is the node that places the calls, 2 unless a test says otherwise.
	carrier engine.Incarnation
	// epochs are the epochs with which calls were adopted.
	epochs []int64
}

// farNode is one of them.
type farNode struct {
	*gateway.Gateway
	links *link.Links
}

// farPort is a node's connection to the other.
type farPort struct {
	n    *farNodes
	self engine.Incarnation
}

func (p farPort) Send(to engine.Incarnation, payload []byte) {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	dest := p.n.nodes[to]
	for range 1 + p.n.rand.IntN(10)/9 {
		if p.n.rand.IntN(100) < 3 || dest == nil || p.n.nodes[p.self] == nil {
			continue
		}
		time.AfterFunc(time.Duration(p.n.rand.IntN(8_000))*time.Microsecond, func() { dest.links.Receive(payload) })
	}
}

func (n *farNodes) join(id engine.Incarnation, world *actortest.World, clock host.Clock) *gateway.Gateway {
	links := link.New(link.Config{Clock: clock, Log: zerolog.Nop()})
	links.Through(farPort{n, id}.Send)
	g := gateway.New(gateway.Config{Telephony: world, Media: world, Links: links, Log: zerolog.Nop(), Clock: clock,
		SentBy: func(_ context.Context, node engine.Incarnation, trunk engine.TrunkID) string {
			return fmt.Sprintf("%d.%s", node, trunk)
		}})
	g.Join(id)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes[id] = &farNode{g, links}
	return g
}

// placing returns the node that places the calls.
func (n *farNodes) placing() engine.Incarnation {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.carrier
}

// place makes another node place the calls.
func (n *farNodes) place(at engine.Incarnation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.carrier = at
}

// leave isolates a node.
func (n *farNodes) leave(id engine.Incarnation) {
	n.mu.Lock()
	g := n.nodes[id]
	delete(n.nodes, id)
	n.mu.Unlock()
	if g != nil {
		g.links.Close()
		g.Close()
	}
}

// gone ends a node's lease and isolates it. Its calls are lost once it must have ended them.
func (r *rig) gone(id engine.Incarnation) []engine.AttemptID {
	r.nodes.first.Gone(id, "")
	time.Sleep(engine.LimboFor + 5*time.Second) // virtual: the node has ended them by then
	lost := r.nodes.first.Lost()
	r.tree.Ownership().LegsGone(lost)
	return lost
}

// goFar puts the two nodes between the tree and the world. For a later life of the tree the first
// node is a new one; the second still exists, and so does the old first node if the earlier tree
// goes on beside this one.
func (r *rig) goFar(p *actors.Ports) {
	n := r.nodes
	if n == nil {
		n = &farNodes{rand: rand.New(rand.NewPCG(1, 2)), nodes: map[engine.Incarnation]*farNode{}, lives: 1, carrier: 2}
		r.nodes = n
		n.join(2, r.world, p.Clock)
	} else {
		if !r.besides {
			n.leave(n.lives)
		}
		n.lives = max(n.lives, 2) + 1
	}
	life := n.lives
	r.t.Cleanup(func() { n.leave(life); n.leave(2) })
	n.first = n.join(life, r.near, p.Clock)
	for !n.first.Ready(2) {
		time.Sleep(10 * time.Millisecond) // virtual
	}
	far := farAway{n.first, r.world, n}
	p.Telephony, p.Media, p.RemoteLegs = far, far, far
}

// farAway is the first node's gateway. It has every call carried by the second node, however long
// that was silent, and lets the world answer questions.
type farAway struct {
	*gateway.Gateway
	world *actortest.World
	nodes *farNodes
}

func (f farAway) AdoptLegs(at *attempt.Attempt, then func([]engine.LegID, error)) {
	f.nodes.mu.Lock()
	f.nodes.epochs = append(f.nodes.epochs, at.Epoch)
	f.nodes.mu.Unlock()
	f.Gateway.AdoptLegs(at, then)
}

func (f farAway) Carrier(engine.TrunkID) engine.Incarnation         { return f.nodes.placing() }
func (f farAway) Here() engine.Incarnation                          { return 2 }
func (f farAway) Ask(ctx context.Context, uri string) error         { return f.world.Ask(ctx, uri) }
func (f farAway) AskBot(ctx context.Context, q engine.AskBot) error { return f.world.AskBot(ctx, q) }

func TestACampaignIsDialledOnAnotherNodeLikeOnThisOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFarRig(t, actortest.Mix(11, 0.5, 0.2, 20*time.Second), nil)
		defer r.tree.Close()
		r.add(80)
		r.act(campaign.ActionStart)
		r.until(4*time.Hour, "completed", r.completed)
		r.check()
		if d := r.detail(); d.Counters.Completed+d.Counters.States["failed"] == 0 || r.world.Invited() < 80 {
			t.Errorf("%+v, %d INVITEs", d.Counters, r.world.Invited())
		}
	})
}

// An exclusion is confirmed when the node with the ringing leg has processed it.
func TestAnExclusionIsConfirmedByTheNodeThatRings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFarRig(t, steady(10*time.Second, time.Minute), nil)
		defer r.tree.Close()
		r.add(1)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "rings", func() bool { return r.world.Invited() == 1 })
		cancels := func() (n int) { r.world.View(func() { n = r.world.Cancels }); return n }
		before := cancels()
		rep, err := r.tree.Exclude(context.Background(), campaign.Exclude{Campaign: r.id, Number: number(0)})
		if err != nil || rep.CancelledRinging != 1 {
			t.Fatalf("%+v, %v", rep, err)
		}
		if before != 0 || cancels() != 1 {
			t.Errorf("%d CANCELs before, %d when the exclusion was confirmed", before, cancels())
		}
		r.until(time.Minute, "completed", r.completed)
		r.check()
	})
}

func TestKeysGoToACallOnAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFarRig(t, steady(2*time.Second, 30*time.Second), nil)
		defer r.tree.Close()
		r.store.View(func() { r.store.Nums = []engine.NumberSettings{{Number: "+4930111111", State: "active"}} })
		r.tree.NumberChanged(r.store.Nums[0])
		time.Sleep(time.Second) // virtual
		ctx := context.Background()
		rep, err := r.tree.Dialout(ctx, campaign.Dialout{Bot: "bot", To: number(1)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // virtual
		if err := r.tree.SendDigits(ctx, rep.CallID, "12"); err != nil {
			t.Fatal(err)
		}
		r.world.View(func() { r.world.KeysByINFO = true })
		if err := r.tree.SendDigits(ctx, rep.CallID, "3#"); err != nil {
			t.Fatal(err)
		}
		var got []string
		r.world.View(func() { got = slices.Clone(r.world.Keys) })
		if !slices.Equal(got, []string{"12", "INFO 3", "INFO #"}) {
			t.Errorf("%q", got)
		}
	})
}

// The campaign's new owner goes on with the calls that another node carries: none of them ends, and
// no contact is called twice.
func TestACampaignTakenOverGoesOnWithItsCallsOnAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFarRig(t, steady(2*time.Second, 30*time.Second), nil)
		r.results()
		r.add(10)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "ten talk", func() bool { return r.detail().Live.InProgress == 10 })
		r.nodes.leave(1) // at once, with its unsent messages
		r.tree.Close()
		time.Sleep(10 * time.Second) // virtual: its lease ends
		r.start()
		defer func() { r.tree.Close() }()
		r.until(time.Minute, "ten talk", func() bool { return r.detail().Live.InProgress == 10 })
		// The node that carries them gives them to the latest owner, whatever the epoch of the node
		// that dialled.
		if now := r.detail().Campaign.Epoch; len(r.nodes.epochs) != 10 ||
			slices.ContainsFunc(r.nodes.epochs, func(e int64) bool { return e != now }) {
			t.Errorf("adopted with the epochs %v, the campaign's is %d", r.nodes.epochs, now)
		}
		r.until(time.Hour, "completed", r.completed)
		r.check()
		if d := r.detail(); d.Counters.Completed != 10 || r.world.Invited() != 10 || r.world.RecoveredLegs() != 0 {
			t.Errorf("%+v, %d INVITEs, %d legs were to be ended", d.Counters, r.world.Invited(), r.world.RecoveredLegs())
		}
	})
}

// awayCaps keeps every count at this node, except bot seats while away.
type awayCaps struct{ away atomic.Bool }

func (k *awayCaps) As() engine.Incarnation { return 1 }
func (k *awayCaps) Mine(of ownership.Identity) bool {
	return of.Kind != ownership.Fleet || !k.away.Load()
}
func (k *awayCaps) Ask(_ ownership.Identity, _, _ []byte, then func([]byte, engine.BootTime, error)) {
	time.AfterFunc(quota.Patience, func() { then(nil, 0, engine.Unavailable("keeper_away", "away", time.Second)) })
}
func (k *awayCaps) Owe(ownership.Identity, []byte) {}
func (k *awayCaps) Recount()                       {}

// A campaign moves while some calls are classified with their bot already attached, and others
// ring. Every callee who picks up is served with the seat that the dial relied on, even while no
// node can say how many seats there are: their keeper may have left together with the campaign's
// owner.
func TestWhoIsCalledWhenTheCampaignMovesIsServed(t *testing.T) {
	for _, away := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			talk := steady(2*time.Second, 30*time.Second)
			caps := new(awayCaps)
			r := newFarRig(t, func(n engine.PhoneNumber, nth int) actortest.Script {
				s := talk(n, nth)
				s.VerdictIn = 1500 * time.Millisecond
				if n[len(n)-1]%2 == 0 {
					s.Ring = 4 * time.Second
				}
				return s
			}, nil)
			r.results()
			r.add(10)
			r.act(campaign.ActionStart)
			answered := func() (n, served int) {
				r.store.View(func() {
					for a := range r.store.AllAttempts() {
						if a.AnsweredAt != nil {
							n++
						}
						if a.ServedAt != nil {
							served++
						}
					}
				})
				return n, served
			}
			r.until(time.Minute, "five are classified", func() bool { n, _ := answered(); return n == 5 })
			time.Sleep(500 * time.Millisecond) // virtual: their bots are attached
			if n, served := answered(); n != 5 || served != 0 {
				t.Fatalf("%d answered, %d served", n, served)
			}
			r.nodes.leave(1)
			r.tree.Close()
			if away {
				r.sharedCaps = caps
				caps.away.Store(true)
			}
			r.start() // at once, as when a node is drained
			defer func() { r.tree.Close() }()
			time.Sleep(quota.Unused(ownership.Fleet)) // virtual
			caps.away.Store(false)
			r.until(time.Minute, "ten talk", func() bool { return r.detail().Live.InProgress == 10 })
			r.until(time.Hour, "completed", r.completed)
			r.check()
			if d := r.detail(); d.Counters.Completed != 10 || d.Counters.Abandoned != 0 || r.world.Invited() != 10 {
				t.Errorf("away %t: %+v, %d INVITEs", away, d.Counters, r.world.Invited())
			}
			r.world.View(func() {
				if n := r.world.Reattached; n > 0 {
					t.Errorf("%d calls got another bot", n)
				}
			})
		})
	}
}

// A leg that a lost node let ring is cancelled as that node would have done.
func TestALegOfANodeThatIsGoneIsCancelledWithWhatThatWroteIntoItsVia(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFarRig(t, steady(20*time.Second, 30*time.Second), nil)
		defer func() { r.tree.Close() }()
		r.add(1)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "it rings", func() bool { return r.world.LiveCalls() == 1 })
		r.nodes.leave(2)
		r.gone(2)
		time.Sleep(time.Second) // virtual
		var by []string
		r.near.View(func() { by = slices.Clone(r.near.RecoveredBy) })
		if !slices.Equal(by, []string{"2.trunk"}) {
			t.Errorf("cancelled by %q", by)
		}
	})
}

// Calls are lost with the node that carried them: they are closed at once, and contacts who were
// not reached are called again, from the remaining node.
func TestCallsOfANodeThatIsGoneAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFarRig(t, steady(2*time.Second, 30*time.Second), nil)
		defer func() { r.tree.Close() }()
		r.results()
		r.add(10)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "ten talk", func() bool { return r.detail().Live.InProgress == 10 })
		r.nodes.leave(2)
		lost := r.gone(2)
		if len(lost) != 10 {
			t.Errorf("%d calls of 10 are lost", len(lost))
		}
		r.until(time.Minute, "nobody talks", func() bool { return r.detail().Live.InProgress == 0 })
		if n := r.near.RecoveredLegs(); n != 10 {
			t.Errorf("%d legs of 10 were ended from here", n)
		}
		r.until(24*time.Hour, "completed", r.completed)
		outcomes := map[engine.Outcome]int{}
		r.store.View(func() {
			for a := range r.store.AllAttempts() {
				outcomes[a.Outcome]++
			}
			if n := len(r.store.Holds); n > 0 {
				t.Errorf("%d numbers are held", n)
			}
		})
		if outcomes[engine.OutcomeLost] != 10 {
			t.Errorf("%v", outcomes)
		}
	})
}

// A call is answered at the very moment its node dies: the bot's absence counts as a capacity loss,
// although the campaign hears of it only seconds later.
func TestAnAnswerOnANodeThatDiesIsACapacityLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFarRig(t, func(n engine.PhoneNumber, nth int) actortest.Script {
			s := steady(2*time.Second, time.Minute)(n, nth)
			s.BotIn = 500 * time.Millisecond
			return s
		}, nil)
		defer func() { r.tree.Close() }()
		r.add(1)
		r.act(campaign.ActionStart)
		var at attempt.Attempt
		last := func() attempt.Attempt {
			r.store.View(func() {
				for a := range r.store.AllAttempts() {
					at = a
				}
			})
			return at
		}
		for last().AnsweredAt == nil {
			time.Sleep(10 * time.Millisecond) // virtual
		}
		r.nodes.leave(2)
		time.Sleep(3 * time.Second) // virtual: its lease goes on
		if a := last(); a.Ending == nil || a.Ending.Outcome != engine.OutcomeAbandoned ||
			a.Ending.Cause != engine.AbandonCapacityLoss {
			t.Errorf("%s, ending %+v", a.State, a.Ending)
		}
		r.gone(2)
		synctest.Wait()
		time.Sleep(time.Second) // virtual
		if a := last(); a.State != attempt.Ended || a.Cause != engine.AbandonCapacityLoss {
			t.Errorf("%s, cause %s", a.State, a.Cause)
		}
		r.threeWays()
	})
}
