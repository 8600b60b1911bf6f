package sipstack

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/emiago/sipgo/sip"
)

// maxRetryAfter bounds what a far side can ask for.
const maxRetryAfter = 24 * time.Hour

// splitList splits a header value at the commas that separate its elements
// (RFC 3261 §7.3.1); empty ones are left out (RFC 3261 §25.1 allows none).
func splitList(s string) []string {
	return slices.DeleteFunc(splitAt(s, ','), func(e string) bool { return e == "" })
}

// splitParams splits "value;a=b;c" at its semicolons.
func splitParams(s string) []string { return splitAt(s, ';') }

// splitAt splits at separators outside of quoted strings and angle brackets, and
// trims the parts.
func splitAt(s string, separator byte) []string {
	var out []string
	quoted, angle, from := false, false, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '<':
			angle = true
		case c == '>':
			angle = false
		case c == separator && !angle:
			out = append(out, strings.TrimSpace(s[from:i]))
			from = i + 1
		}
	}
	return append(out, strings.TrimSpace(s[min(from, len(s)):]))
}

// unquote removes the quotes and escapes of a quoted string (RFC 3261 §25.1).
func unquote(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	s = s[1 : len(s)-1]
	if !strings.ContainsRune(s, '\\') {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// reason is one element of a Reason header (RFC 3326).
type reason struct {
	protocol string // "Q.850", "SIP"
	cause    int
	text     string
}

// parseReason reads the elements of one Reason header value; what is not
// understood is left out.
func parseReason(value string) []reason {
	var out []reason
	for _, element := range splitList(value) {
		parts := splitParams(element)
		r := reason{protocol: parts[0]}
		for _, p := range parts[1:] {
			name, v, _ := strings.Cut(p, "=")
			v = strings.TrimSpace(v)
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "cause":
				if n, err := strconv.Atoi(unquote(v)); err == nil && n >= 0 && n < 1000 {
					r.cause = n
				}
			case "text":
				r.text = unquote(v)
			}
		}
		if r.protocol != "" {
			out = append(out, r)
		}
	}
	return out
}

// messageReasons reads all Reason headers of a message.
func messageReasons(m sip.Message) []reason {
	var out []reason
	for _, h := range m.GetHeaders("reason") {
		out = append(out, parseReason(h.Value())...)
	}
	return out
}

// q850 is the first Q.850 cause (1–127), 0 when there is none.
func q850(rs []reason) (cause int, text string) {
	for _, r := range rs {
		if strings.EqualFold(r.protocol, "Q.850") && r.cause >= 1 && r.cause <= 127 {
			return r.cause, r.text
		}
	}
	return 0, ""
}

// parseRetryAfter reads "120 (comment);duration=60" (RFC 3261 §20.33); 0 when
// it is not understood.
func parseRetryAfter(value string) time.Duration {
	value = strings.TrimSpace(value)
	end := 0
	for end < len(value) && value[end] >= '0' && value[end] <= '9' {
		end++
	}
	if end == 0 {
		return 0
	}
	n, err := strconv.ParseInt(value[:end], 10, 32)
	if err != nil || time.Duration(n)*time.Second > maxRetryAfter {
		return maxRetryAfter
	}
	return time.Duration(n) * time.Second
}

// addrSpec takes the URI out of a name-addr or addr-spec (RFC 3261 §20.10).
func addrSpec(s string) string {
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

// contactURIs lists the URIs of all Contact headers, long and compact form.
func contactURIs(m sip.Message) []string {
	var out []string
	for _, name := range [...]string{"contact", "m"} {
		for _, h := range m.GetHeaders(name) {
			for _, element := range splitList(h.Value()) {
				if uri := addrSpec(element); uri != "" && uri != "*" {
					out = append(out, uri)
				}
			}
		}
	}
	return out
}

// recordRoutes lists the Record-Route elements in the order of the message.
func recordRoutes(m sip.Message) []string {
	var out []string
	for _, h := range m.GetHeaders("record-route") {
		out = append(out, splitList(h.Value())...)
	}
	return out
}

// networkBlocked says whether a 603 carries a marker of the network having
// blocked the call for its caller ID, as against the callee declining it: the
// "603+" response of ATIS-1000099 (reason phrase "Network Blocked", Reason
// text that begins with "v=analytics"), or Twilio's error 32203.
func networkBlocked(r *sip.Response, rs []reason) bool {
	if r.StatusCode != 603 {
		return false
	}
	if strings.Contains(strings.ToLower(r.Reason), "network blocked") {
		return true
	}
	for _, x := range rs {
		if t := strings.ToLower(x.text); strings.HasPrefix(t, "v=analytics") || strings.Contains(t, "network blocked") {
			return true
		}
	}
	h := r.GetHeader("x-twilio-error")
	return h != nil && strings.HasPrefix(strings.TrimSpace(h.Value()), "32203")
}

// limitReached says whether a 503 names a limit on calls per second or on
// simultaneous calls, in its reason phrase, a Reason text or a Warning.
func limitReached(r *sip.Response, rs []reason) bool {
	if r.StatusCode != 503 {
		return false
	}
	if namesLimit(r.Reason) {
		return true
	}
	for _, x := range rs {
		if namesLimit(x.text) {
			return true
		}
	}
	for _, h := range r.GetHeaders("warning") {
		if namesLimit(h.Value()) {
			return true
		}
	}
	return false
}

// namesLimit looks for words, not substrings: "operator" contains "rate".
func namesLimit(text string) bool {
	words := strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return c < 'a' || c > 'z' })
	limit, calls := false, false
	for _, w := range words {
		switch w {
		case "cps", "rate", "ratelimit", "concurrent", "concurrency", "channel", "channels", "throttled", "throttling":
			return true
		case "limit", "limits", "limited", "exceeded", "exceeds", "maximum", "max", "many":
			limit = true
		case "call", "calls", "session", "sessions", "capacity":
			calls = true
		}
	}
	return limit && calls
}

// maxAttestation bounds what is kept of a header that tells an attestation.
const maxAttestation = 64

// attestation is what the network says in a response of our caller ID: the
// level of P-Attestation-Indicator, the verstat parameter of
// P-Asserted-Identity (3GPP TS 24.229 §7.2A.20), or what a header of a
// carrier's own, named X-…attest…, says.
func attestation(m *sip.Response) string {
	if h := m.GetHeader("p-attestation-indicator"); h != nil {
		return bounded(h.Value())
	}
	for _, h := range m.GetHeaders("p-asserted-identity") {
		_, v, ok := strings.Cut(h.Value(), ";verstat=")
		if end := strings.IndexAny(v, ";>,\" @"); end >= 0 {
			v = v[:end]
		}
		if ok && v != "" {
			return bounded(v)
		}
	}
	for _, h := range m.Headers() {
		if name := strings.ToLower(h.Name()); strings.HasPrefix(name, "x-") && strings.Contains(name, "attest") {
			return bounded(h.Value())
		}
	}
	return ""
}

func bounded(s string) string {
	s = strings.TrimSpace(clean(s))
	if len(s) > maxAttestation {
		s = strings.ToValidUTF8(s[:maxAttestation], "")
	}
	return s
}
