package media

import (
	"errors"
	"fmt"

	"dialler/media/codec"
	"dialler/media/g711"
	"dialler/media/wav"
)

// VoicemailMost is the longest message that can be left on a machine, in seconds.
const VoicemailMost = 60

// EncodeMessage converts a WAV file to a message for machines. The file may have 8 or 16 kHz, one
// channel or two, 16-bit linear, μ-law or A-law, and at most VoicemailMost seconds. The result is
// μ-law at 8 kHz; the error says how to fix the file.
func EncodeMessage(file []byte) ([]byte, error) {
	x, err := wav.Decode(file)
	if err != nil {
		return nil, err
	}
	if len(x) > VoicemailMost*wav.Rate {
		return nil, fmt.Errorf("it is longer than %d s: shorten it", VoicemailMost)
	}
	if len(x) < codec.FrameBytes {
		return nil, errors.New("it is shorter than 20 ms: record it again")
	}
	out := make([]byte, len(x))
	for i, s := range x {
		out[i] = g711.ToUlaw(s)
	}
	return out, nil
}
