package sipstack_test

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

// fast is for tests that wait for timers: timer B is 1.28 s.
var fast = sipstack.Timers{T1: 20 * time.Millisecond, T2: 160 * time.Millisecond}

// wide makes 64*T1 bearable and leaves a busy machine time between two repetitions:
// for tests that count them.
var wide = sipstack.Timers{T1: 50 * time.Millisecond, T2: 400 * time.Millisecond}

const answerSDP = "v=0\r\no=- 7 7 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 50000 RTP/AVP 0\r\n"

// script plays a far side: it answers each method as the function says. What it
// has answered once it does not answer again.
type script map[sip.RequestMethod]func(u *uas, r *sip.Request, from netip.AddrPort)

func (s script) start(t testing.TB) *uas {
	return newUAS(t, func(u *uas, m sip.Message, from netip.AddrPort) {
		if r, ok := m.(*sip.Request); ok && !u.isAnswered(r) {
			if f := s[r.Method]; f != nil {
				f(u, r, from)
			}
		}
	})
}

func answers(statuses ...string) func(*uas, *sip.Request, netip.AddrPort) {
	return func(u *uas, r *sip.Request, from netip.AddrPort) {
		for _, status := range statuses {
			body := ""
			if r.Method == sip.INVITE && strings.HasPrefix(status, "2") {
				body = answerSDP
			}
			tag := "far"
			if status == "100 Trying" {
				tag = ""
			}
			u.reply(r, from, status, tag, "", body)
		}
	}
}

// answered places a leg, has it answered and confirmed.
func answered(t *testing.T, s *sipstack.Stack, u *uas) (*listener, engine.LegID, *sip.Request) {
	t.Helper()
	l := listen(t, confirming(s, false))
	leg := place(s, l)
	l.kind(leg, engine.LegAnswered)
	u.request(sip.ACK, 1)
	return l, leg, u.request(sip.INVITE, 1)
}

func TestSilenceIsReportedAndTheLegStaysOwned(t *testing.T) {
	u := newUAS(t, nil)
	s := newStack(t, sipstack.Config{Timers: wide})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	leg := place(s, l)
	es := l.expect(leg, "sent silent closed")
	if gap := es[1].At.Sub(es[0].At); gap < 64*wide.T1 {
		t.Fatalf("silent after %v", gap)
	}
	if owned := es[2].At.Sub(es[1].At); owned < 64*wide.T1 {
		t.Fatalf("owned for %v", owned)
	}
	if n := len(u.copies(sip.INVITE)); n < 4 || n > 7 { // timer A at 1, 3, 7, 15, 31, 63 T1, later on a busy machine
		t.Fatalf("%d INVITEs", n)
	}
	if n := u.count(sip.CANCEL); n != 0 { // RFC 3261 §9.1: not before a provisional response
		t.Fatalf("%d CANCELs", n)
	}
}

func TestNothingIsRetransmittedAfterTheSendByTime(t *testing.T) {
	u := newUAS(t, nil)
	s := newStack(t, sipstack.Config{Timers: fast})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	a, leg := newLeg()
	cmd := placeCommand(a, leg)
	// Timer A fires at 20, 60, 140, 300, 620 and 1260 ms.
	cmd.SendBy = sipstack.BootNow().Add(250 * time.Millisecond)
	s.PlaceLeg(cmd, l.sink)
	l.kind(leg, engine.LegSilent)
	if n := len(u.copies(sip.INVITE)); n < 1 || n > 4 {
		t.Fatalf("%d INVITEs", n)
	}
}

func TestLateProvisionalIsCancelled(t *testing.T) {
	u := script{sip.CANCEL: func(u *uas, r *sip.Request, from netip.AddrPort) {
		u.reply(r, from, "200 OK", "far", "", "")
		u.reply(u.all(sip.INVITE)[0], from, "487 Request Terminated", "far", "", "")
	}}.start(t)
	s := newStack(t, sipstack.Config{Timers: fast})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	leg := place(s, l)
	l.kind(leg, engine.LegSilent)
	answers("180 Ringing")(u, u.request(sip.INVITE, 1), addr(s))
	l.expect(leg, "sent silent provisional(180) closed(487)")
	u.request(sip.ACK, 1)
}

func TestLateAnswerIsAckedAndEnded(t *testing.T) {
	u := script{sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{Timers: fast})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	leg := place(s, l)
	l.kind(leg, engine.LegSilent)
	answers("200 OK")(u, u.request(sip.INVITE, 1), addr(s))
	l.expect(leg, "sent silent answered(200) closed(200)")
	if u.count(sip.ACK) == 0 || u.count(sip.BYE) != 1 {
		t.Fatalf("ACK %d BYE %d", u.count(sip.ACK), u.count(sip.BYE))
	}
}

func TestAnswerAfterTheEndIsAckedAndEnded(t *testing.T) {
	u := script{sip.INVITE: answers("486 Busy Here"), sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	leg := place(s, l)
	l.expect(leg, "sent refused(486)")
	u.reply(u.request(sip.INVITE, 1), addr(s), "200 OK", "other", "", answerSDP)
	u.request(sip.BYE, 1)
	if n := len(l.of(leg)); n != 2 {
		t.Fatalf("%d events", n)
	}
	if st := s.Stats(); st.StrayAnswers != 1 {
		t.Fatalf("%+v", st)
	}
}

func TestCancelBeforeAnyResponseWaitsForTheProvisional(t *testing.T) {
	u := script{sip.CANCEL: func(u *uas, r *sip.Request, from netip.AddrPort) {
		u.reply(r, from, "200 OK", "far", "", "")
		u.reply(u.all(sip.INVITE)[0], from, "487 Request Terminated", "far", "", "")
	}}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	leg := place(s, l)
	if got := s.CancelLeg(leg); got != engine.CancelOwed {
		t.Fatal(got)
	}
	invite := u.request(sip.INVITE, 1)
	if u.count(sip.CANCEL) != 0 {
		t.Fatal("CANCEL before a provisional response")
	}
	answers("180 Ringing")(u, invite, addr(s))
	l.expect(leg, "sent provisional(180) refused(487)")
	cancel := u.request(sip.CANCEL, 1)
	if cancel.Via().Value() != invite.Via().Value() || cancel.CSeq().SeqNo != invite.CSeq().SeqNo ||
		cancel.Recipient.String() != invite.Recipient.String() || toTagOf(cancel) != "" {
		t.Fatalf("CANCEL does not match its INVITE:\n%s\n%s", cancel, invite)
	}
	if got := s.CancelLeg(leg); got != engine.CancelUnknown {
		t.Fatal(got)
	}
}

func TestAnswerWithoutProvisionalAfterCancel(t *testing.T) {
	u := script{sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	leg := place(s, l)
	s.CancelLeg(leg)
	answers("200 OK")(u, u.request(sip.INVITE, 1), addr(s))
	l.expect(leg, "sent answered(200) closed(200)")
	u.request(sip.ACK, 1)
	if u.count(sip.CANCEL) != 0 {
		t.Fatal("CANCEL of an answered call")
	}
}

func TestCancelWithoutFinalResponse(t *testing.T) {
	u := script{sip.INVITE: answers("180 Ringing"), sip.CANCEL: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{Timers: fast})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	leg := place(s, l)
	l.kind(leg, engine.LegProvisional)
	s.CancelLeg(leg)
	l.expect(leg, "sent provisional(180) silent closed")
	if n := u.count(sip.CANCEL); n != 1 {
		t.Fatalf("%d CANCELs", n)
	}
}

func TestLostCancelIsRetransmitted(t *testing.T) {
	u := script{sip.INVITE: answers("180 Ringing")}.start(t)
	s := newStack(t, sipstack.Config{Timers: wide})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	leg := place(s, l)
	l.kind(leg, engine.LegProvisional)
	s.CancelLeg(leg)
	u.repeated(sip.CANCEL, 4)
	l.expect(leg, "sent provisional(180) silent closed")
}

func TestRepeatedAnswerIsAckedAgainOnlyAfterConfirm(t *testing.T) {
	u := newUAS(t, nil)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	leg := place(s, l)
	invite := u.request(sip.INVITE, 1)
	answers("200 OK", "200 OK", "200 OK")(u, invite, addr(s))
	l.kind(leg, engine.LegAnswered)
	eventually(t, "three 200 are handled", func() bool { return s.Stats().Responses[200] == 3 })
	if u.count(sip.ACK) != 0 {
		t.Fatal("ACK before ConfirmLeg")
	}
	s.ConfirmLeg(leg)
	first := u.request(sip.ACK, 1)
	answers("200 OK", "200 OK")(u, invite, addr(s))
	again := u.request(sip.ACK, 3)
	if first.String() != again.String() || first.CSeq().Value() != "1 ACK" || toTagOf(first) != "far" {
		t.Fatalf("ACKs differ:\n%s\n%s", first, again)
	}
	if first.Via().Value() == invite.Via().Value() {
		t.Fatal("the ACK of a 2xx is a transaction of its own") // RFC 3261 §13.2.2.4
	}
	if n := len(l.of(leg)); n != 2 {
		t.Fatalf("%d events", n)
	}
}

func TestSecondForkIsEndedTheFirstGoesOn(t *testing.T) {
	u := script{sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l := listen(t, confirming(s, false))
	leg := place(s, l)
	invite := u.request(sip.INVITE, 1)
	u.reply(invite, addr(s), "200 OK", "one", "", answerSDP)
	l.kind(leg, engine.LegAnswered)
	u.reply(invite, addr(s), "200 OK", "two", "", answerSDP)
	bye := u.request(sip.BYE, 1)
	if toTagOf(bye) != "two" || u.count(sip.ACK) != 2 {
		t.Fatalf("BYE for %q, %d ACKs", toTagOf(bye), u.count(sip.ACK))
	}
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	l.expect(leg, "sent answered(200) closed(200)")
	if tag := toTagOf(u.request(sip.BYE, 2)); tag != "one" {
		t.Fatal(tag)
	}
}

func TestHangUpBeforeConfirmAcksFirst(t *testing.T) {
	u := script{sip.INVITE: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	leg := place(s, l)
	l.kind(leg, engine.LegAnswered)
	if got := s.CancelLeg(leg); got != engine.CancelAnswered {
		t.Fatal(got)
	}
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 31, Text: "say \"why\"\r\nX: y"})
	l.expect(leg, "sent answered(200) closed(200)")
	ack, bye := u.request(sip.ACK, 1), u.request(sip.BYE, 1)
	if ack.CSeq().SeqNo != 1 || bye.CSeq().SeqNo != 2 {
		t.Fatalf("%s %s", ack.CSeq().Value(), bye.CSeq().Value())
	}
	if got := bye.GetHeader("Reason").Value(); got != `Q.850;cause=31;text="say 'why'X: y"` {
		t.Fatal(got)
	}
}

func TestByeGlare(t *testing.T) {
	u := script{sip.INVITE: answers("200 OK"), sip.BYE: func(u *uas, r *sip.Request, from netip.AddrPort) {
		u.inDialog(u.all(sip.INVITE)[0], "far", "BYE", 1, "", "")
		u.reply(r, from, "200 OK", "", "", "")
	}}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l, leg, _ := answered(t, s, u)
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	l.expect(leg, "sent answered(200) closed(200)")
	if r := u.response(1); r.StatusCode != 200 || r.CSeq().Value() != "1 BYE" {
		t.Fatal(r)
	}
}

func TestUnansweredByeClosesTheLeg(t *testing.T) {
	u := script{sip.INVITE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{Timers: wide})
	setTrunk(s, u.port(), nil)
	l, leg, _ := answered(t, s, u)
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	l.expect(leg, "sent answered(200) closed")
	if n := len(u.copies(sip.BYE)); n < 5 { // ten, fewer on a busy machine
		t.Fatalf("%d BYEs", n)
	}
}

func TestRepeatedRemoteByeIsAnsweredAgain(t *testing.T) {
	u := script{sip.INVITE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l, leg, invite := answered(t, s, u)
	u.inDialog(invite, "far", "BYE", 1, "", "")
	l.expect(leg, "sent answered(200) hung_up")
	ok := u.response(1)
	if ok.StatusCode != 200 {
		t.Fatal(ok)
	}
	u.inDialog(invite, "far", "BYE", 1, "", "")
	u.again(ok, 2)
	s.ForgetLegs(legAttempt(leg))
	u.inDialog(invite, "other", "BYE", 1, "", "")
	if r := u.response(2); r.StatusCode != 481 {
		t.Fatal(r)
	}
}

func TestRouteSetOfTheDialog(t *testing.T) {
	u := newUAS(t, nil)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l := listen(t, confirming(s, false))
	leg := place(s, l)
	own := u.conn.LocalAddr().String()
	u.send(addr(s), response(u.request(sip.INVITE, 1), "200 OK", "far",
		"Record-Route: <sip:p2.example;lr>, <sip:"+own+";lr>\r\nContact: \"A, B\" <sip:callee@198.51.100.9:5070>;q=1\r\n", answerSDP))
	d := l.kind(leg, engine.LegAnswered).Dialog
	ack := u.request(sip.ACK, 1)
	if got := ack.Recipient.String(); got != "sip:callee@198.51.100.9:5070" || d.RemoteTarget != got {
		t.Fatal(got)
	}
	routes := ack.GetHeaders("Route")
	if len(routes) != 2 || routes[0].Value() != "<sip:"+own+";lr>" || routes[1].Value() != "<sip:p2.example;lr>" || len(d.RouteSet) != 2 {
		t.Fatalf("%v", routes)
	}
}

func TestAContactWhosePortCannotBeIsNotUsed(t *testing.T) {
	u := newUAS(t, nil)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l := listen(t, confirming(s, false))
	place(s, l)
	// In 16 bits it would be the discard port of this machine.
	u.send(addr(s), response(u.request(sip.INVITE, 1), "200 OK", "far", "Contact: <sip:callee@127.0.0.1:65545>\r\n", answerSDP))
	u.request(sip.ACK, 1) // comes to where the 200 came from
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
		u.send(addr(s), method+" sip:x@"+s.Addr()+" SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1:9;rport;branch=z9hG4bK"+method+to+"\r\n"+
			"Via: SIP/2.0/UDP 192.0.2.2;branch=z9hG4bKb\r\nFrom: <sip:a@b>;tag=1\r\nTo: <sip:x@y>"+to+"\r\nCall-ID: c"+method+"\r\nCSeq: 1 "+method+"\r\nContent-Length: 0\r\n\r\n")
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

func TestNotSent(t *testing.T) {
	f := func(want engine.NotSentReason, change func(*sipstack.TrunkConfig), cmd func(*engine.PlaceLeg)) {
		t.Helper()
		u := newUAS(t, nil)
		s := newStack(t, sipstack.Config{})
		setTrunk(s, u.port(), change)
		l := listen(t, nil)
		a, leg := newLeg()
		c := placeCommand(a, leg)
		if cmd != nil {
			cmd(&c)
		}
		s.PlaceLeg(c, l.sink)
		e := l.kind(leg, engine.LegNotSent)
		if e.NotSent != want || e.Seq != 1 || e.Reason == "" {
			t.Fatalf("want %s, got %+v", want, e)
		}
		if got := s.CancelLeg(leg); got != engine.CancelNotSent {
			t.Fatal(got)
		}
		if u.count(sip.INVITE) != 0 {
			t.Fatal("it was sent")
		}
	}
	f(engine.NotSentExpired, nil, func(p *engine.PlaceLeg) { p.SendBy = sipstack.BootNow() - 1 })
	f(engine.NotSentTrunk, nil, func(p *engine.PlaceLeg) { p.Trunk = "unknown" })
	// Nobody listens on the TCP port.
	f(engine.NotSentNoRoute, func(c *sipstack.TrunkConfig) { c.Transport, c.Port = sipstack.TCP, 1 }, nil)
	// The kernel sends nothing from a loopback address to elsewhere.
	f(engine.NotSentNoRoute, func(c *sipstack.TrunkConfig) { c.Host, c.Port = "192.0.2.1", 5060 }, nil)
}

func TestALegIsPlacedOnce(t *testing.T) {
	u := script{sip.INVITE: answers("180 Ringing")}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l, other := listen(t, nil), listen(t, nil)
	a, leg := newLeg()
	s.PlaceLeg(placeCommand(a, leg), l.sink)
	l.kind(leg, engine.LegProvisional)
	s.PlaceLeg(placeCommand(a, leg), other.sink)
	if n := u.count(sip.INVITE); n != 1 {
		t.Fatalf("%d INVITEs", n)
	}
	if len(other.of(leg)) != 0 || s.Stats().Duplicates != 1 {
		t.Fatalf("%+v", s.Stats())
	}
}

func TestReattachReplaysFromTheFirstEvent(t *testing.T) {
	u := script{sip.INVITE: answers("100 Trying", "180 Ringing"), sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{Timers: fast})
	setTrunk(s, u.port(), nil)
	first := listen(t, nil)
	a, leg := newLeg()
	s.PlaceLeg(placeCommand(a, leg), first.sink)
	first.wait("180", func(es []engine.LegEvent) bool { return len(es) == 3 })
	s.DetachLegs(a)
	answers("200 OK")(u, u.request(sip.INVITE, 1), addr(s))
	eventually(t, "the answer is handled", func() bool { ls := s.Legs(); return len(ls) == 1 && ls[0].State == "answered" })
	if ls := s.Legs(); ls[0].Attached || ls[0].Seq != 4 || ls[0].Leg != leg || ls[0].Attempt != a {
		t.Fatalf("%+v", ls)
	}
	if n := len(first.of(leg)); n != 3 {
		t.Fatalf("a detached sink got %d events", n)
	}
	second := listen(t, confirming(s, true))
	if ids := s.AttachLeg(a, second.sink); len(ids) != 1 || ids[0] != leg {
		t.Fatal(ids)
	}
	const all = "sent provisional(100) provisional(180) answered(200) closed(200)"
	second.expect(leg, all)
	third := listen(t, nil)
	s.AttachLeg(a, third.sink)
	third.expect(leg, all)
	s.ForgetLegs(a)
	if ls := s.Legs(); len(ls) != 0 {
		t.Fatalf("%+v", ls)
	}
	eventually(t, "the forgotten leg is dropped", func() bool { return s.Stats().KnownLegs == 0 })
	if ids := s.AttachLeg(a, third.sink); len(ids) != 0 {
		t.Fatal(ids)
	}
}

func TestUnforgottenLegIsKeptForATime(t *testing.T) {
	u := script{sip.INVITE: answers("486 Busy Here")}.start(t)
	timers := fast
	timers.Keep = 65 * fast.T1
	s := newStack(t, sipstack.Config{Timers: timers})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	leg := place(s, l)
	es := l.expect(leg, "sent refused(486)")
	eventually(t, "it is dropped by age", func() bool { return s.Stats().KnownLegs == 0 })
	if age := time.Since(es[1].At); age < timers.Keep {
		t.Fatalf("dropped after %v", age)
	}
}

func TestRepeatedFailureIsAckedAgain(t *testing.T) {
	u := script{sip.INVITE: answers("486 Busy Here", "486 Busy Here", "486 Busy Here")}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	l.expect(place(s, l), "sent refused(486)")
	ack, invite := u.request(sip.ACK, 3), u.request(sip.INVITE, 1)
	if ack.Via().Value() != invite.Via().Value() || toTagOf(ack) != "far" || ack.CSeq().Value() != "1 ACK" {
		t.Fatalf("%s", ack) // RFC 3261 §17.1.1.3
	}
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
	if e := f("302 Moved Temporarily", "Contact: \"A, B\" <sip:1@a>;q=0.5, <sip:2@b>\r\nm: sip:3@c;q=1\r\n"); strings.Join(e.Contacts, " ") != "sip:1@a sip:2@b sip:3@c" {
		t.Fatal(e.Contacts)
	}
	if e := f("603 Network Blocked", "Reason: SIP;cause=603;text=\"v=analytics1;url=https://a.example\"\r\n"); !e.NetworkBlocked {
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
	if e := f("407 Proxy Authentication Required", "Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n"); e.Code != 407 {
		t.Fatalf("a trunk without credentials: %+v", e)
	}
}

func TestStaleNonceIsReplacedOnce(t *testing.T) {
	challenge := func(nonce, more string) string {
		return "WWW-Authenticate: Digest realm=\"r\", nonce=\"" + nonce + "\", qop=\"auth\", algorithm=SHA-256" + more + "\r\n"
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
	if auth := last.GetHeader("Authorization").Value(); !strings.Contains(auth, `nonce="two"`) || !strings.Contains(auth, "SHA-256") {
		t.Fatal(auth)
	}
	if first := u.request(sip.INVITE, 1); first.From().Value() != last.From().Value() || first.CallID().Value() != last.CallID().Value() || toTagOf(last) != "" {
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
	if r := u.request(sip.INVITE, 1); r.Via().Host != "127.0.0.1" || r.Contact().Address.Host != "127.0.0.1" || r.From().Address.Host != "127.0.0.1" {
		t.Fatalf("%s", r)
	}
}

func TestInviteAsConfigured(t *testing.T) {
	u := newUAS(t, nil)
	s := newStack(t, sipstack.Config{UserAgent: "dialler/1", ExternalHost: "198.51.100.7"})
	setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) {
		c.FromDomain, c.NumberFormat = "example.net", sipstack.NumberE164NoPlus
		c.ExtraHeaders = []sipstack.Header{{Name: "X-Account", Value: "7\r\nInjected: yes"}, {Name: "X-Pad", Value: strings.Repeat("p", 4000)}}
	})
	place(s, listen(t, nil))
	r := u.request(sip.INVITE, 1)
	if got := r.From().Address.String(); got != "sip:493012345678@example.net" {
		t.Fatal(got)
	}
	if r.Recipient.User != "4915112345678" || r.Via().Host != "198.51.100.7" || r.Contact().Address.Host != "198.51.100.7" {
		t.Fatalf("%s", r)
	}
	if r.GetHeader("X-Account").Value() != "7Injected: yes" || r.GetHeader("Injected") != nil {
		t.Fatalf("%s", r)
	}
	// More than an Ethernet frame, over UDP.
	if len(r.GetHeader("X-Pad").Value()) != 4000 || string(r.Body()) != string(testOffer) || r.GetHeader("User-Agent").Value() != "dialler/1" {
		t.Fatalf("%d", len(r.String()))
	}
}

func TestTrunkHealth(t *testing.T) {
	health := make(chan engine.TrunkHealth, 10)
	next := func(up bool) engine.TrunkHealth {
		t.Helper()
		select {
		case h := <-health:
			if h.Up != up || h.Trunk != trunkID || h.At.IsZero() || h.Reason == "" {
				t.Fatalf("%+v", h)
			}
			return h
		case <-time.After(patience):
			t.Fatal("no health")
		}
		panic("unreachable")
	}
	u := script{sip.OPTIONS: answers("404 Not Found")}.start(t) // any final response is a sign of life
	s := newStack(t, sipstack.Config{Timers: fast, OnTrunkHealth: func(h engine.TrunkHealth) { health <- h }})
	every := func(c *sipstack.TrunkConfig) { c.OptionsInterval = 700 * time.Millisecond }
	setTrunk(s, u.port(), every)
	if h := next(true); h.Reason != "404 Not Found" {
		t.Fatalf("%+v", h)
	}
	u.request(sip.OPTIONS, 2)
	if err := u.conn.Close(); err != nil {
		t.Fatal(err)
	}
	next(false)
	if hs := s.Health(); len(hs) != 1 || hs[0].Up {
		t.Fatalf("%+v", hs)
	}
	again := script{sip.OPTIONS: answers("200 OK")}.start(t)
	setTrunk(s, again.port(), every)
	next(true)
	setTrunk(s, 1, func(c *sipstack.TrunkConfig) { every(c); c.Transport = sipstack.TCP })
	next(false)
	s.RemoveTrunk(trunkID)
	if hs := s.Health(); len(hs) != 0 {
		t.Fatalf("%+v", hs)
	}
}

func TestRecoverWithoutDialog(t *testing.T) {
	recover := func(u *uas, cseq uint32, timers sipstack.Timers) (*sipstack.Stack, *listener, engine.LegID) {
		s := newStack(t, sipstack.Config{Timers: timers})
		setTrunk(s, u.port(), nil)
		l := listen(t, nil)
		a, leg := newLeg()
		s.RecoverLeg(engine.RecoveredLeg{Attempt: a, Leg: leg, Trunk: trunkID, From: "+4930", To: "+4940", CSeq: cseq, GiveUp: patience}, l.sink)
		return s, l, leg
	}
	// respond makes a response to the INVITE that an earlier life sent.
	respond := func(u *uas, s *sipstack.Stack, cancel *sip.Request, status, tag string) {
		text := response(cancel, status, tag, "Contact: <sip:"+u.conn.LocalAddr().String()+">\r\n", "")
		u.send(addr(s), strings.Replace(text, " CANCEL\r\n", " INVITE\r\n", 1))
	}
	t.Run("the far side does not know it", func(t *testing.T) {
		u := script{sip.CANCEL: answers("481 Call/Transaction Does Not Exist")}.start(t)
		_, l, leg := recover(u, 1, fast)
		l.expect(leg, "closed")
		if u.count(sip.CANCEL) != 1 {
			t.Fatal("one CANCEL is enough")
		}
	})
	t.Run("unknown CSeq", func(t *testing.T) {
		u := script{sip.CANCEL: answers("481 Call/Transaction Does Not Exist")}.start(t)
		_, l, leg := recover(u, 0, fast)
		l.expect(leg, "closed")
		if a, b := u.request(sip.CANCEL, 1), u.request(sip.CANCEL, 2); a.CSeq().SeqNo != 1 || b.CSeq().SeqNo != 2 || a.Via().Value() == b.Via().Value() {
			t.Fatalf("%s\n%s", a, b)
		}
	})
	t.Run("late answer", func(t *testing.T) {
		u := script{sip.CANCEL: answers("481 Call/Transaction Does Not Exist"), sip.BYE: answers("200 OK")}.start(t)
		s, l, leg := recover(u, 1, sipstack.Timers{})
		respond(u, s, u.request(sip.CANCEL, 1), "200 OK", "far")
		l.expect(leg, "closed(200)")
		if ack, bye := u.request(sip.ACK, 1), u.request(sip.BYE, 1); ack.CSeq().SeqNo != 1 || bye.CSeq().SeqNo != 2 || toTagOf(bye) != "far" {
			t.Fatalf("%s\n%s", ack, bye)
		}
	})
	t.Run("placed from another address", func(t *testing.T) {
		u := script{sip.CANCEL: answers("200 OK")}.start(t)
		s := newStack(t, sipstack.Config{Timers: fast})
		setTrunk(s, u.port(), nil)
		l := listen(t, nil)
		a, leg := newLeg()
		s.RecoverLeg(engine.RecoveredLeg{Attempt: a, Leg: leg, Trunk: trunkID, From: "+4930", To: "+4940", CSeq: 1, SentBy: "192.0.2.7:5070", GiveUp: time.Hour}, l.sink)
		cancel := u.request(sip.CANCEL, 1)
		if v := cancel.Via(); v.Host != "192.0.2.7" || v.Port != 5070 || cancel.From().Address.Host != "192.0.2.7" {
			t.Errorf("not what the INVITE had:\n%s", cancel)
		}
		l.expect(leg, "closed") // the 487 goes there, and a 2xx without ACK ends by itself
	})
	t.Run("late ringing", func(t *testing.T) {
		u := newUAS(t, nil)
		s, l, leg := recover(u, 1, sipstack.Timers{})
		cancel := u.request(sip.CANCEL, 1)
		u.send(addr(s), response(cancel, "481 Call/Transaction Does Not Exist", "x", "", ""))
		respond(u, s, cancel, "180 Ringing", "far")
		eventually(t, "a second CANCEL", func() bool { return s.Stats().Cancels == 2 })
		respond(u, s, cancel, "487 Request Terminated", "far")
		l.expect(leg, "closed(487)")
		u.request(sip.ACK, 1)
	})
}

func TestRecoverOfALiveLegEndsIt(t *testing.T) {
	u := script{sip.INVITE: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	_, leg, _ := answered(t, s, u)
	l := listen(t, nil)
	s.RecoverLeg(engine.RecoveredLeg{Attempt: legAttempt(leg), Leg: leg, Trunk: trunkID}, l.sink)
	l.expect(leg, "sent answered(200) closed(200)")
}

func TestRecoveredDialogWhoseFarSideIsGone(t *testing.T) {
	u := newUAS(t, nil)
	s := newStack(t, sipstack.Config{Timers: wide})
	l := listen(t, nil) // the trunk is not configured any more
	a, leg := newLeg()
	far := u.conn.LocalAddr().String()
	s.RecoverLeg(engine.RecoveredLeg{Attempt: a, Leg: leg, Trunk: trunkID, From: "+4930", To: "+4940", Dialog: &engine.DialogState{
		ToTag: "far", RemoteTarget: "sip:x@" + far, CSeq: 2, RemoteAddr: far, Transport: "udp", LocalAddr: s.Addr(),
	}}, l.sink)
	if es := l.expect(leg, "closed"); es[0].Reason == "" {
		t.Fatalf("%+v", es)
	}
	if ack, bye := u.request(sip.ACK, 1), u.repeated(sip.BYE, 5); ack.CSeq().Value() != "2 ACK" || bye.CSeq().Value() != "65539 BYE" {
		t.Fatalf("%s\n%s", ack, bye)
	}
}

func TestCloseLeavesNothingRunning(t *testing.T) {
	far, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = far.Close() }()
	before := runtime.NumGoroutine()
	s := newStack(t, sipstack.Config{})
	setTrunk(s, far.Addr().(*net.TCPAddr).Port, func(c *sipstack.TrunkConfig) { overTCP(c); c.OptionsInterval = time.Minute })
	l := listen(t, nil)
	leg := place(s, l)
	l.kind(leg, engine.LegSent)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.PlaceLeg(placeCommand(newLeg()), l.sink)
	l.wait("refusal of a leg after Close", func(es []engine.LegEvent) bool {
		return len(es) == 2 && es[1].NotSent == engine.NotSentNoRoute
	})
	eventually(t, "all goroutines ended", func() bool { return runtime.NumGoroutine() <= before })
}

func addr(s *sipstack.Stack) netip.AddrPort { return netip.MustParseAddrPort(s.Addr()) }

func legAttempt(l engine.LegID) engine.AttemptID {
	a, _, _ := l.Attempt()
	return a
}

func toTagOf(m sip.Message) string {
	tag, _ := m.To().Params.Get("tag")
	return tag
}

// Some far sides leave out the space that RFC 3261 §7.2 wants behind the code
// when the phrase is empty.
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
