//go:build !race

package media

import (
	"testing"

	"dialler/media/datagram"

	"github.com/pion/rtp"
)

// Under the race detector pools drop their contents at random, pion's among them.
func TestSRTPPacketsDoNotAllocate(t *testing.T) {
	c := benchCall(t)
	far := benchSecurity(t, c)
	w, in := datagram.NewWriter(datagram.BatchSize), newIncoming()
	var header rtp.Header
	if n := testing.AllocsPerRun(1000, func() {
		b, err := far.EncryptRTP(in.next(), in.next(), &header)
		if err != nil {
			t.Fatal(err)
		}
		c.receive(b, &in.pkt, netipNone, false, nil, in.now)
		w.N = 0
		c.tick(w, in.now)
	}); n != 0 {
		t.Fatalf("%v allocations per packet", n)
	}
	if c.in.Received == 0 || c.sent == 0 {
		t.Fatalf("received %d, sent %d", c.in.Received, c.sent)
	}
}
