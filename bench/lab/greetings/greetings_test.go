package greetings

import (
	"bytes"
	"encoding/csv"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dialler/bench/corpus"
)

func TestEveryLanguageHasPeopleAndMachines(t *testing.T) {
	known := map[string]bool{}
	total := 0.0
	for _, s := range shares {
		known[s.kind], total = true, total+s.parts
	}
	if total != 100 {
		t.Errorf("the shares are %v of 100", total)
	}
	for _, of := range []struct {
		voices []speaker
		said   rules
	}{{speakers(false), seen()}, {speakers(true), apart()}} {
		for _, s := range of.voices {
			if of.said[s.lang] == nil {
				continue // a language for training only
			}
			for _, kind := range []string{"short", "again", "firm", "long", "brief", "box", "carrier"} {
				if len(of.said[s.lang][kind]) == 0 {
					t.Fatalf("%s has no %s", s.lang, kind)
				}
			}
		}
	}
}

func TestEveryRuleIsThereAndEnds(t *testing.T) {
	for _, said := range []rules{seen(), apart()} {
		for lang, of := range said {
			for name, alternatives := range of {
				for _, text := range alternatives {
					for _, part := range strings.Split(text, "{")[1:] {
						rule, _, closed := strings.Cut(part, "}")
						if !closed || len(of[rule]) == 0 {
							t.Errorf("%s %s: %q has no rule %q", lang, name, text, rule)
						}
					}
				}
				r := rand.New(rand.NewPCG(1, 1))
				for range 50 {
					if text := said.say(r, lang, name); text == "" || strings.ContainsAny(text, "{}") {
						t.Errorf("%s %s: %q", lang, name, text)
					}
				}
			}
		}
	}
}

func TestNothingThatIsMeasuredIsTrainedOn(t *testing.T) {
	voices := map[string]bool{}
	for _, s := range speakers(false) {
		_, variant, _ := strings.Cut(s.name, "+")
		voices[s.engine+variant] = true
		if s.engine != "espeak" {
			voices[s.name] = true
		}
	}
	for _, s := range speakers(true) {
		_, variant, ok := strings.Cut(s.name, "+")
		if ok && voices[s.engine+variant] || voices[s.name] {
			t.Errorf("%+v is on both sides", s)
		}
	}
	trained := map[string]bool{}
	g := seen()
	for _, lang := range g.languages("short") {
		for _, kind := range []string{"short", "firm", "long", "brief", "box", "carrier"} {
			for _, text := range g[lang][kind] {
				trained[text] = true
			}
		}
	}
	for _, of := range apart() {
		for kind, alternatives := range of {
			for _, text := range alternatives {
				if trained[text] && kind != "again" {
					t.Errorf("%q is on both sides", text)
				}
			}
		}
	}
}

func TestWhatIsSaidIsBroughtToTheTelephonesRate(t *testing.T) {
	tone := func(hz float64) []float64 {
		x := make([]float64, 22050)
		for i := range x {
			x[i] = math.Sin(2 * math.Pi * hz * float64(i) / 22050)
		}
		return resample(x, 22050)
	}
	loud := func(x []float64) float64 {
		sum := 0.0
		for _, v := range x[1000:7000] {
			sum += v * v
		}
		return math.Sqrt(sum / 6000)
	}
	if x := tone(1000); len(x) != 8000 || math.Abs(loud(x)-math.Sqrt(0.5)) > 0.02 {
		t.Errorf("1 kHz: %d samples, %.3f", len(x), loud(x))
	}
	if l := loud(tone(5000)); l > 0.02 {
		t.Errorf("5 kHz folds: %.3f", l)
	}
	x := append(make([]float64, 4000), tone(500)...)
	if got := trim(append(x, make([]float64, 4000)...)); len(got) < 7900 || len(got) > 8200 {
		t.Errorf("%d samples after trimming", len(got))
	}
}

func TestCzechIsWrittenAsItsVoicesReadIt(t *testing.T) {
	if got := string(speaker{charset: "latin2"}.encode("říká")); got != "\xf8\xedk\xe1" {
		t.Errorf("%q", got)
	}
}

func TestWrittenRecordingsHaveTheirSounds(t *testing.T) {
	for _, name := range []string{"espeak-ng", "flite", "text2wave"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not installed")
		}
	}
	dir := t.TempDir()
	done, err := Write(t.Context(), Config{Dir: dir, Seed: 4, Count: 20, Unseen: true})
	if err != nil || done.Recordings == 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	f, err := corpus.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "labels.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil || len(rows) != len(f.Recordings)+1 || rows[0][len(rows[0])-1] != "sounds" {
		t.Fatalf("%v, %v", rows, err)
	}
	known := 0
	for _, row := range rows[1:] {
		if row[len(row)-1] != "" {
			known++
		}
	}
	if known < len(rows)/2 {
		t.Errorf("%d of %d have sounds", known, len(rows)-1)
	}
}

func TestSynthesisersAreTakenByName(t *testing.T) {
	all, err := speakersOf(nil, false)
	if err != nil || len(all) != len(speakers(false)) {
		t.Fatalf("%d speakers, %v", len(all), err)
	}
	if slices.ContainsFunc(all, func(s speaker) bool { return s.engine == pico }) {
		t.Error("pico was not asked for")
	}
	said := seen()
	for _, names := range [][]string{{pico}, {flite, festival}, {espeak}} {
		some, err := speakersOf(names, false)
		if err != nil || len(some) == 0 {
			t.Fatalf("%v: %d speakers, %v", names, len(some), err)
		}
		for _, s := range some {
			if !slices.Contains(names, s.engine) {
				t.Fatalf("%v: %+v", names, s)
			}
			for _, kind := range []string{"short", "brief", "box"} {
				if len(said[s.lang][kind]) == 0 {
					t.Fatalf("%+v has no %s to say", s, kind)
				}
			}
		}
	}
	for _, bad := range []struct {
		names []string
		apart bool
		want  string
	}{{[]string{"sam"}, false, "name espeak, flite, fest or pico"}, {[]string{pico}, true, "none of their voices"}} {
		if _, err := speakersOf(bad.names, bad.apart); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%v: %v", bad.names, err)
		}
	}
	want := `<pitch level="100"><speed level="110">A &lt; B &amp; C</speed></pitch>`
	if got := picoText("A < B & C", 1.1, 50); got != want {
		t.Error(got)
	}
}

func TestASynthesiserThatIsMissingIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Write(t.Context(), Config{Dir: t.TempDir(), Seed: 1, Count: 3, Engines: []string{pico}})
	if err == nil || !strings.Contains(err.Error(), "pico") || !strings.Contains(err.Error(), "libttspico-utils") {
		t.Fatal(err)
	}
}

func TestKindsAreDrawnByThemselves(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	seen := map[string]int{}
	for range 4000 {
		kind, label := draw(r, []string{"firm", "box", "screen"})
		seen[kind+" "+label]++
	}
	// 12, 20 and 4 parts of 36.
	if len(seen) != 3 || seen["firm human"] < 1200 || seen["box machine"] < 2000 || seen["screen screener"] < 350 {
		t.Errorf("%v", seen)
	}
	if _, err := Write(t.Context(), Config{Dir: t.TempDir(), Kinds: []string{"shout"}}); err == nil ||
		!strings.HasPrefix(err.Error(), "greetings_kind: ") {
		t.Errorf("a kind that is none: %v", err)
	}
}
