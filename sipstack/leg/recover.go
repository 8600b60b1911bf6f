package leg

import (
	"net/netip"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"
)

// recoveredCSeq is how far the CSeq of a recovered dialog's BYE is beyond the INVITE's: the earlier
// process's requests in it (PRACK, refreshes, keys) were not recorded, and a CSeq may skip but not
// go back (RFC 3261 §12.2.2).
const recoveredCSeq = 1 << 16

func (l *leg) recoverDialog(st *engine.DialogState) {
	if l.phase != phaseQueued {
		return
	}
	src, _ := netip.ParseAddrPort(st.RemoteAddr)
	l.inv.to = l.trunk.To(src)
	if over, ok := message.TransportOf(st.Transport); ok {
		l.inv.to = l.trunk.Over(src, over)
	}
	l.inv.cseq = max(st.CSeq, 1)
	if src.IsValid() {
		l.inv.address()
	}
	l.dlg = &dialog{
		toTag: message.Clean(st.ToTag), target: message.Clean(st.RemoteTarget), source: src,
		invite: l.inv.cseq, seq: l.inv.cseq + recoveredCSeq,
	}
	for _, r := range st.RouteSet {
		l.dlg.routeSet = append(l.dlg.routeSet, message.Clean(r))
	}
	l.dlg.route(l.trunk, l.parties.toURI, l.inv.to)
	if src.IsValid() && l.dlg.hop.Addr != src { // nobody knows whether the earlier process reached the Contact
		l.dlg.back = l.inv.to
	}
	l.enter(phaseAnswered)
	if !l.dlg.hop.Addr.IsValid() {
		l.finish(engine.LegEvent{Kind: engine.LegClosed, Reason: "the stored dialog has no usable address"})
		return
	}
	l.sentBy = l.trunk.SentBy(l.dlg.hop)
	l.hangUp(engine.HangUpCause{Q850: 41, Text: "restarted"}) // 41: temporary failure
}

func (l *leg) recoverInvite(r engine.RecoveredLeg, to []transport.Target) {
	if l.phase != phaseQueued {
		return
	}
	l.enter(phaseWatch)
	giveUp := r.GiveUp
	if giveUp <= 0 {
		giveUp = l.s.conf.Timers.Transaction()
	}
	l.deadline = l.s.clock.Now() + giveUp
	if len(to) == 0 {
		return // nothing can be sent; a late response is still answered
	}
	l.inv.cseq = max(r.CSeq, 1)
	// The INVITE went to one of the trunk's addresses, but it is not known to which.
	for i := min(len(to), maxCancelled) - 1; i >= 0; i-- {
		l.inv.to = to[i]
		l.inv.address()
		if r.SentBy != "" { // and the From of the node that placed it (§9.1)
			l.sentBy = message.Clean(r.SentBy)
			l.parties.setFrom(l.trunk, message.HostOf(l.sentBy))
		}
		l.sendCancel(l.inv.cseq)
		if r.CSeq == 0 || (r.CSeq == 1 && l.inv.auth.Known()) {
			l.sendCancel(l.inv.cseq + 1)
		}
	}
}

// maxCancelled bounds the addresses to which the CANCEL of an earlier process's leg is sent.
const maxCancelled = 3
