package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testsOf maps each test function of the repository to the text of its file.
func testsOf(t *testing.T) map[string]string {
	t.Helper()
	named := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	all := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"): // the store's suite is in files with other names
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range named.FindAllSubmatch(text, -1) {
			all[string(m[1])] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestEachFaultIsSeenAsItsTableSays(t *testing.T) {
	page, err := os.ReadFile("faults.md")
	if err != nil {
		t.Fatal(err)
	}
	console, err := os.ReadFile("../http/console/src/words/words.test.ts")
	if err != nil {
		t.Fatal(err)
	}
	why, err := os.ReadFile("../engine/campaign/why_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tests := testsOf(t)
	for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(page), -1) {
		if _, ok := tests[name[1]]; !ok {
			t.Errorf("there is no %s", name[1])
		}
	}
	_, table, ok := strings.Cut(string(page), "## What is seen of each")
	if !ok {
		t.Fatal("no table")
	}
	quoted, said := regexp.MustCompile("`([^`]+)`"), regexp.MustCompile(`\*([^*]+)\*`)
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 6 || !strings.Contains(cells[5], "`Test") {
			continue
		}
		rows++
		fault, text := strings.TrimSpace(cells[0]), ""
		for _, m := range quoted.FindAllStringSubmatch(cells[5], -1) {
			text += tests[m[1]]
		}
		if !regexp.MustCompile(`^ (200|201|503) $`).MatchString(cells[1]) || quoted.FindString(cells[4]) == "" {
			t.Errorf("%s: a status and a figure are needed: %q, %q", fault, cells[1], cells[4])
		}
		for _, m := range append(quoted.FindAllStringSubmatch(cells[2], -1), quoted.FindAllStringSubmatch(cells[4], -1)...) {
			if !strings.Contains(text, m[1]) {
				t.Errorf("%s: none of %s asserts %s", fault, cells[5], m[1])
			}
		}
		for _, m := range said.FindAllStringSubmatch(cells[3], -1) {
			if !strings.Contains(string(console)+string(why), m[1]) {
				t.Errorf("%s: no test asserts that the console says %q", fault, m[1])
			}
		}
	}
	if rows < 15 {
		t.Errorf("%d faults", rows)
	}
}
