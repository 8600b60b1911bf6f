package media

import (
	"bytes"
	"hash/fnv"
	"math/rand/v2"
	"strconv"

	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/sdp"
	"dialler/media/srtp"
)

// description is the SDP that a path sends: the version goes up when the rest changes
// (RFC 3264 §8).
type description struct {
	host             string
	port             uint16
	session, version uint64
	sum              uint64 // of everything except o=; 0 before the first re-offer
}

func describe(host string, port uint16) description {
	return description{host: host, port: port, session: rand.Uint64() >> 1} //nolint:gosec // an identifier
}

// appendOffer writes the first offer.
func (d *description) appendOffer(b []byte, keys *srtp.Session, p engine.MediaProfile) []byte {
	o := sdp.Offer{Host: d.host, Port: d.port, Session: d.session, Keys: keys.Own(),
		Optional: p.SRTP == engine.SRTPOptional, Codecs: codec.Of(p)}
	return o.Append(b)
}

// maxSections bounds the m= lines of an offer.
const maxSections = 16

// section is an m= line of an offer.
type section struct {
	kind, protocol, formats string
}

func sectionsOf(text []byte) []section {
	var out []section
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		value, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r \t"), []byte("m="))
		if !ok || len(out) == maxSections {
			continue
		}
		kind, rest := sdp.Word(value)
		_, rest = sdp.Word(rest)
		protocol, formats := sdp.Word(rest)
		out = append(out, section{string(kind), string(protocol), string(formats)})
	}
	return out
}

// appendAnswer writes the answer to an offer, with as many m= lines: the first audio line with what
// both sides support, under the offer's payload types, and the others refused with port 0 (RFC 3264
// §6). Without a, all of them are refused.
func (d *description) appendAnswer(b, offer []byte, a *sdp.Answer, secure *srtp.Session) []byte {
	body := sdp.AppendAddress([]byte("c="), d.host)
	body = append(body, "\r\nt=0 0\r\n"...)
	taken := a == nil
	for _, s := range sectionsOf(offer) {
		if s.kind != "audio" || taken {
			body = append(body, "m="+s.kind+" 0 "+s.protocol+" "+s.formats+"\r\n"...)
			continue
		}
		taken = true
		body = append(body, "m=audio "...)
		body = strconv.AppendUint(body, uint64(d.port), 10)
		body = append(body, " "+s.protocol...)
		body = appendFormats(body, []byte(s.formats), a)
		if secure != nil {
			body = secure.AppendChosen(body)
		}
	}
	return d.appendBody(b, body)
}

// appendFormats writes the payload types of our m= line and their attributes.
func appendFormats(b, formats []byte, a *sdp.Answer) []byte {
	var lines []byte
	for len(formats) > 0 {
		var f []byte
		f, formats = sdp.Word(formats)
		pt, ok := sdp.Number(f, 127)
		name := ""
		switch {
		case !ok:
		case a.Codecs[pt] != codec.None:
			name = a.Codecs[pt].String() + "/8000"
		case int16(pt) == a.Events: //nolint:gosec // at most 127
			name = "telephone-event/8000\r\na=fmtp:" + strconv.Itoa(pt) + " 0-15"
		}
		if name != "" {
			b = append(append(b, ' '), f...)
			lines = append(lines, "a=rtpmap:"+strconv.Itoa(pt)+" "+name+"\r\n"...)
		}
	}
	b = append(b, "\r\n"...)
	b = append(b, lines...)
	if a.Mux {
		b = append(b, "a=rtcp-mux\r\n"...)
	}
	b = append(b, "a=ptime:20\r\na="...)
	b = append(b, mirrored(a)...)
	return append(b, "\r\n"...)
}

// mirrored returns our direction for the far side's (RFC 3264 §6.1).
func mirrored(a *sdp.Answer) string {
	switch {
	case a.HeSends && a.HeListens:
		return "sendrecv"
	case a.HeSends:
		return "recvonly"
	case a.HeListens:
		return "sendonly"
	case a.Remote.Addr().IsUnspecified(): // it may still send, music for example
		return "recvonly"
	}
	return "inactive"
}

// appendBody writes an SDP body of ours with its version.
func (d *description) appendBody(b, rest []byte) []byte {
	if sum := sumOf(rest); sum != d.sum {
		d.sum, d.version = sum, max(d.version, 1)+1
	}
	b = append(b, "v=0\r\no=- "...)
	b = strconv.AppendUint(b, d.session, 10)
	b = append(b, ' ')
	b = strconv.AppendUint(b, d.version, 10)
	b = sdp.AppendAddress(append(b, ' '), d.host)
	b = append(b, "\r\ns=-\r\n"...)
	return append(b, rest...)
}

func sumOf(rest []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(rest)
	return max(h.Sum64(), 1)
}
