package sipstack

import (
	"bytes"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"dialler/engine"

	"github.com/emiago/sipgo/sip"
)

// rung is one message of a leg's ladder in the form in which a live leg keeps
// it: some 70 bytes, mostly without a pointer of its own.
type rung struct {
	at      time.Duration // of the stack's clock
	peer    netip.AddrPort
	method  string // a constant
	reason  string // only where it is not the standard phrase
	note    string
	cseq    uint32
	code    uint16
	repeats uint8
	sent    bool
}

// Longest texts of a rung, in bytes.
const (
	maxPhrase = 60
	maxNote   = 120
)

// sentMessage notes a message of ours. The leg is locked.
func (l *leg) sentMessage(b []byte, to netip.AddrPort) {
	r := rung{at: l.s.now(), peer: to, sent: true}
	line, rest, _ := bytes.Cut(b, []byte("\r\n"))
	if status, ok := bytes.CutPrefix(line, []byte("SIP/2.0 ")); ok {
		code, phrase, _ := bytes.Cut(status, []byte(" "))
		n, _ := strconv.Atoi(string(code))
		r.code = uint16(n) //nolint:gosec // a status code of ours
		if string(phrase) != standardPhrase(n) {
			r.reason = string(phrase)
		}
	}
	r.cseq, r.method = cseqOf(rest)
	if !bytes.HasSuffix(b, []byte("\r\n\r\n")) {
		r.note = "SDP"
	}
	l.note(r)
}

// cseqOf finds CSeq in a message that this package wrote.
func cseqOf(b []byte) (uint32, string) {
	_, after, ok := bytes.Cut(b, []byte("\r\nCSeq: "))
	if !ok {
		return 0, ""
	}
	line, _, _ := bytes.Cut(after, []byte("\r\n"))
	seq, method, _ := bytes.Cut(line, []byte(" "))
	n, _ := strconv.ParseUint(string(seq), 10, 32)
	return uint32(n), knownMethod(string(method))
}

// knownMethod gives the constant of a method, so that no message is kept alive
// by the name in it.
func knownMethod(m string) string {
	for _, known := range [...]sip.RequestMethod{sip.INVITE, sip.ACK, sip.CANCEL, sip.BYE, sip.OPTIONS, sip.INFO, sip.UPDATE,
		sip.PRACK, sip.REFER, sip.NOTIFY, sip.REGISTER, sip.MESSAGE, sip.SUBSCRIBE} {
		if m == string(known) {
			return string(known)
		}
	}
	return "other"
}

// received notes a message of the far side. The leg is locked.
func (l *leg) received(m sip.Message, from netip.AddrPort) {
	r := rung{at: l.s.now(), peer: from}
	if c := m.CSeq(); c != nil {
		r.cseq, r.method = c.SeqNo, knownMethod(string(c.MethodName))
	}
	if resp, ok := m.(*sip.Response); ok {
		r.code = uint16(resp.StatusCode) //nolint:gosec // 100…699: checked when it was matched
		if resp.Reason != standardPhrase(resp.StatusCode) {
			r.reason = strings.Clone(cut(resp.Reason, maxPhrase))
		}
	}
	r.note = noteOf(m)
	l.note(r)
}

// noteOf says what a message held that explains it.
func noteOf(m sip.Message) string {
	var parts []string
	if len(m.Body()) > 0 {
		ct, _, _ := strings.Cut(contentType(m), ";")
		switch ct {
		case "application/sdp":
			parts = append(parts, "SDP")
		default:
			parts = append(parts, "body "+clean(cut(ct, 40)))
		}
	}
	for _, name := range [...]string{"reason", "retry-after", "warning", "require", "unsupported", "session-expires", "min-se", "min-expires"} {
		if hs := m.GetHeaders(name); len(hs) > 0 {
			parts = append(parts, headerTitles[name]+": "+clean(cut(hs[0].Value(), 60)))
		}
	}
	if hs := m.GetHeaders("www-authenticate"); len(hs) > 0 {
		parts = append(parts, "challenge")
	} else if hs := m.GetHeaders("proxy-authenticate"); len(hs) > 0 {
		parts = append(parts, "challenge")
	}
	if len(parts) == 1 && parts[0] == "SDP" {
		return "SDP"
	}
	return strings.Clone(cut(strings.Join(parts, ", "), maxNote))
}

var headerTitles = map[string]string{
	"reason": "Reason", "retry-after": "Retry-After", "warning": "Warning", "require": "Require", "unsupported": "Unsupported",
	"session-expires": "Session-Expires", "min-se": "Min-SE", "min-expires": "Min-Expires",
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}

// note appends a rung; a repeated message counts on the one it repeats.
func (l *leg) note(r rung) {
	for i := len(l.ladder) - 1; i >= 0 && i >= len(l.ladder)-4; i-- {
		have := &l.ladder[i]
		if have.sent == r.sent && have.code == r.code && have.method == r.method && have.cseq == r.cseq && have.note == r.note {
			if have.repeats < 255 {
				have.repeats++
			}
			return
		}
	}
	if len(l.ladder) == engine.LadderCap {
		l.ladder[len(l.ladder)-1] = r
		return
	}
	l.ladder = append(l.ladder, r)
}

// messages writes the ladder out.
func (l *leg) messages() []engine.SIPMessage {
	out := make([]engine.SIPMessage, len(l.ladder))
	for i, r := range l.ladder {
		m := engine.SIPMessage{At: l.s.start.Add(r.at).UTC(), Leg: l.id, Sent: r.sent, Method: r.method, Code: int(r.code),
			Reason: r.reason, CSeq: r.cseq, Note: r.note, Repeats: int(r.repeats)}
		if r.peer.IsValid() {
			m.Peer = r.peer.String()
		}
		if m.Code != 0 && m.Reason == "" {
			m.Reason = standardPhrase(m.Code)
		}
		out[i] = m
	}
	return out
}

// Ladder lists the messages of an attempt's legs that are still known here, in
// the order in which they crossed the socket.
func (s *Stack) Ladder(a engine.AttemptID) []engine.SIPMessage {
	var out []engine.SIPMessage
	for _, l := range s.ofAttempt(a) {
		l.mu.Lock()
		out = append(out, l.messages()...)
		l.mu.Unlock()
	}
	return out
}

// standardPhrase is the phrase of RFC 3261 §21 and of the later codes.
func standardPhrase(code int) string { return phrases[code] }

var phrases = map[int]string{
	100: "Trying", 180: "Ringing", 181: "Call Is Being Forwarded", 182: "Queued", 183: "Session Progress", 199: "Early Dialog Terminated",
	200: "OK", 202: "Accepted", 300: "Multiple Choices", 301: "Moved Permanently", 302: "Moved Temporarily", 305: "Use Proxy",
	380: "Alternative Service", 400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
	405: "Method Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout", 410: "Gone",
	413: "Request Entity Too Large", 414: "Request-URI Too Long", 415: "Unsupported Media Type", 416: "Unsupported URI Scheme",
	420: "Bad Extension", 421: "Extension Required", 422: "Session Interval Too Small", 423: "Interval Too Brief",
	429: "Provide Referrer Identity", 480: "Temporarily Unavailable", 481: "Call/Transaction Does Not Exist", 482: "Loop Detected",
	483: "Too Many Hops", 484: "Address Incomplete", 485: "Ambiguous", 486: "Busy Here", 487: "Request Terminated",
	488: "Not Acceptable Here", 489: "Bad Event", 491: "Request Pending", 493: "Undecipherable", 494: "Security Agreement Required",
	500: "Server Internal Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Server Time-out",
	505: "Version Not Supported", 513: "Message Too Large", 580: "Precondition Failure", 600: "Busy Everywhere", 603: "Decline",
	604: "Does Not Exist Anywhere", 606: "Not Acceptable", 607: "Unwanted", 608: "Rejected",
}
