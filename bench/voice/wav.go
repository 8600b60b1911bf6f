package voice

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// wavCap bounds a recording: five minutes of 16-bit samples.
const wavCap = 5 * 60 * 2 * Rate

// ReadWAV returns the samples of a RIFF WAVE file with 8000 Hz and one channel: 16-bit linear
// (format 1), A-law (6) or μ-law (7).
func ReadWAV(path string) ([]int16, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > wavCap {
		return nil, fmt.Errorf("%s: %d bytes; at most %d are played", path, info.Size(), wavCap)
	}
	b, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	pcm, err := decodeWAV(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return pcm, nil
}

func decodeWAV(b []byte) ([]int16, error) {
	if len(b) < 12 || string(b[:4]) != "RIFF" || string(b[8:12]) != "WAVE" {
		return nil, errors.New("not a RIFF WAVE file")
	}
	le := binary.LittleEndian
	var format []byte
	for b = b[12:]; len(b) >= 8; {
		id, size := string(b[:4]), int(le.Uint32(b[4:]))
		body := b[8:]
		body = body[:min(size, len(body))]
		switch id {
		case "fmt ":
			format = body
		case "data":
			return samplesOf(format, body)
		}
		b = b[min(8+size+size&1, len(b)):]
	}
	return nil, errors.New("the file has no audio")
}

func samplesOf(format, data []byte) ([]int16, error) {
	if len(format) < 16 || len(data) == 0 {
		return nil, errors.New("the file has no audio")
	}
	le := binary.LittleEndian
	coding, channels, rate, bits := le.Uint16(format), le.Uint16(format[2:]), le.Uint32(format[4:]), le.Uint16(format[14:])
	if channels != 1 || rate != Rate {
		return nil, fmt.Errorf("%d Hz with %d channels; convert it to 8000 Hz mono", rate, channels)
	}
	switch {
	case coding == 1 && bits == 16:
		pcm := make([]int16, len(data)/2)
		for i := range pcm {
			pcm[i] = int16(le.Uint16(data[2*i:])) //nolint:gosec // two's complement
		}
		return pcm, nil
	case coding == 6 && bits == 8:
		return PCMA.Decode(nil, data), nil
	case coding == 7 && bits == 8:
		return PCMU.Decode(nil, data), nil
	}
	return nil, fmt.Errorf("format %d with %d bits; convert it to 16-bit linear, A-law or μ-law", coding, bits)
}
