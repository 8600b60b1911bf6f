//go:build !race

package media

import (
	"testing"

	"dialler/media/datagram"
	"dialler/media/sdp"

	"github.com/pion/rtp"
)

// Under the race detector pools drop their contents at random, pion's among them.
func TestSRTPPacketsDoNotAllocate(t *testing.T) {
	for suite := range sdp.Suites {
		t.Run(sdp.Suites[suite].Name, func(t *testing.T) { srtpDoesNotAllocate(t, suite) })
	}
}

func srtpDoesNotAllocate(t *testing.T, suite int) {
	c := benchCall(t)
	far := benchSecurity(t, c, suite)
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
