package sipstack_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"dialler/bench/ports"
	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
	"golang.org/x/net/dns/dnsmessage"
)

// nameServer is a DNS server on loopback for one test.
type nameServer struct {
	t    testing.TB
	conn net.PacketConn

	mu  sync.Mutex
	a   map[string][][4]byte
	srv map[string][]dnsmessage.SRVResource
}

func newNameServer(t testing.TB) *nameServer {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &nameServer{t: t, conn: c, a: map[string][][4]byte{}, srv: map[string][]dnsmessage.SRVResource{}}
	ended := make(chan struct{})
	go func() { defer close(ended); n.serve() }()
	t.Cleanup(func() { _ = c.Close(); <-ended })
	return n
}

// record adds an SRV record whose target is a name for 127.0.0.1.
func (n *nameServer) record(name string, priority, port int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	host := "host." + name
	n.a[host] = [][4]byte{{127, 0, 0, 1}}
	n.srv[name] = append(n.srv[name], dnsmessage.SRVResource{
		Priority: uint16(priority), Weight: 10, Port: uint16(port), Target: dnsmessage.MustNewName(host),
	})
}

// resolver queries this server only.
func (n *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", n.conn.LocalAddr().String())
	}}
}

func (n *nameServer) serve() {
	buf := make([]byte, 4096)
	for {
		size, from, err := n.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:size]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		out := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true},
			Questions: m.Questions}
		name := strings.ToLower(q.Name.String())
		h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: dnsmessage.ClassINET, TTL: 60}
		n.mu.Lock()
		switch q.Type {
		case dnsmessage.TypeA:
			for _, a := range n.a[name] {
				out.Answers = append(out.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a}})
			}
		case dnsmessage.TypeSRV:
			for _, s := range n.srv[name] {
				out.Answers = append(out.Answers, dnsmessage.Resource{Header: h, Body: &s})
			}
		}
		if n.a[name] == nil && n.srv[name] == nil {
			out.RCode = dnsmessage.RCodeNameError
		}
		n.mu.Unlock()
		b, err := out.Pack()
		if err != nil {
			n.t.Error(err)
			continue
		}
		_, _ = n.conn.WriteTo(b, from)
	}
}

func byName(c *sipstack.TrunkConfig) { c.Host, c.Port = "carrier.example", 0 }

func TestANameWithAPortHasAddressesOnly(t *testing.T) {
	ns := newNameServer(t)
	u := script{sip.INVITE: answers("486 Busy Here")}.start(t)
	ns.a["carrier.example."] = [][4]byte{{127, 0, 0, 1}}
	ns.record("_sip._udp.carrier.example.", 1, ports.Of(t))
	s := newStack(t, sipstack.Config{Resolver: ns.resolver()})
	setTrunk(s, 0, func(c *sipstack.TrunkConfig) { byName(c); c.Port = u.port() })
	l := listen(t, nil)
	l.expect(place(s, l), "sent refused(486)")
}

func TestAnAddressThatRefusesIsFollowedByTheNextAndPutLast(t *testing.T) {
	ns := newNameServer(t)
	dead := ports.Of(t)
	u, _ := newStreamUAS(t, nil, script{sip.INVITE: answers("486 Busy Here")})
	ns.record("_sip._tcp.carrier.example.", 1, dead)
	ns.record("_sip._tcp.carrier.example.", 2, u.port())
	s := newStack(t, sipstack.Config{Resolver: ns.resolver()})
	setTrunk(s, 0, func(c *sipstack.TrunkConfig) { byName(c); overTCP(c) })
	l := listen(t, nil)
	l.expect(place(s, l), "sent refused(486)")
	failures := s.Stats().WriteErrors
	if failures == 0 {
		t.Fatal("the first address was not tried")
	}
	l.expect(place(s, l), "sent refused(486)")
	if n := s.Stats().WriteErrors; n != failures {
		t.Fatalf("the address that refused was tried first again: %d failures", n)
	}
	ns.mu.Lock()
	ns.srv["_sip._tcp.carrier.example."] = nil
	ns.mu.Unlock()
}

func TestSilenceIsNeverAReasonToInviteAtAnotherAddress(t *testing.T) {
	ns := newNameServer(t)
	silent := newUAS(t, nil)
	other := script{sip.INVITE: answers("486 Busy Here")}.start(t)
	ns.record("_sip._udp.carrier.example.", 1, silent.port())
	ns.record("_sip._udp.carrier.example.", 2, other.port())
	s := newStack(t, sipstack.Config{Resolver: ns.resolver(), Timers: fast})
	setTrunk(s, 0, byName)
	l := listen(t, nil)
	l.expect(place(s, l), "sent silent closed")
	if n := other.count(sip.INVITE); n != 0 {
		t.Fatalf("%d INVITEs at the other address", n)
	}
}

func TestAnAddressThatLeavesOptionsUnansweredIsPutLast(t *testing.T) {
	ns := newNameServer(t)
	silent := newUAS(t, nil)
	other := script{sip.INVITE: answers("486 Busy Here"), sip.OPTIONS: answers("200 OK")}.start(t)
	ns.record("_sip._udp.carrier.example.", 1, silent.port())
	ns.record("_sip._udp.carrier.example.", 2, other.port())
	health := make(lives, 10)
	s := newStack(t, sipstack.Config{Resolver: ns.resolver(), Timers: fast, OnTrunkHealth: health.note})
	setTrunk(s, 0, func(c *sipstack.TrunkConfig) { byName(c); c.OptionsInterval = fast.T1 * 20 })
	health.expect(t, engine.TrunkUnproven, engine.TrunkAlive)
	l := listen(t, nil)
	for range 3 {
		l.expect(place(s, l), "sent refused(486)")
	}
	if n := silent.count(sip.INVITE); n != 0 {
		t.Fatalf("%d INVITEs at the silent address", n)
	}
	silent.repeated(sip.OPTIONS, 2)
	other.request(sip.OPTIONS, 3) // keepalives go on, and the trunk is up
	eventually(t, "the trunk is up", func() bool { return s.Health()[0].Life == engine.TrunkAlive })
}

func TestRegistrationFailsOverToTheNextAddress(t *testing.T) {
	for what, first := range map[string]script{
		"silence": {},
		"503":     {sip.REGISTER: answers("503 Service Unavailable")},
	} {
		ns := newNameServer(t)
		a := first.start(t)
		b := script{sip.REGISTER: registrar(grants("600")), sip.INVITE: answers("486 Busy Here")}.start(t)
		ns.record("_sip._udp.carrier.example.", 1, a.port())
		ns.record("_sip._udp.carrier.example.", 2, b.port())
		timers := fast
		timers.RegisterRetry = patience * 10
		s := newStack(t, sipstack.Config{Resolver: ns.resolver(), Timers: timers})
		setTrunk(s, 0, func(c *sipstack.TrunkConfig) { registering(c); byName(c) })
		eventually(t, what+": registered at the second address", func() bool { return registered(s) })
		a.request(sip.REGISTER, 1)
		l := listen(t, nil)
		l.expect(place(s, l), "sent refused(486)") // there too, the first one is tried last
	}
}

func TestRequestsGoToTheOutboundProxy(t *testing.T) {
	ns := newNameServer(t)
	u := script{
		sip.INVITE: answers("180 Ringing"), sip.CANCEL: answers("200 OK"), sip.OPTIONS: answers(
			"200 OK"), sip.REGISTER: registrar(grants("600")),
	}.start(t)
	ns.record("_sip._udp.proxy.example.", 1, u.port())
	s := newStack(t, sipstack.Config{Resolver: ns.resolver(), Timers: fast})
	setTrunk(s, 5070, func(c *sipstack.TrunkConfig) {
		registering(c)
		c.Host, c.OutboundProxy, c.OptionsInterval = "carrier.invalid", "proxy.example", patience
	})
	eventually(t, "registered", func() bool { return registered(s) })
	l := listen(t, nil)
	leg := place(s, l)
	l.kind(leg, engine.LegProvisional)
	s.CancelLeg(leg)
	for _, m := range []*sip.Request{u.request(sip.INVITE, 1), u.request(sip.CANCEL, 1), u.request(sip.OPTIONS, 1),
		u.request(sip.REGISTER, 1)} {
		if m.Recipient.Host != "carrier.invalid" || m.Recipient.Port != 5070 ||
			header(m, "Route") != "<sip:proxy.example;lr>" {
			t.Errorf("%s", m)
		}
	}
	setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) { c.OutboundProxy = "proxy.example:nowhere" })
	if e := l.kind(place(s, l), engine.LegNotSent); e.NotSent != engine.NotSentTrunk ||
		!strings.Contains(e.Reason, "outbound_proxy") {
		t.Fatalf("%+v", e)
	}
}

func bulky(c *sipstack.TrunkConfig) {
	c.ExtraHeaders = []sipstack.Header{{Name: "X-Long", Value: strings.Repeat("x", 1300)}}
}

func TestALongInviteGoesOverTCP(t *testing.T) {
	u, f := newStreamUAS(t, nil, takesCalls)
	s := newStack(t, sipstack.Config{})
	l := listen(t, confirming(s, true))
	setTrunk(s, u.port(), bulky)
	l.expect(place(s, l), "sent provisional(180) answered(200) closed(200)")
	setTrunk(s, u.port(), nil)
	l.expect(place(s, l), "sent provisional(180) answered(200) closed(200)")
	first, second := u.request(sip.INVITE, 1), u.request(sip.INVITE, 2)
	if first.Via().Transport != "TCP" || u.request(sip.ACK, 1).Via().Transport != "TCP" ||
		second.Via().Transport != "UDP" || f.count() != 1 {
		t.Fatalf("%s\n%s", first, second)
	}
	if strings.Contains(header(first, "Contact"), "transport") {
		t.Fatalf("%s", first) // the trunk uses UDP
	}
}

func TestALongInviteGoesOverUDPWhereTCPIsRefused(t *testing.T) {
	u := takesCalls.start(t)
	s := newStack(t, sipstack.Config{})
	l := listen(t, confirming(s, true))
	setTrunk(s, u.port(), bulky)
	l.expect(place(s, l), "sent provisional(180) answered(200) closed(200)")
	failures := s.Stats().WriteErrors
	l.expect(place(s, l), "sent provisional(180) answered(200) closed(200)")
	if r := u.request(sip.INVITE, 2); r.Via().Transport != "UDP" || failures != 1 || s.Stats().WriteErrors != 1 {
		t.Fatalf("%d, then %d failures\n%s", failures, s.Stats().WriteErrors, r)
	}
}

// A long route set makes a request in the dialog long too (RFC 3261 §18.1.1).
func TestALongRequestInADialogGoesOverTCP(t *testing.T) {
	f := func(t *testing.T, u *uas, want string) {
		s := newStack(t, sipstack.Config{Timers: fast})
		l := listen(t, confirming(s, true))
		setTrunk(s, u.port(), nil)
		l.expect(place(s, l), "sent answered(200) closed(200)")
		bye := u.request(sip.BYE, 1)
		if bye.Via().Transport != want || u.request(sip.INVITE, 1).Via().Transport != "UDP" ||
			len(bye.GetHeaders("route")) != 10 || u.count(sip.BYE) != 1 {
			t.Fatalf("%d: %s", u.count(sip.BYE), bye)
		}
	}
	routed := func(u *uas, r *sip.Request, from netip.AddrPort) {
		line := fmt.Sprintf("Record-Route: <sip:127.0.0.1:%d;lr;x=%s>\r\n", u.port(), strings.Repeat("y", 120))
		u.send(from, response(r, "200 OK", "a", strings.Repeat(line, 10)+
			fmt.Sprintf("Contact: <sip:c@127.0.0.1:%d>\r\n", u.port()), string(testOffer)))
	}
	calls := script{sip.INVITE: routed, sip.BYE: answers("200 OK")}
	t.Run("taken", func(t *testing.T) {
		u, _ := newStreamUAS(t, nil, calls)
		f(t, u, "TCP")
	})
	t.Run("refused", func(t *testing.T) { f(t, calls.start(t), "UDP") })
}

func TestALegOfAnEarlierLifeIsCancelledAtEveryAddress(t *testing.T) {
	ns := newNameServer(t)
	a := script{sip.CANCEL: answers("481 Call/Transaction Does Not Exist")}.start(t)
	b := script{sip.CANCEL: answers("481 Call/Transaction Does Not Exist")}.start(t)
	ns.record("_sip._udp.carrier.example.", 1, a.port())
	ns.record("_sip._udp.carrier.example.", 2, b.port())
	s := newStack(t, sipstack.Config{Resolver: ns.resolver(), Timers: fast})
	setTrunk(s, 0, byName)
	l := listen(t, nil)
	attempt, leg := newLeg()
	s.RecoverLeg(engine.RecoveredLeg{Attempt: attempt, Leg: leg, Trunk: trunkID, From: "+4930", To: "+4915112345678",
		CSeq: 1, GiveUp: patience}, l.sink)
	l.expect(leg, "closed")
	a.request(sip.CANCEL, 1)
	b.request(sip.CANCEL, 1)
}

// pair is a trunk name with two addresses.
func pair(t *testing.T, first, second script) (s *sipstack.Stack, a, b *uas) {
	t.Helper()
	ns := newNameServer(t)
	a, b = first.start(t), second.start(t)
	ns.record("_sip._udp.carrier.example.", 1, a.port())
	ns.record("_sip._udp.carrier.example.", 2, b.port())
	s = newStack(t, sipstack.Config{Resolver: ns.resolver(), Timers: fast})
	setTrunk(s, 0, byName)
	return s, a, b
}

func TestAnOverloadedServerIsFollowedByTheNextAddress(t *testing.T) {
	s, a, b := pair(t, script{sip.INVITE: answers("100 Trying", "503 Service Unavailable")}, takesCalls)
	l := listen(t, confirming(s, true))
	events := l.expect(place(s, l), "sent provisional(100) provisional(180) answered(200) closed(200)")
	x, y := a.request(sip.INVITE, 1), b.request(sip.INVITE, 1)
	if x.CallID().Value() != y.CallID().Value() || y.CSeq().SeqNo != 2 || header(x, "From") != header(y, "From") ||
		header(x, "Via") == header(y, "Via") || x.Recipient.String() != y.Recipient.String() {
		t.Fatalf("%s\n%s\n%v", x, y, events)
	}
	if ack := a.request(sip.ACK, 1); header(ack, "Via") != header(x, "Via") {
		t.Fatalf("%s", ack)
	}
	b.request(sip.ACK, 1)
	// The overloaded one is tried last.
	l.expect(place(s, l), "sent provisional(180) answered(200) closed(200)")
	if n := a.count(sip.INVITE); n != 1 {
		t.Fatalf("%d INVITEs at the overloaded server", n)
	}
}

func TestALimitOfTheCarrierHoldsForAllItsAddresses(t *testing.T) {
	s, _, b := pair(t, script{sip.INVITE: answers("503 CPS limit exceeded")}, takesCalls)
	l := listen(t, nil)
	if es := l.expect(place(s, l), "sent refused(503)"); !es[1].LimitReached {
		t.Fatalf("%+v", es)
	}
	if n := b.count(sip.INVITE); n != 0 {
		t.Fatalf("%d INVITEs at the other address", n)
	}
}

func TestNobodyIsCalledAtAnotherAddressAfterCancel(t *testing.T) {
	s, a, b := pair(t, script{sip.INVITE: answers("180 Ringing"),
		sip.CANCEL: func(u *uas, r *sip.Request, from netip.AddrPort) {
			u.reply(r, from, "200 OK", "far", "", "")
			u.reply(u.all(sip.INVITE)[0], from, "503 Service Unavailable", "far", "", "")
		}}, takesCalls)
	l := listen(t, nil)
	leg := place(s, l)
	l.kind(leg, engine.LegProvisional)
	s.CancelLeg(leg)
	l.expect(leg, "sent provisional(180) refused(503)")
	a.request(sip.ACK, 1)
	if n := b.count(sip.INVITE); n != 0 {
		t.Fatalf("%d INVITEs at the other address", n)
	}
}

func TestWhenAllAddressesAreOverloadedTheLastOneSpeaks(t *testing.T) {
	s, a, b := pair(t, script{sip.INVITE: answers("503 One")}, script{sip.INVITE: answers("503 Two")})
	l := listen(t, nil)
	if es := l.expect(place(s, l), "sent refused(503)"); es[1].Reason != "Two" {
		t.Fatalf("%+v", es)
	}
	a.request(sip.ACK, 1)
	b.request(sip.ACK, 1)
}

func TestAnInviteThatCredentialsMakeTooLongGoesOverTCP(t *testing.T) {
	challenged := script{sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
		if r.GetHeader("Authorization") == nil {
			u.reply(r, from, "401 Unauthorized", "far", registerChallenge, "")
			return
		}
		answers("180 Ringing", "200 OK")(u, r, from)
	}, sip.BYE: answers("200 OK")}
	change := func(c *sipstack.TrunkConfig) {
		withCredentials(c)
		c.ExtraHeaders = []sipstack.Header{{Name: "X-Long", Value: strings.Repeat("x", 500)}}
	}
	for _, tcp := range []bool{true, false} {
		var u *uas
		if tcp {
			u, _ = newStreamUAS(t, nil, challenged)
		} else {
			u = challenged.start(t)
		}
		s := newStack(t, sipstack.Config{})
		setTrunk(s, u.port(), change)
		l := listen(t, confirming(s, true))
		l.expect(place(s, l), "sent provisional(180) answered(200) closed(200)")
		first, second := u.request(sip.INVITE, 1), u.request(sip.INVITE, 2)
		if n := len(first.String()); n > 1300 || len(second.String()) <= 1300 {
			t.Fatalf("%d and %d bytes", n, len(second.String()))
		}
		if want := map[bool]string{true: "TCP", false: "UDP"}[tcp]; first.Via().Transport != "UDP" ||
			second.Via().Transport != want {
			t.Fatalf("%s\n%s", first, second)
		}
		// The ACK of the challenge goes where the challenge came from.
		u.request(sip.ACK, 2)
		for _, ack := range u.all(sip.ACK) {
			if ack.CSeq().SeqNo == 1 && ack.Via().Transport != "UDP" {
				t.Fatalf("%s", ack)
			}
		}
	}
}
