package gateway_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dialler/actors/cluster/gateway"
	"dialler/engine"
	"dialler/engine/attempt"
)

// talking is a call of node 2's own campaign, on node 2.
func talking(b *node) (engine.AttemptID, *owned) {
	id, o := call(1), &owned{}
	b.dial(id, 2, o)
	b.ports.emit(id.Leg(1), engine.LegEvent{Kind: engine.LegAnswered})
	b.ports.emitMedia(id, engine.MediaEvent{Kind: engine.MediaBotConnected})
	pause(time.Second)
	return id, o
}

// asks has the node take over a call of node 2. The function it returns gives the legs known by
// then.
func (m *node) asks(t *testing.T, id engine.AttemptID) (known func() []engine.LegID) {
	t.Helper()
	at := &attempt.Attempt{ID: id, Epoch: 2, Node: 2, Legs: []attempt.Leg{{ID: id.Leg(1)}}}
	var told atomic.Pointer[[]engine.LegID]
	m.AdoptLegs(at, func(legs []engine.LegID, err error) {
		if err != nil {
			t.Error(err)
		}
		told.Store(&legs)
	})
	return func() []engine.LegID {
		if legs := told.Load(); legs != nil {
			return *legs
		}
		return nil
	}
}

func hungUp(b *node) bool {
	return slices.ContainsFunc(b.ports.entries(), func(s string) bool { return strings.HasPrefix(s, "hang up") })
}

// A node that has lost only the database is asked for its conversations, and they go on: its own
// actors have no more say in them, and it keeps them for as long as it hears their owner.
func TestAReachableProcessGivesItsCallsUpWhateverBecameOfItsLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		var taken []engine.AttemptID
		b := n.join(t, 2, 9e9, func(c *gateway.Config) {
			c.Taken = func(a engine.AttemptID) { taken = append(taken, a) }
		})
		c := n.join(t, 3, 7e10, nil)
		id, o := talking(b)
		c.Gone(2, "")
		known := c.asks(t, id)
		pause(time.Second)
		equal(t, "known legs", known(), []engine.LegID{id.Leg(1)})
		equal(t, "taken", taken, []engine.AttemptID{id})
		next := &owned{}
		c.AttachLeg(id, next.leg)
		c.AttachMedia(id, next.heard)
		pause(time.Second)
		before := len(b.ports.entries())
		b.HangUpLeg(id.Leg(1), engine.HangUpCause{}) // an actor that does not know yet
		b.DetachBot(id)
		b.CloseMedia(id)
		b.ForgetLegs(id)
		b.HangUpLeg(id.Leg(1), engine.HangUpCause{})
		b.Replaced(id, nil)
		b.Leave(id, 2, 1, nil)
		pause(2 * engine.LimboFor)
		equal(t, "what was done there", b.ports.entries()[before:], nil)
		if !b.Kept(id) || b.ports.closed > 0 {
			t.Error("it is not kept")
		}
		equal(t, "lost", c.Lost(), nil)
		b.ports.emit(id.Leg(1), engine.LegEvent{Kind: engine.LegHungUp})
		pause(time.Second)
		equal(t, "the new owner", next.kinds(), []engine.LegEventKind{engine.LegSent, engine.LegAnswered, engine.LegHungUp})
		equal(t, "the former one", o.kinds(), []engine.LegEventKind{engine.LegSent, engine.LegAnswered})
		c.ForgetLegs(id)
		pause(time.Second)
		if b.Hosted() != 0 || c.Carried() != 0 {
			t.Errorf("%d hosted, %d away", b.Hosted(), c.Carried())
		}
		n.isolate(3, true)
		pause(time.Minute)
		if b.Kept(id) {
			t.Error("kept for nobody")
		}
	})
}

// A node that cannot be reached may keep its conversations for as long as its lease allows: they
// are in limbo, and go on if it is heard again in time.
func TestACallInLimboIsFoundAgainOrLost(t *testing.T) {
	for _, back := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			n := newNetwork(1)
			defer n.close()
			b, c := n.join(t, 2, 9e9, nil), n.join(t, 3, 7e10, nil)
			id, _ := talking(b)
			c.Ready(2)
			pause(time.Second)
			n.isolate(2, true)
			pause(6 * time.Second)
			c.Gone(2, "")
			known := c.asks(t, id)
			pause(4 * time.Second)
			equal(t, "known before anything can be", known(), nil)
			pause(2 * time.Second)
			equal(t, "presumed legs", known(), []engine.LegID{id.Leg(1)})
			next := &owned{}
			c.AttachLeg(id, next.leg)
			c.AttachMedia(id, next.heard)
			if back {
				n.isolate(2, false)
			}
			pause(engine.LimboFor - 6*time.Second - time.Millisecond)
			equal(t, "lost too early", c.Lost(), nil)
			pause(time.Second)
			if back {
				equal(t, "lost", c.Lost(), nil)
				equal(t, "replayed", next.kinds(), []engine.LegEventKind{engine.LegSent, engine.LegAnswered})
				equal(t, "replayed media", next.mediaKinds(), []engine.MediaEventKind{engine.MediaBotConnected})
				c.HangUpLeg(id.Leg(1), engine.HangUpCause{})
				pause(time.Second)
				if !hungUp(b) {
					t.Error("the owner has no say")
				}
				return
			}
			equal(t, "lost", c.Lost(), []engine.AttemptID{id})
			if c.Away(id) || c.Carried() != 0 {
				t.Error("there is a way to it")
			}
		})
	}
}

// A process that lost its lease and has joined again under another one ends no conversation at the fence: it goes on
// for as long as its owner may not be heard. A cut that is shorter loses nothing, one that is longer has it
// ended there first.
func TestACallOnANodeThatHasJoinedAgainOutlastsACut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		b, c := n.join(t, 2, 9e9, nil), n.join(t, 3, 7e10, nil)
		id, _ := talking(b)
		c.Gone(2, "")
		b.Join(5)
		known := c.asks(t, id)
		pause(time.Second)
		equal(t, "known legs", known(), []engine.LegID{id.Leg(1)})
		pause(2 * engine.LimboFor)
		n.isolate(2, true)
		pause(20 * time.Second)
		equal(t, "lost in a cut that is soon over", c.Lost(), nil)
		n.isolate(2, false)
		pause(5 * time.Second)
		n.isolate(2, true)
		for !hungUp(b) {
			equal(t, "lost while it goes on there", c.Lost(), nil)
			pause(100 * time.Millisecond)
		}
		pause(5 * time.Second)
		equal(t, "lost", c.Lost(), []engine.AttemptID{id})
	})
}

// A process that has joined again carries the calls of its former incarnation as its own: when it is then
// cut off, they are lost once it must have ended them by its last lease, not by its first.
func TestACallOfAnEarlierIncarnationIsLostByTheLastLeaseOfItsProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		b, c := n.join(t, 2, 9e9, nil), n.join(t, 3, 7e10, nil)
		id, _ := talking(b)
		c.Ready(2)
		pause(time.Second)
		c.Gone(2, "b:1")
		b.Join(5)
		pause(25 * time.Second)
		n.isolate(2, true)
		pause(10 * time.Second)
		c.Gone(5, "b:1")
		c.asks(t, id)
		pause(engine.LimboFor - time.Millisecond)
		equal(t, "lost too early", c.Lost(), nil)
		pause(5 * time.Second)
		equal(t, "lost", c.Lost(), []engine.AttemptID{id})
	})
}

// In a cut of one direction the node with the call hears its owner, who does not hear it, and will
// take the call for lost: it is ended there before.
func TestALostCallIsEndedThoughItsOwnerIsHeard(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		b, c := n.join(t, 2, 9e9, nil), n.join(t, 3, 7e10, nil)
		b.dial(call(2), 3, new(owned)) // by which each goes on to hear the other
		id, _ := talking(b)
		c.Gone(2, "")
		b.Join(5)
		c.asks(t, id)
		pause(2 * engine.LimboFor)
		if !b.Kept(id) {
			t.Error("it is not kept")
		}
		n.silence(2)
		pause(5 * time.Second)
		if b.Kept(id) {
			t.Error("it is kept by who does not hear of it")
		}
		for !hungUp(b) {
			equal(t, "lost while it goes on there", c.Lost(), nil)
			pause(100 * time.Millisecond)
		}
		pause(5 * time.Second)
		if lost := c.Lost(); !slices.Contains(lost, id) {
			t.Errorf("lost: %v", lost)
		}
	})
}

// A new process at its address has none of its calls.
func TestACallOfAProcessThatIsOverIsLostAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		c := n.join(t, 3, 7e10, nil)
		b := n.join(t, 2, 9e9, nil)
		id := call(1)
		c.dial(id, 2, &owned{})
		pause(time.Second)
		other := n.join(t, 4, 9e9, nil)
		n.mu.Lock()
		n.nodes[2] = other // another process now has the address
		n.mu.Unlock()
		pause(2 * time.Second)
		equal(t, "while it has its lease", c.Lost(), nil)
		c.Gone(2, "")
		equal(t, "lost", c.Lost(), []engine.AttemptID{id})
		n.mu.Lock()
		n.nodes[2] = b // for its end
		n.mu.Unlock()
	})
}

// A node that joins anew acts for no call on another node: the call goes on there for its next owner.
func TestCallsElsewhereAreGivenUpWholeAndFoundByTheNextOwner(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b := n.join(t, 1, 5e12, nil), n.join(t, 2, 9e9, nil)
		id, own := call(1), call(2)
		a.dial(id, 2, &owned{})
		a.dial(own, 1, &owned{})
		pause(time.Second)
		equal(t, "given up", a.Disown(), []engine.AttemptID{id})
		if a.Carried() != 0 || a.Away(id) {
			t.Errorf("%d ways are left", a.Carried())
		}
		pause(5 * time.Second)
		a.Join(7)
		known := a.asks(t, id)
		pause(time.Minute)
		equal(t, "known legs", known(), []engine.LegID{id.Leg(1)})
		if hungUp(b) || hungUp(a) {
			t.Error("it was ended")
		}
	})
}

// Others may read in the database that a node has joined anew before it knows that itself, and ask for
// the new incarnation. Its process is not over for that: when its lease is, its calls are in limbo.
func TestAProcessThatDoesNotKnowYetThatItHasJoinedIsNotOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		c := n.join(t, 3, 7e10, nil)
		b := n.join(t, 2, 9e9, nil)
		n.mu.Lock()
		n.nodes[5] = b // what the database says of the process of 2
		n.mu.Unlock()
		c.Ready(5)
		pause(time.Second)
		b.Join(5)
		id := call(1)
		c.dial(id, 5, &owned{})
		pause(time.Second)
		if len(b.ports.entries()) == 0 {
			t.Fatal("the call was not placed")
		}
		n.isolate(5, true)
		n.isolate(2, true)
		c.Gone(5, "")
		pause(2 * time.Second)
		equal(t, "lost before it must have ended the call", c.Lost(), nil)
		n.mu.Lock()
		delete(n.nodes, 5)
		n.mu.Unlock()
	})
}

// A node that learns from the database that another node acts for one of its calls ends the call
// and its audio, unless the other adopts it within seconds.
func TestACallWhoseOwnerWasReplacedIsEndedUnlessThatOneHasIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		b := n.join(t, 2, 9e9, nil)
		id, _ := talking(b)
		b.Replaced(id, nil)
		pause(4 * time.Second)
		if hungUp(b) {
			t.Error("it was not waited for who has it")
		}
		pause(3 * time.Second)
		if !hungUp(b) {
			t.Error("it goes on")
		}
		b.ports.emit(id.Leg(1), engine.LegEvent{Kind: engine.LegClosed})
		pause(5 * time.Second)
		if b.ports.closed != 1 {
			t.Error("its audio is open")
		}
	})
}

// A node that was cut off is back before its conversations had to end: the owner that took its place
// may take some time to find them.
func TestTheNextOwnerHasTheWholeLimboToFindACall(t *testing.T) {
	for _, found := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			n := newNetwork(1)
			defer n.close()
			ends := atomic.Int64{}
			ends.Store(1 << 62)
			b := n.join(t, 2, 9e9, func(c *gateway.Config) {
				c.LeaseEnd = func() engine.BootTime { return engine.BootTime(ends.Load()) }
			})
			c := n.join(t, 3, 7e10, nil)
			id, _ := talking(b)
			ends.Store(int64(b.clock.Boot())) // it is cut off
			pause(10 * time.Second)
			ends.Store(1 << 62)
			b.Replaced(id, nil)
			pause(15 * time.Second)
			if hungUp(b) {
				t.Fatal("it was ended before its limbo was over")
			}
			if found {
				c.asks(t, id)
			}
			pause(7 * time.Second)
			if hungUp(b) == found {
				t.Errorf("found: %t, hung up: %t", found, hungUp(b))
			}
		})
	}
}

// The owner of a call has died without a replacement when the callee hangs up: no owner asks to
// close the audio.
func TestTheAudioOfACallEndsWithItThoughItsOwnerIsDead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b := n.join(t, 1, 5e12, nil), n.join(t, 2, 9e9, nil)
		id := call(1)
		a.dial(id, 2, &owned{})
		pause(time.Second)
		b.ports.emit(id.Leg(1), engine.LegEvent{Kind: engine.LegAnswered})
		n.isolate(1, true)
		pause(time.Second)
		b.ports.emit(id.Leg(1), engine.LegEvent{Kind: engine.LegHungUp})
		pause(6 * time.Second)
		if b.ports.closed != 1 {
			t.Error("its audio is open")
		}
	})
}
