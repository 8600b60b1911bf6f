package media

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"

	"dialler/media/codec"
	"dialler/media/g711"
)

// messageCap bounds the information message: 60 s.
const messageCap = 60 * 8000

// loadMessage reads the information message and converts it to μ-law: a WAV file with 8 kHz mono
// PCM16, μ-law or A-law, or the built-in tone when path is empty.
func loadMessage(path string) ([]byte, error) {
	if path == "" {
		return toneMessage(), nil
	}
	b, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("media: information message: %w", err)
	}
	m, err := parseWAV(b)
	if err != nil {
		return nil, fmt.Errorf("media: information message %s: %w", path, err)
	}
	return m, nil
}

// CheckMessage says what is wrong with the file of the information message; none is needed.
func CheckMessage(path string) error {
	_, err := loadMessage(path)
	return err
}

// toneMessage is what an abandoned callee hears when no recording is configured: three short rising
// tones, 1.2 s. It only shows that the line is not dead; rules that require words need a recording.
func toneMessage() []byte {
	const rate, tone, gap = 8000, 2400, 800
	out := make([]byte, 0, 3*(tone+gap))
	for _, hz := range []float64{440, 550, 660} {
		for i := range tone {
			level := 6000 * math.Min(1, math.Min(float64(i), float64(tone-i))/160) // 20 ms ramps
			out = append(out, g711.ToUlaw(int16(level*math.Sin(2*math.Pi*hz*float64(i)/rate))))
		}
		for range gap {
			out = append(out, codec.UlawSilence)
		}
	}
	return out
}

var errWAV = errors.New("not a WAV file")

// parseWAV reads RIFF/WAVE chunks.
func parseWAV(b []byte) ([]byte, error) {
	if len(b) < 12 || string(b[:4]) != "RIFF" || string(b[8:12]) != "WAVE" {
		return nil, errWAV
	}
	var format, channels, bits uint16
	var rate uint32
	for b = b[12:]; len(b) >= 8; {
		id, size := string(b[:4]), int(binary.LittleEndian.Uint32(b[4:8]))
		b = b[8:]
		body := b[:min(size, len(b))] // a truncated last chunk is played as far as it goes
		switch id {
		case "fmt ":
			if len(body) < 16 {
				return nil, errWAV
			}
			format, channels = binary.LittleEndian.Uint16(body), binary.LittleEndian.Uint16(body[2:])
			rate, bits = binary.LittleEndian.Uint32(body[4:]), binary.LittleEndian.Uint16(body[14:])
		case "data":
			return wavAudio(body, format, channels, bits, rate)
		}
		b = b[min(size+size&1, len(b)):]
	}
	return nil, errWAV
}

func wavAudio(body []byte, format, channels, bits uint16, rate uint32) ([]byte, error) {
	const pcm, alaw, ulaw = 1, 6, 7
	if channels != 1 || rate != 8000 {
		return nil, fmt.Errorf("%d Hz with %d channels; convert it to 8000 Hz mono", rate, channels)
	}
	var out []byte
	switch {
	case format == pcm && bits == 16:
		out = make([]byte, len(body)/2)
		for i := range out {
			out[i] = g711.ToUlaw(int16(binary.LittleEndian.Uint16(body[2*i:]))) //nolint:gosec // two's complement
		}
	case format == ulaw && bits == 8:
		out = append(out, body...)
	case format == alaw && bits == 8:
		out = append(out, body...)
		codec.Transcode(out, &codec.AlawToUlaw)
	default:
		return nil, fmt.Errorf("WAV format %d with %d bits; convert it to 16-bit PCM", format, bits)
	}
	if len(out) == 0 || len(out) > messageCap {
		return nil, errors.New("it must be between one sample and 60 s long")
	}
	return out, nil
}
