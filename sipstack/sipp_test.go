package sipstack_test

import (
	"strings"
	"testing"
	"time"

	"dialler/bench/ports"
	"dialler/engine"
	"dialler/sipstack"
)

// SIPp shares no code with this stack: its scenario decides whether the messages on the wire are
// right, by its exit code.

// patient never retransmits because SIPp is late: SIPp treats a retransmission for an ended call as
// an error.
var patient = sipstack.Timers{T1: 3 * time.Second}

func TestAnswerThenOurBye(t *testing.T) {
	f := func(transport string, change func(*sipstack.TrunkConfig)) {
		t.Helper()
		p := startSipp(t, "answer", transport, 5)
		s := newStack(t, sipstack.Config{Timers: patient})
		setTrunk(s, p.port, change)
		l := listen(t, confirming(s, true))
		for range 5 {
			leg := place(s, l)
			es := l.expect(leg, "sent provisional(180) answered(200) closed(200)")
			d := es[2].Dialog
			if d == nil || d.ToTag == "" || d.CSeq != 1 || !strings.HasPrefix(d.RemoteTarget, "sip:127.0.0.1:") ||
				d.RemoteAddr == "" || d.LocalAddr != s.Addr() {
				t.Fatalf("dialog %+v", d)
			}
			if !strings.Contains(string(es[2].SDP), "m=audio 16384") {
				t.Fatalf("answer %q", es[2].SDP)
			}
		}
		p.wait()
		if st := s.Stats(); st.InvitesSent != 5 || st.Responses[200] != 5 || st.LiveLegs != 0 || st.Malformed != 0 {
			t.Fatalf("%+v", st)
		}
	}
	f("u1", nil)
	f("t1", overTCP)
}

func TestAnswerThenRemoteBye(t *testing.T) {
	p := startSipp(t, "answer_remote_bye", "u1", 1)
	s := newStack(t, sipstack.Config{Timers: patient})
	setTrunk(s, p.port, nil)
	l := listen(t, confirming(s, false))
	es := l.expect(place(s, l), "sent provisional(180) answered(200) hung_up")
	if e := es[3]; e.Q850 != 16 || e.Reason != "Normal call clearing" {
		t.Fatalf("%+v", e)
	}
	p.wait()
}

func TestRefusals(t *testing.T) {
	f := func(scenario, want string, check func(engine.LegEvent) bool) {
		t.Helper()
		p := startSipp(t, scenario, "u1", 1)
		s := newStack(t, sipstack.Config{Timers: patient})
		setTrunk(s, p.port, nil)
		l := listen(t, nil)
		es := l.expect(place(s, l), want)
		p.wait() // the ACK came
		if last := es[len(es)-1]; !check(last) {
			t.Fatalf("%s: %+v", scenario, last)
		}
	}
	f("busy", "sent provisional(180) refused(486)", func(e engine.LegEvent) bool {
		return e.Reason == "Busy Here" && e.Q850 == 0
	})
	f("unavailable", "sent refused(503)", func(e engine.LegEvent) bool {
		return e.LimitReached && e.RetryAfter == 7*time.Second
	})
	f("declined", "sent provisional(180) refused(603)", func(e engine.LegEvent) bool {
		return e.Q850 == 21 && !e.NetworkBlocked
	})
}

func TestNoAnswerIsCancelled(t *testing.T) {
	p := startSipp(t, "no_answer", "u1", 1)
	s := newStack(t, sipstack.Config{Timers: patient})
	setTrunk(s, p.port, nil)
	l := listen(t, nil)
	leg := place(s, l)
	l.kind(leg, engine.LegProvisional)
	if got := s.CancelLeg(leg); got != engine.CancelOwed {
		t.Fatal(got)
	}
	l.expect(leg, "sent provisional(180) refused(487)")
	p.wait()
}

func TestEarlyMediaIsReported(t *testing.T) {
	p := startSipp(t, "early_media", "u1", 1)
	s := newStack(t, sipstack.Config{Timers: patient})
	setTrunk(s, p.port, nil)
	l := listen(t, confirming(s, true))
	es := l.expect(place(s, l), "sent provisional(183) answered(200) closed(200)")
	if !strings.Contains(string(es[1].SDP), "m=audio 16384") {
		t.Fatalf("early media %q", es[1].SDP)
	}
	p.wait()
}

func TestNoProvisionalIsLostBeforeTheAnswer(t *testing.T) {
	const calls = 200
	f := func(transport string, change func(*sipstack.TrunkConfig)) {
		t.Helper()
		p := startSipp(t, "back_to_back", transport, calls)
		s := newStack(t, sipstack.Config{Timers: patient})
		setTrunk(s, p.port, change)
		l := listen(t, confirming(s, true))
		// Twenty at a time: SIPp's socket buffer holds no more than about a
		// hundred INVITEs.
		for range calls / 20 {
			var legs []engine.LegID
			for range 20 {
				legs = append(legs, place(s, l))
			}
			for _, leg := range legs {
				l.expect(leg, "sent provisional(100) provisional(180) answered(200) closed(200)")
			}
		}
		p.wait()
	}
	f("u1", nil)
	f("t1", overTCP)
}

func TestRepeatedRinging(t *testing.T) {
	p := startSipp(t, "ring_many", "u1", 1)
	s := newStack(t, sipstack.Config{Timers: patient})
	setTrunk(s, p.port, nil)
	l := listen(t, confirming(s, true))
	l.expect(place(s, l), "sent"+strings.Repeat(" provisional(180)", 20)+" answered(200) closed(200)")
	p.wait()
}

func TestAnswerThatCrossesCancelIsAckedAndEnded(t *testing.T) {
	p := startSipp(t, "cancel_race", "u1", 1)
	s := newStack(t, sipstack.Config{Timers: patient})
	setTrunk(s, p.port, nil)
	l := listen(t, nil) // nobody confirms
	leg := place(s, l)
	l.kind(leg, engine.LegProvisional)
	if got := s.CancelLeg(leg); got != engine.CancelOwed {
		t.Fatal(got)
	}
	l.expect(leg, "sent provisional(180) answered(200) closed(200)")
	p.wait() // ACK and BYE came
}

func TestChallengeIsAnswered(t *testing.T) {
	f := func(scenario string) {
		t.Helper()
		p := startSipp(t, scenario, "u1", 1)
		s := newStack(t, sipstack.Config{Timers: patient})
		setTrunk(s, p.port, withCredentials)
		l := listen(t, confirming(s, true))
		es := l.expect(place(s, l), "sent provisional(180) answered(200) closed(200)")
		if es[2].Dialog.CSeq != 2 {
			t.Fatalf("dialog %+v", es[2].Dialog)
		}
		p.wait()
	}
	f("digest")
	f("digest_verified")
}

func TestSecondChallengeIsARefusal(t *testing.T) {
	p := startSipp(t, "digest_refused", "u1", 1)
	s := newStack(t, sipstack.Config{Timers: patient})
	setTrunk(s, p.port, withCredentials)
	l := listen(t, nil)
	l.expect(place(s, l), "sent refused(407)")
	p.wait()
}

func TestByeChallengeIsAnswered(t *testing.T) {
	p := startSipp(t, "bye_challenge", "u1", 1)
	s := newStack(t, sipstack.Config{Timers: patient})
	setTrunk(s, p.port, withCredentials)
	l := listen(t, confirming(s, true))
	l.expect(place(s, l), "sent provisional(180) answered(200) closed(200)")
	p.wait()
}

func TestInfoDigit(t *testing.T) {
	p := startSipp(t, "info_digit", "u1", 1)
	s := newStack(t, sipstack.Config{Timers: patient})
	setTrunk(s, p.port, nil)
	l := listen(t, nil)
	l.react = func(e engine.LegEvent) {
		switch e.Kind {
		case engine.LegAnswered:
			s.ConfirmLeg(e.Leg)
		case engine.LegDigit:
			s.HangUpLeg(e.Leg, engine.HangUpCause{Q850: 16})
		}
	}
	es := l.expect(place(s, l), "sent provisional(180) answered(200) digit closed(200)")
	if es[3].Digit != '5' {
		t.Fatalf("digit %q", es[3].Digit)
	}
	p.wait()
}

// restart closes a stack as a crash would and starts another on the same port.
func restart(t *testing.T, s *sipstack.Stack, port int) *sipstack.Stack {
	t.Helper()
	addr := s.Addr()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	next := newStack(t, sipstack.Config{Listen: addr, Timers: patient})
	setTrunk(next, port, nil)
	return next
}

func TestLaterLifeEndsAnAnsweredLeg(t *testing.T) {
	p := startSipp(t, "recover_bye", "u1", 1)
	first := newStack(t, sipstack.Config{Listen: ports.AddressOf(t), Timers: patient})
	setTrunk(first, p.port, nil)
	l := listen(t, nil)
	a, leg := newLeg()
	cmd := placeCommand(a, leg)
	first.PlaceLeg(cmd, l.sink)
	answered := l.kind(leg, engine.LegAnswered)
	// The dialog became durable, but the ACK was never sent.
	second := restart(t, first, p.port)
	l2 := listen(t, nil)
	second.RecoverLeg(engine.RecoveredLeg{Attempt: a, Leg: leg, Trunk: trunkID, From: cmd.From, To: cmd.To,
		Dialog: answered.Dialog}, l2.sink)
	l2.expect(leg, "closed(200)")
	p.wait()
}

func TestLaterLifeCancelsARingingLeg(t *testing.T) {
	p := startSipp(t, "recover_cancel", "u1", 1)
	first := newStack(t, sipstack.Config{Listen: ports.AddressOf(t), Timers: patient})
	setTrunk(first, p.port, nil)
	l := listen(t, nil)
	a, leg := newLeg()
	cmd := placeCommand(a, leg)
	first.PlaceLeg(cmd, l.sink)
	l.kind(leg, engine.LegProvisional)
	second := restart(t, first, p.port)
	l2 := listen(t, nil)
	second.RecoverLeg(engine.RecoveredLeg{Attempt: a, Leg: leg, Trunk: trunkID, From: cmd.From, To: cmd.To, CSeq: 1,
		GiveUp: patience}, l2.sink)
	l2.expect(leg, "closed(487)")
	p.wait()
}
