package leg

import (
	"net/netip"
	"strconv"
	"strings"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// dialogOf finds the dialog of a request. Before the 2xx, a request that reveals an early dialog
// makes it known: only our own requests would need more of it.
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

// onRequest handles a new request inside a dialog.
func (l *leg) onRequest(r *sip.Request, src transport.Target, d *dialog) {
	seq := r.CSeq().SeqNo
	if seq < d.remote {
		l.respond(r, src, 500, "Request Out of Order", l.trunk.UserAgentLine, nil) // §12.2.2
		return
	}
	repeated := seq == d.remote
	d.remote = seq
	if tags := unsupported(r, l.trunk.SessionSec > 0); tags != "" && r.Method != sip.BYE {
		l.answers.reply(r, src, 420, "Bad Extension", "Unsupported: "+tags+"\r\n"+l.trunk.UserAgentLine, nil)
		return
	}
	talking := l.phase == phaseAnswered || l.phase == phaseConfirmed
	switch r.Method {
	case sip.BYE:
		l.respond(r, src, 200, "OK", l.trunk.UserAgentLine, nil)
		l.onBye(r)
	case sip.INVITE, sip.UPDATE:
		if d == l.dlg && !talking {
			l.answers.reply(r, src, 481, "Call/Transaction Does Not Exist", l.trunk.UserAgentLine, nil)
			return
		}
		l.session.onOffer(r, src, d)
	case sip.INFO:
		l.answers.reply(r, src, 200, "OK", l.trunk.UserAgentLine, nil)
		if key := message.InfoDigit(r); key != 0 && !repeated && talking {
			l.emit(engine.LegEvent{Kind: engine.LegDigit, Digit: key})
		}
	case sip.OPTIONS:
		l.answers.reply(r, src, 200, "OK", l.trunk.AgentLines+capabilities, nil)
	case sip.PRACK: // we send no reliable provisional response
		l.answers.reply(r, src, 481, "Call/Transaction Does Not Exist", l.trunk.UserAgentLine, nil)
	case sip.REFER:
		l.onRefer(r, src)
	default:
		code, phrase, headers := notSupported(r.Method)
		l.answers.reply(r, src, code, phrase, headers+l.trunk.AgentLines, nil)
	}
}

// onRefer handles a REFER inside the dialog.
func (l *leg) onRefer(r *sip.Request, src transport.Target) {
	if l.phase != phaseConfirmed || !l.s.conf.Transfers {
		l.answers.reply(r, src, 603, declined, l.trunk.UserAgentLine, nil)
		return
	}
	targets := append(r.GetHeaders("refer-to"), r.GetHeaders("r")...)
	if len(targets) != 1 { // §2.4.2
		l.answers.reply(r, src, 400, "Exactly One Refer-To Wanted", l.trunk.UserAgentLine, nil)
		return
	}
	to, replaces, ok := message.ReferTo(targets[0].Value())
	if !ok {
		l.answers.reply(r, src, 603, declined, l.trunk.UserAgentLine, nil)
		return
	}
	n := 1
	if l.refer != nil {
		if l.refer.request != nil {
			l.answers.reply(r, src, 491, "Request Pending", l.trunk.UserAgentLine, nil)
			return
		}
		n = l.refer.refers + 1
	}
	l.refer = &referral{answers: &l.answers, txs: &l.txs, dlg: l.dlg, request: r, src: src, refers: n,
		declineAt: l.s.clock.Now() + 16*l.s.conf.Timers.T1}
	if n > 1 {
		l.refer.id = ";id=" + strconv.FormatUint(uint64(r.CSeq().SeqNo), 10)
	}
	l.answers.remember(r)
	l.emit(engine.LegEvent{Kind: engine.LegReferred, ReferTo: to, Replaces: replaces,
		ReferredBy: message.Truncate(message.AddrSpec(message.HeaderValue(r, "referred-by", "b")), message.MaxURI)})
}

// onBye handles the far side's hang-up. If our own BYE is in progress, its end is awaited, which
// comes with the immediate 200 or 481.
func (l *leg) onBye(r *sip.Request) {
	if l.phase == phaseOffered { // of an early dialog (§15)
		l.withdraw(r)
		return
	}
	if l.phase != phaseAnswered && l.phase != phaseConfirmed {
		return
	}
	l.s.Count.RemoteByes.Add(1)
	if l.incoming != nil {
		l.answers.quiet()
	} else if !l.dlg.acked { // it did not wait for the ACK (§15), and repeats its 2xx until it has one
		l.acknowledge(l.dlg)
	}
	if l.refer != nil && l.refer.request != nil {
		l.refer.answer(false) // §15.1.2: pending requests are answered
	}
	if h := l.session.held; h != nil {
		l.session.held = nil
		l.answers.reply(h.request, h.src, 487, "Request Terminated", l.trunk.UserAgentLine, nil)
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

// onAck: when our answer to a re-INVITE held our offer, its ACK holds the far side's
// answer.
func (l *leg) onAck(r *sip.Request) {
	offered := l.answers.onAck(r)
	l.acknowledged()
	if !offered {
		return
	}
	if sdp := message.SDPOf(r); sdp != nil {
		l.session.remoteSDP = sdp
		if m := l.s.conf.Media; m != nil {
			m.Reanswer(l.attempt, l.id, sdp)
		}
	}
}
