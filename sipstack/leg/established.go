package leg

import (
	"net/netip"
	"slices"
	"strings"

	"dialler/engine"
	"dialler/sipstack/message"

	"github.com/emiago/sipgo/sip"
)

// newDialog reads the dialog that a 2xx or a reliable 1xx creates. An early one is updated by the
// 2xx and keeps its CSeqs (RFC 3261 §13.2.2.4).
func (l *leg) newDialog(r *sip.Response, seq uint32, src netip.AddrPort) *dialog {
	d := l.early.find(message.ToTag(r))
	if d == nil {
		d = &dialog{toTag: strings.Clone(message.ToTag(r)), seq: seq}
	}
	d.source, d.invite = src, seq
	// Copies, because a substring would keep the whole message in memory.
	if uris := message.ContactURIs(r); len(uris) > 0 {
		d.target = strings.Clone(uris[0])
	}
	d.routeSet = message.ListOf(r, "record-route")
	for i, uri := range d.routeSet {
		d.routeSet[i] = strings.Clone(uri)
	}
	slices.Reverse(d.routeSet)
	d.route(l.trunk, l.parties.toURI, l.inv.to)
	return d
}

// onSuccess handles a 2xx. Its retransmissions arrive here until the far side has an ACK (RFC 6026
// §7.2).
func (l *leg) onSuccess(r *sip.Response, seq uint32, src netip.AddrPort) {
	if l.dlg != nil && l.dlg.toTag == message.ToTag(r) {
		if l.dlg.acked {
			if l.dlg.hop.Addr != src {
				l.dlg.back = l.inv.to.At(src)
			}
			l.acknowledge(l.dlg)
		}
		return
	}
	switch l.phase {
	case phaseCalling, phaseProceeding, phaseSilent:
		if l.fenced() && !l.cancelWanted { // it may have been buffered while we were suspended
			l.cancelWanted = true
			l.emit(engine.LegEvent{Kind: engine.LegFenced})
		}
		unwanted := l.cancelWanted || l.phase == phaseSilent
		l.inv.resendAt, l.deadline, l.inv.data = 0, 0, nil
		l.txs.dropCancels()
		l.dlg = l.newDialog(r, seq, src)
		l.dlg.updates = message.Lists(r, "allow", "UPDATE")
		l.session.remoteSDP = message.SDPOf(r)
		if l.session.remoteSDP == nil {
			l.session.remoteSDP = l.dlg.remoteSDP // the answer came in a reliable 1xx (RFC 3262 §5)
		}
		if l.session.remoteSDP == nil { // against RFC 6337 §3.1.1, as gateways do
			l.session.remoteSDP = l.described.of(l.dlg.toTag)
		}
		if l.session.localSDP == nil { // otherwise changed by an UPDATE before the 2xx
			l.session.localSDP = l.inv.offer
		}
		l.session.start(r)
		if m := l.s.conf.Media; m != nil {
			m.AnsweredFrom(l.attempt, l.id, src.Addr())
		}
		l.emit(engine.LegEvent{
			Kind: engine.LegAnswered, Code: r.StatusCode, Reason: r.Reason, Attestation: message.Attestation(r),
			SDP: l.session.remoteSDP, Dialog: l.dlg.state(l.inv.to.Transport, l.sentBy, l.session.told),
		})
		l.enter(phaseAnswered)
		if unwanted {
			l.hangUp(engine.HangUpCause{Q850: 16, Text: "answered too late"})
		}
	case phaseWatch:
		l.deadline = 0
		l.txs.dropCancels()
		l.dlg = l.newDialog(r, seq, src)
		l.enter(phaseAnswered)
		l.hangUp(engine.HangUpCause{Q850: 16, Text: "answered too late"})
	case phaseAnswered, phaseConfirmed, phaseClosing, phaseOver:
		l.endStray(l.newDialog(r, seq, src))
	case phaseQueued, phaseOffered, phaseGone:
	}
}

// endStray ends the dialog of another fork, or of a 2xx after the end: ACK, then BYE (RFC 3261
// §13.2.2.4).
func (l *leg) endStray(d *dialog) {
	l.acknowledge(d)
	for _, tx := range l.txs.running {
		if tx.method == sip.BYE && tx.dlg.toTag == d.toTag {
			return // a repeated 2xx; the BYE is in progress
		}
	}
	l.s.Count.Strays.Add(1)
	l.bye(d, engine.HangUpCause{Q850: 16, Text: "another fork answered"}, true)
}

// acknowledge sends the ACK of a 2xx: a request of its own with the credentials of the
// INVITE (RFC 3261 §13.2.2.4).
func (l *leg) acknowledge(d *dialog) {
	branch := d.branch(string(l.id), d.invite, "ACK")
	l.ack(d, d.invite, branch, &l.inv.auth, func() {
		l.lock()
		defer l.unlock()
		if d.back.Addr.IsValid() || d.hop.Addr == d.source {
			return
		}
		d.back = l.inv.to.At(d.source)
		l.ackTo(d.back, d, d.invite, branch, &l.inv.auth, nil)
		l.txs.turnBack(d)
	})
	d.acked = true
}

// confirm is ConfirmLeg.
func (l *leg) confirm() {
	if l.dlg == nil || l.dlg.acked || l.incoming != nil { // the far side acknowledges what we answered
		return
	}
	l.acknowledge(l.dlg)
	if l.phase == phaseAnswered {
		l.enter(phaseConfirmed)
		l.session.goOn()
	}
}

// hangUp implements HangUpLeg for an answered leg.
func (l *leg) hangUp(cause engine.HangUpCause) {
	if l.phase != phaseAnswered && l.phase != phaseConfirmed {
		return
	}
	if l.incoming.defers(cause) {
		return
	}
	// The ACK first: a UAS may refuse a BYE while its 2xx is unacknowledged, and would keep
	// repeating it.
	l.confirm()
	// The session ends: only the progress of a transfer still matters.
	l.txs.dropForEnd()
	l.txs.waiting = slices.DeleteFunc(l.txs.waiting, func(tx *clientTx) bool { return tx.method != sip.NOTIFY })
	l.session.watch = nil
	l.enter(phaseClosing)
	if m := l.s.conf.Media; m != nil {
		m.HungUp(l.attempt, l.id)
	}
	l.bye(l.dlg, cause, false)
}

// bye begins a BYE transaction.
func (l *leg) bye(d *dialog, cause engine.HangUpCause, stray bool) {
	l.s.Count.Byes.Add(1)
	l.txs.send(&clientTx{method: sip.BYE, dlg: d, stray: stray, cause: cause})
}

// byeEnded handles the end of a BYE. Any final response ends the dialog (RFC 3261 §15.1.1), and so
// does timer F. Only a 2xx and a 481 prove that the far side has ended it.
func (l *leg) byeEnded(tx *clientTx, r *sip.Response) {
	if tx.stray {
		return
	}
	e := engine.LegEvent{Kind: engine.LegClosed, Reason: "BYE not answered"}
	if r != nil {
		e.Code, e.Reason = r.StatusCode, r.Reason
		if r.StatusCode/100 == 2 || r.StatusCode == 481 {
			e.Proof = engine.ProofBye
		}
	}
	if l.lost != "" {
		e.Reason = l.lost
	}
	l.finish(e)
}

// dialogLost ends an answered leg that the far side has lost or left
// (RFC 3261 §12.2.1.2, RFC 5057).
func (l *leg) dialogLost(why string) {
	if l.phase == phaseAnswered || l.phase == phaseConfirmed {
		l.lost = why
		l.hangUp(engine.HangUpCause{Q850: 102, Text: why}) // 102: recovery on timer expiry
	}
}
