package leg

import (
	"strings"

	"dialler/sipstack/message"
	"dialler/sipstack/timing"
	"dialler/sipstack/transport"
)

// preferStream sends the INVITE over TCP if it is too long for UDP (RFC 3261 §18.1.1). UDP is the
// fallback if the far side refuses the connection, because then certainly nothing has left. If it
// did so recently, the connection is not tried. The leg is locked.
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

// preferStreamAgain is preferStream for an INVITE that follows a refused one, and that only its
// credentials have made too long. It returns the UDP address if TCP is to be tried. The leg is
// locked.
func (v *invitation) preferStreamAgain() (plain transport.Target) {
	l := v.leg
	stream := l.trunk.Over(v.to.Addr, message.TCP)
	if v.to.Transport != message.UDP || len(v.data) <= maxDatagram || l.s.net.Marks.Marked(stream) {
		return transport.Target{}
	}
	if v.redirected == nil {
		v.redirected = &redirects{tried: []string{strings.ToLower(l.parties.toURI)}}
	}
	v.redirected.places = append(v.redirected.places, place{v.cseq - 1, v.requestURI(), v.to, l.sentBy})
	plain = v.to
	v.moveTo(stream)
	return plain
}

// datagramAfterAll sends the INVITE over UDP, because nothing has left over TCP. The leg is locked.
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

// moveTo rewrites the INVITE for another transport to the same address.
func (v *invitation) moveTo(to transport.Target) {
	v.to = to
	v.leg.sentBy = v.leg.trunk.SentBy(to)
	v.data = v.appendInvite(v.data[:0:0])
}

// putLast moves an address that certainly took nothing behind the others; for a long time if it was
// tried only because of the INVITE's length.
func (v *invitation) putLast() {
	l := v.leg
	if v.to.Transport == message.TCP && v.bulky == v.to.Addr {
		l.s.net.Marks.Fail(v.to, transport.MaxMarked)
		return
	}
	l.s.net.Marks.Fail(v.to, 0)
}
