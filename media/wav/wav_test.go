package wav

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
)

// file is a WAV file with a plain header.
func file(coding, channels, rate, bits int, data []byte) []byte {
	b := Encode(nil)
	binary.LittleEndian.PutUint16(b[20:], uint16(coding))
	binary.LittleEndian.PutUint16(b[22:], uint16(channels))
	binary.LittleEndian.PutUint32(b[24:], uint32(rate))
	binary.LittleEndian.PutUint16(b[34:], uint16(bits))
	binary.LittleEndian.PutUint32(b[40:], uint32(len(data)))
	return append(b, data...)
}

func linear(x ...int16) []byte { return Encode(x)[44:] }

func TestEveryFormatOfATelephoneIsRead(t *testing.T) {
	f := func(name string, b []byte, want ...int16) {
		t.Helper()
		got, err := Decode(b)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
	f("linear", Encode([]int16{1, -2, 32767}), 1, -2, 32767)
	f("μ-law", file(7, 1, 8000, 8, []byte{0x00, 0x80, 0xFF}), -32124, 32124, 0)
	f("A-law", file(6, 1, 8000, 8, []byte{0x2A, 0xAA, 0xD5}), -32256, 32256, 8)
	f("stereo is the mean", file(1, 2, 8000, 16, linear(100, 300, -50, 50)), 200, 0)
	steady := slices.Repeat([]int16{1000}, 64)
	got, err := Decode(file(1, 1, 16000, 16, linear(steady...)))
	if err != nil || len(got) != 32 || math.Abs(float64(got[16])-1000) > 15 {
		t.Errorf("16 kHz: %v, %v", got, err)
	}
	// 5 kHz would alias to 3 kHz.
	high := make([]int16, 1600)
	for i := range high {
		high[i] = int16(8000 * math.Sin(2*math.Pi*5500*float64(i)/16000))
	}
	got, _ = Decode(file(1, 1, 16000, 16, linear(high...)))
	for _, v := range got[50:750] {
		if v > 500 || v < -500 {
			t.Fatalf("5500 Hz is heard at 8 kHz: %d", v)
		}
	}
}

func TestAFileThatCannotBeReadSaysWhatToDo(t *testing.T) {
	f := func(code string, b []byte) {
		t.Helper()
		_, err := Decode(b)
		if err == nil || !strings.HasPrefix(err.Error(), code+": ") || !strings.Contains(err.Error()[len(code)+2:], ":") {
			t.Errorf("%v, want %s and a remedy", err, code)
		}
	}
	f("wav_format", []byte("ID3 nonsense"))
	f("wav_rate", file(1, 1, 44100, 16, linear(1)))
	f("wav_channels", file(1, 6, 8000, 16, linear(1)))
	f("wav_coding", file(3, 1, 8000, 32, linear(1)))
	f("wav_empty", file(1, 1, 8000, 16, nil))
	if _, err := Read("none.wav"); err == nil || !strings.HasPrefix(err.Error(), "wav_open: ") {
		t.Errorf("%v", err)
	}
}

func FuzzDecodeWAV(f *testing.F) {
	f.Add(Encode([]int16{1, 2, 3}))
	f.Add(file(7, 2, 16000, 8, []byte{1, 2, 3}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if x, err := Decode(b); err == nil && len(x) == 0 {
			t.Fatal("neither audio nor an error")
		}
	})
}
