package greetings

import (
	"bytes"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dialler/media/wav"
)

// unpacked returns a root with a few files of each package.
func unpacked(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	tone := make([]int16, wav.Rate)
	for i := range tone {
		tone[i] = int16(8000 * math.Sin(float64(i)))
	}
	for name, content := range files {
		path := filepath.Join(root, "usr/share", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".wav") {
			content = string(wav.Encode(tone))
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestRecordedFilesAreKnownByTheirTexts(t *testing.T) {
	const stamps, fish, hogs = "tuxpaint/stamps/animals/", "games/fillets-ng/", "games/hedgewars/Data/Sounds/voices/"
	root := unpacked(t, map[string]string{
		"asterisk/sounds/en_US_f_Allison/vm-goodbye.wav": "", "asterisk/sounds/en_US_f_Allison/digits/4.wav": "",
		"asterisk/sounds/en_US_f_Allison/digits/day-0.wav": "", "asterisk/sounds/en_US_f_Allison/letters/b.wav": "",
		"asterisk/sounds/en_US_f_Allison/demo-instruct.wav": "", "asterisk/sounds/digits/fr/day-6.gsm": "",
		"asterisk/sounds/fr/vm-goodbye.gsm": "", stamps + "cat.txt": "A cat.\nfr.utf8=Un chat.\nru.utf8=Кошка (1).\n",
		stamps + "cat_desc.ogg": "", stamps + "cat_desc_fr.ogg": "", stamps + "cat_desc_ru.ogg": "",
		stamps + "cat_desc_el.ogg": "", stamps + "cat.ogg": "",
		stamps + "h.txt": "An H.\nel.utf8=Το γράμμα h.\n", stamps + "h_desc_el.ogg": "",
		fish + "script/cave/dialogs_cs.lua": "\ndialogId(\"a-m\", \"font_small\", \"What?\")\ndialogStr(\"Co \\\"to\\\" " +
			"je?\")\n\n\ndialogId(\"b-v\", \"font_big\", \"It\")\ndialogStr(\"To je loď.\")\n" +
			"dialogId(\"c-m\", \"font_small\", \"No\")\ndialogStr(\"Ne.\")\ndialogId(\"d-m\", \"font_small\", " +
			"\"Aah\")\ndialogStr(\"Ááách!\")\ndialogId(\"e-p\", \"font_parrot\", \"R\")\ndialogStr(\"Problém\")\n" +
			"dialogId(\"f-m\", \"font_small\", \"There are %1\")\ndialogStr(\"Je jich %1.\")\ndialogId(\"g-m\", " +
			"\"font_small\", \"Silent\")\ndialogStr(\"Ticho.\")\n",
		fish + "sound/cave/cs/a-m.ogg": "", fish + "sound/cave/cs/b-v.ogg": "", fish + "sound/cave/cs/c-m.ogg": "",
		fish + "sound/cave/cs/d-m.ogg": "", fish + "sound/cave/cs/e-p.ogg": "", fish + "sound/cave/cs/f-m.ogg": "",
		hogs + "Surfer/Hello.ogg": "", hogs + "Surfer/Ow1.ogg": "", hogs + "Robot/Hello.ogg": "",
	})
	all, err := collections(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range all {
		for path, text := range c.texts {
			if text != "" {
				got[c.voice+" "+filepath.Base(path)] = c.lang + ": " + text
			}
		}
	}
	want := map[string]string{
		"real-en_US_f_Allison vm-goodbye.wav": "en: Goodbye.", "real-en_US_f_Allison 4.wav": "en: 4",
		"real-en_US_f_Allison day-0.wav": "en: Sunday", "real-en_US_f_Allison b.wav": "en: B",
		"real-fr_f_prompt day-6.gsm": "fr: samedi", "real-tuxpaint-en cat_desc.ogg": "en: A cat.",
		"real-tuxpaint-fr cat_desc_fr.ogg": "fr: Un chat.", "real-fillets-cs-small a-m.ogg": "cs: Co \"to\" je?",
		"real-fillets-cs-small c-m.ogg": "cs: Ne.", "real-fillets-cs-big b-v.ogg": "cs: To je loď.",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	at := slices.IndexFunc(all, func(c *collection) bool { return c.voice == "real-hedgewars-Surfer" })
	if at < 0 || len(all[at].words) != 1 {
		t.Errorf("of the hedgehogs: %+v", all)
	}
	only, err := collections(root, []string{"fillets", "hedgewars"})
	if err != nil || len(only) != 3 {
		t.Errorf("%d voices of two families, %v", len(only), err)
	}
}

func TestLinesOfADialogueFollowEachOther(t *testing.T) {
	c := &collection{lines: []string{"a", "b", "c", "", "d", "e", ""}, texts: map[string]string{
		"a": "This line is a longer one than short.", "b": "So is this, by all means.", "c": "Yes.",
		"d": "And it goes on in the next scene.", "e": "With one line.",
	}}
	r := rand.New(rand.NewPCG(1, 1))
	seen := map[string]bool{}
	for range 500 {
		kind, _, paths := c.talker(r)
		if len(paths) > 0 {
			seen[kind+" "+strings.Join(paths, "+")] = true
		}
	}
	want := []string{"again c++c", "again e++e", "short c", "short e", "talk a", "talk a+b", "talk a+b+c", "talk b",
		"talk b+c", "talk c", "talk d", "talk d+e", "talk e"}
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestATextThatAFileCannotSayIsNotItsText(t *testing.T) {
	for _, f := range []struct {
		text    string
		seconds float64
		said    bool
	}{{"A horse.", 0.8, true}, {"The only piece that can jump over others. It moves two forwards.", 0.8, false}, {"Yes.",
		6, false}, {"4", 0.5, true}, {"", 1, false}} {
		if isSaid(f.text, f.seconds) != f.said {
			t.Errorf("%q in %v s", f.text, f.seconds)
		}
	}
}

func TestRecordingsOfRealSpeechHaveSounds(t *testing.T) {
	if _, err := exec.LookPath("espeak-ng"); err != nil {
		t.Skip("espeak-ng is not installed")
	}
	root := unpacked(t, map[string]string{"asterisk/sounds/en_US_f_Allison/vm-goodbye.wav": "",
		"asterisk/sounds/en_US_f_Allison/digits/4.wav": ""})
	dir := t.TempDir()
	done, err := WriteRecorded(t.Context(), Recorded{Dir: dir, Root: root, Seed: 1, Count: 12})
	if err != nil || done.Recordings < 7 {
		t.Fatalf("%+v, %v", done, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "labels.csv"))
	if err != nil || !strings.Contains(string(b), "prompt [en]: Goodbye.") || !strings.Contains(string(b), "gudbai") ||
		!strings.Contains(string(b), "digits [en]: 4") {
		t.Errorf("%s, %v", b, err)
	}
}

func TestTheSameSeedGivesTheSameRecordings(t *testing.T) {
	for _, name := range []string{"sox", "espeak-ng"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not installed")
		}
	}
	const stamp = "tuxpaint/stamps/animals/cat"
	root := unpacked(t, map[string]string{stamp + ".txt": "A cat.\n", stamp + ".wav": ""})
	path := filepath.Join(root, "usr/share", stamp)
	if out, err := exec.CommandContext(t.Context(), "sox", path+".wav", "-r", "44100", "-c", "2",
		path+"_desc.ogg").CombinedOutput(); err != nil {
		t.Skipf("sox writes no ogg: %s", out)
	}
	var files [2][]byte
	for i := range files {
		dir := t.TempDir()
		if done, err := WriteRecorded(t.Context(), Recorded{Dir: dir, Root: root, Seed: 1, Count: 1}); err != nil ||
			done.Recordings != 1 {
			t.Fatalf("%+v, %v", done, err)
		}
		var err error
		if files[i], err = os.ReadFile(filepath.Join(dir, "real_human_00000.wav")); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("they differ")
	}
}
