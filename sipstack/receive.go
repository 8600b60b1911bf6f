package sipstack

import (
	"net/netip"
	"strings"

	"dialler/engine"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// onMessage is called for every message, by one goroutine per socket, in wire
// order: nothing between here and the event of the leg may start a goroutine.
func (s *Stack) onMessage(m sip.Message, src transport.Target) {
	if s.net.IsClosed() {
		return
	}
	switch m := m.(type) {
	case *sip.Response:
		s.onResponse(m, src.Addr)
	case *sip.Request:
		s.onRequest(m, src)
	}
}

// onResponse matches a response to a transaction of ours by Call-ID, CSeq and
// the branch of the top Via (RFC 3261 §17.1.3).
func (s *Stack) onResponse(r *sip.Response, src netip.AddrPort) {
	callID, cseq, via := r.CallID(), r.CSeq(), r.Via()
	if callID == nil || cseq == nil || via == nil || r.StatusCode < 100 || r.StatusCode > 699 || !strings.EqualFold(r.SipVersion, "SIP/2.0") {
		s.net.Counts.Malformed.Add(1)
		return
	}
	branch, _ := via.Params.Get("branch")
	if cseq.MethodName == sip.OPTIONS || cseq.MethodName == sip.REGISTER {
		if s.trunks.OnResponse(r, callID.Value(), cseq, branch) {
			return
		}
		s.count.unmatched.Add(1) // the late reply to a request that was given up
		return
	}
	l := s.leg(engine.LegID(callID.Value()))
	if l == nil && cseq.MethodName == sip.INVITE {
		l = s.leftOver(r, callID.Value(), cseq.SeqNo, branch, src)
	}
	if l == nil {
		s.count.unmatched.Add(1)
		return
	}
	l.mu.Lock()
	defer l.unlock()
	if cseq.MethodName == sip.INVITE {
		if cseq.SeqNo > l.cseq && l.dlg != nil {
			l.ladder.Received(l.s.clock.Now(), r, src)
			if !l.onReinviteResponse(r, branch) {
				s.count.unmatched.Add(1)
			}
			return
		}
		if l.phase == phaseQueued || l.phase == phaseGone || branch != l.inviteBranch(cseq.SeqNo) {
			s.count.unmatched.Add(1)
			return
		}
		l.ladder.Received(l.s.clock.Now(), r, src)
		l.onInviteResponse(r, cseq.SeqNo, src)
		return
	}
	l.ladder.Received(l.s.clock.Now(), r, src)
	if !l.onTxResponse(r, cseq.MethodName, branch) && l.phase < phaseOver && cseq.MethodName != sip.CANCEL {
		s.count.unmatched.Add(1)
	}
}
