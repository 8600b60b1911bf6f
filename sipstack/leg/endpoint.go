package leg

import (
	"dialler/engine"
	"dialler/sipstack/auth"
	"dialler/sipstack/ladder"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"
	"dialler/sipstack/trunk"

	"github.com/emiago/sipgo/sip"
)

// endpoint is our end of a leg on the wire: how messages name it, where they go out,
// and what has crossed. It knows neither the phase nor the dialog of the leg, and is
// guarded by the leg's lock.
type endpoint struct {
	s       *env
	id      engine.LegID
	callID  string // the SIP Call-ID; the leg's identifier unless the far side began the call
	trunk   *trunk.Trunk
	parties parties
	sentBy  string // our host:port in Via and Contact
	ladder  ladder.Ladder
}

// write sends a message of the leg and notes it.
func (p *endpoint) write(to transport.Target, b []byte) error { return p.writeOr(to, b, nil) }

// writeOr is write; unsent is called later, without the leg's lock, where the connection could not be made.
func (p *endpoint) writeOr(to transport.Target, b []byte, unsent func()) error {
	err := p.s.net.WriteOr(to, b, unsent)
	if err == nil {
		p.ladder.Sent(p.s.clock.Now(), b, to.Addr)
	}
	return err
}

// respond answers a request of the far side in the leg's dialog.
func (p *endpoint) respond(
	r *sip.Request, src transport.Target, code int, phrase, headers string, sdp []byte,
) (data []byte, to transport.Target) {
	data, to = p.s.net.Respond(r, src, code, phrase, headers, sdp)
	p.ladder.Answered(p.s.clock.Now(), r, src.Addr, code, phrase, len(sdp) > 0)
	return data, to
}

// ack sends the ACK of a final response in a dialog; by is nil where the request had
// no credentials. unsent is that of writeOr.
func (p *endpoint) ack(d *dialog, cseq uint32, branch string, by *auth.Credentials, unsent func()) {
	p.ackTo(d.hop, d, cseq, branch, by, unsent)
	if d.back.Addr.IsValid() {
		p.ackTo(d.back, d, cseq, branch, by, nil)
	}
}

func (p *endpoint) ackTo(to transport.Target, d *dialog, cseq uint32, branch string, by *auth.Credentials,
	unsent func()) {
	b := getBuffer()
	*b = p.appendInDialog((*b)[:0], to.Transport, d, "ACK", cseq, branch)
	if by != nil {
		*b = by.AppendTo(*b)
	}
	*b = append(*b, "Content-Length: 0\r\n\r\n"...)
	if p.writeOr(to, *b, unsent) == nil {
		p.s.Count.Acks.Add(1)
	}
	putBuffer(b)
}

func (p *endpoint) appendContact(b []byte) []byte {
	b = append(b, "Contact: <sip:"...)
	b = append(b, message.DeriveUser(string(p.id))...)
	b = append(b, '@')
	b = append(b, p.sentBy...)
	b = append(b, p.trunk.Params...)
	return append(b, ">\r\n"...)
}

// appendInDialog writes the headers of a request inside a dialog (RFC 3261 §12.2.1.1), up to but
// not including Content-Length.
func (p *endpoint) appendInDialog(
	b []byte, over message.Transport, d *dialog, method string, cseq uint32, branch string,
) []byte {
	b = message.AppendStart(b, method, d.requestURI, over, p.sentBy, branch)
	for _, r := range d.routes {
		b = append(b, "Route: "...)
		b = append(b, r...)
		b = append(b, "\r\n"...)
	}
	return p.parties.appendTo(b, p.callID, d.toTag, cseq, method)
}
