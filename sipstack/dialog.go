package sipstack

import (
	"net/netip"
	"slices"
	"strings"
	"sync"

	"dialler/engine"
	"dialler/sipstack/auth"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// maxEarly bounds the early dialogs of one INVITE.
const maxEarly = 16

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
	rseq     uint32 // RSeq of the last reliable provisional response, 0 = none
	// remoteSDP is what the far side answered in this dialog before the 2xx.
	remoteSDP []byte
	// updates: the far side takes UPDATE (RFC 3311 §4).
	updates bool

	// Derived by route: what goes into a request and where it is sent.
	requestURI string
	routes     []string
	hop        transport.Target
}

// route applies the route set (RFC 3261 §12.2.1.1).
func (l *leg) route(d *dialog) {
	d.requestURI, d.routes = d.target, d.routeSet
	next := d.target
	if len(d.routeSet) > 0 {
		next = message.AddrSpec(d.routeSet[0])
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
	d.hop = l.nextHop(next, l.to.At(d.source))
}

// nextHop finds the address of a URI without waiting. source is where the 2xx
// came from: it serves when the URI tells no usable address.
func (l *leg) nextHop(uri string, source transport.Target) transport.Target {
	var u sip.Uri
	if uri == "" || sip.ParseUri(uri, &u) != nil || u.Host == "" || u.Port < 0 || u.Port > 65535 {
		return source
	}
	over := source.Transport
	for _, p := range u.UriParams {
		if strings.EqualFold(p.K, "transport") {
			over, _ = message.TransportOf(p.V)
			if over != message.TCP && over != message.TLS {
				over = message.UDP
			}
		}
	}
	if u.Scheme == "sips" {
		over = message.TLS
	}
	addrs := l.s.net.Names.Cached(u.Host, u.Port, over)
	if len(addrs) == 0 {
		return source
	}
	addr, from := addrs[0].Addr(), source.Addr
	hop := l.trunk.Named(u.Host, l.trunk.Over(addrs[0], over))
	if !from.IsValid() {
		return hop
	}
	unreachable := (addr.IsPrivate() || addr.IsLoopback() || addr.IsUnspecified()) &&
		!from.Addr().IsPrivate() && !from.Addr().IsLoopback()
	sameConnection := over.Reliable() && over == source.Transport && addr == from.Addr()
	if unreachable || sameConnection {
		// A far side behind NAT that does not know its own address; or the
		// connection that is already open to the same host.
		return source
	}
	return hop
}

// newDialog reads the dialog that a 2xx or a reliable 1xx makes. An early one
// takes over what the 2xx says and goes on with its CSeqs (RFC 3261 §13.2.2.4).
func (l *leg) newDialog(r *sip.Response, seq uint32, src netip.AddrPort) *dialog {
	d := l.earlyDialog(message.ToTag(r))
	if d == nil {
		d = &dialog{toTag: strings.Clone(message.ToTag(r)), seq: seq}
	}
	d.source, d.invite = src, seq
	// Copies: a part of the message would keep all of it.
	if uris := message.ContactURIs(r); len(uris) > 0 {
		d.target = strings.Clone(uris[0])
	}
	d.routeSet = message.RecordRoutes(r)
	for i, uri := range d.routeSet {
		d.routeSet[i] = strings.Clone(uri)
	}
	slices.Reverse(d.routeSet)
	l.route(d)
	return d
}

// earlyDialog finds a dialog that the present INVITE has made.
func (l *leg) earlyDialog(tag string) *dialog {
	for _, d := range l.early {
		if d.toTag == tag {
			return d
		}
	}
	return nil
}

// state is what has to be durable before the ACK leaves.
func (l *leg) state(d *dialog) *engine.DialogState {
	st := &engine.DialogState{
		ToTag: d.toTag, RemoteTarget: d.target, RouteSet: d.routeSet, CSeq: d.invite,
		RemoteAddr: d.source.String(), Transport: string(l.to.Transport), LocalAddr: l.sentBy,
	}
	return st
}

// onSuccess takes a 2xx. Retransmissions reach us here for as long as the far
// side has no ACK (RFC 6026 §7.2).
func (l *leg) onSuccess(r *sip.Response, seq uint32, src netip.AddrPort) {
	if l.dlg != nil && l.dlg.toTag == message.ToTag(r) {
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
		l.dlg.updates = message.Lists(r, "allow", "UPDATE")
		l.remoteSDP = message.SDPOf(r)
		if l.remoteSDP == nil {
			l.remoteSDP = l.dlg.remoteSDP // the answer came in a reliable 1xx (RFC 3262 §5)
		}
		if l.localSDP == nil { // else changed by an UPDATE before the 2xx
			l.localSDP = l.offer
		}
		l.startSession(r)
		if m := l.s.conf.Media; m != nil {
			m.AnsweredFrom(l.attempt, l.id, src.Addr())
		}
		l.emit(engine.LegEvent{
			Kind: engine.LegAnswered, Code: r.StatusCode, Reason: r.Reason, Attestation: message.Attestation(r),
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
	l.bye(d, engine.HangUpCause{Q850: 16, Text: "another fork answered"}, true)
}

// ack sends the ACK of a 2xx: a request of its own with the credentials of the
// INVITE (RFC 3261 §13.2.2.4).
func (l *leg) ack(d *dialog) {
	l.ackAs(d, d.invite, &l.auth)
	d.acked = true
}

func (l *leg) ackAs(d *dialog, cseq uint32, auth *auth.Credentials) {
	b := getBuffer()
	*b = l.appendInDialog((*b)[:0], d, "ACK", cseq, l.dialogBranch(d, cseq, "ACK"))
	if auth != nil {
		*b = auth.AppendTo(*b)
	}
	*b = append(*b, "Content-Length: 0\r\n\r\n"...)
	if l.write(d.hop, *b) == nil {
		l.s.count.acks.Add(1)
	}
	putBuffer(b)
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
	// The session ends: only what a transfer reports still matters.
	l.dropTxs(func(tx *clientTx) bool { return tx.method != sip.BYE && tx.method != sip.NOTIFY })
	l.waiting = slices.DeleteFunc(l.waiting, func(tx *clientTx) bool { return tx.method != sip.NOTIFY })
	l.session = nil
	l.enter(phaseClosing)
	l.bye(l.dlg, cause, false)
}

// bye begins a BYE transaction.
func (l *leg) bye(d *dialog, cause engine.HangUpCause, stray bool) {
	l.s.count.byes.Add(1)
	l.send(&clientTx{method: sip.BYE, dlg: d, stray: stray, cause: cause})
}

// byeEnded: any final response ends the dialog (RFC 3261 §15.1.1). So does
// timer F: there is nobody left to tell. Only a 2xx and a 481 prove that the far
// side has ended it.
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

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// getBuffer lends a buffer for a message that is not kept; putBuffer takes it
// back.
func getBuffer() *[]byte  { return buffers.Get().(*[]byte) }
func putBuffer(b *[]byte) { buffers.Put(b) }
