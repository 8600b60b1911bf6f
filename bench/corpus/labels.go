package corpus

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dialler/media/wav"
)

// Recording is one file of a corpus.
type Recording struct {
	File   string // path within the folder
	Label  string // empty without a labels.csv
	Real   bool   // real speech, rather than synthesised
	Voice  string // the speaker, the same in every file of a voice
	Source string // where the recording comes from
	Detail string
	// Sounds is what is said, one letter of Sounds per sound; empty when unknown.
	Sounds string

	Samples []int16
	// Weight is its weight in training: 1 by default.
	Weight float64
}

const maxRecordings = 100_000

// Sounds are the letters that stand for sounds: as in X-SAMPA, except y and 2 for front rounded
// vowels, x for anything like h or ch, r for every r, N for ng and J for the palatal nasal. Pauses
// are not written.
const Sounds = "ieaou@y2pbtdkgfvszSZTDxmnNJlrjw"

// mostSounds bounds the sounds of one recording.
const mostSounds = 4000

// Folder is a corpus in memory.
type Folder struct {
	Name       string
	SHA256     string // of labels.csv, empty without
	Recordings []Recording
}

// Load reads a folder: its labels.csv, or every WAV file below it when there
// is none. Errors: corpus_folder, corpus_labels, corpus_empty, those of wav.Read.
func Load(dir string) (*Folder, error) {
	f := &Folder{Name: filepath.Base(filepath.Clean(dir))}
	b, err := os.ReadFile(filepath.Join(dir, "labels.csv")) //nolint:gosec // the folder that was asked for
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = f.walk(dir)
	case err == nil:
		sum := sha256.Sum256(b)
		f.SHA256 = hex.EncodeToString(sum[:])
		err = f.labels(string(b))
	}
	if err != nil {
		return nil, fmt.Errorf("corpus_folder: %s: %w", dir, err)
	}
	if len(f.Recordings) == 0 {
		return nil, fmt.Errorf("corpus_empty: %s has no recordings: name a folder with WAV files", dir)
	}
	for i := range f.Recordings {
		r := &f.Recordings[i]
		if r.Samples, err = wav.Read(filepath.Join(dir, r.File)); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *Folder) walk(dir string) error {
	return fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.EqualFold(filepath.Ext(path), ".wav") {
			f.Recordings = append(f.Recordings, Recording{File: path})
		}
		if len(f.Recordings) > maxRecordings {
			return fmt.Errorf("more than %d files: split the folder", maxRecordings)
		}
		return err
	})
}

func (f *Folder) labels(text string) error {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return fmt.Errorf("corpus_labels: %w", err)
	}
	if len(rows) == 0 || !slices.Contains(rows[0], "file") || !slices.Contains(rows[0], "label") {
		return errors.New("corpus_labels: the first line of labels.csv must name the columns file and label")
	}
	if len(rows) > maxRecordings {
		return fmt.Errorf("corpus_labels: more than %d files: split the folder", maxRecordings)
	}
	for n, row := range rows[1:] {
		get := func(name string) string {
			if i := slices.Index(rows[0], name); i >= 0 {
				return row[i]
			}
			return ""
		}
		r := Recording{
			File: get("file"), Label: get("label"), Real: get("real") == "1", Voice: Voice(get("voice")), Source: Source(
				get("voice"), get("license_source")),
			Detail: get("detail"), Sounds: get("sounds"), Weight: 1,
		}
		if w, err := strconv.ParseFloat(get("weight"), 64); err == nil && w > 0 && w < 1000 {
			r.Weight = w
		}
		if !filepath.IsLocal(r.File) || r.Label == "" {
			return fmt.Errorf("corpus_labels: line %d: file must lie within the folder, and label must say who answered", n+2)
		}
		if at := strings.IndexFunc(r.Sounds, func(c rune) bool { return !strings.ContainsRune(Sounds, c) }); at >= 0 {
			return fmt.Errorf("corpus_labels: line %d: sounds has %.1q at %d: letters are %s", n+2, r.Sounds[at:], at, Sounds)
		}
		if len(r.Sounds) > mostSounds {
			return fmt.Errorf("corpus_labels: line %d: sounds has %d letters: up to %d are read", n+2, len(r.Sounds), mostSounds)
		}
		f.Recordings = append(f.Recordings, r)
	}
	return nil
}

// Voice is the speaker without speed, pitch and engine: one that must not be on both sides of a
// cross-validation.
func Voice(name string) string {
	engine, who, ok := strings.Cut(strings.ToLower(name), "-")
	if !ok || engine == "real" {
		return name
	}
	if engine == "espeak" { // espeak-LANG+variant-speed-pitch
		at := strings.Index(who, "+")
		if at < 0 {
			return name
		}
		variant, _, _ := strings.Cut(who[at+1:], "-")
		return "espeak+" + variant
	}
	for _, known := range []string{"slt", "kal", "rms", "awb", "ked"} { // the same people in flite and festival
		if strings.Contains(who, known) {
			return known
		}
	}
	return name
}

// Source is the family that a recording comes from: the synthesiser, or the
// collection of real ones.
func Source(voice, licence string) string {
	engine, rest, _ := strings.Cut(voice, "-")
	if engine != "real" {
		if engine == "" {
			return "tones"
		}
		return engine
	}
	family, _, _ := strings.Cut(rest, "-")
	if strings.Contains(licence, "asterisk") {
		_, speaker, _ := strings.Cut(rest, "_f_")
		return "asterisk-" + strings.ToLower(speaker)
	}
	return family
}
