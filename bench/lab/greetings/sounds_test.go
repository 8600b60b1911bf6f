package greetings

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dialler/bench/corpus"
	"dialler/media/wav"
)

func TestEverySoundHasALetterAndEveryLetterASound(t *testing.T) {
	reached := map[rune]bool{}
	for symbol, of := range ipa {
		for _, letter := range of {
			reached[letter] = true
			if !strings.ContainsRune(corpus.Sounds, letter) {
				t.Errorf("%c is %q, which is no letter of %s", symbol, of, corpus.Sounds)
			}
		}
		if strings.ContainsRune(mute, symbol) {
			t.Errorf("%c is both a sound and none", symbol)
		}
	}
	for _, letter := range corpus.Sounds {
		if !reached[letter] {
			t.Errorf("nothing is %c", letter)
		}
	}
}

func TestTranscriptionsBecomeLetters(t *testing.T) {
	for transcription, want := range map[string]string{
		"həlˈəʊ": "x@l@u", "ðɪs ɪz dʒˈɒn": "DisizdZon", "θˈæŋk juː": "TaNkju",
		"ɡˈuːtən tˈɑːk": "gut@ntak", "ʃˈøːn fyːɾ": "S2nfyr",
		"mˈɛsɪdʒ (en)plˈiːz(de)\n ˈaʊə": "mesidZplizau@", "bɔ̃ʒˈuʁ": "boZur",
		"piŋɡwˈino aˈɲo": "piNgwinoaJo", "kˈattʃa ne": "katSane",
		"tɕ t͡s ʔ ɚ": "tSts@r", "": "",
	} {
		dropped := map[rune]int{}
		if got := letters(transcription, dropped); got != want || len(dropped) > 0 {
			t.Errorf("%q is %q, want %q; dropped %v", transcription, got, want, dropped)
		}
	}
	dropped := map[rune]int{}
	if got := letters("aǃb☃ǃ", dropped); got != "ab" || dropped['ǃ'] != 2 || dropped['☃'] != 1 {
		t.Errorf("%q, dropped %v", got, dropped)
	}
}

func TestWordsAreWhatDetailSays(t *testing.T) {
	for _, f := range []struct{ detail, voice, reader, parts string }{
		{"box [en]: You've reached John: hello. | Leave a message.", "flite-slt-1.00", "en-us",
			"You've reached John: hello.;Leave a message."},
		{"again [de]: Hallo? || Hallo?", "espeak-de+Andy-196-27", "de", "Hallo?;Hallo?"},
		{"short [en]: Hello?", "espeak-en-gb-scotland+f2-150-20", "en-gb-scotland", "Hello?"},
		{"short [en]: Hello?", "pico-en-GB-1.10-40", "en-gb", "Hello?"},
		{"short [en]: Hello?", "pico-en-US-1.10-40", "en-us", "Hello?"},
		{"words [es-419]: hola | ...", "real-es_MX_f_Allison", "es-419", "hola"},
		{"model carrier", "model-0", "", ""},
		{"prompt: vm-goodbye", "real-fr_f_prompt", "", ""},
		{"talk [--help]: x", "", "--help", "x"},
	} {
		reader, parts := words(f.detail, f.voice)
		if f.reader == "--help" {
			if reader != "" {
				t.Errorf("%q is read by %q", f.detail, reader)
			}
			continue
		}
		if got := strings.Join(parts, ";"); reader != f.reader || got != f.parts {
			t.Errorf("%q is %q by %q", f.detail, got, reader)
		}
	}
}

// folder returns a folder with a labels.csv and recordings that are quiet at their end, or not.
func folder(t *testing.T, labels string, quiet, loud []string) string {
	t.Helper()
	dir := t.TempDir()
	for _, names := range [][]string{quiet, loud} {
		for _, name := range names {
			x := make([]int16, 2*wav.Rate)
			for i := range x {
				x[i] = int16(8000 * math.Sin(float64(i)))
			}
			if len(loud) == 0 || name != loud[0] {
				clear(x[wav.Rate:])
			}
			if err := os.WriteFile(filepath.Join(dir, name), wav.Encode(x), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "labels.csv"), []byte(labels), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTheColumnIsAddedAndRenewedAndAllElseStays(t *testing.T) {
	if _, err := exec.LookPath("espeak-ng"); err != nil {
		t.Skip("espeak-ng is not installed")
	}
	dir := folder(t, "file,label,detail,voice\r\na.wav,human,\"short [de]: Ja, "+
		"\"\"hallo\"\"?\",v\r\n\nb.wav,\"human\",model carrier,v\nc.wav,machine,box [en]: Leave a "+
		"message.,v\nd.wav,human,again [it]: Pronto? || Pronto?,v",
		[]string{"a.wav", "b.wav", "d.wav"}, []string{"c.wav"})
	want := "file,label,detail,voice,sounds\r\na.wav,human,\"short [de]: Ja, " +
		"\"\"hallo\"\"?\",v,jaxalo\r\n\nb.wav,\"human\",model carrier,v,\nc.wav,machine,box [en]: Leave a " +
		"message.,v,\nd.wav,human,again [it]: Pronto? || Pronto?,v,prontopronto"
	for range 2 { // the second time it is renewed
		done, err := Sounds(t.Context(), dir)
		if err != nil || done.Recordings != 4 || done.Known != 2 || done.Cut != 1 || len(done.Dropped) != 0 {
			t.Fatalf("%+v, %v", done, err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "labels.csv"))
		if err != nil || string(got) != want {
			t.Fatalf("%v:\n%q\n%q", err, got, want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".labels*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	middle := folder(t, "file,sounds,detail,voice\na.wav,\"old, quoted\",short [en]: Hello?,v\n", []string{"a.wav"}, nil)
	if _, err := Sounds(t.Context(), middle); err != nil {
		t.Fatal(err)
	}
	renewed := "file,sounds,detail,voice\na.wav,x@lou,short [en]: Hello?,v\n"
	if got, _ := os.ReadFile(filepath.Join(middle, "labels.csv")); string(got) != renewed {
		t.Errorf("%q", got)
	}
}

func TestTextsStayWithTheirSounds(t *testing.T) {
	if _, err := exec.LookPath("espeak-ng"); err != nil {
		t.Skip("espeak-ng is not installed")
	}
	texts := []string{"Hello? Yes. Who is it?", "e.g. one, two; three ... four", "Hm", "3.5 or 1,000!", "...x..."}
	together, err := readOut(t.Context(), "en-us", texts)
	if err != nil || len(together) != len(texts) {
		t.Fatalf("%q, %v", together, err)
	}
	for i, text := range texts {
		alone, err := readOut(t.Context(), "en-us", []string{text})
		if err != nil || letters(alone[0], map[rune]int{}) != letters(together[i], map[rune]int{}) {
			t.Errorf("%q is %q alone, %q among others, %v", text, alone, together[i], err)
		}
	}
}

func TestEveryLanguagesTalkHasSounds(t *testing.T) {
	if _, err := exec.LookPath("espeak-ng"); err != nil {
		t.Skip("espeak-ng is not installed")
	}
	var details, voices []string
	for _, lang := range seen().languages("talk") {
		details, voices = append(details, "talk ["+lang+"]: "+strings.ReplaceAll(seen()[lang]["talk"][0], "{",
			"")), append(voices, "")
	}
	said, err := transcribe(t.Context(), details, voices)
	if err != nil || len(said.dropped) > 0 {
		t.Fatalf("dropped %v, %v", said.dropped, err)
	}
	for i, of := range said.letters {
		if n, m := len(of), len([]rune(details[i])); n < m/4 || n > 2*m {
			t.Errorf("%q is %q", details[i], of)
		}
	}
}
