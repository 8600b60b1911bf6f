package bot

import (
	"bytes"
	"encoding/json"
)

// frame is any message of the platform. Fields that must be strings on the wire are kept raw, to
// detect a number in their place.
type frame struct {
	Event     string          `json:"event"`
	Sequence  json.RawMessage `json:"sequenceNumber"`
	StreamSID string          `json:"streamSid"`
	Protocol  string          `json:"protocol"`
	Version   string          `json:"version"`
	Start     *startBody      `json:"start"`
	Media     *mediaBody      `json:"media"`
	Mark      *struct {
		Name string `json:"name"`
	} `json:"mark"`
	DTMF *struct {
		Track string `json:"track"`
		Digit string `json:"digit"`
	} `json:"dtmf"`
	Stop *struct {
		AccountSID string `json:"accountSid"`
		CallSID    string `json:"callSid"`
	} `json:"stop"`
}

type startBody struct {
	AccountSID  string   `json:"accountSid"`
	StreamSID   string   `json:"streamSid"`
	CallSID     string   `json:"callSid"`
	Tracks      []string `json:"tracks"`
	MediaFormat struct {
		Encoding   string `json:"encoding"`
		SampleRate int    `json:"sampleRate"`
		Channels   int    `json:"channels"`
	} `json:"mediaFormat"`
	CustomParameters map[string]string `json:"customParameters"`
}

type mediaBody struct {
	Track     string          `json:"track"`
	Chunk     json.RawMessage `json:"chunk"`
	Timestamp json.RawMessage `json:"timestamp"`
	Payload   string          `json:"payload"`
}

// heard is a media frame from the callee; the numbers are raw, with their quotes.
type heard struct {
	sequence, stream, track, chunk, timestamp, payload []byte
}

// heard returns a decoded frame's media, nil if there is none.
func (f *frame) heard(h *heard) *heard {
	m := f.Media
	if m == nil {
		return nil
	}
	*h = heard{track: []byte(m.Track), chunk: m.Chunk, timestamp: m.Timestamp, payload: []byte(m.Payload)}
	return h
}

// decimal parses a number that must be a string of decimal digits.
func decimal(raw []byte) (n int64, ok bool) {
	if len(raw) < 3 || len(raw) > 20 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return 0, false
	}
	for _, c := range raw[1 : len(raw)-1] {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

var mediaEvent = []byte(`{"event":"media",`)

// quickMedia parses a media frame without a JSON decoder, because fifty of them come per second and
// session. It understands only frames that begin with their event, have no white space, and whose
// values are plain strings, in any order; the caller fully decodes all others, and a sample of
// these.
func quickMedia(b []byte, h *heard) bool {
	if !bytes.HasPrefix(b, mediaEvent) || bytes.IndexByte(b, '\\') >= 0 {
		return false
	}
	*h = heard{}
	b = b[len(mediaEvent):]
	for inside := false; ; {
		key, rest, ok := quoted(b)
		if !ok || len(rest) < 2 || rest[0] != ':' {
			return false
		}
		if rest[1] == '{' {
			if inside || string(key) != `"media"` {
				return false
			}
			inside, b = true, rest[2:]
			continue
		}
		value, rest, ok := quoted(rest[1:])
		if !ok {
			return false
		}
		plain := value[1 : len(value)-1]
		switch k := string(key); {
		case inside && k == `"payload"`:
			h.payload = plain
		case inside && k == `"track"`:
			h.track = plain
		case inside && k == `"chunk"`:
			h.chunk = value
		case inside && k == `"timestamp"`:
			h.timestamp = value
		case !inside && k == `"sequenceNumber"`:
			h.sequence = value
		case !inside && k == `"streamSid"`:
			h.stream = plain
		default:
			return false
		}
		if inside && len(rest) > 0 && rest[0] == '}' {
			inside, rest = false, rest[1:]
		}
		switch {
		case len(rest) == 1 && rest[0] == '}' && !inside:
			return h.sequence != nil && h.stream != nil && h.track != nil && h.chunk != nil && h.timestamp != nil &&
				h.payload != nil
		case len(rest) == 0 || rest[0] != ',':
			return false
		}
		b = rest[1:]
	}
}

// quoted cuts a string, with its quotes, off the beginning.
func quoted(b []byte) (value, rest []byte, ok bool) {
	if len(b) < 2 || b[0] != '"' {
		return nil, nil, false
	}
	i := bytes.IndexByte(b[1:], '"')
	if i < 0 {
		return nil, nil, false
	}
	return b[:i+2], b[i+2:], true
}
