package leg

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/timing"
	"dialler/sipstack/transport"
	"dialler/sipstack/trunk"

	"github.com/emiago/sipgo/sip"
)

// inPhase makes a leg in a given phase with everything that belongs to it; sent returns what it has
// written since.
func inPhase(t *testing.T, p phase) (s *Table, l *leg, sent func() []sip.Message) {
	t.Helper()
	s, err := openTable(Config{Timers: timing.Timers{T1: time.Hour, T2: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.shut)
	var out []sip.Message
	parser := sip.NewParser()
	s.net.Tap = func(b []byte) {
		m, err := parser.ParseSIP(bytes.Clone(b))
		if err != nil {
			t.Errorf("%v:\n%s", err, b)
			return
		}
		out = append(out, m)
	}
	s.trunks.SetTrunk(trunk.Config{ID: "t", Host: "127.0.0.1", Port: 9, OptionsInterval: -1})
	id := engine.LegID("leg")
	if p == phaseWatch {
		s.RecoverLeg(engine.RecoveredLeg{Attempt: "a", Leg: id, Trunk: "t", From: "+1", To: "+2", CSeq: 1},
			func(engine.LegEvent) {})
	} else {
		s.PlaceLeg(engine.PlaceLeg{Attempt: "a", Leg: id, Trunk: "t", From: "+1", To: "+2",
			SendBy: timing.BootNow().Add(time.Hour), Offer: []byte(propertySDP)}, func(engine.LegEvent) {})
	}
	l = s.leg(id)
	respond := func(status string) { give(t, s, phaseResponse(l, status, "far")) }
	switch p {
	case phaseProceeding:
		respond("180 Ringing")
	case phaseAnswered, phaseConfirmed, phaseClosing:
		respond("200 OK")
		if p != phaseAnswered {
			s.ConfirmLeg(id)
		}
		if p == phaseClosing {
			s.HangUpLeg(id, engine.HangUpCause{})
		}
	case phaseSilent:
		l.mu.Lock()
		l.deadline = s.clock.Now()
		l.mu.Unlock()
		l.onTimer()
	case phaseOver:
		respond("486 Busy Here")
	case phaseQueued, phaseCalling, phaseWatch, phaseGone:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase != p {
		t.Fatalf("in %v, want %v", l.phase, p)
	}
	out = nil
	return s, l, func() []sip.Message { m := out; out = nil; return m }
}

func give(t *testing.T, s *Table, text string) {
	t.Helper()
	m, err := sip.NewParser(sip.WithHeadersParsers(transport.Parsers())).ParseSIP([]byte(text))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	switch m := m.(type) {
	case *sip.Response:
		s.onResponse(m, fuzzPeer.Addr)
	case *sip.Request:
		s.onRequest(m, fuzzPeer)
	}
}

func phaseResponse(l *leg, status, tag string) string {
	return fmt.Sprintf("SIP/2.0 %s\r\nVia: SIP/2.0/UDP h;branch=%s\r\nFrom: <sip:a@b>;tag=%s\r\n"+
		"To: <sip:c@d>;tag=%s\r\nCall-ID: %s\r\nCSeq: 1 INVITE\r\n"+
		"Contact: <sip:x@127.0.0.1:9>\r\nContent-Length: 0\r\n\r\n", status,
		message.DeriveBranch(string(l.id), 1, "INVITE"), l.parties.fromTag, tag, l.id)
}

// shape writes messages as their method or status, in order.
func shape(ms []sip.Message) string {
	var out []string
	for _, m := range ms {
		switch m := m.(type) {
		case *sip.Request:
			out = append(out, string(m.Method))
		case *sip.Response:
			out = append(out, fmt.Sprint(m.StatusCode))
		}
	}
	return strings.Join(out, " ")
}

func TestEveryRequestInEveryPhase(t *testing.T) {
	methods := []string{"INVITE", "UPDATE", "INFO", "OPTIONS", "REFER", "PRACK", "CANCEL", "SUBSCRIBE", "MESSAGE",
		"FROB", "BYE", "ACK"}
	for p, want := range map[phase]string{
		// Without an early dialog the answer is 481. BYE is only for answered dialogs (RFC 3261
		// §15).
		phaseCalling:    "481 481 481 481 481 481 481 481 481 481 481 -",
		phaseProceeding: "491 200 200 200 603 481 481 489 405 501 481 -",
		phaseAnswered:   "491 200 200 200 603 481 481 489 405 501 200 ACK -", // the BYE did not wait for the ACK
		phaseConfirmed:  "200 200 200 200 603 481 481 489 405 501 200 -",
		phaseClosing:    "481 481 200 200 603 481 481 489 405 501 200 -",
		phaseSilent:     "491 200 200 200 603 481 481 489 405 501 481 -",
		phaseWatch:      "481 481 481 481 481 481 481 481 481 481 200 -",
		phaseOver:       "481 481 481 481 481 481 481 481 481 481 481 -",
	} {
		t.Run(p.String(), func(t *testing.T) {
			var got []string
			for _, method := range methods {
				s, l, sent := inPhase(t, p)
				give(t, s, fmt.Sprintf("%s sip:us@127.0.0.1 SIP/2.0\r\n"+
					"Via: SIP/2.0/UDP 127.0.0.1:9;rport;branch=z9hG4bK%s\r\nFrom: <sip:c@d>;tag=far\r\n"+
					"To: <sip:a@b>;tag=%s\r\n"+
					"Call-ID: %s\r\nCSeq: 1 %s\r\nRefer-To: <sip:x@y>\r\nContent-Length: 0\r\n\r\n", method, method,
					l.parties.fromTag, l.id, method))
				if answer := shape(sent()); answer != "" {
					got = append(got, answer)
				} else {
					got = append(got, "-")
				}
			}
			if g := strings.Join(got, " "); g != want {
				t.Errorf("%v\n got %s\nwant %s", methods, g, want)
			}
		})
	}
}

func TestEveryResponseInEveryPhase(t *testing.T) {
	statuses := []string{"100 Trying", "180 Ringing", "200 OK", "302 Moved", "407 Auth", "422 Too Small", "486 Busy"}
	for p, want := range map[phase]string{
		phaseCalling:    "-,-,-,ACK,ACK,ACK,ACK",
		phaseProceeding: "-,-,-,ACK,ACK,ACK,ACK",
		// Another fork's 2xx gets ACK and BYE.
		phaseAnswered:  "-,-,ACK BYE,ACK,ACK,ACK,ACK",
		phaseConfirmed: "-,-,ACK BYE,ACK,ACK,ACK,ACK",
		phaseClosing:   "-,-,ACK BYE,ACK,ACK,ACK,ACK",
		phaseSilent:    "CANCEL,CANCEL,ACK BYE,ACK,ACK,ACK,ACK", // RFC 3261 §9.1
		phaseWatch:     "-,-,ACK BYE,ACK,ACK,ACK,ACK",           // its CANCEL is already running
		phaseOver:      "-,-,ACK BYE,ACK,ACK,ACK,ACK",
	} {
		t.Run(p.String(), func(t *testing.T) {
			var got []string
			for _, status := range statuses {
				s, l, sent := inPhase(t, p)
				give(t, s, phaseResponse(l, status, "other"))
				if answer := shape(sent()); answer != "" {
					got = append(got, answer)
				} else {
					got = append(got, "-")
				}
			}
			if g := strings.Join(got, ","); g != want {
				t.Errorf("%v\n got %s\nwant %s", statuses, g, want)
			}
		})
	}
}
