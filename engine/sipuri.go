package engine

import (
	"slices"
	"strconv"
	"strings"
)

// SIPURI is the address of a party that is called by SIP and not through a trunk:
// sip:user@host[:port][;transport=udp|tcp|tls] (RFC 3261 §19.1).
type SIPURI struct {
	User      string
	Host      string // name, IPv4 address, or IPv6 address without brackets
	Port      int    // 0 means the one from DNS, else 5060
	Transport string // udp, tcp, tls; empty when the URI has none
}

// SIPURICap is the longest SIP URI that is accepted, in bytes.
const SIPURICap = 512

// ParseSIPURI parses an address; ok is false for anything else, including other URI parameters,
// headers and passwords.
func ParseSIPURI(s string) (u SIPURI, ok bool) {
	if len(s) > SIPURICap {
		return u, false
	}
	rest, found := strings.CutPrefix(s, "sip:")
	if !found {
		return u, false
	}
	u.User, rest, found = strings.Cut(rest, "@")
	if !found || u.User == "" || strings.IndexFunc(u.User, notUser) >= 0 {
		return u, false
	}
	address, params, has := strings.Cut(rest, ";")
	if has {
		name, value, _ := strings.Cut(params, "=")
		u.Transport = strings.ToLower(value)
		if !strings.EqualFold(name, "transport") || !slices.Contains([]string{"udp", "tcp", "tls"}, u.Transport) {
			return u, false
		}
	}
	port := ""
	if v6, after, is6 := strings.Cut(strings.TrimPrefix(address, "["), "]"); strings.HasPrefix(address, "[") {
		if !is6 || strings.IndexFunc(v6, notHex6) >= 0 || !strings.Contains(v6, ":") || (after != "" && after[0] != ':') {
			return u, false
		}
		u.Host, port = v6, after
	} else {
		host := address
		if i := strings.IndexByte(address, ':'); i >= 0 {
			host, port = address[:i], address[i:]
		}
		if host == "" || len(host) > 253 || strings.IndexFunc(host, notHost) >= 0 {
			return u, false
		}
		u.Host = host
	}
	if port != "" {
		n, err := strconv.ParseUint(port[1:], 10, 16)
		if err != nil || n == 0 {
			return u, false
		}
		u.Port = int(n)
	}
	return u, true
}

func letterOrDigit(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// notUser rejects characters other than unreserved, escapes and user-unreserved of RFC 3261 §25.1,
// and those that would begin parameters of the user part.
func notUser(r rune) bool { return !letterOrDigit(r) && !strings.ContainsRune("-_.!~*'()%&=+$,/#", r) }

func notHost(r rune) bool { return !letterOrDigit(r) && r != '-' && r != '.' && r != '_' }

func notHex6(r rune) bool {
	return !(r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F' || r >= '0' && r <= '9' || r == ':' || r == '.')
}

// Limits of the headers that carry variables to a party called by SIP.
const (
	// VariableHeaderCap is the longest value in bytes; a longer one is left out,
	// since half of a value is worse than none.
	VariableHeaderCap = 1024
	// VariableHeadersCap limits name, value and separators of all headers together, in bytes;
	// headers beyond it are left out.
	VariableHeadersCap = 8192
)

// VariableHeaders writes a bot's parameters as SIP headers: "X-" and the name unchanged, so that
// first_name is X-first_name. Bytes that a header name cannot contain become "_", control
// characters of a value become spaces. Names that differ only in case are one header: the first by
// order of name. first are the names that come first, and are reserved: a variable whose name
// equals one of them, regardless of case and with "-" and "_" treated alike, gets no header. The
// rest is sorted by name. left counts the values that were too long, or did not fit.
func VariableHeaders(values map[string]string, first []string) (out []SIPHeader, left int) {
	reserved := make(map[string]bool, len(first))
	for _, n := range first {
		reserved[spelled(n)] = true
	}
	names := make([]string, 0, len(values))
	for _, n := range first {
		if _, ok := values[n]; ok {
			names = append(names, n)
		}
	}
	from := len(names)
	for n := range values {
		if !reserved[spelled(n)] {
			names = append(names, n)
		}
	}
	slices.Sort(names[from:])
	seen := make(map[string]bool, len(names))
	out = make([]SIPHeader, 0, len(names))
	size := 0
	for _, n := range names {
		h := SIPHeader{Name: "X-" + strings.Map(headerName, n), Value: strings.TrimSpace(strings.Map(headerValue, values[n]))}
		key := strings.ToLower(h.Name)
		bytes := len(h.Name) + len(h.Value) + 4 // ": " and CR LF
		if len(h.Name) == 2 || seen[key] {
			continue
		}
		if len(h.Value) > VariableHeaderCap || size+bytes > VariableHeadersCap {
			left++
			continue
		}
		seen[key] = true
		size += bytes
		out = append(out, h)
	}
	return out, left
}

// spelled is the form of a name for comparison with reserved names.
func spelled(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "_") }

// headerName keeps the characters that a token may have (RFC 3261 §25.1).
func headerName(r rune) rune {
	if letterOrDigit(r) || strings.ContainsRune("-.!%*_+`'~", r) {
		return r
	}
	return '_'
}

func headerValue(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}
