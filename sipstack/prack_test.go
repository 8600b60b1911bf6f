package sipstack_test

import (
	"net/netip"
	"strings"
	"testing"

	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

// reliably sends a reliable provisional response in the dialog of tag.
func (u *uas) reliably(r *sip.Request, to netip.AddrPort, status, tag, rseq, body string) {
	u.reply(r, to, status, tag, "Require: 100rel\r\nRSeq: "+rseq+"\r\n", body)
}

func TestReliableProvisionalsAreAcknowledgedInOrderAndOnce(t *testing.T) {
	u := script{sip.PRACK: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l := listen(t, confirming(s, false))
	leg := place(s, l)
	invite := u.request(sip.INVITE, 1)
	if got := header(invite, "Supported"); got != "100rel, timer" {
		t.Fatalf("Supported: %q", got)
	}
	at := addr(s)
	u.reliably(invite, at, "183 Session Progress", "far", "7", answerSDP)
	u.request(sip.PRACK, 1)
	u.reliably(invite, at, "183 Session Progress", "far", "7", answerSDP) // repeated: neither reported nor acknowledged
	u.reliably(invite, at, "180 Ringing", "far", "9", "")                 // before its turn
	u.reliably(invite, at, "180 Ringing", "far", "8", "")
	prack := u.request(sip.PRACK, 2)
	if got := header(prack, "RAck"); got != "8 1 INVITE" || header(u.request(sip.PRACK, 1), "RAck") != "7 1 INVITE" {
		t.Fatalf("RAck %q", got)
	}
	if prack.CSeq().SeqNo != 3 || toTagOf(prack) != "far" {
		t.Fatalf("%s", prack)
	}
	u.reply(invite, at, "200 OK", "far", "", "") // without SDP: the 183 had the answer
	e := l.kind(leg, engine.LegAnswered)
	if string(e.SDP) != answerSDP {
		t.Fatalf("answer %q", e.SDP)
	}
	if ack := u.request(sip.ACK, 1); ack.CSeq().SeqNo != 1 {
		t.Fatalf("%s", ack)
	}
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	l.expect(leg, "sent provisional(183) provisional(180) answered(200) closed(200)")
	if bye := u.request(sip.BYE, 1); bye.CSeq().SeqNo != 4 || u.count(sip.PRACK) != 2 {
		t.Fatalf("%d PRACKs, %s", u.count(sip.PRACK), bye.CSeq().Value())
	}
}

func TestEachForkHasItsOwnPracksAndTheLosersBye(t *testing.T) {
	u := script{sip.PRACK: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l := listen(t, confirming(s, false))
	leg := place(s, l)
	invite, at := u.request(sip.INVITE, 1), addr(s)
	u.reliably(invite, at, "183 Session Progress", "one", "100", "")
	u.reliably(invite, at, "183 Session Progress", "two", "5", "")
	u.reliably(invite, at, "180 Ringing", "one", "101", "")
	u.request(sip.PRACK, 3)
	var got []string
	for _, p := range u.all(sip.PRACK) {
		got = append(got, toTagOf(p)+" "+header(p, "RAck")+" "+p.CSeq().Value())
	}
	if want := "one 100 1 INVITE 2 PRACK,two 5 1 INVITE 2 PRACK,one 101 1 INVITE 3 PRACK"; strings.Join(got, ",") != want {
		t.Fatalf("%q", got)
	}
	u.reply(invite, at, "200 OK", "two", "", answerSDP)
	l.kind(leg, engine.LegAnswered)
	u.reply(invite, at, "200 OK", "one", "", answerSDP)
	if bye := u.request(sip.BYE, 1); toTagOf(bye) != "one" || bye.CSeq().SeqNo != 4 {
		t.Fatalf("%s", bye)
	}
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	l.expect(leg, "sent provisional(183) provisional(183) provisional(180) answered(200) closed(200)")
}

func TestAForkThatOwesTheAnswerToItsPrackGetsItsBye(t *testing.T) {
	u := script{sip.BYE: answers("200 OK")}.start(t) // no PRACK is answered
	s := newStack(t, sipstack.Config{Timers: wide})
	setTrunk(s, u.port(), nil)
	l := listen(t, confirming(s, false))
	leg := place(s, l)
	invite, at := u.request(sip.INVITE, 1), addr(s)
	u.reliably(invite, at, "183 Session Progress", "one", "100", "")
	u.request(sip.PRACK, 1)
	u.reply(invite, at, "200 OK", "two", "", answerSDP)
	l.kind(leg, engine.LegAnswered)
	u.reply(invite, at, "200 OK", "one", "", answerSDP)
	if bye := u.request(sip.BYE, 1); toTagOf(bye) != "one" {
		t.Fatalf("%s", bye)
	}
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	l.expect(leg, "sent provisional(183) answered(200) closed(200)")
}

func TestAChallengedPrackIsSentWithCredentials(t *testing.T) {
	u := script{sip.PRACK: func(u *uas, r *sip.Request, from netip.AddrPort) {
		switch {
		case r.GetHeader("Proxy-Authorization") == nil:
			u.send(from, response(r, "407 Proxy Authentication Required", "far",
				"Proxy-Authenticate: Digest realm=\"p\", nonce=\"n\", qop=\"auth\"\r\n", ""))
		case r.GetHeader("Authorization") == nil:
			u.send(from, response(r, "401 Unauthorized", "far",
				"WWW-Authenticate: Digest realm=\"u\", nonce=\"m\", qop=\"auth\"\r\n", ""))
		default:
			answers("200 OK")(u, r, from)
		}
	}}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), withCredentials)
	l := listen(t, nil)
	place(s, l)
	u.reliably(u.request(sip.INVITE, 1), addr(s), "180 Ringing", "far", "1", "")
	last := u.request(sip.PRACK, 3)
	if header(last, "RAck") != "1 1 INVITE" || last.CSeq().SeqNo != 4 {
		t.Fatalf("%s", last)
	}
	if !strings.Contains(header(last, "Proxy-Authorization"), "nc=00000002") ||
		!strings.Contains(header(last, "Authorization"), "nc=00000001") {
		t.Fatalf("both credentials, the nonce counted:\n%s", last)
	}
}

func TestALostPrackIsRepeated(t *testing.T) {
	u := newUAS(t, nil)
	s := newStack(t, sipstack.Config{Timers: wide})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	leg := place(s, l)
	u.reliably(u.request(sip.INVITE, 1), addr(s), "180 Ringing", "far", "1", "")
	if a, b := u.request(sip.PRACK, 1), u.repeated(sip.PRACK, 3); a.String() != b.String() {
		t.Fatalf("%s\n%s", a, b)
	}
	u.reply(u.request(sip.INVITE, 1), addr(s), "486 Busy Here", "far", "", "")
	l.expect(leg, "sent provisional(180) refused(486)")
}

func TestReliableProvisionalsAsTheTrunkWantsThem(t *testing.T) {
	f := func(mode, supported, require string, pracks int) {
		t.Helper()
		u := script{sip.PRACK: answers("200 OK")}.start(t)
		s := newStack(t, sipstack.Config{})
		setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) { c.ReliableProvisionals, c.SessionSec = mode, -1 })
		l := listen(t, nil)
		leg := place(s, l)
		invite := u.request(sip.INVITE, 1)
		if header(invite, "Supported") != supported || header(invite, "Require") != require ||
			header(invite, "Session-Expires") != "" {
			t.Fatalf("%s: %s", mode, invite)
		}
		u.reliably(invite, addr(s), "180 Ringing", "far", "1", "")
		u.reply(invite, addr(s), "486 Busy Here", "far", "", "")
		l.expect(leg, "sent provisional(180) refused(486)")
		if n := int(s.Stats().Pracks); n != pracks {
			t.Fatalf("%s: %d PRACKs", mode, n)
		}
	}
	f("", "100rel", "", 1)
	f("supported", "100rel", "", 1)
	f("required", "100rel", "100rel", 1)
	f("off", "", "", 0)
}

func TestUpdateBeforeTheAnswer(t *testing.T) {
	u := script{sip.PRACK: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{Media: &negotiator{}})
	setTrunk(s, u.port(), nil)
	l := listen(t, confirming(s, false))
	leg := place(s, l)
	invite, at := u.request(sip.INVITE, 1), addr(s)
	u.reply(invite, at, "180 Ringing", "far", "", "")
	l.kind(leg, engine.LegProvisional)
	sdp := "Content-Type: application/sdp\r\n"
	u.inDialog(invite, "far", "UPDATE", 1, sdp, answerSDP)
	if r := u.response(1); r.StatusCode != 491 { // our offer is not answered yet (RFC 3311 §5.2)
		t.Fatalf("%s", r)
	}
	u.reliably(invite, at, "183 Session Progress", "far", "1", answerSDP)
	u.request(sip.PRACK, 1)
	moved := strings.Replace(answerSDP, "50000", "50002", 1)
	u.inDialog(invite, "far", "UPDATE", 2, sdp, moved)
	if r := u.response(2); r.StatusCode != 200 || string(r.Body()) != "answer to "+moved {
		t.Fatalf("%s", r)
	}
	u.inDialog(invite, "far", "INVITE", 3, sdp, answerSDP)
	if r := u.response(3); r.StatusCode != 491 { // our INVITE is unanswered (RFC 3261 §14.2)
		t.Fatalf("%s", r)
	}
	u.reply(invite, at, "200 OK", "far", "", "")
	if e := l.kind(leg, engine.LegAnswered); string(e.SDP) != moved {
		t.Fatalf("%q", e.SDP)
	}
}
