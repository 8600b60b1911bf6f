package sipstack

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/timing"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// FuzzMessage throws messages at a stack with legs in several states. Nothing
// may panic, and each leg may end only once, with gapless Seq.
func FuzzMessage(f *testing.F) {
	for id := range fuzzLegs {
		branch := message.DeriveBranch(string(id), 1, "INVITE")
		for _, status := range []string{"100 Trying", "180 Ringing", "200 OK", "200 OK", "302 Moved", "407 Auth", "486 Busy", "603 Decline"} {
			f.Add("SIP/2.0 "+status+"\r\nVia: SIP/2.0/UDP h;branch="+branch+"\r\nFrom: <sip:a@b>;tag="+message.DeriveTag(string(id))+
				"\r\nTo: <sip:c@d>;tag=far\r\nCall-ID: "+string(id)+"\r\nCSeq: 1 INVITE\r\nContact: <sip:x@127.0.0.1:9>\r\n"+
				"Record-Route: <sip:127.0.0.1:9>\r\nReason: Q.850;cause=17\r\nContent-Length: 0\r\n\r\n", uint8(1))
		}
		for _, method := range []string{"BYE", "INVITE", "UPDATE", "INFO", "CANCEL", "ACK", "OPTIONS", "NOTIFY"} {
			f.Add(method+" sip:a@b SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:9;branch=z9hG4bKx;rport\r\nFrom: <sip:c@d>;tag=far\r\nTo: <sip:a@b>;tag="+
				message.DeriveTag(string(id))+"\r\nCall-ID: "+string(id)+"\r\nCSeq: 1 "+method+"\r\nContent-Type: application/sdp\r\nContent-Length: 0\r\n\r\n", uint8(3))
		}
	}
	s, err := New(Config{Listen: "127.0.0.1:0", Timers: timing.Timers{T1: time.Hour}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	s.SetTrunk(TrunkConfig{ID: "t", Host: "127.0.0.1", Port: 9, OptionsInterval: -1, Username: "u", Password: "p"})
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
			l := s.newLeg(id, engine.AttemptID(id), s.trunk("t"), sink)
			l.offer, l.cseq, l.sendBy = []byte("v=0\r\n"), 1, timing.BootNow().Add(time.Hour)
			l.setParties("+1", "+2", "")
			s.add(l)
			l.mu.Lock()
			l.begin(s.trunk("t").targets())
			l.phase = p
			if p >= phaseAnswered && p <= phaseClosing {
				l.dlg = &dialog{toTag: "far", target: "sip:x@127.0.0.1:9", invite: 1, seq: 1}
				l.route(l.dlg)
			}
			l.unlock()
		}
		defer func() {
			s.each(func(l *leg) {
				l.mu.Lock()
				l.phase = phaseGone
				l.unlock()
				s.remove(l)
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

// FuzzGranted: whatever a registrar answers, the lifetime is one that can be
// waited for, and a well-formed answer of ours is read as it is.
func FuzzGranted(f *testing.F) {
	f.Add("<sip:u@h>;expires=60, <sip:other@h>;expires=7", "3600", 600)
	f.Add("sip:u@h;expires=99999999999", "x", 1)
	f.Add(`"a, b" <sip:u@h>;q=0.1; Expires = 5`, "-1", 0)
	f.Fuzz(func(t *testing.T, contact, expires string, asked int) {
		asked = max(min(asked, maxRegister), 0)
		r := sip.NewResponse(200, "OK")
		r.AppendHeader(sip.NewHeader("Contact", contact))
		r.AppendHeader(sip.NewHeader("Expires", expires))
		if n := granted(r, "u", asked); n < 0 || n > maxRegister {
			t.Fatal(n)
		}
		r = sip.NewResponse(200, "OK")
		r.AppendHeader(sip.NewHeader("Contact", "<sip:x@y>;expires=1, <sip:u@h>;expires="+strconv.Itoa(asked)))
		if n := granted(r, "u", 5); n != asked {
			t.Fatal(n)
		}
	})
}

// FuzzOutboundProxy: a setting gives a host that can stand in a header and a
// port, or a fault.
func FuzzOutboundProxy(f *testing.F) {
	for _, s := range []string{"proxy.example", "proxy.example:5070", "[::1]:5060", "::1", "a:b", ":5060", "a b\r\nX: y", "::1%a\r\nX: y", "h:70000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tr := &trunk{conf: TrunkConfig{Host: "carrier.example", OutboundProxy: text, Transport: message.TCP}}
		tr.proxy()
		if tr.hopPort < 0 || tr.hopPort > 65535 || (tr.fault == "" && tr.hopHost == "") {
			t.Fatalf("%q: %+v", text, tr)
		}
		if line := tr.routeLine; line != "" {
			var u sip.Uri
			if strings.Count(line, "\r\n") != 1 || !strings.HasSuffix(line, ";lr>\r\n") || sip.ParseUri(message.AddrSpec(strings.TrimPrefix(strings.TrimSpace(line), "Route: ")), &u) != nil {
				t.Fatalf("%q: %q", text, line)
			}
		}
	})
}
