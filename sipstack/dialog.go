package sipstack

import (
	"net/netip"
	"strings"
	"sync"

	"dialler/engine"

	"github.com/emiago/sipgo/sip"
)

// dialog is what in-dialog requests need (RFC 3261 §12.1.2).
type dialog struct {
	toTag    string
	target   string   // Contact URI of the far side
	routeSet []string // in the order of Route headers
	source   netip.AddrPort
	invite   uint32 // CSeq of the INVITE that its ACK repeats
	seq      uint32 // CSeq of our last request
	remote   uint32 // highest CSeq of the far side's requests
	acked    bool
	byeTries int

	// Derived by route: what goes into a request and where it is sent.
	requestURI string
	routes     []string
	hop        target
}

// route applies the route set (RFC 3261 §12.2.1.1).
func (l *leg) route(d *dialog) {
	d.requestURI, d.routes = d.target, d.routeSet
	next := d.target
	if len(d.routeSet) > 0 {
		next = addrSpec(d.routeSet[0])
		if !strings.Contains(strings.ToLower(next), ";lr") {
			// A strict router wants itself in the Request-URI and the target
			// as the last Route.
			d.requestURI = next
			d.routes = append(append([]string{}, d.routeSet[1:]...), "<"+d.target+">")
		}
	}
	if d.requestURI == "" {
		d.requestURI = l.toURI // a 2xx without Contact breaks §12.1.1; try what is known
	}
	d.hop = l.nextHop(next, l.to.at(d.source))
}

// nextHop finds the address of a URI without waiting. source is where the 2xx
// came from: it serves when the URI tells no usable address.
func (l *leg) nextHop(uri string, source target) target {
	var u sip.Uri
	if uri == "" || sip.ParseUri(uri, &u) != nil || u.Host == "" || u.Port < 0 || u.Port > 65535 {
		return source
	}
	over := source.transport
	for _, p := range u.UriParams {
		if strings.EqualFold(p.K, "transport") {
			over, _ = transportOf(p.V)
			if over != TCP && over != TLS {
				over = UDP
			}
		}
	}
	if u.Scheme == "sips" {
		over = TLS
	}
	addrs := l.s.dns.cached(u.Host, u.Port, over)
	if len(addrs) == 0 {
		return source
	}
	addr, from := addrs[0].Addr(), source.addr
	hop := l.trunk.named(u.Host, l.trunk.over(addrs[0], over))
	if !from.IsValid() {
		return hop
	}
	unreachable := (addr.IsPrivate() || addr.IsLoopback() || addr.IsUnspecified()) &&
		!from.Addr().IsPrivate() && !from.Addr().IsLoopback()
	sameConnection := over.reliable() && over == source.transport && addr == from.Addr()
	if unreachable || sameConnection {
		// A far side behind NAT that does not know its own address; or the
		// connection that is already open to the same host.
		return source
	}
	return hop
}

func toTag(m sip.Message) string {
	to := m.To()
	if to == nil {
		return ""
	}
	tag, _ := to.Params.Get("tag")
	return tag
}

// newDialog reads the dialog that a 2xx makes.
func (l *leg) newDialog(r *sip.Response, seq uint32, src netip.AddrPort) *dialog {
	d := &dialog{toTag: toTag(r), source: src, invite: seq, seq: seq}
	if uris := contactURIs(r); len(uris) > 0 {
		d.target = uris[0]
	}
	d.routeSet = recordRoutes(r)
	for i, j := 0, len(d.routeSet)-1; i < j; i, j = i+1, j-1 {
		d.routeSet[i], d.routeSet[j] = d.routeSet[j], d.routeSet[i]
	}
	l.route(d)
	return d
}

// state is what has to be durable before the ACK leaves.
func (l *leg) state(d *dialog) *engine.DialogState {
	st := &engine.DialogState{
		ToTag: d.toTag, RemoteTarget: d.target, RouteSet: d.routeSet, CSeq: d.invite,
		RemoteAddr: d.source.String(), Transport: string(l.to.transport), LocalAddr: l.sentBy,
	}
	return st
}

// onSuccess takes a 2xx. Retransmissions reach us here for as long as the far
// side has no ACK (RFC 6026 §7.2).
func (l *leg) onSuccess(r *sip.Response, seq uint32, src netip.AddrPort) {
	if l.dlg != nil && l.dlg.toTag == toTag(r) {
		if l.dlg.acked {
			l.ack(l.dlg)
		}
		return
	}
	switch l.phase {
	case phaseCalling, phaseProceeding, phaseSilent:
		unwanted := l.cancelWanted || l.phase == phaseSilent
		l.resendAt, l.deadline, l.invite = 0, 0, nil
		l.dropCancels()
		l.dlg = l.newDialog(r, seq, src)
		l.remoteSDP = sdpOf(r)
		l.emit(engine.LegEvent{
			Kind: engine.LegAnswered, Code: r.StatusCode, Reason: r.Reason,
			SDP: l.remoteSDP, Dialog: l.state(l.dlg),
		})
		l.enter(phaseAnswered)
		if unwanted {
			l.hangUp(engine.HangUpCause{Q850: 16, Text: "answered too late"})
		}
	case phaseWatch:
		l.deadline = 0
		l.dropCancels()
		l.dlg = l.newDialog(r, seq, src)
		l.enter(phaseAnswered)
		l.hangUp(engine.HangUpCause{Q850: 16, Text: "answered too late"})
	case phaseAnswered, phaseConfirmed, phaseClosing, phaseOver:
		l.endStray(l.newDialog(r, seq, src))
	case phaseQueued, phaseGone:
	}
}

// endStray ends the dialog of another fork, or of a 2xx that came after the
// end: ACK, then BYE (RFC 3261 §13.2.2.4).
func (l *leg) endStray(d *dialog) {
	l.ack(d)
	for _, tx := range l.txs {
		if tx.dlg != nil && tx.dlg.toTag == d.toTag {
			return // a repeated 2xx; the BYE is on its way
		}
	}
	l.s.count.strays.Add(1)
	l.bye(d, engine.HangUpCause{Q850: 16, Text: "another fork answered"}, true, "")
}

// ack sends the ACK of a 2xx: a request of its own with the credentials of the
// INVITE (RFC 3261 §13.2.2.4).
func (l *leg) ack(d *dialog) {
	b := getBuffer()
	*b = l.appendInDialog((*b)[:0], d, "ACK", d.invite)
	*b = append(*b, l.auth.lines[0]...)
	*b = append(*b, l.auth.lines[1]...)
	*b = append(*b, "Content-Length: 0\r\n\r\n"...)
	if l.write(d.hop, *b) == nil {
		l.s.count.acks.Add(1)
	}
	putBuffer(b)
	d.acked = true
}

// confirm is ConfirmLeg.
func (l *leg) confirm() {
	if l.dlg == nil || l.dlg.acked {
		return
	}
	l.ack(l.dlg)
	if l.phase == phaseAnswered {
		l.enter(phaseConfirmed)
	}
}

// hangUp is HangUpLeg of an answered leg.
func (l *leg) hangUp(cause engine.HangUpCause) {
	if l.phase != phaseAnswered && l.phase != phaseConfirmed {
		return
	}
	// The ACK first: a UAS may refuse a BYE while its 2xx is unacknowledged,
	// and would go on repeating it.
	l.confirm()
	l.enter(phaseClosing)
	l.bye(l.dlg, cause, false, "")
}

// bye begins a BYE transaction; credentials is a header line or empty.
func (l *leg) bye(d *dialog, cause engine.HangUpCause, stray bool, credentials string) {
	d.seq++
	b := l.appendInDialog(make([]byte, 0, 640), d, "BYE", d.seq)
	b = append(b, l.trunk.userAgentLine...)
	b = append(b, credentials...)
	b = appendReason(b, cause)
	b = append(b, "Content-Length: 0\r\n\r\n"...)
	l.s.count.byes.Add(1)
	l.beginTx(&clientTx{
		method: sip.BYE, branch: deriveBranch(string(l.id)+"/"+d.toTag, d.seq, "BYE"), cseq: d.seq,
		to: d.hop, data: b, dlg: d, stray: stray, cause: cause,
	})
}

// byeEnded: any final response ends the dialog (RFC 3261 §15.1.1), save a
// challenge that we can answer. So does timer F: there is nobody left to tell.
func (l *leg) byeEnded(tx *clientTx, r *sip.Response) {
	if r != nil && (r.StatusCode == 401 || r.StatusCode == 407) && tx.dlg.byeTries < 2 {
		a := authenticator{username: l.auth.username, password: l.auth.password, nonce: l.auth.nonce, nc: l.auth.nc}
		a.stale = tx.dlg.byeTries > 0 // a second challenge must not loop
		if a.answer(r, "BYE", tx.dlg.requestURI) {
			tx.dlg.byeTries++
			l.auth.nonce, l.auth.nc = a.nonce, a.nc
			l.bye(tx.dlg, tx.cause, tx.stray, a.lines[0]+a.lines[1])
			return
		}
	}
	if tx.stray {
		return
	}
	e := engine.LegEvent{Kind: engine.LegClosed, Reason: "BYE not answered"}
	if r != nil {
		e.Code, e.Reason = r.StatusCode, r.Reason
	}
	l.finish(e)
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// getBuffer lends a buffer for a message that is not kept; putBuffer takes it
// back.
func getBuffer() *[]byte  { return buffers.Get().(*[]byte) }
func putBuffer(b *[]byte) { buffers.Put(b) }
