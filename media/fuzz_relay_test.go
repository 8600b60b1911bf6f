package media

import (
	"bytes"
	"encoding/binary"
	"testing"

	"dialler/media/codec"
	"dialler/media/datagram"

	"github.com/pion/rtp"
)

// FuzzRelay checks that whatever two joined sides send, our output is valid RTP: one source, an
// agreed payload type, a bounded length, and sequence numbers that go back no further than the far
// side's.
func FuzzRelay(f *testing.F) {
	f.Add([]byte{0, 1, 0, 1, 1, 8, 160, 0, 1, 0, 160, 2, 0, 0, 0, 1, 1, 101, 4, 0, 5, 9, 160}, uint8(0))
	f.Add([]byte{0, 1, 9, 80, 1, 3, 9, 255, 0, 255, 0, 3, 2, 9, 0, 0}, uint8(9))
	f.Add([]byte{3, 5, 0, 0, 0, 1, 0, 160, 0, 1, 0, 0, 4, 0, 0, 0}, uint8(8))
	f.Fuzz(func(t *testing.T, program []byte, laws uint8) {
		callee, far := benchCall(t), benchCall(t)
		agreed := [...]struct {
			c  codec.Codec
			pt uint8
		}{{codec.Ulaw, 0}, {codec.Alaw, 8}, {codec.G722, 9}}
		far.callee, far.dest = callee, addr(4001)
		for i, c := range []*call{callee, far} {
			a := agreed[int(laws>>(4*i))%len(agreed)]
			c.ans.Send, c.ans.SendPT = a.c, a.pt
			for _, a := range agreed {
				c.ans.Codecs[a.pt] = a.c
			}
			c.ssrc, c.lastSign = uint32(100+i), 1
		}
		callee.other, far.other = far, callee
		now, w := int64(0), datagram.NewWriter(datagram.BatchSize)
		seqs, pkt := [2]uint16{}, rtp.Packet{}
		for ; len(program) >= 4; program = program[4:] {
			op, step, pt, size := program[0], program[1], program[2], program[3]
			now += int64(step%64) * ms
			i := int(op & 1)
			from := []*call{callee, far}[i]
			w.N = 0
			switch op % 5 {
			case 0, 1, 2:
				seqs[i] += uint16(int16(int8(step)))
				b := make([]byte, rtpHeaderBytes, rtpHeaderBytes+5*255)
				b[0], b[1] = 0x80, pt
				if op&64 != 0 { // lengths that lie
					b[0] |= op & 0x3f
				}
				binary.BigEndian.PutUint16(b[2:], seqs[i])
				binary.BigEndian.PutUint32(b[4:], uint32(seqs[i])*160)
				b[8] = op >> 7
				if isRTCP(b) {
					continue
				}
				from.receive(append(b, bytes.Repeat([]byte{size}, int(size)*5)...), &pkt, netipNone, false, w, now)
			case 3:
				from.tick(w, now)
			case 4:
				from.keys.queue = "5"
			}
			for k := range w.N {
				b := w.Datagram(k)
				var out rtp.Packet
				if err := out.Unmarshal(b); err != nil || len(b) > datagram.SendCap {
					t.Fatalf("%d bytes went out: %v", len(b), err)
				}
				to := callee
				if out.SSRC == far.ssrc {
					to = far
				}
				if out.SSRC != to.ssrc || out.PayloadType != to.ans.SendPT && !to.ans.Event(out.PayloadType) || out.Padding ||
					len(out.CSRC) > 0 ||
					out.Extension {
					t.Fatalf("%+v went out", out.Header)
				}
			}
		}
	})
}
