package sdp

import (
	"bytes"
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"dialler/media/codec"
)

// eventPayloadType is the payload type that we offer for telephone-event.
const eventPayloadType = 101

// Offer is what an SDP offer says (RFC 3264).
type Offer struct {
	Host    string // an address
	Port    uint16
	Session uint64
	Keys    *Keys // nil: plain RTP
	// Optional offers the keys with RTP/AVP, for an answer with or without them (RFC 8643).
	Optional bool
	Codecs   []codec.Codec // in their order; none: PCMU, PCMA
}

// Append writes the offer: its codecs and telephone-event, 20 ms, with keys as RTP/SAVP.
func (o *Offer) Append(b []byte) []byte {
	codecs := o.Codecs
	if len(codecs) == 0 {
		codecs = []codec.Codec{codec.Ulaw, codec.Alaw}
	}
	b = append(b, "v=0\r\no=- "...)
	b = strconv.AppendUint(b, o.Session, 10)
	b = AppendAddress(append(b, " 1 "...), o.Host)
	b = append(b, "\r\ns=-\r\nc="...)
	b = AppendAddress(b, o.Host)
	b = append(b, "\r\nt=0 0\r\nm=audio "...)
	b = strconv.AppendUint(b, uint64(o.Port), 10)
	profile := " RTP/AVP"
	if o.Keys != nil && !o.Optional {
		profile = " RTP/SAVP"
	}
	b = append(b, profile...)
	for _, c := range codecs {
		b = strconv.AppendUint(append(b, ' '), uint64(c.PayloadType()), 10)
	}
	b = append(b, " 101\r\n"...)
	for _, c := range codecs {
		// The clock of G.722 is 8000, though it samples 16000 (RFC 3551 §4.5.2).
		b = strconv.AppendUint(append(b, "a=rtpmap:"...), uint64(c.PayloadType()), 10)
		b = append(append(append(b, ' '), c.String()...), "/8000\r\n"...)
	}
	b = append(b, "a=rtpmap:101 telephone-event/8000\r\n"+
		"a=fmtp:101 0-15\r\n"+
		"a=ptime:20\r\n"+
		"a=rtcp-mux\r\n"+
		"a=sendrecv\r\n"...)
	if o.Keys != nil {
		b = appendKeys(b, o.Keys)
	}
	return b
}

// AppendAddress writes an address of ours as it stands in c= and o=.
func AppendAddress(b []byte, host string) []byte {
	family := "IN IP4 "
	if strings.IndexByte(host, ':') >= 0 {
		family = "IN IP6 "
	}
	return append(append(b, family...), host...)
}

// Answer is the part of the far side's SDP that matters to us.
type Answer struct {
	Remote netip.AddrPort
	RTCP   netip.AddrPort // where reports go
	Mux    bool           // RTCP goes to the RTP port (RFC 5761)
	PTime  int            // ms of audio per packet that it wants; 0 means 20
	// Codecs maps the payload types that the far side may send; send is what it receives, the first
	// codec it lists. Dynamic types are the far side's own: it should send with ours (RFC 3264
	// §6.1), but many send with theirs.
	Codecs [128]codec.Codec
	Send   codec.Codec
	SendPT uint8
	// Events is the payload type of telephone-event, or -1; EventsIn is another type under which it
	// may arrive.
	Events, EventsIn int16
	// HeSends, HeListens are the direction from the far side's point of view.
	HeSends, HeListens bool
	SSRC               uint32 // a=ssrc (RFC 5576)
	HasSSRC            bool
	Secure             bool     // RTP/SAVP
	Keyed              bool     // it has a=crypto lines
	Crypto             []Crypto // those of them that we can use
}

var (
	errNoAudio  = errors.New("the SDP answer has no audio stream")
	ErrRefused  = errors.New("the SDP answer refuses the audio stream (port 0)")
	errCodec    = errors.New("the SDP answer has none of the codecs PCMU, PCMA, G722")
	errAddress  = errors.New("the SDP answer has no usable address")
	errPort     = errors.New("the SDP answer has no usable port")
	ErrProtocol = errors.New("the SDP answer asks for a transport other than RTP/AVP")
)

// Parse reads an SDP answer. It is lenient: lines may end in LF alone, unknown lines are skipped,
// payload types 0, 8 and 9 need no rtpmap (RFC 3551), and telephone-event without rtpmap is assumed
// to be as we offered it.
func Parse(sdp []byte) (Answer, error) {
	a := Answer{Events: -1, EventsIn: -1}
	var (
		session, media []byte // c= lines
		formats        []byte // of the m= line
		port, reports  int
		ptime          = 20
		ptimeMost      = 0
		seen, audio    bool // any m= line so far; inside the first audio section
		direction      = "sendrecv"
		dynamic        [128]codec.Codec
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
			kind, rest := Word(value)
			if string(kind) != "audio" {
				continue
			}
			audio = true
			p, rest := Word(rest)
			if i := bytes.IndexByte(p, '/'); i >= 0 {
				p = p[:i]
			}
			n, ok := Number(p, 65535)
			if !ok {
				return a, errPort
			}
			port = n
			proto, rest := Word(rest)
			switch strings.ToUpper(string(proto)) {
			case "RTP/AVP", "RTP/AVPF":
			case "RTP/SAVP", "RTP/SAVPF":
				a.Secure = true
			default:
				return a, ErrProtocol
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
				p, rest := Word(rest)
				pt, ok := Number(p, 127)
				if !ok {
					continue
				}
				name, _ := Word(rest)
				mapped[pt] = true
				switch {
				case encoding(name, "PCMU"):
					dynamic[pt] = codec.Ulaw
				case encoding(name, "PCMA"):
					dynamic[pt] = codec.Alaw
				case encoding(name, "G722"):
					dynamic[pt] = codec.G722
				case encoding(name, "telephone-event"):
					a.Events = int16(pt) //nolint:gosec // at most 127
				}
			} else if rest, ok := bytes.CutPrefix(value, []byte("ptime:")); ok {
				ptime, _ = Number(bytes.TrimSpace(rest), 1000)
			} else if rest, ok := bytes.CutPrefix(value, []byte("maxptime:")); ok {
				ptimeMost, _ = Number(bytes.TrimSpace(rest), 1000)
			} else if string(value) == "rtcp-mux" {
				a.Mux = true
			} else if rest, ok := bytes.CutPrefix(value, []byte("rtcp:")); ok {
				p, _ := Word(rest)
				if n, ok := Number(p, 65535); ok {
					reports = n
				}
			} else if rest, ok := bytes.CutPrefix(value, []byte("crypto:")); ok {
				a.Keyed = true
				if c, ok := ParseCrypto(rest); ok && len(a.Crypto) < cryptoLineCap {
					a.Crypto = append(a.Crypto, c)
				}
			} else if rest, ok := bytes.CutPrefix(value, []byte("ssrc:")); ok {
				p, _ := Word(rest)
				if n, err := strconv.ParseUint(string(p), 10, 32); err == nil {
					a.SSRC, a.HasSSRC = uint32(n), true
				}
			}
		}
	}
	if formats == nil {
		return a, errNoAudio
	}
	if port == 0 {
		return a, ErrRefused
	}
	listed := false // our payload type for telephone-event
	for len(formats) > 0 {
		var f []byte
		f, formats = Word(formats)
		pt, ok := Number(f, 127)
		if !ok {
			continue
		}
		c := dynamic[pt]
		if !mapped[pt] {
			switch pt {
			case 0:
				c = codec.Ulaw
			case 8:
				c = codec.Alaw
			case 9:
				c = codec.G722
			case eventPayloadType:
				listed = true
			}
		}
		if c == codec.None {
			continue
		}
		a.Codecs[pt] = c
		if a.Send == codec.None {
			a.Send, a.SendPT = c, uint8(pt) //nolint:gosec // at most 127
		}
	}
	if a.Send == codec.None {
		return a, errCodec
	}
	if a.Events < 0 && listed {
		a.Events = eventPayloadType
	}
	if a.EventsIn = a.Events; a.Codecs[eventPayloadType] == codec.None {
		a.EventsIn = eventPayloadType // as we offered it, whatever type ours are sent under
	}
	a.PTime = packetLength(ptime, ptimeMost)
	if media == nil {
		media = session
	}
	ip, ok := connection(media)
	if !ok {
		return a, errAddress
	}
	a.Remote = netip.AddrPortFrom(ip, uint16(port))
	switch {
	case a.Mux:
		a.RTCP = a.Remote
	case reports > 0: // RFC 3605
		a.RTCP = netip.AddrPortFrom(ip, uint16(reports))
	case port < 65535:
		a.RTCP = netip.AddrPortFrom(ip, uint16(port+1))
	}
	a.HeSends = direction == "sendrecv" || direction == "sendonly"
	a.HeListens = direction == "sendrecv" || direction == "recvonly"
	if ip.IsUnspecified() { // hold as in RFC 2543
		a.HeSends, a.HeListens = false, false
	}
	return a, nil
}

// packetLength is the length of our packets in ms: the requested one if it is a multiple of 10 up
// to 60 and no longer than the maximum; 0 means 20 ms.
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

// Event says whether a payload type is telephone-event.
func (a *Answer) Event(pt uint8) bool { return int16(pt) == a.Events || int16(pt) == a.EventsIn }

// Word splits off the first word.
func Word(b []byte) (first, rest []byte) {
	b = bytes.TrimLeft(b, " \t")
	if i := bytes.IndexAny(b, " \t"); i >= 0 {
		return b[:i], bytes.TrimLeft(b[i:], " \t")
	}
	return b, nil
}

func Number(b []byte, highest int) (int, bool) {
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
	network, rest := Word(b)
	family, rest := Word(rest)
	if string(network) != "IN" || string(family) != "IP4" && string(family) != "IP6" {
		return netip.Addr{}, false
	}
	text, _ := Word(rest)
	if i := bytes.IndexByte(text, '/'); i >= 0 {
		text = text[:i]
	}
	ip, err := netip.ParseAddr(string(text))
	return ip, err == nil && ip.Is4() == (string(family) == "IP4") && !ip.Is4In6() && ip.Zone() == "" && !ip.IsMulticast()
}
