package media

import "testing"

// BenchmarkFrame is what 20 ms of a call cost, both ways, without sockets and
// without a bot: a packet that is heard and one that is sent.
func BenchmarkFrame(b *testing.B) {
	f := func(name string, law codec, secure bool) {
		b.Run(name, func(b *testing.B) {
			c := benchCall(b)
			c.ans.send, c.ans.sendPT = law, law.payloadType()
			c.ans.codecs[law.payloadType()] = law
			in, w := newIncoming(), newWriter(batchSize)
			in.buf[1] = law.payloadType()
			copy(in.buf[rtpHeaderBytes:], speech(frameBytes, 1))
			seal := func(p []byte) []byte { return p }
			if secure {
				far, buf := benchSecurity(b, c), make([]byte, 0, sendCap)
				seal = func(p []byte) []byte {
					sealed, err := far.EncryptRTP(buf, p, nil) // counted too: the far side's share
					if err != nil {
						b.Fatal(err)
					}
					return sealed
				}
			}
			heard := uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				w.n = 0
				c.receive(seal(in.next()), &in.pkt, netipNone, false, nil, in.now)
				c.tick(w, in.now)
				heard++
			}
			if c.in.received != heard || c.sent != heard {
				b.Fatalf("%d heard, %d sent of %d", c.in.received, c.sent, heard)
			}
		})
	}
	f("PCMU", codecUlaw, false)
	f("PCMA", codecAlaw, false)
	f("G722", codecG722, false)
	f("PCMU-SRTP", codecUlaw, true)
}
