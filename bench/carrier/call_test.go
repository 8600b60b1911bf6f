package carrier

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dialler/bench/draw"
	"dialler/engine"
)

func script(number string, list ...Behaviour) map[engine.PhoneNumber][]Behaviour {
	return map[engine.PhoneNumber][]Behaviour{engine.PhoneNumber(number): list}
}

const number = "+4915100000001"

func TestHumanAnswersAndCallerHangsUp(t *testing.T) {
	c := start(t, Config{Script: script(number, Behaviour{Kind: Human})})
	l := newUAC(t, c).leg(number).established()
	if !strings.Contains(l.answer.body, "m=audio ") || !strings.Contains(l.answer.get("Contact"), c.Addr()) {
		t.Fatalf("200 without SDP or Contact: %+v", l.answer)
	}
	if live := c.Ledger().Live(); len(live) != 1 || live[0].CallID != l.id || live[0].State != StateAnswered {
		t.Fatalf("live: %+v", live)
	}
	l.bye()
	l.expect(200)
	row := l.row()
	if row.State != StateEnded || row.FinalCode != 200 || row.ByeBy != Caller || row.Number != number ||
		row.From != "+4930555" {
		t.Fatalf("row: %+v", row)
	}
	if row.RingingAt.IsZero() || row.AnsweredAt.IsZero() || row.AckAt.IsZero() || row.EndedAt.IsZero() ||
		row.Invites != 1 || row.Nth != 1 {
		t.Fatalf("row: %+v", row)
	}
	if len(row.Violations) != 0 || len(c.Ledger().Live()) != 0 {
		t.Fatalf("violations %v, live %v", row.Violations, c.Ledger().Live())
	}
}

func TestCalleeHangsUpAndRepeatsItsByeUntilAnswered(t *testing.T) {
	c := start(t, Config{T1: fastT1, Script: script(number,
		Behaviour{Kind: Human, Talk: draw.Exactly(30 * time.Millisecond)})})
	l := newUAC(t, c).leg(number).established()
	isBye := func(r *reply) bool { return r.method == "BYE" }
	first := l.u.skipTo("BYE", isBye)
	if !strings.HasPrefix(first.first, "BYE sip:dialler@"+l.u.local) || first.get("To") != l.from ||
		first.get("From") != l.to {
		t.Fatalf("BYE does not fit the dialog: %+v", first)
	}
	if first.get("Reason") != `Q.850;cause=16;text="Normal call clearing"` {
		t.Fatalf("Reason %q", first.get("Reason"))
	}
	if again := l.u.skipTo("second BYE", isBye); again.get("Via") != first.get("Via") {
		t.Fatal("the repeated BYE is another transaction")
	}
	l.ok(first, "")
	until(t, c, "the BYE's 200 is in", func(g Ledger) bool { row, _ := g.Call(l.id); return row.ByeCode == 200 })
	if row := l.row(); row.ByeBy != Callee || row.State != StateEnded {
		t.Fatalf("row: %+v", row)
	}
	// A crossing BYE from the caller is answered and changes nothing.
	l.bye()
	l.u.skipTo("answer", func(r *reply) bool { return r.code == 481 || r.code == 200 })
	if l.row().ByeBy != Callee {
		t.Fatal("a late BYE rewrote history")
	}
}

func TestCalleeDoesNotHangUpBeforeTheAck(t *testing.T) {
	c := start(t, Config{T1: fastT1, Script: script(number, Behaviour{Kind: Human, Talk: draw.Exactly(time.Millisecond)})})
	l := newUAC(t, c).leg(number).invite()
	l.expect(100)
	l.expect(180)
	l.expect(200)
	for range 2 { // longer than the talk time
		l.u.skipTo("200 again", func(r *reply) bool {
			if r.method == "BYE" {
				t.Fatal("BYE before the ACK")
			}
			return r.code == 200
		})
	}
	l.ack()
	l.ok(l.u.skipTo("BYE", func(r *reply) bool { return r.method == "BYE" }), "")
}

func TestRefusalsCarryReasonAndAreRepeatedUntilAck(t *testing.T) {
	f := func(b Behaviour, wantFirst, wantReason string) {
		t.Helper()
		c := start(t, Config{T1: fastT1, Script: script(number, b)})
		l := newUAC(t, c).leg(number).invite()
		l.expect(100)
		r := l.expect(b.Code)
		if r.first != wantFirst || r.get("Reason") != wantReason {
			t.Fatalf("%q with Reason %q", r.first, r.get("Reason"))
		}
		l.repeated(b.Code) // Timer G
		l.repeated(b.Code)
		l.ack()
		until(t, c, "the ACK is in", func(Ledger) bool { return !l.row().AckAt.IsZero() })
		l.u.settle() // messages in flight
		if r := l.u.tryNext(8 * fastT1); r != nil {
			t.Fatalf("%q after the ACK", r.first)
		}
		if row := l.row(); row.State != StateEnded || row.FinalCode != b.Code || !row.RingingAt.IsZero() ||
			row.EndedAt.After(row.AckAt) {
			t.Fatalf("row: %+v", row)
		}
	}
	f(Busy(), "SIP/2.0 486 Busy Here", `Q.850;cause=17;text="User busy"`)
	f(Refusal(404, "", 1), "SIP/2.0 404 Not Found", `Q.850;cause=1;text="Unallocated number"`)
	f(Refusal(480, "", 20), "SIP/2.0 480 Temporarily Unavailable", `Q.850;cause=20;text="Subscriber absent"`)
	f(Refusal(503, "", 34), "SIP/2.0 503 Service Unavailable", `Q.850;cause=34;text="No circuit available"`)
	f(Refusal(603, "", 21), "SIP/2.0 603 Decline", `Q.850;cause=21;text="Call rejected"`)
	f(Refusal(603, "Network Blocked", 0), "SIP/2.0 603 Network Blocked", "")
	f(Refusal(608, "", 0), "SIP/2.0 608 Rejected", "")
}

func TestRefusalHeaders(t *testing.T) {
	b := Refusal(302, "", 22)
	b.Headers = map[string]string{"Contact": "<sip:elsewhere@127.0.0.1:9>", "Retry-After": "7"}
	c := start(t, Config{Script: script(number, b)})
	l := newUAC(t, c).leg(number).invite()
	l.expect(100)
	r := l.expect(302)
	if r.get("Contact") != "<sip:elsewhere@127.0.0.1:9>" || r.get("Retry-After") != "7" {
		t.Fatalf("%+v", r.headers)
	}
	l.ack()
}

func TestRefusalAfterRinging(t *testing.T) {
	b := Busy()
	b.Progress = Ringing
	c := start(t, Config{Script: script(number, b)})
	l := newUAC(t, c).leg(number).invite()
	l.expect(100)
	l.expect(180)
	l.expect(486)
	l.ack()
}

func TestNoAnswerRingsUntilCancel(t *testing.T) {
	c := start(t, Config{Script: script(number, Behaviour{Kind: NoAnswer})})
	l := newUAC(t, c).leg(number).invite()
	l.expect(100)
	l.expect(180)
	if live := c.Ledger().Live(); len(live) != 1 || live[0].State != StateRinging {
		t.Fatalf("live: %+v", live)
	}
	l.cancel()
	if r := l.expect(200); r.get("CSeq") != "1 CANCEL" {
		t.Fatalf("CSeq %q", r.get("CSeq"))
	}
	l.expect(487)
	l.ack()
	until(t, c, "the ACK is in", func(Ledger) bool { return !l.row().AckAt.IsZero() })
	if row := l.row(); row.FinalCode != 487 || row.CancelAt.IsZero() || row.State != StateEnded ||
		len(row.Violations) > 0 {
		t.Fatalf("row: %+v", row)
	}
}

func TestNoAnswerWithRingTimeGivesUpItself(t *testing.T) {
	c := start(t, Config{Script: script(number, Behaviour{Kind: NoAnswer, Ring: draw.Exactly(20 * time.Millisecond)})})
	l := newUAC(t, c).leg(number).invite()
	l.expect(100)
	l.expect(180)
	if r := l.expect(480); !strings.HasPrefix(r.get("Reason"), "Q.850;cause=19") {
		t.Fatalf("Reason %q", r.get("Reason"))
	}
	l.ack()
}

func TestAnswerCrossesCancel(t *testing.T) {
	c := start(t, Config{Script: script(number, Behaviour{Kind: Human, Ring: draw.Exactly(time.Minute),
		CancelRace: true})})
	l := newUAC(t, c).leg(number).invite()
	l.expect(100)
	l.expect(180)
	l.cancel()
	if r := l.expect(200); r.get("CSeq") != "1 INVITE" {
		t.Fatalf("first came %q", r.get("CSeq"))
	}
	if r := l.expect(200); r.get("CSeq") != "1 CANCEL" {
		t.Fatalf("then came %q", r.get("CSeq"))
	}
	if len(c.Ledger().Live()) != 1 {
		t.Fatal("the ghost call is not live")
	}
	l.ack()
	l.bye()
	l.expect(200)
	if row := l.row(); row.CancelAt.IsZero() || row.AnsweredAt.IsZero() || row.ByeBy != Caller {
		t.Fatalf("row: %+v", row)
	}
}

// A carrier that knows the INVITE no more (RFC 3261 §9.2), and one that CANCEL does not reach: the phone rings on,
// or is picked up in that moment, and the row says that the caller was not heard.
func TestACancelThatDoesNotEndTheCall(t *testing.T) {
	f := func(b Behaviour, want ...string) {
		t.Helper()
		b.Kind, b.Ring = Human, draw.Exactly(time.Minute)
		c := start(t, Config{Script: script(number, b)})
		l := newUAC(t, c).leg(number).invite()
		l.expect(100)
		l.expect(180)
		l.cancel()
		for _, w := range want {
			if r := l.u.next(); strconv.Itoa(r.code)+" "+r.get("CSeq") != w {
				t.Fatalf("%+v: %q, want %s", b, r.first, w)
			}
		}
		l.u.settle()
		if live := c.Ledger().Live(); len(live) != 1 || live[0].Unheard != 1 || len(live[0].Violations) > 0 ||
			live[0].Peer != l.u.local || (live[0].State == StateAnswered) != b.CancelRace {
			t.Fatalf("%+v: live %+v", b, live)
		}
	}
	f(Behaviour{Cancel: CancelUnknown}, "481 1 CANCEL")
	f(Behaviour{Cancel: CancelLost})
	f(Behaviour{Cancel: CancelUnknown, CancelRace: true}, "200 1 INVITE", "481 1 CANCEL")
	f(Behaviour{Cancel: CancelLost, CancelRace: true}, "200 1 INVITE")
}

func TestByesAreLostUntilOneIsHeard(t *testing.T) {
	c := start(t, Config{Script: script(number, Behaviour{Kind: Human, LostByes: 2})})
	l := newUAC(t, c).leg(number).established()
	for lost := 1; lost <= 2; lost++ {
		l.bye()
		until(t, c, "it is lost", func(Ledger) bool { return l.row().Unheard == lost })
	}
	if row := l.row(); row.State != StateAnswered || !row.ByeAt.IsZero() {
		t.Fatalf("row: %+v", row)
	}
	l.bye()
	l.expect(200)
	if row := l.row(); row.State != StateEnded || row.ByeBy != Caller || len(row.Violations) > 0 {
		t.Fatalf("row: %+v", row)
	}
}

func TestAnswerWithoutAckIsRepeatedThenEndedWithBye(t *testing.T) {
	c := start(t, Config{T1: 5 * time.Millisecond, Script: script(number, Behaviour{Kind: Human})})
	l := newUAC(t, c).leg(number).invite()
	answers := 0
	bye := l.u.skipTo("BYE", func(r *reply) bool {
		if r.code == 200 {
			answers++
			l.to = r.get("To")
		}
		return r.method == "BYE"
	})
	// After 5, 10, 20, 40, 40, … ms, for 320 ms.
	if answers != 11 {
		t.Fatalf("the 200 came %d times", answers)
	}
	l.ok(bye, "")
	until(t, c, "the BYE is answered", func(Ledger) bool { return l.row().ByeCode == 200 })
	if row := l.row(); !row.AckMissing || row.ByeBy != Callee {
		t.Fatalf("row: %+v", row)
	}
}

func TestInviteCopyIsAbsorbed(t *testing.T) {
	c := start(t, Config{Script: script(number, Behaviour{Kind: NoAnswer})})
	l := newUAC(t, c).leg(number).invite()
	l.expect(100)
	l.expect(180)
	l.invite()
	l.repeated(180) // the latest response, and no second call
	if rows := c.Ledger().Calls(); len(rows) != 1 || rows[0].Invites != 1 || rows[0].Retransmits != 1 || rows[0].Nth != 1 {
		t.Fatalf("rows: %+v", rows)
	}
	if d := c.Ledger().DuplicateInvites(); len(d) != 0 {
		t.Fatalf("duplicates: %+v", d)
	}
	l.cancel()
	l.expect(200)
	l.expect(487)
	l.ack()
}

func TestSilentNumberNeverAnswersAnything(t *testing.T) {
	c := start(t, Config{T1: fastT1, Script: script(number, Behaviour{Kind: Silent})})
	l := newUAC(t, c).leg(number).invite()
	l.invite()
	l.cancel()
	until(t, c, "the CANCEL is in", func(Ledger) bool {
		row, ok := c.Ledger().Call(l.id)
		return ok && !row.CancelAt.IsZero()
	})
	if r := l.u.tryNext(5 * fastT1); r != nil {
		t.Fatalf("got %q", r.first)
	}
	row := l.row()
	if row.State != StateSilent || len(c.Ledger().Live()) != 0 || row.Retransmits != 1 ||
		!slices.Contains(row.Violations, "cancel_before_provisional") {
		t.Fatalf("row: %+v", row)
	}
	until(t, c, "64*T1 are over", func(Ledger) bool { return l.row().State == StateEnded })
}

func TestSlowCarrierAndCancelBeforeProvisional(t *testing.T) {
	slow := Behaviour{Kind: Human, Trying: draw.Exactly(150 * time.Millisecond)}
	c := start(t, Config{Script: script(number, slow, Behaviour{Kind: Human, Trying: draw.Exactly(time.Minute)})})
	u := newUAC(t, c)
	sent := time.Now()
	l := u.leg(number).invite()
	l.expect(100)
	if took := time.Since(sent); took < 100*time.Millisecond {
		t.Fatalf("100 after %v", took)
	}
	l.expect(180)
	l.expect(200)
	l.ack()
	l.bye()
	l.expect(200)
	second := u.leg(number).invite()
	until(t, c, "the INVITE is in", func(g Ledger) bool { _, ok := g.Call(second.id); return ok })
	second.cancel()
	second.expect(200)
	second.expect(487)
	second.ack()
	if row := second.row(); !slices.Contains(row.Violations, "cancel_before_provisional") {
		t.Fatalf("row: %+v", row)
	}
}

func TestEarlyMediaAnswersWith183AndSDP(t *testing.T) {
	c := start(t, Config{Script: script(number, Behaviour{Kind: Human, Progress: EarlyMedia})})
	l := newUAC(t, c).leg(number).invite()
	l.expect(100)
	if r := l.expect(183); !strings.Contains(r.body, "m=audio ") {
		t.Fatalf("183 without SDP: %+v", r)
	}
	l.expect(200)
	l.ack()
	l.bye()
	l.expect(200)
}

func TestReliableProvisionalWaitsForPrack(t *testing.T) {
	c := start(t, Config{T1: fastT1, Script: script(number, Behaviour{Kind: Human, Reliable: true})})
	l := newUAC(t, c).leg(number).invite()
	l.expect(100)
	if r := l.expect(180); r.get("Require") != "100rel" || r.get("RSeq") != "1" {
		t.Fatalf("%+v", r.headers)
	}
	l.repeated(180) // and no 200 before the PRACK
	l.u.send(l.request("PRACK", "z9hG4bKprack", l.to, "RAck: 1 1 INVITE\r\n", "", 2))
	l.u.skipTo("200 of the PRACK", func(r *reply) bool { return r.code == 200 && r.get("CSeq") == "2 PRACK" })
	l.u.skipTo("200 of the INVITE", func(r *reply) bool { return r.code == 200 && r.get("CSeq") == "1 INVITE" })
	l.answer = &reply{code: 200}
	l.ack()
	l.byeCSeqOffs = 1
	l.bye()
	l.u.skipTo("200 of the BYE", func(r *reply) bool { return r.code == 200 && r.get("CSeq") == "3 BYE" })
	if v := l.row().Violations; len(v) > 0 {
		t.Fatalf("violations: %v", v)
	}
}
