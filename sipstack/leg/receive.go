package leg

import (
	"net/netip"
	"strings"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// OnMessage is called for every message, by one goroutine per socket, in wire order: nothing from
// here to the leg's event may start a goroutine.
func (k *Table) OnMessage(m sip.Message, src transport.Target) {
	if k.net.IsClosed() {
		return
	}
	switch m := m.(type) {
	case *sip.Response:
		k.onResponse(m, src.Addr)
	case *sip.Request:
		k.onRequest(m, src)
	}
}

// onResponse matches a response to a transaction of ours by Call-ID, CSeq and
// the branch of the top Via (RFC 3261 §17.1.3). One with several Vias was meant for somebody else (§8.1.3.3).
func (k *Table) onResponse(r *sip.Response, src netip.AddrPort) {
	callID, cseq, via := r.CallID(), r.CSeq(), r.Via()
	if callID == nil || cseq == nil || via == nil || message.Vias(r) > 1 || r.StatusCode < 100 || r.StatusCode > 699 ||
		!strings.EqualFold(r.SipVersion, "SIP/2.0") {
		k.net.Counts.Malformed.Add(1)
		return
	}
	branch, _ := via.Params.Get("branch")
	if cseq.MethodName == sip.OPTIONS || cseq.MethodName == sip.REGISTER {
		if k.trunks.OnResponse(r, callID.Value(), cseq, branch) {
			return
		}
		k.Count.Unmatched.Add(1) // a late reply to a request that was given up
		return
	}
	l := k.ofCall(callID.Value())
	if l == nil && cseq.MethodName == sip.INVITE {
		l = k.leftOver(r, callID.Value(), cseq.SeqNo, branch, src)
	}
	if l == nil {
		k.Count.Unmatched.Add(1)
		return
	}
	l.mu.Lock()
	defer l.unlock()
	if cseq.MethodName == sip.INVITE {
		if cseq.SeqNo > l.inv.cseq && l.dlg != nil {
			l.ladder.Received(l.s.clock.Now(), r, src)
			if !l.session.onReinviteResponse(r, branch) {
				k.Count.Unmatched.Add(1)
			}
			return
		}
		if l.phase == phaseQueued || l.phase == phaseGone || branch != l.inv.inviteBranch(cseq.SeqNo) {
			k.Count.Unmatched.Add(1)
			return
		}
		l.ladder.Received(l.s.clock.Now(), r, src)
		l.sign(r)
		l.onInviteResponse(r, cseq.SeqNo, src)
		return
	}
	l.ladder.Received(l.s.clock.Now(), r, src)
	l.sign(r)
	if !l.onTxResponse(r, cseq.MethodName, branch) && l.phase < phaseOver && cseq.MethodName != sip.CANCEL {
		k.Count.Unmatched.Add(1)
	}
}

// sign tells the trunk that its far side is there.
func (l *leg) sign(r *sip.Response) {
	if engine.SignOfLife(r.StatusCode) {
		l.trunk.Sign()
	}
}

// onInDialog handles a request with a To tag.
func (k *Table) onInDialog(r *sip.Request, src transport.Target) {
	l := k.ofCall(r.CallID().Value())
	from := message.FromTag(r)
	if l == nil || message.ToTag(r) != l.parties.fromTag {
		if !k.trunks.MayAsk(src.Addr.Addr()) {
			return
		}
		k.Count.Unmatched.Add(1)
		if r.Method != sip.ACK {
			k.net.Respond(r, src, 481, "Call/Transaction Does Not Exist", k.trunks.UserAgentLine, nil)
		}
		return
	}
	l.mu.Lock()
	defer l.unlock()
	if !l.talksTo(src.Addr.Addr()) {
		k.net.Counts.Strangers.Add(1)
		return
	}
	l.ladder.Received(l.s.clock.Now(), r, src.Addr)
	l.trunk.Sign()
	if a := l.answers.answered(r); a != nil { // a retransmission
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
		// Answered before the earlier process ended, and ended by the far side.
		l.respond(r, src, 200, "OK", l.trunk.UserAgentLine, nil)
		l.txs.dropCancels()
		l.finish(engine.LegEvent{Kind: engine.LegClosed, Reason: "BYE from the far side", Proof: engine.ProofHungUp})
	case d == nil, l.phase >= phaseOver && r.Method != sip.BYE:
		k.Count.Unmatched.Add(1)
		l.respond(r, src, 481, "Call/Transaction Does Not Exist", l.trunk.UserAgentLine, nil)
	case r.Method == sip.CANCEL:
		l.answers.onCancel(r, src)
	default:
		l.onRequest(r, src, d)
	}
}
