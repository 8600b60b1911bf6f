package sipstack

import (
	"net/netip"
	"strings"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

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
	if d := l.early.find(from); d != nil {
		return d
	}
	if len(l.early) >= maxEarly || r.Method == sip.BYE { // §15: no BYE before the answer
		return nil
	}
	d := &dialog{toTag: strings.Clone(from), source: l.inv.to.Addr, invite: l.inv.cseq, seq: l.inv.cseq}
	d.route(l.trunk, l.parties.toURI, l.inv.to)
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
		l.session.onOffer(r, src, d)
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
		l.refer.answer(false) // §15.1.2: pending requests are answered
	}
	cause, text := message.Q850(message.MessageReasons(r))
	l.finish(engine.LegEvent{Kind: engine.LegHungUp, Q850: cause, Reason: text})
}

// talksTo says whether a request in the leg's dialog may come from an address:
// a trunk's, or one that the dialog itself named. The leg is locked.
func (l *leg) talksTo(a netip.Addr) bool {
	if l.inv.to.Addr.Addr() == a || (l.dlg != nil && (l.dlg.source.Addr() == a || l.dlg.hop.Addr.Addr() == a)) {
		return true
	}
	for _, d := range l.early {
		if d.source.Addr() == a || d.hop.Addr.Addr() == a {
			return true
		}
	}
	return l.s.trunks.IsPeer(a)
}
