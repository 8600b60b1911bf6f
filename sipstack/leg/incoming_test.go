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

func TestTheCallerIsReadAsTrunksWriteIt(t *testing.T) {
	parser := sip.NewParser(sip.WithHeadersParsers(transport.Parsers()))
	const asserted = "P-Asserted-Identity: "
	for _, c := range []struct{ from, more, want string }{
		{"<sip:+4930@b>", "", "+4930"},
		{"<tel:+4930>", "", "+4930"},
		{"<tel:4930;phone-context=+49>", "", "4930"},
		{"<sip:+4930;phone-context=x@b>", "", "+4930"},
		{"<sip:1@b>", asserted + "<tel:+4930>\r\n", "+4930"},
		{"<sip:1@b>", asserted + "<sip:+4930@b>, <tel:+4931>\r\n", "+4930"},
		{"<sip:1@b>", asserted + "<sip:gateway.example>, <tel:+4930>\r\n", "+4930"},
		{"<sip:1@b>", asserted + "<sip:+4930@b>\r\nPrivacy: id\r\n", ""},
		{"<sip:anonymous@anonymous.invalid>", "", ""},
	} {
		m, err := parser.ParseSIP([]byte("INVITE tel:+4930111 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:9;branch=z9hG4bKx\r\n" +
			"From: " + c.from + ";tag=far\r\nTo: <tel:+4930111>\r\nCall-ID: c\r\nCSeq: 1 INVITE\r\n" + c.more +
			"Content-Length: 0\r\n\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		r := m.(*sip.Request)
		if got, to := callerOf(r), calledUsers(r); got != c.want || len(to) != 1 || to[0] != "+4930111" {
			t.Errorf("%s %s: %q, called %q", c.from, c.more, got, to)
		}
	}
}
