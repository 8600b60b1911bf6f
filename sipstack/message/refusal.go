package message

import (
	"strings"

	"dialler/engine"

	"github.com/emiago/sipgo/sip"
)

// networkBlocked says whether a 603 is marked as the network having blocked the call for its caller
// ID, rather than the callee declining it: the "603+" response of ATIS-1000099 (reason phrase
// "Network Blocked", Reason text that begins with "v=analytics"), or Twilio's error 32203.
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

// namesLimit matches words, not substrings: "operator" contains "rate".
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

// maxAttestation bounds how much of a header with an attestation is kept.
const maxAttestation = 64

// Attestation returns what a response says of how the network attests our caller ID: the level of
// P-Attestation-Indicator, the verstat parameter of P-Asserted-Identity (3GPP TS 24.229 §7.2A.20),
// or the value of a carrier's own header named X-…attest….
func Attestation(m *sip.Response) string {
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
	s = strings.TrimSpace(Clean(s))
	if len(s) > maxAttestation {
		s = strings.ToValidUTF8(s[:maxAttestation], "")
	}
	return s
}

// Refusal is the final event of a 3xx–6xx response.
func Refusal(r *sip.Response) engine.LegEvent {
	rs := MessageReasons(r)
	e := engine.LegEvent{
		Kind: engine.LegRefused, Code: r.StatusCode, Reason: r.Reason, Attestation: Attestation(r),
		NetworkBlocked: networkBlocked(r, rs),
		LimitReached:   limitReached(r, rs),
	}
	e.Q850, _ = Q850(rs)
	if h := r.GetHeader("retry-after"); h != nil {
		e.RetryAfter = ParseRetryAfter(h.Value())
	}
	if r.StatusCode < 400 {
		e.Contacts = ContactURIs(r)
	}
	return e
}
