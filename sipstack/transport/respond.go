package transport

import (
	"bytes"
	"net/netip"
	"strconv"
	"strings"

	"dialler/sipstack/message"

	"github.com/emiago/sipgo/sip"
)

// Respond sends the response to where the request came from (RFC 3261 §18.2.2, RFC 3581 §4).
// headers are whole lines.
func (n *Sockets) Respond(
	r *sip.Request, src Target, code int, phrase, headers string, sdp []byte,
) (data []byte, to Target) {
	b := make([]byte, 0, 768+len(sdp))
	b = append(b, "SIP/2.0 "...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(b, ' ')
	b = append(b, phrase...)
	b = append(b, "\r\n"...)
	to = src
	for i, h := range r.GetHeaders("via") {
		b = append(b, "Via: "...)
		if via, ok := h.(*sip.ViaHeader); ok && i == 0 {
			b, to = appendTopVia(b, via, src)
		} else {
			b = append(b, h.Value()...)
		}
		b = append(b, "\r\n"...)
	}
	b = append(b, "From: "...)
	b = append(b, message.HeaderValue(r, "from", "f")...)
	b = append(b, "\r\nTo: "...)
	b = append(b, message.HeaderValue(r, "to", "t")...)
	if message.ToTag(r) == "" {
		// A retransmission gets the same tag (§8.2.7).
		branch := message.BranchOf(r)
		b = append(b, ";tag="+message.Derive("to", r.CallID().Value()+branch, 6)...)
	}
	b = append(b, "\r\n"...)
	b = message.AppendCallID(b, r.CallID().Value(), r.CSeq().SeqNo, string(r.CSeq().MethodName))
	b = append(b, headers...)
	b = message.AppendBody(b, sdp)
	_ = n.Write(to, b) // if it is lost, the request is repeated
	return b, to
}

// appendTopVia writes the top Via with received and rport and returns where to send the response.
func appendTopVia(b []byte, via *sip.ViaHeader, src Target) ([]byte, Target) {
	to := src
	v := *via
	v.Params = via.Params.Clone()
	_, rport := v.Params.Get("rport")
	if rport {
		v.Params.Add("rport", strconv.Itoa(int(src.Addr.Port())))
	}
	if ip, err := netip.ParseAddr(strings.Trim(v.Host, "[]")); rport || err != nil || ip.Unmap() != src.Addr.Addr() {
		v.Params.Add("received", src.Addr.Addr().String())
	}
	if !rport && !src.Reliable() {
		port := v.Port
		if port <= 0 || port > 65535 {
			port = 5060
		}
		to.Addr = netip.AddrPortFrom(src.Addr.Addr(), uint16(port))
	}
	return append(b, v.Value()...), to
}

// asTheyCame reads the header fields of a message, and nothing in them.
var asTheyCame = sip.NewParser(sip.WithHeadersParsers(sip.HeadersParser{}))

// refuse counts a message that cannot be read. A request of a trunk is answered with 400 to where it came from, with
// what a response copies as it came (RFC 3261 §8.2.6.2, §18.3): its sender would repeat it for 32 s, and may give up
// the call that it belongs to.
func (n *Sockets) refuse(data []byte, src Target) {
	n.Counts.Malformed.Add(1)
	line, rest, _ := bytes.Cut(data, []byte("\r\n"))
	method, _, _ := bytes.Cut(line, []byte(" "))
	if string(method) == "ACK" || bytes.HasPrefix(line, []byte("SIP/")) || !n.mayAsk(src.Addr.Addr()) {
		return
	}
	m, err := asTheyCame.ParseSIP(append([]byte("OPTIONS sip:unknown SIP/2.0\r\n"), rest...))
	if err != nil {
		return
	}
	b := []byte("SIP/2.0 400 Bad Request\r\n")
	for _, names := range [][2]string{{"Via", "v"}, {"From", "f"}, {"To", "t"}, {"Call-ID", "i"}, {"CSeq", "cseq"}} {
		found := false
		for _, h := range message.HeadersOf(m) {
			if strings.EqualFold(h.Name(), names[0]) || strings.EqualFold(h.Name(), names[1]) {
				b, found = append(b, names[0]+": "+h.Value()...), true
				if names[0] == "To" && !strings.Contains(strings.ToLower(h.Value()), ";tag=") {
					b = append(b, ";tag="+message.Derive("to", string(data), 6)...)
				}
				b = append(b, "\r\n"...)
			}
		}
		if !found {
			return // nobody could tell what it answers
		}
	}
	_ = n.Write(src, message.AppendBody(b, nil))
}
