package corpus

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wav is a file with a plain header.
func wav(coding, channels, rate, bits int, data []byte) []byte {
	b := EncodeWAV(nil)
	binary.LittleEndian.PutUint16(b[20:], uint16(coding))
	binary.LittleEndian.PutUint16(b[22:], uint16(channels))
	binary.LittleEndian.PutUint32(b[24:], uint32(rate))
	binary.LittleEndian.PutUint16(b[34:], uint16(bits))
	binary.LittleEndian.PutUint32(b[40:], uint32(len(data)))
	return append(b, data...)
}

func linear(x ...int16) []byte { return EncodeWAV(x)[44:] }

func TestEveryFormatOfATelephoneIsRead(t *testing.T) {
	f := func(name string, file []byte, want ...int16) {
		t.Helper()
		got, err := DecodeWAV(file)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
	f("linear", EncodeWAV([]int16{1, -2, 32767}), 1, -2, 32767)
	f("μ-law", wav(7, 1, 8000, 8, []byte{0x00, 0x80, 0xFF}), -32124, 32124, 0)
	f("A-law", wav(6, 1, 8000, 8, []byte{0x2A, 0xAA, 0xD5}), -32256, 32256, 8)
	f("stereo is the mean", wav(1, 2, 8000, 16, linear(100, 300, -50, 50)), 200, 0)
	steady := slices.Repeat([]int16{1000}, 64)
	got, err := DecodeWAV(wav(1, 1, 16000, 16, linear(steady...)))
	if err != nil || len(got) != 32 || math.Abs(float64(got[16])-1000) > 15 {
		t.Errorf("16 kHz: %v, %v", got, err)
	}
	// 5 kHz would fold to 3 kHz.
	high := make([]int16, 1600)
	for i := range high {
		high[i] = int16(8000 * math.Sin(2*math.Pi*5500*float64(i)/16000))
	}
	got, _ = DecodeWAV(wav(1, 1, 16000, 16, linear(high...)))
	for _, v := range got[50:750] {
		if v > 500 || v < -500 {
			t.Fatalf("5500 Hz is heard at 8 kHz: %d", v)
		}
	}
}

func TestAFileThatCannotBeReadSaysWhatToDo(t *testing.T) {
	f := func(code string, file []byte) {
		t.Helper()
		if _, err := DecodeWAV(file); err == nil || !strings.HasPrefix(err.Error(), code+": ") || !strings.Contains(err.Error()[len(code)+2:], ":") {
			t.Errorf("%v, want %s and a remedy", err, code)
		}
	}
	f("wav_format", []byte("ID3 nonsense"))
	f("wav_rate", wav(1, 1, 44100, 16, linear(1)))
	f("wav_channels", wav(1, 6, 8000, 16, linear(1)))
	f("wav_coding", wav(3, 1, 8000, 32, linear(1)))
	f("wav_empty", wav(1, 1, 8000, 16, nil))
	if _, err := ReadWAV("none.wav"); err == nil || !strings.HasPrefix(err.Error(), "wav_open: ") {
		t.Errorf("%v", err)
	}
}

func TestAFolderIsReadWithAndWithoutLabels(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Load(dir); err == nil || !strings.HasPrefix(err.Error(), "corpus_empty: ") {
		t.Fatalf("%v", err)
	}
	write("a.wav", EncodeWAV([]int16{1, 2}))
	got, err := Load(dir)
	if err != nil || len(got.Recordings) != 1 || got.Recordings[0].Label != "" || len(got.Recordings[0].Samples) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	write("labels.csv", []byte("file,label,real,voice,license_source\na.wav,human,1,real-fsdd-theo,github\n"))
	got, err = Load(dir)
	if err != nil || got.SHA256 == "" || got.Recordings[0].Label != "human" || !got.Recordings[0].Real || got.Recordings[0].Source != "fsdd" {
		t.Fatalf("%+v, %v", got, err)
	}
	write("labels.csv", []byte("file,label,sounds\na.wav,human,hel@u\n"))
	if _, err = Load(dir); err == nil || !strings.Contains(err.Error(), `corpus_labels: line 2: sounds has "h" at 0: letters are ieaou@`) {
		t.Fatalf("%v", err)
	}
	write("labels.csv", []byte("file,label,sounds\na.wav,human,xel@u\n"))
	if got, err = Load(dir); err != nil || got.Recordings[0].Sounds != "xel@u" {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, bad := range []string{"file,label,sounds\na.wav,human," + strings.Repeat("a", mostSounds+1) + "\n", "name\na.wav\n", "file,label\n../a.wav,human\n", "file,label\na.wav,\n"} {
		write("labels.csv", []byte(bad))
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "corpus_labels: ") {
			t.Errorf("%.60q: %v", bad, err)
		}
	}
}

func TestOneSpeakerIsOneVoiceWhereverItSpeaks(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		if got := Voice(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	f("espeak-en-us+m2-200-50", "espeak+m2")
	f("espeak-de+m2-170-55", "espeak+m2")
	f("flite-slt-0.85", "slt")
	f("fest-voice_cmu_us_slt_arctic_hts-utf-8-1.1", "slt")
	f("real-fsdd-theo", "real-fsdd-theo")
}

func TestTheSameSeedMakesTheSameOfARecording(t *testing.T) {
	x := make([]int16, 16000)
	for i := range x {
		x[i] = int16(6000 * math.Sin(float64(i)/7) * math.Abs(math.Sin(float64(i)/900)))
	}
	for seed := range uint64(20) {
		m := Random(rand.New(rand.NewPCG(seed, 1)))
		a, b := m.Apply(x), m.Apply(x)
		if !slices.Equal(a, b) || len(a) == 0 {
			t.Fatalf("%+v", m)
		}
	}
	if got := (Impairment{}).Apply(x); !slices.Equal(got[:100], scaled(x)[:100]) {
		t.Fatal("no impairment changes the recording")
	}
}

// scaled is what 15 bits and back do to x.
func scaled(x []int16) []int16 {
	out := make([]int16, len(x))
	for i, v := range x {
		out[i] = int16(float64(v) / 32768 * 32767)
	}
	return out
}

func TestALevelIsThatOfTheLoudParts(t *testing.T) {
	x := make([]int16, 16000)
	for i := range x[:8000] {
		x[i] = int16(3000 * math.Sin(float64(i)/5))
	}
	for _, level := range []float64{-40, -20, -6} {
		y := Impairment{Level: level}.Apply(x)
		sum := 0.0
		for _, v := range y[:8000] {
			sum += float64(v) * float64(v) / 32768 / 32768
		}
		if got := 10 * math.Log10(sum/8000); math.Abs(got-level) > 0.7 {
			t.Errorf("%.1f dBFS, want %.0f", got, level)
		}
	}
}

func FuzzDecodeWAV(f *testing.F) {
	f.Add(EncodeWAV([]int16{1, 2, 3}))
	f.Add(wav(7, 2, 16000, 8, []byte{1, 2, 3}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if x, err := DecodeWAV(b); err == nil && len(x) == 0 {
			t.Fatal("neither audio nor an error")
		}
	})
}
