package leg

import (
	"net/netip"
	"slices"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/sipstack/auth"
	"dialler/sipstack/message"
	"dialler/sipstack/timing"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// invitation is the INVITE of a leg: its contents, destination, and client transaction. After a
// certain refusal it starts again, with CSeq+1.
type invitation struct {
	leg     *leg
	sendBy  engine.BootTime
	offer   []byte
	headers []engine.SIPHeader
	auth    auth.Credentials
	cseq    uint32 // of the current INVITE
	branch  string // of the current INVITE
	data    []byte // kept while it may be retransmitted
	sent    bool   // LegSent was given

	to    transport.Target // where the INVITE went
	route string           // its Route header lines
	spare []transport.Target
	bulky netip.AddrPort // UDP address, if the INVITE is too long for it and TCP was tried

	redirected *redirects // nil means no 3xx was followed
	minSE      uint32     // Min-SE that the far side requested …
	lengthened uint8      // … and how often

	resendAt  time.Duration // next retransmission of the INVITE, 0 = none
	resendGap time.Duration
	leftAt    time.Duration // when the current INVITE was first written
}

// begin sends the first INVITE to the first address that takes it. The leg is
// locked and queued.
func (v *invitation) begin(to []transport.Target) {
	l := v.leg
	if l.phase != phaseQueued {
		return
	}
	if len(to) == 0 {
		l.notSent(engine.NotSentNoRoute, "host name of the trunk not resolved")
		return
	}
	v.spare = slices.Clone(to)
	v.tryNext("")
}

// tryNext sends the INVITE to the next address, as long as certainly none has left.
func (v *invitation) tryNext(failure string) {
	l := v.leg
	for len(v.spare) > 0 {
		v.to, v.spare = v.spare[0], v.spare[1:]
		l.enter(phaseQueued)
		v.address()
		v.data = v.appendInvite(make([]byte, 0, 1024+len(v.offer)))
		v.preferStream()
		if v.to.Reliable() {
			err := l.s.net.Push(v.to, transport.Queued{Data: v.data, Before: v.beforeWrite, After: v.afterWrite})
			if err == nil {
				return
			}
			failure = err.Error()
			continue
		}
		if !v.mayWrite() {
			return
		}
		err := l.write(v.to, v.data)
		if err == nil {
			v.written()
			v.ensureSent()
			return
		}
		failure = err.Error()
		l.s.net.Marks.Fail(v.to, 0)
	}
	l.notSent(engine.NotSentNoRoute, failure)
}

// address sets everything that depends on the INVITE's destination.
func (v *invitation) address() {
	l := v.leg
	l.sentBy = l.trunk.SentBy(v.to)
	if l.incoming == nil { // otherwise the far side has named both
		l.parties.setFrom(l.trunk, l.trunk.LocalHost(v.to))
	}
	v.route = l.trunk.CallRoute()
	v.branch = message.DeriveBranch(string(l.id), v.cseq, "INVITE")
}

// mayWrite is the last check before an INVITE is written.
func (v *invitation) mayWrite() bool {
	l := v.leg
	if l.s.net.IsClosed() {
		l.notSent(engine.NotSentNoRoute, "the stack is closed")
		return false
	}
	if timing.BootNow() > v.sendBy || l.fenced() {
		l.notSent(engine.NotSentExpired, "the send-by time had passed")
		return false
	}
	return true
}

// written starts the client transaction's timers (RFC 3261 §17.1.1.2).
func (v *invitation) written() {
	l := v.leg
	now := l.s.clock.Now()
	if v.to.Reliable() { // over UDP it was recorded when written
		l.ladder.Sent(l.s.clock.Now(), v.data, v.to.Addr)
	}
	l.enter(phaseCalling)
	l.deadline = now + l.s.conf.Timers.Transaction() // timer B
	v.leftAt = now
	if v.resendGap = l.s.conf.Timers.T1; v.to.Reliable() { // timer A
		v.resendGap = l.s.conf.Timers.InviteSilence
	}
	v.resendAt = now + v.resendGap
	l.s.Count.Invites.Add(1)
}

func (v *invitation) ensureSent() {
	if !v.sent {
		v.sent = true
		v.leg.emit(engine.LegEvent{Kind: engine.LegSent})
	}
}

// beforeWrite is called by the TCP queue right before the INVITE is written.
func (v *invitation) beforeWrite() bool {
	l := v.leg
	l.mu.Lock()
	defer l.unlock()
	again := l.phase == phaseCalling && !v.sent && !l.cancelWanted // a broken connection was replaced
	if (l.phase != phaseQueued && !again) || !v.mayWrite() {
		return false
	}
	if !again {
		v.written()
	}
	return true
}

// afterWrite is called by the TCP queue with the result of the write. A response may have overtaken
// it.
func (v *invitation) afterWrite(left bool, err error) {
	l := v.leg
	l.mu.Lock()
	defer l.unlock()
	switch {
	case left:
		if l.phase < phaseOver {
			v.ensureSent()
		}
	case (l.phase == phaseQueued || l.phase == phaseCalling) && !v.sent:
		l.deadline = 0
		if l.cancelWanted {
			l.notSent(engine.NotSentCancelled, "cancelled before it could be sent")
			return
		}
		v.putLast()
		v.tryNext(err.Error())
	}
}

// resend handles timer A. Over a reliable transport nothing is retransmitted, and only the silence is noticed.
func (v *invitation) resend(now time.Duration) {
	l := v.leg
	if l.phase == phaseCalling && now-v.leftAt >= l.s.conf.Timers.InviteSilence {
		l.trunk.Silent(v.leftAt)
	}
	if l.phase != phaseCalling || timing.BootNow() > v.sendBy || v.to.Reliable() {
		// Nothing leaves after the send-by time; timer B keeps running, and the silence is still noticed.
		if v.resendAt = v.leftAt + l.s.conf.Timers.InviteSilence; l.phase != phaseCalling || v.resendAt <= now {
			v.resendAt = 0
		}
		return
	}
	if l.write(v.to, v.data) == nil {
		l.s.Count.Retransmissions.Add(1)
	}
	v.resendGap *= 2
	v.resendAt = now + v.resendGap
}

// onInviteResponse handles a response to the INVITE. The leg is locked.
func (l *leg) onInviteResponse(r *sip.Response, seq uint32, src netip.AddrPort) {
	if r.StatusCode >= 100 && r.StatusCode < len(l.s.Count.ByStatus) {
		l.s.Count.ByStatus[r.StatusCode].Add(1)
	}
	if !l.inv.to.Addr.IsValid() { // recovered, and its trunk has no address now
		l.inv.to, l.inv.cseq = l.trunk.To(src), max(l.inv.cseq, 1)
		l.inv.address()
	} else if l.phase == phaseWatch {
		l.inv.to = l.inv.to.At(src) // the one that answered, of all that were asked
	}
	if l.phase < phaseOver && !l.recovered {
		l.inv.ensureSent() // over TCP a response can be handled before the write returns
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
	if seq != l.inv.cseq && l.phase != phaseWatch {
		return
	}
	switch l.phase {
	case phaseCalling:
		l.enter(phaseProceeding)
		l.inv.resendAt, l.deadline, l.inv.data = 0, 0, nil
	case phaseProceeding, phaseSilent:
	case phaseWatch:
		l.cancelOnce(seq)
		return
	default:
		return // reordered behind the final response
	}
	if !l.acknowledgeProvisional(r, seq, src) {
		return
	}
	rs := message.MessageReasons(r)
	cause, _ := message.Q850(rs)
	sdp := message.SDPOf(r)
	l.described.add(message.ToTag(r), sdp)
	l.emit(engine.LegEvent{Kind: engine.LegProvisional, Code: r.StatusCode, Reason: r.Reason, Q850: cause,
		SDP: sdp, Attestation: message.Attestation(r)})
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
		l.cancelOnce(l.inv.cseq)
		return engine.CancelOwed
	case phaseOffered:
		l.refuse(480, engine.NotSentCancelled, "cancelled before it was answered")
		return engine.CancelNotSent
	case phaseAnswered, phaseConfirmed, phaseClosing:
		if l.cancelWanted {
			return engine.CancelOwed // the 2xx crossed it; the BYE is in progress
		}
		return engine.CancelAnswered
	case phaseOver, phaseGone:
	}
	if !l.inv.sent && !l.recovered {
		return engine.CancelNotSent
	}
	return engine.CancelUnknown
}

// cancelOnce begins a CANCEL of the INVITE with that CSeq unless one is running.
func (l *leg) cancelOnce(cseq uint32) {
	for _, tx := range l.txs.running {
		if tx.method == sip.CANCEL && tx.cseq == cseq {
			return
		}
	}
	if l.cancels > 0 && l.phase != phaseWatch {
		return // answered; now the INVITE's final response is awaited
	}
	l.sendCancel(cseq)
	if l.phase != phaseWatch {
		l.deadline = l.s.clock.Now() + l.s.conf.Timers.Transaction()
	}
}

func (l *leg) sendCancel(cseq uint32) {
	l.cancels++
	l.s.Count.Cancels.Add(1)
	l.txs.begin(&clientTx{
		method: sip.CANCEL, branch: l.inv.inviteBranch(cseq), cseq: cseq, to: l.inv.to,
		data: l.inv.appendCancel(make([]byte, 0, 512), cseq),
	})
}

func (l *leg) onFailure(r *sip.Response, seq uint32) {
	l.inv.ackFailure(r, seq)
	challenge := r.StatusCode == 401 || r.StatusCode == 407
	switch l.phase {
	case phaseCalling, phaseProceeding:
		if seq != l.inv.cseq {
			return // a repetition of the challenge that was answered
		}
		if l.inv.goOn(r) {
			return
		}
		l.txs.dropCancels()
		l.finish(message.Refusal(r))
	case phaseSilent:
		if seq == l.inv.cseq {
			l.txs.dropCancels()
			l.finish(engine.LegEvent{Kind: engine.LegClosed, Code: r.StatusCode, Reason: r.Reason,
				Proof: engine.ProofRefused})
		}
	case phaseWatch:
		if challenge {
			return // perhaps of the INVITE resent with credentials
		}
		l.txs.dropCancels()
		l.finish(engine.LegEvent{Kind: engine.LegClosed, Code: r.StatusCode, Reason: r.Reason,
			Proof: engine.ProofRefused})
	case phaseQueued, phaseOffered, phaseAnswered, phaseConfirmed, phaseClosing, phaseOver, phaseGone:
	}
}

// ackFailure acknowledges a final response other than 2xx, and each repetition (RFC 3261 §17.1.1.2,
// Completed).
func (v *invitation) ackFailure(r *sip.Response, seq uint32) {
	l := v.leg
	to := r.GetHeader("to")
	at := v.placeOf(seq).to
	if to == nil || !at.Addr.IsValid() {
		return
	}
	b := getBuffer()
	*b = v.appendHopACK((*b)[:0], to.Value(), seq)
	if l.write(at, *b) == nil {
		l.s.Count.Acks.Add(1)
	}
	putBuffer(b)
}

// goOn begins another INVITE if a final response asks for one: a challenge (RFC 3261 §22.2), a
// longer session interval (RFC 4028 §7.3), another target (RFC 3261 §8.1.3.4).
func (v *invitation) goOn(r *sip.Response) bool {
	if v.leg.cancelWanted || timing.BootNow() > v.sendBy {
		return false
	}
	switch r.StatusCode {
	case 401, 407:
		return v.auth.Answer(r, "INVITE", v.requestURI()) && v.sendAgain(message.Refusal(r))
	case 422:
		return v.lengthen(r) && v.auth.Renew("INVITE", v.requestURI()) && v.sendAgain(message.Refusal(r))
	}
	return v.redirect(r) || v.failOver(r)
}

// sendAgain begins a new INVITE transaction after one that was certainly
// refused: CSeq+1, same Call-ID and From tag, no To tag. A failure to write it
// ends the leg as refused.
func (v *invitation) sendAgain(refused engine.LegEvent) bool {
	l := v.leg
	v.cseq++
	v.branch = message.DeriveBranch(string(l.id), v.cseq, "INVITE")
	l.early, l.described = nil, nil
	l.txs.drop(func(tx *clientTx) bool { return tx.method == sip.PRACK })
	v.data = v.appendInvite(make([]byte, 0, 1280+len(v.offer)))
	plain := v.preferStreamAgain()
	if v.to.Reliable() {
		seq := v.cseq
		err := l.s.net.Push(v.to, transport.Queued{Data: v.data, Before: func() bool {
			l.mu.Lock()
			defer l.unlock()
			if l.phase != phaseCalling || v.cseq != seq {
				return false
			}
			if timing.BootNow() > v.sendBy || l.cancelWanted {
				l.finish(refused)
				return false
			}
			return true
		}, After: func(left bool, _ error) {
			l.mu.Lock()
			defer l.unlock()
			if !left && l.phase == phaseCalling && v.cseq == seq && !v.datagramAfterAll(plain) {
				l.finish(refused)
			}
		}})
		if err != nil {
			return false
		}
	} else if l.write(v.to, v.data) != nil {
		return false
	}
	v.written()
	return true
}

// appendInvite writes the INVITE with the leg's current CSeq and credentials.
func (v *invitation) appendInvite(b []byte) []byte {
	l := v.leg
	b = message.AppendStart(b, "INVITE", v.requestURI(), v.to.Transport, l.sentBy, v.branch)
	b = append(b, v.route...)
	b = l.parties.appendTo(b, string(l.id), "", v.cseq, "INVITE")
	b = l.appendContact(b)
	b = append(b, l.trunk.AgentLines...)
	b = v.appendExtensions(b)
	b = l.parties.appendCaller(b, &l.trunk.Conf)
	b = v.auth.AppendTo(b)
	b = append(b, l.trunk.ExtraLines...)
	for _, h := range v.headers {
		b = message.AppendHeader(b, h.Name, h.Value)
	}
	return message.AppendBody(b, v.offer)
}

// appendHopACK writes the ACK of a final response other than 2xx (RFC 3261
// §17.1.1.3); to is the To header of that response.
func (v *invitation) appendHopACK(b []byte, to string, cseq uint32) []byte {
	l := v.leg
	at := v.placeOf(cseq)
	b = message.AppendStart(b, "ACK", at.uri, at.to.Transport, at.sentBy, v.inviteBranch(cseq))
	b = append(b, v.route...)
	b = l.parties.appendFrom(b)
	b = append(b, "To: "...)
	b = append(b, to...)
	b = append(b, "\r\n"...)
	b = message.AppendCallID(b, string(l.id), cseq, "ACK")
	return append(b, "Content-Length: 0\r\n\r\n"...)
}

// appendCancel writes the CANCEL of the INVITE with that CSeq (RFC 3261 §9.1).
func (v *invitation) appendCancel(b []byte, cseq uint32) []byte {
	l := v.leg
	b = message.AppendStart(b, "CANCEL", v.requestURI(), v.to.Transport, l.sentBy, v.inviteBranch(cseq))
	b = append(b, v.route...)
	b = l.parties.appendTo(b, string(l.id), "", cseq, "CANCEL")
	return append(b, "Content-Length: 0\r\n\r\n"...)
}

// inviteBranch is the branch of the leg's INVITE with that CSeq.
func (v *invitation) inviteBranch(cseq uint32) string {
	if cseq == v.cseq && v.branch != "" {
		return v.branch
	}
	return message.DeriveBranch(string(v.leg.id), cseq, "INVITE")
}

// appendExtensions writes the extensions that the INVITE supports and requests: 100rel (RFC 3262
// §4) and a session timer (RFC 4028 §7.1).
func (v *invitation) appendExtensions(b []byte) []byte {
	l := v.leg
	if v.minSE == 0 {
		return append(b, l.trunk.Extensions...)
	}
	b = append(b, l.trunk.Supported...)
	b = append(b, "Session-Expires: "...)
	b = strconv.AppendUint(b, uint64(max(l.trunk.SessionSec, v.minSE)), 10)
	b = append(b, "\r\nMin-SE: "...)
	b = strconv.AppendUint(b, uint64(v.minSE), 10)
	return append(b, "\r\n"...)
}

// maxLengthened bounds how often a 422 is answered with a longer interval.
const maxLengthened = 2

// lengthen applies the Min-SE of a 422 to the INVITE.
func (v *invitation) lengthen(r *sip.Response) bool {
	n := message.MinSEOf(r)
	if v.leg.trunk.SessionSec == 0 || n <= v.minSE || v.lengthened >= maxLengthened {
		return false
	}
	v.lengthened++
	v.minSE = n
	return true
}
