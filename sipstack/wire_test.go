package sipstack_test

import (
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack"
	"dialler/sipstack/timing"

	"github.com/emiago/sipgo/sip"
)

// fast is for tests that wait for timers: timer B is 1.28 s.
var fast = sipstack.Timers{T1: 20 * time.Millisecond, T2: 160 * time.Millisecond}

// wide keeps 64*T1 bearable and leaves a busy machine time between two retransmissions: for tests
// that count them.
var wide = sipstack.Timers{T1: 50 * time.Millisecond, T2: 400 * time.Millisecond}

const answerSDP = "v=0\r\no=- 7 7 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 50000 RTP/AVP 0\r\n"

// script plays a far side: its functions answer each method. It answers no request twice.
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

// answered places a leg and has it answered and confirmed.
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
	cmd.SendBy = timing.BootNow().Add(250 * time.Millisecond)
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
	f(engine.NotSentExpired, nil, func(p *engine.PlaceLeg) { p.SendBy = timing.BootNow() - 1 })
	f(engine.NotSentTrunk, nil, func(p *engine.PlaceLeg) { p.Trunk = "unknown" })
	// Nothing listens on the TCP port.
	f(engine.NotSentNoRoute, func(c *sipstack.TrunkConfig) { c.Transport, c.Port = sipstack.TCP, 1 }, nil)
	// The kernel sends nothing from a loopback address to other hosts.
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

func TestCloseLeavesNothingRunning(t *testing.T) {
	far, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = far.Close() }()
	before := runtime.NumGoroutine()
	s := newStack(t, sipstack.Config{})
	setTrunk(s, far.Addr().(*net.TCPAddr).Port, func(c *sipstack.TrunkConfig) {
		overTCP(c)
		c.OptionsInterval = time.Minute
	})
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

// Two processes that share nothing but the Call-ID write the same values, so that the next one can
// end a call of the previous one.
func TestFromTagAndContactDeriveFromTheCallIDAndTheBranchAlsoFromTheCSeq(t *testing.T) {
	type wrote struct{ callID, fromTag, contact, branch string }
	invites := func(a engine.AttemptID) (list [2]wrote) {
		u := script{sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
			if r.CSeq().SeqNo > 1 {
				u.reply(r, from, "486 Busy Here", "far", "", "")
				return
			}
			u.reply(r, from, "401 Unauthorized", "far", "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n", "")
		}}.start(t)
		s := newStack(t, sipstack.Config{})
		setTrunk(s, u.port(), withCredentials)
		l := listen(t, nil)
		s.PlaceLeg(placeCommand(a, a.Leg(2)), l.sink)
		l.kind(a.Leg(2), engine.LegRefused)
		for i := range list {
			r := u.request(sip.INVITE, i+1)
			w := &list[i]
			w.callID, w.contact = r.CallID().Value(), r.Contact().Address.User
			w.fromTag, _ = r.From().Params.Get("tag")
			w.branch, _ = r.Via().Params.Get("branch")
		}
		return list
	}
	a, _ := newLeg()
	b, _ := newLeg()
	one, same, other := invites(a), invites(a), invites(b)
	if one != same {
		t.Errorf("of one Call-ID:\n%+v\n%+v", one, same)
	}
	for i, w := range one {
		if w.callID != string(a)+".2" || w.callID == other[i].callID {
			t.Errorf("the second leg of %s has the Call-ID %s", a, w.callID)
		}
		if w.fromTag == "" || w.contact == "" || w.fromTag == other[i].fromTag || w.contact == other[i].contact ||
			w.branch == other[i].branch {
			t.Errorf("of two Call-IDs:\n%+v\n%+v", w, other[i])
		}
	}
	if one[0].fromTag != one[1].fromTag || one[0].contact != one[1].contact || one[0].branch == one[1].branch {
		t.Errorf("of two CSeqs:\n%+v\n%+v", one[0], one[1])
	}
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
