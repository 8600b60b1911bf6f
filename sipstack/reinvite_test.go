package sipstack_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

// negotiator answers every offer except those that it refuses.
type negotiator struct {
	mu     sync.Mutex
	answer []string // the answers that it was given
	from   netip.Addr
	ended  []engine.LegID // that were hung up
}

func (n *negotiator) AnsweredFrom(_ engine.AttemptID, _ engine.LegID, host netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.from = host
}

func (n *negotiator) HungUp(_ engine.AttemptID, leg engine.LegID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = append(n.ended, leg)
}

func (*negotiator) Reoffer(_ engine.AttemptID, _ engine.LegID, offer []byte) ([]byte, error) {
	if strings.Contains(string(offer), "video") {
		return nil, errors.New("no video")
	}
	return []byte("answer to " + string(offer)), nil
}

func (*negotiator) Offer(_ engine.AttemptID, _ engine.LegID, first []byte) ([]byte, error) {
	if string(first) != string(testOffer) {
		return nil, errors.New("not the first offer")
	}
	return []byte("our offer"), nil
}

func (n *negotiator) Reanswer(_ engine.AttemptID, _ engine.LegID, answer []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answer = append(n.answer, string(answer))
}

const sdpType = "Content-Type: application/sdp\r\n"

func TestOffersOfTheFarSideAreAnsweredByTheMedia(t *testing.T) {
	n := &negotiator{}
	u := script{sip.INVITE: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{Media: n})
	setTrunk(s, u.port(), nil)
	l, leg, invite := answered(t, s, u)
	n.mu.Lock()
	if n.from != netip.MustParseAddr("127.0.0.1") {
		t.Fatalf("the media was told that the 200 came from %v", n.from)
	}
	n.mu.Unlock()
	moved := strings.Replace(answerSDP, "50000", "50002", 1)
	u.inDialog(invite, "far", "INVITE", 1, sdpType+"Contact: <sip:moved@"+u.conn.LocalAddr().String()+">\r\n", moved)
	if r := u.response(1); r.StatusCode != 200 || string(r.Body()) != "answer to "+moved || r.Contact() == nil {
		t.Fatalf("%s", r)
	}
	u.inDialog(invite, "far", "INVITE", 2, sdpType, answerSDP) // before the ACK (RFC 3261 §14.2)
	if r := u.response(2); r.StatusCode != 500 || header(r, "Retry-After") == "" {
		t.Fatalf("%s", r)
	}
	u.inDialog(invite, "far", "ACK", 1, "", "")
	u.inDialog(invite, "far", "ACK", 2, "", "")
	u.inDialog(invite, "far", "UPDATE", 3, sdpType, answerSDP+"m=video 1 RTP/AVP 31\r\n")
	if r := u.response(3); r.StatusCode != 488 {
		t.Fatalf("%s", r)
	}
	u.inDialog(invite, "far", "UPDATE", 4, "Content-Type: text/plain\r\n", "hello")
	if r := u.response(4); r.StatusCode != 415 || header(r, "Accept") != "application/sdp" {
		t.Fatalf("%s", r)
	}
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	l.expect(leg, "sent answered(200) closed(200)")
	if bye := u.request(sip.BYE, 1); bye.Recipient.User != "moved" {
		t.Fatalf("the target was refreshed: %s", bye)
	}
}

func TestTheMediaFallsSilentBeforeTheByeLeaves(t *testing.T) {
	n := &negotiator{}
	u := script{sip.INVITE: answers("200 OK")}.start(t) // the BYE is not answered
	s := newStack(t, sipstack.Config{Media: n})
	setTrunk(s, u.port(), nil)
	_, leg, _ := answered(t, s, u)
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	u.request(sip.BYE, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.ended, []engine.LegID{leg}) {
		t.Fatalf("the media was told of the end of %v", n.ended)
	}
}

func TestAnOfferlessReinviteIsAnsweredInItsAck(t *testing.T) {
	n := &negotiator{}
	u := script{sip.INVITE: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{Media: n})
	setTrunk(s, u.port(), nil)
	_, _, invite := answered(t, s, u)
	u.inDialog(invite, "far", "INVITE", 1, "", "")
	if r := u.response(1); r.StatusCode != 200 || string(r.Body()) != "our offer" {
		t.Fatalf("%s", r)
	}
	u.inDialog(invite, "far", "UPDATE", 2, sdpType, answerSDP) // our offer is not answered
	if r := u.response(2); r.StatusCode != 491 {
		t.Fatalf("%s", r)
	}
	u.inDialog(invite, "far", "ACK", 1, sdpType, answerSDP)
	u.inDialog(invite, "far", "ACK", 1, sdpType, answerSDP)
	eventually(t, "the answer is given to the media once", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return len(n.answer) == 1 && n.answer[0] == answerSDP
	})
}

func TestA200IsRepeatedUntilItsAckOrTheCallEnds(t *testing.T) {
	u := script{sip.INVITE: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{Media: &negotiator{}, Timers: wide})
	setTrunk(s, u.port(), nil)
	l, leg, invite := answered(t, s, u)
	u.inDialog(invite, "far", "INVITE", 1, sdpType, answerSDP)
	u.again(u.response(1), 3)
	es := l.expect(leg, "sent answered(200) closed(200)")
	if es[2].Reason != "no ACK" {
		t.Fatalf("%+v", es[2])
	}
}

func TestARepeatedRequestGetsTheSameAnswer(t *testing.T) {
	u := script{sip.INVITE: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
	// No timer of ours repeats anything in this test.
	s := newStack(t, sipstack.Config{Media: &negotiator{}, Timers: sipstack.Timers{T1: patience}})
	setTrunk(s, u.port(), nil)
	l, leg, invite := answered(t, s, u)
	info := func(cseq int, key string) {
		u.inDialog(invite, "far", "INFO", cseq, "Content-Type: application/dtmf\r\n", key)
	}
	info(1, "5")
	first := u.response(1)
	info(2, "6")
	u.response(2)
	info(1, "5") // its 200 was lost: not out of order
	u.again(first, 2)
	if first.StatusCode != 200 || first.CSeq().SeqNo != 1 {
		t.Fatalf("%s", first)
	}
	u.inDialog(invite, "far", "INVITE", 3, sdpType, answerSDP)
	u.response(3)
	u.inDialog(invite, "far", "INVITE", 3, sdpType, answerSDP)
	u.again(u.response(3), 2)
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	l.expect(leg, "sent answered(200) digit digit closed(200)")
}

func TestKeysGoOutOneAtATimeWithCredentials(t *testing.T) {
	u := script{sip.INVITE: answers("200 OK"), sip.BYE: answers("200 OK"),
		sip.INFO: func(u *uas, r *sip.Request, from netip.AddrPort) {
			if r.CSeq().SeqNo == 2 {
				u.send(from, response(r, "401 Unauthorized", "far",
					"WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", algorithm=SHA-256\r\n", ""))
				return
			}
			u.reply(r, from, "200 OK", "far", "", "")
		}}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), withCredentials)
	l, leg, _ := answered(t, s, u)
	if !s.SendDigit(leg, '5', 0) || !s.SendDigit(leg, '#', 200*1e6) || s.SendDigit(leg, 'x', 0) {
		t.Fatal("keys refused")
	}
	first, second := u.request(sip.INFO, 2), u.request(sip.INFO, 3)
	if string(first.Body()) != "Signal=5\r\nDuration=40\r\n" || header(first, "Authorization") == "" ||
		header(first, "Content-Type") != "application/dtmf-relay" {
		t.Fatalf("%s", first)
	}
	if string(second.Body()) != "Signal=#\r\nDuration=200\r\n" || second.CSeq().SeqNo != 4 {
		t.Fatalf("%s", second)
	}
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	l.expect(leg, "sent answered(200) closed(200)")
	if s.SendDigit(leg, '5', 0) {
		t.Fatal("a key of an ended leg")
	}
}

func TestAnInfoOfAnUnknownDialogEndsTheCall(t *testing.T) {
	u := script{sip.INVITE: answers("200 OK"), sip.BYE: answers("481 Call/Transaction Does Not Exist"),
		sip.INFO: answers("481 Call/Transaction Does Not Exist")}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l, leg, _ := answered(t, s, u)
	s.SendDigit(leg, '5', 0)
	l.expect(leg, "sent answered(200) closed(481)")
}
