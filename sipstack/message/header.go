package message

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/emiago/sipgo/sip"
)

// MaxRetryAfter bounds the delay that a far side can ask for.
const MaxRetryAfter = 24 * time.Hour

// Session intervals of RFC 4028 in seconds.
const (
	MinSessionSec = 90        // the shortest that we may be asked for (§4)
	MaxSessionSec = 24 * 3600 // upper bound when reading
)

// SplitList splits a header value at the commas that separate its elements (RFC 3261 §7.3.1); empty
// elements are dropped (RFC 3261 §25.1 allows none).
func SplitList(s string) []string {
	return slices.DeleteFunc(splitAt(s, ','), func(e string) bool { return e == "" })
}

// SplitParams splits "value;a=b;c" at its semicolons.
func SplitParams(s string) []string { return splitAt(s, ';') }

// splitAt splits at separators outside quoted strings and angle brackets, and trims the parts.
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

// parseReason reads the elements of one Reason header value; malformed ones are skipped.
func parseReason(value string) []reason {
	var out []reason
	for _, element := range SplitList(value) {
		parts := SplitParams(element)
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

// MessageReasons reads all Reason headers of a message.
func MessageReasons(m sip.Message) []reason {
	var out []reason
	for _, h := range m.GetHeaders("reason") {
		out = append(out, parseReason(h.Value())...)
	}
	return out
}

// Q850 returns the first Q.850 cause (1–127), 0 when there is none.
func Q850(rs []reason) (cause int, text string) {
	for _, r := range rs {
		if strings.EqualFold(r.protocol, "Q.850") && r.cause >= 1 && r.cause <= 127 {
			return r.cause, r.text
		}
	}
	return 0, ""
}

// ParseRetryAfter reads "120 (comment);duration=60" (RFC 3261 §20.33); 0 when it is malformed.
func ParseRetryAfter(value string) time.Duration {
	value = strings.TrimSpace(value)
	end := 0
	for end < len(value) && value[end] >= '0' && value[end] <= '9' {
		end++
	}
	if end == 0 {
		return 0
	}
	n, err := strconv.ParseInt(value[:end], 10, 32)
	if err != nil || time.Duration(n)*time.Second > MaxRetryAfter {
		return MaxRetryAfter
	}
	return time.Duration(n) * time.Second
}

// ListOf lists the elements of the headers with a name, such as record-route, in the order of the
// message.
func ListOf(m sip.Message, name string) []string {
	var out []string
	for _, h := range m.GetHeaders(name) {
		out = append(out, SplitList(h.Value())...)
	}
	return out
}

// BranchOf returns the branch of the top Via.
func BranchOf(m sip.Message) string {
	branch, _ := m.Via().Params.Get("branch")
	return branch
}

// Vias counts the Vias of a message.
func Vias(m sip.Message) (n int) {
	for _, h := range HeadersOf(m) {
		if _, is := h.(*sip.ViaHeader); is {
			n++
		}
	}
	return n
}

// FromTag returns the tag of a request's From.
func FromTag(r *sip.Request) string {
	for _, p := range r.From().Params {
		if strings.EqualFold(strings.TrimSpace(p.K), "tag") {
			return strings.TrimSpace(p.V)
		}
	}
	return ""
}

func ToTag(m sip.Message) string {
	to := m.To()
	if to == nil {
		return ""
	}
	tag, _ := to.Params.Get("tag")
	return tag
}

// HeaderValue returns the value of the first header with one of the names. Unlike the library's
// look-up, it allocates nothing when there is none.
func HeaderValue(m sip.Message, names ...string) string {
	for _, h := range HeadersOf(m) {
		for _, n := range names {
			if strings.EqualFold(h.Name(), n) {
				return h.Value()
			}
		}
	}
	return ""
}

func HeadersOf(m sip.Message) []sip.Header {
	if h, ok := m.(interface{ Headers() []sip.Header }); ok {
		return h.Headers()
	}
	return nil
}

// Lists says whether a comma-separated header contains a token.
func Lists(m sip.Message, header, token string) bool {
	for _, h := range HeadersOf(m) {
		if !strings.EqualFold(h.Name(), header) {
			continue
		}
		for _, have := range SplitList(h.Value()) {
			if strings.EqualFold(have, token) {
				return true
			}
		}
	}
	return false
}

// RSeqOf returns the RSeq of a reliable provisional response (RFC 3262 §7.1), 0 when the response
// is not reliable.
func RSeqOf(r *sip.Response) uint32 {
	if r.StatusCode == 100 || !Lists(r, "require", "100rel") {
		return 0
	}
	h := r.GetHeader("rseq")
	if h == nil {
		return 0
	}
	n, err := strconv.ParseUint(strings.TrimSpace(h.Value()), 10, 32)
	if err != nil || n > 1<<31-1 {
		return 0
	}
	return uint32(n)
}

// SessionExpires reads Session-Expires: its interval in seconds, 0 when there is none, and its
// refresher parameter: uac, uas or empty.
func SessionExpires(m sip.Message) (sec uint32, refresher string) {
	value := HeaderValue(m, "session-expires", "x")
	if value == "" {
		return 0, ""
	}
	parts := SplitParams(value)
	sec = deltaSeconds(parts[0])
	for _, p := range parts[1:] {
		if name, v, _ := strings.Cut(p, "="); strings.EqualFold(strings.TrimSpace(name), "refresher") {
			switch v = strings.ToLower(strings.TrimSpace(v)); v {
			case "uac", "uas":
				refresher = v
			}
		}
	}
	return sec, refresher
}

// deltaSeconds reads a number of seconds, at most MaxSessionSec; 0 when it is not a number.
func deltaSeconds(s string) uint32 {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 32)
	if err != nil {
		return 0
	}
	return uint32(min(n, MaxSessionSec))
}

func MinSEOf(m sip.Message) uint32 {
	value, _, _ := strings.Cut(HeaderValue(m, "min-se"), ";")
	return deltaSeconds(value)
}

// ParseSeconds reads delta-seconds (RFC 3261 §25.1); larger values are limited to the maximum of an
// int32.
func ParseSeconds(s string) (int, bool) {
	s = strings.TrimSpace(s)
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 1<<31 - 1, true
	}
	return int(n), true
}
