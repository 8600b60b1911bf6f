package sipstack

import (
	"strings"

	"dialler/engine"
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
	l.caller = caller{number: escapeUser(t.user(from)), domain: cleanHost(t.conf.FromDomain)}
	l.caller.user = l.caller.number
	if t.conf.FromUser != "" {
		l.caller.user = escapeUser(t.conf.FromUser)
	}
	if l.caller.domain == "" && t.conf.Kind == engine.TrunkRegistered {
		l.caller.domain = uriHost(cleanHost(t.conf.Host)) // the registrar's: the account is known there only
	}
	l.setFrom(l.s.external)
	l.toURI = clean(uri)
	if uri == "" {
		l.toURI = "sip:" + escapeUser(t.user(to)) + "@" + t.hostPort + t.params
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
		b = append(b, clean(c.Privacy)...)
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

// escapeUser writes the user part of a SIP URI (RFC 3261 §25.1).
func escapeUser(s string) string {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = userChar(s[i])
	}
	if plain {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c := s[i]; userChar(c) {
			b.WriteByte(c)
		} else {
			const hexDigits = "0123456789ABCDEF"
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String()
}

// cleanHost keeps what a host may be made of: a name or an address.
func cleanHost(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (userChar(byte(r)) || r == ':' || r == '[' || r == ']') && !strings.ContainsRune("!~*'()&=+$,;?/", r) { //nolint:gosec // ASCII
			return r
		}
		return -1
	}, s)
}

func userChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.!~*'()&=+$,;?/", c) >= 0
}
