package sipstack

import (
	"net/netip"
	"strconv"
	"strings"

	"dialler/engine"

	"github.com/emiago/sipgo/sip"
)

// onRequest takes a request of the far side. Responses are built from the
// request alone (RFC 3261 §8.2.7), so that a retransmission gets the same
// answer without a server transaction.
func (s *Stack) onRequest(r *sip.Request, src target) {
	if r.Method == sip.ACK {
		return // never answered (§17)
	}
	if r.Via() == nil || r.To() == nil || r.From() == nil || r.CSeq() == nil || r.CallID() == nil {
		s.count.malformed.Add(1)
		return // nothing that could be answered
	}
	if toTag(r) != "" {
		s.onInDialog(r, src)
		return
	}
	if !s.mayAsk(src.addr.Addr()) {
		return
	}
	switch r.Method {
	case sip.OPTIONS:
		s.respond(r, src, 200, "OK", s.agentLines+"Accept: application/sdp\r\n", nil)
	case sip.INVITE:
		s.respond(r, src, 403, "Inbound Calls Not Accepted", s.userAgentLine, nil)
	case sip.CANCEL, sip.BYE, sip.INFO, sip.UPDATE, sip.PRACK:
		s.count.unmatched.Add(1)
		s.respond(r, src, 481, "Call/Transaction Does Not Exist", s.userAgentLine, nil)
	default:
		s.respondUnsupported(r, src)
	}
}

func (s *Stack) respondUnsupported(r *sip.Request, src target) {
	switch r.Method {
	case sip.REGISTER, sip.SUBSCRIBE, sip.NOTIFY, sip.REFER, sip.MESSAGE, sip.PUBLISH, sip.PRACK:
		s.respond(r, src, 405, "Method Not Allowed", s.agentLines, nil)
	default:
		s.respond(r, src, 501, "Not Implemented", s.agentLines, nil)
	}
}

// onInDialog takes a request with a To tag.
func (s *Stack) onInDialog(r *sip.Request, src target) {
	l := s.leg(engine.LegID(r.CallID().Value()))
	from, _ := r.From().Params.Get("tag")
	if l == nil || toTag(r) != l.fromTag {
		if !s.mayAsk(src.addr.Addr()) {
			return
		}
		s.count.unmatched.Add(1)
		s.respond(r, src, 481, "Call/Transaction Does Not Exist", s.userAgentLine, nil)
		return
	}
	l.mu.Lock()
	defer l.unlock()
	if !l.talksTo(src.addr.Addr()) {
		s.count.strangers.Add(1)
		return
	}
	l.received(r, src.addr)
	ours := l.dlg != nil && l.dlg.toTag == from
	if !ours && l.phase == phaseWatch && r.Method == sip.BYE {
		// Answered before the earlier life ended, and ended by the far side.
		l.respond(r, src, 200, "OK", s.userAgentLine, nil)
		l.dropCancels()
		l.finish(engine.LegEvent{Kind: engine.LegClosed, Reason: "BYE of the far side"})
		return
	}
	if !ours || (l.phase >= phaseOver && r.Method != sip.BYE) {
		s.count.unmatched.Add(1)
		l.respond(r, src, 481, "Call/Transaction Does Not Exist", s.userAgentLine, nil)
		return
	}
	seq := r.CSeq().SeqNo
	if seq < l.dlg.remote {
		l.respond(r, src, 500, "Request Out of Order", s.userAgentLine, nil) // §12.2.2
		return
	}
	repeated := seq == l.dlg.remote
	l.dlg.remote = seq
	if required := r.GetHeader("require"); required != nil && r.Method != sip.BYE && r.Method != sip.CANCEL {
		l.respond(r, src, 420, "Bad Extension", "Unsupported: "+clean(required.Value())+"\r\n"+s.userAgentLine, nil) // §8.2.2.3
		return
	}
	switch r.Method {
	case sip.BYE:
		l.respond(r, src, 200, "OK", s.userAgentLine, nil)
		l.onBye(r)
	case sip.INVITE, sip.UPDATE:
		l.onOffer(r, src)
	case sip.INFO:
		l.respond(r, src, 200, "OK", s.userAgentLine, nil)
		if d := infoDigit(r); d != 0 && !repeated && (l.phase == phaseAnswered || l.phase == phaseConfirmed) {
			l.emit(engine.LegEvent{Kind: engine.LegDigit, Digit: d})
		}
	case sip.OPTIONS:
		l.respond(r, src, 200, "OK", s.agentLines+"Accept: application/sdp\r\n", nil)
	case sip.CANCEL:
		// A re-INVITE is answered at once: there is never one to cancel.
		l.respond(r, src, 481, "Call/Transaction Does Not Exist", s.userAgentLine, nil)
	default:
		s.respondUnsupported(r, src)
	}
}

// onBye: the far side hung up. While our own BYE is on its way, that one's end
// is awaited: it is answered with 200 or 481 at once.
func (l *leg) onBye(r *sip.Request) {
	if l.phase != phaseAnswered && l.phase != phaseConfirmed {
		return
	}
	l.s.count.remoteByes.Add(1)
	cause, text := q850(messageReasons(r))
	l.finish(engine.LegEvent{Kind: engine.LegHungUp, Q850: cause, Reason: text})
}

// onOffer answers a re-INVITE or an UPDATE: 200 when the media stays where it
// is, 488 otherwise, which leaves the session as it was (RFC 3261 §14.2).
func (l *leg) onOffer(r *sip.Request, src target) {
	if l.phase != phaseAnswered && l.phase != phaseConfirmed {
		l.respond(r, src, 481, "Call/Transaction Does Not Exist", l.s.userAgentLine, nil)
		return
	}
	offer := sdpOf(r)
	if len(r.Body()) > 0 && offer == nil {
		l.respond(r, src, 415, "Unsupported Media Type", "Accept: application/sdp\r\n"+l.s.userAgentLine, nil)
		return
	}
	if offer != nil && !keepsSession(l.remoteSDP, offer) {
		l.respond(r, src, 488, "Not Acceptable Here", l.s.userAgentLine, nil)
		return
	}
	if uris := contactURIs(r); len(uris) > 0 {
		l.dlg.target = uris[0] // target refresh (§12.2.2)
		l.route(l.dlg)
	}
	var body []byte
	switch {
	case offer != nil:
		body = answerInDirection(l.offer, offer)
	case r.Method == sip.INVITE:
		body = l.offer // offerless: ours is the offer now
	}
	extra := string(l.appendContact(nil)) + l.s.agentLines
	l.respond(r, src, 200, "OK", extra, body)
}

// infoDigit reads a digit from an INFO body: application/dtmf-relay
// ("Signal=5") or application/dtmf ("5"); 0 when there is none.
func infoDigit(r *sip.Request) byte {
	body := strings.TrimSpace(string(r.Body()))
	switch ct := contentType(r); {
	case strings.HasPrefix(ct, "application/dtmf-relay"):
		for line := range strings.Lines(body) {
			name, value, _ := strings.Cut(line, "=")
			if strings.EqualFold(strings.TrimSpace(name), "Signal") {
				return digit(strings.TrimSpace(value))
			}
		}
	case strings.HasPrefix(ct, "application/dtmf"):
		return digit(body)
	}
	return 0
}

// digit gives one of 0-9*#A-D, 0 when the text is none; 10 and 11 stand for
// star and pound in some gateways.
func digit(s string) byte {
	switch s {
	case "10":
		return '*'
	case "11":
		return '#'
	}
	if len(s) == 1 && strings.Contains("0123456789*#ABCD", strings.ToUpper(s)) {
		return strings.ToUpper(s)[0]
	}
	return 0
}

// respond answers a request to where it came from (RFC 3261 §18.2.2, RFC 3581
// §4). headers are whole lines.
func (s *Stack) respond(r *sip.Request, src target, code int, phrase, headers string, sdp []byte) {
	b := make([]byte, 0, 768+len(sdp))
	b = append(b, "SIP/2.0 "...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(b, ' ')
	b = append(b, phrase...)
	b = append(b, "\r\n"...)
	to := src
	for i, h := range r.GetHeaders("via") {
		b = append(b, "Via: "...)
		if via, ok := h.(*sip.ViaHeader); ok && i == 0 {
			b, to = appendTopVia(b, via, src)
		} else {
			b = append(b, h.Value()...)
		}
		b = append(b, "\r\n"...)
	}
	b = append(b, "From: "...)
	b = append(b, headerValue(r, "from", "f")...)
	b = append(b, "\r\nTo: "...)
	b = append(b, headerValue(r, "to", "t")...)
	if toTag(r) == "" {
		// The same tag for a retransmission (§8.2.7).
		branch, _ := r.Via().Params.Get("branch")
		b = append(b, ";tag="+derive("to", r.CallID().Value()+branch, 6)...)
	}
	b = append(b, "\r\n"...)
	b = appendCallID(b, r.CallID().Value(), r.CSeq().SeqNo, string(r.CSeq().MethodName))
	b = append(b, headers...)
	_ = s.write(to, appendBody(b, sdp)) // a lost response is asked for again
}

// appendTopVia writes the top Via with received and rport and says where the
// response goes.
func appendTopVia(b []byte, via *sip.ViaHeader, src target) ([]byte, target) {
	to := src
	v := *via
	v.Params = via.Params.Clone()
	_, rport := v.Params.Get("rport")
	if rport {
		v.Params.Add("rport", strconv.Itoa(int(src.addr.Port())))
	}
	if ip, err := netip.ParseAddr(strings.Trim(v.Host, "[]")); rport || err != nil || ip.Unmap() != src.addr.Addr() {
		v.Params.Add("received", src.addr.Addr().String())
	}
	if !rport && !src.reliable() {
		port := v.Port
		if port <= 0 || port > 65535 {
			port = 5060
		}
		to.addr = netip.AddrPortFrom(src.addr.Addr(), uint16(port))
	}
	return append(b, v.Value()...), to
}

func headerValue(m sip.Message, names ...string) string {
	for _, n := range names {
		if hs := m.GetHeaders(n); len(hs) > 0 {
			return hs[0].Value()
		}
	}
	return ""
}
