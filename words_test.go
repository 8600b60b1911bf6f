package main_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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

// eachOfOurs calls f with each file whose prose is ours.
func eachOfOurs(t *testing.T, f func(path, text string)) {
	t.Helper()
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
		f(path, string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Prose that reads as translated is rejected.
func TestProseIsPlainEnglish(t *testing.T) {
	eachOfOurs(t, func(path, text string) {
		for n, line := range strings.Split(strings.ToLower(text), "\n") {
			for phrase, plain := range unplain {
				if i := strings.Index(line, phrase); i >= 0 && alone(line, i, len(phrase)) {
					t.Errorf("%s:%d: %q: say %s", path, n+1, phrase, plain)
				}
			}
		}
	})
}

// durationKey matches the key of a duration in a log line.
var durationKey = regexp.MustCompile(`\.Dur\("(\w+)"|^\s*Dur\("(\w+)"`)

// Durations are logged in milliseconds, which their keys must say.
func TestTheKeyOfADurationInTheLogSaysItsUnit(t *testing.T) {
	found := 0
	eachOfOurs(t, func(path, text string) {
		for n, line := range strings.Split(text, "\n") {
			for _, m := range durationKey.FindAllStringSubmatch(line, -1) {
				if found++; !strings.HasSuffix(m[1]+m[2], "_ms") {
					t.Errorf("%s:%d: %q: end it with _ms", path, n+1, m[1]+m[2])
				}
			}
		}
	})
	if found < 5 {
		t.Errorf("only %d durations were found", found)
	}
}

// alone says whether the text at i is a whole word, not part of a longer one.
func alone(line string, i, n int) bool {
	letter := func(k int) bool { return k >= 0 && k < len(line) && line[k] >= 'a' && line[k] <= 'z' }
	return !letter(i-1) && !letter(i+n)
}
