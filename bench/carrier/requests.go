package carrier

import (
	"bytes"
	"strconv"
	"time"

	"dialler/bench/carrier/media"
	"dialler/bench/draw"
)

// handle processes one message off the wire.
func (c *Carrier) handle(m *message, p peer) {
	if c.vanishes(p.conn == nil) {
		return
	}
	now := time.Now()
	if what := m.missing(); what != "" {
		c.stray.count("missing " + what)
		if m.request && m.method != "ACK" && len(m.vias) > 0 && len(m.from) > 0 && len(m.to) > 0 && len(m.callID) > 0 &&
			m.cseqMethod != "" {
			c.reply(m, p, 400, "Missing "+what, "")
		}
		return
	}
	sh := c.shard(string(m.callID))
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.closed {
		return
	}
	cl := sh.calls[string(m.callID)]
	if cl != nil && cl.peer.conn != nil && cl.peer.conn.gone.Load() {
		cl.peer = p // the caller came back on another connection
	}
	if !m.request {
		if cl == nil || !cl.onResponse(m, now) {
			c.stray.count("response")
		}
		return
	}
	switch m.method {
	case "INVITE":
		c.onInvite(sh, cl, m, p, now)
	case "ACK":
		if cl == nil || !cl.onAck(m, now) {
			c.stray.count("ack")
		}
	case "CANCEL":
		c.onCancel(cl, m, p, now)
	case "BYE":
		c.onBye(cl, m, p, now)
	case "OPTIONS":
		if status := c.rules.Load().options; status > 0 {
			c.reply(m, p, status, "", "Accept: application/sdp\r\nAllow: INVITE, ACK, CANCEL, BYE, OPTIONS, PRACK, UPDATE, "+
				"INFO, REGISTER\r\n")
		}
	case "REGISTER":
		c.onRegister(m, p)
	case "PRACK":
		c.onPrack(cl, m, p, now)
	case "UPDATE", "INFO":
		c.onInDialog(cl, m, p)
	default:
		c.reply(m, p, 405, "", "Allow: INVITE, ACK, CANCEL, BYE, OPTIONS, PRACK, UPDATE, INFO, REGISTER\r\n")
	}
}

// reply answers a request outside any call state.
func (c *Carrier) reply(m *message, p peer, code int, phrase, extra string) {
	tag := ""
	if code > 100 {
		// Stateless, so a retransmission must get the same tag (§8.2.7).
		tag = strconv.FormatUint(draw.Hash(1, string(m.callID), int(m.cseq)), 36)
	}
	head := responseHead(m, p.addr, tag)
	p.addr = replyTo(m, p.addr)
	p.send(response(code, phrase, head, extra, nil))
}

func topBranch(m *message) []byte {
	b, _ := param(m.vias[0], "branch")
	return b
}

// sentBy is host:port of the top Via, which is part of a transaction's identity (§17.2.3).
func sentBy(m *message) []byte {
	_, rest, _ := bytes.Cut(bytes.TrimSpace(m.vias[0]), []byte(" "))
	by, _, _ := bytes.Cut(rest, []byte(";"))
	return bytes.TrimSpace(by)
}

// onInvite classifies an INVITE: inside a dialog, copy, retry, duplicate, new.
func (c *Carrier) onInvite(sh *shard, cl *call, m *message, p peer, now time.Time) {
	if tag, ok := param(m.to, "tag"); ok {
		if cl == nil || cl.tag != string(tag) || cl.row.State != StateAnswered {
			c.stray.count("481 INVITE")
			c.reply(m, p, 481, "", "")
			return
		}
		cl.onReinvite(m, p)
		return
	}
	switch {
	case cl == nil:
		c.newInvite(sh, m, p, now)
	case cl.branch == string(topBranch(m)):
		cl.onCopy(now)
	case cl.row.State != StateEnded:
		// §8.2.2.2: a merged or repeated request. The phone keeps ringing
		// once, but the caller has dialled twice.
		cl.row.Invites++
		c.touched(cl.row)
		c.reply(m, p, 482, "", "")
	case cl.continues(m):
		cl.serve(m, p, now)
		c.screen(cl, m, now)
	default:
		cl.forget()
		c.newInvite(sh, m, p, now)
	}
}

func (c *Carrier) newInvite(sh *shard, m *message, p peer, now time.Time) {
	cl := sh.newCall(c, m, p, now)
	cl.serve(m, p, now)
	r := c.rules.Load()
	full := r.channels > 0 && c.live.Load() >= r.channels
	if full || (r.limit != nil && !r.limit.allow(now)) {
		why := "CPS limit exceeded"
		if full {
			why = "Concurrent call limit exceeded"
		}
		retry := strconv.Itoa(max(1, int(r.retryAfter/time.Second)))
		cl.refuse(503, why, 0, "Retry-After: "+retry+"\r\n", now)
		return
	}
	c.screen(cl, m, now)
}

// continues says whether a new INVITE of an ended Call-ID legitimately continues it: credentials
// after a challenge (§22.2), a redirection (§8.1.3.4) or a longer session interval (RFC 4028 §7.2),
// with the next CSeq.
func (c *call) continues(m *message) bool {
	if c.row.AckAt.IsZero() && !c.final.running() {
		return false
	}
	code := c.row.FinalCode
	switch {
	case m.cseq != c.cseq+1:
		return false
	case code == 401 || code == 407:
		c.row.AuthRetries++
	case code == 422 || code >= 300 && code < 400:
		c.row.Renewals++
	default:
		return false
	}
	return true
}

// screen asks for credentials where they are required, then admits.
func (c *Carrier) screen(cl *call, m *message, now time.Time) {
	cred := c.rules.Load().credentials
	if cred != nil {
		switch cl.check(cred, m) {
		case authMissing, authStale, authReplayed:
			cl.challenge(cred, cl.nonces > 0 && len(m.auth) > 0, now)
			return
		case authWrong:
			cl.refuse(403, "", 0, "", now)
			return
		case authGranted:
		}
	}
	cl.admit(now)
}

// onCopy absorbs a retransmitted INVITE (§17.2.1).
func (c *call) onCopy(now time.Time) {
	c.row.Retransmits++
	if !c.row.AckAt.IsZero() && now.Sub(c.row.AckAt) > c.carrier.cfg.T1 {
		c.row.LateCopies++
		c.carrier.touched(c.row)
	}
	// After a 2xx the copy is absorbed without a response (RFC 6026 §7.1); the 200 is retransmitted
	// by its own timer.
	if c.last != nil && c.row.AnsweredAt.IsZero() && c.row.AckAt.IsZero() {
		c.peer.send(c.last)
	}
}

// onAck ends the retransmission of the final response.
func (c *call) onAck(m *message, now time.Time) bool {
	if f := c.forkOf(m); f != nil && m.cseq == c.cseq {
		c.onForkAck(f)
		return true
	}
	if c.re.branch != "" && m.cseq == c.re.cseq {
		c.re.final.stop()
		return true
	}
	if m.cseq != c.cseq {
		return false
	}
	same := string(topBranch(m)) == c.branch
	if c.row.AnsweredAt.IsZero() != same {
		// §17.1.1.3: the ACK of a refusal repeats the INVITE's branch;
		// §13.2.2.4: the ACK of a 2xx is a transaction of its own.
		c.violation("ack_branch")
	}
	if tag, _ := param(m.to, "tag"); string(tag) != c.tag {
		c.violation("ack_to_tag")
	}
	c.final.stop()
	if !c.row.AckAt.IsZero() {
		return true // of a repeated 200
	}
	c.row.AckAt = now
	if c.offerless && len(m.body) > 0 {
		var ok bool
		if c.remote, ok = media.Parse(m.body); ok && c.stream != nil {
			c.stream.Retarget(c.remote)
		}
	}
	c.speakRecording()
	c.carrier.touched(c.row)
	switch {
	case c.hangUpDue:
		c.hangUp()
	case c.holdDue:
		c.reinvite("sendonly")
	}
	return true
}

// onCancel answers a CANCEL; it has an effect only before the final response (§9.2).
func (c *Carrier) onCancel(cl *call, m *message, p peer, now time.Time) {
	if cl != nil && cl.row.State == StateSilent {
		if cl.row.CancelAt.IsZero() {
			cl.row.CancelAt = now
			cl.violation("cancel_before_provisional")
			c.touched(cl.row)
		}
		return // it answers nothing at all
	}
	if cl == nil || cl.branch != string(topBranch(m)) || cl.sentBy != string(sentBy(m)) || cl.cseq != m.cseq {
		if cl != nil {
			cl.violation("cancel_of_other_transaction")
		}
		c.stray.count("481 CANCEL")
		c.reply(m, p, 481, "", "")
		return
	}
	pending := cl.row.State == StateTrying || cl.row.State == StateRinging
	how := Cancel("")
	if cl.behaviour != nil {
		how = cl.behaviour.Cancel
	}
	if how != "" && cl.row.State != StateEnded {
		cl.row.Unheard++
		c.touched(cl.row)
	}
	if how == CancelLost {
		if pending && cl.behaviour.CancelRace {
			cl.answer(now)
		}
		return
	}
	if cl.row.CancelAt.IsZero() {
		cl.row.CancelAt, cl.row.ByeReason = now, string(m.reason)
		if cl.last == nil {
			cl.violation("cancel_before_provisional") // §9.1
		}
		c.touched(cl.row)
	}
	if pending && cl.behaviour.CancelRace {
		cl.answer(now) // the 200 was sent before the CANCEL arrived
		pending = false
	}
	if how == CancelUnknown {
		c.reply(m, p, 481, "", "")
		return
	}
	head := responseHead(m, p.addr, cl.tag)
	p.addr = replyTo(m, p.addr)
	p.send(response(200, "", head, "", nil))
	if pending {
		cl.refuse(487, "", 0, "", now)
	}
}

// onBye ends a call from the caller's side.
func (c *Carrier) onBye(cl *call, m *message, p peer, now time.Time) {
	fromTag, _ := param(m.from, "tag")
	toTag, _ := param(m.to, "tag")
	if cl != nil && cl.callerTag == string(fromTag) {
		if f := cl.forkOf(m); f != nil {
			cl.onForkBye(f, m, p)
			return
		}
	}
	if cl == nil || cl.tag != string(toTag) || cl.callerTag != string(fromTag) ||
		(cl.row.State == StateEnded && cl.byeBranch != string(topBranch(m)) && !cl.request.running()) {
		c.stray.count("481 BYE")
		c.reply(m, p, 481, "", "")
		return
	}
	if cl.behaviour != nil && cl.row.State == StateAnswered && cl.row.Unheard < cl.behaviour.LostByes {
		cl.row.Unheard++
		c.touched(cl.row)
		return
	}
	if cl.byeBranch == string(topBranch(m)) {
		c.reply(m, p, 200, "", "") // a copy
		return
	}
	if m.cseq <= cl.remoteCSeq {
		cl.violation("cseq_order") // §12.2.2
		c.reply(m, p, 500, "", "")
		return
	}
	cl.remoteCSeq = m.cseq
	if cred := c.rules.Load().credentials; cred != nil && cred.ByeToo && cl.check(cred, m) != authGranted {
		c.reply(m, p, cred.code(), "", cl.challengeHeaders(cred, len(m.auth) > 0))
		return
	}
	cl.byeBranch = string(topBranch(m))
	c.reply(m, p, 200, "", "")
	if cl.row.State == StateEnded {
		return // crossed our own BYE
	}
	if cl.row.AnsweredAt.IsZero() {
		// §15.1.2: BYE in an early dialog ends the INVITE with 487.
		cl.violation("bye_in_early_dialog")
		cl.row.ByeAt, cl.row.ByeBy = now, Caller
		cl.refuse(487, "", 0, "", now)
		return
	}
	if cl.row.AckAt.IsZero() {
		cl.violation("bye_before_ack")
	}
	cl.final.stop()
	cl.request.stop()
	cl.row.ByeAt, cl.row.ByeBy, cl.row.ByeReason = now, Caller, string(m.reason)
	cl.end(now)
}

// onPrack lets the script continue (RFC 3262).
func (c *Carrier) onPrack(cl *call, m *message, p peer, now time.Time) {
	if cl == nil {
		c.stray.count("481 PRACK")
		c.reply(m, p, 481, "", "")
		return
	}
	want := strconv.Itoa(cl.rseq) + " " + strconv.Itoa(int(cl.cseq)) + " INVITE"
	if string(bytes.Join(bytes.Fields(m.rack), []byte(" "))) != want {
		cl.violation("rack_mismatch")
		c.reply(m, p, 481, "", "")
		return
	}
	cl.remoteCSeq = max(cl.remoteCSeq, m.cseq)
	waiting := cl.reliable.running()
	cl.reliable.stop()
	c.reply(m, p, 200, "", "")
	if waiting {
		cl.advance(now)
	}
}

// onInDialog answers UPDATE and INFO.
func (c *Carrier) onInDialog(cl *call, m *message, p peer) {
	toTag, _ := param(m.to, "tag")
	if cl == nil || cl.tag != string(toTag) || cl.row.State == StateEnded {
		c.stray.count("481 " + m.method)
		c.reply(m, p, 481, "", "")
		return
	}
	cl.remoteCSeq = max(cl.remoteCSeq, m.cseq)
	if m.method != "UPDATE" || len(m.body) == 0 {
		c.reply(m, p, 200, "", cl.contact())
		return
	}
	direction := cl.renegotiate(m)
	head := responseHead(m, p.addr, cl.tag)
	p.addr = replyTo(m, p.addr)
	p.send(response(200, "", head, cl.contact(), cl.describe(direction)))
}

// onRegister stores no bindings: the carrier never calls.
func (c *Carrier) onRegister(m *message, p peer) {
	if cred := c.rules.Load().credentials; cred != nil {
		nonce := strconv.FormatUint(draw.Hash(2, string(m.callID), 0), 16)
		if verify(cred, m, nonce, 0) != authGranted {
			c.reply(m, p, cred.code(), "", challengeHeaders(cred, nonce, false))
			return
		}
	}
	extra := ""
	if len(m.contact) > 0 {
		expires := "3600"
		if len(m.expires) > 0 {
			expires = string(m.expires)
		}
		if v, ok := param(m.contact, "expires"); ok {
			expires = string(v)
		}
		extra = "Contact: <" + string(addrURI(m.contact)) + ">;expires=" + expires + "\r\n"
	}
	c.stray.count("register")
	c.reply(m, p, 200, "", extra)
}
