package media

import (
	"bytes"
	"net/netip"
	"strconv"

	"dialler/bench/voice"
)

// Description is what the carrier understands of a session description (RFC 4566):
// the first audio stream.
type Description struct {
	Addr    netip.AddrPort // where the other side expects RTP
	Profile string         // "RTP/AVP"
	Codecs  []voice.Codec  // those we support, in offer order
	Event   int            // payload type of telephone-event, 0 when absent
	Sends   bool           // the other side will send
	Listens bool           // the other side wants to receive
}

const (
	ptPCMU = 0
	ptPCMA = 8
)

func PayloadType(c voice.Codec) uint8 {
	if c == voice.PCMA {
		return ptPCMA
	}
	return ptPCMU
}

// Parse parses a body; ok is false if it has no audio stream.
func Parse(body []byte) (s Description, ok bool) {
	s.Sends, s.Listens = true, true
	var session, media netip.Addr
	port, inAudio, audio := 0, false, false
	for len(body) > 0 {
		var line []byte
		line, body, _ = bytes.Cut(body, []byte("\n"))
		line = bytes.TrimRight(line, "\r ")
		if len(line) < 2 || line[1] != '=' {
			continue
		}
		value := line[2:]
		switch line[0] {
		case 'm':
			inAudio = !audio && bytes.HasPrefix(value, []byte("audio "))
			if inAudio {
				audio = true
				port, s.Profile, s.Codecs = mediaLine(value)
			}
		case 'c':
			fields := bytes.Fields(value)
			if len(fields) < 3 {
				continue
			}
			a, err := netip.ParseAddr(string(fields[2]))
			if err != nil {
				continue
			}
			if inAudio {
				media = a
			} else if !audio {
				session = a
			}
		case 'a':
			if audio && !inAudio {
				continue
			}
			s.attribute(value)
		}
	}
	if !media.IsValid() {
		media = session
	}
	if port > 0 && media.IsValid() {
		s.Addr = netip.AddrPortFrom(media, uint16(port))
	}
	// RFC 2543's hold, still sent by old equipment.
	if media.IsValid() && media.IsUnspecified() {
		s.Listens = false
	}
	return s, audio
}

func mediaLine(value []byte) (port int, profile string, codecs []voice.Codec) {
	fields := bytes.Fields(value)
	if len(fields) < 4 {
		return 0, "", nil
	}
	port, err := strconv.Atoi(string(fields[1]))
	if err != nil || port < 0 || port > 65535 {
		port = 0
	}
	for _, f := range fields[3:] {
		switch string(f) {
		case "0":
			codecs = append(codecs, voice.PCMU)
		case "8":
			codecs = append(codecs, voice.PCMA)
		}
	}
	return port, string(fields[2]), codecs
}

func (s *Description) attribute(value []byte) {
	switch string(value) {
	case "sendonly":
		s.Listens = false
	case "recvonly":
		s.Sends = false
	case "inactive":
		s.Sends, s.Listens = false, false
	case "sendrecv":
		s.Sends, s.Listens = true, true
	}
	if rest, ok := bytes.CutPrefix(value, []byte("rtpmap:")); ok {
		pt, name, _ := bytes.Cut(rest, []byte(" "))
		if n, err := strconv.Atoi(string(pt)); err == nil &&
			bytes.HasPrefix(bytes.ToLower(name), []byte("telephone-event/8000")) {
			s.Event = n
		}
	}
}

// Describe writes the carrier's own description. version increases within a call (RFC 3264 §8).
func Describe(addr netip.AddrPort, version int, codecs []voice.Codec, event int, direction string) []byte {
	ip := addr.Addr().String()
	family := "IP4"
	if addr.Addr().Is6() {
		family = "IP6"
	}
	b := make([]byte, 0, 320)
	b = append(b, "v=0\r\no=carrier "...)
	b = strconv.AppendUint(b, uint64(addr.Port()), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(version), 10)
	b = append(b, " IN "+family+" "+ip+"\r\ns=-\r\nc=IN "+family+" "+ip+"\r\nt=0 0\r\nm=audio "...)
	b = strconv.AppendUint(b, uint64(addr.Port()), 10)
	b = append(b, " RTP/AVP"...)
	for _, c := range codecs {
		b = append(b, ' ')
		b = strconv.AppendUint(b, uint64(PayloadType(c)), 10)
	}
	if event > 0 {
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(event), 10)
	}
	b = append(b, "\r\n"...)
	for _, c := range codecs {
		if c == voice.PCMA {
			b = append(b, "a=rtpmap:8 PCMA/8000\r\n"...)
		} else {
			b = append(b, "a=rtpmap:0 PCMU/8000\r\n"...)
		}
	}
	if event > 0 {
		n := strconv.Itoa(event)
		b = append(b, "a=rtpmap:"+n+" telephone-event/8000\r\na=fmtp:"+n+" 0-15\r\n"...)
	}
	return append(b, "a=ptime:20\r\na="+direction+"\r\n"...)
}
