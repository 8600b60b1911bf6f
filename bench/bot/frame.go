package bot

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// frame is any message of the platform. Fields that must be strings on the
// wire are kept raw, so that a number in their place is seen.
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

// decimal reads a number that must come as a string of decimal digits.
func decimal(raw json.RawMessage) (n int64, ok bool) {
	if len(raw) < 3 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return 0, false
	}
	n, err := strconv.ParseInt(string(raw[1:len(raw)-1]), 10, 64)
	return n, err == nil && n >= 0 && raw[1] != '+' && raw[1] != '-'
}

// quickMedia reads a media frame without a JSON decoder: fifty of them come
// per second and session. It understands only frames whose strings are plain
// and gives up on everything else; the caller decodes those, and a sample of
// all, in full.
func quickMedia(b []byte, f *frame, media *mediaBody) bool {
	if !bytes.Contains(b[:min(len(b), 40)], []byte(`"event":"media"`)) || bytes.IndexByte(b, '\\') >= 0 {
		return false
	}
	sequence, ok1 := quoted(b, `"sequenceNumber":`)
	stream, ok2 := quoted(b, `"streamSid":`)
	track, ok3 := quoted(b, `"track":`)
	chunk, ok4 := quoted(b, `"chunk":`)
	timestamp, ok5 := quoted(b, `"timestamp":`)
	payload, ok6 := quoted(b, `"payload":`)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 {
		return false
	}
	*media = mediaBody{Chunk: chunk, Timestamp: timestamp}
	*f = frame{Event: "media", Sequence: sequence, Media: media}
	f.StreamSID = string(stream[1 : len(stream)-1])
	media.Track = string(track[1 : len(track)-1])
	media.Payload = string(payload[1 : len(payload)-1])
	return true
}

// quoted gives the string after a key, with its quotes.
func quoted(b []byte, key string) ([]byte, bool) {
	i := bytes.Index(b, []byte(key))
	if i < 0 {
		return nil, false
	}
	b = b[i+len(key):]
	if len(b) < 2 || b[0] != '"' {
		return nil, false
	}
	j := bytes.IndexByte(b[1:], '"')
	if j < 0 {
		return nil, false
	}
	return b[:j+2], true
}
