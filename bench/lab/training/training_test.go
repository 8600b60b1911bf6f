package training

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dialler/bench/corpus"
	"dialler/engine"
	"dialler/media/amd"
	"dialler/media/wav"
)

// say is a buzz in syllables for that many ms, after a pause.
func say(x []int16, pause, ms int, hz float64, r *rand.Rand) []int16 {
	for range pause * 8 {
		x = append(x, int16(4*r.NormFloat64()))
	}
	phase := 0.0
	for i := range ms * 8 {
		at := float64(i) / wav.Rate
		phase += 2 * math.Pi * (hz + 20*math.Sin(2*math.Pi*1.3*at)) / wav.Rate
		v := 0.0
		for h := 1; h <= 16; h++ {
			v += math.Sin(float64(h)*phase) / float64(h)
		}
		x = append(x, int16(3000*v*(0.15+math.Abs(math.Sin(2*math.Pi*2.2*at)))+20*r.NormFloat64()))
	}
	return x
}

// calls are people who say a word and machines that do not stop, with voices from first on.
func calls(n, first int) *corpus.Folder {
	f := &corpus.Folder{Name: "calls"}
	for i := first; i < first+n; i++ {
		r := rand.New(rand.NewPCG(uint64(i), 3))
		hz := 90 + 120*r.Float64()
		rec := corpus.Recording{Weight: 1, File: string(rune('a' + i)), Label: "human", Voice: string(rune('a' + i)),
			Source: string(rune('a' + i%5)), Real: i%3 == 0}
		rec.Samples = say(nil, 100+r.IntN(900), 300+r.IntN(500), hz, r)
		if i%2 == 1 {
			rec.Label = "machine"
			rec.Samples = say(nil, 100+r.IntN(900), 6000, hz, r)
		}
		rec.Samples = append(rec.Samples, make([]int16, 3*wav.Rate)...)
		f.Recordings = append(f.Recordings, rec)
	}
	return f
}

func TestTheSameSeedTrainsTheSameModel(t *testing.T) {
	fit := func(seed uint64) []byte {
		s, err := Prepare([]*corpus.Folder{calls(14, 0)}, Options{Seed: seed, Epochs: 1, trees: 12, batches: 2})
		if err != nil {
			t.Fatal(err)
		}
		m := s.Fit()
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first := fit(1)
	if !bytes.Equal(first, fit(1)) {
		t.Fatal("two trainings differ")
	}
	if bytes.Equal(first, fit(2)) {
		t.Fatal("the seed changes nothing")
	}
	m, err := amd.ReadModel(first)
	if err != nil || m.Seed != 1 || len(m.Data) != 1 || m.Data[0].Files != 14 {
		t.Fatalf("%+v, %v", m, err)
	}
}

// TestWhatWasLearnedSoFarIsKept checks that intermediate results are saved: a net whose training
// can be continued, and how well it hears speech by unknown voices.
func TestWhatWasLearnedSoFarIsKept(t *testing.T) {
	folder := calls(40, 0)
	for i := range folder.Recordings {
		folder.Recordings[i].Sounds = strings.Repeat("xel@u", 1+i%2*5)
	}
	var kept []*amd.Model
	var log []string
	opt := Options{
		Seed: 1, Epochs: 2, trees: 2, batches: 2, look: 1, shape: amd.Shape{Features: 32, Units: []int{48, 32}},
		Keep: func(m *amd.Model) { kept = append(kept, m) },
		Log:  func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) },
	}
	fit := func() {
		t.Helper()
		s, err := Prepare([]*corpus.Folder{folder}, opt)
		if err != nil {
			t.Fatal(err)
		}
		s.Fit()
	}
	fit()
	if len(kept) != 2 || kept[1].Epochs != 2 || kept[1].Check() != nil {
		t.Fatalf("%d models are kept", len(kept))
	}
	said := strings.Join(log, "\n")
	for _, part := range []string{" it is known what is said", ", of a sound ", " of the sounds are wrong"} {
		if !strings.Contains(said, part) {
			t.Errorf("nothing says %q: %s", part, said)
		}
	}
	opt.From, opt.shape = kept[1].Nets[0], amd.Shape{}
	fit()
	if got := kept[3].Nets[0].Shape; len(kept) != 4 || len(got.Units) != 2 || got.Units[0] != 48 {
		t.Fatalf("%d models, %v", len(kept), got)
	}
}

func TestCrossValidationKeepsAVoiceOnOneSide(t *testing.T) {
	s, err := Prepare([]*corpus.Folder{calls(14, 0), calls(30, 7)},
		Options{Seed: 1, Epochs: 1, trees: 12, batches: 110, shape: amd.Shape{Features: 32, Units: []int{48, 32}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range []func(corpus.Recording) string{ByVoice, BySource} {
		const models = 2
		for f := range models {
			measured, known := s.sides(group, f, models)
			for _, x := range s.examplesOf(known) {
				if g := group(s.recordings[x.t.of]); measured[g] || x.t.of < s.main {
					t.Fatalf("%s is on both sides", g)
				}
			}
			for i := range s.main {
				if g := group(s.recordings[i]); measured[g] != (lot(g, models) == f) {
					t.Fatalf("%s is measured %v with model %d", g, measured[g], f)
				}
			}
		}
	}
	heard := s.CrossValidate(ByVoice, 1)
	right := 0
	for _, h := range heard {
		if Right(h.Recording.Label, h.Decision.Verdict) {
			right++
		}
		if h.Recording.Label == "human" && h.Decision.Verdict == engine.VerdictMachine {
			t.Errorf("%s: a person is taken for a machine", h.Recording.File)
		}
	}
	if right < len(heard)*3/4 {
		t.Errorf("%d of %d", right, len(heard))
	}
}

func TestTooFewLabelsAreRefused(t *testing.T) {
	if _, err := Prepare([]*corpus.Folder{calls(4, 0)}, Options{}); err == nil ||
		!strings.HasPrefix(err.Error(), "training_labels: ") {
		t.Fatalf("%v", err)
	}
}

func TestAReportNamesEveryFile(t *testing.T) {
	folder, err := corpus.Load(filepath.Join("..", "..", "..", "media", "amd", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	r := NewReport("shipped", Evaluate(folder.Recordings, amd.Config{}), 0)
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Files []map[string]any `json:"files"`
	}
	if err := json.Unmarshal(b, &read); err != nil || len(read.Files) != len(folder.Recordings) {
		t.Fatalf("%d files, %v", len(read.Files), err)
	}
	for _, f := range read.Files {
		for _, key := range []string{"file", "label", "verdict", "tones", "confidence", "decision_ms"} {
			if _, ok := f[key]; !ok {
				t.Fatalf("%v has no %s", f, key)
			}
		}
		if _, ok := f["tones"].([]any); !ok {
			t.Fatalf("%v: tones is no list", f)
		}
	}
	var text strings.Builder
	if err := r.Write(&text); err != nil || !strings.Contains(text.String(), "median ms") {
		t.Fatalf("%s %v", text.String(), err)
	}
}

func TestAReportCountsWhatItSays(t *testing.T) {
	heard := func(label string, real bool, v engine.Verdict, tones ...string) Heard {
		h := Heard{Recording: corpus.Recording{Label: label, Real: real}, Tones: tones}
		h.Decision.Verdict = v
		return h
	}
	r := NewReport("m", []Heard{
		heard("human", true, "human"), heard("human", false, "machine"), heard("human", true, "unknown"), heard("human", true,
			"human", "beep"), heard("machine", false, "machine"), heard("machine", false, "human"), heard("fax", false, "fax"),
		heard("fax", false, "unknown"), heard("beep", false, "machine", "beep"),
	}, 0)
	p := r.Parts[0]
	if p.HumansAsMachine != 0.25 || p.MachinesAsHuman != 0.5 || p.Accuracy != 0.5 || r.Tones["fax"] != "1/2" ||
		r.Tones["beep"] != "1/1" || r.Tones["false_on_humans"] != "1/4" {
		t.Fatalf("%+v", r)
	}
	if !slices.ContainsFunc(r.Parts, func(p Part) bool { return p.Name == "real" && p.HumansAsMachine == 0 }) {
		t.Fatal("real speech is not reported apart")
	}
}
