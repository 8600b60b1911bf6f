package media

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/pion/rtp"

	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/datagram"
	"dialler/media/sdp"
)

var netipNone netip.AddrPort

func TestEventsOfRFC4733(t *testing.T) {
	var d dtmf
	f := func(ts uint32, event, flags byte, duration uint16, want byte) {
		t.Helper()
		got, ok := d.packet(ts, []byte{event, flags, byte(duration >> 8), byte(duration)})
		if ok != (want != 0) || got != want {
			t.Fatalf("digit %q, want %q", got, want)
		}
	}
	f(1000, 5, 0, 160, '5')
	f(1000, 5, 0, 320, 0)
	f(1000, 5, 0x80, 480, 0)
	f(1000, 5, 0x80, 480, 0)
	f(3000, 5, 0x80, 480, '5') // only its end arrived
	f(1000, 5, 0x80, 480, 0)   // late
	f(9000, 15, 0, 0xFFFF, 'D')
	f(9000+0xFFFF, 15, 0, 160, 0) // the next segment of a long tone
	f(200000, 16, 0, 160, 0)      // flash is not a digit
	f(300000, 10, 0, 160, '*')
	if _, ok := d.packet(400000, []byte{1, 2}); ok {
		t.Fatal("a short packet was taken")
	}
}

func benchCall(b testing.TB) *call {
	e := &Engine{}
	c := &call{
		e:        e,
		answered: true,
		ans:      sdp.Answer{Events: 101, EventsIn: -1, Send: codec.Ulaw, HeSends: true, HeListens: true},
		dest:     addr(4000),
	}
	c.ans.Codecs[0] = codec.Ulaw
	e.cfg.RTPTimeout = 1 << 40
	_ = b
	return c
}

// incoming is a stream of packets without loss.
type incoming struct {
	buf [datagram.SendCap]byte
	seq uint16
	pkt rtp.Packet // scratch of the receiver
	now int64
}

func newIncoming() *incoming {
	in := &incoming{}
	in.buf[0] = 0x80
	return in
}

func (in *incoming) next() []byte {
	in.seq++
	in.now += 20 * ms
	binary.BigEndian.PutUint16(in.buf[2:], in.seq)
	binary.BigEndian.PutUint32(in.buf[4:], uint32(in.now/ms)*8)
	return in.buf[:sendBytes]
}

func BenchmarkReceivePacket(b *testing.B) {
	c := benchCall(b)
	in := newIncoming()
	b.ReportAllocs()
	for b.Loop() {
		c.receive(in.next(), &in.pkt, netipNone, false, nil, in.now)
	}
}

func BenchmarkTick(b *testing.B) {
	c := benchCall(b)
	w := datagram.NewWriter(datagram.BatchSize)
	b.ReportAllocs()
	for b.Loop() {
		w.N = 0
		c.lastAudio, c.lastSign, c.tsKnown = 1, 1, true
		c.tick(w, 1)
	}
}

func TestPacketsDoNotAllocate(t *testing.T) {
	c := benchCall(t)
	w := datagram.NewWriter(datagram.BatchSize)
	in := newIncoming()
	if n := testing.AllocsPerRun(1000, func() {
		c.receive(in.next(), &in.pkt, netipNone, false, nil, in.now)
		w.N = 0
		c.tick(w, in.now)
	}); n != 0 {
		t.Fatalf("%v allocations per packet", n)
	}
}

func BenchmarkOpen(b *testing.B) {
	e, err := New(Config{Host: "127.0.0.1", Sockets: 4})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = e.Open(engine.OpenMedia{Attempt: attempt(1)}, nil)
		e.CloseMedia(attempt(1))
	}
}
