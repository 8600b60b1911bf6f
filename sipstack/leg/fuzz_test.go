package leg

import (
	"net/netip"
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

// FuzzMessage sends messages to a stack with legs in several states. Nothing may panic, and each
// leg may end only once, with gapless Seq.
func FuzzMessage(f *testing.F) {
	for id := range fuzzLegs {
		branch := message.DeriveBranch(string(id), 1, "INVITE")
		for _, status := range []string{"100 Trying", "180 Ringing", "200 OK", "200 OK", "302 Moved", "407 Auth",
			"486 Busy", "603 Decline"} {
			f.Add("SIP/2.0 "+status+"\r\nVia: SIP/2.0/UDP h;branch="+branch+
				"\r\nFrom: <sip:a@b>;tag="+message.DeriveTag(string(id))+
				"\r\nTo: <sip:c@d>;tag=far\r\nCall-ID: "+string(id)+"\r\nCSeq: 1 INVITE\r\n"+
				"Contact: <sip:x@127.0.0.1:9>\r\n"+
				"Record-Route: <sip:127.0.0.1:9>\r\nReason: Q.850;cause=17\r\nContent-Length: 0\r\n\r\n", uint8(1))
		}
		for _, method := range []string{"BYE", "INVITE", "UPDATE", "INFO", "CANCEL", "ACK", "OPTIONS", "NOTIFY"} {
			f.Add(method+" sip:a@b SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:9;branch=z9hG4bKx;rport\r\n"+
				"From: <sip:c@d>;tag=far\r\nTo: <sip:a@b>;tag="+
				message.DeriveTag(string(id))+"\r\nCall-ID: "+string(id)+"\r\nCSeq: 1 "+method+"\r\nContent-Type: "+
				"application/sdp\r\nContent-Length: 0\r\n\r\n", uint8(3))
		}
	}
	s, err := openTable(Config{Timers: timing.Timers{T1: time.Hour}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.shut)
	s.trunks.SetTrunk(trunk.Config{ID: "t", Host: "127.0.0.1", Port: 9, OptionsInterval: -1, Username: "u", Password: "p"})
	parser := sip.NewParser(sip.WithHeadersParsers(transport.Parsers()))
	f.Fuzz(func(t *testing.T, text string, command uint8) {
		seqs := map[engine.LegID]int{}
		final := map[engine.LegID]bool{}
		sink := func(e engine.LegEvent) {
			if final[e.Leg] || e.Seq != seqs[e.Leg]+1 {
				t.Fatalf("%+v after Seq %d, final %v", e, seqs[e.Leg], final[e.Leg])
			}
			seqs[e.Leg], final[e.Leg] = e.Seq, e.Kind.Final()
		}
		for id, p := range fuzzLegs {
			l := s.newLeg(id, engine.AttemptID(id), s.trunks.Get("t"), sink)
			l.inv.offer, l.inv.cseq, l.inv.sendBy = []byte("v=0\r\n"), 1, timing.BootNow().Add(time.Hour)
			l.parties.set(l.trunk, l.s.net.First().External(), "+1", "+2", "")
			s.add(l)
			l.mu.Lock()
			l.inv.begin(s.trunks.Get("t").Targets())
			l.phase = p
			if p >= phaseAnswered && p <= phaseClosing {
				l.dlg = &dialog{toTag: "far", target: "sip:x@127.0.0.1:9", invite: 1, seq: 1}
				l.dlg.route(l.trunk, l.parties.toURI, l.inv.to)
			}
			l.unlock()
		}
		defer func() {
			s.each(func(l *leg) {
				l.mu.Lock()
				l.phase = phaseGone
				l.unlock()
				s.remove(l.id, l.attempt)
			})
		}()
		if m, err := parser.ParseSIP([]byte(text)); err == nil {
			for range 2 {
				switch m := m.(type) {
				case *sip.Response:
					s.onResponse(m, fuzzPeer.Addr)
				case *sip.Request:
					s.onRequest(m, fuzzPeer)
				}
			}
		}
		for id := range fuzzLegs {
			switch command % 4 {
			case 0:
				s.CancelLeg(id)
			case 1:
				s.ConfirmLeg(id)
			case 2:
				s.HangUpLeg(id, engine.HangUpCause{Text: strings.ToValidUTF8(text, "")})
			}
		}
	})
}

var (
	fuzzPeer = transport.Target{Addr: netip.MustParseAddrPort("127.0.0.1:9")}
	fuzzLegs = map[engine.LegID]phase{
		"calling": phaseCalling, "proceeding": phaseProceeding, "answered": phaseAnswered, "confirmed": phaseConfirmed,
		"closing": phaseClosing, "silent": phaseSilent, "watch": phaseWatch,
	}
)
