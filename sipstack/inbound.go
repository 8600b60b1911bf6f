package sipstack

import (
	"net/netip"
	"strconv"
	"strings"
	"sync"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// onRequest takes a request of the far side. Outside of dialogs responses are
// built from the request alone (RFC 3261 §8.2.7), so that a retransmission
// gets the same answer without a server transaction. Max-Forwards is a
// proxy's business: an endpoint takes a request with 0 (§16.3, RFC 4475 §3.3.11).
func (s *Stack) onRequest(r *sip.Request, src transport.Target) {
	if r.Via() == nil || r.To() == nil || r.From() == nil || r.CSeq() == nil || r.CallID() == nil {
		if r.Method != sip.ACK {
			s.net.Counts.Malformed.Add(1)
		}
		return // nothing that could be answered
	}
	if message.ToTag(r) != "" {
		s.onInDialog(r, src)
		return
	}
	if r.Method == sip.ACK || !s.trunks.MayAsk(src.Addr.Addr()) {
		return // an ACK is never answered (§17)
	}
	if tags := unsupported(r, true); tags != "" {
		s.respond(r, src, 420, "Bad Extension", "Unsupported: "+tags+"\r\n"+s.trunks.UserAgentLine, nil) // §8.2.2.3
		return
	}
	switch r.Method {
	case sip.OPTIONS:
		s.respond(r, src, 200, "OK", s.trunks.AgentLines+capabilities, nil)
	case sip.INVITE:
		s.refused.add(r)
		code, phrase := s.trunks.InboundAnswer(src.Addr.Addr())
		s.respond(r, src, code, phrase, s.trunks.UserAgentLine, nil)
	case sip.CANCEL:
		if s.refused.has(r) { // answered already: the CANCEL changes nothing (§9.2)
			s.respond(r, src, 200, "OK", s.trunks.UserAgentLine, nil)
			return
		}
		fallthrough
	case sip.BYE, sip.INFO, sip.UPDATE, sip.PRACK:
		s.count.unmatched.Add(1)
		s.respond(r, src, 481, "Call/Transaction Does Not Exist", s.trunks.UserAgentLine, nil)
	case sip.REFER:
		s.respond(r, src, 603, declined, s.trunks.UserAgentLine, nil)
	case sip.SUBSCRIBE: // inside a dialog it might mean a transfer; here nothing
		s.respond(r, src, 405, "Method Not Allowed", s.trunks.AgentLines, nil)
	default:
		code, phrase, headers := notSupported(r.Method)
		s.respond(r, src, code, phrase, headers+s.trunks.AgentLines, nil)
	}
}

// capabilities are the header lines of an answer to OPTIONS beside Allow.
const capabilities = "Accept: application/sdp, application/dtmf-relay, application/dtmf\r\nSupported: 100rel, timer\r\n"

// notSupported is how a method is refused that we do not take.
func notSupported(m sip.RequestMethod) (code int, phrase, headers string) {
	switch m {
	case sip.SUBSCRIBE:
		return 489, "Bad Event", "Allow-Events: refer\r\n"
	case sip.REGISTER, sip.NOTIFY, sip.REFER, sip.MESSAGE, sip.PUBLISH:
		return 405, "Method Not Allowed", ""
	default:
		return 501, "Not Implemented", ""
	}
}

// unsupported lists the options that a request requires and we do not know.
func unsupported(r *sip.Request, timer bool) string {
	if r.Method == sip.CANCEL || r.Method == sip.ACK {
		return ""
	}
	var out []string
	for _, h := range r.GetHeaders("require") {
		for _, tag := range message.SplitList(h.Value()) {
			if !strings.EqualFold(tag, "100rel") && (!timer || !strings.EqualFold(tag, "timer")) {
				out = append(out, message.Clean(tag))
			}
		}
	}
	return strings.Join(out, ", ")
}

// refusedCalls remembers the last inbound INVITEs, for their CANCELs.
type refusedCalls struct {
	mu   sync.Mutex
	last [256]string
	at   int
}

func transactionOf(r *sip.Request) string {
	branch, _ := r.Via().Params.Get("branch")
	return r.CallID().Value() + "\x00" + branch
}

func (c *refusedCalls) add(r *sip.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[c.at] = transactionOf(r)
	c.at = (c.at + 1) % len(c.last)
}

func (c *refusedCalls) has(r *sip.Request) bool {
	key := transactionOf(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, have := range c.last {
		if have == key {
			return true
		}
	}
	return false
}

// onInDialog takes a request with a To tag.
func (s *Stack) onInDialog(r *sip.Request, src transport.Target) {
	l := s.leg(engine.LegID(r.CallID().Value()))
	from, _ := r.From().Params.Get("tag")
	if l == nil || message.ToTag(r) != l.fromTag {
		if !s.trunks.MayAsk(src.Addr.Addr()) {
			return
		}
		s.count.unmatched.Add(1)
		if r.Method != sip.ACK {
			s.respond(r, src, 481, "Call/Transaction Does Not Exist", s.trunks.UserAgentLine, nil)
		}
		return
	}
	l.mu.Lock()
	defer l.unlock()
	if !l.talksTo(src.Addr.Addr()) {
		s.net.Counts.Strangers.Add(1)
		return
	}
	l.ladder.Received(l.s.clock.Now(), r, src.Addr)
	if a := l.answered(r); a != nil { // a retransmission
		if a.data != nil {
			_ = l.write(a.to, a.data)
		}
		return
	}
	d := l.dialogOf(from, r)
	switch {
	case r.Method == sip.ACK:
		if d != nil && d == l.dlg {
			l.onAck(r)
		}
	case d == nil && l.phase == phaseWatch && r.Method == sip.BYE:
		// Answered before the earlier life ended, and ended by the far side.
		l.respond(r, src, 200, "OK", l.trunk.UserAgentLine, nil)
		l.dropCancels()
		l.finish(engine.LegEvent{Kind: engine.LegClosed, Reason: "BYE of the far side", Proof: engine.ProofHungUp})
	case d == nil, l.phase >= phaseOver && r.Method != sip.BYE:
		s.count.unmatched.Add(1)
		l.respond(r, src, 481, "Call/Transaction Does Not Exist", l.trunk.UserAgentLine, nil)
	case r.Method == sip.CANCEL:
		l.onCancel(r, src)
	default:
		l.onRequest(r, src, d)
	}
}

// dialogOf finds the dialog of a request. Before the 2xx, a request that tells
// of an early dialog makes it known: only requests of ours would have to know
// more of it.
func (l *leg) dialogOf(from string, r *sip.Request) *dialog {
	if l.dlg != nil && l.dlg.toTag == from {
		return l.dlg
	}
	if l.dlg != nil || from == "" || (l.phase != phaseProceeding && l.phase != phaseSilent) {
		return nil
	}
	if d := l.earlyDialog(from); d != nil {
		return d
	}
	if len(l.early) >= maxEarly || r.Method == sip.BYE { // §15: no BYE before the answer
		return nil
	}
	d := &dialog{toTag: strings.Clone(from), source: l.to.Addr, invite: l.cseq, seq: l.cseq}
	l.route(d)
	l.early = append(l.early, d)
	return d
}

// onRequest takes a new request inside a dialog.
func (l *leg) onRequest(r *sip.Request, src transport.Target, d *dialog) {
	seq := r.CSeq().SeqNo
	if seq < d.remote {
		l.respond(r, src, 500, "Request Out of Order", l.trunk.UserAgentLine, nil) // §12.2.2
		return
	}
	repeated := seq == d.remote
	d.remote = seq
	if tags := unsupported(r, l.trunk.SessionSec > 0); tags != "" && r.Method != sip.BYE {
		l.reply(r, src, 420, "Bad Extension", "Unsupported: "+tags+"\r\n"+l.trunk.UserAgentLine, nil)
		return
	}
	talking := l.phase == phaseAnswered || l.phase == phaseConfirmed
	switch r.Method {
	case sip.BYE:
		l.respond(r, src, 200, "OK", l.trunk.UserAgentLine, nil)
		l.onBye(r)
	case sip.INVITE, sip.UPDATE:
		if d == l.dlg && !talking {
			l.reply(r, src, 481, "Call/Transaction Does Not Exist", l.trunk.UserAgentLine, nil)
			return
		}
		l.onOffer(r, src, d)
	case sip.INFO:
		l.reply(r, src, 200, "OK", l.trunk.UserAgentLine, nil)
		if key := message.InfoDigit(r); key != 0 && !repeated && talking {
			l.emit(engine.LegEvent{Kind: engine.LegDigit, Digit: key})
		}
	case sip.OPTIONS:
		l.reply(r, src, 200, "OK", l.trunk.AgentLines+capabilities, nil)
	case sip.PRACK: // we send no reliable provisional response
		l.reply(r, src, 481, "Call/Transaction Does Not Exist", l.trunk.UserAgentLine, nil)
	case sip.REFER:
		l.onRefer(r, src)
	default:
		code, phrase, headers := notSupported(r.Method)
		l.reply(r, src, code, phrase, headers+l.trunk.AgentLines, nil)
	}
}

// onCancel: a re-INVITE is answered at once, so its CANCEL changes nothing
// (§9.2).
func (l *leg) onCancel(r *sip.Request, src transport.Target) {
	branch, _ := r.Via().Params.Get("branch")
	for i := range l.answers {
		if a := &l.answers[i]; a.method == sip.INVITE && a.branch == branch {
			l.respond(r, src, 200, "OK", l.trunk.UserAgentLine, nil)
			return
		}
	}
	l.respond(r, src, 481, "Call/Transaction Does Not Exist", l.trunk.UserAgentLine, nil)
}

// onBye: the far side hung up. While our own BYE is on its way, that one's end
// is awaited: it is answered with 200 or 481 at once.
func (l *leg) onBye(r *sip.Request) {
	if l.phase != phaseAnswered && l.phase != phaseConfirmed {
		return
	}
	l.s.count.remoteByes.Add(1)
	if !l.dlg.acked { // it did not wait for the ACK (§15), and repeats its 2xx until it has one
		l.ack(l.dlg)
	}
	if l.refer != nil && l.refer.request != nil {
		l.answerRefer(false) // §15.1.2: pending requests are answered
	}
	cause, text := message.Q850(message.MessageReasons(r))
	l.finish(engine.LegEvent{Kind: engine.LegHungUp, Q850: cause, Reason: text})
}

// respond answers a request to where it came from (RFC 3261 §18.2.2, RFC 3581
// §4). headers are whole lines.
func (s *Stack) respond(r *sip.Request, src transport.Target, code int, phrase, headers string, sdp []byte) (data []byte, to transport.Target) {
	b := make([]byte, 0, 768+len(sdp))
	b = append(b, "SIP/2.0 "...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(b, ' ')
	b = append(b, phrase...)
	b = append(b, "\r\n"...)
	to = src
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
	b = append(b, message.HeaderValue(r, "from", "f")...)
	b = append(b, "\r\nTo: "...)
	b = append(b, message.HeaderValue(r, "to", "t")...)
	if message.ToTag(r) == "" {
		// The same tag for a retransmission (§8.2.7).
		branch, _ := r.Via().Params.Get("branch")
		b = append(b, ";tag="+message.Derive("to", r.CallID().Value()+branch, 6)...)
	}
	b = append(b, "\r\n"...)
	b = message.AppendCallID(b, r.CallID().Value(), r.CSeq().SeqNo, string(r.CSeq().MethodName))
	b = append(b, headers...)
	b = message.AppendBody(b, sdp)
	_ = s.net.Write(to, b) // a lost response is asked for again
	return b, to
}

// appendTopVia writes the top Via with received and rport and says where the
// response goes.
func appendTopVia(b []byte, via *sip.ViaHeader, src transport.Target) ([]byte, transport.Target) {
	to := src
	v := *via
	v.Params = via.Params.Clone()
	_, rport := v.Params.Get("rport")
	if rport {
		v.Params.Add("rport", strconv.Itoa(int(src.Addr.Port())))
	}
	if ip, err := netip.ParseAddr(strings.Trim(v.Host, "[]")); rport || err != nil || ip.Unmap() != src.Addr.Addr() {
		v.Params.Add("received", src.Addr.Addr().String())
	}
	if !rport && !src.Reliable() {
		port := v.Port
		if port <= 0 || port > 65535 {
			port = 5060
		}
		to.Addr = netip.AddrPortFrom(src.Addr.Addr(), uint16(port))
	}
	return append(b, v.Value()...), to
}
