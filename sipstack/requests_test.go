package sipstack_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

func TestRouteSetOfTheDialog(t *testing.T) {
	u := newUAS(t, nil)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l := listen(t, confirming(s, false))
	leg := place(s, l)
	own := u.conn.LocalAddr().String()
	u.send(addr(s), response(u.request(sip.INVITE, 1), "200 OK", "far",
		"Record-Route: <sip:p2.example;lr>, <sip:"+own+";lr>\r\nContact: \"A, B\" <sip:callee@198.51.100.9:5070>;q=1\r\n",
		answerSDP))
	d := l.kind(leg, engine.LegAnswered).Dialog
	ack := u.request(sip.ACK, 1)
	if got := ack.Recipient.String(); got != "sip:callee@198.51.100.9:5070" || d.RemoteTarget != got {
		t.Fatal(got)
	}
	routes := ack.GetHeaders("Route")
	if len(routes) != 2 || routes[0].Value() != "<sip:"+own+";lr>" || routes[1].Value() != "<sip:p2.example;lr>" ||
		len(d.RouteSet) != 2 {
		t.Fatalf("%v", routes)
	}
}

func TestAContactWhosePortCannotBeIsNotUsed(t *testing.T) {
	u := newUAS(t, nil)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l := listen(t, confirming(s, false))
	place(s, l)
	// Truncated to 16 bits it would be the discard port of this machine.
	u.send(addr(s), response(u.request(sip.INVITE, 1), "200 OK", "far", "Contact: <sip:callee@127.0.0.1:65545>\r\n",
		answerSDP))
	u.request(sip.ACK, 1) // goes to where the 200 came from
}

func TestInDialogRequests(t *testing.T) {
	u := script{sip.INVITE: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l, leg, invite := answered(t, s, u)
	n, given := 0, map[string]*sip.Response{}
	f := func(method string, cseq int, extra, body string, code int) *sip.Response {
		t.Helper()
		if body != "" && extra == "" {
			extra = "Content-Type: application/sdp\r\n"
		}
		u.inDialog(invite, "far", method, cseq, extra, body)
		r := given[fmt.Sprint(method, cseq)]
		if r != nil {
			u.again(r, 2)
		} else {
			n++
			r = u.response(n)
			given[fmt.Sprint(method, cseq)] = r
		}
		if r.StatusCode != code || string(r.CSeq().MethodName) != method {
			t.Fatalf("%s: got %s, want %d", method, r.StartLine(), code)
		}
		if method == "INVITE" {
			u.inDialog(invite, "far", "ACK", cseq, "", "")
		}
		return r
	}
	hold := answerSDP + "a=sendonly\r\n"
	if r := f("INVITE", 1, "", hold, 200); !strings.Contains(string(r.Body()), "a=recvonly") || r.Contact() == nil {
		t.Fatalf("hold answered with %s", r)
	}
	if r := f("INVITE", 1, "", hold, 200); !strings.Contains(string(r.Body()), "a=recvonly") {
		t.Fatalf("the same again answered with %s", r)
	}
	if r := f("INVITE", 2, "", "", 200); string(r.Body()) != string(testOffer) {
		t.Fatalf("offerless re-INVITE answered with %s", r)
	}
	f("INVITE", 3, "", strings.Replace(answerSDP, "50000", "50002", 1), 488)
	f("UPDATE", 4, "", "", 200)
	f("OPTIONS", 5, "", "", 200)
	f("MESSAGE", 6, "", "", 405)
	f("INFO", 7, "Content-Type: application/dtmf-relay\r\n", "Signal= #\r\nDuration= 100\r\n", 200)
	f("INFO", 7, "Content-Type: application/dtmf-relay\r\n", "Signal= #\r\nDuration= 100\r\n", 200)
	f("INFO", 6, "", "", 500)
	if r := f("UPDATE", 8, "Require: timer, frob\r\n", "", 420); r.GetHeader("Unsupported").Value() != "frob" {
		t.Fatalf("%s", r)
	}
	f("CANCEL", 9, "", "", 481)
	f("SUBSCRIBE", 10, "", "", 489)
	f("REFER", 11, "Refer-To: <sip:x@y>\r\n", "", 603)
	f("PRACK", 12, "", "", 481)
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	if es := l.expect(leg, "sent answered(200) digit closed(200)"); es[2].Digit != '#' {
		t.Fatalf("%q", es[2].Digit)
	}
}

func TestRequestsOutsideOfDialogs(t *testing.T) {
	u := newUAS(t, nil)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	n := 0
	f := func(method, to string, code int) {
		t.Helper()
		u.send(addr(s), method+" sip:x@"+s.Addr()+" SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1:9;rport;branch=z9hG4bK"+method+to+
			"\r\n"+
			"Via: SIP/2.0/UDP 192.0.2.2;branch=z9hG4bKb\r\nFrom: <sip:a@b>;tag=1\r\nTo: <sip:x@y>"+to+"\r\nCall-ID: c"+method+
			"\r\nCSeq: 1 "+method+"\r\nContent-Length: 0\r\n\r\n")
		n++
		r := u.response(n)
		if r.StatusCode != code || toTagOf(r) == "" || len(r.GetHeaders("Via")) != 2 {
			t.Fatalf("%s%s: got\n%s\nwant %d", method, to, r, code)
		}
		if received, _ := r.Via().Params.Get("received"); received != "127.0.0.1" {
			t.Fatalf("no received: %s", r.Via().Value())
		}
	}
	f("OPTIONS", "", 200)
	f("INVITE", "", 403)
	for _, code := range []int{480, 486, 603} {
		setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) { c.Inbound = code })
		f("INVITE", "", code)
	}
	f("BYE", ";tag=x", 481)
	f("BYE", "", 481)
	f("CANCEL", "", 481)
	f("INVITE", ";tag=x", 481)
	f("REGISTER", "", 405)
	f("MESSAGE", "", 405)
	f("FROBNICATE", "", 501)
	f("SUBSCRIBE", "", 405)
	f("REFER", "", 603)
	u.send(addr(s), "ACK sip:x@y SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bKa\r\n\r\n")
	u.send(addr(s), "nonsense\r\n\r\n")
	eventually(t, "the malformed one is counted", func() bool { return s.Stats().Malformed == 1 })
}

func TestRefusalDetails(t *testing.T) {
	f := func(status, headers string) engine.LegEvent {
		t.Helper()
		u := script{sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
			u.send(from, response(r, status, "far", headers, ""))
		}}.start(t)
		s := newStack(t, sipstack.Config{})
		setTrunk(s, u.port(), nil)
		l := listen(t, nil)
		return l.kind(place(s, l), engine.LegRefused)
	}
	if e := f("302 Moved Temporarily", "Contact: \"A, B\" <sip:1@a>;q=0.5, <sip:2@b>\r\nm: sip:3@c;q=1\r\n"); strings.Join(
		e.Contacts, " ") != "sip:1@a sip:2@b sip:3@c" {
		t.Fatal(e.Contacts)
	}
	if e := f("603 Network Blocked",
		"Reason: SIP;cause=603;text=\"v=analytics1;url=https://a.example\"\r\n"); !e.NetworkBlocked {
		t.Fatalf("%+v", e)
	}
	if e := f("603 Decline", "X-Twilio-Error: 32203\r\n"); !e.NetworkBlocked {
		t.Fatalf("%+v", e)
	}
	if e := f("503 Service Unavailable", "Warning: 399 sbc \"Max concurrent calls\"\r\n"); !e.LimitReached {
		t.Fatalf("%+v", e)
	}
	if e := f("503 Service Unavailable", "Retry-After: 18 (busy)\r\n"); e.LimitReached || e.RetryAfter != 18*time.Second {
		t.Fatalf("%+v", e)
	}
	if e := f("407 Proxy Authentication Required",
		"Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n"); e.Code != 407 {
		t.Fatalf("a trunk without credentials: %+v", e)
	}
}

func TestStaleNonceIsReplacedOnce(t *testing.T) {
	challenge := func(nonce, more string) string {
		return "WWW-Authenticate: Digest realm=\"r\", nonce=\"" + nonce + "\", qop=\"auth\", algorithm=SHA-256" + more +
			"\r\n"
	}
	u := script{sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
		switch r.CSeq().SeqNo {
		case 1:
			u.send(from, response(r, "401 Unauthorized", "a", challenge("one", ""), ""))
		case 2:
			u.send(from, response(r, "401 Unauthorized", "b", challenge("two", ", stale=true"), ""))
		case 3:
			u.send(from, response(r, "401 Unauthorized", "c", challenge("three", ", stale=true"), ""))
		}
	}}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), withCredentials)
	l := listen(t, nil)
	l.expect(place(s, l), "sent refused(401)")
	last := u.request(sip.INVITE, 3)
	if auth := last.GetHeader("Authorization").Value(); !strings.Contains(auth, `nonce="two"`) ||
		!strings.Contains(auth, "SHA-256") {
		t.Fatal(auth)
	}
	if first := u.request(sip.INVITE, 1); first.From().Value() != last.From().Value() ||
		first.CallID().Value() != last.CallID().Value() || toTagOf(last) != "" {
		t.Fatalf("%s", last)
	}
	if u.count(sip.INVITE) != 3 {
		t.Fatal("too many tries")
	}
}

func TestTrunkByName(t *testing.T) {
	u := script{sip.INVITE: answers("486 Busy Here")}.start(t)
	s := newStack(t, sipstack.Config{Resolver: newNameServer(t).resolver()})
	setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) { c.Host = "localhost" })
	l := listen(t, nil)
	l.expect(place(s, l), "sent refused(486)")
	if host := u.request(sip.INVITE, 1).Recipient.Host; host != "localhost" {
		t.Fatal(host)
	}
	setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) { c.Host = "name.invalid" })
	if e := l.kind(place(s, l), engine.LegNotSent); e.NotSent != engine.NotSentNoRoute {
		t.Fatalf("%+v", e)
	}
}

func TestWildcardListenerGivesTheAddressOfTheRoute(t *testing.T) {
	u := script{sip.INVITE: answers("486 Busy Here")}.start(t)
	s := newStack(t, sipstack.Config{Listen: ":0"})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	l.expect(place(s, l), "sent refused(486)")
	if r := u.request(sip.INVITE, 1); r.Via().Host != "127.0.0.1" || r.Contact().Address.Host != "127.0.0.1" ||
		r.From().Address.Host != "127.0.0.1" {
		t.Fatalf("%s", r)
	}
}

func TestInviteAsConfigured(t *testing.T) {
	u := newUAS(t, nil)
	s := newStack(t, sipstack.Config{UserAgent: "dialler/1", ExternalHost: "198.51.100.7"})
	setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) {
		c.FromDomain, c.NumberFormat = "example.net", sipstack.NumberE164NoPlus
		c.ExtraHeaders = []sipstack.Header{{Name: "X-Account", Value: "7\r\nInjected: yes"},
			{Name: "X-Pad", Value: strings.Repeat("p", 4000)}}
	})
	place(s, listen(t, nil))
	r := u.request(sip.INVITE, 1)
	if got := r.From().Address.String(); got != "sip:493012345678@example.net" {
		t.Fatal(got)
	}
	if r.Recipient.User != "4915112345678" || r.Via().Host != "198.51.100.7" ||
		r.Contact().Address.Host != "198.51.100.7" {
		t.Fatalf("%s", r)
	}
	if r.GetHeader("X-Account").Value() != "7Injected: yes" || r.GetHeader("Injected") != nil {
		t.Fatalf("%s", r)
	}
	// More than an Ethernet frame, over UDP.
	if len(r.GetHeader("X-Pad").Value()) != 4000 || string(r.Body()) != string(testOffer) ||
		r.GetHeader("User-Agent").Value() != "dialler/1" {
		t.Fatalf("%d", len(r.String()))
	}
}

// Some far sides omit the space that RFC 3261 §7.2 requires after the code when the phrase is
// empty.
func TestAStatusLineThatEndsBehindItsCodeIsUnderstood(t *testing.T) {
	for _, status := range []string{"404", "404 "} {
		u := script{sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
			text := response(r, "404 Not Found", "far", "", "")
			u.send(from, strings.Replace(text, "SIP/2.0 404 Not Found\r\n", "SIP/2.0 "+status+"\r\n", 1))
		}}.start(t)
		s := newStack(t, sipstack.Config{})
		setTrunk(s, u.port(), nil)
		l := listen(t, nil)
		l.expect(place(s, l), "sent refused(404)")
	}
}
