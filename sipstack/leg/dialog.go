package leg

import (
	"net/netip"
	"strings"
	"sync"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"
	"dialler/sipstack/trunk"
)

// maxEarly bounds the early dialogs of one INVITE.
const maxEarly = 16

// dialog is what in-dialog requests need (RFC 3261 §12.1.2).
type dialog struct {
	toTag    string
	target   string   // Contact URI of the far side
	routeSet []string // in Route header order
	source   netip.AddrPort
	invite   uint32 // CSeq of the INVITE, repeated by its ACK
	seq      uint32 // CSeq of our last request
	remote   uint32 // highest CSeq of the far side's requests
	acked    bool
	rseq     uint32 // RSeq of the last reliable provisional response, 0 = none
	// remoteSDP is the far side's answer in this dialog before the 2xx.
	remoteSDP []byte
	// updates says that the far side accepts UPDATE (RFC 3311 §4).
	updates bool
	// back is where the 2xx came from, once it was repeated after its ACK, or the connection for that could
	// not be made: what Contact or Record-Route name cannot be reached from here, or the ACK was lost. Both
	// ways are taken from then on, and in dialogs of an earlier process.
	back transport.Target

	// Derived by route: the contents and destination of a request.
	requestURI string
	routes     []string
	hop        transport.Target
}

// route applies the route set (RFC 3261 §12.2.1.1). toURI is the callee and to the INVITE's
// destination: they are used if the far side names no usable target.
func (d *dialog) route(t *trunk.Trunk, toURI string, to transport.Target) {
	d.requestURI, d.routes = d.target, d.routeSet
	next := d.target
	if len(d.routeSet) > 0 {
		next = message.AddrSpec(d.routeSet[0])
		if !strings.Contains(strings.ToLower(next), ";lr") {
			// A strict router expects itself in the Request-URI and the target as the last Route.
			d.requestURI = next
			d.routes = append(append([]string{}, d.routeSet[1:]...), "<"+d.target+">")
		}
	}
	if d.requestURI == "" {
		d.requestURI = toURI // a 2xx without Contact breaks §12.1.1; try what is known
	}
	d.hop = t.NextHop(next, to.At(d.source))
}

// otherWay is where a request that went to one of two ways goes next.
func (d *dialog) otherWay(to transport.Target) transport.Target {
	if to.Addr == d.back.Addr {
		return d.hop
	}
	return d.back
}

// earlyDialogs are the early dialogs of the current INVITE.
type earlyDialogs []*dialog

func (ds earlyDialogs) find(toTag string) *dialog {
	for _, d := range ds {
		if d.toTag == toTag {
			return d
		}
	}
	return nil
}

// descriptions are the first session descriptions of each dialog that provisional responses
// create: a far side that has sent one may leave it out of its 2xx (RFC 3261 §13.2.1).
type descriptions []struct {
	toTag string
	sdp   []byte
}

func (ds *descriptions) add(toTag string, sdp []byte) {
	if sdp == nil || toTag == "" || len(*ds) >= maxEarly || ds.of(toTag) != nil {
		return
	}
	*ds = append(*ds, struct {
		toTag string
		sdp   []byte
	}{strings.Clone(toTag), sdp})
}

func (ds descriptions) of(toTag string) []byte {
	for _, d := range ds {
		if d.toTag == toTag {
			return d.sdp
		}
	}
	return nil
}

// state returns what must be durable before the ACK leaves.
func (d *dialog) state(over message.Transport, sentBy string, sessionSec uint32) *engine.DialogState {
	return &engine.DialogState{
		ToTag: d.toTag, RemoteTarget: d.target, RouteSet: d.routeSet, CSeq: d.invite,
		RemoteAddr: d.source.String(), Transport: string(over), LocalAddr: sentBy,
		SessionSec: sessionSec,
	}
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// getBuffer lends a buffer for a message that is not kept; putBuffer takes it
// back.
func getBuffer() *[]byte  { return buffers.Get().(*[]byte) }
func putBuffer(b *[]byte) { buffers.Put(b) }

// branch returns the branch of a request inside the dialog.
func (d *dialog) branch(callID string, cseq uint32, method string) string {
	return message.DeriveBranch(callID+"/"+d.toTag, cseq, method)
}
