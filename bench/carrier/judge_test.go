package carrier

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
)

// A judge that cannot fail is worthless: these tests make the errors that it must find.

func TestOverlappingCallsToOneNumberAreFound(t *testing.T) {
	c := start(t, Config{Script: script(number, Behaviour{Kind: NoAnswer})})
	u := newUAC(t, c)
	first := u.leg(number).invite()
	first.expect(100)
	first.expect(180)
	other := u.leg("+4915100000002").invite() // somebody else's phone
	other.expect(100)
	if o := c.Ledger().Overlaps(); len(o) != 0 {
		t.Fatalf("overlaps before there are any: %+v", o)
	}
	second := u.leg("4915100000001") // the same phone in another number format
	second.invite()
	u.skipTo("180 of the second call", func(r *reply) bool { return r.code == 180 && r.get("Call-ID") == second.id })
	o := c.Ledger().Overlaps()
	if len(o) != 1 || o[0].First.CallID != first.id || o[0].Second.CallID != second.id || o[0].Number != number {
		t.Fatalf("overlaps: %+v", o)
	}
	if s := c.Ledger().Summary(); s.Overlaps != 1 {
		t.Fatalf("summary: %+v", s)
	}
}

func TestCallsOneAfterTheOtherDoNotOverlap(t *testing.T) {
	c := start(t, Config{Script: script(number, Busy(), Behaviour{Kind: Human})})
	u := newUAC(t, c)
	first := u.leg(number).invite()
	first.expect(100)
	first.expect(486)
	first.ack()
	second := u.leg(number).established()
	second.bye()
	second.expect(200)
	third := u.leg(number).established()
	third.bye()
	third.expect(200)
	if o := c.Ledger().Overlaps(); len(o) != 0 {
		t.Fatalf("overlaps: %+v", o)
	}
	if nth := third.row().Nth; nth != 3 {
		t.Fatalf("n-th %d", nth)
	}
}

func TestInviteAfterTheEndIsADuplicate(t *testing.T) {
	f := func(name string, again func(l *leg)) {
		t.Helper()
		c := start(t, Config{T1: fastT1, Script: script(number, Busy())})
		l := newUAC(t, c).leg(number).invite()
		l.expect(100)
		l.expect(486)
		l.ack()
		until(t, c, "the ACK is in", func(Ledger) bool { return !l.row().AckAt.IsZero() })
		if d := c.Ledger().DuplicateInvites(); len(d) != 0 {
			t.Fatalf("%s: duplicates too early: %+v", name, d)
		}
		again(l)
		until(t, c, "the duplicate is found", func(g Ledger) bool {
			d := g.DuplicateInvites()
			return len(d) == 1 && d[0].CallID == l.id && d[0].Number == number
		})
	}
	f("new branch", func(l *leg) { l.branch += "again"; l.invite() })
	f("new branch and CSeq", func(l *leg) { l.branch += "again"; l.cseq++; l.invite() })
	f("same branch, long after", func(l *leg) {
		// A later process of the caller derives the same branch; no client transaction repeats an
		// INVITE T1 after its ACK.
		until(l.u.t, l.u.carrier, "T1 has passed", func(Ledger) bool { return time.Since(l.row().AckAt) > 2*fastT1 })
		l.invite()
	})
	f("same branch, transactions forgotten", func(l *leg) {
		until(l.u.t, l.u.carrier, "the call is forgotten", func(Ledger) bool {
			sh := l.u.carrier.shard(l.id)
			sh.mu.Lock()
			defer sh.mu.Unlock()
			return sh.calls[l.id] == nil
		})
		l.invite()
	})
}

func TestInviteAfterAnAnsweredCallIsADuplicate(t *testing.T) {
	c := start(t, Config{Script: script(number, Behaviour{Kind: Human})})
	l := newUAC(t, c).leg(number).established()
	l.bye()
	l.expect(200)
	l.branch, l.cseq = l.branch+"again", 9
	l.invite()
	l.expect(100)
	rows := c.Ledger().To(number)
	if len(rows) != 2 || rows[1].Incarnation != 2 || len(c.Ledger().DuplicateInvites()) != 1 {
		t.Fatalf("rows: %+v", rows)
	}
}

func TestSecondInviteTransactionOfALiveCallIsADuplicate(t *testing.T) {
	c := start(t, Config{Script: script(number, Behaviour{Kind: NoAnswer})})
	l := newUAC(t, c).leg(number).invite()
	l.expect(100)
	l.expect(180)
	branch := l.branch
	l.branch += "again"
	l.invite()
	l.u.skipTo("482", func(r *reply) bool { return r.code == 482 })
	if d := c.Ledger().DuplicateInvites(); len(d) != 1 || d[0].CallID != l.id {
		t.Fatalf("duplicates: %+v", d)
	}
	if rows := c.Ledger().Calls(); len(rows) != 1 {
		t.Fatalf("the phone rang twice: %+v", rows)
	}
	l.branch = branch
	l.cancel()
	l.u.skipTo("487", func(r *reply) bool { return r.code == 487 })
}

func TestRedirectionIsFollowedWithoutBeingADuplicate(t *testing.T) {
	c := start(t, Config{Script: script(number, Refusal(422, "", 0), Behaviour{Kind: Human})})
	l := newUAC(t, c).leg(number).invite()
	l.expect(100)
	l.expect(422)
	l.ack()
	l.branch, l.cseq = l.branch+"2", 2
	l.invite()
	l.expect(100)
	l.expect(180)
	l.expect(200)
	l.ack()
	if d := c.Ledger().DuplicateInvites(); len(d) != 0 {
		t.Fatalf("duplicates: %+v", d)
	}
	if row := l.row(); row.Invites != 2 || row.Renewals != 1 || row.FinalCode != 200 {
		t.Fatalf("row: %+v", row)
	}
}

func TestViolationsOfTheCallerAreRecorded(t *testing.T) {
	f := func(want string, do func(l *leg)) {
		t.Helper()
		c := start(t, Config{Script: script(number, Behaviour{Kind: Human})})
		l := newUAC(t, c).leg(number)
		do(l)
		until(t, c, want+" is recorded", func(g Ledger) bool {
			row, ok := g.Call(l.id)
			return ok && slices.Contains(row.Violations, want)
		})
		if c.Ledger().Summary().Violations[want] != 1 {
			t.Fatalf("summary lacks %s", want)
		}
	}
	answered := func(l *leg) *leg {
		l.invite()
		l.expect(100)
		l.expect(180)
		l.expect(200)
		return l
	}
	f("from_without_tag", func(l *leg) { l.from = "<sip:a@b>"; l.invite() })
	f("branch_without_cookie", func(l *leg) { l.branch = "old"; l.invite() })
	f("sdp_without_audio", func(l *leg) { l.sdp = "v=0\r\n"; l.invite() })
	f("no_contact", func(l *leg) {
		l.u.send(strings.Replace(l.request("INVITE", l.branch, l.to, "", l.sdp, 1), "Contact:", "X-Contact:", 1))
	})
	f("no_max_forwards", func(l *leg) {
		l.u.send(strings.Replace(l.request("INVITE", l.branch, l.to, "", l.sdp, 1), "Max-Forwards:", "X-M:", 1))
	})
	f("ack_branch", func(l *leg) { answered(l).answer = nil; l.ack() })
	f("ack_to_tag", func(l *leg) { answered(l).to += "x"; l.ack() })
	f("bye_before_ack", func(l *leg) { answered(l).bye() })
	f("cseq_order", func(l *leg) { l.established(); l.byeCSeqOffs = -1; l.bye() })
	f("cancel_of_other_transaction", func(l *leg) { answered(l).branch += "x"; l.cancel() })
}

func TestUnknownDialogsGet481(t *testing.T) {
	c := start(t, Config{})
	u := newUAC(t, c)
	l := u.leg(number)
	l.to += ";tag=nobody"
	l.bye()
	l.expect(481)
	l.cancel()
	l.expect(481)
	u.send(l.request("INVITE", l.branch, l.to, "", l.sdp, 3))
	l.expect(481)
	u.send(l.request("UPDATE", l.branch, l.to, "", "", 4))
	l.expect(481)
	l.ack() // never answered
	u.send(l.request("OPTIONS", l.branch+"o", "<sip:x@y>", "", "", 5))
	l.expect(200)
	u.send(l.request("PUBLISH", l.branch+"p", "<sip:x@y>", "", "", 6))
	l.expect(405)
	u.send("junk\r\n\r\n")
	u.send(strings.Replace(l.request("OPTIONS", l.branch, l.to, "", "", 7), "CSeq: 7 OPTIONS", "CSeq: 7 INVITE", 1))
	l.expect(400)
	if rows := c.Ledger().Calls(); len(rows) != 0 {
		t.Fatalf("rows: %+v", rows)
	}
	stray := c.Ledger().Stray()
	for _, name := range []string{"481 BYE", "481 CANCEL", "481 INVITE", "481 UPDATE", "ack", "not_sip"} {
		if stray[name] != 1 {
			t.Fatalf("stray: %v", stray)
		}
	}
}

func TestByeOfAnEndedCallGets481AndItsCopyGets200(t *testing.T) {
	c := start(t, Config{Script: script(number, Behaviour{Kind: Human})})
	l := newUAC(t, c).leg(number).established()
	l.bye()
	l.expect(200)
	l.byeCSeqOffs--
	l.bye() // the same transaction
	l.repeated(200)
	l.bye()
	l.expect(481)
}

func at(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }

func TestOverlapArithmetic(t *testing.T) {
	row := func(id, to string, from, until int) Call {
		c := Call{CallID: id, Incarnation: 1, Number: engine.PhoneNumber(to), InviteAt: at(from), Invites: 1,
			State: StateRinging}
		if until >= 0 {
			c.EndedAt, c.State = at(until), StateEnded
		}
		return c
	}
	f := func(want []string, rows ...Call) {
		t.Helper()
		var got []string
		for _, o := range Rows(rows).Overlaps() {
			got = append(got, o.First.CallID+o.Second.CallID)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	f(nil, row("a", "+1", 0, 10), row("b", "+1", 10, 20))
	f([]string{"ab"}, row("a", "+1", 0, 11), row("b", "+1", 10, 20))
	f(nil, row("a", "+1", 0, 11), row("b", "+2", 10, 20))
	f([]string{"ab"}, row("b", "+1", 10, 20), row("a", "+1", 0, -1))
	f([]string{"ab", "ac"}, row("a", "+1", 0, 30), row("b", "+1", 5, 10), row("c", "+1", 20, -1))
	f([]string{"ab", "ac", "bc"}, row("a", "+1", 0, -1), row("b", "+1", 5, -1), row("c", "+1", 20, -1))
	// A short call between two long ones must not hide their overlap.
	f([]string{"ab", "ac"}, row("a", "+1", 0, 100), row("b", "+1", 10, 11), row("c", "+1", 50, 60))

	s := Rows{row("a", "+1", 0, 10), row("b", "+2", 5, 20), row("c", "+3", 10, 30), row("d", "+4", 1500, -1)}.Summary()
	if s.PeakLive != 2 || s.PeakCPS != 3 || s.Calls != 4 || s.Ended != 3 || s.Ringing != 1 {
		t.Fatalf("summary: %+v", s)
	}
}

func TestLedgerFileGivesTheSameJudgement(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.jsonl")
	c := start(t, Config{LedgerFile: file, Script: script(number, Busy(), Behaviour{Kind: Human},
		Behaviour{Kind: NoAnswer})})
	u := newUAC(t, c)
	busy := u.leg(number).invite()
	busy.expect(100)
	busy.expect(486)
	busy.ack()
	done := u.leg(number).established()
	done.bye()
	done.expect(200)
	for range 2 { // two overlapping calls that stay
		l := u.leg(number).invite()
		l.expect(100)
		l.expect(180)
	}
	busy.branch += "again"
	busy.invite()
	busy.expect(100)
	busy.expect(180)
	until(t, c, "the first ACK is in", func(g Ledger) bool { return !g.To(number)[0].AckAt.IsZero() })

	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// The last line may have been cut off by a power failure on our side.
	rows, err := ReadLedger(bytes.NewReader(append(raw, `{"call_id":"cut`...)))
	if err != nil {
		t.Fatal(err)
	}
	want, got := c.Ledger().Summary(), rows.Summary()
	if !reflect.DeepEqual(got, want) || got.Overlaps == 0 || got.Duplicates != 1 || len(rows.Live()) != 3 {
		t.Fatalf("from the file %+v\nfrom memory %+v", got, want)
	}
	if _, err := ReadLedger(strings.NewReader("nonsense\n")); err == nil {
		t.Fatal("a broken line was swallowed")
	}
}

func TestBehaviourIsRepeatable(t *testing.T) {
	run := func(seed uint64, backwards bool) map[engine.PhoneNumber]string {
		cfg := Config{Seed: seed, Mix: &DefaultMix}
		r, err := cfg.rules()
		if err != nil {
			t.Fatal(err)
		}
		out := map[engine.PhoneNumber]string{}
		for i := range 300 {
			if backwards {
				i = 299 - i
			}
			n := engine.PhoneNumber("+49151" + strings.Repeat("0", 4) + string(rune('0'+i/100)) + string(rune('0'+i/10%10)) +
				string(rune('0'+i%10)))
			for nth := 1; nth <= 3; nth++ {
				b, rng := r.behaviour(n, nth)
				out[n] += string(b.Kind) + b.Ring.Draw(rng).String() + " "
			}
		}
		return out
	}
	if a, b := run(7, false), run(7, true); !reflect.DeepEqual(a, b) {
		t.Fatal("the same seed gave another world")
	}
	if a, b := run(7, false), run(8, false); reflect.DeepEqual(a, b) {
		t.Fatal("the seed does not matter")
	}
}

func TestMixKeepsItsShares(t *testing.T) {
	cfg := Config{Seed: 1, Mix: &Mix{AnswerRate: 0.5, MachineShare: 0.4, Busy: 0.2, Rejected: 0.1}}
	r, err := cfg.rules()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[Kind]int{}
	codes := map[int]int{}
	const n = 20000
	for i := range n {
		b, _ := r.behaviour(number, i)
		counts[b.Kind]++
		codes[b.Code]++
	}
	near := func(what string, got int, share float64) {
		t.Helper()
		if d := float64(got)/n - share; d > 0.015 || d < -0.015 {
			t.Fatalf("%s: %d of %d, want a share of %v", what, got, n, share)
		}
	}
	near("human", counts[Human], 0.3)
	near("machine", counts[Machine], 0.2)
	near("no answer", counts[NoAnswer], 0.2)
	near("busy", codes[486], 0.2)
	near("rejected", codes[603], 0.1)
}
