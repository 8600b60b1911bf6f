package botlink

import (
	"encoding/base64"
	"encoding/json"
	"strconv"

	"dialler/engine"
)

// connectedFrame is the first message of every session.
const connectedFrame = `{"event":"connected","protocol":"Call","version":"1.0.0"}`

// appendStart is the second message. sequenceNumber of start is "1".
func appendStart(b []byte, r *Request) ([]byte, error) {
	params := r.Parameters
	if params == nil {
		params = map[string]string{}
	}
	type format struct {
		Encoding   string `json:"encoding"`
		SampleRate int    `json:"sampleRate"`
		Channels   int    `json:"channels"`
	}
	type start struct {
		Account    string            `json:"accountSid"`
		Stream     string            `json:"streamSid"`
		Call       string            `json:"callSid"`
		Tracks     []string          `json:"tracks"`
		Format     format            `json:"mediaFormat"`
		Parameters map[string]string `json:"customParameters"`
	}
	frame, err := json.Marshal(struct {
		Event    string `json:"event"`
		Sequence string `json:"sequenceNumber"`
		Start    start  `json:"start"`
		Stream   string `json:"streamSid"`
	}{"start", "1", start{
		Account: r.Account, Stream: string(r.Session), Call: string(r.Call), Tracks: []string{"inbound"},
		Format: format{Encoding: "audio/x-mulaw", SampleRate: 8000, Channels: 1}, Parameters: params,
	}, string(r.Session)})
	return append(b, frame...), err
}

// The other frames are assembled by hand: fifty media frames per second and call must not allocate.
// stream is the session's id as a JSON string with its quotes.

func appendMedia(b []byte, stream string, seq, chunk, millis uint64, ulaw []byte) []byte {
	b = append(b, `{"event":"media","sequenceNumber":"`...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `","media":{"track":"inbound","chunk":"`...)
	b = strconv.AppendUint(b, chunk, 10)
	b = append(b, `","timestamp":"`...)
	b = strconv.AppendUint(b, millis, 10)
	b = append(b, `","payload":"`...)
	b = base64.StdEncoding.AppendEncode(b, ulaw)
	b = append(b, `"},"streamSid":`...)
	b = append(b, stream...)
	return append(b, '}')
}

func appendDigit(b []byte, stream string, seq uint64, digit byte) []byte {
	b = append(b, `{"event":"dtmf","streamSid":`...)
	b = append(b, stream...)
	b = append(b, `,"sequenceNumber":"`...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `","dtmf":{"track":"inbound_track","digit":"`...)
	b = append(b, digit)
	return append(b, `"}}`...)
}

// appendMark echoes a mark; name is the raw JSON string from the bot.
func appendMark(b []byte, stream string, seq uint64, name []byte) []byte {
	b = append(b, `{"event":"mark","sequenceNumber":"`...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `","streamSid":`...)
	b = append(b, stream...)
	b = append(b, `,"mark":{"name":"`...)
	b = append(b, name...)
	return append(b, `"}}`...)
}

// appendResult answers a result; answer is JSON.
func appendResult(b []byte, stream string, seq uint64, answer []byte) []byte {
	b = append(b, `{"event":"result","sequenceNumber":"`...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `","streamSid":`...)
	b = append(b, stream...)
	b = append(b, `,"result":`...)
	b = append(b, answer...)
	return append(b, '}')
}

// appendRefused is the answer to a result that is not stored, in the words of the API.
func appendRefused(b []byte, call string, why *engine.Error) []byte {
	b = append(b, `{"status":"refused","call_id":`...)
	b = append(b, call...)
	b = append(b, `,"code":`...)
	b = append(b, quote(why.Code)...)
	b = append(b, `,"detail":`...)
	b = append(b, quote(why.Detail)...)
	return append(b, '}')
}

func appendStop(b []byte, stream string, seq uint64, account, call string) []byte {
	b = append(b, `{"event":"stop","sequenceNumber":"`...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `","streamSid":`...)
	b = append(b, stream...)
	b = append(b, `,"stop":{"accountSid":`...)
	b = append(b, account...)
	b = append(b, `,"callSid":`...)
	b = append(b, call...)
	return append(b, `}}`...)
}

// quote returns a JSON string with its quotes.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // cannot happen for a string
		return `""`
	}
	return string(b)
}
