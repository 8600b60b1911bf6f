package greetings

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// speaker is one voice of a synthesiser.
type speaker struct {
	engine, lang, name string
	charset            string // for festival's voices that do not take UTF-8
}

// dialects are espeak-ng's dialects of each language.
var dialects = map[string][]string{
	"en": {"en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp", "en-us-nyc", "en-029", "en-us", "en-gb",
		"en-us"}, "de": {"de", "de", "de"}, "es": {"es", "es-419", "es"},
	"fr": {"fr-fr", "fr-be", "fr-fr"}, "it": {"it"}, "pt": {"pt", "pt-br"}, "nl": {"nl"}, "pl": {"pl"}, "cs": {"cs"},
	"sv": {"sv"}, "fi": {"fi"}, "ru": {"ru"},
	"tr": {"tr"}, "hi": {"hi"}, "da": {"da"}, "ro": {"ro"}, "hu": {"hu"}, "ca": {"ca"},
	"nb": {"nb"}, "sk": {"sk"}, "el": {"el"}, "hr": {"hr"},
}

var (
	// variants are the espeak-ng voices used for training; others are not.
	variants = []string{"m1", "m2", "m3", "m4", "m5", "m6", "m7", "f1", "f2", "f3", "f5", "Alex", "Annie", "belinda",
		"Diogo", "Gene", "Henrique", "Jacky", "john", "linda", "Lee", "marcelo", "Marco", "Michael", "miguel", "michel",
		"pablo", "rob", "aunty", "zac", "Denis", "klatt", "klatt2", "klatt4",
		"adam", "antonio", "caleb", "david", "edward", "grandpa", "gustave", "iven", "kaukovalta", "max", "paul", "pedro",
		"quincy", "robert", "sandro", "shelby", "victor", "croak", "Mario", "Alicia", "Andy", "norbert",
		"AnxiousAndy", "Nguyen", "Storm", "Tweaky", "announcer", "edward2", "RicishayMax", "RicishayMax2", "RicishayMax3",
		"Gene2"}
	others = []string{"m8", "f4", "Hugo", "Andrea", "steph", "ed", "klatt3", "benjamin", "travis", "anika", "boris",
		"grandma", "iven3", "Mike"}
)

// picoVoices are the voices of SVOX Pico, one of each.
var picoVoices = map[string][]string{"en": {"en-US", "en-GB"}, "de": {"de-DE"}, "es": {"es-ES"}, "fr": {"fr-FR"},
	"it": {"it-IT"}}

// engines are the synthesisers; a recording is made with pico only when it is named, because Debian
// has it in its section non-free.
const (
	espeak   = "espeak"
	flite    = "flite"
	festival = "fest"
	pico     = "pico"
)

// speakersOf returns the voices of these synthesisers only, or if there are none, of all those that
// need not be named.
func speakersOf(engines []string, apart bool) ([]speaker, error) {
	for _, e := range engines {
		if !slices.Contains([]string{espeak, flite, festival, pico}, e) {
			return nil, fmt.Errorf("greetings_engine: %s is none: name espeak, flite, fest or pico", e)
		}
	}
	all := speakers(apart)
	if len(engines) == 0 {
		return all, nil
	}
	all = slices.DeleteFunc(all, func(s speaker) bool { return !slices.Contains(engines, s.engine) })
	if slices.Contains(engines, pico) && !apart {
		for _, lang := range slices.Sorted(maps.Keys(picoVoices)) {
			for _, name := range picoVoices[lang] {
				for range max(1, len(variants)/2) {
					all = append(all, speaker{engine: pico, lang: lang, name: name})
				}
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("greetings_engine: %s: none of their voices is left out of training",
			strings.Join(engines, ", "))
	}
	return all, nil
}

// speakers returns the voices, each as often as it is drawn; apart selects those that are not used
// for training.
func speakers(apart bool) []speaker {
	var all []speaker
	add := func(times int, s speaker) {
		for range times {
			all = append(all, s)
		}
	}
	of := variants
	if apart {
		of = others
	}
	for _, lang := range slices.Sorted(maps.Keys(dialects)) {
		for _, dialect := range dialects[lang] {
			for _, v := range of {
				add(1, speaker{engine: espeak, lang: lang, name: dialect + "+" + v})
			}
		}
	}
	// There are few others, and they sound better: each counts as much as a tenth of the voices of
	// a dialect.
	share := func(tenths int) int { return max(1, tenths*len(of)/10) }
	fest := func(tenths int, lang, name, charset string) {
		add(share(tenths), speaker{engine: festival, lang: lang, name: name, charset: charset})
	}
	if apart {
		add(share(20), speaker{engine: flite, lang: "en", name: "awb"})
		fest(8, "en", "ked_diphone", "")
		fest(10, "it", "pc_diphone", "latin1")
		return all
	}
	for _, v := range []string{"kal", "kal16", "rms", "slt"} {
		add(share(20), speaker{engine: flite, lang: "en", name: v})
	}
	fest(5, "en", "kal_diphone", "")
	fest(8, "en", "cmu_us_slt_arctic_hts", "")
	fest(6, "it", "lp_diphone", "latin1")
	fest(3, "cs", "czech_dita", "latin2")
	fest(3, "cs", "czech_machac", "latin2")
	fest(3, "fi", "suo_fi_lj_diphone", "latin1")
	fest(3, "fi", "hy_fi_mv_diphone", "latin1")
	fest(3, "ru", "msu_ru_nsh_clunits", "")
	fest(3, "ca", "upc_ca_ona_hts", "latin1")
	return all
}

// latin2 contains the letters that Czech needs beyond Latin-1.
var latin2 = map[rune]byte{'č': 0xE8, 'ď': 0xEF, 'ě': 0xEC, 'ň': 0xF2, 'ř': 0xF8, 'š': 0xB9, 'ť': 0xBB,
	'ů': 0xF9, 'ž': 0xBE, 'Č': 0xC8, 'Ř': 0xD8, 'Š': 0xA9, 'Ž': 0xAE}

func (s speaker) encode(text string) []byte {
	if s.charset == "" {
		return []byte(text)
	}
	var b []byte
	for _, r := range text {
		switch c, ok := latin2[r]; {
		case s.charset == "latin2" && ok:
			b = append(b, c)
		case r < 256:
			b = append(b, byte(r)) //nolint:gosec // Latin-1
		}
	}
	return b
}

// say speaks the words at 8 kHz, without the silence around them. speed is 1 for the voice's own,
// pitch 0…99 (espeak-ng only).
func (s speaker) say(ctx context.Context, dir, text string, speed float64, pitch int) ([]float64, error) {
	in, out := filepath.Join(dir, "words.txt"), filepath.Join(dir, "words.wav")
	if err := os.WriteFile(in, s.encode(text), 0o600); err != nil {
		return nil, err
	}
	var cmd *exec.Cmd
	switch s.engine {
	case espeak:
		cmd = exec.CommandContext(ctx, "espeak-ng", "-v", s.name, "-s", strconv.Itoa(int(170*speed)), "-p",
			strconv.Itoa(pitch), "-w", out, "-f", in) //nolint:gosec // names of our own
	case flite:
		cmd = exec.CommandContext(ctx, "flite", "-voice", s.name, "--setf", fmt.Sprintf("duration_stretch=%.2f", 1/speed),
			"-f", in, "-o", out) //nolint:gosec // names of our own
	case pico:
		cmd = exec.CommandContext(ctx, "pico2wave", "-l", s.name, "-w", out,
			picoText(text, speed, pitch)) //nolint:gosec // names of our own
	default:
		cmd = exec.CommandContext(ctx, "text2wave", "-eval",
			fmt.Sprintf("(begin (voice_%s) (Parameter.set 'Duration_Stretch %.2f))", s.name, 1/speed), in, "-o",
			out) //nolint:gosec // names of our own
	}
	if msg, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("greetings_say: %s: %w: %s: install espeak-ng, flite, festival, and for pico libttspico-utils",
			s.engine, err, bytes.TrimSpace(msg))
	}
	b, err := os.ReadFile(out) //nolint:gosec // in our own folder
	if err != nil {
		return nil, err
	}
	return decode(b)
}

// picoText adds markup to a text: speed 1 is 100 %, and so is a pitch of 50.
func picoText(text string, speed float64, pitch int) string {
	return fmt.Sprintf(`<pitch level="%d"><speed level="%d">%s</speed></pitch>`, 75+pitch/2, int(100*speed),
		strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(text))
}

// decode returns the 16-bit mono samples of b at 8 kHz, trimmed.
func decode(b []byte) ([]float64, error) {
	at := bytes.Index(b, []byte("data"))
	if len(b) < 44 || at < 0 || at+8 > len(b) {
		return nil, errors.New("greetings_audio: the synthesiser wrote no audio")
	}
	rate := float64(binary.LittleEndian.Uint32(b[24:]))
	data := b[at+8:]
	x := make([]float64, len(data)/2)
	for i := range x {
		x[i] = float64(int16(binary.LittleEndian.Uint16(data[2*i:]))) / 32768 //nolint:gosec // two's complement
	}
	x = trim(resample(x, rate))
	if len(x) < 800 {
		return nil, errors.New("greetings_audio: the synthesiser said nothing")
	}
	return x, nil
}

// resample converts x from rate to 8 kHz, limited to 3.5 kHz: with a windowed sinc, at phases
// positions between two samples.
func resample(x []float64, rate float64) []float64 {
	const reach, phases = 16, 128
	step := rate / 8000
	cut := math.Min(0.5, 0.437/step) * 2
	half := int(reach * step)
	taps := make([][]float64, phases)
	for p := range taps {
		taps[p] = make([]float64, 2*half+1)
		for k := range taps[p] {
			d := float64(k-half) - float64(p)/phases
			h := cut
			if d != 0 {
				h = math.Sin(math.Pi*cut*d) / (math.Pi * d)
			}
			taps[p][k] = h * (0.5 + 0.5*math.Cos(math.Pi*d/(reach*step+1)))
		}
	}
	padded := append(make([]float64, half), x...)
	padded = append(padded, make([]float64, half+2)...)
	out := make([]float64, int(float64(len(x))/step))
	for i := range out {
		at := int(float64(i)*step*phases + 0.5)
		var sum float64
		from := padded[at/phases:]
		for k, h := range taps[at%phases] {
			sum += from[k] * h
		}
		out[i] = sum
	}
	return out
}

// trim removes from both ends what is 40 dB below the loudest 10 ms.
func trim(x []float64) []float64 {
	const part = 80
	var levels []float64
	loudest := 0.0
	for i := 0; i+part <= len(x); i += part {
		e := 0.0
		for _, v := range x[i : i+part] {
			e += v * v
		}
		levels = append(levels, e)
		loudest = math.Max(loudest, e)
	}
	from, to := 0, len(levels)
	for from < to && levels[from] < loudest*1e-4 {
		from++
	}
	for to > from && levels[to-1] < loudest*1e-4 {
		to--
	}
	return x[from*part : to*part]
}

func (s speaker) label(speed float64, pitch int) string {
	name := s.engine + "-" + s.name
	switch s.engine {
	case espeak:
		return fmt.Sprintf("%s-%d-%d", name, int(170*speed), pitch)
	case pico:
		return fmt.Sprintf("%s-%.2f-%d", name, speed, pitch)
	}
	return strings.TrimSuffix(fmt.Sprintf("%s-%.2f", name, speed), "-")
}
