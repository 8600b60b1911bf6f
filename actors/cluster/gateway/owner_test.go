package gateway_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
)

func TestACallWithoutAnOwnerIsHungUpUnlessSomebodyAdoptsIt(t *testing.T) {
	for _, adopted := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			n := newNetwork(1)
			defer n.close()
			a, b, c := n.join(t, 1, 5e12, nil), n.join(t, 2, 9e9, nil), n.join(t, 3, 7e10, nil)
			id, o, next := call(1), &owned{}, &owned{}
			a.dial(id, 2, o)
			pause(time.Second)
			b.ports.emit(id.Leg(1), engine.LegEvent{Kind: engine.LegAnswered})
			b.ports.emitMedia(id, engine.MediaEvent{Kind: engine.MediaBotConnected})
			pause(time.Minute)
			equal(t, "while the owner lives", b.ports.entries()[2:], nil)
			n.isolate(1, true) // it dies
			pause(10 * time.Second)
			b.Gone(1, "")
			c.Gone(1, "")
			if adopted {
				var known []engine.LegID
				c.AdoptLegs(&attempt.Attempt{ID: id, Epoch: 2, Node: 2}, func(legs []engine.LegID, err error) {
					if err != nil {
						t.Error(err)
					}
					known = legs
				})
				pause(time.Second)
				equal(t, "known legs", known, []engine.LegID{id.Leg(1)})
				c.AttachLeg(id, next.leg)
				c.AttachMedia(id, next.heard)
				pause(time.Minute)
				equal(t, "replayed", next.kinds(), []engine.LegEventKind{engine.LegSent, engine.LegAnswered})
				equal(t, "replayed media", next.mediaKinds(), []engine.MediaEventKind{engine.MediaBotConnected})
				equal(t, "after the adoption", b.ports.entries()[2:], nil)
				b.ports.emit(id.Leg(1), engine.LegEvent{Kind: engine.LegHungUp})
				pause(time.Second)
				if q := c.CloseMedia(id); q.PacketsReceived != 77 {
					t.Errorf("quality %+v", q)
				}
				return
			}
			pause(15 * time.Second)
			equal(t, "before the time is over", b.ports.entries()[2:], nil)
			pause(10 * time.Second)
			equal(t, "after it", b.ports.entries()[2:], []string{"hang up " + string(id.Leg(1)) + " 41", "detach " + string(id)})
			b.ports.emit(id.Leg(1), engine.LegEvent{Kind: engine.LegClosed})
			pause(11 * time.Minute)
			if log := b.ports.entries(); log[len(log)-1] != "forget "+string(id) || b.ports.closed != 1 ||
				b.Orphans.Load() != 1 {
				t.Errorf("not cleared up: %v, media closed %d times", log, b.ports.closed)
			}
		})
	}
}

// A replaced owner can no longer do anything to the call and hears nothing of it; nor can one with
// a lower epoch take it.
func TestAReplacedOwnerHasNoSay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b, c := n.join(t, 1, 5e12, nil), n.join(t, 2, 9e9, nil), n.join(t, 3, 7e10, nil)
		id, o, next := call(1), &owned{}, &owned{}
		a.dial(id, 2, o)
		pause(time.Second)
		c.AdoptLegs(&attempt.Attempt{ID: id, Epoch: 2, Node: 2}, func([]engine.LegID, error) {})
		pause(time.Second)
		c.AttachLeg(id, next.leg)
		pause(time.Second)
		a.HangUpLeg(id.Leg(1), engine.HangUpCause{})
		a.PlaceLeg(engine.PlaceLeg{Attempt: id, Leg: id.Leg(2), SendBy: 1 << 62}, o.leg)
		var refused, settled int
		a.JoinPeerThen(id, id.Leg(2), nil, func(err error) {
			if engine.ErrorCode(err) == "call_taken_over" {
				refused++
			}
		})
		a.Settled(id, func() { settled++ })
		a.AdoptLegs(&attempt.Attempt{ID: id, Epoch: 1, Node: 2}, func(_ []engine.LegID, err error) {
			if engine.ErrorCode(err) == "call_taken_over" {
				refused++
			}
		})
		b.ports.emit(id.Leg(1), engine.LegEvent{Kind: engine.LegAnswered})
		pause(10 * time.Second)
		equal(t, "the carrying node", b.ports.entries()[2:], nil)
		equal(t, "the old owner", o.kinds(), []engine.LegEventKind{engine.LegSent})
		equal(t, "the new owner", next.kinds(), []engine.LegEventKind{engine.LegSent, engine.LegAnswered})
		if refused != 2 || settled != 1 {
			t.Errorf("%d refusals of 2, settled %d times", refused, settled)
		}
	})
}

// A campaign moves away while its calls go on here; a second one moves to the node that has its
// calls.
func TestACallStaysWhereItIsWhenItsOwnerMoves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b := n.join(t, 1, 5e12, nil), n.join(t, 2, 9e9, nil)
		id, here, there, back := call(1), &owned{}, &owned{}, &owned{}
		a.dial(id, 1, here)
		a.ports.emit(id.Leg(1), engine.LegEvent{Kind: engine.LegAnswered})
		a.Leave(id, 1, 1, nil)
		b.AdoptLegs(&attempt.Attempt{ID: id, Epoch: 2, Node: 1}, func([]engine.LegID, error) {})
		pause(time.Second)
		b.AttachLeg(id, there.leg)
		pause(time.Minute)
		equal(t, "the other node", there.kinds(), []engine.LegEventKind{engine.LegSent, engine.LegAnswered})
		a.AdoptLegs(&attempt.Attempt{ID: id, Epoch: 3, Node: 1}, func([]engine.LegID, error) {})
		equal(t, "known legs", a.AttachLeg(id, back.leg), []engine.LegID{id.Leg(1)})
		b.HangUpLeg(id.Leg(1), engine.HangUpCause{})
		a.ports.emit(id.Leg(1), engine.LegEvent{Kind: engine.LegHungUp})
		pause(time.Minute)
		equal(t, "back here", back.kinds(), []engine.LegEventKind{engine.LegSent, engine.LegAnswered, engine.LegHungUp})
		equal(t, "the other node", there.kinds(), []engine.LegEventKind{engine.LegSent, engine.LegAnswered})
		for _, e := range a.ports.entries() {
			if strings.HasPrefix(e, "hang up") {
				t.Errorf("who owns the call no more could do %q", e)
			}
		}

		// Left and never adopted.
		id = call(2)
		a.dial(id, 1, here)
		a.Leave(id, 1, 1, nil)
		pause(40 * time.Second)
		if log := a.ports.entries(); !slices.Contains(log, "hang up "+string(id.Leg(1))+" 41") {
			t.Errorf("a call that was left goes on: %v", log)
		}
	})
}

func TestANodeThatIsGoneLosesItsCallsAndSettlesWhatItWasTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a := n.join(t, 1, 5e12, nil)
		n.join(t, 2, 9e9, nil)
		id, o := call(1), &owned{}
		a.dial(id, 2, o)
		pause(time.Second)
		n.isolate(2, true)
		var settled, failed int
		a.CancelLeg(id.Leg(1))
		a.Settled(id, func() { settled++ })
		a.JoinPeerThen(id, id.Leg(2), nil, func(err error) {
			if engine.ErrorCode(err) == "node_unreachable" {
				failed++
			}
		})
		pause(time.Minute)
		if settled != 0 || failed != 1 || a.Ready(2) {
			t.Errorf("settled %d times, %d of 1 failed, ready %v", settled, failed, a.Ready(2))
		}
		a.Gone(2, "")
		if settled != 1 {
			t.Errorf("settled %d times", settled)
		}
		pause(engine.LimboFor - time.Second) // its node may live, and the call go on
		equal(t, "lost", a.Lost(), nil)
		pause(time.Second)
		equal(t, "lost", a.Lost(), []engine.AttemptID{id})
		if a.Away(id) {
			t.Error("there is a way to it")
		}
		if _, err := a.Open(engine.OpenMedia{Attempt: call(2), Node: 2}, o.heard); engine.ErrorCode(err) != "node_gone" {
			t.Errorf("a call begins on a node that is gone: %v", err)
		}
	})
}

// A node that lost its lease and joined again keeps its calls on other nodes as long as no other
// node has taken them over; it starts none under its old incarnation.
func TestANodeThatJoinsAgainKeepsItsCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b := n.join(t, 1, 5e12, nil), n.join(t, 2, 9e9, nil)
		id, o, more := call(1), &owned{}, &owned{}
		a.dial(id, 2, o)
		pause(time.Second)
		b.Gone(1, "")
		a.dial(call(2), 2, more) // it does not know yet
		pause(time.Second)
		n.mu.Lock()
		n.nodes[4] = a
		n.mu.Unlock()
		a.Join(4)
		b.ports.emit(id.Leg(1), engine.LegEvent{Kind: engine.LegAnswered})
		a.HangUpLeg(id.Leg(1), engine.HangUpCause{Q850: 16})
		pause(time.Minute)
		equal(t, "the call", o.kinds(), []engine.LegEventKind{engine.LegSent, engine.LegAnswered})
		equal(t, "the carrying node", b.ports.entries()[2:], []string{"hang up " + string(id.Leg(1)) + " 16"})
		a.dial(call(3), 2, more)
		pause(time.Second)
		equal(t, "the next call", more.kinds(), []engine.LegEventKind{engine.LegSent})
	})
}

func TestANodeIsKnownToBeReadyWhileItIsAskedAbout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a := n.join(t, 1, 5e12, nil)
		n.join(t, 2, 9e9, nil)
		for _, idle := range []time.Duration{0, 10 * time.Minute} {
			pause(idle)
			if a.Ready(2) {
				t.Error("a node is ready that was not heard of")
			}
			for _, wait := range []time.Duration{time.Second, 50 * time.Second, 50 * time.Second} {
				if pause(wait); !a.Ready(2) {
					t.Errorf("not ready %v after the last question", wait)
				}
			}
		}
		n.isolate(2, true)
		if pause(5 * time.Second); a.Ready(2) {
			t.Error("a node is ready that nothing comes from")
		}
		frames := func() int { n.mu.Lock(); defer n.mu.Unlock(); return n.frames }
		pause(2 * time.Minute)
		before := frames()
		if pause(10 * time.Minute); frames() != before {
			t.Errorf("%d messages to a node that nobody asks about", frames()-before)
		}
	})
}

// A call that was left before its INVITE was sent has no owner: a draining node does not wait for
// it.
func TestACallThatWasLeftBeforeItsInviteIsNotWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b := n.join(t, 1, 5e12, nil), n.join(t, 2, 9e9, nil)
		id := call(1)
		a.Leave(call(2), 2, 1, nil) // another node has begun it
		a.Leave(id, 1, 1, nil)
		if a.Hosted() != 1 {
			t.Fatalf("%d calls wait for an owner", a.Hosted())
		}
		answered := false
		b.AdoptLegs(&attempt.Attempt{ID: id, Epoch: 2, Node: 1}, func(legs []engine.LegID, err error) {
			answered = true
			if err != nil || len(legs) != 0 {
				t.Errorf("%v, %v", legs, err)
			}
		})
		pause(time.Second)
		if !answered || a.Hosted() != 0 || a.ports.closed != 1 {
			t.Errorf("answered: %v; %d calls wait, media closed %d times", answered, a.Hosted(), a.ports.closed)
		}
	})
}
