package ladder

import (
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/disposition"
)

var start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func msg(ms int, sent bool, method string, code int, reason string) engine.SIPMessage {
	return engine.SIPMessage{At: start.Add(time.Duration(ms) * time.Millisecond), Leg: "leg-1", Sent: sent, Method: method,
		Code: code, Reason: reason,
		CSeq: 1, Peer: "192.0.2.1:5060"}
}

func TestALadderIsDrawnWithAnArrowAMessage(t *testing.T) {
	ring := msg(1500, false, "INVITE", 180, "Ringing")
	ring.Repeats = 2
	bye := msg(9000, true, "BYE", 0, "")
	bye.Peer = "192.0.2.9:5060"
	other := msg(9100, true, "INVITE", 0, "")
	other.Leg, other.Note = "leg-2", "SDP"
	got := Draw([]engine.SIPMessage{msg(0, true, "INVITE", 0, ""), ring, bye, other})
	want := `leg leg-1
       ms  dialler                                        192.0.2.1:5060
      0.0  INVITE ` + strings.Repeat("─", 37) + `▶
   1500.0  ◀` + strings.Repeat("─", 29) + ` 180 Ringing ×3
       ms  dialler                                        192.0.2.9:5060
   9000.0  BYE ` + strings.Repeat("─", 40) + `▶
leg leg-2
       ms  dialler                                        192.0.2.1:5060
   9100.0  INVITE (SDP) ` + strings.Repeat("─", 31) + `▶
`
	if got != want {
		t.Errorf("drawn\n%s\nwant\n%s", got, want)
	}
	if got := Draw(nil); !strings.Contains(got, "No SIP message") {
		t.Errorf("an empty one: %q", got)
	}
}

func TestEveryFinalResponseIsExplained(t *testing.T) {
	for code := 100; code < 700; code++ {
		if s := Explain(msg(1, false, "INVITE", code, "x"), nil); len(s) < 12 ||
			!strings.HasSuffix(strings.TrimSpace(s), ".") && !strings.HasSuffix(s, "?") {
			t.Errorf("%d is explained by %q", code, s)
		}
	}
	for _, m := range []string{"INVITE", "ACK", "CANCEL", "BYE", "PRACK", "UPDATE", "INFO", "REFER", "NOTIFY", "OPTIONS",
		"other"} {
		for _, sent := range []bool{true, false} {
			if s := Explain(msg(1, sent, m, 0, ""), nil); len(s) < 8 {
				t.Errorf("%s is explained by %q", m, s)
			}
		}
	}
}

func TestAnAnswerIsExplainedByWhatCameBefore(t *testing.T) {
	invite, ring, ok := msg(0, true, "INVITE", 0, ""), msg(1, false, "INVITE", 180, "Ringing"), msg(2, false, "INVITE",
		200, "OK")
	challenge := msg(1, false, "INVITE", 407, "Proxy Authentication Required")
	for name, c := range map[string]struct {
		m      engine.SIPMessage
		before []engine.SIPMessage
		want   string
	}{
		"first challenge":  {challenge, []engine.SIPMessage{invite}, "who we are"},
		"second challenge": {challenge, []engine.SIPMessage{invite, challenge, invite}, "refused our credentials"},
		"with credentials": {invite, []engine.SIPMessage{invite, challenge}, "with our credentials"},
		"silence after ring": {msg(3, false, "INVITE", 408, "Request Timeout"), []engine.SIPMessage{invite, ring},
			"outcome no_answer"},
		"silence": {msg(3, false, "INVITE", 408, "Request Timeout"), []engine.SIPMessage{invite},
			"outcome trunk_error"},
		"busy":         {msg(3, false, "INVITE", 486, "Busy Here"), []engine.SIPMessage{invite}, "the trunk works"},
		"no codec":     {msg(3, false, "INVITE", 488, "Not Acceptable Here"), nil, "codecs"},
		"answer":       {ok, []engine.SIPMessage{invite, ring}, "was answered"},
		"answer again": {ok, []engine.SIPMessage{invite, ring, ok}, "Confirmed again"},
		"refresh":      {invite, []engine.SIPMessage{invite, ok}, "refresh"},
		"their offer":  {msg(3, false, "INVITE", 0, ""), nil, "another session"},
		"redirected": {invite, []engine.SIPMessage{invite, msg(1, false, "INVITE", 302, "Moved Temporarily")},
			"redirection"},
		"interval": {invite, []engine.SIPMessage{invite, msg(1, false, "INVITE", 422, "")},
			"longer session interval"},
		"hung up by carrier":  {msg(3, false, "BYE", 0, ""), nil, "The carrier hung up"},
		"hung up by us":       {msg(3, true, "BYE", 0, ""), nil, "We hung up"},
		"unknown call":        {msg(3, false, "BYE", 481, ""), nil, "no longer knew"},
		"session refused":     {msg(3, true, "INVITE", 488, ""), nil, "stays as it was"},
		"called off":          {msg(3, false, "INVITE", 487, ""), nil, "cancelled"},
		"answered our cancel": {msg(3, false, "CANCEL", 200, "OK"), nil, "agreed"},
	} {
		if s := Explain(c.m, c.before); !strings.Contains(s, c.want) {
			t.Errorf("%s: %q does not say %q", name, s, c.want)
		}
	}
	again := invite
	again.Repeats = 3
	if s := Explain(again, nil); !strings.Contains(s, "repeated 3 times") {
		t.Errorf("retransmissions: %q", s)
	}
}

func TestOnlyLaddersOfFailuresAreWorthKeeping(t *testing.T) {
	for name, c := range map[string]struct {
		e        engine.LegEvent
		answered bool
		want     bool
	}{
		"busy":            {e: engine.LegEvent{Kind: engine.LegRefused, Code: 486}},
		"no answer":       {e: engine.LegEvent{Kind: engine.LegRefused, Code: 480}},
		"called off":      {e: engine.LegEvent{Kind: engine.LegRefused, Code: 487}},
		"wrong number":    {e: engine.LegEvent{Kind: engine.LegRefused, Code: 404}},
		"congestion":      {e: engine.LegEvent{Kind: engine.LegRefused, Code: 503}, want: true},
		"credentials":     {e: engine.LegEvent{Kind: engine.LegRefused, Code: 407}, want: true},
		"codecs":          {e: engine.LegEvent{Kind: engine.LegRefused, Code: 488}, want: true},
		"unlisted":        {e: engine.LegEvent{Kind: engine.LegRefused, Code: 499}, want: true},
		"no route":        {e: engine.LegEvent{Kind: engine.LegNotSent, NotSent: engine.NotSentNoRoute}, want: true},
		"cancelled":       {e: engine.LegEvent{Kind: engine.LegNotSent, NotSent: engine.NotSentCancelled}},
		"expired":         {e: engine.LegEvent{Kind: engine.LegNotSent, NotSent: engine.NotSentExpired}},
		"silent":          {e: engine.LegEvent{Kind: engine.LegClosed}, want: true},
		"our BYE":         {e: engine.LegEvent{Kind: engine.LegClosed, Code: 200}, answered: true},
		"BYE unanswered":  {e: engine.LegEvent{Kind: engine.LegClosed}, answered: true, want: true},
		"BYE refused":     {e: engine.LegEvent{Kind: engine.LegClosed, Code: 481}, answered: true, want: true},
		"hung up":         {e: engine.LegEvent{Kind: engine.LegHungUp, Q850: 16}, answered: true},
		"hung up, broken": {e: engine.LegEvent{Kind: engine.LegHungUp, Q850: 41}, answered: true, want: true},
		"not the end":     {e: engine.LegEvent{Kind: engine.LegAnswered}},
	} {
		if got := Worth(c.e, c.answered); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestEveryFaultHasAdvice(t *testing.T) {
	for _, f := range []disposition.Fault{disposition.FaultCallee, disposition.FaultNumber, disposition.FaultCallerID,
		disposition.FaultTrunk, disposition.FaultNetwork, disposition.FaultMedia, disposition.FaultUs} {
		if advice(f) == "" {
			t.Errorf("%s has none", f)
		}
	}
}
