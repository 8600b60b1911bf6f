package leg

import (
	"encoding/json"
	"strings"
	"time"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/timing"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// incoming is what a leg has more when the far side began the call (RFC 3261 §13.3): the INVITE that
// is answered, and an end that waits for its ACK.
type incoming struct {
	leg    *leg
	invite *sip.Request
	src    transport.Target
	record string // Record-Route lines, which responses repeat (§12.1.1)
	taken  bool   // answered with 200
	// hangUp is why the call is to end once the ACK has come: before it no BYE may leave (§15).
	hangUp *engine.HangUpCause
}

// offeredFor bounds how long a call may wait for its answer or refusal.
const offeredFor = 3 * time.Minute

// incomingState is DialogState.Extra of a call that the far side began: what our requests in its dialog
// need, since the Call-ID and both addresses are the far side's. The way to it is here alone: a release that
// does not read Extra finds no usable address, and sends no BYE, whose answer 481 would pass for a proof.
type incomingState struct {
	CallID       string   `json:"call_id"`
	Local        string   `json:"local"`
	Remote       string   `json:"remote"`
	RemoteAddr   string   `json:"remote_addr"`
	RemoteTarget string   `json:"remote_target"`
	RouteSet     []string `json:"route_set,omitempty"`
}

// offer takes a call that a trunk brings and reports it; false means that it is to be refused.
func (k *Table) offer(r *sip.Request, src transport.Target) (taken bool) {
	before := k.ofCall(r.CallID().Value())
	if before != nil && !before.triedAgain(r) {
		k.again(before, r, src)
		return true
	}
	t := k.trunks.At(src.Addr)
	if k.conf.OnCall == nil || t == nil {
		return false
	}
	sdp := message.SDPOf(r)
	from := message.FromTag(r)
	contacts := message.ContactURIs(r)
	switch {
	case from == "" || len(contacts) == 0:
		k.net.Respond(r, src, 400, "From Tag And Contact Wanted", k.trunks.UserAgentLine, nil) // §8.1.1.3, §8.1.1.8
		return true
	case sdp == nil && len(r.Body()) > 0:
		k.net.Respond(r, src, 415, "Unsupported Media Type", "Accept: application/sdp\r\n"+k.trunks.UserAgentLine, nil)
		return true
	case sdp == nil: // we make no offers in a 200
		k.net.Respond(r, src, 488, "Not Acceptable Here", k.trunks.UserAgentLine, nil)
		return true
	}
	if t.SessionSec > 0 && tooShort(r) { // before it counts as a call, since another follows at once
		k.net.Respond(r, src, 422, "Session Interval Too Small", minSessionLine+k.trunks.UserAgentLine, nil)
		return true
	}
	a := k.conf.NewCall()
	l := k.newLeg(a.Leg(1), a, t, nil)
	l.callID = strings.Clone(r.CallID().Value())
	l.incoming = &incoming{leg: l, invite: r, src: src}
	for _, h := range r.GetHeaders("record-route") {
		l.incoming.record += "Record-Route: " + message.Clean(h.Value()) + "\r\n"
	}
	l.parties.fromURI, l.parties.toURI = strings.Clone(r.To().Address.String()), strings.Clone(r.From().Address.String())
	l.inv.to, l.sentBy = src, t.SentBy(src)
	l.dlg = l.incomingDialog(r, from, contacts[0])
	l.session.remoteSDP = sdp
	l.mu.Lock()
	if other := k.begin(l, before); other != nil { // a copy of it came by another socket
		l.mu.Unlock()
		k.again(other, r, src)
		return true
	}
	defer l.unlock()
	l.enter(phaseOffered)
	l.deadline = k.clock.Now() + offeredFor
	if k.add(l) != nil {
		return false // no two calls get the same name
	}
	k.Count.Offered.Add(1)
	l.ladder.Received(k.clock.Now(), r, src.Addr)
	k.conf.OnCall(engine.IncomingCall{Attempt: a, Leg: l.id, Trunk: t.Conf.ID, To: calledUsers(r), From: callerOf(r),
		Country: t.Conf.NumberCountry, Offer: sdp, Dialog: l.incomingState(), At: time.Now()})
	return true
}

// triedAgain says that an INVITE is a new call with the Call-ID of one that was refused, as a far side sends it
// that has learnt what is wrong (§8.1.3.5, RFC 4028 §7.3).
func (l *leg) triedAgain(r *sip.Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.incoming
	return n != nil && n.invite != nil && !n.taken && l.phase == phaseOver && r.CSeq().SeqNo > n.invite.CSeq().SeqNo
}

// begin makes a leg that of its Call-ID, in place of the one before, nil for none; it returns the leg that
// another copy of the INVITE has begun meanwhile.
func (k *Table) begin(l, before *leg) (other *leg) {
	if before != nil && k.calls.CompareAndSwap(l.callID, before, l) {
		return nil
	}
	if known, loaded := k.calls.LoadOrStore(l.callID, l); loaded {
		return known.(*leg) //nolint:forcetypeassert // nothing else is put there
	}
	return nil
}

// incomingDialog is the dialog that an INVITE of the far side begins (§12.1.1).
func (l *leg) incomingDialog(r *sip.Request, tag, target string) *dialog {
	d := &dialog{toTag: strings.Clone(tag), target: strings.Clone(target), source: l.inv.to.Addr,
		remote: r.CSeq().SeqNo, updates: message.Lists(r, "allow", "UPDATE")}
	for _, uri := range message.ListOf(r, "record-route") {
		d.routeSet = append(d.routeSet, strings.Clone(uri))
	}
	d.route(l.trunk, l.parties.toURI, l.inv.to)
	return d
}

func (l *leg) incomingState() *engine.DialogState {
	st := l.dlg.state(l.inv.to.Transport, l.sentBy, l.session.told)
	extra, err := json.Marshal(incomingState{CallID: l.callID, Local: l.parties.fromURI, Remote: l.parties.toURI,
		RemoteAddr: st.RemoteAddr, RemoteTarget: st.RemoteTarget, RouteSet: st.RouteSet})
	if err == nil { // strings are always JSON
		st.Extra = string(extra)
	}
	st.RemoteAddr, st.RemoteTarget, st.RouteSet = "", "", nil
	return st
}

// incomingOf reads the stored dialog of a call that the far side began, and returns it with the way to the
// far side; nil means that we began it.
func incomingOf(st *engine.DialogState) (*incomingState, *engine.DialogState) {
	was := &incomingState{}
	if st == nil || st.Extra == "" || json.Unmarshal([]byte(st.Extra), was) != nil || was.CallID == "" {
		return nil, st
	}
	whole := *st
	whole.RemoteAddr, whole.RemoteTarget, whole.RouteSet = was.RemoteAddr, was.RemoteTarget, was.RouteSet
	return was, &whole
}

// recoverIncoming gives a leg of an earlier process the addresses of the call, which the far side began.
func (l *leg) recoverIncoming(was *incomingState) {
	l.callID = message.Clean(was.CallID)
	l.parties.fromURI, l.parties.fromName = message.Clean(was.Local), ""
	l.parties.toURI = message.Clean(was.Remote)
	l.incoming = &incoming{leg: l, taken: true}
}

// again answers an INVITE whose Call-ID is known: a repeated one as before, or with 100 while there is no
// answer (§17.2.1), another one with 482, since it is the same call on another way (§8.2.2.2), or a call of
// ours that came back.
func (k *Table) again(l *leg, r *sip.Request, src transport.Target) {
	l.mu.Lock()
	defer l.unlock()
	if a := l.answers.answered(r); a != nil {
		l.ladder.Received(k.clock.Now(), r, src.Addr)
		if a.data != nil {
			_ = l.write(a.to, a.data)
		}
		return
	}
	if l.phase == phaseOffered && message.BranchOf(r) == message.BranchOf(l.incoming.invite) {
		l.provisional(100, "Trying")
		return
	}
	k.net.Respond(r, src, 482, "Loop Detected", k.trunks.UserAgentLine, nil)
}

// accept answers a call of the far side with 200.
func (k *Table) accept(p engine.PlaceLeg, sink func(engine.LegEvent)) {
	l := k.leg(p.Leg)
	if l == nil {
		sink(engine.LegEvent{Attempt: p.Attempt, Leg: p.Leg, Trunk: p.Trunk, Seq: 1, At: time.Now(),
			Kind: engine.LegNotSent, NotSent: engine.NotSentCancelled, Reason: "the call is gone"})
		return
	}
	l.mu.Lock()
	defer l.unlock()
	l.sink, l.delivered = sink, 0
	if l.phase != phaseOffered {
		return
	}
	if timing.BootNow() > p.SendBy || l.fenced() {
		l.refuse(503, engine.NotSentExpired, "the send-by time had passed")
		return
	}
	if !k.called.begins(p.To, k.conf.OneCall) {
		l.refuse(486, engine.NotSentHeld, "another call to the number is live")
		return
	}
	l.callee = p.To
	r := l.incoming.invite
	refresh, _ := l.session.onRefresh(r) // one that is too short was not offered
	l.session.apply(refresh)
	l.session.localSDP, l.deadline, l.incoming.taken = p.Offer, 0, true
	l.inv.offer = p.Offer
	l.final(200, "OK", string(l.appendContact(nil))+l.trunk.AgentLines+l.trunk.SupportedInDialog()+refresh.lines, p.Offer)
	l.enter(phaseAnswered)
	if m := k.conf.Media; m != nil {
		m.AnsweredFrom(l.attempt, l.id, l.incoming.src.Addr.Addr())
	}
	l.emit(engine.LegEvent{Kind: engine.LegAnswered, Code: 200, Reason: "OK", SDP: l.session.remoteSDP,
		Dialog: l.incomingState()})
}

// RefuseLeg refuses a call that a trunk brought and that was not answered; 0 is the answer that is
// configured for its trunk (trunk.Config.Inbound). On any other leg it does nothing.
func (k *Table) RefuseLeg(id engine.LegID, code int) {
	l := k.leg(id)
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.unlock()
	if l.phase == phaseOffered {
		l.refuse(code, engine.NotSentCancelled, "refused")
	}
}

// RingLeg tells the caller of a call that was not answered that it rings (180).
func (k *Table) RingLeg(id engine.LegID) {
	l := k.leg(id)
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.unlock()
	if l.phase == phaseOffered {
		l.provisional(180, "Ringing")
	}
}

// refuse ends a call of the far side that was not answered. The leg is locked.
func (l *leg) refuse(code int, why engine.NotSentReason, text string) {
	phrase := message.StandardPhrase(code)
	if code == 0 {
		code, phrase = l.s.trunks.InboundAnswer(l.incoming.src.Addr.Addr())
	}
	l.final(code, phrase, l.trunk.UserAgentLine, nil)
	l.notSent(why, text)
}

// final sends the final response to the INVITE of the far side, which is repeated until its ACK comes.
func (l *leg) final(code int, phrase, headers string, sdp []byte) {
	in := l.incoming
	if code < 300 {
		headers = in.record + headers
	}
	l.answers.reply(l.tagged(in.invite), in.src, code, phrase, headers, sdp)
}

// provisional sends a provisional response, which a repeated INVITE gets again.
func (l *leg) provisional(code int, phrase string) {
	in := l.incoming
	headers := l.trunk.UserAgentLine
	if code > 100 { // it begins the dialog
		headers = in.record + string(l.appendContact(nil)) + l.trunk.AgentLines
	}
	data, to := l.respond(l.tagged(in.invite), in.src, code, phrase, headers, nil)
	a := l.answers.remember(in.invite)
	a.data, a.to = data, to
}

// tagged puts our tag into To of a request outside the dialog, which its responses repeat.
func (l *leg) tagged(r *sip.Request) *sip.Request {
	if to := r.To(); message.ToTag(r) == "" {
		if to.Params == nil {
			to.Params = sip.NewParams()
		}
		to.Params.Add("tag", l.parties.fromTag)
	}
	return r
}

// withdrawn handles the CANCEL of a call that a trunk brought; false means that there is none (§9.2).
func (k *Table) withdrawn(r *sip.Request, src transport.Target) bool {
	l := k.ofCall(r.CallID().Value())
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.unlock()
	if l.incoming == nil || l.incoming.invite == nil || message.BranchOf(r) != message.BranchOf(l.incoming.invite) {
		return false
	}
	l.ladder.Received(k.clock.Now(), r, src.Addr)
	l.respond(l.tagged(r), src, 200, "OK", l.trunk.UserAgentLine, nil) // the tag of the INVITE's responses (§9.2)
	if l.phase == phaseOffered {
		l.withdraw(r)
	}
	return true
}

// withdraw ends a call whose caller gave up before it was answered.
func (l *leg) withdraw(r *sip.Request) {
	l.final(487, "Request Terminated", l.trunk.UserAgentLine, nil)
	cause, text := message.Q850(message.MessageReasons(r))
	l.finish(engine.LegEvent{Kind: engine.LegHungUp, Q850: cause, Reason: text})
}

// acknowledged notes the ACK of our 200: from now on a BYE may leave.
func (l *leg) acknowledged() {
	n := l.incoming
	if n == nil || l.phase != phaseAnswered || l.dlg.acked {
		return
	}
	l.dlg.acked = true
	l.enter(phaseConfirmed)
	if n.hangUp != nil {
		l.hangUp(*n.hangUp)
		return
	}
	l.session.goOn()
}

// unacknowledged says that the ACK of our 200 did not come in time: the call is ended all the same
// (§13.3.1.4).
func (n *incoming) unacknowledged() {
	if n != nil && n.leg.dlg != nil {
		n.leg.dlg.acked = true
	}
}

// defers says that the end waits for the ACK of our 200 (§15).
func (n *incoming) defers(cause engine.HangUpCause) bool {
	if n == nil || n.invite == nil || n.leg.dlg.acked {
		return false
	}
	if n.hangUp == nil {
		n.hangUp = &cause
		if m := n.leg.s.conf.Media; m != nil {
			m.HungUp(n.leg.attempt, n.leg.id)
		}
	}
	return true
}

// answered says whether the leg was a conversation.
func (l *leg) answered() bool { return l.dlg != nil && (l.incoming == nil || l.incoming.taken) }

// calledUsers are the user parts of the addresses that an INVITE calls.
func calledUsers(r *sip.Request) []string {
	users := []string{userOf(&r.Recipient)}
	if to := userOf(&r.To().Address); to != users[0] {
		users = append(users, to)
	}
	return users
}

// userOf is the user part of an address, or the number of a tel: URI, without parameters (RFC 3966).
func userOf(u *sip.Uri) string {
	user := u.User
	if u.Scheme == "tel" {
		user = u.Raw()
	}
	user, _, _ = strings.Cut(user, ";")
	return strings.Clone(user)
}

// callerOf is the user part of the caller's address: what the trunk asserts (RFC 3325), else From. It is
// "" for a caller who wants to be anonymous.
func callerOf(r *sip.Request) string {
	for _, h := range r.GetHeaders("privacy") {
		for p := range strings.SplitSeq(h.Value(), ";") {
			switch strings.ToLower(strings.TrimSpace(p)) {
			case "id", "user", "header":
				return ""
			}
		}
	}
	if r.From().Address.User == "anonymous" || strings.HasSuffix(r.From().Address.Host, ".invalid") {
		return ""
	}
	for _, asserted := range message.ListOf(r, "p-asserted-identity") { // a sip: and a tel: URI at most (§9.1)
		var u sip.Uri
		if sip.ParseUri(message.AddrSpec(asserted), &u) == nil && userOf(&u) != "" {
			return userOf(&u)
		}
	}
	return userOf(&r.From().Address)
}
