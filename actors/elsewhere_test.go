package actors_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors"
	"dialler/actors/actortest"
	"dialler/actors/gateway"
	"dialler/engine"
	"dialler/engine/campaign"
)

// With -elsewhere the calls of all tests of this package are carried by another
// node, over a network that loses, repeats and delays.
var elsewhere = flag.Bool("elsewhere", false, "carry every call on another node")

// farNodes are two nodes: the tree is on the first, all calls on the second.
type farNodes struct {
	mu    sync.Mutex
	rand  *rand.Rand
	nodes map[engine.Incarnation]*gateway.Gateway
	first *gateway.Gateway
}

// farPort is a node's way to the other.
type farPort struct{ n *farNodes }

func (p farPort) Send(to engine.Incarnation, payload []byte) {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	dest := p.n.nodes[to]
	for range 1 + p.n.rand.IntN(10)/9 {
		if p.n.rand.IntN(100) < 3 || dest == nil {
			continue
		}
		time.AfterFunc(time.Duration(p.n.rand.IntN(8_000))*time.Microsecond, func() { dest.Receive(payload) })
	}
}

// farMedia opens every call on the second node.
type farMedia struct{ *gateway.Gateway }

func (m farMedia) Open(cmd engine.OpenMedia, sink func(engine.MediaEvent)) ([]byte, error) {
	cmd.Node = 2
	return m.Gateway.Open(cmd, sink)
}

// goFar puts the two nodes between the tree and the world.
func (r *rig) goFar(p *actors.Ports) (stop func()) {
	n := &farNodes{rand: rand.New(rand.NewPCG(1, 2)), nodes: map[engine.Incarnation]*gateway.Gateway{}}
	// The world stands for both nodes' carriers: what is left of an earlier life is
	// ended from the first one.
	for i := engine.Incarnation(1); i <= 2; i++ {
		g := gateway.New(gateway.Config{Telephony: r.world, Media: r.world, Transport: farPort{n}, Log: zerolog.Nop(), Clock: p.Clock})
		g.Join(i)
		n.nodes[i] = g
	}
	n.first = n.nodes[1]
	p.Telephony, p.Media, p.Elsewhere = n.first, farMedia{n.first}, n.first
	return func() {
		for _, g := range n.nodes {
			g.Close()
		}
	}
}

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

// An exclusion is confirmed when the node of the ringing leg has dealt with it.
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
