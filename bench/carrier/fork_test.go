package carrier

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/bench/draw"
)

func TestForksMustBeConfirmedAndEnded(t *testing.T) {
	c := start(t, Config{T1: fastT1, Script: script(number, Behaviour{Kind: Human, Forks: 1})})
	l := newUAC(t, c).leg(number).invite()
	l.expect(100)
	l.expect(180)
	first := l.expect(200)
	second := l.expect(200)
	if first.get("To") == second.get("To") {
		t.Fatal("both phones have one tag")
	}
	l.to = first.get("To")
	l.ack()
	// Only the other phone's 200 is repeated now.
	l.u.skipTo("the fork's 200 again", func(r *reply) bool { return r.get("To") == second.get("To") })
	l.bye()
	l.u.skipTo("200 of the BYE", func(r *reply) bool { return strings.HasSuffix(r.get("CSeq"), "BYE") })
	row := l.row()
	if row.State != StateEnded || row.Forks != 1 || row.ForksLive != 1 || len(c.Ledger().Live()) != 1 {
		t.Fatalf("a phone that was left off the hook is not live: %+v", row)
	}
	l.to = second.get("To")
	l.ack()
	l.bye()
	l.u.skipTo("200 of the fork's BYE", func(r *reply) bool { return strings.HasSuffix(r.get("CSeq"), "3 BYE") })
	if row := l.row(); row.ForksLive != 0 || len(c.Ledger().Live()) != 0 || len(row.Violations) != 0 {
		t.Fatalf("row: %+v", row)
	}
}

func TestForkWithoutAckIsAViolation(t *testing.T) {
	c := start(t, Config{T1: time.Millisecond, Script: script(number, Behaviour{Kind: Human, Forks: 2})})
	l := newUAC(t, c).leg(number).invite()
	l.expect(100)
	l.expect(180)
	l.expect(200)
	l.ack()
	until(t, c, "the forks are given up", func(Ledger) bool {
		row := l.row()
		return row.ForksLive == 0 && slices.Contains(row.Violations, "fork_without_ack")
	})
}

func TestHarnessMakesACalleeAnswer(t *testing.T) {
	c := start(t, Config{Script: script(number, Behaviour{Kind: NoAnswer})})
	l := newUAC(t, c).leg(number).invite()
	l.expect(100)
	l.expect(180)
	if c.HangUp(l.id) {
		t.Fatal("hung up before answering")
	}
	if !c.Answer(l.id) {
		t.Fatal("not ringing")
	}
	l.expect(200)
	l.ack()
	if c.Answer(l.id) || c.Answer("nobody") {
		t.Fatal("answered twice")
	}
	if !c.HangUp(l.id) {
		t.Fatal("not answered")
	}
	until(t, c, "the callee has gone", func(Ledger) bool { return l.row().ByeBy == Callee })
}

func TestCalleeRingsLongAfterTheCallerGaveUp(t *testing.T) {
	// The carrier is silent for longer than Timer B; then the phone rings after all and is
	// answered.
	late := Behaviour{Kind: Human, NoTrying: true, Post: draw.Exactly(70 * fastT1), Ring: draw.Exactly(2 * fastT1)}
	c := start(t, Config{T1: fastT1, Script: script(number, late)})
	begun := time.Now()
	l := newUAC(t, c).leg(number).invite()
	l.expect(180)
	if waited := time.Since(begun); waited < 64*fastT1 {
		t.Fatalf("rang after %v", waited)
	}
	l.expect(200)
	l.ack()
	l.bye()
	l.expect(200)
}

func TestHeadersOfAnAnswer(t *testing.T) {
	c := start(t, Config{Script: script(number, Behaviour{Kind: Human,
		Headers: map[string]string{"Session-Expires": "90;refresher=uac"}})})
	l := newUAC(t, c).leg(number).established()
	if got := l.answer.get("Session-Expires"); got != "90;refresher=uac" {
		t.Fatalf("Session-Expires %q", got)
	}
	// Refreshes, in both directions.
	l.u.send(l.request("UPDATE", "z9hG4bKu", l.to, "Session-Expires: 90\r\n", "", 2))
	l.expect(200)
	l.u.send(l.request("UPDATE", "z9hG4bKv", l.to, "", l.sdp, 3))
	if r := l.expect(200); !strings.Contains(r.body, "a=sendrecv") {
		t.Fatalf("answer %q", r.body)
	}
	l.byeCSeqOffs = 3
	l.bye()
	l.expect(200)
}

func TestRouteSetIsUsedByTheCallee(t *testing.T) {
	c := start(t, Config{Script: script(number, Behaviour{Kind: Human, Talk: draw.Exactly(time.Millisecond)})})
	u := newUAC(t, c)
	proxy := newUAC(t, c) // the destination of the route set
	l := u.leg(number)
	l.extra = "Record-Route: <sip:" + proxy.local + ";lr>, <sip:127.0.0.1:9;lr>\r\n"
	l.invite()
	l.expect(100)
	l.expect(180)
	if r := l.expect(200); !slices.Equal(r.headers["Record-Route"],
		[]string{"<sip:" + proxy.local + ";lr>", "<sip:127.0.0.1:9;lr>"}) {
		t.Fatalf("Record-Route %q", r.headers["Record-Route"])
	}
	l.ack()
	bye := proxy.skipTo("BYE", func(r *reply) bool { return r.method == "BYE" })
	if !slices.Equal(bye.headers["Route"], []string{"<sip:" + proxy.local + ";lr>", "<sip:127.0.0.1:9;lr>"}) ||
		!strings.HasPrefix(bye.first, "BYE sip:dialler@"+u.local+" ") {
		t.Fatalf("%+v", bye)
	}
}

func TestCallerComesBackOnAnotherTCPConnection(t *testing.T) {
	c := start(t, Config{Script: script(number, Behaviour{Kind: NoAnswer})})
	u := newUAC(t, c)
	l := u.leg(number)
	talk := func(conn net.Conn, text, want string) {
		t.Helper()
		_ = conn.SetDeadline(time.Now().Add(patience))
		if _, err := fmt.Fprint(conn, strings.ReplaceAll(text, "/UDP", "/TCP")); err != nil {
			t.Fatal(err)
		}
		got, buf := "", make([]byte, 4096)
		for !strings.Contains(got, want) {
			n, err := conn.Read(buf)
			if err != nil {
				t.Fatalf("%v after %q", err, got)
			}
			got += string(buf[:n])
		}
	}
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", c.Addr())
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	first := dial()
	talk(first, l.request("INVITE", l.branch, l.to, "", l.sdp, 1), "SIP/2.0 180")
	_ = first.Close() // the caller was killed
	until(t, c, "the connection is gone", func(Ledger) bool {
		sh := c.shard(l.id)
		sh.mu.Lock()
		defer sh.mu.Unlock()
		return sh.calls[l.id].peer.conn.gone.Load()
	})
	second := dial()
	defer func() { _ = second.Close() }()
	talk(second, l.request("CANCEL", l.branch, l.to, "", "", 1), "SIP/2.0 487")
}

func TestFoldedAndCompactHeaders(t *testing.T) {
	c := start(t, Config{Script: script(number, Busy())})
	u := newUAC(t, c)
	l := u.leg(number)
	text := l.request("INVITE", l.branch, l.to, "", l.sdp, 1)
	for long, short := range map[string]string{"Via:": "v:", "From:": "f :", "To:": "t:", "Call-ID:": "i:",
		"Contact:": "m:", "Content-Length:": "l:"} {
		text = strings.Replace(text, long, short, 1)
	}
	text = strings.Replace(text, ";rport", "\r\n ;rport", 1)
	u.send(text)
	l.expect(100)
	if r := l.expect(486); !strings.Contains(r.get("Via"), "rport="+strings.TrimPrefix(u.local, "127.0.0.1:")) {
		t.Fatalf("Via %q", r.get("Via"))
	}
	l.ack()
}

func TestResponsesGoToTheViaPortWithoutRport(t *testing.T) {
	c := start(t, Config{Script: script(number, Busy())})
	u, other := newUAC(t, c), newUAC(t, c)
	l := u.leg(number)
	text := strings.Replace(l.request("INVITE", l.branch, l.to, "", l.sdp, 1), ";rport", "", 1)
	u.send(strings.Replace(text, "UDP "+u.local, "UDP "+other.local, 1)) // RFC 3261 §18.2.2
	if r := other.next(); r.code != 100 || !strings.Contains(r.get("Via"), ";received=127.0.0.1") {
		t.Fatalf("%+v", r)
	}
}
