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
