package greetings

import (
	"math"
	"testing"
)

func TestEveryLanguageHasPeopleAndMachines(t *testing.T) {
	kinds := map[string]map[string]int{}
	for _, p := range lines() {
		if kinds[p.lang] == nil {
			kinds[p.lang] = map[string]int{}
		}
		kinds[p.lang][p.kind]++
		if p.text == "" {
			t.Errorf("%+v says nothing", p)
		}
	}
	for _, s := range speakers() {
		for _, kind := range []string{"short", "again", "firm", "long", "brief", "box", "carrier"} {
			if kinds[s.lang][kind] == 0 {
				t.Fatalf("%s has no %s", s.lang, kind)
			}
		}
	}
	known := map[string]bool{}
	total := 0.0
	for _, s := range shares {
		known[s.kind], total = true, total+s.parts
	}
	for lang, of := range kinds {
		for kind := range of {
			if !known[kind] {
				t.Errorf("%s: nobody draws %q", lang, kind)
			}
		}
	}
	if total != 100 {
		t.Errorf("the shares are %v of 100", total)
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
