package media

import (
	"bytes"
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

// eventPayloadType is the payload type that we offer for telephone-event.
const eventPayloadType = 101

// appendOffer writes the SDP offer (RFC 3264) of a call: the codecs in their
// order (none: PCMU, PCMA) and telephone-event, 20 ms; with keys as RTP/SAVP.
func appendOffer(b []byte, host string, port uint16, session uint64, keys *security, codecs ...codec) []byte {
	if len(codecs) == 0 {
		codecs = []codec{codecUlaw, codecAlaw}
	}
	b = append(b, "v=0\r\no=- "...)
	b = strconv.AppendUint(b, session, 10)
	b = append(b, " 1 IN IP4 "...)
	b = append(b, host...)
	b = append(b, "\r\ns=-\r\nc=IN IP4 "...)
	b = append(b, host...)
	b = append(b, "\r\nt=0 0\r\nm=audio "...)
	b = strconv.AppendUint(b, uint64(port), 10)
	profile := " RTP/AVP"
	if keys != nil {
		profile = " RTP/SAVP"
	}
	b = append(b, profile...)
	for _, c := range codecs {
		b = strconv.AppendUint(append(b, ' '), uint64(c.payloadType()), 10)
	}
	b = append(b, " 101\r\n"...)
	for _, c := range codecs {
		// The clock of G.722 is 8000, though it samples 16000 (RFC 3551 §4.5.2).
		b = strconv.AppendUint(append(b, "a=rtpmap:"...), uint64(c.payloadType()), 10)
		b = append(append(append(b, ' '), c.String()...), "/8000\r\n"...)
	}
	b = append(b, "a=rtpmap:101 telephone-event/8000\r\n"+
		"a=fmtp:101 0-15\r\n"+
		"a=ptime:20\r\n"+
		"a=rtcp-mux\r\n"+
		"a=sendrecv\r\n"...)
	if keys != nil {
		b = appendCrypto(b, &keys.offered)
	}
	return b
}

// answer is what counts of the far side's SDP.
type answer struct {
	remote netip.AddrPort
	rtcp   netip.AddrPort // where reports go
	mux    bool           // to the port of RTP (RFC 5761)
	ptime  int            // ms of audio in the packets that it wants, 0: 20
	// codecs by payload type of what the far side may send; send is what it
	// gets, the first it lists. Dynamic types are the far side's own: it should
	// send with ours (RFC 3264 §6.1), many send with theirs.
	codecs [128]codec
	send   codec
	sendPT uint8
	// events is the payload type of telephone-event, -1 without; eventsIn is
	// another one with which it may come.
	events, eventsIn int16
	// heSends, heListens: direction from the far side's point of view.
	heSends, heListens bool
	ssrc               uint32 // a=ssrc (RFC 5576)
	hasSSRC            bool
	secure             bool     // RTP/SAVP
	crypto             []crypto // what we can use of its a=crypto
}

var (
	errNoAudio  = errors.New("the SDP answer has no audio stream")
	errRefused  = errors.New("the SDP answer refuses the audio stream (port 0)")
	errCodec    = errors.New("the SDP answer has none of the codecs PCMU, PCMA, G722")
	errAddress  = errors.New("the SDP answer has no usable IPv4 address")
	errPort     = errors.New("the SDP answer has no usable port")
	errProtocol = errors.New("the SDP answer asks for a transport other than RTP/AVP")
)

// parseAnswer reads an SDP answer. It is lenient: lines may end in LF alone,
// unknown lines are skipped, payload types 0, 8 and 9 need no rtpmap (RFC 3551),
// and telephone-event without rtpmap is taken to be what we offered.
func parseAnswer(sdp []byte) (answer, error) {
	a := answer{events: -1, eventsIn: -1}
	var (
		session, media []byte // c= lines
		formats        []byte // of the m= line
		port, reports  int
		ptime          = 20
		ptimeMost      = 0
		seen, audio    bool // some m= line; inside the first audio section
		direction      = "sendrecv"
		dynamic        [128]codec
		mapped         [128]bool
	)
	for len(sdp) > 0 {
		line := sdp
		if i := bytes.IndexByte(sdp, '\n'); i >= 0 {
			line, sdp = sdp[:i], sdp[i+1:]
		} else {
			sdp = nil
		}
		line = bytes.TrimRight(line, "\r \t")
		if len(line) < 2 || line[1] != '=' {
			continue
		}
		value := line[2:]
		switch line[0] {
		case 'm':
			if audio {
				audio = false // a later section
				sdp = nil
				continue
			}
			seen = true
			kind, rest := word(value)
			if string(kind) != "audio" {
				continue
			}
			audio = true
			p, rest := word(rest)
			if i := bytes.IndexByte(p, '/'); i >= 0 {
				p = p[:i]
			}
			n, ok := number(p, 65535)
			if !ok {
				return a, errPort
			}
			port = n
			proto, rest := word(rest)
			switch strings.ToUpper(string(proto)) {
			case "RTP/AVP", "RTP/AVPF":
			case "RTP/SAVP", "RTP/SAVPF":
				a.secure = true
			default:
				return a, errProtocol
			}
			formats = rest
		case 'c':
			if audio {
				media = value
			} else if !seen {
				session = value
			}
		case 'a':
			if seen && !audio {
				continue
			}
			switch string(value) {
			case "sendrecv", "sendonly", "recvonly", "inactive":
				direction = string(value)
				continue
			}
			if !audio {
				continue
			}
			if rest, ok := bytes.CutPrefix(value, []byte("rtpmap:")); ok {
				p, rest := word(rest)
				pt, ok := number(p, 127)
				if !ok {
					continue
				}
				name, _ := word(rest)
				mapped[pt] = true
				switch {
				case encoding(name, "PCMU"):
					dynamic[pt] = codecUlaw
				case encoding(name, "PCMA"):
					dynamic[pt] = codecAlaw
				case encoding(name, "G722"):
					dynamic[pt] = codecG722
				case encoding(name, "telephone-event"):
					a.events = int16(pt) //nolint:gosec // at most 127
				}
			} else if rest, ok := bytes.CutPrefix(value, []byte("ptime:")); ok {
				ptime, _ = number(bytes.TrimSpace(rest), 1000)
			} else if rest, ok := bytes.CutPrefix(value, []byte("maxptime:")); ok {
				ptimeMost, _ = number(bytes.TrimSpace(rest), 1000)
			} else if string(value) == "rtcp-mux" {
				a.mux = true
			} else if rest, ok := bytes.CutPrefix(value, []byte("rtcp:")); ok {
				p, _ := word(rest)
				if n, ok := number(p, 65535); ok {
					reports = n
				}
			} else if rest, ok := bytes.CutPrefix(value, []byte("crypto:")); ok {
				if c, ok := parseCrypto(rest); ok && len(a.crypto) < cryptoLineCap {
					a.crypto = append(a.crypto, c)
				}
			} else if rest, ok := bytes.CutPrefix(value, []byte("ssrc:")); ok {
				p, _ := word(rest)
				if n, err := strconv.ParseUint(string(p), 10, 32); err == nil {
					a.ssrc, a.hasSSRC = uint32(n), true
				}
			}
		}
	}
	if formats == nil {
		return a, errNoAudio
	}
	if port == 0 {
		return a, errRefused
	}
	listed := false // our payload type for telephone-event
	for len(formats) > 0 {
		var f []byte
		f, formats = word(formats)
		pt, ok := number(f, 127)
		if !ok {
			continue
		}
		c := dynamic[pt]
		if !mapped[pt] {
			switch pt {
			case 0:
				c = codecUlaw
			case 8:
				c = codecAlaw
			case 9:
				c = codecG722
			case eventPayloadType:
				listed = true
			}
		}
		if c == codecNone {
			continue
		}
		a.codecs[pt] = c
		if a.send == codecNone {
			a.send, a.sendPT = c, uint8(pt) //nolint:gosec // at most 127
		}
	}
	if a.send == codecNone {
		return a, errCodec
	}
	if a.events < 0 && listed {
		a.events = eventPayloadType
	}
	if a.eventsIn = a.events; a.codecs[eventPayloadType] == codecNone {
		a.eventsIn = eventPayloadType // as we offered it, under whatever type it gets ours
	}
	a.ptime = packetLength(ptime, ptimeMost)
	if media == nil {
		media = session
	}
	ip, ok := connection(media)
	if !ok {
		return a, errAddress
	}
	a.remote = netip.AddrPortFrom(ip, uint16(port))
	switch {
	case a.mux:
		a.rtcp = a.remote
	case reports > 0: // RFC 3605
		a.rtcp = netip.AddrPortFrom(ip, uint16(reports))
	case port < 65535:
		a.rtcp = netip.AddrPortFrom(ip, uint16(port+1))
	}
	a.heSends = direction == "sendrecv" || direction == "sendonly"
	a.heListens = direction == "sendrecv" || direction == "recvonly"
	if ip.IsUnspecified() { // hold in the style of RFC 2543
		a.heSends, a.heListens = false, false
	}
	return a, nil
}

// packetLength is how long our packets are, in ms: what is asked for when it is
// a multiple of 10 up to 60, and not longer than the most; 0: 20 ms.
func packetLength(ptime, most int) int {
	if ptime < 10 || ptime > 60 || ptime%10 != 0 {
		ptime = 20
	}
	if most >= 10 {
		ptime = min(ptime, most/10*10)
	}
	if ptime == 20 {
		return 0
	}
	return ptime
}

// event says whether a payload type is telephone-event.
func (a *answer) event(pt uint8) bool { return int16(pt) == a.events || int16(pt) == a.eventsIn }

// word splits off the first word.
func word(b []byte) (first, rest []byte) {
	b = bytes.TrimLeft(b, " \t")
	if i := bytes.IndexAny(b, " \t"); i >= 0 {
		return b[:i], bytes.TrimLeft(b[i:], " \t")
	}
	return b, nil
}

func number(b []byte, highest int) (int, bool) {
	if len(b) == 0 || len(b) > 5 {
		return 0, false
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, n <= highest
}

// encoding says whether an rtpmap names the encoding at 8 kHz.
func encoding(b []byte, name string) bool {
	i := bytes.IndexByte(b, '/')
	if i < 0 || !bytes.EqualFold(b[:i], []byte(name)) {
		return false
	}
	rate := b[i+1:]
	if j := bytes.IndexByte(rate, '/'); j >= 0 {
		rate = rate[:j]
	}
	return string(rate) == "8000"
}

// connection reads the address of a c= line.
func connection(b []byte) (netip.Addr, bool) {
	network, rest := word(b)
	family, rest := word(rest)
	if string(network) != "IN" || string(family) != "IP4" {
		return netip.Addr{}, false
	}
	text, _ := word(rest)
	if i := bytes.IndexByte(text, '/'); i >= 0 {
		text = text[:i]
	}
	ip, err := netip.ParseAddr(string(text))
	return ip, err == nil && ip.Is4() && !ip.IsMulticast()
}
