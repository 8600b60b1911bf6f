package corpus

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dialler/media/wav"
)

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
	write("a.wav", wav.Encode([]int16{1, 2}))
	got, err := Load(dir)
	if err != nil || len(got.Recordings) != 1 || got.Recordings[0].Label != "" || len(got.Recordings[0].Samples) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	write("labels.csv", []byte("file,label,real,voice,license_source\na.wav,human,1,real-fsdd-theo,github\n"))
	got, err = Load(dir)
	if err != nil || got.SHA256 == "" || got.Recordings[0].Label != "human" || !got.Recordings[0].Real ||
		got.Recordings[0].Source != "fsdd" {
		t.Fatalf("%+v, %v", got, err)
	}
	write("labels.csv", []byte("file,label,sounds\na.wav,human,hel@u\n"))
	if _, err = Load(dir); err == nil || !strings.Contains(err.Error(),
		`corpus_labels: line 2: sounds has "h" at 0: letters are ieaou@`) {
		t.Fatalf("%v", err)
	}
	write("labels.csv", []byte("file,label,sounds\na.wav,human,xel@u\n"))
	if got, err = Load(dir); err != nil || got.Recordings[0].Sounds != "xel@u" {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, bad := range []string{"file,label,sounds\na.wav,human," + strings.Repeat("a", mostSounds+1) + "\n",
		"name\na.wav\n", "file,label\n../a.wav,human\n", "file,label\na.wav,\n"} {
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

// scaled is the effect on x of conversion to 15 bits and back.
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
