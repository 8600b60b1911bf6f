package sipstack_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

var takesCalls = script{sip.INVITE: answers("180 Ringing", "200 OK"), sip.BYE: answers("200 OK"),
	sip.OPTIONS: answers("200 OK")}

func TestCallsOverTLSShareAConnection(t *testing.T) {
	ca := newAuthority(t)
	u, f := newStreamUAS(t, ca.certify("127.0.0.1"), takesCalls)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), overTLS(ca.roots))
	l := listen(t, confirming(s, true))
	for range 3 {
		l.expect(place(s, l), "sent provisional(180) answered(200) closed(200)")
	}
	r := u.request(sip.INVITE, 1)
	if r.Via().Transport != "TLS" || !strings.Contains(r.Contact().Value(), ";transport=tls") ||
		!strings.Contains(r.Recipient.String(), ";transport=tls") {
		t.Fatalf("%s", r)
	}
	if n := f.count(); n != 1 {
		t.Fatalf("%d connections", n)
	}
}

func TestABrokenConnectionIsOpenedAgain(t *testing.T) {
	ca := newAuthority(t)
	u, f := newStreamUAS(t, ca.certify("127.0.0.1"), takesCalls)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), overTLS(ca.roots))
	l := listen(t, confirming(s, false))
	leg := place(s, l)
	l.kind(leg, engine.LegAnswered)
	u.request(sip.ACK, 1)
	f.closeAll()
	eventually(t, "the stack has seen the end of its connection", func() bool { return s.OpenConnections() == 0 })
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	l.kind(leg, engine.LegClosed)
	if u.request(sip.BYE, 1); f.count() != 2 {
		t.Fatalf("%d connections", f.count())
	}
}

func TestTheFarSideHasToProveItsName(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	u, f := newStreamUAS(t, ca.certify("sip.carrier.example"), takesCalls)
	s := newStack(t, sipstack.Config{})
	for _, c := range []struct {
		what   string
		change func(*sipstack.TrunkConfig)
		want   string // in the reason; empty when the call goes through
	}{
		{"another name", overTLS(ca.roots), "certificate"},
		{"unknown roots", func(c *sipstack.TrunkConfig) { overTLS(other.roots)(c); c.TLSServerName = "sip.carrier.example" },
			"unknown authority"},
		{"the system's roots", func(c *sipstack.TrunkConfig) { overTLS("")(c); c.TLSServerName = "sip.carrier.example" },
			"unknown authority"},
		{"its name", func(c *sipstack.TrunkConfig) { overTLS(ca.roots)(c); c.TLSServerName = "sip.carrier.example" }, ""},
		{"nothing checked", func(c *sipstack.TrunkConfig) { overTLS("")(c); c.TLSInsecure = true }, ""},
	} {
		setTrunk(s, u.port(), c.change)
		l := listen(t, confirming(s, true))
		leg := place(s, l)
		if c.want == "" {
			l.expect(leg, "sent provisional(180) answered(200) closed(200)")
			continue
		}
		if e := l.kind(leg, engine.LegNotSent); e.NotSent != engine.NotSentNoRoute || !strings.Contains(e.Reason, c.want) {
			t.Errorf("%s: %+v", c.what, e)
		}
	}
	if n := u.count(sip.INVITE); n != 2 {
		t.Fatalf("%d INVITEs", n)
	}
	setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) { overTLS(ca.roots)(c); c.Host = "localhost" })
	l := listen(t, nil)
	l.kind(place(s, l), engine.LegNotSent)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sni != "localhost" {
		t.Fatalf("SNI %q", f.sni)
	}
}

// A carrier that wants to know who calls has a certificate from each of its customers, and the
// customer one for each carrier.
func TestACarrierThatWantsACertificateIsShownTheTrunks(t *testing.T) {
	ca, customers := newAuthority(t), newAuthority(t)
	u, f := newStreamUAS(t, ca.certify("127.0.0.1"), script{sip.REGISTER: registrar(grants("600")),
		sip.INVITE: answers("180 Ringing", "200 OK"), sip.BYE: answers("200 OK")}, customers)
	health := make(lives, 10)
	s := newStack(t, sipstack.Config{Timers: quickRetry(), OnTrunkHealth: health.note})
	trunk := func(change ...func(*sipstack.TrunkConfig)) {
		setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) {
			registering(c)
			overTLS(ca.roots)(c)
			for _, f := range change {
				f(c)
			}
		})
	}
	trunk()
	health.expect(t, engine.TrunkLost)
	l := listen(t, confirming(s, true))
	if e := l.kind(place(s, l), engine.LegNotSent); !strings.HasPrefix(e.Reason, "not registered") {
		t.Fatalf("%+v", e)
	}
	for _, name := range []string{"first.customer.example", "second.customer.example"} {
		trunk(identified(t, customers, name))
		eventually(t, "the trunk is registered", func() bool { return registered(s) })
		l.expect(place(s, l), "sent provisional(180) answered(200) closed(200)")
		f.mu.Lock()
		if n := len(f.shown); n == 0 || f.shown[n-1] != name {
			t.Fatalf("%s: it saw %q", name, f.shown)
		}
		f.mu.Unlock()
	}
	trunk(identified(t, newAuthority(t), "stranger.example"))
	eventually(t, "the stranger is not registered", func() bool { return !registered(s) })
	trunk(func(c *sipstack.TrunkConfig) { c.TLSCertificate, c.TLSKey = "no PEM", "secret" })
	if e := l.kind(place(s, l), engine.LegNotSent); !strings.Contains(e.Reason, "tls_certificate") ||
		strings.Contains(e.Reason, "secret") {
		t.Fatalf("%+v", e)
	}
}

func TestRootsThatAreNoneFailTheTrunkByName(t *testing.T) {
	s := newStack(t, sipstack.Config{})
	setTrunk(s, 5061, overTLS("not PEM"))
	l := listen(t, nil)
	if e := l.kind(place(s, l), engine.LegNotSent); e.NotSent != engine.NotSentTrunk ||
		!strings.Contains(e.Reason, "tls_roots") {
		t.Fatalf("%+v", e)
	}
}

func TestRequestsOnOurConnectionAreAnsweredThere(t *testing.T) {
	ca := newAuthority(t)
	u, f := newStreamUAS(t, ca.certify("127.0.0.1"), script{sip.INVITE: answers("200 OK")})
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), overTLS(ca.roots))
	l, leg, invite := answered(t, s, u)
	u.inDialog(invite, "far", "BYE", 1, "", "")
	if r := u.response(1); r.StatusCode != 200 || f.count() != 1 {
		t.Fatalf("%s over %d connections", r, f.count())
	}
	l.expect(leg, "sent answered(200) hung_up")
}

// dialUs opens a connection of a far side to our listener.
func dialUs(t *testing.T, ca *authority, address string) net.Conn {
	t.Helper()
	d := &net.Dialer{Timeout: patience}
	c, err := tls.DialWithDialer(d, "tcp", address, &tls.Config{RootCAs: ca.pool(), ServerName: "dialler.example"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c
}

func TestOurTLSListenerServesFarSides(t *testing.T) {
	ca := newAuthority(t)
	s := newStack(t, sipstack.Config{Listeners: []sipstack.Listener{{
		Name: "public", Address: "127.0.0.1:0", Transports: []sipstack.Transport{sipstack.UDP, sipstack.TCP,
			sipstack.TLS}, Certificate: ca.certify("dialler.example"),
	}}})
	setTrunk(s, 5061, overTLS(ca.roots)) // it is recognised by its address
	address := s.ListenerAddr("public", sipstack.TLS)
	c := dialUs(t, ca, address)
	in := bufio.NewReader(c)
	// A ping first, then a request in two pieces, then another ping.
	request := "OPTIONS sip:us@" + address +
		" SIP/2.0\r\nVia: SIP/2.0/TLS 127.0.0.1:9;branch=z9hG4bKx\r\nFrom: <sip:a@b>;tag=1\r\n" +
		"To: <sip:us@c>\r\nCall-ID: strange\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n"
	for _, piece := range []string{"\r\n\r\n", request[:60], request[60:]} {
		if _, err := c.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	line := func() string {
		t.Helper()
		text, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(text, "\r\n")
	}
	if pong := line(); pong != "" {
		t.Fatalf("%q in place of a pong", pong)
	}
	if status := line(); status != "SIP/2.0 200 OK" {
		t.Fatal(status)
	}
	header, err := textproto.NewReader(in).ReadMIMEHeader()
	if err != nil || header.Get("Call-Id") != "strange" {
		t.Fatal(header, err)
	}
	if _, err := c.Write([]byte("\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if pong := line(); pong != "" {
		t.Fatalf("%q in place of a pong", pong)
	}
}

func TestAStreamWithoutMessageBoundaryIsClosed(t *testing.T) {
	s := newStack(t, sipstack.Config{})
	for _, text := range []string{
		"OPTIONS sip:us@here SIP/2.0\r\nCall-ID: 1\r\n\r\n",
		"OPTIONS sip:us@here SIP/2.0\r\nContent-Length: 70000\r\n\r\n",
		"OPTIONS sip:us@here SIP/2.0\r\nContent-Length: 1\r\nl: 2\r\n\r\n",
		strings.Repeat("x", 70000),
	} {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(patience))
		_, _ = c.Write([]byte(text)) // the connection may end before the last byte
		if n, err := c.Read(make([]byte, 100)); err == nil {
			t.Errorf("%.40q was answered with %d bytes", text, n)
		} else if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
			t.Errorf("%.40q: the connection stays open", text)
		}
		_ = c.Close()
	}
	eventually(t, "all are closed", func() bool { return s.OpenConnections() == 0 })
}

func TestConnectionsAreKeptOpenByPings(t *testing.T) {
	timers := fast
	timers.Flow = 20 * time.Millisecond
	u, f := newStreamUAS(t, nil, takesCalls)
	s := newStack(t, sipstack.Config{Timers: timers})
	setTrunk(s, u.port(), overTCP)
	l := listen(t, confirming(s, true))
	l.expect(place(s, l), "sent provisional(180) answered(200) closed(200)")
	eventually(t, "three pings", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.pings >= 3
	})
	l.expect(place(s, l), "sent provisional(180) answered(200) closed(200)")
	if f.count() != 1 {
		t.Fatalf("%d connections", f.count())
	}
}

func TestATrunkSendsFromItsListener(t *testing.T) {
	u := script{sip.INVITE: answers("486 Busy Here"), sip.OPTIONS: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{Listeners: []sipstack.Listener{
		{Name: "inside", Address: "127.0.0.1:0"},
		{Name: "outside", Address: "127.0.0.1:0", ExternalHost: "203.0.113.7"},
	}})
	port := func(name string) string {
		_, p, err := net.SplitHostPort(s.ListenerAddr(name, sipstack.UDP))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for i, c := range []struct{ listener, external, via string }{
		{"", "", "127.0.0.1:" + port("inside")},
		{"inside", "198.51.100.1", "198.51.100.1:" + port("inside")},
		{"outside", "", "203.0.113.7:" + port("outside")},
		{"outside", "198.51.100.2", "198.51.100.2:" + port("outside")},
	} {
		setTrunk(s, u.port(), func(t *sipstack.TrunkConfig) { t.Listener, t.ExternalHost = c.listener, c.external })
		l := listen(t, nil)
		l.expect(place(s, l), "sent refused(486)")
		r := u.request(sip.INVITE, i+1)
		via, contact := r.Via(), r.Contact().Address
		if got := fmt.Sprintf("%s:%d", via.Host, via.Port); got != c.via ||
			fmt.Sprintf("%s:%d", contact.Host, contact.Port) != c.via {
			t.Errorf("%+v: Via %s, Contact %s", c, got, contact.String())
		}
		u.mu.Lock()
		from := u.src
		u.mu.Unlock()
		if want := port(map[bool]string{true: "outside", false: "inside"}[c.listener == "outside"]); fmt.Sprint(
			from.Port()) != want {
			t.Errorf("%+v: sent from %s", c, from)
		}
	}
	setTrunk(s, u.port(), func(t *sipstack.TrunkConfig) { t.Listener = "elsewhere" })
	l := listen(t, nil)
	if e := l.kind(place(s, l), engine.LegNotSent); e.NotSent != engine.NotSentTrunk ||
		!strings.Contains(e.Reason, "elsewhere") {
		t.Fatalf("%+v", e)
	}
}

func TestListenersThatCannotBeAreRefused(t *testing.T) {
	taken := newStack(t, sipstack.Config{})
	for name, ls := range map[string][]sipstack.Listener{
		"without a name":  {{Address: "127.0.0.1:0"}},
		"two of one name": {{Name: "a", Address: "127.0.0.1:0"}, {Name: "a", Address: "127.0.0.1:0"}},
		"no transport":    {{Name: "a", Address: "127.0.0.1:0", Transports: []sipstack.Transport{"sctp"}}},
		"no certificate":  {{Name: "a", Address: "127.0.0.1:0", Transports: []sipstack.Transport{sipstack.TLS}}},
		"no port":         {{Name: "a", Address: "127.0.0.1"}},
		"a wrong port":    {{Name: "a", Address: "127.0.0.1:70000"}},
		"a taken port":    {{Name: "a", Address: "127.0.0.1:0"}, {Name: "b", Address: taken.Addr()}},
		"too many":        make([]sipstack.Listener, 17),
	} {
		if s, err := sipstack.New(sipstack.Config{Listeners: ls}); err == nil {
			_ = s.Close()
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestConnectionsToNoTrunkAnyMoreAreClosed(t *testing.T) {
	timers := fast
	timers.Flow = 5 * time.Millisecond
	u, _ := newStreamUAS(t, nil, takesCalls)
	s := newStack(t, sipstack.Config{Timers: timers})
	setTrunk(s, u.port(), overTCP)
	l := listen(t, confirming(s, true))
	l.expect(place(s, l), "sent provisional(180) answered(200) closed(200)")
	f := u.flows.Load()
	eventually(t, "the connection stays, however quiet", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.pings >= 20
	})
	if s.OpenConnections() != 1 {
		t.Fatal("closed")
	}
	s.RemoveTrunk(trunkID)
	eventually(t, "the connection is closed", func() bool { return s.OpenConnections() == 0 })
}

func TestACarrierThatAsksForItIsShownOurCertificate(t *testing.T) {
	ca := newAuthority(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{*ca.certify(
			"127.0.0.1")}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.pool(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	shown := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		if err := c.(*tls.Conn).Handshake(); err != nil {
			shown <- err.Error()
			return
		}
		shown <- strings.Join(c.(*tls.Conn).ConnectionState().PeerCertificates[0].DNSNames, ",")
	}()
	s := newStack(t, sipstack.Config{Listeners: []sipstack.Listener{{Name: "a", Address: "127.0.0.1:0",
		Certificate: ca.certify("dialler.example")}}})
	setTrunk(s, l.Addr().(*net.TCPAddr).Port, overTLS(ca.roots))
	place(s, listen(t, nil))
	select {
	case name := <-shown:
		if name != "dialler.example" {
			t.Fatal(name)
		}
	case <-time.After(patience):
		t.Fatal("no connection")
	}
}
