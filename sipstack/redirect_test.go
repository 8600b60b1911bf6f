package sipstack_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack"
	"dialler/sipstack/timing"

	"github.com/emiago/sipgo/sip"
)

func following(n int) func(*sipstack.TrunkConfig) {
	return func(c *sipstack.TrunkConfig) { c.Redirects = n }
}

func TestRedirectsAreFollowedByTheirOrder(t *testing.T) {
	second := script{sip.INVITE: answers("480 Temporarily Unavailable")}.start(t)
	third := script{sip.INVITE: answers("180 Ringing", "200 OK"), sip.BYE: answers("200 OK")}.start(t)
	u := script{sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
		u.send(from, response(r, "302 Moved Temporarily", "a", fmt.Sprintf(
			"Contact: <sip:c@127.0.0.1:%d>;q=0.3, <sips:no@127.0.0.1>, <tel:+4930>, \"B, b\" "+
				"<sip:b@127.0.0.1:%d?Subject=x>;q=0.8\r\n", third.port(), second.port()), ""))
	}}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), following(5))
	l := listen(t, confirming(s, true))
	leg := place(s, l)
	l.expect(leg, "sent provisional(180) answered(200) closed(200)")
	first, b, c := u.request(sip.INVITE, 1), second.request(sip.INVITE, 1), third.request(sip.INVITE, 1)
	if b.Recipient.User != "b" || strings.Contains(b.Recipient.String(), "Subject") || c.Recipient.User != "c" ||
		c.CSeq().SeqNo != 3 {
		t.Fatalf("%s\n%s", b, c)
	}
	if c.To().Value() != first.To().Value() || c.From().Value() != first.From().Value() ||
		c.CallID().Value() != first.CallID().Value() {
		t.Fatalf("%s", c) // RFC 3261 §8.1.3.4
	}
	// Each refusal is acknowledged at its source.
	if ack := u.request(sip.ACK, 1); ack.Via().Value() != first.Via().Value() ||
		ack.Recipient.String() != first.Recipient.String() {
		t.Fatalf("%s", ack)
	}
	if ack := second.request(sip.ACK, 1); ack.Via().Value() != b.Via().Value() {
		t.Fatalf("%s", ack)
	}
	u.send(addr(s), response(first, "302 Moved Temporarily", "a", "", "")) // once more
	u.request(sip.ACK, 2)
}

// RFC 3261 §21.3.4, §21.3.5.
func TestAProxyOrAnAlternativeThatIsNamedIsFollowed(t *testing.T) {
	f := func(status string, proxy bool) {
		t.Helper()
		there := script{sip.INVITE: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
		u := script{sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
			u.send(from, response(r, status, "a", fmt.Sprintf("Contact: <sip:other@127.0.0.1:%d;lr>\r\n", there.port()), ""))
		}}.start(t)
		s := newStack(t, sipstack.Config{})
		setTrunk(s, u.port(), following(1))
		l := listen(t, confirming(s, true))
		l.expect(place(s, l), "sent answered(200) closed(200)")
		first, second := u.request(sip.INVITE, 1), there.request(sip.INVITE, 1)
		if same := second.Recipient.String() == first.Recipient.String(); same != proxy || second.CSeq().SeqNo != 2 {
			t.Fatalf("%s: %s", status, second)
		}
		if ack := u.request(sip.ACK, 1); ack.Recipient.String() != first.Recipient.String() {
			t.Fatalf("%s", ack)
		}
	}
	f("305 Use Proxy", true)
	f("380 Alternative Service", false)
	// Redirects to the same proxy over and over lead nowhere.
	u := script{sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
		u.send(from, response(r, "305 Use Proxy", "a", fmt.Sprintf("Contact: <sip:127.0.0.1:%d>\r\n", u.port()), ""))
	}}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), following(5))
	l := listen(t, nil)
	l.expect(place(s, l), "sent refused(305)")
	if n := u.count(sip.INVITE); n != 2 {
		t.Fatalf("%d INVITEs", n)
	}
}

func TestRedirectsEnd(t *testing.T) {
	f := func(redirects, invites int, contact func(u *uas, n uint32) string) {
		t.Helper()
		u := script{sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
			u.send(from, response(r, "302 Moved Temporarily", "a", "Contact: "+contact(u, r.CSeq().SeqNo)+"\r\n", ""))
		}}.start(t)
		s := newStack(t, sipstack.Config{})
		setTrunk(s, u.port(), following(redirects))
		l := listen(t, nil)
		es := l.expect(place(s, l), "sent refused(302)")
		if n := u.count(sip.INVITE); n != invites || len(es[1].Contacts) != 1 {
			t.Fatalf("%d INVITEs, want %d; %+v", n, invites, es[1])
		}
	}
	next := func(u *uas, n uint32) string { return fmt.Sprintf("<sip:n%d@127.0.0.1:%d>", n, u.port()) }
	f(0, 1, next)
	f(2, 3, next)
	f(99, 6, next)                                                                                     // five at most
	f(5, 2, func(u *uas, _ uint32) string { return fmt.Sprintf("<sip:loop@127.0.0.1:%d>", u.port()) }) // itself
	// The first again.
	f(5, 1, func(u *uas, _ uint32) string { return fmt.Sprintf("<sip:+4915112345678@127.0.0.1:%d>", u.port()) })
	f(5, 1, func(*uas, uint32) string { return "<http://127.0.0.1>" })
	f(5, 1, func(*uas, uint32) string { return "<sip:x@127.0.0.1;transport=sctp>" })
}

func TestARedirectToANameIsResolvedAndMayBeCancelled(t *testing.T) {
	u := script{sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
		if r.Recipient.User == "there" {
			answers("486 Busy Here")(u, r, from)
			return
		}
		u.send(from, response(r, "302 Moved Temporarily", "a", fmt.Sprintf("Contact: <sip:there@localhost:%d>\r\n", u.port()),
			""))
	}}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), following(1))
	l := listen(t, nil)
	l.expect(place(s, l), "sent refused(486)")
}

func TestNoRedirectIsFollowedAfterTheSendByTimeOrACancel(t *testing.T) {
	u := newUAS(t, nil)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), following(5))
	l := listen(t, nil)
	a, leg := newLeg()
	cmd := placeCommand(a, leg)
	cmd.SendBy = timing.BootNow().Add(50 * time.Millisecond)
	s.PlaceLeg(cmd, l.sink)
	invite := u.request(sip.INVITE, 1)
	eventually(t, "the send-by time has passed", func() bool { return timing.BootNow() > cmd.SendBy })
	moved := response(invite, "302 Moved Temporarily", "a", fmt.Sprintf("Contact: <sip:x@127.0.0.1:%d>\r\n", u.port()), "")
	u.send(addr(s), moved)
	l.expect(leg, "sent refused(302)")

	other := place(s, l)
	var second *sip.Request
	eventually(t, "the second INVITE", func() bool {
		for _, r := range u.all(sip.INVITE) {
			if r.CallID().Value() == string(other) {
				second = r
			}
		}
		return second != nil
	})
	if got := s.CancelLeg(other); got != engine.CancelOwed {
		t.Fatal(got)
	}
	u.send(addr(s), response(second, "302 Moved Temporarily", "a",
		fmt.Sprintf("Contact: <sip:x@127.0.0.1:%d>\r\n", u.port()), ""))
	l.expect(other, "sent refused(302)")
}
