package sipstack_test

import (
	"testing"

	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

func TestATransferIsAcceptedAndReported(t *testing.T) {
	u := script{sip.INVITE: answers("200 OK"), sip.NOTIFY: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{Transfers: true})
	setTrunk(s, u.port(), nil)
	l, leg, invite := answered(t, s, u)
	refer := "Refer-To: \"A\" <sip:agent@192.0.2.1;transport=tcp" +
		"?Replaces=call%40x%3Bto-tag%3D1%3Bfrom-tag%3D2&X-A=b>\r\nReferred-By: <sip:boss@y>\r\n"
	u.inDialog(invite, "far", "REFER", 1, refer, "")
	u.inDialog(invite, "far", "REFER", 1, refer, "") // repeated while unanswered
	e := l.kind(leg, engine.LegReferred)
	if e.ReferTo != "sip:agent@192.0.2.1;transport=tcp" || e.Replaces != "call@x;to-tag=1;from-tag=2" ||
		e.ReferredBy != "sip:boss@y" {
		t.Fatalf("%+v", e)
	}
	if !s.AnswerRefer(leg, true) || s.AnswerRefer(leg, true) {
		t.Fatal("answered once")
	}
	if r := u.response(1); r.StatusCode != 202 {
		t.Fatalf("%s", r)
	}
	u.request(sip.NOTIFY, 1)
	s.NotifyRefer(leg, 180, "Ringing")
	s.NotifyRefer(leg, 200, "OK")
	s.NotifyRefer(leg, 200, "OK") // the subscription is over
	for i, want := range []struct{ body, state string }{
		{"SIP/2.0 100 Trying\r\n", "active;expires=180"}, {"SIP/2.0 180 Ringing\r\n",
			"active;expires=180"}, {"SIP/2.0 200 OK\r\n", "terminated;reason=noresource"},
	} {
		n := u.request(sip.NOTIFY, i+1)
		if string(n.Body()) != want.body || header(n, "Subscription-State") != want.state || header(n, "Event") != "refer" ||
			header(n, "Content-Type") != "message/sipfrag;version=2.0" || n.CSeq().SeqNo != uint32(i+2) {
			t.Fatalf("%d: %s", i, n)
		}
	}
	u.inDialog(invite, "far", "BYE", 2, "", "")
	l.expect(leg, "sent answered(200) referred hung_up")
	if u.count(sip.NOTIFY) != 3 {
		t.Fatalf("%d NOTIFYs", u.count(sip.NOTIFY))
	}
}

func TestATransferThatNobodyAnswersIsDeclined(t *testing.T) {
	u := script{sip.INVITE: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{Transfers: true, Timers: fast})
	setTrunk(s, u.port(), nil)
	l, leg, invite := answered(t, s, u)
	u.inDialog(invite, "far", "REFER", 1, "Refer-To: <sip:agent@192.0.2.1>\r\n", "")
	if r := u.response(1); r.StatusCode != 603 || s.AnswerRefer(leg, true) {
		t.Fatalf("%s", r)
	}
	u.inDialog(invite, "far", "REFER", 2, "Refer-To: <sip:a@b>\r\nRefer-To: <sip:c@d>\r\n", "")
	if r := u.response(2); r.StatusCode != 400 {
		t.Fatalf("%s", r)
	}
	u.inDialog(invite, "far", "REFER", 3, "Refer-To: <sip:a@b;method=BYE>\r\n", "")
	if r := u.response(3); r.StatusCode != 603 {
		t.Fatalf("%s", r)
	}
	u.inDialog(invite, "far", "REFER", 4, "Refer-To: sip:a@b\r\n", "")
	l.wait("the second transfer", func(es []engine.LegEvent) bool { return len(es) == 4 })
	if !s.AnswerRefer(leg, false) || u.response(4).StatusCode != 603 {
		t.Fatal("not declined")
	}
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	l.expect(leg, "sent answered(200) referred referred closed(200)")
}
