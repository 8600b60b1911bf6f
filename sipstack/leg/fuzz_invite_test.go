package leg

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"dialler/engine"
	"dialler/sipstack/transport"
	"dialler/sipstack/trunk"

	"github.com/emiago/sipgo/sip"
)

// FuzzInvite checks that for any call data, the INVITE is one message with exactly the expected
// headers, and so are its CANCEL and its ACK.
func FuzzInvite(f *testing.F) {
	f.Add("+4930", "+4940", "", "X-Name", "Ada", "e164", "sip:x@y", "")
	f.Add("a\r\nX: y", "b@c>", "sip:bot@127.0.0.1:9;transport=tcp", "Via\r\nX", "1\r\n\r\nBYE", "national", "acme",
		"id\r\nX: 1")
	f.Add("\x00\xff", "é", "sip:bot@[::1]", "", "", "", "\"<>", "header;user")
	s := lawless(f)
	parser := sip.NewParser(sip.WithHeadersParsers(transport.Parsers()))
	f.Fuzz(func(t *testing.T, from, to, uri, name, value, format, user, privacy string) {
		if len(from)+len(to)+len(uri)+len(name)+len(value)+len(format)+len(user)+len(privacy) > 8192 {
			return
		}
		if _, ok := engine.ParseSIPURI(uri); uri != "" && !ok {
			return // such a leg is never placed
		}
		tr := s.trunks.New(trunk.Config{ID: "x", Host: "127.0.0.1", Port: 9, FromUser: user, FromDomain: user,
			UserAgent: value, Privacy: privacy,
			NumberFormat: trunk.NumberFormat(format), CallerIDHeader: trunk.CallerIDAsserted,
			ExtraHeaders: []trunk.Header{{Name: "X-T-" + name, Value: value}}})
		l := s.newLeg("leg", "attempt", tr, nil)
		l.inv.offer, l.inv.cseq, l.inv.headers = []byte(propertySDP), 1,
			[]engine.SIPHeader{{Name: "X-" + name, Value: value}}
		l.parties.set(l.trunk, l.s.net.First().External(), engine.PhoneNumber(from), engine.PhoneNumber(to), uri)
		l.inv.to = tr.To(fuzzPeer.Addr)
		l.inv.address()
		for method, b := range map[sip.RequestMethod][]byte{
			sip.INVITE: l.inv.appendInvite(nil), sip.CANCEL: l.inv.appendCancel(nil, 1),
			sip.ACK: l.inv.appendHopACK(nil, "<sip:x@y>", 1),
		} {
			m, err := parser.ParseSIP(b)
			if err != nil {
				t.Fatalf("%v:\n%q", err, b)
			}
			r, ok := m.(*sip.Request)
			if !ok || r.Method != method || r.CallID() == nil || r.CallID().Value() != "leg" ||
				len(r.GetHeaders("via")) != 1 || len(r.GetHeaders("call-id")) != 1 ||
				len(r.GetHeaders("cseq")) != 1 || len(r.GetHeaders("to")) != 1 {
				t.Fatalf("%s is\n%q", method, b)
			}
			// Each of our lines begins with a header name: none begins with call data.
			head, body, _ := strings.Cut(string(b), "\r\n\r\n")
			if strings.ContainsAny(strings.ReplaceAll(head, "\r\n", ""), "\r\n\x00") || method != sip.INVITE &&
				body != "" || method == sip.INVITE && body != propertySDP {
				t.Fatalf("%s is\n%q", method, b)
			}
			if most := 24; strings.Count(head, "\r\n") > most {
				t.Fatalf("%d header lines:\n%q", strings.Count(head, "\r\n"), b)
			}
		}
	})
}

// FuzzStoredDialog checks that for any stored dialog of an earlier process, the leg has exactly one
// end, and what is sent for it is valid SIP.
func FuzzStoredDialog(f *testing.F) {
	f.Add("tag", "sip:c@127.0.0.1:9", "<sip:127.0.0.1:9;lr>", "<sip:127.0.0.1:10>", "127.0.0.1:9", "udp",
		"10.0.0.1:5060", uint32(2))
	f.Add("a\r\nX: y", "<>", "", "\x00", "nowhere", "tls", "", uint32(1<<31))
	s := lawless(f)
	parser := sip.NewParser(sip.WithHeadersParsers(transport.Parsers()))
	f.Fuzz(func(t *testing.T, tag, contact, route, second, addr, over, local string, cseq uint32) {
		if strings.EqualFold(over, "tcp") || strings.EqualFold(over, "tls") ||
			strings.Contains(strings.ToLower(contact+route), "transport") ||
			strings.Contains(strings.ToLower(contact+route), "sips") {
			return // other goroutines open connections
		}
		var sent [][]byte
		s.net.Tap = func(b []byte) { sent = append(sent, slices.Clone(b)) }
		ended := 0
		s.RecoverLeg(engine.RecoveredLeg{Leg: "old", Attempt: "a", Trunk: "t", From: "+1", To: "+2", CSeq: cseq,
			Dialog: &engine.DialogState{
				ToTag: tag, RemoteTarget: contact, RouteSet: []string{route, second}, CSeq: cseq, RemoteAddr: addr,
				Transport: over, LocalAddr: local,
			}}, func(e engine.LegEvent) {
			if ended++; e.Kind != engine.LegClosed || e.Seq != 1 {
				t.Fatalf("%+v", e)
			}
		})
		l := s.leg("old")
		for range 4 {
			l.mu.Lock()
			for _, tx := range l.txs.running {
				tx.endAt = l.s.clock.Now()
			}
			l.mu.Unlock()
			l.onTimer()
		}
		l.mu.Lock()
		l.phase = phaseGone
		l.unlock()
		s.remove(l.id, l.attempt)
		if ended != 1 {
			t.Fatalf("%d ends", ended)
		}
		for _, b := range sent {
			head, rest, _ := strings.Cut(string(b), "\r\n\r\n")
			if strings.ContainsAny(strings.ReplaceAll(head, "\r\n", ""), "\r\n\x00") || rest != "" {
				t.Fatalf("sent %q", b)
			}
		}
		if utf8.ValidString(contact+route+second+tag) && len(sent) > 0 &&
			!strings.ContainsAny(contact+route+second+tag, " \t<>\"?;,%") {
			if m, err := parser.ParseSIP(sent[0]); err == nil && m.CallID() != nil && m.CallID().Value() != "old" {
				t.Fatalf("sent %q", sent[0])
			}
		}
	})
}
