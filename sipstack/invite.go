package sipstack

import (
	"net/netip"
	"slices"
	"time"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/timing"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// begin sends the first INVITE to the first address that takes it. The leg is
// locked and queued.
func (l *leg) begin(to []transport.Target) {
	if l.phase != phaseQueued {
		return
	}
	if len(to) == 0 {
		l.notSent(engine.NotSentNoRoute, "host name of the trunk not resolved")
		return
	}
	l.spare = slices.Clone(to)
	l.tryNext("")
}

// tryNext sends the INVITE to the next address, while it is certain that none
// has left.
func (l *leg) tryNext(failure string) {
	for len(l.spare) > 0 {
		l.to, l.spare = l.spare[0], l.spare[1:]
		l.enter(phaseQueued)
		l.address()
		l.invite = l.appendInvite(make([]byte, 0, 1024+len(l.offer)))
		l.preferStream()
		if l.to.Reliable() {
			err := l.s.net.Push(l.to, transport.Queued{Data: l.invite, Before: l.beforeWrite, After: l.afterWrite})
			if err == nil {
				return
			}
			failure = err.Error()
			continue
		}
		if !l.mayWrite() {
			return
		}
		err := l.write(l.to, l.invite)
		if err == nil {
			l.written()
			l.ensureSent()
			return
		}
		failure = err.Error()
		l.s.net.Marks.Fail(l.to, 0)
	}
	l.notSent(engine.NotSentNoRoute, failure)
}

// address sets what depends on where the INVITE goes.
func (l *leg) address() {
	l.sentBy = l.trunk.SentBy(l.to)
	l.setFrom(l.trunk.LocalHost(l.to))
	l.branch = message.DeriveBranch(string(l.id), l.cseq, "INVITE")
}

// mayWrite is the last check before an INVITE is written.
func (l *leg) mayWrite() bool {
	if l.s.net.IsClosed() {
		l.notSent(engine.NotSentNoRoute, "the stack is closed")
		return false
	}
	if timing.BootNow() > l.sendBy {
		l.notSent(engine.NotSentExpired, "the send-by time had passed")
		return false
	}
	return true
}

// written starts the client transaction's timers (RFC 3261 §17.1.1.2).
func (l *leg) written() {
	now := l.s.clock.Now()
	if l.to.Reliable() { // over UDP it was noted where it was written
		l.ladder.Sent(l.s.clock.Now(), l.invite, l.to.Addr)
	}
	l.enter(phaseCalling)
	l.deadline = now + l.s.conf.Timers.Transaction() // timer B
	if !l.to.Reliable() {
		l.resendGap = l.s.conf.Timers.T1 // timer A
		l.resendAt = now + l.resendGap
	}
	l.s.count.invites.Add(1)
}

func (l *leg) ensureSent() {
	if !l.sent {
		l.sent = true
		l.emit(engine.LegEvent{Kind: engine.LegSent})
	}
}

// beforeWrite is asked by the TCP queue right before the INVITE is written.
func (l *leg) beforeWrite() bool {
	l.mu.Lock()
	defer l.unlock()
	again := l.phase == phaseCalling && !l.sent && !l.cancelWanted // a broken connection was replaced
	if (l.phase != phaseQueued && !again) || !l.mayWrite() {
		return false
	}
	if !again {
		l.written()
	}
	return true
}

// afterWrite hears from the TCP queue how the write went. A response may have
// overtaken it.
func (l *leg) afterWrite(left bool, err error) {
	l.mu.Lock()
	defer l.unlock()
	switch {
	case left:
		if l.phase < phaseOver {
			l.ensureSent()
		}
	case (l.phase == phaseQueued || l.phase == phaseCalling) && !l.sent:
		l.deadline = 0
		if l.cancelWanted {
			l.notSent(engine.NotSentCancelled, "cancelled before it could be sent")
			return
		}
		l.putLast()
		l.tryNext(err.Error())
	}
}

// resendInvite is timer A.
func (l *leg) resendInvite(now time.Duration) {
	if l.phase != phaseCalling || timing.BootNow() > l.sendBy {
		l.resendAt = 0 // nothing leaves after the send-by time; timer B goes on
		return
	}
	if l.write(l.to, l.invite) == nil {
		l.s.count.retransmissions.Add(1)
	}
	l.resendGap *= 2
	l.resendAt = now + l.resendGap
}

// onInviteResponse takes a response to the INVITE. The leg is locked.
func (l *leg) onInviteResponse(r *sip.Response, seq uint32, src netip.AddrPort) {
	if r.StatusCode >= 100 && r.StatusCode < len(l.s.count.byStatus) {
		l.s.count.byStatus[r.StatusCode].Add(1)
	}
	if !l.to.Addr.IsValid() { // recovered, and its trunk has no address now
		l.to, l.cseq = l.trunk.To(src), max(l.cseq, 1)
		l.address()
	} else if l.phase == phaseWatch {
		l.to = l.to.At(src) // of all the addresses that were asked, it is this one
	}
	if l.phase < phaseOver && !l.recovered {
		l.ensureSent() // over TCP a response can be handled before the write returns
	}
	switch {
	case r.StatusCode < 200:
		l.onProvisional(r, seq, src)
	case r.StatusCode < 300:
		l.onSuccess(r, seq, src)
	default:
		l.onFailure(r, seq)
	}
}

func (l *leg) onProvisional(r *sip.Response, seq uint32, src netip.AddrPort) {
	if seq != l.cseq && l.phase != phaseWatch {
		return
	}
	switch l.phase {
	case phaseCalling:
		l.enter(phaseProceeding)
		l.resendAt, l.deadline, l.invite = 0, 0, nil
	case phaseProceeding, phaseSilent:
	case phaseWatch:
		l.cancelOnce(seq)
		return
	default:
		return // reordered behind the final response
	}
	if !l.acknowledge(r, seq, src) {
		return
	}
	rs := message.MessageReasons(r)
	cause, _ := message.Q850(rs)
	l.emit(engine.LegEvent{Kind: engine.LegProvisional, Code: r.StatusCode, Reason: r.Reason, Q850: cause, SDP: message.SDPOf(r), Attestation: message.Attestation(r)})
	if l.cancelWanted || l.phase == phaseSilent {
		// RFC 3261 §9.1: a CANCEL only after a provisional response.
		l.cancelOnce(seq)
	}
}

// cancel is CancelLeg; the leg is locked.
func (l *leg) cancel() engine.CancelOutcome {
	switch l.phase {
	case phaseQueued:
		l.cancelWanted = true
		l.notSent(engine.NotSentCancelled, "cancelled before it was sent")
		return engine.CancelNotSent
	case phaseCalling, phaseSilent, phaseWatch:
		l.cancelWanted = true
		return engine.CancelOwed
	case phaseProceeding:
		l.cancelWanted = true
		l.cancelOnce(l.cseq)
		return engine.CancelOwed
	case phaseAnswered, phaseConfirmed, phaseClosing:
		if l.cancelWanted {
			return engine.CancelOwed // the 2xx crossed it; BYE is on its way
		}
		return engine.CancelAnswered
	case phaseOver, phaseGone:
	}
	if !l.sent && !l.recovered {
		return engine.CancelNotSent
	}
	return engine.CancelUnknown
}

// cancelOnce begins a CANCEL of the INVITE with that CSeq unless one runs.
func (l *leg) cancelOnce(cseq uint32) {
	for _, tx := range l.txs {
		if tx.method == sip.CANCEL && tx.cseq == cseq {
			return
		}
	}
	if l.cancels > 0 && l.phase != phaseWatch {
		return // it was answered; the final response to the INVITE is awaited
	}
	l.sendCancel(cseq)
	if l.phase != phaseWatch {
		l.deadline = l.s.clock.Now() + l.s.conf.Timers.Transaction()
	}
}

func (l *leg) sendCancel(cseq uint32) {
	l.cancels++
	l.s.count.cancels.Add(1)
	l.beginTx(&clientTx{
		method: sip.CANCEL, branch: l.inviteBranch(cseq), cseq: cseq, to: l.to,
		data: l.appendCancel(make([]byte, 0, 512), cseq),
	})
}

func (l *leg) onFailure(r *sip.Response, seq uint32) {
	l.ackFailure(r, seq)
	challenge := r.StatusCode == 401 || r.StatusCode == 407
	switch l.phase {
	case phaseCalling, phaseProceeding:
		if seq != l.cseq {
			return // the challenge that was answered, once more
		}
		if l.goOn(r) {
			return
		}
		l.dropCancels()
		l.finish(message.Refusal(r))
	case phaseSilent:
		if seq == l.cseq {
			l.dropCancels()
			l.finish(engine.LegEvent{Kind: engine.LegClosed, Code: r.StatusCode, Reason: r.Reason, Proof: engine.ProofRefused})
		}
	case phaseWatch:
		if challenge {
			return // of the INVITE that was sent again with credentials, perhaps
		}
		l.dropCancels()
		l.finish(engine.LegEvent{Kind: engine.LegClosed, Code: r.StatusCode, Reason: r.Reason, Proof: engine.ProofRefused})
	case phaseQueued, phaseAnswered, phaseConfirmed, phaseClosing, phaseOver, phaseGone:
	}
}

// ackFailure acknowledges a final response other than 2xx, the first time and
// each time again (RFC 3261 §17.1.1.2, Completed).
func (l *leg) ackFailure(r *sip.Response, seq uint32) {
	to := r.GetHeader("to")
	at := l.placeOf(seq).to
	if to == nil || !at.Addr.IsValid() {
		return
	}
	b := getBuffer()
	*b = l.appendHopACK((*b)[:0], to.Value(), seq)
	if l.write(at, *b) == nil {
		l.s.count.acks.Add(1)
	}
	putBuffer(b)
}

// goOn begins another INVITE where a final response asks for one: a challenge
// (RFC 3261 §22.2), a longer session interval (RFC 4028 §7.3), another place
// (RFC 3261 §8.1.3.4).
func (l *leg) goOn(r *sip.Response) bool {
	if l.cancelWanted || timing.BootNow() > l.sendBy {
		return false
	}
	switch r.StatusCode {
	case 401, 407:
		return l.auth.Answer(r, "INVITE", l.requestURI()) && l.sendAgain(message.Refusal(r))
	case 422:
		return l.lengthen(r) && l.auth.Renew("INVITE", l.requestURI()) && l.sendAgain(message.Refusal(r))
	}
	return l.redirect(r) || l.failOver(r)
}

// sendAgain begins a new INVITE transaction after one that was certainly
// refused: CSeq+1, same Call-ID and From tag, no To tag. A failure to write it
// ends the leg as refused.
func (l *leg) sendAgain(refused engine.LegEvent) bool {
	l.cseq++
	l.branch = message.DeriveBranch(string(l.id), l.cseq, "INVITE")
	l.early = nil
	l.dropTxs(func(tx *clientTx) bool { return tx.method == sip.PRACK })
	l.invite = l.appendInvite(make([]byte, 0, 1280+len(l.offer)))
	plain := l.preferStreamAgain()
	if l.to.Reliable() {
		seq := l.cseq
		err := l.s.net.Push(l.to, transport.Queued{Data: l.invite, Before: func() bool {
			l.mu.Lock()
			defer l.unlock()
			if l.phase != phaseCalling || l.cseq != seq {
				return false
			}
			if timing.BootNow() > l.sendBy || l.cancelWanted {
				l.finish(refused)
				return false
			}
			return true
		}, After: func(left bool, _ error) {
			l.mu.Lock()
			defer l.unlock()
			if !left && l.phase == phaseCalling && l.cseq == seq && !l.datagramAfterAll(plain) {
				l.finish(refused)
			}
		}})
		if err != nil {
			return false
		}
	} else if l.write(l.to, l.invite) != nil {
		return false
	}
	l.written()
	return true
}
