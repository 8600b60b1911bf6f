package sipstack

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
func (l *leg) preferStream() {
	if l.to.Transport != message.UDP || len(l.invite) <= maxDatagram || l.bulky == l.to.Addr {
		return
	}
	stream := l.trunk.Over(l.to.Addr, message.TCP)
	if l.s.net.Marks.Marked(stream) {
		return
	}
	l.bulky = l.to.Addr
	l.spare = append([]transport.Target{l.to}, l.spare...)
	l.moveTo(stream)
}

// preferStreamAgain is preferStream for an INVITE that follows a refused one, and
// that only its credentials have made too long. The address of UDP is given
// when TCP is to be tried. The leg is locked.
func (l *leg) preferStreamAgain() (plain transport.Target) {
	stream := l.trunk.Over(l.to.Addr, message.TCP)
	if l.to.Transport != message.UDP || len(l.invite) <= maxDatagram || l.s.net.Marks.Marked(stream) {
		return transport.Target{}
	}
	if l.redirected == nil {
		l.redirected = &redirects{tried: []string{strings.ToLower(l.toURI)}}
	}
	l.redirected.places = append(l.redirected.places, place{l.cseq - 1, l.requestURI(), l.to, l.sentBy})
	plain = l.to
	l.moveTo(stream)
	return plain
}

// datagramAfterAll sends the INVITE over UDP: over TCP nothing has left. The leg
// is locked.
func (l *leg) datagramAfterAll(plain transport.Target) bool {
	if !plain.Addr.IsValid() || l.cancelWanted || timing.BootNow() > l.sendBy {
		return false
	}
	l.s.net.Marks.Fail(l.to, transport.MaxMarked)
	l.moveTo(plain)
	if l.write(l.to, l.invite) != nil {
		return false
	}
	l.written()
	return true
}

// moveTo writes the INVITE for another way to the same address.
func (l *leg) moveTo(to transport.Target) {
	l.to = to
	l.sentBy = l.trunk.SentBy(to)
	l.invite = l.appendInvite(l.invite[:0:0])
}

// putLast puts an address behind the others that certainly took nothing; for
// long when it was tried only because of the INVITE's length.
func (l *leg) putLast() {
	if l.to.Transport == message.TCP && l.bulky == l.to.Addr {
		l.s.net.Marks.Fail(l.to, transport.MaxMarked)
		return
	}
	l.s.net.Marks.Fail(l.to, 0)
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
