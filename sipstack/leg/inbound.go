package leg

import (
	"net/netip"
	"strings"
	"time"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

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
	l.s.Count.RemoteByes.Add(1)
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

// reply answers a request and remembers the answer.
func (l *leg) reply(r *sip.Request, src transport.Target, code int, phrase, headers string, sdp []byte) *answer {
	data, to := l.respond(r, src, code, phrase, headers, sdp)
	a := l.answers.remember(r)
	a.data, a.to, a.code = data, to, code
	if r.Method == sip.INVITE {
		now := l.s.clock.Now()
		a.endAt = now + l.s.conf.Timers.Transaction()
		if code < 300 || !to.Reliable() {
			a.gap = l.s.conf.Timers.T1
			a.resendAt = now + a.gap
		}
	}
	return a
}

// resendAnswers is timers G and H of all answers to INVITEs.
func (l *leg) resendAnswers(now time.Duration) {
	for i := range l.answers {
		a := &l.answers[i]
		switch {
		case a.endAt != 0 && now >= a.endAt:
			a.resendAt, a.endAt = 0, 0
			if a.code < 300 {
				l.dialogLost("no ACK") // RFC 3261 §13.3.1.4
			}
		case a.resendAt != 0 && now >= a.resendAt:
			if l.write(a.to, a.data) == nil {
				l.s.Count.Retransmissions.Add(1)
			}
			a.gap = min(2*a.gap, l.s.conf.Timers.T2)
			a.resendAt = now + a.gap
		}
	}
}

// onAck ends the repetition of our answer to a re-INVITE. When the answer held
// our offer, the ACK holds the far side's answer.
func (l *leg) onAck(r *sip.Request) {
	for i := range l.answers {
		a := &l.answers[i]
		if a.method != sip.INVITE || a.cseq != r.CSeq().SeqNo || a.endAt == 0 {
			continue
		}
		a.resendAt, a.endAt = 0, 0
		if sdp := message.SDPOf(r); sdp != nil && a.offered {
			l.session.remoteSDP = sdp
			if m := l.s.conf.Media; m != nil {
				m.Reanswer(l.attempt, l.id, sdp)
			}
		}
	}
}
