package media

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/demux"
)

// farCall is a call of the simulation to a far side behind a NAT.
type farCall struct {
	demux.Peer
	sock     *socket
	from     netip.AddrPort // as the NAT has it
	ssrc     uint32
	seq      uint16
	ts       uint32
	early    bool   // it has early media
	port     uint16 // in its SDP
	answer   int    // tick; 0: nobody answers
	end      int
	rebind   int // tick at which the NAT gives it another port
	heard    int // tick of the first packet that was heard, and of the first after the NAT changed
	reheard  int
	answered bool
}

// TestEveryCallBehindANATIsHeardAtAnyRate simulates calls whose RTP comes from another address than
// their SDP says, on real sockets' tables as they are chosen: rings of 2 to 28 s, 35 % answered, a
// third with early media. Every answered call is heard within 300 ms, also within 3 s after the NAT
// gave it another port, and none hears another.
func TestEveryCallBehindANATIsHeardAtAnyRate(t *testing.T) {
	for _, rate := range []int{1, 5, 10, 30} {
		for _, onePort := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d calls a second, one port %v", rate, onePort), func(t *testing.T) {
				behindNAT(t, rate, onePort)
			})
		}
	}
}

func behindNAT(t *testing.T, rate int, onePort bool) {
	const (
		second   = 50 // ticks
		places   = 40 * second
		ringFrom = 2 * second
		ringTo   = 28 * second
		talk     = 6 * second
	)
	rng := rand.New(rand.NewPCG(uint64(rate), 9))
	e, ports := &Engine{}, &pool{}
	nat, inner := netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("10.77.0.2")
	newSocket := func() *socket {
		s := &socket{e: e, demux: demux.New()}
		e.sockets = append(e.sockets, s)
		ports.sockets = e.sockets
		return s
	}
	for range 32 {
		newSocket()
	}
	var live []*farCall
	var calls, answers, changes int
	packet := make([]byte, sendBytes)
	packet[0] = 0x80
	for tick := 1; tick < places+ringTo+talk; tick++ {
		now := int64(tick) * int64(frameTime)
		for range rate*tick/second - rate*(tick-1)/second {
			if tick >= places {
				break
			}
			c := &farCall{
				from: netip.AddrPortFrom(nat, uint16(10000+2*calls)), ssrc: rng.Uint32(), seq: uint16(rng.Uint32()),
				ts: rng.Uint32(), early: calls%3 == 0, port: uint16(20000 + 2*calls),
			}
			if onePort {
				c.from = netip.AddrPortFrom(nat, 10000)
			}
			c.Owner, c.Alone = c, true
			calls++
			ring := tick + ringFrom + rng.IntN(ringTo-ringFrom)
			if c.end = ring; rng.IntN(100) < 35 {
				c.answer, c.end = ring, ring+talk
				if !onePort && rng.IntN(4) == 0 {
					c.rebind = ring + second
				}
			}
			s, free := ports.best(true, now)
			if !free {
				s = newSocket()
			}
			c.sock = s
			s.demux.Open(&c.Peer, now)
			s.publish()
			live = append(live, c)
		}
		kept := live[:0]
		for _, c := range live {
			if tick == c.end {
				c.sock.demux.Remove(&c.Peer, now)
				c.sock.publish()
				if c.answer > 0 && c.heard == 0 {
					t.Fatalf("a call was never heard: %d sockets", len(e.sockets))
				}
				continue
			}
			kept = append(kept, c)
			if tick == c.answer {
				answers++
				c.answered = true
				l := demux.Latch{
					Open: demux.MayLatch(engine.SymmetricAuto, inner, nil), Named: inner, Signalled: nat,
					Until: now + demux.LatchWithin, Audio: [2]uint64{1, 0},
				}
				c.sock.demux.Answer(&c.Peer, netip.AddrPortFrom(inner, c.port), &l, 0, false)
				c.sock.publish()
			}
			if tick == c.rebind {
				changes++
				c.from = netip.AddrPortFrom(nat, c.from.Port()+1)
			}
			if !c.answered && !c.early {
				continue
			}
			binary.BigEndian.PutUint16(packet[2:], c.seq)
			binary.BigEndian.PutUint32(packet[4:], c.ts)
			binary.BigEndian.PutUint32(packet[8:], c.ssrc)
			c.seq++
			c.ts += codec.FrameBytes
			p, _ := c.sock.demux.Route(c.from, demux.ReadID(packet), now)
			c.sock.publish()
			switch {
			case p == nil:
			case p.Owner != c:
				t.Fatal("a call hears another")
			case c.heard == 0:
				if c.heard = tick; c.heard-c.answer > 15 {
					t.Fatalf("a call was heard only after %d ticks", c.heard-c.answer)
				}
			case c.rebind > 0 && tick >= c.rebind && c.reheard == 0:
				c.reheard = tick
			}
			if c.rebind > 0 && c.reheard == 0 && tick > c.rebind+3*second {
				t.Fatal("a call was not heard again after the NAT changed")
			}
		}
		live = kept
	}
	if answers == 0 || rate >= 5 && !onePort && changes == 0 {
		t.Fatal("nothing happened")
	}
	t.Logf("%d calls, %d answered, %d changed their port, %d sockets", calls, answers, changes, len(e.sockets))
}
