package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var pathInBackticks = regexp.MustCompile("`([a-z][\\w.-]*/[\\w./-]+)`")

// The pages that introduce the tree only name paths that exist.
func TestThePathsOfTheGuidesExist(t *testing.T) {
	for _, page := range []string{"where.md", "../CONTRIBUTING.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		found := pathInBackticks.FindAllStringSubmatch(string(text), -1)
		if len(found) < 5 {
			t.Errorf("%s: %d paths were found in it", page, len(found))
		}
		for _, m := range found {
			if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
				t.Errorf("%s names %s, which does not exist: name where that is now", page, m[1])
			}
		}
	}
}
