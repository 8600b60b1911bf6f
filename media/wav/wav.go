// Package wav reads and writes WAV files of telephone audio, of 16 MiB at most.
//
// # What it must not know
//
// What a recording is used for.
package wav

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"dialler/media/g711"
)

// Rate is the sample rate of all audio here, in Hz.
const Rate = 8000

const maxFile = 16 << 20

// Read returns the samples of a WAV file at 8 kHz, mono. It accepts 16-bit linear, μ-law and A-law
// at 8 or 16 kHz, with one channel or two (averaged). Errors: wav_open, wav_size, wav_format,
// wav_rate, wav_channels, wav_coding, wav_empty.
func Read(path string) ([]int16, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("wav_open: %w", err)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("wav_size: %s has %d bytes, at most %d are read: cut it to the first seconds",
			path, info.Size(), maxFile)
	}
	b, err := os.ReadFile(path) //nolint:gosec // the file that was asked for
	if err != nil {
		return nil, fmt.Errorf("wav_open: %w", err)
	}
	x, err := Decode(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return x, nil
}

type format struct {
	coding, channels, bits int
	rate                   int
}

// Decode is Read for the contents of a file.
func Decode(b []byte) ([]int16, error) {
	if len(b) < 12 || string(b[:4]) != "RIFF" || string(b[8:12]) != "WAVE" {
		return nil, errors.New("wav_format: it is not a RIFF WAVE file: convert it to WAV")
	}
	var f format
	for i := 12; i+8 <= len(b); {
		size := int(binary.LittleEndian.Uint32(b[i+4:]))
		body := b[i+8:]
		body = body[:min(size, len(body))]
		switch string(b[i : i+4]) {
		case "fmt ":
			if len(body) < 16 {
				return nil, errors.New("wav_format: the format chunk is too short: write the file again")
			}
			f = format{
				coding: int(binary.LittleEndian.Uint16(body)), channels: int(binary.LittleEndian.Uint16(body[2:])),
				rate: int(binary.LittleEndian.Uint32(body[4:])), bits: int(binary.LittleEndian.Uint16(body[14:])),
			}
			if f.coding == 0xFFFE && len(body) >= 26 { // extensible: the GUID begins with the coding
				f.coding = int(binary.LittleEndian.Uint16(body[24:]))
			}
		case "data":
			return f.samples(body)
		}
		i += 8 + size + size&1
	}
	return nil, errors.New("wav_empty: the file has no audio: record it again")
}

func (f format) samples(b []byte) ([]int16, error) {
	if f.rate != Rate && f.rate != 2*Rate {
		return nil, fmt.Errorf("wav_rate: %d Hz: convert it to 8000 or 16000 Hz", f.rate)
	}
	if f.channels != 1 && f.channels != 2 {
		return nil, fmt.Errorf("wav_channels: %d channels: convert it to mono or stereo", f.channels)
	}
	var x []int16
	switch {
	case f.coding == 1 && f.bits == 16:
		x = make([]int16, len(b)/2)
		for i := range x {
			x[i] = int16(binary.LittleEndian.Uint16(b[2*i:])) //nolint:gosec // two's complement
		}
	case f.coding == 7 && f.bits == 8:
		x = make([]int16, len(b))
		for i, v := range b {
			x[i] = g711.FromUlaw(v)
		}
	case f.coding == 6 && f.bits == 8:
		x = make([]int16, len(b))
		for i, v := range b {
			x[i] = g711.FromAlaw(v)
		}
	default:
		return nil, fmt.Errorf("wav_coding: format %d with %d bits: convert it to 16-bit linear, μ-law or A-law",
			f.coding, f.bits)
	}
	if f.channels == 2 {
		for i := range len(x) / 2 {
			x[i] = int16((int(x[2*i]) + int(x[2*i+1])) / 2) //nolint:gosec // a mean
		}
		x = x[:len(x)/2]
	}
	if f.rate == 2*Rate {
		x = halve(x)
	}
	if len(x) == 0 {
		return nil, errors.New("wav_empty: the file has no audio: record it again")
	}
	return x, nil
}

// halfBand is a low-pass at a quarter of the rate: a windowed sinc, its odd taps from the middle
// outwards.
var halfBand = [...]float64{0.3167, -0.1026, 0.0574, -0.0364, 0.0235, -0.0147, 0.0085, -0.0043}

// halve takes every other sample of x, after filtering out the frequencies that would alias.
func halve(x []int16) []int16 {
	at := func(i int) float64 { return float64(x[max(0, min(len(x)-1, i))]) }
	out := make([]int16, len(x)/2)
	for i := range out {
		sum := 0.5 * at(2*i)
		for k, h := range halfBand {
			sum += h * (at(2*i-2*k-1) + at(2*i+2*k+1))
		}
		out[i] = clip(sum)
	}
	return out
}

func clip(v float64) int16 { return int16(max(-32768, min(32767, v))) }

// Encode returns a file of 16-bit linear samples at 8 kHz.
func Encode(x []int16) []byte {
	b := make([]byte, 44, 44+2*len(x))
	copy(b, "RIFF....WAVEfmt ")
	le := binary.LittleEndian
	le.PutUint32(b[4:], uint32(36+2*len(x))) //nolint:gosec // far below 4 GiB
	le.PutUint32(b[16:], 16)
	le.PutUint16(b[20:], 1)
	le.PutUint16(b[22:], 1)
	le.PutUint32(b[24:], Rate)
	le.PutUint32(b[28:], 2*Rate)
	le.PutUint16(b[32:], 2)
	le.PutUint16(b[34:], 16)
	copy(b[36:], "data")
	le.PutUint32(b[40:], uint32(2*len(x))) //nolint:gosec // far below 4 GiB
	for _, v := range x {
		b = le.AppendUint16(b, uint16(v)) //nolint:gosec // two's complement
	}
	return b
}
