package media

import (
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/pion/rtp"

	"dialler/engine"
)

// TestAStrangerTakesNoCall sends bursts to every RTP port through 200 calls: before
// the far side's first packet, while it speaks and after it fell silent; with any
// SSRC and payload type, with the right payload type, with the call's own SSRC
// and the next numbers. Nothing may go to the stranger, nothing of it be heard,
// nothing of the far side be lost.
func TestAStrangerTakesNoCall(t *testing.T) {
	f := func(name string, profile engine.MediaProfile) {
		t.Run(name, func(t *testing.T) {
			e := start(t, func(c *Config) { c.Sockets = 32 })
			conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 66)})
			if err != nil {
				t.Skipf("no second address on loopback: %v", err)
			}
			defer func() { _ = conn.Close() }()
			told := make(chan int)
			go func() {
				n := 0
				for buf := make([]byte, 2000); ; n++ {
					if _, _, err := conn.ReadFrom(buf); err != nil {
						told <- n
						return
					}
				}
			}()
			ports := map[int]bool{}
			rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // what a stranger guesses
			burst := func(seq uint16, ts, ssrc uint32, pt uint8) {
				for port := range ports {
					for i := range uint16(proofPackets + 2) {
						b, _ := (&rtp.Packet{
							Header:  rtp.Header{Version: 2, PayloadType: pt, SequenceNumber: seq + i, Timestamp: ts + frameBytes*uint32(i), SSRC: ssrc},
							Payload: speech(frameBytes, 200),
						}).Marshal()
						if _, err := conn.WriteTo(b, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}); err != nil {
							t.Fatal(err)
						}
					}
					settle(t, e)
				}
			}
			attack := func(p *phone) {
				burst(uint16(rng.Uint32()), rng.Uint32(), rng.Uint32(), uint8(rng.UintN(128)))
				burst(uint16(rng.Uint32()), rng.Uint32(), rng.Uint32(), 0)
				burst(p.seq, p.ts, p.ssrc, 0)
			}
			const calls, packets = 200, 3
			for n := range calls {
				p := newPhone(t, uint32(1000+n))
				offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(n), Profile: profile}, nil)
				answer := p.called(offer, "0")
				ports = map[int]bool{p.to.Port: true}
				if n%20 == 0 { // now and then to all of them
					for _, s := range e.Streams() {
						ports[int(s.Local.Port())] = true
					}
				}
				e.Answer(attempt(n), answer, time.Now())
				attack(p) // the far side has not spoken yet
				c := e.call(attempt(n))
				for i := range uint64(packets) {
					p.say(0, speech(frameBytes, 1))
					wait(t, func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.in.received == i+1 }, nil)
					burst(p.seq, p.ts, p.ssrc, 0)
				}
				attack(p) // nor does it any more
				if q := e.CloseMedia(attempt(n)); n%2 == 0 && (q.PacketsReceived != packets || q.PacketsLost != 0) {
					t.Fatalf("call %d: %+v", n, q)
				} else if n%2 == 1 {
					e.done.forget(attempt(n))
				}
			}
			if st := e.Stats(); st.Latched != 0 || st.PacketsReceived != calls*packets || st.PacketsLost != 0 {
				t.Fatalf("the stranger was heard: %+v", st)
			}
			_ = conn.SetReadDeadline(time.Now())
			if n := <-told; n != 0 {
				t.Fatalf("%d packets went to the stranger", n)
			}
		})
	}
	f("by default", engine.MediaProfile{})
	f("symmetric", engine.MediaProfile{Symmetric: engine.SymmetricOn, Networks: []string{"127.0.0.0/26"}})
}
