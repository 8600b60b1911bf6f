package gateway_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"dialler/actors/cluster/gateway"
	world "dialler/actors/ports"
	"dialler/engine"
)

// bubble runs a test with virtual time.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func pause(d time.Duration) {
	time.Sleep(d) // virtual
	synctest.Wait()
}

func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestACallIsCarriedByAnotherNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b := n.join(t, 1, 5e12, nil), n.join(t, 2, 9e9, nil)
		id, o := call(1), &owned{}
		a.dial(id, 2, o)
		pause(time.Second)
		equal(t, "the carrying node", b.ports.entries(), []string{"open " + string(id),
			"place " + string(id.Leg(1)) + " offer offer"})
		equal(t, "events", o.kinds(), []engine.LegEventKind{engine.LegSent})
		if len(a.ports.entries()) > 0 {
			t.Errorf("the owner's ports were told %v", a.ports.entries())
		}

		b.ports.emit(id.Leg(1), engine.LegEvent{Kind: engine.LegAnswered, SDP: []byte("sdp"),
			Dialog: &engine.DialogState{ToTag: "x"}})
		pause(time.Second)
		answered := o.legs[len(o.legs)-1]
		if ago := time.Since(answered.At); ago < 999*time.Millisecond || ago > 1001*time.Millisecond {
			t.Errorf("the answer was a second ago, and came as %v ago", ago)
		}
		a.ConfirmLeg(id.Leg(1))
		a.HearEarly(id, []byte("183"))
		a.Answer(id, []byte("sdp"), answered.At)
		deadline := time.Now().Add(1800 * time.Millisecond)
		a.AttachBot(engine.AttachBot{Attempt: id, Session: "MZ1", Deadline: deadline})
		a.HearDigit(id, '5')
		a.SendDigit(id.Leg(1), '7', engine.KeyDuration)
		a.AnswerRefer(id.Leg(1), true)
		a.NotifyRefer(id.Leg(1), 200, "OK")
		a.DetachBot(id)
		a.PlayMessage(id)
		a.LeaveVoicemail(engine.LeaveVoicemail{Attempt: id, Message: "vm1"})
		pause(time.Second)
		c := b.ports.calls[id]
		if got := c.bot.Deadline.Sub(deadline).Abs(); got > time.Millisecond {
			t.Errorf("the bot's deadline is %v off there", got)
		}
		if got := c.answer.Sub(answered.At).Abs(); got > time.Millisecond {
			t.Errorf("the time of the answer is %v off there", got)
		}
		b.ports.emitMedia(id, engine.MediaEvent{Kind: engine.MediaBotConnected})
		pause(time.Second)
		equal(t, "media events", o.mediaKinds(), []engine.MediaEventKind{engine.MediaBotConnected})

		a.HangUpLeg(id.Leg(1), engine.HangUpCause{Q850: 16})
		pause(time.Second)
		b.ports.emit(id.Leg(1), engine.LegEvent{Kind: engine.LegClosed})
		pause(time.Second)
		if q := a.CloseMedia(id); q.PacketsReceived != 77 || q.Recording == nil {
			t.Errorf("the quality did not come with the last event: %+v", q)
		}
		a.ForgetLegs(id)
		pause(time.Second)
		leg := string(id.Leg(1))
		equal(t, "the carrying node", b.ports.entries()[2:], []string{
			"confirm " + leg, "hear early " + string(id) + " 183", "answer " + string(id) + " sdp",
			"bot " + string(id) + " MZ1", "hear " + string(id) + " 5", "info " + leg + " 7",
			"refer " + leg + " true", "notify " + leg + " 200 OK", "detach " + string(id), "play " + string(id),
			"leave " + string(id) + " vm1", "hang up " + leg + " 16", "forget " + string(id),
		})
		if a.Away(id) || b.ports.closed != 1 {
			t.Errorf("away %v, media closed %d times", a.Away(id), b.ports.closed)
		}
	})
}

// Whatever the network does, each message takes effect once and in order, and so do the events of
// every leg and call.
func TestNothingIsLostTwiceOrOutOfOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		lose, twice := rapid.IntRange(0, 60).Draw(rt, "lost"), rapid.IntRange(0, 50).Draw(rt, "twice")
		delay := time.Duration(rapid.IntRange(0, 3000).Draw(rt, "delay")) * time.Millisecond
		calls := rapid.IntRange(1, 8).Draw(rt, "calls")
		steps := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 100).Draw(rt, "steps")
		small := rapid.Bool().Draw(rt, "little room")
		var wrong []string
		bubble(t, func(t *testing.T) {
			n := newNetwork(seed)
			defer n.close()
			a := n.join(t, 1, 5e12, nil)
			if small {
				n.room = 300
			}
			b := n.join(t, 2, 9e9, func(c *gateway.Config) { c.OrphanAfter = 24 * time.Hour })
			n.set(lose, twice, delay)
			told := map[engine.AttemptID][]string{}
			made := map[engine.AttemptID]int{}
			owners := make([]*owned, calls)
			for i := range calls {
				id := call(i + 1)
				owners[i] = &owned{}
				_, _ = a.Open(engine.OpenMedia{Attempt: id, Node: 2, Epoch: 1}, owners[i].heard)
				a.PlaceLeg(engine.PlaceLeg{Attempt: id, Leg: id.Leg(1), SendBy: 1 << 62}, owners[i].leg)
				told[id] = []string{"open " + string(id), "place " + string(id.Leg(1)) + " offer offer"}
				made[id] = 1 // sent
			}
			time.Sleep(time.Minute) // placed
			for i, s := range steps {
				id := call(i%calls + 1)
				leg := id.Leg(1)
				switch s {
				case 0:
					a.ConfirmLeg(leg)
					told[id] = append(told[id], "confirm "+string(leg))
				case 1:
					a.HangUpLeg(leg, engine.HangUpCause{Q850: i})
					told[id] = append(told[id], fmt.Sprintf("hang up %s %d", leg, i))
				case 2, 3:
					b.ports.emit(leg, engine.LegEvent{Kind: engine.LegDigit, Digit: '1'})
					made[id]++
				case 4:
					b.ports.emitMedia(id, engine.MediaEvent{Kind: engine.MediaDigit, Digit: '2'})
				case 5:
					time.Sleep(time.Duration(i%50) * 10 * time.Millisecond)
				}
			}
			n.set(0, 0, time.Millisecond)
			pause(10 * time.Minute)
			for i := range calls {
				id := call(i + 1)
				var got []string
				for _, e := range b.ports.entries() {
					if strings.Contains(e, string(id)) {
						got = append(got, e)
					}
				}
				if !slices.Equal(got, told[id]) {
					wrong = append(wrong, fmt.Sprintf("call %d: done %v, told %v", i, got, told[id]))
				}
				for k, e := range owners[i].legs {
					if e.Seq != k+1 {
						wrong = append(wrong, fmt.Sprintf("call %d: leg event %d came as %d", i, e.Seq, k+1))
					}
				}
				if len(owners[i].legs) != made[id] {
					wrong = append(wrong, fmt.Sprintf("call %d: %d leg events of %d", i, len(owners[i].legs), made[id]))
				}
				for k, e := range owners[i].media {
					if e.Seq != k+1 {
						wrong = append(wrong, fmt.Sprintf("call %d: media event %d came as %d", i, e.Seq, k+1))
					}
				}
				if len(owners[i].media) != len(b.ports.calls[id].events) {
					wrong = append(wrong, fmt.Sprintf("call %d: %d media events of %d", i, len(owners[i].media),
						len(b.ports.calls[id].events)))
				}
			}
		})
		if len(wrong) > 0 {
			rt.Fatal(strings.Join(wrong, "\n"))
		}
	})
}

// An INVITE that was delayed in transit is not sent, whatever the two boot-time clocks read; one in
// time is.
func TestAnInviteThatComesTooLateIsNotSent(t *testing.T) {
	for _, boots := range [][2]engine.BootTime{{5e12, 9e9}, {9e9, 5e12}} {
		for _, late := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				n := newNetwork(1)
				defer n.close()
				a := n.join(t, 1, boots[0], nil)
				n.join(t, 2, boots[1], nil)
				id, o := call(1), &owned{}
				a.Ready(2)
				pause(time.Second)
				if !a.Ready(2) {
					t.Fatal("the node that answers is not ready")
				}
				want := engine.LegSent
				n.isolate(2, true)
				a.dial(id, 2, o)
				pause(7 * time.Second)
				if late {
					pause(4 * time.Second)
					want = engine.LegNotSent
				}
				n.isolate(2, false) // a repeat comes every two seconds
				pause(20 * time.Second)
				if got := o.kinds(); len(got) != 1 || got[0] != want {
					t.Errorf("late %v: got %v, want %s", late, got, want)
				}
			})
		}
	}
}

func TestNoInviteLeavesAfterTheLeaseOfTheNodeThatCarriesIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a := n.join(t, 1, 5e12, nil)
		n.join(t, 2, 9e9, func(c *gateway.Config) { c.LeaseEnd = func() engine.BootTime { return 8e9 } })
		o := &owned{}
		a.dial(call(1), 2, o)
		pause(time.Second)
		equal(t, "events", o.kinds(), []engine.LegEventKind{engine.LegNotSent})
	})
}

func TestAPathThatCannotBeOpenedThereIsALegThatWasNotSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b := n.join(t, 1, 5e12, nil), n.join(t, 2, 9e9, nil)
		b.ports.refuse = errors.New("no port")
		id, o := call(1), &owned{}
		a.dial(id, 2, o)
		pause(time.Second)
		if len(o.legs) != 1 || o.legs[0].NotSent != engine.NotSentMedia {
			t.Fatalf("got %+v", o.legs)
		}
		// A restarted actor hears of it again.
		again := &owned{}
		equal(t, "known legs", a.AttachLeg(id, again.leg), []engine.LegID{id.Leg(1)})
		pause(time.Second)
		equal(t, "events", again.kinds(), []engine.LegEventKind{engine.LegNotSent})
	})
}

// Failed reports a node that could not place a call, and no node for a failure that was not its
// fault.
func TestWhatANodeCouldNotPlaceIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		failed := 0
		a := n.join(t, 1, 5e12, func(c *gateway.Config) {
			c.Failed = func(id engine.Incarnation) {
				if id == 2 {
					failed++
				}
			}
		})
		b := n.join(t, 2, 9e9, nil)
		o := &owned{}
		a.dial(call(1), 2, o)
		a.dial(call(2), 2, o)
		pause(time.Second)
		b.ports.emit(call(1).Leg(1), engine.LegEvent{Kind: engine.LegRefused, Code: 486})
		b.ports.emit(call(2).Leg(1), engine.LegEvent{Kind: engine.LegNotSent, NotSent: engine.NotSentCancelled})
		pause(time.Second)
		if failed != 0 {
			t.Errorf("%d failures of the node are told", failed)
		}
		b.ports.refuse = errors.New("no port")
		a.dial(call(3), 2, o)
		pause(time.Second)
		if failed != 1 {
			t.Errorf("%d failures of the node are told", failed)
		}
	})
}

func TestANodeThatIsDrainedCarriesNoNewCallOfAnother(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b := n.join(t, 1, 5e12, nil), n.join(t, 2, 9e9, nil)
		before, after := &owned{}, &owned{}
		a.dial(call(1), 2, before)
		pause(time.Second)
		b.Drain()
		a.dial(call(2), 2, after)
		pause(time.Second)
		equal(t, "events of the new call", after.kinds(), []engine.LegEventKind{engine.LegNotSent})
		b.ports.emit(call(1).Leg(1), engine.LegEvent{Kind: engine.LegAnswered})
		pause(time.Second)
		equal(t, "events of the call before", before.kinds(), []engine.LegEventKind{engine.LegSent, engine.LegAnswered})
		a.ForgetLegs(call(1))
		a.ForgetLegs(call(2))
		pause(time.Second)
		if b.Hosted() != 0 || a.Carried() != 0 {
			t.Errorf("%d and %d calls are left", b.Hosted(), a.Carried())
		}
	})
}

func TestFarLegsAreJoinedOnTheNodeOfTheCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b := n.join(t, 1, 5e12, nil), n.join(t, 2, 9e9, nil)
		id, o := call(1), &owned{}
		a.dial(id, 2, o)
		pause(time.Second)
		b.ports.emit(id.Leg(1), engine.LegEvent{Kind: engine.LegAnswered})
		_, _ = a.OpenPeer(id, id.Leg(2), engine.MediaProfile{})
		a.PlaceLeg(engine.PlaceLeg{Attempt: id, Leg: id.Leg(2), URI: "sip:bot@host", SendBy: 1 << 62}, o.leg)
		var joined []error
		a.JoinPeerThen(id, id.Leg(2), []byte("sdp"), func(err error) { joined = append(joined, err) })
		pause(time.Second)
		if len(joined) != 1 || joined[0] != nil {
			t.Errorf("joined: %v", joined)
		}
		b.ports.refuse = engine.Invalid("unfit", "no codec")
		a.JoinPeerThen(id, id.Leg(2), []byte("sdp"), func(err error) { joined = append(joined, err) })
		a.SendDigitsThen(id, id.Leg(1), "12", func(err error) { joined = append(joined, err) })
		pause(time.Second)
		b.ports.refuse = nil
		b.ports.bySIP = true
		a.SendDigitsThen(id, id.Leg(1), "34", func(err error) { joined = append(joined, err) })
		a.HearDigit(id, '9')
		a.ClosePeer(id, id.Leg(2))
		pause(time.Second)
		if len(joined) != 4 || engine.ErrorCode(joined[1]) != "unfit" || joined[2] == nil || joined[3] != nil {
			t.Errorf("answers: %v", joined)
		}
		// A far leg answers and ends: the call goes on, its media stays open.
		b.ports.emit(id.Leg(2), engine.LegEvent{Kind: engine.LegAnswered})
		b.ports.emit(id.Leg(2), engine.LegEvent{Kind: engine.LegHungUp})
		pause(time.Second)
		if b.ports.closed != 0 {
			t.Error("the end of a far leg closed the call's media")
		}
		log := b.ports.entries()
		for _, want := range []string{"place " + string(id.Leg(2)) + " offer peer offer",
			"join " + string(id.Leg(2)) + " sdp", "info " + string(id.Leg(1)) + " 4", "info " + string(id.Leg(2)) + " 9",
			"close peer " + string(id.Leg(2))} {
			if !slices.Contains(log, want) {
				t.Errorf("%q is not among %q", want, log)
			}
		}
	})
}

// A restarted actor hears the whole story from the first event, and nothing that was in flight to
// its predecessor.
func TestARestartedActorHearsEverythingFromTheFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(3)
		defer n.close()
		a, b := n.join(t, 1, 5e12, nil), n.join(t, 2, 9e9, nil)
		id, before := call(1), &owned{}
		a.dial(id, 2, before)
		pause(time.Second)
		n.set(0, 0, 2*time.Second)
		for range 20 {
			b.ports.emit(id.Leg(1), engine.LegEvent{Kind: engine.LegDigit})
			b.ports.emitMedia(id, engine.MediaEvent{Kind: engine.MediaDigit})
		}
		after := &owned{}
		a.AttachLeg(id, after.leg)
		a.AttachMedia(id, after.heard)
		pause(time.Minute)
		if len(after.legs) != 21 || len(after.media) != 20 {
			t.Fatalf("%d leg events of 21, %d media events of 20", len(after.legs), len(after.media))
		}
		for i, e := range after.legs {
			if e.Seq != i+1 {
				t.Fatalf("event %d came as %d", e.Seq, i+1)
			}
		}
	})
}

// A node that accepts nothing gets no new calls, and the memory of messages waiting for it is
// bounded; events of the meantime arrive when it listens again.
func TestWhatWaitsForANodeIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		const room = 4 << 10
		n.room = room
		a, b := n.join(t, 1, 5e12, nil), n.join(t, 2, 9e9, nil)
		id, o := call(1), &owned{}
		a.dial(id, 2, o)
		pause(time.Second)
		n.isolate(2, true)
		const events = 500
		for range events {
			b.ports.emit(id.Leg(1), engine.LegEvent{Kind: engine.LegDigit, Digit: '1'})
			b.ports.emitMedia(id, engine.MediaEvent{Kind: engine.MediaDigit, Digit: '1'})
		}
		refused := 0
		for i := range 500 {
			if _, err := a.Open(engine.OpenMedia{Attempt: call(i + 2), Node: 2}, o.heard); engine.ErrorCode(err) == "node_busy" {
				refused++
			}
		}
		if refused < 400 || b.Stalls.Load() == 0 {
			t.Errorf("%d of 500 calls refused, %d stalls", refused, b.Stalls.Load())
		}
		if most := max(a.links.Waiting(2), b.links.Waiting(1)); most > room+1000 {
			t.Errorf("%d bytes wait", most)
		}
		pause(20 * time.Second)
		n.isolate(2, false)
		pause(time.Minute)
		if len(o.legs) != events+1 || len(o.media) != events {
			t.Errorf("%d leg events of %d, %d media events of %d", len(o.legs), events+1, len(o.media), events)
		}
	})
}

func TestStrangeMessagesChangeNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a := n.join(t, 1, 5e12, nil)
		for _, b := range [][]byte{nil, {}, {1}, {2, 2, 2}, make([]byte, 2<<20)} {
			a.links.Receive(b)
		}
		if a.links.Stats().Malformed.Load() != 5 {
			t.Errorf("%d of 5 counted", a.links.Stats().Malformed.Load())
		}
	})
}

// For local calls the gateway costs one lookup and no allocation.
func TestACallOfThisNodeCostsNoMemory(t *testing.T) {
	n := newNetwork(1)
	defer n.close()
	a := n.join(t, 1, 5e12, nil)
	s := newScript()
	ls := links(a.clock, 0, port{n, 3}.Send)
	defer ls.Close()
	g := gateway.New(gateway.Config{Telephony: s, Media: s, Clock: a.clock, Links: ls})
	defer g.Close()
	g.Join(3)
	_, _ = g.Open(engine.OpenMedia{Attempt: call(9), Node: 2}, nil) // forces a lookup
	leg := call(1).Leg(1)
	sink, heard := func(engine.LegEvent) {}, func(engine.MediaEvent) {}
	carried := func(phone world.Telephony, media world.Media) float64 {
		return testing.AllocsPerRun(100, func() {
			_, _ = media.Open(engine.OpenMedia{Attempt: call(1)}, heard)
			phone.PlaceLeg(engine.PlaceLeg{Attempt: call(1), Leg: leg}, sink)
			media.AttachBot(engine.AttachBot{Attempt: call(1)})
			phone.ConfirmLeg(leg)
			phone.HangUpLeg(leg, engine.HangUpCause{})
			media.CloseMedia(call(1))
			phone.ForgetLegs(call(1))
		})
	}
	// AllocsPerRun also counts other goroutines' allocations, which only add up: the minimum of
	// several tries is the cost, and one try without them is enough.
	direct := carried(s, s)
	for range 100 {
		direct = min(direct, carried(s, s))
	}
	through := carried(g, g)
	for tries := 0; through > direct && tries < 10_000; tries++ {
		through = min(through, carried(g, g))
	}
	if through > direct {
		t.Errorf("%v allocations instead of %v", through, direct)
	}
}
