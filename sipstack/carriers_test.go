package sipstack_test

import (
	"net/netip"
	"strings"
	"testing"

	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

// unreachable is a Contact at which nobody is, on the host of the others.
const unreachable = "Contact: <sip:far@127.0.0.9:9>\r\n"

func TestAContactThatCannotBeReachedGetsAckAndByeAtTheSourceOfItsAnswer(t *testing.T) {
	var u *uas
	u = script{sip.BYE: answers("200 OK"), sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
		u.send(from, response(r, "200 OK", "far", unreachable, answerSDP))
	}}.start(t)
	s := newStack(t, sipstack.Config{Timers: fast})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	leg := place(s, l)
	invite := u.request(sip.INVITE, 1)
	l.kind(leg, engine.LegAnswered)
	s.ConfirmLeg(leg) // its ACK is lost
	u.send(addr(s), response(invite, "200 OK", "far", unreachable, answerSDP))
	ack := u.request(sip.ACK, 1)
	if ack.Recipient.Host != "127.0.0.9" || ack.CSeq().SeqNo != 1 || toTagOf(ack) != "far" {
		t.Fatalf("%s", ack)
	}
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	l.expect(leg, "sent answered(200) closed(200)")
	if bye := u.request(sip.BYE, 1); bye.Recipient.Host != "127.0.0.9" {
		t.Fatalf("%s", bye)
	}
}

func TestEveryFinalResponseToARefreshGetsItsAckAfterTheEnd(t *testing.T) {
	f := func(end func(*sipstack.Stack, *uas, engine.LegID, *sip.Request), want string, statuses ...string) {
		t.Helper()
		u := sessionUAS(t, "1;refresher=uac", "", script{"re-INVITE": func(*uas, *sip.Request, netip.AddrPort) {}})
		s := newStack(t, sipstack.Config{})
		setTrunk(s, u.port(), nil)
		l, leg, first := answered(t, s, u)
		refresh := u.request(sip.INVITE, 2)
		end(s, u, leg, first)
		l.expect(leg, want)
		for i, status := range statuses { // each is another repetition
			u.reply(refresh, addr(s), status, "far", "", "")
			if ack := u.request(sip.ACK, i+2); ack.CSeq().SeqNo != refresh.CSeq().SeqNo {
				t.Errorf("%s", ack)
			}
		}
	}
	weHangUp := func(s *sipstack.Stack, _ *uas, leg engine.LegID, _ *sip.Request) {
		s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	}
	theyHangUp := func(_ *sipstack.Stack, u *uas, _ engine.LegID, invite *sip.Request) {
		u.inDialog(invite, "far", "BYE", 1, "", "")
	}
	f(weHangUp, "sent answered(200) closed(200)", "200 OK", "200 OK", "200 OK")
	f(weHangUp, "sent answered(200) closed(200)", "500 Server Internal Error", "500 Server Internal Error")
	f(theyHangUp, "sent answered(200) hung_up", "487 Request Terminated", "487 Request Terminated")
}

func TestTheFirstDescriptionOfADialogIsItsAnswerUnlessThe200HasOne(t *testing.T) {
	sdp := func(port string) string { return strings.Replace(answerSDP, "50000", port, 1) }
	f := func(inThe200, want string) {
		t.Helper()
		u := script{sip.BYE: answers("200 OK")}.start(t)
		s := newStack(t, sipstack.Config{})
		setTrunk(s, u.port(), nil)
		l := listen(t, confirming(s, true))
		leg := place(s, l)
		invite, at := u.request(sip.INVITE, 1), addr(s)
		u.reply(invite, at, "183 Session Progress", "one", "", sdp("50010"))
		u.reply(invite, at, "183 Session Progress", "two", "", sdp("50020"))
		u.reply(invite, at, "183 Session Progress", "two", "", sdp("50030")) // not the first
		u.reply(invite, at, "200 OK", "two", "", inThe200)
		es := l.expect(leg, "sent provisional(183) provisional(183) provisional(183) answered(200) closed(200)")
		if got := string(es[4].SDP); got != want {
			t.Errorf("200 with %q: the answer is %q", inThe200, got)
		}
	}
	f("", sdp("50020"))
	f(sdp("50040"), sdp("50040"))
}

func TestARefusedRefreshGoesOnAsReinviteAndEndsNoCall(t *testing.T) {
	f := func(status string) {
		t.Helper()
		refuse := func(u *uas, r *sip.Request, from netip.AddrPort) { u.reply(r, from, status, "far", "", "") }
		u := sessionUAS(t, "1;refresher=uac\r\nSupported: timer", ", UPDATE",
			script{sip.UPDATE: refuse, "re-INVITE": refuse})
		s := newStack(t, sipstack.Config{})
		setTrunk(s, u.port(), nil)
		l, leg, _ := answered(t, s, u)
		u.request(sip.INVITE, 4) // three re-INVITEs, half a second apart
		if n := u.count(sip.UPDATE); n != 1 {
			t.Errorf("%s: %d UPDATEs", status, n)
		}
		if got := l.kind(leg, engine.LegSession).Dialog.SessionSec; got != 0 {
			t.Errorf("%s: the far side is said to end the session after %d s", status, got)
		}
		s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
		if es := l.expect(leg, "sent answered(200) session closed(200)"); es[3].Reason == "session timer expired" {
			t.Errorf("%s: %+v", status, es[3])
		}
	}
	for _, status := range []string{"400 Bad Request", "403 Forbidden", "404 Not Found", "488 Not Acceptable Here",
		"500 Server Internal Error", "603 Decline"} {
		t.Run(status[:3], func(t *testing.T) { t.Parallel(); f(status) })
	}
}

func TestAnUpdateBetweenAnswerAndAckIsAnsweredOnceTheAnswerIsTaken(t *testing.T) {
	n := &negotiator{}
	u := script{sip.INVITE: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{Media: n})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	leg := place(s, l)
	l.kind(leg, engine.LegAnswered)
	invite := u.request(sip.INVITE, 1)
	moved := strings.Replace(answerSDP, "50000", "50002", 1)
	u.inDialog(invite, "far", "UPDATE", 1, sdpType, moved)
	u.inDialog(invite, "far", "UPDATE", 1, sdpType, moved) // repeated
	u.inDialog(invite, "far", "UPDATE", 2, sdpType, moved) // another one, before the first has its answer
	if r := u.response(1); r.StatusCode != 500 || r.CSeq().SeqNo != 2 || header(r, "Retry-After") == "" {
		t.Fatalf("%s", r)
	}
	s.ConfirmLeg(leg)
	if r := u.response(2); r.StatusCode != 200 || r.CSeq().SeqNo != 1 || string(r.Body()) != "answer to "+moved {
		t.Fatalf("%s", r)
	}
	u.request(sip.ACK, 1)
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	l.expect(leg, "sent answered(200) closed(200)")
}

func TestAnUpdateThatWaitsForTheAckIsAnsweredWhenTheCallEnds(t *testing.T) {
	u := script{sip.INVITE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{Media: &negotiator{}})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	leg := place(s, l)
	l.kind(leg, engine.LegAnswered)
	invite := u.request(sip.INVITE, 1)
	u.inDialog(invite, "far", "UPDATE", 1, sdpType, answerSDP)
	u.inDialog(invite, "far", "BYE", 2, "", "")
	l.expect(leg, "sent answered(200) hung_up")
	var got []string
	for i := range 2 {
		r := u.response(i + 1)
		got = append(got, r.StartLine()+" "+r.CSeq().Value())
	}
	if text := strings.Join(got, ", "); !strings.Contains(text, "487 Request Terminated 1 UPDATE") ||
		!strings.Contains(text, "200 OK 2 BYE") {
		t.Fatal(text)
	}
}

func TestACallOfAnEarlierLifeIsEndedWhereItsAnswerCameFromToo(t *testing.T) {
	u := script{sip.BYE: answers("200 OK"), sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
		u.send(from, response(r, "200 OK", "far", unreachable, answerSDP))
	}}.start(t)
	s := newStack(t, sipstack.Config{Timers: fast})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	a, leg := newLeg()
	s.PlaceLeg(placeCommand(a, leg), l.sink)
	dialog := l.kind(leg, engine.LegAnswered).Dialog
	_ = s.Close()
	next := newStack(t, sipstack.Config{Timers: fast})
	setTrunk(next, u.port(), nil)
	after := listen(t, nil)
	next.RecoverLeg(engine.RecoveredLeg{Attempt: a, Leg: leg, Trunk: trunkID, From: "+4930", To: "+4940", Dialog: dialog},
		after.sink)
	if e := after.kind(leg, engine.LegClosed); e.Proof != engine.ProofBye {
		t.Fatalf("%+v", e)
	}
	if bye := u.request(sip.BYE, 1); bye.Recipient.Host != "127.0.0.9" || toTagOf(bye) != "far" || u.count(sip.ACK) == 0 {
		t.Fatalf("%s", bye)
	}
}
