package media

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"dialler/media/codec"
	"dialler/media/sdp"

	"github.com/pion/rtp"
)

func FuzzDatagram(f *testing.F) {
	f.Add(binary.BigEndian.AppendUint64([]byte{0x80, 0, 0, 1}, 7))
	f.Add([]byte{0x80, 200, 0, 1, 0, 0, 0, 1})
	f.Add([]byte{0xB3, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0xBE, 0xDE, 0, 1, 1, 2, 3, 4})
	e := &Engine{}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &call{e: e, answered: true, ans: sdp.Answer{Events: 101, EventsIn: -1, Send: codec.Ulaw}}
		c.ans.Codecs[0], c.ans.Codecs[8] = codec.Ulaw, codec.Alaw
		b = bytes.Clone(b)
		for i := range 6 {
			if len(b) > 3 {
				b[3] += byte(i)
			}
			var pkt rtp.Packet
			if isRTCP(b) {
				return
			}
			c.receive(b, &pkt, netip.AddrPort{}, false, nil, int64(i)*20*ms)
		}
		c.in.Reset()
	})
}
