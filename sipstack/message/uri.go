package message

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/emiago/sipgo/sip"
)

const (
	// MaxContacts bounds the untried places of one leg.
	MaxContacts = 16
	MaxURI      = 512 // bytes
)

// EscapeUser escapes the user part of a SIP URI (RFC 3261 §25.1).
func EscapeUser(s string) string {
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

// CleanHost keeps only the characters of a host name or address.
func CleanHost(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x80 || strings.ContainsRune("!~*'()&=+$,;?/", r) {
			return -1
		}
		if userChar(byte(r)) || r == ':' || r == '[' || r == ']' { //nolint:gosec // ASCII
			return r
		}
		return -1
	}, s)
}

func userChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		strings.IndexByte("-_.!~*'()&=+$,;?/", c) >= 0
}

// AddrSpec extracts the URI from a name-addr or addr-spec (RFC 3261 §20.10).
func AddrSpec(s string) string {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '<':
			if end := strings.IndexByte(s[i:], '>'); end > 0 {
				return s[i+1 : i+end]
			}
			return ""
		}
	}
	// Without brackets, parameters belong to the header, not to the URI.
	uri, _, _ := strings.Cut(s, ";")
	return strings.TrimSpace(uri)
}

// ContactURIs lists the URIs of all Contact headers, long and compact form.
func ContactURIs(m sip.Message) []string {
	var out []string
	for _, name := range [...]string{"contact", "m"} {
		for _, h := range m.GetHeaders(name) {
			for _, element := range SplitList(h.Value()) {
				if uri := AddrSpec(element); uri != "" && uri != "*" {
					out = append(out, uri)
				}
			}
		}
	}
	return out
}

// HostOf returns the host of host:port; brackets are kept.
func HostOf(sentBy string) string {
	if i := strings.LastIndexByte(sentBy, ':'); i >= 0 && i > strings.LastIndexByte(sentBy, ']') {
		return sentBy[:i]
	}
	return sentBy
}

// contact is an element of a Contact header.
type contact struct {
	uri string
	q   float64
}

// ContactsByQ lists the Contacts of a 3xx by descending q (RFC 3261 §8.1.3.4, §20.10).
func ContactsByQ(m sip.Message) []string {
	var cs []contact
	for _, name := range [...]string{"contact", "m"} {
		for _, h := range m.GetHeaders(name) {
			for _, element := range SplitList(h.Value()) {
				c := contact{AddrSpec(element), 1}
				for _, p := range SplitParams(element)[1:] {
					if name, v, _ := strings.Cut(p, "="); strings.EqualFold(strings.TrimSpace(name), "q") {
						if q, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil && q >= 0 && q <= 1 {
							c.q = q
						}
					}
				}
				if c.uri != "" && len(cs) < MaxContacts {
					cs = append(cs, c)
				}
			}
		}
	}
	slices.SortStableFunc(cs, func(a, b contact) int { return cmp.Compare(b.q, a.q) })
	out := make([]string, len(cs))
	for i, c := range cs {
		out[i] = c.uri
	}
	return out
}

// ReferTo reads a Refer-To header: the URI without headers, and its Replaces header (RFC 3891 §3).
// ok is false when it asks for anything but a call.
func ReferTo(value string) (uri, replaces string, ok bool) {
	uri = AddrSpec(value)
	if !strings.Contains(value, "<") { // bare: its ? belongs to the URI nevertheless
		uri, _, _ = strings.Cut(strings.TrimSpace(value), ";")
	}
	uri, headers, _ := strings.Cut(uri, "?")
	if uri == "" || len(uri) > MaxURI || Clean(uri) != uri || strings.ContainsAny(uri, " \t\"<>") {
		return "", "", false
	}
	for _, p := range strings.Split(uri, ";")[1:] {
		if name, v, _ := strings.Cut(p, "="); strings.EqualFold(name, "method") && !strings.EqualFold(v, "INVITE") {
			return "", "", false
		}
	}
	for _, h := range strings.Split(headers, "&") {
		if name, v, _ := strings.Cut(h, "="); strings.EqualFold(name, "Replaces") {
			text, err := url.PathUnescape(v)
			if err != nil || len(text) > MaxURI {
				return "", "", false
			}
			replaces = Clean(text)
		}
	}
	return uri, replaces, true
}

// BracketHost puts an IPv6 address into brackets.
func BracketHost(host string) string {
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		return "[" + host + "]"
	}
	return host
}

// Followable returns the Request-URI for a Contact and its parsed URI, which determines the route;
// ok is false for anything but a SIP URI that can be called.
func Followable(uri string) (string, sip.Uri, bool) {
	uri, _, _ = strings.Cut(uri, "?") // headers from outside are not accepted
	var u sip.Uri
	if len(uri) > MaxURI || len(uri) < 4 || !strings.EqualFold(uri[:4], "sip:") ||
		strings.ContainsAny(uri, " \t\"<>") || Clean(uri) != uri {
		return "", u, false
	}
	if sip.ParseUri(uri, &u) != nil || u.Host == "" || u.Port < 0 || u.Port > 65535 {
		return "", u, false
	}
	for _, p := range u.UriParams {
		if strings.EqualFold(p.K, "method") && !strings.EqualFold(p.V, "INVITE") {
			return "", u, false
		}
		if strings.EqualFold(p.K, "transport") {
			if _, ok := TransportOf(p.V); !ok {
				return "", u, false
			}
		}
	}
	return uri, u, true
}
