package sipstack_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack"
	"dialler/sipstack/timing"

	"github.com/emiago/sipgo/sip"
)

// taking makes a stack that reports the calls of its trunk to take.
func taking(t *testing.T, take func(*sipstack.Stack, engine.IncomingCall)) (*sipstack.Stack, *atomic.Int64) {
	t.Helper()
	var s *sipstack.Stack
	var calls atomic.Int64
	ready := make(chan struct{})
	s = newStack(t, sipstack.Config{Timers: patient, OneCall: true,
		NewCall: func() engine.AttemptID { a, _ := newLeg(); return a },
		OnCall: func(c engine.IncomingCall) {
			calls.Add(1)
			go func() { <-ready; take(s, c) }()
		}})
	close(ready)
	setTrunk(s, 9, nil)
	return s, &calls
}

func answer(s *sipstack.Stack, l *listener, c engine.IncomingCall, to engine.PhoneNumber) {
	s.PlaceLeg(engine.PlaceLeg{Attempt: c.Attempt, Leg: c.Leg, Trunk: c.Trunk, To: to, Incoming: true,
		SendBy: timing.BootNow().Add(time.Minute), Offer: testOffer}, l.sink)
}

func TestACallOfATrunkIsReportedAndAnswered(t *testing.T) {
	var stack atomic.Pointer[sipstack.Stack]
	var got atomic.Pointer[engine.IncomingCall]
	l := listen(t, func(e engine.LegEvent) {
		if e.Kind == engine.LegAnswered {
			stack.Load().HangUpLeg(e.Leg, engine.HangUpCause{Q850: 16}) // before the ACK: the BYE waits for it
		}
	})
	s, _ := taking(t, func(s *sipstack.Stack, c engine.IncomingCall) {
		stack.Store(s)
		got.Store(&c)
		answer(s, l, c, "+4915112345678")
	})
	p := callBySipp(t, "call_in", s.Addr(), 1)
	p.wait()
	c := got.Load()
	es := l.expect(c.Leg, "answered(200) closed(200)")
	if c.Trunk != trunkID || c.From != "+4915112345678" || strings.Join(c.To, " ") != "4930111" ||
		!strings.Contains(string(c.Offer), "m=audio") || c.Dialog.Extra == "" || es[1].Proof != engine.ProofBye {
		t.Fatalf("%+v %+v", c, es)
	}
	if string(es[0].SDP) != string(c.Offer) || !strings.Contains(es[0].Dialog.Extra, `"route_set":["`) {
		t.Fatalf("%+v", es[0])
	}
}

func TestACallerHangsUp(t *testing.T) {
	l := listen(t, nil)
	var n atomic.Int64
	s, calls := taking(t, func(s *sipstack.Stack, c engine.IncomingCall) {
		answer(s, l, c, engine.PhoneNumber(fmt.Sprint("+49151", n.Add(1))))
	})
	p := callBySipp(t, "call_in_bye", s.Addr(), 50)
	p.wait()
	l.wait("50 ends", func(es []engine.LegEvent) bool { return strings.Count(describe(es), "hung_up") == 50 })
	if st := s.Stats(); calls.Load() != 50 || st.LiveLegs != 0 || st.Offered != 50 {
		t.Fatalf("%d calls, %+v", calls.Load(), st)
	}
}

func TestACallerGivesUpBeforeTheAnswer(t *testing.T) {
	l := listen(t, nil)
	var leg atomic.Value
	s, _ := taking(t, func(s *sipstack.Stack, c engine.IncomingCall) {
		leg.Store(c.Leg)
		s.RingLeg(c.Leg)
		s.AttachLeg(c.Attempt, l.sink)
	})
	p := callBySipp(t, "call_in_cancel", s.Addr(), 1)
	p.wait()
	id := leg.Load().(engine.LegID)
	l.expect(id, "hung_up")
	late := listen(t, nil) // an answer that comes too late learns of the end
	s.PlaceLeg(engine.PlaceLeg{Attempt: engine.AttemptID(strings.TrimSuffix(string(id), ".1")), Leg: id, Incoming: true,
		SendBy: timing.BootNow().Add(time.Minute), Offer: testOffer}, late.sink)
	late.expect(id, "hung_up")
}

func TestACallOfATrunkIsRefused(t *testing.T) {
	s, calls := taking(t, func(s *sipstack.Stack, c engine.IncomingCall) { s.RefuseLeg(c.Leg, 486) })
	p := callBySipp(t, "call_in_refused", s.Addr(), 5)
	p.wait()
	if st := s.Stats(); calls.Load() != 5 || st.LiveLegs != 0 || st.LegsNotSent != 0 {
		t.Fatalf("%+v", st)
	}
}

func TestNoCallIsAnsweredToSomebodyWhoIsCalled(t *testing.T) {
	l := listen(t, nil)
	called := script{sip.INVITE: answers("180 Ringing"), sip.CANCEL: answers("200 OK")}.start(t)
	s, _ := taking(t, func(s *sipstack.Stack, c engine.IncomingCall) { answer(s, l, c, "+4915112345678") })
	setTrunk(s, called.port(), nil)
	ours := place(s, l)
	l.kind(ours, engine.LegProvisional)
	p := callBySipp(t, "call_in_refused", s.Addr(), 1)
	p.wait()
	l.wait("the refusal", func(es []engine.LegEvent) bool { return strings.Contains(describe(es), "not_sent") })
	s.CancelLeg(ours)
}

func TestCallsOfStrangersAreDropped(t *testing.T) {
	s, calls := taking(t, func(*sipstack.Stack, engine.IncomingCall) {})
	s.SetTrunk(sipstack.TrunkConfig{ID: trunkID, Host: "192.0.2.1", Port: 9, OptionsInterval: -1})
	u := newUAS(t, nil)
	u.send(addr(s), "INVITE sip:1@"+s.Addr()+" SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:9;rport;branch=z9hG4bKx\r\n"+
		"From: <sip:a@b>;tag=1\r\nTo: <sip:x@y>\r\nCall-ID: c\r\nCSeq: 1 INVITE\r\nContent-Length: 0\r\n\r\n")
	eventually(t, "the stranger is counted", func() bool { return s.Stats().Strangers == 1 })
	if out, _ := u.responses(); calls.Load() != 0 || len(out) != 0 {
		t.Fatalf("%d calls, %d responses", calls.Load(), len(out))
	}
}

func TestAnIncomingCallOfAnEarlierProcessIsEndedWithBYE(t *testing.T) {
	l := listen(t, nil)
	var got atomic.Pointer[engine.IncomingCall]
	first, _ := taking(t, func(s *sipstack.Stack, c engine.IncomingCall) {
		answer(s, l, c, "+4915112345678")
		got.Store(&c)
	})
	p := callBySipp(t, "call_in", first.Addr(), 1)
	eventually(t, "the call is answered", func() bool { return got.Load() != nil })
	c := got.Load()
	l.kind(c.Leg, engine.LegAnswered)
	eventually(t, "the ACK", func() bool {
		for _, st := range first.Legs() {
			return st.State == "confirmed"
		}
		return false
	})
	_ = first.Close()
	second := newStack(t, sipstack.Config{Timers: patient, Listen: first.Addr()})
	setTrunk(second, p.port, nil)
	after := listen(t, nil)
	second.RecoverLeg(engine.RecoveredLeg{Attempt: c.Attempt, Leg: c.Leg, Trunk: trunkID, From: "+4930111",
		To: "+4915112345678", Dialog: c.Dialog}, after.sink)
	p.wait()
	if es := after.expect(c.Leg, "closed(200)"); es[0].Proof != engine.ProofBye {
		t.Fatalf("%+v", es)
	}
}

// A release that does not know of calls that come in reads no Extra, and would send BYE with a Call-ID of its
// own: the answer 481 would prove that a call is over which goes on.
func TestWhoDoesNotKnowIncomingCallsProvesNothingAboutThem(t *testing.T) {
	var got atomic.Pointer[engine.IncomingCall]
	first, _ := taking(t, func(_ *sipstack.Stack, c engine.IncomingCall) { got.Store(&c) })
	far := script{sip.BYE: answers("481 Call/Transaction Does Not Exist")}.start(t)
	far.send(addr(first), "INVITE sip:4930111@"+first.Addr()+" SIP/2.0\r\nVia: SIP/2.0/UDP "+far.conn.LocalAddr().String()+
		";branch=z9hG4bKa\r\nFrom: <sip:+4915112345678@b>;tag=far\r\nTo: <sip:4930111@y>\r\nCall-ID: theirs\r\n"+
		"CSeq: 1 INVITE\r\nContact: <sip:far@"+far.conn.LocalAddr().String()+">\r\nRecord-Route: <sip:"+
		far.conn.LocalAddr().String()+";lr>\r\nContent-Type: application/sdp\r\n"+
		fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(answerSDP), answerSDP))
	eventually(t, "the call is offered", func() bool { return got.Load() != nil })
	c := got.Load()
	dialog := *c.Dialog
	dialog.Extra = ""
	second := newStack(t, sipstack.Config{Timers: patient})
	setTrunk(second, far.port(), nil)
	l := listen(t, nil)
	second.RecoverLeg(engine.RecoveredLeg{Attempt: c.Attempt, Leg: c.Leg, Trunk: trunkID, From: "+4930111",
		To: "+4915112345678", Dialog: &dialog}, l.sink)
	if e := l.kind(c.Leg, engine.LegClosed); e.Proof != "" {
		t.Errorf("%+v", e)
	}
}

func TestOurByeWaitsForTheAck(t *testing.T) {
	var stack atomic.Pointer[sipstack.Stack]
	l := listen(t, func(e engine.LegEvent) {
		if e.Kind == engine.LegAnswered {
			stack.Load().HangUpLeg(e.Leg, engine.HangUpCause{Q850: 16})
		}
	})
	var leg atomic.Value
	s, _ := taking(t, func(s *sipstack.Stack, c engine.IncomingCall) {
		stack.Store(s)
		leg.Store(c.Leg)
		answer(s, l, c, "+4915112345678")
	})
	u := newUAS(t, nil)
	send := func(method, branch, to, body string) {
		contents := ""
		if body != "" {
			contents = "Content-Type: application/sdp\r\n"
		}
		u.send(addr(s), method+" sip:4930111@"+s.Addr()+" SIP/2.0\r\nVia: SIP/2.0/UDP "+u.conn.LocalAddr().String()+
			";branch=z9hG4bK"+branch+"\r\nFrom: <sip:+4915112345678@b>;tag=far\r\nTo: <sip:4930111@y>"+to+
			"\r\nCall-ID: waits\r\nCSeq: 1 "+method+"\r\nContact: <sip:far@"+u.conn.LocalAddr().String()+">\r\n"+contents+
			fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
	}
	send("INVITE", "a", "", answerSDP)
	ok := u.response(1)
	eventually(t, "it is answered", func() bool { return leg.Load() != nil })
	l.kind(leg.Load().(engine.LegID), engine.LegAnswered)
	if n := s.Stats().Byes; ok.StatusCode != 200 || n != 0 {
		t.Fatalf("%d BYEs before the ACK of %s", n, ok.StartLine())
	}
	send("INVITE", "a", "", answerSDP) // repeated: the same answer
	u.again(ok, 2)
	send("INVITE", "b", "", answerSDP) // the same call on another way
	if r := u.response(2); r.StatusCode != 482 {
		t.Errorf("%s", r.StartLine())
	}
	send("ACK", "c", ";tag="+toTagOf(ok), "")
	bye := u.request(sip.BYE, 1)
	u.reply(bye, addr(s), "200 OK", "", "", "")
	l.expect(leg.Load().(engine.LegID), "answered(200) closed(200)")
}

func TestACallWithoutSDPIsRefused(t *testing.T) {
	s, calls := taking(t, func(*sipstack.Stack, engine.IncomingCall) {})
	u := newUAS(t, nil)
	f := func(id, headers, body string, code int) {
		t.Helper()
		u.send(addr(s), "INVITE sip:1@"+s.Addr()+" SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:9;rport;branch=z9hG4bK"+id+
			"\r\nFrom: <sip:a@b>;tag=1\r\nTo: <sip:x@y>\r\nCall-ID: "+id+"\r\nCSeq: 1 INVITE\r\n"+headers+
			fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
		eventually(t, id, func() bool {
			out, _ := u.responses()
			for _, r := range out {
				if r.CallID().Value() == id {
					return r.StatusCode == code
				}
			}
			return false
		})
	}
	f("no-sdp", "Contact: <sip:a@b>\r\n", "", 488)
	f("text", "Contact: <sip:a@b>\r\nContent-Type: text/plain\r\n", "hello", 415)
	f("no-contact", "Content-Type: application/sdp\r\n", answerSDP, 400)
	if n := calls.Load(); n != 0 {
		t.Errorf("%d calls were reported", n)
	}
}

// The far side learns what is wrong with its INVITE and tries again at once, in the same call (RFC 4028 §7.3,
// RFC 3261 §8.1.3.5). An interval that is too small is refused before there is a call, which would make the
// next one a second call of its caller.
func TestACallIsTriedAgainAfterItsRefusal(t *testing.T) {
	for code, c := range map[int]struct {
		expires string
		calls   int64
	}{422: {"60", 1}, 503: {"90", 2}} {
		l := listen(t, nil)
		var offered atomic.Int64
		s, calls := taking(t, func(s *sipstack.Stack, c engine.IncomingCall) {
			if n := offered.Add(1); code == 503 && n == 1 {
				s.RefuseLeg(c.Leg, code)
				return
			}
			answer(s, l, c, "+4915112345678")
		})
		u := newUAS(t, nil)
		send := func(method string, cseq int, to, expires, body string) {
			if body != "" {
				body = "Content-Type: application/sdp\r\nSupported: timer\r\nSession-Expires: " + expires +
					fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			} else {
				body = "Content-Length: 0\r\n\r\n"
			}
			u.send(addr(s), method+" sip:4930111@"+s.Addr()+" SIP/2.0\r\nVia: SIP/2.0/UDP "+u.conn.LocalAddr().String()+
				fmt.Sprintf(";branch=z9hG4bKtry%d\r\nFrom: <sip:+4915112345678@b>;tag=far\r\nTo: <sip:4930111@y>%s\r\n"+
					"Call-ID: again\r\nCSeq: %d %s\r\nContact: <sip:far@%s>\r\n", cseq, to, cseq, method,
					u.conn.LocalAddr())+body)
		}
		send("INVITE", 1, "", c.expires, answerSDP)
		refused := u.response(1)
		send("ACK", 1, ";tag="+toTagOf(refused), "", "")
		send("INVITE", 2, "", "90", answerSDP)
		ok := u.response(2)
		if refused.StatusCode != code || ok.StatusCode != 200 || calls.Load() != c.calls {
			t.Fatalf("%s, then %s, %d calls", refused.StartLine(), ok.StartLine(), calls.Load())
		}
		if least := refused.GetHeader("Min-SE"); code == 422 && (least == nil || least.Value() != "90") {
			t.Errorf("the least interval: %v", least)
		}
		send("ACK", 2, ";tag="+toTagOf(ok), "", "")
	}
}
