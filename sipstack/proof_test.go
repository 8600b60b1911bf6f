package sipstack_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

// end waits for the last event of a leg.
func (l *listener) end(leg engine.LegID) engine.LegEvent {
	l.t.Helper()
	var last engine.LegEvent
	l.wait("the end of the leg", func(es []engine.LegEvent) bool {
		for _, e := range es {
			if e.Leg == leg && e.Kind.Final() {
				last = e
				return true
			}
		}
		return false
	})
	return last
}

// Which responses for a leg of an earlier process prove that nobody is in that call any more, and
// which do not.
func TestWhatProvesThatALostLegIsOver(t *testing.T) {
	const watched = 40 * 20 * time.Millisecond
	far := func(u *uas) string { return u.conn.LocalAddr().String() }
	// f sets the far side's answers to the CANCEL or the BYE of such a leg, and what it sends
	// unasked after the CANCEL.
	f := func(name string, want engine.Proof, dialog bool, does script,
		says func(u *uas, s *sipstack.Stack, cancel *sip.Request)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			u := does.start(t)
			s := newStack(t, sipstack.Config{Timers: fast})
			setTrunk(s, u.port(), nil)
			l := listen(t, nil)
			a, leg := newLeg()
			r := engine.RecoveredLeg{Attempt: a, Leg: leg, Trunk: trunkID, From: "+4930", To: "+4940", CSeq: 1, GiveUp: watched}
			if says != nil {
				r.GiveUp = patience
			}
			if dialog {
				r.Dialog = &engine.DialogState{ToTag: "far", RemoteTarget: "sip:x@" + far(u), CSeq: 1, RemoteAddr: far(u),
					Transport: "udp", LocalAddr: s.Addr()}
			}
			s.RecoverLeg(r, l.sink)
			if says != nil {
				says(u, s, u.request(sip.CANCEL, 1))
			}
			if e := l.end(leg); e.Proves() != want {
				t.Errorf("proof %q, want %q: %+v", e.Proves(), want, e)
			}
		})
	}
	// invite makes the far side answer the INVITE of the earlier process.
	invite := func(status string) func(*uas, *sipstack.Stack, *sip.Request) {
		return func(u *uas, s *sipstack.Stack, cancel *sip.Request) {
			text := response(cancel, status, "far", "Contact: <sip:"+far(u)+">\r\n", "")
			u.send(addr(s), strings.Replace(text, " CANCEL\r\n", " INVITE\r\n", 1))
		}
	}
	hangsUp := func(u *uas, s *sipstack.Stack, cancel *sip.Request) {
		u.send(addr(s), "BYE sip:dialler@"+s.Addr()+" SIP/2.0\r\nVia: SIP/2.0/UDP "+far(u)+
			";branch=z9hG4bKbye\r\nMax-Forwards: 70\r\n"+
			"From: "+cancel.To().Value()+";tag=far\r\nTo: "+cancel.From().Value()+"\r\nCall-ID: "+cancel.CallID().Value()+
			"\r\nCSeq: 7 BYE\r\nContent-Length: 0\r\n\r\n")
	}
	unknown := answers("481 Call/Transaction Does Not Exist")
	f("481 to the CANCEL", engine.Unproven, false, script{sip.CANCEL: unknown}, nil)
	f("200 to the CANCEL and nothing more", engine.Unproven, false, script{sip.CANCEL: answers("200 OK")}, nil)
	f("no answer to the CANCEL", engine.Unproven, false, nil, nil)
	f("487 to the INVITE", engine.ProofRefused, false, script{sip.CANCEL: answers("200 OK")},
		invite("487 Request Terminated"))
	f("486 to the INVITE", engine.ProofRefused, false, nil, invite("486 Busy Here"))
	f("200 to the INVITE, 200 to its BYE", engine.ProofBye, false, script{sip.BYE: answers("200 OK")}, invite("200 OK"))
	f("200 to the INVITE, no answer to its BYE", engine.Unproven, false, nil, invite("200 OK"))
	f("BYE from the far side", engine.ProofHungUp, false, nil, hangsUp)
	f("200 to the BYE", engine.ProofBye, true, script{sip.BYE: answers("200 OK")}, nil)
	f("481 to the BYE", engine.ProofBye, true, script{sip.BYE: unknown}, nil)
	f("503 to the BYE", engine.Unproven, true, script{sip.BYE: answers("503 Service Unavailable")}, nil)
	f("408 to the BYE", engine.Unproven, true, script{sip.BYE: answers("408 Request Timeout")}, nil)
	f("no answer to the BYE", engine.Unproven, true, nil, nil)
}

// The far side's address cannot be found: nothing is sent, and nothing proven.
func TestANameThatDoesNotResolveProvesNothing(t *testing.T) {
	ns := newNameServer(t) // knows no name
	s := newStack(t, sipstack.Config{Resolver: ns.resolver(), Timers: fast})
	setTrunk(s, 0, byName)
	recover := func(d *engine.DialogState) {
		t.Helper()
		l := listen(t, nil)
		a, leg := newLeg()
		s.RecoverLeg(engine.RecoveredLeg{Attempt: a, Leg: leg, Trunk: trunkID, From: "+4930", To: "+4940", CSeq: 1,
			GiveUp: 100 * time.Millisecond, Dialog: d}, l.sink)
		if e := l.end(leg); e.Proves() != engine.Unproven {
			t.Errorf("%+v", e)
		}
	}
	recover(nil)
	recover(&engine.DialogState{ToTag: "far", RemoteTarget: "sip:x@carrier.example", CSeq: 1, Transport: "udp",
		LocalAddr: s.Addr()})
	if st := s.Stats(); st.Cancels+st.Byes > 0 {
		t.Errorf("sent to nobody: %+v", st)
	}
}

// Legs that this process ends itself are proven over, except by an unanswered BYE.
func TestWhatProvesThatALegOfOursIsOver(t *testing.T) {
	f := func(name string, want engine.Proof, does script, do func(s *sipstack.Stack, l *listener, leg engine.LegID)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			u := does.start(t)
			s := newStack(t, sipstack.Config{Timers: fast})
			setTrunk(s, u.port(), nil)
			l := listen(t, confirming(s, true))
			leg := place(s, l)
			if do != nil {
				do(s, l, leg)
			}
			if e := l.end(leg); e.Proves() != want {
				t.Errorf("proof %q, want %q: %+v", e.Proves(), want, e)
			}
		})
	}
	cancel := func(s *sipstack.Stack, l *listener, leg engine.LegID) {
		l.kind(leg, engine.LegProvisional)
		s.CancelLeg(leg)
	}
	f("refused", engine.ProofRefused, script{sip.INVITE: answers("486 Busy Here")}, nil)
	f("200 to the BYE", engine.ProofBye, script{sip.INVITE: answers("200 OK"), sip.BYE: answers("200 OK")}, nil)
	f("481 to the BYE", engine.ProofBye, script{sip.INVITE: answers("200 OK"),
		sip.BYE: answers("481 Call/Transaction Does Not Exist")}, nil)
	f("no answer to the BYE", engine.Unproven, script{sip.INVITE: answers("200 OK")}, nil)
	f("no answer at all", engine.ProofWord, nil, nil)
	f("no answer to the CANCEL", engine.ProofWord, script{sip.INVITE: answers("180 Ringing")}, cancel)
	f("answered while it is cancelled, no answer to the BYE", engine.Unproven,
		script{sip.INVITE: answers("180 Ringing"), sip.CANCEL: func(u *uas, r *sip.Request, from netip.AddrPort) {
			answers("481 Call/Transaction Does Not Exist")(u, r, from)
			answers("200 OK")(u, u.request(sip.INVITE, 1), from)
		}}, cancel)
}
