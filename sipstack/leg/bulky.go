package leg

import (
	"slices"
	"strings"

	"dialler/sipstack/message"
	"dialler/sipstack/timing"
	"dialler/sipstack/transport"
)

// maxDatagram is the longest request that goes over UDP where the MTU of the
// path is not known (RFC 3261 §18.1.1).
const maxDatagram = 1300

// preferStream sends the INVITE over TCP when it is too long for UDP (RFC 3261
// §18.1.1). UDP is next: it is used when the far side refuses the connection,
// which is certain before anything has left. Where it did so a while ago, the
// connection is not tried. The leg is locked.
func (v *invitation) preferStream() {
	l := v.leg
	if v.to.Transport != message.UDP || len(v.data) <= maxDatagram || v.bulky == v.to.Addr {
		return
	}
	stream := l.trunk.Over(v.to.Addr, message.TCP)
	if l.s.net.Marks.Marked(stream) {
		return
	}
	v.bulky = v.to.Addr
	v.spare = append([]transport.Target{v.to}, v.spare...)
	v.moveTo(stream)
}

// preferStreamAgain is preferStream for an INVITE that follows a refused one, and
// that only its credentials have made too long. The address of UDP is given
// when TCP is to be tried. The leg is locked.
func (v *invitation) preferStreamAgain() (plain transport.Target) {
	l := v.leg
	stream := l.trunk.Over(v.to.Addr, message.TCP)
	if v.to.Transport != message.UDP || len(v.data) <= maxDatagram || l.s.net.Marks.Marked(stream) {
		return transport.Target{}
	}
	if v.redirected == nil {
		v.redirected = &redirects{tried: []string{strings.ToLower(l.parties.toURI)}}
	}
	v.redirected.places = append(v.redirected.places, place{v.cseq - 1, v.requestURI(), v.to, v.sentBy})
	plain = v.to
	v.moveTo(stream)
	return plain
}

// datagramAfterAll sends the INVITE over UDP: over TCP nothing has left. The leg
// is locked.
func (v *invitation) datagramAfterAll(plain transport.Target) bool {
	l := v.leg
	if !plain.Addr.IsValid() || l.cancelWanted || timing.BootNow() > v.sendBy {
		return false
	}
	l.s.net.Marks.Fail(v.to, transport.MaxMarked)
	v.moveTo(plain)
	if l.write(v.to, v.data) != nil {
		return false
	}
	v.written()
	return true
}

// moveTo writes the INVITE for another way to the same address.
func (v *invitation) moveTo(to transport.Target) {
	v.to = to
	v.sentBy = v.leg.trunk.SentBy(to)
	v.data = v.appendInvite(v.data[:0:0])
}

// putLast puts an address behind the others that certainly took nothing; for
// long when it was tried only because of the INVITE's length.
func (v *invitation) putLast() {
	l := v.leg
	if v.to.Transport == message.TCP && v.bulky == v.to.Addr {
		l.s.net.Marks.Fail(v.to, transport.MaxMarked)
		return
	}
	l.s.net.Marks.Fail(v.to, 0)
}

// preferStreamOf is preferStream for a request inside a dialog. The leg is
// locked.
func (l *leg) preferStreamOf(tx *clientTx) {
	stream := l.trunk.Over(tx.to.Addr, message.TCP)
	if tx.to.Transport != message.UDP || len(tx.data) <= maxDatagram || l.s.net.Marks.Marked(stream) {
		return
	}
	tx.plain, tx.to = tx.data, stream
	tx.data = l.inDialog(tx, message.TCP)
}

// writeStream writes a request that is too long for UDP to a connection; UDP is
// next when there is none. The leg is locked.
func (l *leg) writeStream(tx *clientTx) {
	err := l.s.net.Push(tx.to, transport.Queued{Data: tx.data, After: func(left bool, _ error) {
		if left {
			return
		}
		l.mu.Lock()
		defer l.unlock()
		if slices.Contains(l.txs, tx) { // not answered, nor given up
			l.datagramOf(tx)
			tx.gap = l.s.conf.Timers.T1
			tx.resendAt = l.s.clock.Now() + tx.gap
		}
	}})
	if err != nil {
		l.datagramOf(tx)
		return
	}
	l.ladder.Sent(l.s.clock.Now(), tx.data, tx.to.Addr)
}

// datagramOf writes the request over UDP: over TCP nothing has left. The leg is
// locked.
func (l *leg) datagramOf(tx *clientTx) {
	l.s.net.Marks.Fail(tx.to, transport.MaxMarked)
	tx.to.Transport = message.UDP
	tx.data, tx.plain = tx.plain, nil
	_ = l.write(tx.to, tx.data)
}
