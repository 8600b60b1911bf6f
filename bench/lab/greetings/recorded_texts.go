package greetings

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

//go:embed prompts.txt
var promptTexts string

// prompted contains the texts of Asterisk's prompts: by language, then name.
var prompted = func() map[string]map[string]string {
	all := map[string]map[string]string{}
	for line := range strings.Lines(promptTexts) {
		lang, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
		name, text, _ := strings.Cut(rest, " ")
		if !ok || lang == "#" {
			continue
		}
		if all[lang] == nil {
			all[lang] = map[string]string{}
		}
		all[lang][name] = text
	}
	return all
}()

// knowPrompts adds the texts of a collection's prompts, digits and letters.
func (c *collection) knowPrompts(asterisk, voice string) {
	lang := c.lang[:2]
	for _, paths := range [][]string{sortedValues(c.machines), c.digits, c.words} {
		for _, path := range paths {
			below, _ := filepath.Rel(asterisk, path) // it is below
			parts := slices.DeleteFunc(strings.Split(filepath.ToSlash(below), "/"),
				func(part string) bool { return part == voice })
			name := strings.TrimSuffix(strings.Join(parts, "/"), filepath.Ext(path))
			number, isDigit := strings.CutPrefix(name, "digits/")
			letter, isLetter := strings.CutPrefix(name, "letters/")
			switch {
			case isDigit && strings.Trim(number, "0123456789") == "":
				c.texts[path] = number
			// In the other languages some letters have two names.
			case isLetter && len(letter) == 1 && letter != "z" && (lang == "en" || lang == "fr"):
				c.texts[path] = strings.ToUpper(letter)
			default:
				c.texts[path] = prompted[lang][name]
			}
		}
	}
}

func sortedValues(m map[string]string) []string {
	var all []string
	for _, v := range m {
		all = append(all, v)
	}
	slices.Sort(all)
	return all
}

// read are the languages of Tux Paint's descriptions that espeak-ng reads; ownScript are those of
// them with their own script.
var (
	read      = []string{"be", "bg", "ca", "da", "el", "en", "es", "fr", "lt", "ml", "nl", "ro", "ru"}
	ownScript = []string{"be", "bg", "el", "ml", "ru"}
)

// stampText is the description of a Tux Paint stamp that a file reads; empty when it is unknown.
// Figures and words in brackets are not always read.
func stampText(path, lang string) string {
	if !slices.Contains(read, lang) {
		return ""
	}
	before, _, _ := strings.Cut(filepath.Base(path), "_desc")
	b, err := os.ReadFile(filepath.Join(filepath.Dir(path), before+".txt")) //nolint:gosec // beside the file that is read
	if err != nil {
		return "" // it has none
	}
	first, rest, _ := strings.Cut(string(b), "\n")
	text := strings.TrimSpace(first)
	if lang != "en" {
		_, after, _ := strings.Cut("\n"+rest, "\n"+lang+".utf8=")
		text, _, _ = strings.Cut(after, "\n")
		text = strings.TrimSpace(text)
	}
	if strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !strings.ContainsRune(" .,;:!?¡¿'’-", r)
	}) {
		return ""
	}
	// A foreign letter is not read like a word.
	if slices.Contains(ownScript, lang) &&
		strings.ContainsFunc(text, func(r rune) bool { return r < unicode.MaxASCII && unicode.IsLetter(r) }) {
		return ""
	}
	return text
}

// shortLine is the maximum number of letters in a short answer.
const shortLine = 22

// dialogLine matches a line of a level's subtitles: name, speaker's font, the line in English and
// as it is spoken.
var dialogLine = regexp.MustCompile(`dialogId\("([^"]*)", "font_([a-z]+)[0-9]*", "(?:[^"\\]|\\.)*"\)\s*` +
	`dialogStr\("((?:[^"\\]|\\.)*)"\)`)

// dialogues finds the speakers of Fish Fillets: two in each language, and some
// others in Czech.
func dialogues(root string) ([]*collection, error) {
	base := filepath.Join(root, "usr/share/games/fillets-ng")
	voices := map[string]*collection{}
	for _, lang := range []string{"cs", "nl"} {
		levels, err := filepath.Glob(filepath.Join(base, "script/*/dialogs_"+lang+".lua"))
		if err != nil {
			return nil, err // the root is not a pattern
		}
		for _, level := range levels {
			b, err := os.ReadFile(level) //nolint:gosec // of the packages that were named
			if err != nil {
				return nil, err
			}
			for _, m := range dialogLine.FindAllStringSubmatch(string(b), -1) {
				speaker, text := m[2], strings.ReplaceAll(m[3], `\"`, `"`)
				if !slices.Contains([]string{"small", "big", "linuxer", "viking"}, speaker) || !isSpeech(text) {
					continue
				}
				path := filepath.Join(base, "sound", filepath.Base(filepath.Dir(level)), lang, m[1]+".ogg")
				if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) { //nolint:gosec // of the packages that were named
					continue
				}
				name := fmt.Sprintf("real-fillets-%s-%s", lang, speaker)
				c := voices[name]
				if c == nil {
					c = &collection{family: "fillets", voice: name, lang: lang,
						licence: "Debian fillets-ng-data-" + lang + " (ALTAR interactive, GPL-2)", texts: map[string]string{}, share: 1}
					if speaker == "small" || speaker == "big" {
						c.share = 5 // they say hundreds of lines
					}
					voices[name] = c
				}
				if c.texts[path] == "" {
					c.texts[path] = text
					c.lines = append(c.lines, path)
				}
			}
			for _, c := range voices {
				if n := len(c.lines); n > 0 && c.lines[n-1] != "" && c.lang == lang {
					c.lines = append(c.lines, "")
				}
			}
		}
	}
	var all []*collection
	for _, c := range voices {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *collection) int { return strings.Compare(a.voice, b.voice) })
	return all, nil
}

// isSpeech says that a subtitle is plain text: it has no placeholder, and no drawn-out sound.
func isSpeech(text string) bool {
	var before, last rune
	for _, r := range strings.ToLower(text) {
		if unicode.IsLetter(r) && r == last && r == before {
			return false
		}
		before, last = last, r
	}
	return !strings.ContainsAny(text, "%|\\") && strings.ContainsFunc(text, unicode.IsLetter)
}

// noises are names of files without words.
var noises = regexp.MustCompile(`^(Ooff|Ow|Ouch|Jump|Firepunch|Laugh|Poison|Nooo|Hmm|Kamikaze|Flyaway)`)

// hedgehogs finds the speaking voices of Hedgewars: their short phrases, without screams and
// laughter.
func hedgehogs(root string) []*collection {
	var all []*collection
	dir := filepath.Join(root, "usr/share/games/hedgewars/Data/Sounds/voices")
	of, err := os.ReadDir(dir)
	if err != nil {
		return nil // it is not installed
	}
	for _, entry := range of {
		if slices.Contains([]string{"Robot", "Singer"}, entry.Name()) {
			continue
		}
		c := &collection{family: "hedgewars", voice: "real-hedgewars-" + entry.Name(),
			licence: "Debian hedgewars-data (Andrey Korotaev and others, GFDL-1.3)", texts: map[string]string{}}
		phrases, err := os.ReadDir(filepath.Join(dir, entry.Name()))
		if err != nil {
			continue // not a folder
		}
		for _, phrase := range phrases {
			if !noises.MatchString(phrase.Name()) && strings.HasSuffix(phrase.Name(), ".ogg") {
				c.words = append(c.words, filepath.Join(dir, entry.Name(), phrase.Name()))
			}
		}
		if len(c.words) > 0 {
			all = append(all, c)
		}
	}
	return all
}

// isSaid says that a text can be what a file of that many seconds says: neither much longer, nor
// much shorter.
func isSaid(text string, seconds float64) bool {
	n := float64(len([]rune(text)))
	if text != "" && strings.Trim(text, "0123456789") == "" {
		return true
	}
	return text != "" && n < 4+23*seconds && n > 4*(seconds-1.2)
}
