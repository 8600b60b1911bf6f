package sipstack_test

import (
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

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
	eventually(t, "the answer is handled", func() bool {
		ls := s.Legs()
		return len(ls) == 1 && ls[0].State == "answered"
	})
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

func TestRecoverWithoutDialog(t *testing.T) {
	recover := func(u *uas, cseq uint32, timers sipstack.Timers) (*sipstack.Stack, *listener, engine.LegID) {
		s := newStack(t, sipstack.Config{Timers: timers})
		setTrunk(s, u.port(), nil)
		l := listen(t, nil)
		a, leg := newLeg()
		s.RecoverLeg(engine.RecoveredLeg{Attempt: a, Leg: leg, Trunk: trunkID, From: "+4930", To: "+4940", CSeq: cseq,
			GiveUp: patience}, l.sink)
		return s, l, leg
	}
	// respond sends a response to the INVITE of an earlier process.
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
		if a, b := u.request(sip.CANCEL, 1), u.request(sip.CANCEL, 2); a.CSeq().SeqNo != 1 || b.CSeq().SeqNo != 2 ||
			a.Via().Value() == b.Via().Value() {
			t.Fatalf("%s\n%s", a, b)
		}
	})
	t.Run("late answer", func(t *testing.T) {
		u := script{sip.CANCEL: answers("481 Call/Transaction Does Not Exist"), sip.BYE: answers("200 OK")}.start(t)
		s, l, leg := recover(u, 1, sipstack.Timers{})
		respond(u, s, u.request(sip.CANCEL, 1), "200 OK", "far")
		l.expect(leg, "closed(200)")
		if ack, bye := u.request(sip.ACK, 1), u.request(sip.BYE, 1); ack.CSeq().SeqNo != 1 || bye.CSeq().SeqNo != 2 ||
			toTagOf(bye) != "far" {
			t.Fatalf("%s\n%s", ack, bye)
		}
	})
	t.Run("placed from another address", func(t *testing.T) {
		u := script{sip.CANCEL: answers("200 OK")}.start(t)
		s := newStack(t, sipstack.Config{Timers: fast})
		setTrunk(s, u.port(), nil)
		l := listen(t, nil)
		a, leg := newLeg()
		s.RecoverLeg(engine.RecoveredLeg{Attempt: a, Leg: leg, Trunk: trunkID, From: "+4930", To: "+4940", CSeq: 1,
			SentBy: "192.0.2.7:5070", GiveUp: time.Hour}, l.sink)
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
	l := listen(t, nil) // the trunk is no longer configured
	a, leg := newLeg()
	far := u.conn.LocalAddr().String()
	s.RecoverLeg(engine.RecoveredLeg{Attempt: a, Leg: leg, Trunk: trunkID, From: "+4930", To: "+4940",
		Dialog: &engine.DialogState{
			ToTag: "far", RemoteTarget: "sip:x@" + far, CSeq: 2, RemoteAddr: far, Transport: "udp", LocalAddr: s.Addr(),
		}}, l.sink)
	if es := l.expect(leg, "closed"); es[0].Reason == "" {
		t.Fatalf("%+v", es)
	}
	if ack, bye := u.request(sip.ACK, 1), u.repeated(sip.BYE, 5); ack.CSeq().Value() != "2 ACK" ||
		bye.CSeq().Value() != "65539 BYE" {
		t.Fatalf("%s\n%s", ack, bye)
	}
}
