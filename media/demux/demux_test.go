package demux

import (
	"net/netip"
	"testing"

	"dialler/media/codec"

	"pgregory.net/rapid"
)

// world models calls that share one socket: every packet has a true owner, and the demultiplexer
// must route it to that owner or drop it.
type world struct {
	d     *Table
	now   int64
	calls []*truth
}

// truth is a call and the source that its far side really uses.
type truth struct {
	Peer
	src      source
	at       netip.AddrPort // in its SDP
	seq      uint16
	ts       uint32
	ended    bool
	received int
}

func (w *world) open(ssrc uint32, real, named netip.AddrPort) *truth {
	c := &truth{src: source{real, ssrc}, at: named, seq: uint16(ssrc)}
	w.d.Open(&c.Peer, w.now)
	w.calls = append(w.calls, c)
	return c
}

func (w *world) answer(c *truth) { w.d.Answer(&c.Peer, c.at, w.anywhere(c.at), 0, false) }

// anywhere is the latch of a call that accepts every port of its host.
func (w *world) anywhere(named netip.AddrPort) *Latch {
	return &Latch{Open: true, Named: named.Addr(), Until: w.now + LatchWithin, Audio: [2]uint64{1, 0}}
}

// say sends a packet of the call and returns its recipient.
func (w *world) say(c *truth) (*Peer, route) {
	c.seq++
	c.ts += codec.FrameBytes
	w.now += millis
	p, how := w.d.Route(c.src.addr, ID{SSRC: c.src.ssrc, seq: c.seq, ts: c.ts, size: codec.FrameBytes}, w.now)
	if p == &c.Peer {
		c.received++
	}
	return p, how
}

// host is an address of this machine.
func host(port int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(port))
}

func newWorld() *world { return &world{d: New(), now: millis} }

func TestPacketsFollowTheAddress(t *testing.T) {
	w := newWorld()
	a, b := w.open(1, host(1000), host(1000)), w.open(2, host(2000), host(2000))
	w.answer(a)
	w.answer(b)
	for range 5 {
		for _, c := range []*truth{a, b} {
			if p, how := w.say(c); p != &c.Peer || how != routeOK {
				t.Fatalf("route %d", how)
			}
		}
	}
	if w.d.Waiting != 0 {
		t.Fatalf("%d waiting", w.d.Waiting)
	}
}

func TestTheSecondCallFromOneAddressIsToldApartBySSRC(t *testing.T) {
	w := newWorld()
	a := w.open(1, host(1000), host(1000))
	w.answer(a)
	w.say(a)
	b := w.open(2, host(1000), host(1000)) // opened after a was bound
	w.answer(b)
	for i := range 100 {
		w.now += 20 * millis
		if p, _ := w.say(a); p != &a.Peer {
			t.Fatalf("a lost its source at %d", i)
		}
		if p, how := w.say(b); p == &a.Peer || p == nil && how != DropProbation {
			t.Fatalf("b at %d: route %d", i, how)
		}
	}
	if b.received < 90 {
		t.Fatalf("b received %d", b.received)
	}
}

func TestTwoUnprovenCallsFromOneAddressAreDropped(t *testing.T) {
	w := newWorld()
	a, b := w.open(1, host(1000), host(1000)), w.open(2, host(1000), host(1000))
	w.answer(a)
	w.answer(b)
	for range 50 {
		for _, c := range []*truth{a, b} {
			if p, how := w.say(c); p != nil || how != DropAmbiguous && how != DropProbation {
				t.Fatal("a guess was made")
			}
		}
	}
}

func TestABindingFromTheTimeBothRangIsGivenUp(t *testing.T) {
	w := newWorld()
	a := w.open(1, host(1000), host(1000))
	b := w.open(2, host(1000), host(1000))
	w.answer(a)
	if p, _ := w.say(b); p != &a.Peer { // b's early media, accepted on trust
		t.Fatal("rule 1 does not hold")
	}
	w.answer(b)
	for range 20 {
		if p, _ := w.say(b); p != nil {
			t.Fatal("a guess was made")
		}
	}
}

func TestSSRCFromTheSDPDecides(t *testing.T) {
	w := newWorld()
	a, b := w.open(1, host(1000), host(1000)), w.open(2, host(1000), host(1000))
	w.d.Answer(&a.Peer, a.at, w.anywhere(a.at), 1, true)
	w.d.Answer(&b.Peer, b.at, w.anywhere(b.at), 2, true)
	for _, c := range []*truth{a, b} {
		if p, _ := w.say(c); p != &c.Peer {
			t.Fatal("not told apart")
		}
	}
}

func TestTheSourceMayChangeWithinACall(t *testing.T) {
	w := newWorld()
	a := w.open(1, host(1000), host(1000))
	w.answer(a)
	for range 10 {
		w.say(a)
	}
	w.open(9, host(9000), host(9000)) // another call rings
	a.src.ssrc = 77                   // moved from the announcement server to the phone
	for range 20 {
		w.now += 19 * millis
		w.say(a)
	}
	if a.received < 10+8 {
		t.Fatalf("received %d", a.received)
	}
	a.src.addr = host(1002) // and a NAT gives it another port
	for range 150 {
		w.now += 19 * millis
		w.say(a)
	}
	if a.received < 18+45 || a.received > 18+60 || a.Remote != host(1002) { // silent for two seconds
		t.Fatalf("received %d at %v", a.received, a.Remote)
	}
	a.src.addr = a.Named // the SDP's address takes precedence at once
	if p, how := w.say(a); p != &a.Peer || how != RouteMoved || a.Remote != a.Named {
		t.Fatalf("route %d to %v", how, a.Remote)
	}
	a.src.addr = host(1002)
	if p, _ := w.say(a); p != nil {
		t.Fatal("the latch outlives the SDP's address")
	}
}

func TestOneAddressOfANATServesSeveralCalls(t *testing.T) {
	w := newWorld()
	nat := host(7000)
	a := w.open(1, nat, host(1000))
	w.answer(a)
	for range ProofPackets {
		w.say(a)
	}
	b := w.open(2, nat, host(1000))
	w.answer(b)
	for range 20 {
		w.now += 19 * millis
		for _, c := range []*truth{a, b} {
			if p, _ := w.say(c); p != nil && p != &c.Peer {
				t.Fatal("crossed")
			}
		}
	}
	if a.received < 20 || b.received < 15 {
		t.Fatalf("received %d and %d", a.received, b.received)
	}
}

func TestANewDescriptionIsFollowedBehindANAT(t *testing.T) {
	w := newWorld()
	a := w.open(1, host(7000), host(1000))
	w.answer(a)
	for range ProofPackets {
		w.say(a)
	}
	w.open(2, host(9000), host(9000)) // another call rings
	a.at, a.src.addr = host(1002), host(7002)
	w.answer(a)
	if a.Remote != host(1002) {
		t.Fatal("the new address is not used")
	}
	for range ProofPackets {
		w.say(a)
	}
	if a.Remote != host(7002) || w.d.Waiting != 1 {
		t.Fatalf("at %v, %d waiting", a.Remote, w.d.Waiting)
	}
}

func TestLatePacketsOfAnEndedCallAreNotTheNextOnes(t *testing.T) {
	w := newWorld()
	a := w.open(1, host(1000), host(1000))
	w.answer(a)
	w.say(a)
	w.d.Remove(&a.Peer, w.now)
	b := w.open(2, host(1000), host(1000))
	w.answer(b)
	if p, how := w.say(a); p != nil || how != DropStale {
		t.Fatalf("route %d", how)
	}
	if p, _ := w.say(b); p != &b.Peer {
		t.Fatal("the new call is not heard")
	}
}

func TestALatchNeedsOneCandidate(t *testing.T) {
	f := func(prepare func(*world), want bool) {
		t.Helper()
		w := newWorld()
		a := w.open(1, host(1001), host(1000)) // sends from another port than its SDP's
		w.answer(a)
		prepare(w)
		for range 10 {
			w.say(a)
		}
		if got := a.received > 0; got != want {
			t.Fatalf("latched %v", got)
		}
	}
	f(func(*world) {}, true)
	f(func(w *world) { w.open(2, host(2001), host(2000)) }, false)           // a ringing call's early media?
	f(func(w *world) { w.answer(w.open(2, host(2001), host(2000))) }, false) // another one without a source?
	f(func(w *world) {
		b := w.open(2, host(2000), host(2000))
		w.answer(b)
		w.say(b) // then silent: it may have moved
	}, false)
	f(func(w *world) { w.d.Remove(&w.open(2, host(2001), host(2000)).Peer, w.now) }, false) // late packets?
	f(func(w *world) {
		w.d.Remove(&w.open(2, host(2001), host(2000)).Peer, w.now)
		w.now += tombstoneFor
	}, true)
	f(func(w *world) {
		a := w.calls[0]
		a.latch = *w.anywhere(a.Named)
		w.now += LatchWithin
	}, false)
}

// TestNoCrossTalk plays random calls, many of them from one address, with early media and NATs, and
// asserts that no packet ever reaches another call. A far side has one source at a time. Unless the
// address is known to serve several calls, early media does not come from an address that another
// live call has named: that is the only thing the demultiplexer takes on trust.
func TestNoCrossTalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		known := rapid.Bool().Draw(t, "known to share")
		if known {
			w.d.shared[host(1).Addr()] = struct{}{}
		}
		trusted := func(c *truth) bool {
			for _, o := range w.calls {
				if !known && !c.Answered && o != c && !o.ended && o.Answered && (o.Remote == c.src.addr || o.Named == c.src.addr) {
					return false
				}
			}
			return true
		}
		ports := []uint16{1000, 1000, 2000, 3000}
		live := func(label string) *truth {
			var list []*truth
			for _, c := range w.calls {
				if !c.ended {
					list = append(list, c)
				}
			}
			if len(list) == 0 {
				return nil
			}
			return list[rapid.IntRange(0, len(list)-1).Draw(t, label)]
		}
		ssrc := uint32(100)
		for range rapid.IntRange(10, 150).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				if len(w.calls) < 12 {
					ssrc++
					port := rapid.SampledFrom(ports).Draw(t, "port")
					c := w.open(ssrc, host(int(port)), host(int(port)))
					if rapid.IntRange(0, 3).Draw(t, "nat") == 0 {
						c.src.addr = host(5000 + len(w.calls)) // its own port behind a NAT
					}
				}
			case 1, 2:
				if c := live("answer"); c != nil && !c.Answered {
					w.answer(c)
				}
			case 3:
				if c := live("end"); c != nil {
					w.d.Remove(&c.Peer, w.now)
					c.ended = true
				}
			case 4:
				w.now += int64(rapid.IntRange(0, 1500).Draw(t, "pause")) * millis
			default:
				// A burst from one call or from all live ones, early media too.
				one := live("speaker")
				for range rapid.IntRange(1, 20).Draw(t, "burst") {
					w.now += 20 * millis
					for _, c := range w.calls {
						if c.ended || !trusted(c) || one != c && rapid.IntRange(0, 2).Draw(t, "quiet") > 0 {
							continue
						}
						if p, _ := w.say(c); p != nil && p != &c.Peer {
							t.Fatalf("a packet of %v reached the call of %v", c.src, p.Remote)
						}
					}
				}
			}
		}
	})
}

func FuzzDemux(f *testing.F) {
	f.Add([]byte{0, 1, 1, 1, 2, 1, 3, 1})
	f.Fuzz(func(t *testing.T, program []byte) {
		w := newWorld()
		for len(program) >= 3 {
			op, x, y := program[0], program[1], program[2]
			program = program[3:]
			w.now += int64(y) * millis
			switch at := host(1000 + int(x%4)); op % 4 {
			case 0:
				w.open(uint32(y%5), at, at)
			case 1:
				if n := len(w.calls); n > 0 {
					if c := w.calls[int(x)%n]; !c.ended {
						at := host(1000 + int(y%4))
						w.d.Answer(&c.Peer, at, w.anywhere(at), uint32(y%5), x&1 == 0)
					}
				}
			case 2:
				if n := len(w.calls); n > 0 {
					c := w.calls[int(x)%n]
					w.d.Remove(&c.Peer, w.now)
					c.ended = true
				}
			case 3:
				p, how := w.d.Route(at, ID{SSRC: uint32(y % 5), seq: uint16(x), ts: uint32(x) * 160, size: 160}, w.now)
				if (p == nil) != (how != routeOK && how != RouteMoved) {
					t.Fatalf("route %d with %v", how, p)
				}
				w.d.Life(at, uint32(y))
			}
			check(t, w)
		}
	})
}

// check compares the indexes with the calls.
func check(t *testing.T, w *world) {
	t.Helper()
	addrs, ssrcs, unanswered, waiting, unheard := 0, 0, 0, 0, 0
	for p := range w.d.Peers {
		if !p.Answered {
			unanswered++
		} else {
			addrs++
			if p.Remote != p.Named {
				addrs++
			}
			if !p.heard {
				unheard++
			}
		}
		if p.bound {
			ssrcs++
		}
		if !p.heard {
			waiting++
		}
	}
	for _, l := range w.d.byAddr {
		addrs -= len(l)
	}
	for _, l := range w.d.bySSRC {
		ssrcs -= len(l)
	}
	if addrs != 0 || ssrcs != 0 || unanswered != w.d.unanswered || waiting != w.d.Waiting || unheard != len(w.d.unheard) ||
		len(w.d.strangers) > strangerCap {
		t.Fatalf("indexes off: %d %d %d %d", addrs, ssrcs, unanswered-w.d.unanswered, waiting-w.d.Waiting)
	}
}

func TestASourceThatFallsSilentIsNotTakenOverWithoutTheKey(t *testing.T) {
	d := New()
	p := &Peer{Sealed: true}
	d.Open(p, 0)
	d.Answer(p, host(1000), &Latch{}, 0, false)
	now, seq := int64(0), uint16(100)
	claims := func(at netip.AddrPort, ssrc uint32, n int) (how route) {
		for range n {
			now += 20 * millis
			seq++
			_, how = d.Route(at, ID{SSRC: ssrc, seq: seq}, now)
		}
		return how
	}
	if how := claims(host(1000), 7, 1); how != RouteClaim || p.bound {
		t.Fatalf("the first packet: %d", how)
	}
	d.Prove(p, host(1000), ID{SSRC: 7, seq: seq}, now)
	if how := claims(host(1000), 7, 3); how != routeOK || p.Remote != host(1000) {
		t.Fatalf("its own packets: %d", how)
	}
	now += 10 * quietAfter
	for _, f := range []struct {
		at   netip.AddrPort
		ssrc uint32
	}{{host(1000), 8}, {host(1001), 7}, {host(1001), 9}} {
		if how := claims(f.at, f.ssrc, 10); how == routeOK || how == RouteMoved || p.Remote != host(1000) || p.SSRC != 7 {
			t.Fatalf("%v with %d: %d, the call is at %v with %d", f.at, f.ssrc, how, p.Remote, p.SSRC)
		}
	}
	// With the key it moves.
	if how := claims(host(1001), 7, probation); how != RouteClaim {
		t.Fatal(how)
	}
	d.Prove(p, host(1001), ID{SSRC: 7, seq: seq}, now)
	if how := claims(host(1001), 7, 1); how != routeOK || p.Remote != host(1001) {
		t.Fatalf("%d at %v", how, p.Remote)
	}
	d.Remove(p, now)
	d.Prove(p, host(1002), ID{SSRC: 7, seq: seq}, now)
	if len(d.byAddr) != 0 || len(d.bySSRC) != 0 {
		t.Fatal("a call that is over came back")
	}
}

func BenchmarkRoute(b *testing.B) {
	w := newWorld()
	for i := range 50 {
		c := w.open(uint32(i), host(1000+i), host(1000+i))
		w.answer(c)
		w.say(c)
	}
	b.ReportAllocs()
	for b.Loop() {
		w.say(w.calls[7])
	}
}

func TestEarlyMediaFindsTheOneRingingCallThatNamedItsAddress(t *testing.T) {
	w := newWorld()
	a, b := w.open(1, host(1000), host(1000)), w.open(2, host(2000), host(2000))
	if p, _ := w.say(a); p != nil {
		t.Error("a call that named no address is heard before its answer")
	}
	w.d.Early(&a.Peer, a.at)
	w.d.Early(&a.Peer, a.at) // repeated
	if p, how := w.say(a); p != &a.Peer || how != RouteEarly {
		t.Errorf("route %d", how)
	}
	w.d.Early(&b.Peer, a.at)
	if p, _ := w.say(a); p != nil {
		t.Error("of two calls with the address one was guessed")
	}
	w.d.Early(&b.Peer, netip.AddrPort{})
	w.answer(a)
	if p, how := w.say(a); p != &a.Peer || how != routeOK {
		t.Errorf("after the answer: route %d", how)
	}
	w.d.Early(&b.Peer, b.at)
	w.d.Remove(&b.Peer, w.now)
	if p, _ := w.say(b); p != nil || len(w.d.byEarly) != 0 {
		t.Error("a call that is over is heard")
	}
}
