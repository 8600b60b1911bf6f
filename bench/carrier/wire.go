package carrier

import (
	"bytes"
	"net/netip"
	"strconv"
	"strings"

	"dialler/engine"
)

// responseHead writes the headers that every response copies from its request (RFC 3261 §8.2.6.2),
// with received and rport filled in (§18.2.1, RFC 3581 §4). tag is added to To if it has none.
func responseHead(m *message, source netip.AddrPort, tag string) []byte {
	b := make([]byte, 0, 512)
	for i, via := range m.vias {
		b = append(b, "Via: "...)
		if i > 0 {
			b = append(append(b, via...), "\r\n"...)
			continue
		}
		if rport, ok := param(via, "rport"); ok && len(rport) == 0 {
			at := bytes.Index(bytes.ToLower(via), []byte("rport"))
			after := at + len("rport")
			if after < len(via) && via[after] == '=' {
				after++
			}
			b = append(append(b, via[:at]...), "rport="...)
			b = strconv.AppendUint(b, uint64(source.Port()), 10)
			b = append(b, via[after:]...)
		} else {
			b = append(b, via...)
		}
		b = append(b, ";received="...)
		b = source.Addr().AppendTo(b)
		b = append(b, "\r\n"...)
	}
	b = append(append(b, "From: "...), m.from...)
	b = append(append(b, "\r\nTo: "...), m.to...)
	if _, ok := param(m.to, "tag"); !ok && tag != "" {
		b = append(append(b, ";tag="...), tag...)
	}
	b = append(append(b, "\r\nCall-ID: "...), m.callID...)
	b = append(b, "\r\nCSeq: "...)
	b = strconv.AppendUint(b, uint64(m.cseq), 10)
	b = append(append(b, ' '), m.cseqMethod...)
	return append(b, "\r\n"...)
}

// response puts a status line before a head, and extra header lines (each with its CRLF) and an SDP
// body after it.
func response(code int, phrase string, head []byte, extra string, body []byte) []byte {
	if phrase == "" {
		phrase = phrases[code]
	}
	b := make([]byte, 0, len(head)+len(extra)+len(body)+160)
	b = append(b, "SIP/2.0 "...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(append(b, ' '), phrase...)
	b = append(b, "\r\n"...)
	b = append(b, head...)
	b = append(b, extra...)
	return finish(b, body)
}

func finish(b, body []byte) []byte {
	if len(body) > 0 {
		b = append(b, "Content-Type: application/sdp\r\n"...)
	}
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, int64(len(body)), 10)
	b = append(b, "\r\n\r\n"...)
	return append(b, body...)
}

// replyTo is where responses are sent: the source when rport was requested or the transport is a
// stream, otherwise the port of the topmost Via (§18.2.2).
func replyTo(m *message, source netip.AddrPort) netip.AddrPort {
	if len(m.vias) == 0 {
		return source
	}
	if _, ok := param(m.vias[0], "rport"); ok {
		return source
	}
	sentBy, _, _ := bytes.Cut(m.vias[0], []byte(";"))
	if i := bytes.IndexByte(sentBy, ' '); i >= 0 {
		sentBy = bytes.TrimSpace(sentBy[i+1:])
	}
	port := uint64(5060)
	if i := bytes.LastIndexByte(sentBy, ':'); i >= 0 && bytes.IndexByte(sentBy[i:], ']') < 0 {
		if n, err := strconv.ParseUint(string(sentBy[i+1:]), 10, 16); err == nil {
			port = n
		}
	}
	return netip.AddrPortFrom(source.Addr(), uint16(port))
}

// reasonHeader is the Reason header of RFC 3326, with its CRLF; empty without a cause.
func reasonHeader(q850 int) string {
	if q850 == 0 {
		return ""
	}
	h := "Reason: Q.850;cause=" + strconv.Itoa(q850)
	if text := causes[q850]; text != "" {
		h += `;text="` + text + `"`
	}
	return h + "\r\n"
}

// phoneNumber converts a user part to E.164: visual separators are removed, bare digits get their
// plus, and national numbers their country code when one is configured, so that a trunk's number
// format does not hide two calls to one number.
func phoneNumber(user []byte, countryCode string) engine.PhoneNumber {
	var b strings.Builder
	digits := true
	for _, c := range user {
		switch {
		case c == '-' || c == '.' || c == '(' || c == ')' || c == ' ':
		case c >= '0' && c <= '9', c == '+' && b.Len() == 0:
			b.WriteByte(c)
		default:
			digits = false
			b.WriteByte(c)
		}
	}
	s := b.String()
	if digits && s != "" && s[0] != '+' {
		if countryCode != "" && s[0] == '0' {
			if rest, ok := strings.CutPrefix(s, "00"); ok {
				s = rest
			} else {
				s = countryCode + s[1:]
			}
		}
		s = "+" + s
	}
	return engine.PhoneNumber(s)
}
