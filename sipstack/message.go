package sipstack

import "dialler/sipstack/message"

func (v *invitation) appendContact(b []byte) []byte {
	b = append(b, "Contact: <sip:"...)
	b = append(b, message.DeriveUser(string(v.leg.id))...)
	b = append(b, '@')
	b = append(b, v.sentBy...)
	b = append(b, v.leg.trunk.Params...)
	return append(b, ">\r\n"...)
}

// appendInvite writes the INVITE with the leg's present CSeq and credentials.
func (v *invitation) appendInvite(b []byte) []byte {
	b = message.AppendStart(b, "INVITE", v.requestURI(), v.to.Transport, v.sentBy, v.branch)
	b = append(b, v.leg.trunk.RouteLine...)
	b = v.leg.parties.appendTo(b, string(v.leg.id), "", v.cseq, "INVITE")
	b = v.appendContact(b)
	b = append(b, v.leg.trunk.AgentLines...)
	b = v.appendExtensions(b)
	b = v.leg.parties.appendCaller(b, &v.leg.trunk.Conf)
	b = v.auth.AppendTo(b)
	b = append(b, v.leg.trunk.ExtraLines...)
	for _, h := range v.headers {
		b = message.AppendHeader(b, h.Name, h.Value)
	}
	return message.AppendBody(b, v.offer)
}

// appendHopACK writes the ACK of a final response other than 2xx (RFC 3261
// §17.1.1.3); to is the To header of that response.
func (v *invitation) appendHopACK(b []byte, to string, cseq uint32) []byte {
	at := v.placeOf(cseq)
	b = message.AppendStart(b, "ACK", at.uri, at.to.Transport, at.sentBy, v.inviteBranch(cseq))
	b = append(b, v.leg.trunk.RouteLine...)
	b = v.leg.parties.appendFrom(b)
	b = append(b, "To: "...)
	b = append(b, to...)
	b = append(b, "\r\n"...)
	b = message.AppendCallID(b, string(v.leg.id), cseq, "ACK")
	return append(b, "Content-Length: 0\r\n\r\n"...)
}

// appendCancel writes the CANCEL of the INVITE with that CSeq (RFC 3261 §9.1).
func (v *invitation) appendCancel(b []byte, cseq uint32) []byte {
	b = message.AppendStart(b, "CANCEL", v.requestURI(), v.to.Transport, v.sentBy, v.inviteBranch(cseq))
	b = append(b, v.leg.trunk.RouteLine...)
	b = v.leg.parties.appendTo(b, string(v.leg.id), "", cseq, "CANCEL")
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
	b = message.AppendStart(b, method, d.requestURI, over, l.inv.sentBy, branch)
	for _, r := range d.routes {
		b = append(b, "Route: "...)
		b = append(b, r...)
		b = append(b, "\r\n"...)
	}
	return l.parties.appendTo(b, string(l.id), d.toTag, cseq, method)
}
