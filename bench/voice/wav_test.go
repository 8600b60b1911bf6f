package voice

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func wavFile(coding, channels, rate, bits int, data []byte) []byte {
	le := binary.LittleEndian
	b := append([]byte("RIFF\x00\x00\x00\x00WAVELIST\x03\x00\x00\x00abc\x00fmt "), 16, 0, 0, 0)
	b = le.AppendUint16(b, uint16(coding))
	b = le.AppendUint16(b, uint16(channels))
	b = le.AppendUint32(b, uint32(rate))
	b = le.AppendUint32(b, 0)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint16(b, uint16(bits))
	b = append(b, "data"...)
	b = le.AppendUint32(b, uint32(len(data)))
	return append(b, data...)
}

func TestRecordingsAreRead(t *testing.T) {
	dir := t.TempDir()
	read := func(b []byte) ([]int16, error) {
		path := filepath.Join(dir, "x.wav")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return ReadWAV(path)
	}
	right := func(want []int16, b []byte) {
		t.Helper()
		if got, err := read(b); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	right([]int16{1, -2}, wavFile(1, 1, 8000, 16, []byte{1, 0, 0xfe, 0xff}))
	right([]int16{0, 32124}, wavFile(7, 1, 8000, 8, []byte{0xff, 0x80}))
	right(PCMA.Decode(nil, []byte{0xd5, 0xaa}), wavFile(6, 1, 8000, 8, []byte{0xd5, 0xaa}))
	wrong := func(want string, b []byte) {
		t.Helper()
		if _, err := read(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	wrong("not a RIFF", []byte("MP3"))
	wrong("no audio", wavFile(1, 1, 8000, 16, nil))
	wrong("no audio", []byte("RIFF\x00\x00\x00\x00WAVEfmt "))
	wrong("16000 Hz", wavFile(1, 1, 16000, 16, []byte{1, 0}))
	wrong("2 channels", wavFile(1, 2, 8000, 16, []byte{1, 0}))
	wrong("format 3", wavFile(3, 1, 8000, 32, []byte{1, 0, 0, 0}))
	wrong("at most", make([]byte, wavCap+1))
	if _, err := ReadWAV(filepath.Join(dir, "none.wav")); err == nil {
		t.Error("a file that is not there")
	}
}
