package main_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unplain maps phrases that read as translated to plain English.
var unplain = map[string]string{
	"of late":           "recently",
	"to be had":         "available, found",
	"comes to rest":     "stops, becomes idle",
	"holds itself":      "keeps",
	"is told apart":     "is distinguished",
	"of its own accord": "by itself",
	"deed":              "action",
	"of before":         "earlier, old, previous",
	"at hand":           "current, in memory",
	"not to be had":     "unreachable, could not be fetched",
	"for ever":          "forever",
	"served its time":   "past its retention",
	"tenure":            "lease",
	"are to hold":       "the new ones",
	"is to go on":       "continues",
}

// proseIn says whether a file's prose is ours: code, documentation, the API's document and the
// console. Tests of the words, decisions and results as recorded, and generated files are left as
// they are.
func proseIn(path string) bool {
	if slices.Contains([]string{"words_test.go", "docs/spec_coverage.md"}, path) {
		return false
	}
	for _, kept := range []string{
		"docs/adr/", "bench/results/", "testdata/", "persistence/migrations/", "node_modules/", "/dist/", "deps/",
	} {
		if strings.Contains(path, kept) {
			return false
		}
	}
	return slices.Contains([]string{".go", ".md", ".yaml", ".ts", ".tsx", ".sql", ".sh"}, filepath.Ext(path))
}

// Prose that reads as translated is rejected.
func TestProseIsPlainEnglish(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "node_modules", "deps"}, d.Name()) {
			return filepath.SkipDir
		}
		path = filepath.ToSlash(path)
		if d.IsDir() || !proseIn(path) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for n, line := range strings.Split(strings.ToLower(string(text)), "\n") {
			for phrase, plain := range unplain {
				if i := strings.Index(line, phrase); i >= 0 && alone(line, i, len(phrase)) {
					t.Errorf("%s:%d: %q: say %s", path, n+1, phrase, plain)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// alone says whether the text at i is a whole word, not part of a longer one.
func alone(line string, i, n int) bool {
	letter := func(k int) bool { return k >= 0 && k < len(line) && line[k] >= 'a' && line[k] <= 'z' }
	return !letter(i-1) && !letter(i+n)
}
