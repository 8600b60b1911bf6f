package demux

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/media/codec"
)

func TestOnlyAnAddressOutOfReachIsLeft(t *testing.T) {
	own := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.1.0.0/16")}
	f := func(symmetric, sdp string, want bool) {
		t.Helper()
		if got := MayLatch(symmetric, netip.MustParseAddr(sdp), own); got != want {
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

// TestAStreamIsProvenByARow compares the latch with a list of what each source has sent.
func TestAStreamIsProvenByARow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Latch{Open: true, Until: LatchWithin, Audio: [2]uint64{1, 0}}
		sent := make([][]ID, runCap)
		for step := range rapid.IntRange(1, 120).Draw(t, "steps") {
			n := rapid.IntRange(0, runCap-1).Draw(t, "source")
			list := &sent[n]
			id := ID{SSRC: uint32(n / 2), size: codec.FrameBytes, seq: 65533, ts: 1<<32 - 200}
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
				id.pt = 13 // not audio of the answer
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
			proven, _ := l.prove(host(1000+n), id, int64(step+1)*millis)
			if want := row >= ProofPackets && !repeated; proven != want {
				t.Fatalf("packet %d of source %d: proven %v after %d in a row", len(*list), n, proven, row)
			}
		}
	})
}

// TestNobodyElseIsHeard sends from every host and port, also with correctly guessed SSRCs and
// numbers. Whatever reaches a call comes from the address of its SDP, or from a host to which it
// may latch, while that is allowed; and once the call is heard from there, from nowhere else for as
// long as it keeps sending.
func TestNobodyElseIsHeard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, now := New(), millis
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
				d.Open(&c.Peer, now)
				calls = append(calls, c)
			case len(calls) == 0:
			case n == 1:
				c := calls[rapid.IntRange(0, len(calls)-1).Draw(t, "call")]
				if c.ended {
					continue
				}
				at := netip.AddrPortFrom(host(rapid.IntRange(1, 2).Draw(t, "named")), uint16(rapid.IntRange(1, 2).Draw(t, "port")))
				l := Latch{
					Open: rapid.Bool().Draw(t, "open"), Named: at.Addr(), Until: now + LatchWithin, Audio: [2]uint64{1, 0},
					Signalled: host(3), Networks: []netip.Prefix{netip.PrefixFrom(host(4), 32)},
				}
				l.Off = !l.Open && rapid.Bool().Draw(t, "off")
				if at != c.Named {
					c.heardAt = 0
				}
				d.Answer(&c.Peer, at, &l, 0, false)
			case n == 2 && rapid.IntRange(0, 3).Draw(t, "really") == 0:
				c := calls[rapid.IntRange(0, len(calls)-1).Draw(t, "call")]
				d.Remove(&c.Peer, now)
				c.ended = true
			case n == 3:
				now += int64(rapid.IntRange(0, 4000).Draw(t, "pause")) * millis
			default:
				from := netip.AddrPortFrom(host(rapid.IntRange(1, 6).Draw(t, "host")), uint16(rapid.IntRange(1, 3).Draw(t, "port")))
				c := calls[rapid.IntRange(0, len(calls)-1).Draw(t, "whose")]
				for range rapid.IntRange(1, 12).Draw(t, "burst") {
					now += 20 * millis
					c.seq++
					c.ts += codec.FrameBytes
					p, how := d.Route(from, ID{SSRC: c.src.ssrc, seq: c.seq, ts: c.ts, size: codec.FrameBytes}, now)
					if p == nil {
						continue
					}
					var got *far
					for _, o := range calls {
						if p == &o.Peer {
							got = o
						}
					}
					l := &p.latch
					if from != p.Named && (!l.Open || from.Addr() != l.Named && from.Addr() != host(3) && from.Addr() != host(4)) {
						t.Fatalf("%v was heard by the call of %v", from, p.Named)
					}
					if how == RouteMoved && from != p.Named && got.heardAt > 0 && now-got.heardAt < rebindAfter {
						t.Fatalf("the call of %v left its source for %v", p.Named, from)
					}
					if p.Remote != from || !p.heard {
						t.Fatalf("the call of %v is at %v, heard %v", p.Named, p.Remote, from)
					}
					got.heardAt = now
				}
			}
		}
	})
}

func TestALatchAllocatesNothing(t *testing.T) {
	w := newWorld()
	a := w.open(1, host(7000), host(1000))
	w.answer(a)
	a.latch.Until = 1 << 62
	id := ID{SSRC: 1, size: codec.FrameBytes}
	stray := host(7001)
	stray = netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), stray.Port())
	if n := testing.AllocsPerRun(1000, func() {
		id.seq += 2 // never consecutive
		w.d.Route(a.src.addr, id, w.now)
		w.d.Route(stray, id, w.now)
	}); n != 0 || a.heard {
		t.Fatalf("%v allocations", n)
	}
}

func TestReportsFromAnotherPortAreOfTheCallThatHearsTheirSource(t *testing.T) {
	w := newWorld()
	a, unheard := w.open(1, host(1000), host(1000)), w.open(2, host(2000), host(2000))
	w.answer(a)
	w.answer(unheard)
	w.say(a)
	f := func(what string, from netip.AddrPort, ssrc uint32, want *truth) {
		t.Helper()
		if got := w.d.Life(from, ssrc); (want == nil) != (got == nil) || want != nil && got != &want.Peer {
			t.Errorf("%s: %v", what, got)
		}
	}
	stray := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), 9)
	f("where RTP comes from", host(1000), 9, a)
	f("another port", host(9), 1, a)
	f("another host", stray, 1, nil)
	f("nobody's source", host(9), 9, nil)
	f("a source that was not heard", host(9), 2, nil)
	a.latch.Off = true
	f("only the SDP's address", host(9), 1, nil)
	a.latch.Off = false
	also := w.open(1, host(4000), host(4000))
	w.answer(also)
	w.say(also)
	f("two calls with one SSRC", host(9), 1, nil)
}
