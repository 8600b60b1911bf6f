package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryScenarioOfSIPIsNamedAndPlayed compares sip.md with the scenarios, and those with the
// tests that play them.
func TestEveryScenarioOfSIPIsNamedAndPlayed(t *testing.T) {
	page, err := os.ReadFile("sip.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../bench/scenario/sip/*.xml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scenarios: %v", len(files), err)
	}
	sources, err := filepath.Glob("../process/e2e_sip_*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, name := range sources {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(b)
	}
	var named []string
	for _, m := range regexp.MustCompile("`([a-z0-9-]+\\.xml)`").FindAllStringSubmatch(string(page), -1) {
		named = append(named, m[1])
	}
	for _, name := range named {
		if _, err := os.Stat(filepath.Join("../bench/scenario/sip", name)); err != nil {
			t.Errorf("sip.md names %s, which is not there", name)
		}
	}
	for _, f := range files {
		name := filepath.Base(f)
		if !slices.Contains(named, name) {
			t.Errorf("sip.md does not name %s", name)
		}
		word := regexp.MustCompile(`[^a-z0-9-]` + regexp.QuoteMeta(strings.TrimSuffix(name, ".xml")) + `[^a-z0-9-]`)
		if !word.MatchString(tests.String()) {
			t.Errorf("no test plays %s", name)
		}
	}
}

// TestEveryRowOfSIPNamesWhatProvesIt finds a scenario, a test file or a folder of tests in each row of
// sip.md's tables, and each of them on disk.
func TestEveryRowOfSIPNamesWhatProvesIt(t *testing.T) {
	page, err := os.ReadFile("sip.md")
	if err != nil {
		t.Fatal(err)
	}
	proof := regexp.MustCompile("`([a-z0-9-]+\\.xml|(?:sipstack|media|process)/[a-z0-9_/]+(?:\\.go)?)`")
	rows, heading := 0, true
	for line := range strings.Lines(string(page)) {
		switch {
		case !strings.HasPrefix(line, "|"):
			heading = true
			continue
		case heading:
			heading = false
			continue
		case strings.HasPrefix(line, "|---"):
			continue
		}
		rows++
		found := proof.FindAllStringSubmatch(line, -1)
		if len(found) == 0 {
			t.Errorf("nothing proves %q", strings.TrimSpace(line))
		}
		for _, m := range found {
			path := filepath.Join("..", m[1])
			if strings.HasSuffix(m[1], ".xml") {
				path = filepath.Join("../bench/scenario/sip", m[1])
			}
			if info, err := os.Stat(path); err != nil {
				t.Errorf("sip.md names %s, which is not there", m[1])
			} else if tests, _ := filepath.Glob(filepath.Join(path, "*_test.go")); info.IsDir() && len(tests) == 0 {
				t.Errorf("%s has no test", m[1])
			} else if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				t.Errorf("%s is no test", m[1])
			}
		}
	}
	if rows < 100 {
		t.Errorf("only %d rows are read", rows)
	}
}
