package leg

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"dialler/engine"
	"dialler/sipstack/transport"
	"dialler/sipstack/trunk"

	"github.com/emiago/sipgo/sip"
)

// Copies of one INVITE on several ways come by as many sockets at the same time.
func TestCopiesOfAnInviteAreOneCall(t *testing.T) {
	var calls, names atomic.Int64
	k, err := openTable(Config{OnCall: func(engine.IncomingCall) { calls.Add(1) },
		NewCall: func() engine.AttemptID { return engine.AttemptID(fmt.Sprintf("%032x", names.Add(1))) }})
	if err != nil {
		t.Fatal(err)
	}
	defer k.shut()
	k.trunks.SetTrunk(trunk.Config{ID: "t", Host: "127.0.0.1", Port: 9, OptionsInterval: -1})
	parser := sip.NewParser(sip.WithHeadersParsers(transport.Parsers()))
	for n := range int64(200) {
		var together sync.WaitGroup
		start := make(chan struct{})
		for way := range 4 {
			m, err := parser.ParseSIP([]byte(fmt.Sprintf("INVITE sip:4930111@127.0.0.1 SIP/2.0\r\n"+
				"Via: SIP/2.0/UDP 127.0.0.1:9;branch=z9hG4bK%d-%d\r\nFrom: <sip:+4915112345678@b>;tag=far\r\n"+
				"To: <sip:4930111@y>\r\nCall-ID: call-%d\r\nCSeq: 1 INVITE\r\nContact: <sip:far@127.0.0.1:9>\r\n"+
				"Content-Type: application/sdp\r\nContent-Length: %d\r\n\r\n%s", n, way, n, len(propertySDP), propertySDP)))
			if err != nil {
				t.Fatal(err)
			}
			together.Go(func() { <-start; k.offer(m.(*sip.Request), fuzzPeer) })
		}
		close(start)
		together.Wait()
		if calls.Load() != n+1 {
			t.Fatalf("%d calls of %d", calls.Load(), n+1)
		}
	}
}
