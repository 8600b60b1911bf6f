package sipstack_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

// stranger sends a request to the stack from a loopback address other than 127.0.0.1, the trunk's.
func stranger(t *testing.T, s *sipstack.Stack, text string) {
	t.Helper()
	c, err := net.DialUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 9)}, net.UDPAddrFromAddrPort(addr(s)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func outside(method, callID string) string {
	return method + " sip:x@y SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1;rport;branch=z9hG4bK" + callID +
		"\r\nFrom: <sip:a@b>;tag=1\r\nTo: <sip:x@y>\r\nCall-ID: " +
		callID + "\r\nCSeq: 1 " + method + "\r\nContent-Length: 0\r\n\r\n"
}

func TestOnlyAddressesOfTrunksAreAnswered(t *testing.T) {
	u := script{sip.INVITE: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l, leg, _ := answered(t, s, u)
	for i, m := range []string{"OPTIONS", "INVITE", "REGISTER", "BYE", "CANCEL", "X"} {
		stranger(t, s, outside(m, fmt.Sprint("s", i)))
	}
	// Even if it fully identifies the call, a stranger's BYE ends nothing.
	invite := u.request(sip.INVITE, 1)
	from, to := invite.From().Value(), invite.To().Value()
	stranger(t, s, "BYE sip:x@y SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1;rport;branch=z9hG4bKz\r\nFrom: "+to+
		";tag=far\r\nTo: "+from+
		"\r\nCall-ID: "+string(leg)+"\r\nCSeq: 9 BYE\r\nContent-Length: 0\r\n\r\n")
	eventually(t, "all are counted", func() bool { return s.Stats().Strangers == 7 })
	u.inDialog(invite, "far", "OPTIONS", 1, "", "")
	if r := u.response(1); r.StatusCode != 200 || r.CSeq().Value() != "1 OPTIONS" {
		t.Errorf("the call is not what it was: %s", r)
	}
	// Without the trunk no address may be answered.
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	l.kind(leg, engine.LegClosed)
	s.RemoveTrunk("carrier")
	u.send(addr(s), outside("OPTIONS", "late"))
	eventually(t, "a trunk that was removed is a stranger", func() bool { return s.Stats().Strangers == 8 })
}

func TestConnectionsOfStrangersAreClosed(t *testing.T) {
	u := newUAS(t, nil)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}).DialContext(t.Context(), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) || err == nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if n := s.Stats().Strangers; n != 1 {
		t.Errorf("%d counted", n)
	}
}

func TestAFloodOfRequestsIsAnsweredAtABoundedRate(t *testing.T) {
	u := script{sip.INVITE: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	answers := func() (n int) {
		u.mu.Lock()
		defer u.mu.Unlock()
		for _, m := range u.seen {
			if r, ok := m.(*sip.Response); ok && strings.HasPrefix(r.CallID().Value(), "f") {
				n++
			}
		}
		return n
	}
	const sent = 1000
	begun := time.Now()
	for i := 1; i <= sent; i++ {
		u.send(addr(s), outside("OPTIONS", fmt.Sprint("f", i)))
		if i%100 == 0 { // so that no socket buffer overflows
			eventually(t, "every request is answered or counted", func() bool { return answers()+int(s.Stats().Floods) == i })
		}
	}
	// A hundred at once, then fifty a second.
	if n, most := answers(), 101+int(50*time.Since(begun).Seconds()); n < 100 || n > most {
		t.Errorf("%d of %d answered, at most %d expected", n, sent, most)
	}
	// Calls still work meanwhile.
	l := listen(t, confirming(s, true))
	l.kind(place(s, l), engine.LegClosed)
}
