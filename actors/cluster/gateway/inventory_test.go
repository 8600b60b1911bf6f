package gateway_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"dialler/actors/cluster/gateway"
	"dialler/engine"
)

// watched makes a node check the owners of its calls: owned says whether its own actors have them,
// fenced whether it is without its lease.
func watched(owned, fenced *atomic.Bool, here ...engine.AttemptID) func(*gateway.Config) {
	return func(c *gateway.Config) {
		c.Carried = func() []engine.AttemptID { return here }
		c.Owned = func(engine.AttemptID) bool { return owned.Load() }
		c.LeaseEnd = func() engine.BootTime {
			if fenced.Load() {
				return 0
			}
			return 1 << 62
		}
	}
}

func inventoried(t *testing.T,
	f func(t *testing.T, n *network, b *node, owned, fenced *atomic.Bool, id engine.AttemptID)) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		var owned, fenced atomic.Bool
		owned.Store(true)
		b := n.join(t, 2, 9e9, watched(&owned, &fenced, call(1)))
		id, _ := talking(b)
		pause(time.Minute)
		f(t, n, b, &owned, &fenced, id)
	})
}

// A leg whose actor is gone without handing it over is ended, along with its audio and its bot.
func TestACallThatNobodyActsForIsEnded(t *testing.T) {
	inventoried(t, func(t *testing.T, _ *network, b *node, owned, _ *atomic.Bool, id engine.AttemptID) {
		if hungUp(b) || b.Unowned.Load() != 0 {
			t.Fatal("a call with an owner is ended")
		}
		owned.Store(false)
		pause(30 * time.Second)
		if hungUp(b) {
			t.Error("nobody could adopt it")
		}
		pause(15 * time.Second)
		if !hungUp(b) || !slices.Contains(b.ports.entries(), "detach "+string(id)) || b.ports.closed != 1 {
			t.Errorf("it goes on: %v, audio closed %d times", b.ports.entries(), b.ports.closed)
		}
		if n := b.Unowned.Load(); n != 1 {
			t.Errorf("it was found %d times", n)
		}
	})
}

func TestACallWhoseActorComesUpAgainGoesOn(t *testing.T) {
	inventoried(t, func(t *testing.T, _ *network, b *node, owned, _ *atomic.Bool, _ engine.AttemptID) {
		owned.Store(false)
		pause(20 * time.Second)
		owned.Store(true)
		pause(5 * time.Minute)
		if hungUp(b) || b.Hosted() != 0 {
			t.Errorf("it was ended, or is not its actor's: %d hosted", b.Hosted())
		}
	})
}

func TestACallThatNobodyActsForMayBeAdopted(t *testing.T) {
	inventoried(t, func(t *testing.T, n *network, b *node, owned, _ *atomic.Bool, id engine.AttemptID) {
		c := n.join(t, 3, 7e10, nil)
		owned.Store(false)
		pause(20 * time.Second)
		known := c.asks(t, id)
		pause(5 * time.Minute)
		equal(t, "known legs", known(), []engine.LegID{id.Leg(1)})
		if hungUp(b) {
			t.Error("it was ended")
		}
	})
}

// A node without its lease ends its calls by the fence, not earlier: an actor cannot be reloaded
// while the database is out of reach.
func TestTheInventoryWaitsForTheLease(t *testing.T) {
	inventoried(t, func(t *testing.T, _ *network, b *node, owned, fenced *atomic.Bool, _ engine.AttemptID) {
		fenced.Store(true)
		owned.Store(false)
		pause(5 * time.Minute)
		if hungUp(b) {
			t.Error("it was ended")
		}
		fenced.Store(false)
		pause(45 * time.Second)
		if !hungUp(b) {
			t.Error("it goes on behind the lease")
		}
	})
}

// The same for routes to calls on other nodes.
func TestNoRouteIsLeftThatNobodyUses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		var has, fenced atomic.Bool
		has.Store(true)
		a := n.join(t, 1, 5e12, watched(&has, &fenced))
		n.join(t, 2, 9e9, nil)
		a.dial(call(1), 2, new(owned))
		pause(5 * time.Minute)
		if a.Carried() != 1 {
			t.Errorf("%d ways are left", a.Carried())
		}
		has.Store(false)
		pause(70 * time.Second)
		if a.Carried() != 0 {
			t.Errorf("%d ways are left that nobody uses", a.Carried())
		}
	})
}
