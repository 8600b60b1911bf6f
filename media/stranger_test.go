package media

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"github.com/pion/rtp"

	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/demux"
)

// TestAStrangerTakesNoCall sends bursts to the RTP ports through 200 calls: before
// the far side's first packet, while it speaks and after it fell silent; with any
// SSRC and payload type, with the right payload type, with the call's own SSRC
// and the next numbers. Nothing may go to the stranger, nothing of it be heard or
// recorded, nothing of the far side be lost. NAT_LONG=1 attacks 1,000.
func TestAStrangerTakesNoCall(t *testing.T) {
	f := func(name string, profile engine.MediaProfile) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strange(t, profile)
		})
	}
	f("by default", engine.MediaProfile{})
	f("symmetric", engine.MediaProfile{Symmetric: engine.SymmetricOn, Networks: []string{"127.0.0.0/26"}})
}

func strange(t *testing.T, profile engine.MediaProfile) {
	r := recorder(t, t.TempDir())
	e := start(t, func(c *Config) { c.Sockets, c.Recorder = 32, r })
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 66)})
	if err != nil {
		t.Skipf("loopback has one address here: %v", err)
	}
	defer func() { _ = conn.Close() }()
	told := make(chan int, 1)
	go func() {
		n := 0
		for buf := make([]byte, 2000); ; n++ {
			if _, _, err := conn.ReadFrom(buf); err != nil {
				told <- n
				return
			}
		}
	}()
	sent := uint64(0)
	settle := func() { // no packet may be lost because a buffer is full
		wait(t, func() bool {
			s := e.Stats()
			return s.PacketsReceived+s.DropUnknown+s.DropElsewhere+s.DropAmbiguous+s.DropStale+s.DropProbation >= sent
		}, func() string { return fmt.Sprintf("%d packets sent, of which %+v", sent, e.Stats()) })
	}
	burst := func(port int, seq uint16, ts, ssrc uint32, pt uint8) {
		for i := range uint16(demux.ProofPackets + 2) {
			b, _ := (&rtp.Packet{
				Header: rtp.Header{Version: 2, PayloadType: pt, SequenceNumber: seq + i,
					Timestamp: ts + codec.FrameBytes*uint32(i), SSRC: ssrc},
				Payload: speech(codec.FrameBytes, 200),
			}).Marshal()
			if _, err := conn.WriteTo(b, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}); err != nil {
				t.Fatal(err)
			}
			sent++
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	attack := func(p *phone) {
		burst(p.to.Port, uint16(rng.Uint32()), rng.Uint32(), rng.Uint32(), uint8(rng.UintN(64)))
		burst(p.to.Port, uint16(rng.Uint32()), rng.Uint32(), rng.Uint32(), 0)
		burst(p.to.Port, p.seq, p.ts, p.ssrc, 0)
		settle()
	}
	const packets = 4
	calls := 200
	if os.Getenv("NAT_LONG") != "" {
		calls = 1000
	}
	phones := make([]*phone, calls)
	say := func(p *phone) {
		p.say(0, speech(codec.FrameBytes, 1))
		sent++
		settle()
	}
	for n := range calls {
		p := newPhone(t, uint32(1000+n))
		phones[n] = p
		// Nobody reads what the calls send. Left in buffers, that of all phones together is more than the
		// kernel keeps of UDP (net.ipv4.udp_mem), and it then drops packets of every socket.
		if err := p.conn.SetReadBuffer(1); err != nil {
			t.Fatal(err)
		}
		offer, err := e.Open(engine.OpenMedia{Attempt: attempt(n), Profile: profile, Record: n%10 == 0}, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer := p.called(offer, "0")
		attack(p) // it rings
		e.Answer(attempt(n), answer, time.Now())
		attack(p) // the far side has not spoken yet
		for range packets - 1 {
			say(p)
			burst(p.to.Port, p.seq, p.ts, p.ssrc, 0)
		}
		attack(p) // it has stopped speaking
	}
	for _, p := range phones { // most have been silent for seconds
		attack(p)
	}
	var recorded []string
	for n, p := range phones {
		say(p)
		c := e.call(attempt(n))
		c.mu.Lock()
		dest, ssrc := c.dest, c.heard.ssrc
		c.mu.Unlock()
		if dest != addr(p.port()) || ssrc != p.ssrc {
			t.Fatalf("call %d sends to %v and hears %d", n, dest, ssrc)
		}
		q := e.CloseMedia(attempt(n))
		if q.PacketsReceived != packets || q.PacketsLost != 0 || q.PacketsLate != 0 || q.FromElsewhere() {
			t.Fatalf("call %d: %+v", n, q)
		}
		if q.Recording != nil {
			recorded = append(recorded, q.Recording.ID)
		}
	}
	for _, id := range recorded {
		callee, _ := sides(t, r, id)
		callee = bytes.ReplaceAll(callee, []byte{codec.UlawSilence}, nil)
		if !bytes.Equal(callee, bytes.Repeat(speech(codec.FrameBytes, 1), packets)) {
			t.Fatalf("%d bytes of a call are recorded, not what was said", len(callee))
		}
	}
	if e.Stats().Latched != 0 {
		t.Fatal("a call was latched")
	}
	_ = conn.SetReadDeadline(time.Now())
	if n := <-told; n != 0 {
		t.Fatalf("%d packets went to the stranger", n)
	}
}
