package sipstack_test

import (
	"net/netip"
	"strings"
	"sync"
	"testing"

	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

// rungs writes a ladder in short form: ">INVITE+SDP <180 >ACK".
func rungs(ms []engine.SIPMessage) string {
	var out []string
	for _, m := range ms {
		s := "<"
		if m.Sent {
			s = ">"
		}
		switch {
		case m.Code == 0:
			s += m.Method
		case m.Method == "INVITE":
			s += strings.Fields(m.Reason + " -")[0]
		default:
			s += strings.Fields(m.Reason + " -")[0] + "/" + m.Method
		}
		if m.Note != "" {
			s += "+" + m.Note
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestTheLadderOfALegHoldsEveryMessageOnce(t *testing.T) {
	u := script{
		sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
			if r.GetHeader("Authorization") == nil {
				u.reply(r, from, "401 Unauthorized", "far", "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n", "")
				return
			}
			u.reply(r, from, "100 Trying", "", "", "")
			u.reply(r, from, "180 Ringing", "far", "", "")
			u.reply(r, from, "180 Ringing", "far", "", "")
			answers("200 OK")(u, r, from)
		},
		sip.BYE: answers("200 OK"),
	}.start(t)
	var mu sync.Mutex
	var kept []engine.SIPMessage
	s := newStack(t, sipstack.Config{OnLegOver: func(final engine.LegEvent, answered bool,
		messages func() []engine.SIPMessage) {
		mu.Lock()
		defer mu.Unlock()
		if final.Kind != engine.LegClosed || final.Code != 200 || !answered {
			t.Errorf("%+v, answered %v", final, answered)
		}
		kept = messages()
	}})
	setTrunk(s, u.port(), withCredentials)
	l := listen(t, confirming(s, true))
	leg := place(s, l)
	l.kind(leg, engine.LegClosed)
	mu.Lock()
	defer mu.Unlock()
	got := rungs(kept)
	want := ">INVITE+SDP <Unauthorized+challenge >ACK >INVITE+SDP <Trying <Ringing <OK >ACK >BYE <OK/BYE"
	if strings.ReplaceAll(got, "<OK+SDP", "<OK") != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, m := range kept {
		if strings.Contains(m.Note+m.Reason, "+49") || m.Leg != leg || m.At.IsZero() || m.CSeq == 0 ||
			(m.Method == "INVITE" && m.Code == 180 && m.Repeats != 1) {
			t.Errorf("%+v", m)
		}
	}
	if live := s.Ladder(l.of(leg)[0].Attempt); rungs(live) != got {
		t.Errorf("asked for: %s", rungs(live))
	}
}

func TestTheLadderOfARefusedLegHasItsReasons(t *testing.T) {
	u := script{sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
		u.reply(r, from, "503 No\x01 Circuit "+strings.Repeat("x", 100), "far",
			"Retry-After: 7\r\nReason: Q.850;cause=34\r\n", "")
	}}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	leg := place(s, l)
	l.kind(leg, engine.LegRefused)
	ms := s.Ladder(l.of(leg)[0].Attempt)
	if len(ms) != 3 || ms[1].Code != 503 || len(ms[1].Reason) > 60 ||
		ms[1].Note != "Retry-After: 7, Reason: Q.850;cause=34" || ms[2].Method != "ACK" || !ms[2].Sent {
		t.Errorf("%+v", ms)
	}
}

func TestALadderIsBounded(t *testing.T) {
	u := script{sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
		for i := range 3 * engine.LadderCap {
			u.reply(r, from, "183 Progress "+strings.Repeat("i", 1+i%50), "far",
				"Reason: SIP;cause=200;text=\""+strings.Repeat("x", i%50)+"\"\r\n", "")
		}
		u.reply(r, from, "486 Busy Here", "far", "", "")
	}}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l := listen(t, nil)
	leg := place(s, l)
	l.kind(leg, engine.LegRefused)
	ms := s.Ladder(l.of(leg)[0].Attempt)
	if len(ms) != engine.LadderCap || ms[0].Method != "INVITE" || !ms[0].Sent {
		t.Errorf("%d messages, the first %+v", len(ms), ms[0])
	}
}
