package sipstack

import "dialler/sipstack/message"

// appendDialogID writes From, To, Call-ID and CSeq of one of the leg's
// requests; toTag is empty outside of a dialog.
func (l *leg) appendDialogID(b []byte, toTag string, cseq uint32, method string) []byte {
	b = append(b, "From: "...)
	b = append(b, l.fromName...)
	b = append(b, '<')
	b = append(b, l.fromURI...)
	b = append(b, ">;tag="...)
	b = append(b, l.fromTag...)
	b = append(b, "\r\nTo: <"...)
	b = append(b, l.toURI...)
	b = append(b, '>')
	if toTag != "" {
		b = append(b, ";tag="...)
		b = append(b, toTag...)
	}
	b = append(b, "\r\n"...)
	return message.AppendCallID(b, string(l.id), cseq, method)
}

func (l *leg) appendContact(b []byte) []byte {
	b = append(b, "Contact: <sip:"...)
	b = append(b, message.DeriveUser(string(l.id))...)
	b = append(b, '@')
	b = append(b, l.sentBy...)
	b = append(b, l.trunk.Params...)
	return append(b, ">\r\n"...)
}

// appendInvite writes the INVITE with the leg's present CSeq and credentials.
func (l *leg) appendInvite(b []byte) []byte {
	b = message.AppendStart(b, "INVITE", l.requestURI(), l.to.Transport, l.sentBy, l.branch)
	b = append(b, l.trunk.RouteLine...)
	b = l.appendDialogID(b, "", l.cseq, "INVITE")
	b = l.appendContact(b)
	b = append(b, l.trunk.AgentLines...)
	b = l.appendExtensions(b)
	b = l.appendCaller(b)
	b = l.auth.AppendTo(b)
	b = append(b, l.trunk.ExtraLines...)
	for _, h := range l.headers {
		b = message.AppendHeader(b, h.Name, h.Value)
	}
	return message.AppendBody(b, l.offer)
}

// appendHopACK writes the ACK of a final response other than 2xx (RFC 3261
// §17.1.1.3); to is the To header of that response.
func (l *leg) appendHopACK(b []byte, to string, cseq uint32) []byte {
	at := l.placeOf(cseq)
	b = message.AppendStart(b, "ACK", at.uri, at.to.Transport, at.sentBy, l.inviteBranch(cseq))
	b = append(b, l.trunk.RouteLine...)
	b = append(b, "From: "...)
	b = append(b, l.fromName...)
	b = append(b, '<')
	b = append(b, l.fromURI...)
	b = append(b, ">;tag="...)
	b = append(b, l.fromTag...)
	b = append(b, "\r\nTo: "...)
	b = append(b, to...)
	b = append(b, "\r\n"...)
	b = message.AppendCallID(b, string(l.id), cseq, "ACK")
	return append(b, "Content-Length: 0\r\n\r\n"...)
}

// appendCancel writes the CANCEL of the INVITE with that CSeq (RFC 3261 §9.1).
func (l *leg) appendCancel(b []byte, cseq uint32) []byte {
	b = message.AppendStart(b, "CANCEL", l.requestURI(), l.to.Transport, l.sentBy, l.inviteBranch(cseq))
	b = append(b, l.trunk.RouteLine...)
	b = l.appendDialogID(b, "", cseq, "CANCEL")
	return append(b, "Content-Length: 0\r\n\r\n"...)
}

// appendInDialog writes the headers of a request inside a dialog (RFC 3261
// §12.2.1.1) up to and without Content-Length.
func (l *leg) appendInDialog(b []byte, d *dialog, method string, cseq uint32, branch string) []byte {
	return l.appendInDialogOver(b, d.hop.Transport, d, method, cseq, branch)
}

// appendInDialogOver is appendInDialog for another transport than the next
// hop's own.
func (l *leg) appendInDialogOver(b []byte, over message.Transport, d *dialog, method string, cseq uint32, branch string) []byte {
	b = message.AppendStart(b, method, d.requestURI, over, l.sentBy, branch)
	for _, r := range d.routes {
		b = append(b, "Route: "...)
		b = append(b, r...)
		b = append(b, "\r\n"...)
	}
	return l.appendDialogID(b, d.toTag, cseq, method)
}
