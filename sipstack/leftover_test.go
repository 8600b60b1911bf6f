package sipstack_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

// A killed cluster node is restarted at its address, and a call of its earlier process is answered:
// another node watches the leg, but hears nothing.
func TestACallOfAnEarlierLifeIsEndedByWhoeverHearsOfIt(t *testing.T) {
	invite := func(u *uas, s *sipstack.Stack, status, tag string) (id engine.LegID, send func()) {
		_, leg := newLeg()
		sum := sha256.Sum256([]byte("INVITE.1." + string(leg)))
		text := "SIP/2.0 " + status + "\r\nVia: SIP/2.0/UDP " + s.Addr() + ";branch=z9hG4bK" + hex.EncodeToString(sum[:10]) +
			"\r\n" +
			"From: <sip:+4930@127.0.0.1>;tag=ours\r\nTo: <sip:+4940@127.0.0.1>;tag=" + tag + "\r\nCall-ID: " + string(leg) +
			"\r\nCSeq: 1 INVITE\r\n" +
			"Contact: <sip:" + u.conn.LocalAddr().String() + ">\r\nContent-Length: 0\r\n\r\n"
		return leg, func() { u.send(addr(s), text) }
	}
	t.Run("answered", func(t *testing.T) {
		u := script{sip.BYE: answers("200 OK")}.start(t)
		s := newStack(t, sipstack.Config{Timers: fast})
		setTrunk(s, u.port(), nil)
		leg, send := invite(u, s, "200 OK", "far")
		send()
		ack, bye := u.request(sip.ACK, 1), u.request(sip.BYE, 1)
		if ack.CSeq().SeqNo != 1 || toTagOf(bye) != "far" || bye.CallID().Value() != string(leg) ||
			!strings.Contains(bye.From().Value(), "sip:+4930@127.0.0.1") {
			t.Fatalf("%s\n%s", ack, bye)
		}
		if a, _, _ := strings.Cut(string(leg), "."); len(s.AttachLeg(engine.AttemptID(a), func(engine.LegEvent) {})) != 0 {
			t.Error("its attempt is taken for one that lives")
		}
		eventually(t, "it is over", func() bool { return s.Stats().LiveLegs+s.Stats().RecoveredLegs == 0 })
		l := listen(t, nil) // a later watcher is told of its end
		s.RecoverLeg(engine.RecoveredLeg{Attempt: legAttempt(leg), Leg: leg, Trunk: trunkID}, l.sink)
		l.expect(leg, "closed(200)")
	})
	t.Run("its BYE is not answered", func(t *testing.T) {
		u := newUAS(t, nil)
		s := newStack(t, sipstack.Config{Timers: fast})
		setTrunk(s, u.port(), nil)
		_, send := invite(u, s, "200 OK", "far")
		send()
		u.request(sip.BYE, 1)
		if st := s.Stats(); st.LiveLegs != 1 || st.RecoveredLegs != 1 {
			t.Errorf("%d legs, %d of another process", st.LiveLegs, st.RecoveredLegs)
		}
	})
	t.Run("ringing", func(t *testing.T) {
		u := script{sip.CANCEL: answers("200 OK")}.start(t)
		s := newStack(t, sipstack.Config{Timers: fast})
		setTrunk(s, u.port(), nil)
		_, send := invite(u, s, "180 Ringing", "far")
		send()
		u.request(sip.CANCEL, 1)
		eventually(t, "it is over", func() bool { return s.Stats().LiveLegs+s.Stats().RecoveredLegs == 0 })
	})
	t.Run("of a stranger", func(t *testing.T) {
		u, other := newUAS(t, nil), newUAS(t, nil)
		s := newStack(t, sipstack.Config{Timers: fast})
		setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) { c.Host = "127.0.0.2" })
		_, send := invite(other, s, "200 OK", "far")
		send()
		eventually(t, "it is counted", func() bool { return s.Stats().Unmatched == 1 })
		if s.Stats().KnownLegs != 0 {
			t.Error("a stranger's answer is taken up")
		}
	})
}
