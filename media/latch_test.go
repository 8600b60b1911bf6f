package media

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"dialler/engine"
)

func TestOnlyAnAddressOutOfReachIsLeft(t *testing.T) {
	own := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.1.0.0/16")}
	f := func(symmetric, sdp string, want bool) {
		t.Helper()
		if got := mayLatch(symmetric, netip.MustParseAddr(sdp), own); got != want {
			t.Fatalf("%q with %s: %v", symmetric, sdp, got)
		}
	}
	for _, auto := range []string{"", engine.SymmetricAuto} {
		f(auto, "8.8.8.8", false)
		f(auto, "10.1.2.3", false) // our own network
		f(auto, "127.0.0.2", false)
		f(auto, "10.2.0.1", true)
		f(auto, "172.31.0.1", true)
		f(auto, "192.168.0.1", true)
		f(auto, "100.64.0.1", true)
		f(auto, "169.254.1.1", true)
		f(auto, "0.0.0.0", true)
		f(auto, "203.0.113.9", true)
	}
	f(engine.SymmetricOn, "8.8.8.8", true)
	f(engine.SymmetricOff, "10.2.0.1", false)
}

// TestAStreamIsProvenByARow holds the latch against a list of what each source
// has sent.
func TestAStreamIsProvenByARow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := latch{open: true, until: latchWithin, audio: [2]uint64{1, 0}}
		var sent [runCap][]packetID
		for step := range rapid.IntRange(1, 120).Draw(t, "steps") {
			n := rapid.IntRange(0, runCap-1).Draw(t, "source")
			list := &sent[n]
			id := packetID{ssrc: uint32(n / 2), size: frameBytes, seq: 65533, ts: 1<<32 - 200}
			if k := len(*list); k > 0 {
				last := (*list)[k-1]
				id.seq, id.ts = last.seq+1, last.ts+uint32(last.size)
			}
			repeated := false
			switch rapid.IntRange(0, 15).Draw(t, "what") {
			case 0:
				id.seq++ // a loss
			case 1:
				id.ts += 80 // another clock
			case 2:
				id.pt = 13 // no audio of the answer
			case 3:
				if k := len(*list); k > 0 && (*list)[k-1].pt == 0 {
					id, repeated = (*list)[k-1], true
				}
			case 4:
				id.size = 80
			}
			if !repeated {
				*list = append(*list, id)
			}
			row := 0
			for i := len(*list) - 1; i >= 0 && (*list)[i].pt == 0; i-- {
				row++
				if i > 0 && ((*list)[i-1].seq+1 != (*list)[i].seq || (*list)[i-1].ts+uint32((*list)[i-1].size) != (*list)[i].ts) {
					break
				}
			}
			proven, _ := l.prove(addr(1000+n), id, int64(step+1)*millis)
			if want := row >= proofPackets && !repeated; proven != want {
				t.Fatalf("packet %d of source %d: proven %v after %d in a row", len(*list), n, proven, row)
			}
		}
	})
}

// TestNobodyElseIsHeard sends from every host and port, with SSRCs and numbers
// that are guessed right too. Whatever reaches a call comes from the address of
// its SDP, or from a host that may be latched, while that is allowed; and once
// it was heard, from nowhere else for as long as it goes on being heard.
func TestNobodyElseIsHeard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, now := newDemux(), millis
		type far struct {
			*truth
			heardAt int64
		}
		var calls []*far
		host := func(n int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(n)}) }
		for range rapid.IntRange(10, 60).Draw(t, "steps") {
			n := rapid.IntRange(0, 9).Draw(t, "step")
			switch {
			case n == 0 && len(calls) < 4:
				c := &far{truth: &truth{}}
				c.seq, c.ts, c.src.ssrc = 7, 7, uint32(len(calls))
				d.open(&c.peer, now)
				calls = append(calls, c)
			case len(calls) == 0:
			case n == 1:
				c := calls[rapid.IntRange(0, len(calls)-1).Draw(t, "call")]
				if c.ended {
					continue
				}
				at := netip.AddrPortFrom(host(rapid.IntRange(1, 2).Draw(t, "named")), uint16(rapid.IntRange(1, 2).Draw(t, "port")))
				l := latch{
					open: rapid.Bool().Draw(t, "open"), named: at.Addr(), until: now + latchWithin, audio: [2]uint64{1, 0},
					signalled: host(3), networks: []netip.Prefix{netip.PrefixFrom(host(4), 32)},
				}
				l.off = !l.open && rapid.Bool().Draw(t, "off")
				if at != c.named {
					c.heardAt = 0
				}
				d.answer(&c.peer, at, &l, 0, false)
			case n == 2 && rapid.IntRange(0, 3).Draw(t, "really") == 0:
				c := calls[rapid.IntRange(0, len(calls)-1).Draw(t, "call")]
				d.remove(&c.peer, now)
				c.ended = true
			case n == 3:
				now += int64(rapid.IntRange(0, 4000).Draw(t, "pause")) * millis
			default:
				from := netip.AddrPortFrom(host(rapid.IntRange(1, 6).Draw(t, "host")), uint16(rapid.IntRange(1, 3).Draw(t, "port")))
				c := calls[rapid.IntRange(0, len(calls)-1).Draw(t, "whose")]
				for range rapid.IntRange(1, 12).Draw(t, "burst") {
					now += 20 * millis
					c.seq++
					c.ts += frameBytes
					p, how := d.route(from, packetID{ssrc: c.src.ssrc, seq: c.seq, ts: c.ts, size: frameBytes}, now)
					if p == nil {
						continue
					}
					var got *far
					for _, o := range calls {
						if p == &o.peer {
							got = o
						}
					}
					l := &p.latch
					if from != p.named && (!l.open || from.Addr() != l.named && from.Addr() != host(3) && from.Addr() != host(4)) {
						t.Fatalf("%v was heard by the call of %v", from, p.named)
					}
					if how == routeMoved && from != p.named && got.heardAt > 0 && now-got.heardAt < rebindAfter {
						t.Fatalf("the call of %v left its source for %v", p.named, from)
					}
					if p.remote != from || !p.heard {
						t.Fatalf("the call of %v is at %v, heard %v", p.named, p.remote, from)
					}
					got.heardAt = now
				}
			}
		}
	})
}

// TestACallThatMayBeLatchedIsAloneUntilItIsHeard opens more calls than there are
// ports.
func TestACallThatMayBeLatchedIsAloneUntilItIsHeard(t *testing.T) {
	e := start(t, func(c *Config) { c.SocketCap = 6 })
	on := engine.MediaProfile{Symmetric: engine.SymmetricOn}
	open := func(n int, p engine.MediaProfile) *call {
		if _, err := e.Open(engine.OpenMedia{Attempt: attempt(n), Profile: p}, nil); err != nil {
			t.Fatal(err)
		}
		return e.call(attempt(n))
	}
	used := map[*socket]int{}
	for n := range 5 {
		used[open(n, on).sock]++
	}
	if len(used) != 5 {
		t.Fatalf("five calls are on %d ports", len(used))
	}
	near := open(5, engine.MediaProfile{}).sock // it cannot be latched, but could be taken for one that can
	if used[near] != 0 {
		t.Fatal("a call was opened beside one that may be latched")
	}
	if open(6, engine.MediaProfile{}).sock != near || e.Stats().Crowded != 0 {
		t.Fatal("calls that cannot be latched do not share a port")
	}
	if open(7, on); e.Stats().Crowded != 1 {
		t.Fatal("a port too few is not counted")
	}
	// One that was heard leaves its port to the next.
	c, p := e.call(attempt(0)), newPhone(t, 1)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(0), Profile: on}, nil)
	e.CloseMedia(attempt(7))
	e.Answer(attempt(0), p.called(offer, "0"), c.openedAt)
	p.say(0, speech(frameBytes, 1))
	if wait(t, func() bool { return c.sock.alone.Load() == 0 }, nil); c.sock.waiting.Load() != 0 {
		t.Skip("the crowded call was on this port")
	}
	c.sock.ghosts.Store(0) // two seconds have passed
	if open(8, on).sock != c.sock {
		t.Fatal("the port of a call that was heard is not used again")
	}
}

func TestALatchAllocatesNothing(t *testing.T) {
	w := newWorld()
	a := w.open(1, addr(7000), addr(1000))
	w.answer(a)
	a.latch.until = 1 << 62
	id := packetID{ssrc: 1, size: frameBytes}
	stray := addr(7001)
	stray = netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), stray.Port())
	if n := testing.AllocsPerRun(1000, func() {
		id.seq += 2 // never in a row
		w.d.route(a.src.addr, id, w.now)
		w.d.route(stray, id, w.now)
	}); n != 0 || a.heard {
		t.Fatalf("%v allocations", n)
	}
}
