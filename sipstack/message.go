package sipstack

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"dialler/engine"
)

// allow lists the methods that the far side may send us (RFC 3261 §20.5).
const allow = "INVITE, ACK, CANCEL, BYE, OPTIONS, INFO, UPDATE, PRACK, REFER"

const allowLine = "Allow: " + allow + "\r\n"

// deriveTag is the From tag of a Call-ID.
func deriveTag(callID string) string { return derive("tag", callID, 8) }

// deriveUser is the user part of our Contact.
func deriveUser(callID string) string { return derive("contact", callID, 6) }

// deriveBranch is the branch of a request (RFC 3261 §8.1.1.7). The ACK of a
// final response other than 2xx and the CANCEL have that of their INVITE.
func deriveBranch(callID string, cseq uint32, method string) string {
	var b [96]byte
	in := append(b[:0], method...)
	in = append(in, '.')
	in = strconv.AppendUint(in, uint64(cseq), 10)
	in = append(in, '.')
	in = append(in, callID...)
	sum := sha256.Sum256(in)
	out := make([]byte, 7+20)
	copy(out, "z9hG4bK")
	hex.Encode(out[7:], sum[:10])
	return string(out)
}

func derive(what, callID string, n int) string {
	var b [96]byte
	in := append(b[:0], what...)
	in = append(in, '.')
	in = append(in, callID...)
	sum := sha256.Sum256(in)
	return hex.EncodeToString(sum[:n])
}

// appendStart writes the request line, Via and Max-Forwards.
func appendStart(b []byte, method, uri string, over Transport, sentBy, branch string) []byte {
	b = append(b, method...)
	b = append(b, ' ')
	b = append(b, uri...)
	b = append(b, " SIP/2.0\r\nVia: SIP/2.0/"...)
	b = append(b, over.via()...)
	b = append(b, ' ')
	b = append(b, sentBy...)
	b = append(b, ";rport;branch="...)
	b = append(b, branch...)
	return append(b, "\r\nMax-Forwards: 70\r\n"...)
}

func appendCallID(b []byte, callID string, cseq uint32, method string) []byte {
	b = append(b, "Call-ID: "...)
	b = append(b, callID...)
	b = append(b, "\r\nCSeq: "...)
	b = strconv.AppendUint(b, uint64(cseq), 10)
	b = append(b, ' ')
	b = append(b, method...)
	return append(b, "\r\n"...)
}

// appendBody writes the last headers and the body.
func appendBody(b, sdp []byte) []byte {
	if len(sdp) > 0 {
		b = append(b, "Content-Type: application/sdp\r\n"...)
	}
	return appendContent(b, sdp)
}

// appendContent writes Content-Length and a body whose type was written.
func appendContent(b, body []byte) []byte {
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, int64(len(body)), 10)
	b = append(b, "\r\n\r\n"...)
	return append(b, body...)
}

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
	return appendCallID(b, string(l.id), cseq, method)
}

func (l *leg) appendContact(b []byte) []byte {
	b = append(b, "Contact: <sip:"...)
	b = append(b, deriveUser(string(l.id))...)
	b = append(b, '@')
	b = append(b, l.sentBy...)
	b = append(b, l.trunk.params...)
	return append(b, ">\r\n"...)
}

// appendInvite writes the INVITE with the leg's present CSeq and credentials.
func (l *leg) appendInvite(b []byte) []byte {
	b = appendStart(b, "INVITE", l.requestURI(), l.to.transport, l.sentBy, l.branch)
	b = append(b, l.trunk.routeLine...)
	b = l.appendDialogID(b, "", l.cseq, "INVITE")
	b = l.appendContact(b)
	b = append(b, l.trunk.agentLines...)
	b = l.appendExtensions(b)
	b = l.appendCaller(b)
	b = append(b, l.auth.lines[0]...)
	b = append(b, l.auth.lines[1]...)
	b = append(b, l.trunk.extraLines...)
	for _, h := range l.headers {
		b = appendHeader(b, h.Name, h.Value)
	}
	return appendBody(b, l.offer)
}

// appendHeader writes a header of somebody else; whatever it holds, it stays
// one header.
func appendHeader(b []byte, name, value string) []byte {
	if name = cleanName(name); name == "" {
		return b
	}
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, clean(value)...)
	return append(b, "\r\n"...)
}

// appendHopACK writes the ACK of a final response other than 2xx (RFC 3261
// §17.1.1.3); to is the To header of that response.
func (l *leg) appendHopACK(b []byte, to string, cseq uint32) []byte {
	at := l.placeOf(cseq)
	b = appendStart(b, "ACK", at.uri, at.to.transport, at.sentBy, l.inviteBranch(cseq))
	b = append(b, l.trunk.routeLine...)
	b = append(b, "From: "...)
	b = append(b, l.fromName...)
	b = append(b, '<')
	b = append(b, l.fromURI...)
	b = append(b, ">;tag="...)
	b = append(b, l.fromTag...)
	b = append(b, "\r\nTo: "...)
	b = append(b, to...)
	b = append(b, "\r\n"...)
	b = appendCallID(b, string(l.id), cseq, "ACK")
	return append(b, "Content-Length: 0\r\n\r\n"...)
}

// appendCancel writes the CANCEL of the INVITE with that CSeq (RFC 3261 §9.1).
func (l *leg) appendCancel(b []byte, cseq uint32) []byte {
	b = appendStart(b, "CANCEL", l.requestURI(), l.to.transport, l.sentBy, l.inviteBranch(cseq))
	b = append(b, l.trunk.routeLine...)
	b = l.appendDialogID(b, "", cseq, "CANCEL")
	return append(b, "Content-Length: 0\r\n\r\n"...)
}

// appendInDialog writes the headers of a request inside a dialog (RFC 3261
// §12.2.1.1) up to and without Content-Length.
func (l *leg) appendInDialog(b []byte, d *dialog, method string, cseq uint32, branch string) []byte {
	return l.appendInDialogOver(b, d.hop.transport, d, method, cseq, branch)
}

// appendInDialogOver is appendInDialog for another transport than the next
// hop's own.
func (l *leg) appendInDialogOver(b []byte, over Transport, d *dialog, method string, cseq uint32, branch string) []byte {
	b = appendStart(b, method, d.requestURI, over, l.sentBy, branch)
	for _, r := range d.routes {
		b = append(b, "Route: "...)
		b = append(b, r...)
		b = append(b, "\r\n"...)
	}
	return l.appendDialogID(b, d.toTag, cseq, method)
}

// quotable makes text fit between quotes.
var quotable = strings.NewReplacer(`"`, "'", `\`, "/")

// appendReason writes a Reason header (RFC 3326).
func appendReason(b []byte, c engine.HangUpCause) []byte {
	if c.Q850 < 1 || c.Q850 > 127 {
		c.Q850 = 16
	}
	b = append(b, "Reason: Q.850;cause="...)
	b = strconv.AppendInt(b, int64(c.Q850), 10)
	if text := quotable.Replace(clean(c.Text)); text != "" {
		b = append(b, `;text="`...)
		b = append(b, text...)
		b = append(b, '"')
	}
	return append(b, "\r\n"...)
}

// clean keeps what would end a header line, or is no text, out of it.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

func cleanName(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f || r == ':' {
			return -1
		}
		return r
	}, s)
}
