package sipstack

// maxDatagram is the longest request that goes over UDP where the MTU of the
// path is not known (RFC 3261 §18.1.1).
const maxDatagram = 1300

// preferStream sends the INVITE over TCP when it is too long for UDP (RFC 3261
// §18.1.1). UDP is next: it is used when the far side refuses the connection,
// which is certain before anything has left. Where it did so a while ago, the
// connection is not tried. The leg is locked.
func (l *leg) preferStream() {
	if l.to.transport != UDP || len(l.invite) <= maxDatagram || l.bulky == l.to {
		return
	}
	stream := l.trunk.over(l.to.addr, TCP)
	if l.s.marks.marked(stream) {
		return
	}
	l.bulky = l.to
	l.spare = append([]target{l.to}, l.spare...)
	l.to = stream
	l.address()
	l.invite = l.appendInvite(l.invite[:0])
}

// putLast puts an address behind the others that certainly took nothing; for
// long when it was tried only because of the INVITE's length.
func (l *leg) putLast() {
	if l.to.transport == TCP && l.bulky.addr == l.to.addr {
		l.s.marks.fail(l.to, maxMarked)
		return
	}
	l.s.marks.fail(l.to, 0)
}
