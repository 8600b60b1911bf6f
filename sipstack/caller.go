package sipstack

import (
	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/trunk"
)

// anonymousURI stands in From for a caller who wants not to be known (RFC 3323 §4.1.1.3).
const anonymousURI = "sip:anonymous@anonymous.invalid"

// caller is who a leg says that it is: From, and the caller ID beside it.
type caller struct {
	number string // as the trunk writes it; the user part of the caller ID
	user   string // of From; the number unless the carrier wants the account there
	domain string // as configured; "" for our own address
}

// setParties takes the two sides of a leg over. A leg with an address of its
// own (uri) goes there.
func (l *leg) setParties(from, to engine.PhoneNumber, uri string) {
	t := l.trunk
	l.caller = caller{number: message.EscapeUser(t.User(from)), domain: message.CleanHost(t.Conf.FromDomain)}
	l.caller.user = l.caller.number
	if t.Conf.FromUser != "" {
		l.caller.user = message.EscapeUser(t.Conf.FromUser)
	}
	if l.caller.domain == "" && t.Conf.Kind == engine.TrunkRegistered {
		l.caller.domain = message.BracketHost(message.CleanHost(t.Conf.Host)) // the registrar's: the account is known there only
	}
	l.setFrom(l.s.net.First().External)
	l.toURI = message.Clean(uri)
	if uri == "" {
		l.toURI = "sip:" + message.EscapeUser(t.User(to)) + "@" + t.HostPort + t.Params
	}
}

// setFrom writes From; ours is our host, for a trunk without a domain.
func (l *leg) setFrom(ours string) {
	domain := l.caller.domain
	if domain == "" {
		domain = ours
	}
	l.fromURI, l.fromName = "sip:"+l.caller.user+"@"+domain, ""
	l.callerID = l.fromURI
	if l.caller.user != l.caller.number {
		l.callerID = "sip:" + l.caller.number + "@" + domain
	}
	if l.trunk.Anonymous {
		l.fromURI, l.fromName = anonymousURI, `"Anonymous" `
	}
}

// appendCaller writes what an INVITE says of the caller beside From.
func (l *leg) appendCaller(b []byte) []byte {
	c := &l.trunk.Conf
	switch c.CallerIDHeader {
	case trunk.CallerIDAsserted:
		b = append(b, "P-Asserted-Identity: <"...)
		b = append(b, l.callerID...)
		b = append(b, ">\r\n"...)
	case trunk.CallerIDPreferred:
		b = append(b, "P-Preferred-Identity: <"...)
		b = append(b, l.callerID...)
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
