package message

import "bytes"

// A far side that refreshes or holds a session repeats its SDP, possibly with another direction.
// Only that much of SDP is read here; everything else in it belongs to the media path.

// sdpMedia is where the far side receives audio and in which directions.
type sdpMedia struct {
	Connection, media string // values of the c= that applies to the first m=, and of that m=
	direction         string // sendrecv, sendonly, recvonly, inactive
}

func ParseMedia(sdp []byte) sdpMedia {
	m := sdpMedia{direction: "sendrecv"}
	inMedia := 0
	for line := range bytes.SplitSeq(sdp, []byte("\n")) {
		line = bytes.TrimRight(line, "\r ")
		if len(line) < 2 || line[1] != '=' {
			continue
		}
		value := string(line[2:])
		switch line[0] {
		case 'm':
			if inMedia++; inMedia == 1 {
				m.media = value
			}
		case 'c':
			if inMedia <= 1 {
				m.Connection = value
			}
		case 'a':
			if inMedia > 1 {
				continue
			}
			switch value {
			case "sendrecv", "sendonly", "recvonly", "inactive":
				m.direction = value
			}
		}
	}
	return m
}

// KeepsSession says whether an offer leaves the media in place: at most its direction changes
// (hold, RFC 3264 §8.4).
func KeepsSession(before, offer []byte) bool {
	b, o := ParseMedia(before), ParseMedia(offer)
	if o.media != b.media {
		return false
	}
	return o.Connection == b.Connection || o.Connection == HeldConnection
}

// HeldConnection is the old form of hold: no address (RFC 3264 §8.4).
const HeldConnection = "IN IP4 0.0.0.0"

// AnswerInDirection returns our SDP with the direction that answers the far side's (RFC 3264 §6.1).
func AnswerInDirection(local, offer []byte) []byte {
	direction := "sendrecv"
	switch ParseMedia(offer).direction {
	case "sendonly":
		direction = "recvonly"
	case "recvonly":
		direction = "sendonly"
	case "inactive":
		direction = "inactive"
	}
	if ParseMedia(local).direction == direction {
		return local
	}
	out := make([]byte, 0, len(local)+16)
	for line := range bytes.SplitSeq(bytes.TrimRight(local, "\r\n"), []byte("\n")) {
		line = bytes.TrimRight(line, "\r ")
		switch string(line) {
		case "a=sendrecv", "a=sendonly", "a=recvonly", "a=inactive":
			continue
		}
		out = append(append(out, line...), "\r\n"...)
	}
	return append(append(append(out, "a="...), direction...), "\r\n"...)
}
