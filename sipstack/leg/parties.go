package leg

import (
	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/trunk"
)

// anonymousURI is the From of a caller with privacy (RFC 3323 §4.1.1.3).
const anonymousURI = "sip:anonymous@anonymous.invalid"

// caller is a leg's caller identity: From, and the separate caller ID.
type caller struct {
	number string // as the trunk writes it; the user part of the caller ID
	user   string // of From; the number unless the carrier expects the account there
	domain string // as configured; "" for our own address
}

// parties are the two sides of a leg as named in its requests.
type parties struct {
	caller         caller
	fromURI, toURI string
	fromName       string // display name of From with a space, or ""
	fromTag        string
	callerID       string // URI of the caller ID in addition to From
}

// set sets the two sides of a leg; ours is our host. A leg with an address of its own (uri) goes
// there.
func (p *parties) set(t *trunk.Trunk, ours string, from, to engine.PhoneNumber, uri string) {
	p.caller = caller{number: message.EscapeUser(t.User(from)), domain: message.CleanHost(t.Conf.FromDomain)}
	p.caller.user = p.caller.number
	if t.Conf.FromUser != "" {
		p.caller.user = message.EscapeUser(t.Conf.FromUser)
	}
	if p.caller.domain == "" && t.Conf.Kind == engine.TrunkRegistered {
		// The registrar's, because only it knows the account.
		p.caller.domain = message.BracketHost(message.CleanHost(t.Conf.Host))
	}
	p.setFrom(t, ours)
	p.toURI = message.Clean(uri)
	if uri == "" {
		p.toURI = "sip:" + message.EscapeUser(t.User(to)) + "@" + t.HostPort + t.Params
	}
}

// setFrom writes From; ours is our host, for a trunk without a domain.
func (p *parties) setFrom(t *trunk.Trunk, ours string) {
	domain := p.caller.domain
	if domain == "" {
		domain = ours
	}
	p.fromURI, p.fromName = "sip:"+p.caller.user+"@"+domain, ""
	p.callerID = p.fromURI
	if p.caller.user != p.caller.number {
		p.callerID = "sip:" + p.caller.number + "@" + domain
	}
	if t.Anonymous {
		p.fromURI, p.fromName = anonymousURI, `"Anonymous" `
	}
}

// appendCaller writes an INVITE's caller headers other than From.
func (p *parties) appendCaller(b []byte, c *trunk.Config) []byte {
	switch c.CallerIDHeader {
	case trunk.CallerIDAsserted:
		b = append(b, "P-Asserted-Identity: <"...)
		b = append(b, p.callerID...)
		b = append(b, ">\r\n"...)
	case trunk.CallerIDPreferred:
		b = append(b, "P-Preferred-Identity: <"...)
		b = append(b, p.callerID...)
		b = append(b, ">\r\n"...)
	case trunk.CallerIDNone:
	}
	if c.Privacy != "" {
		b = append(b, "Privacy: "...)
		b = append(b, message.Clean(c.Privacy)...)
		b = append(b, "\r\n"...)
	}
	return b
}

// appendTo writes From, To, Call-ID and CSeq of one of the leg's
// requests; toTag is empty outside of a dialog.
func (p *parties) appendTo(b []byte, callID, toTag string, cseq uint32, method string) []byte {
	b = p.appendFrom(b)
	b = append(b, "To: <"...)
	b = append(b, p.toURI...)
	b = append(b, '>')
	if toTag != "" {
		b = append(b, ";tag="...)
		b = append(b, toTag...)
	}
	b = append(b, "\r\n"...)
	return message.AppendCallID(b, callID, cseq, method)
}

// appendFrom writes From.
func (p *parties) appendFrom(b []byte) []byte {
	b = append(b, "From: "...)
	b = append(b, p.fromName...)
	b = append(b, '<')
	b = append(b, p.fromURI...)
	b = append(b, ">;tag="...)
	b = append(b, p.fromTag...)
	return append(b, "\r\n"...)
}
