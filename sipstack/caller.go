package sipstack

import (
	"strings"

	"dialler/engine"
	"dialler/sipstack/message"
)

// CallerIDHeader is the header that carries the caller ID beside From (RFC 3325).
type CallerIDHeader string

const (
	CallerIDNone      CallerIDHeader = "none"                 // the default
	CallerIDAsserted  CallerIDHeader = "p_asserted_identity"  // within a trust domain
	CallerIDPreferred CallerIDHeader = "p_preferred_identity" // to a carrier that asserts itself
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
	l.caller = caller{number: message.EscapeUser(t.user(from)), domain: message.CleanHost(t.conf.FromDomain)}
	l.caller.user = l.caller.number
	if t.conf.FromUser != "" {
		l.caller.user = message.EscapeUser(t.conf.FromUser)
	}
	if l.caller.domain == "" && t.conf.Kind == engine.TrunkRegistered {
		l.caller.domain = message.BracketHost(message.CleanHost(t.conf.Host)) // the registrar's: the account is known there only
	}
	l.setFrom(l.s.net.First().External)
	l.toURI = message.Clean(uri)
	if uri == "" {
		l.toURI = "sip:" + message.EscapeUser(t.user(to)) + "@" + t.hostPort + t.params
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
	if l.trunk.anonymous {
		l.fromURI, l.fromName = anonymousURI, `"Anonymous" `
	}
}

// appendCaller writes what an INVITE says of the caller beside From.
func (l *leg) appendCaller(b []byte) []byte {
	c := &l.trunk.conf
	switch c.CallerIDHeader {
	case CallerIDAsserted:
		b = append(b, "P-Asserted-Identity: <"...)
		b = append(b, l.callerID...)
		b = append(b, ">\r\n"...)
	case CallerIDPreferred:
		b = append(b, "P-Preferred-Identity: <"...)
		b = append(b, l.callerID...)
		b = append(b, ">\r\n"...)
	case CallerIDNone:
	}
	if c.Privacy != "" {
		b = append(b, "Privacy: "...)
		b = append(b, message.Clean(c.Privacy)...)
		b = append(b, "\r\n"...)
	}
	return b
}

// asksForAnonymity says whether a Privacy value asks that nobody learns the
// caller ID (RFC 3325 §9.3): then From must not tell it either. With "user"
// and "header" the carrier's privacy service rewrites From (RFC 3323 §4.2).
func asksForAnonymity(privacy string) bool {
	for _, v := range strings.Split(privacy, ";") {
		if strings.EqualFold(strings.TrimSpace(v), "id") {
			return true
		}
	}
	return false
}
