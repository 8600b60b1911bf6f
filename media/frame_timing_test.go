package media

import (
	"testing"

	"dialler/media/codec"
	"dialler/media/datagram"
	"dialler/media/sdp"
)

// BenchmarkFrame measures the cost of 20 ms of a call in both directions, without sockets and
// without a bot: one packet received and one sent.
func BenchmarkFrame(b *testing.B) {
	f := func(name string, law codec.Codec, suite int) {
		b.Run(name, func(b *testing.B) {
			c := benchCall(b)
			c.ans.Send, c.ans.SendPT = law, law.PayloadType()
			c.ans.Codecs[law.PayloadType()] = law
			in, w := newIncoming(), datagram.NewWriter(datagram.BatchSize)
			in.buf[1] = law.PayloadType()
			copy(in.buf[rtpHeaderBytes:], speech(codec.FrameBytes, 1))
			seal := func(p []byte) []byte { return p }
			if suite >= 0 {
				far, buf := benchSecurity(b, c, suite), make([]byte, 0, datagram.SendCap)
				seal = func(p []byte) []byte {
					sealed, err := far.EncryptRTP(buf, p, nil) // counted too: the far side's encryption
					if err != nil {
						b.Fatal(err)
					}
					return sealed
				}
			}
			heard := uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				w.N = 0
				c.receive(seal(in.next()), &in.pkt, netipNone, false, nil, in.now)
				c.tick(w, in.now)
				heard++
			}
			if c.in.Received != heard || c.sent != heard {
				b.Fatalf("%d heard, %d sent of %d", c.in.Received, c.sent, heard)
			}
		})
	}
	f("PCMU", codec.Ulaw, -1)
	f("PCMA", codec.Alaw, -1)
	f("G722", codec.G722, -1)
	for suite := range sdp.Suites {
		f("PCMU-"+sdp.Suites[suite].Name, codec.Ulaw, suite)
	}
}
