package greetings

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"dialler/media/wav"
)

// ipa maps a symbol of the International Phonetic Alphabet to letters of corpus.Sounds. Sounds that
// are alike on the telephone share a letter.
var ipa = func() map[rune]string {
	all := map[rune]string{}
	for letters, symbols := range map[string]string{
		"i": "iɪᵻɨ", "e": "eɛε", "a": "aæɑʌᴀ", "o": "oɔɒɤ", "u": "uʊ", "@": "əɐɜɘɯɞ", "@r": "ɚɝ",
		"y": "yʏʉɥ", "2": "øœɵɶ", "p": "pɸ", "b": "bβɓ", "t": "tʈ", "d": "dɖɗ", "tj": "c", "dj": "ɟ",
		"k": "kq", "g": "gɡɠɢɣ", "f": "f", "v": "vʋ", "s": "s", "z": "z", "S": "ʃɕʂ", "Z": "ʒʑʐ", "T": "θ",
		"D": "ð", "x": "xhçɦħχɧʜ", "m": "mɱ", "n": "nɳ", "N": "ŋɴ", "J": "ɲ", "l": "lɫɭɬɮʟʎ",
		"r": "rɹɾʁʀɻɽɺ", "j": "jʝ", "w": "wʍɰ", "ts": "ʦ", "tS": "ʧʨ", "dz": "ʣ", "dZ": "ʤʥ",
	} {
		for _, symbol := range symbols {
			all[symbol] = letters
		}
	}
	return all
}()

// mute are symbols that are not a sound of their own: stress, length, joints, the glottal stop,
// releases; combining marks are mute too.
const mute = "ˈˌː:ˑ?\"|‖.‿-_ʔʰʱʲʷʼˠˤ˞ⁿˡ˥˦˧˨˩↗↘'"

// parenthesis matches espeak-ng's mark for a word of another language.
var parenthesis = regexp.MustCompile(`\([^)]*\)`)

// letters converts a transcription to the letters of corpus.Sounds. A repeated letter is a long
// sound and counts once. Unknown symbols are counted.
func letters(transcription string, dropped map[rune]int) string {
	var b []byte
	for _, symbol := range parenthesis.ReplaceAllString(transcription, "") {
		of, known := ipa[symbol]
		switch {
		case known:
			for _, letter := range []byte(of) {
				if len(b) == 0 || b[len(b)-1] != letter {
					b = append(b, letter)
				}
			}
		case unicode.IsSpace(symbol), unicode.Is(unicode.Mn, symbol), unicode.Is(unicode.Cf,
			symbol), strings.ContainsRune(mute, symbol):
		default:
			dropped[symbol]++
		}
	}
	return string(b)
}

// spoken matches detail when the words are known: kind [language]: text.
var spoken = regexp.MustCompile(`^[a-z ]+ \[([A-Za-z][A-Za-z0-9-]*)\]: (.+)$`)

// words returns the espeak-ng voice for a recording's text, and the parts of the text between its
// pauses; none when the text is unknown.
func words(detail, voice string) (reader string, parts []string) {
	m := spoken.FindStringSubmatch(detail)
	if m == nil {
		return "", nil
	}
	reader = m[1]
	if of := dialects[reader]; len(of) > 0 {
		reader = of[0]
	}
	if dialect, ok := strings.CutPrefix(voice, "espeak-"); ok {
		reader, _, _ = strings.Cut(dialect, "+")
	}
	if strings.HasPrefix(voice, "pico-en-GB") {
		reader = "en-gb"
	}
	for part := range strings.SplitSeq(m[2], "|") {
		if part = strings.Join(strings.Fields(part), " "); strings.ContainsFunc(part,
			func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			parts = append(parts, part)
		}
	}
	return reader, parts
}

// transcripts are the spoken texts of recordings, in the letters of corpus.Sounds.
type transcripts struct {
	letters []string // empty: not known
	dropped map[rune]int
}

// transcribe returns the sounds of recordings with these details and voices.
func transcribe(ctx context.Context, details, voices []string) (transcripts, error) {
	all := transcripts{letters: make([]string, len(details)), dropped: map[rune]int{}}
	said := map[string]map[string]string{} // by reader, then part
	for i := range details {
		reader, parts := words(details[i], voices[i])
		for _, part := range parts {
			if said[reader] == nil {
				said[reader] = map[string]string{}
			}
			said[reader][part] = ""
		}
	}
	for _, reader := range slices.Sorted(maps.Keys(said)) {
		parts := slices.Sorted(maps.Keys(said[reader]))
		read, err := readOut(ctx, reader, parts)
		if err != nil {
			return all, err
		}
		for i, part := range parts {
			said[reader][part] = letters(read[i], all.dropped)
		}
	}
	for i := range details {
		reader, parts := words(details[i], voices[i])
		for _, part := range parts {
			all.letters[i] += said[reader][part]
		}
	}
	return all, nil
}

// readOut returns the transcription of each text. espeak-ng writes one line per clause, and an
// empty one for an empty line: where these do not split the output into as many parts as there are
// texts, it is run again for half of them.
func readOut(ctx context.Context, reader string, texts []string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "espeak-ng", "-q", "--ipa", "-v",
		reader) //nolint:gosec // a name of the form that spoken allows
	cmd.Stdin = strings.NewReader(strings.Join(texts, "\n\n") + "\n")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("greetings_sounds: espeak-ng -v %s: %w: %s: install espeak-ng", reader, err,
			bytes.TrimSpace(complaint.Bytes()))
	}
	if len(texts) == 1 {
		return []string{string(out)}, nil
	}
	var groups []string
	open := false
	for line := range strings.Lines(string(out)) {
		switch blank := strings.TrimSpace(line) == ""; {
		case blank:
			open = false
		case open:
			groups[len(groups)-1] += line
		default:
			groups, open = append(groups, line), true
		}
	}
	if len(groups) == len(texts) {
		return groups, nil
	}
	half := len(texts) / 2
	first, err := readOut(ctx, reader, texts[:half])
	if err != nil {
		return nil, err
	}
	second, err := readOut(ctx, reader, texts[half:])
	return append(first, second...), err
}

// Heard counts the results of Sounds.
type Heard struct {
	Recordings, Known int
	Cut               int // their text is known, but they end before it does
	Dropped           map[rune]int
}

// Sounds adds the column sounds to a folder's labels.csv, or renews it: what is said, as far as
// detail tells. Everything else stays unchanged.
func Sounds(ctx context.Context, dir string) (Heard, error) {
	path := filepath.Join(dir, "labels.csv")
	b, err := os.ReadFile(path) //nolint:gosec // the folder that was asked for
	if err != nil {
		return Heard{}, fmt.Errorf("greetings_sounds: %w", err)
	}
	done, b, err := addSounds(ctx, dir, b)
	if err != nil {
		return done, err
	}
	fresh, err := os.CreateTemp(dir, ".labels")
	if err != nil {
		return done, fmt.Errorf("greetings_write: %w", err)
	}
	_, err = fresh.Write(b)
	if before, e := os.Stat(path); e == nil {
		err = errors.Join(err, fresh.Chmod(before.Mode().Perm()))
	}
	if err = errors.Join(err, fresh.Close()); err == nil {
		err = os.Rename(fresh.Name(), path)
	}
	if err != nil {
		_ = os.Remove(fresh.Name()) // the first error counts
		return done, fmt.Errorf("greetings_write: %w", err)
	}
	return done, nil
}

// addSounds returns a labels.csv with the column.
func addSounds(ctx context.Context, dir string, b []byte) (Heard, []byte, error) {
	done := Heard{}
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		return done, nil, fmt.Errorf("greetings_sounds: labels.csv: %w", err)
	}
	if len(rows) == 0 {
		return done, nil, errors.New("greetings_sounds: labels.csv is empty")
	}
	column := func(name string) int { return slices.Index(rows[0], name) }
	file, detail, voice, at := column("file"), column("detail"), column("voice"), column("sounds")
	if file < 0 || detail < 0 || voice < 0 {
		return done, nil, errors.New("greetings_sounds: labels.csv must have the columns file, detail and voice")
	}
	var details, voices []string
	for _, row := range rows[1:] {
		details, voices = append(details, row[detail]), append(voices, row[voice])
		if _, parts := words(row[detail], row[voice]); len(parts) > 0 {
			whole, err := isWhole(filepath.Join(dir, filepath.FromSlash(row[file])))
			if err != nil {
				return done, nil, err
			}
			if !whole {
				done.Cut++
				details[len(details)-1] = ""
			}
		}
	}
	said, err := transcribe(ctx, details, voices)
	if err != nil {
		return done, nil, err
	}
	done.Recordings, done.Dropped = len(details), said.dropped
	lines, row := split(b, '\n'), 0
	for i, line := range lines {
		content := bytes.TrimRight(line, "\r")
		if len(content) == 0 {
			continue // this is not a row either
		}
		value := "sounds"
		if row > 0 {
			value = said.letters[row-1]
			if value != "" {
				done.Known++
			}
		}
		row++
		fields := split(content, ',')
		if at < 0 {
			fields = append(fields, []byte(value))
		} else {
			fields[at] = []byte(value)
		}
		lines[i] = append(bytes.Join(fields, []byte{','}), line[len(content):]...)
	}
	return done, bytes.Join(lines, []byte{'\n'}), nil
}

// split splits at separators outside quotes.
func split(b []byte, at byte) [][]byte {
	var all [][]byte
	from, quoted := 0, false
	for i, c := range b {
		switch c {
		case '"':
			quoted = !quoted
		case at:
			if !quoted {
				all, from = append(all, b[from:i]), i+1
			}
		}
	}
	return append(all, b[from:])
}

// isWhole says that a recording is quiet at its end, so that the speaker was not cut off. A
// recording with sound until its end may contain only part of a text.
func isWhole(path string) (bool, error) {
	const end, below = 4 * wav.Rate / 5, 0.01
	x, err := wav.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	loudest := func(x []int16) float64 {
		most := 0.0
		for _, v := range x {
			most = math.Max(most, math.Abs(float64(v)))
		}
		return most
	}
	return len(x) > end && loudest(x[len(x)-end:]) < below*loudest(x), nil
}
