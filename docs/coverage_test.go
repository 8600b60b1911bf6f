package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const coveragePath = "spec_coverage.md"

// sentence is one rule of the service in our words, with the tests that prove
// it. What is open has no test, or not for all of it.
type sentence struct {
	id    string // stable: other pages and commits may name it
	text  string
	tests []string // folder.TestName, main.TestName for the root, folder.TestName/case
	open  string   // what is not proven, and why
}

type chapter struct {
	title     string
	sentences []sentence
}

// proven is a sentence that the tests prove.
func proven(id, text string, tests ...string) sentence {
	return sentence{id: id, text: text, tests: tests}
}

// open is a sentence that nothing proves, or only in part.
//
//nolint:unused // while all of them are proven
func open(id, text, why string, tests ...string) sentence {
	return sentence{id: id, text: text, open: why, tests: tests}
}

// TestEverySentenceOfTheRulebookNamesTheTestsThatProveIt checks the tests that
// are named, and that the page shows what is written here.
func TestEverySentenceOfTheRulebookNamesTheTestsThatProveIt(t *testing.T) {
	chapters := slices.Concat(specChapters(), ruleChapters())
	have := testsOfTheTree(t)
	seen := map[string]bool{}
	for _, c := range chapters {
		for _, s := range c.sentences {
			if seen[s.id] {
				t.Errorf("%s is there twice", s.id)
			}
			seen[s.id] = true
			if s.id == "" || s.text == "" || len(s.tests) == 0 && s.open == "" {
				t.Errorf("%s: without a text, or without a test and not marked open", s.id)
			}
			for _, name := range s.tests {
				if why := have.lacks(name); why != "" {
					t.Errorf("%s: %s %s", s.id, name, why)
				}
			}
		}
	}
	got := coveragePage(chapters)
	if *update {
		if err := os.WriteFile(coveragePath, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(coveragePath); err != nil || string(want) != got {
		t.Fatalf("docs/%s is out of step with what is written beside it (%v): run make docs", coveragePath, err)
	}
}

// testTree is what tests there are: folder → name → whether it may be skipped,
// and the names of cases as strings by folder.
type testTree struct {
	tests map[string]map[string]bool
	texts map[string]map[string]bool
}

// lacks says what is wrong with a named test, "" when nothing is.
func (h *testTree) lacks(name string) string {
	dot := strings.Index(name, ".Test")
	if fuzz := strings.Index(name, ".Fuzz"); dot < 0 {
		dot = fuzz
	}
	if text, ok := strings.CutPrefix(name, "http/console: "); ok {
		if !h.texts["http/console"][text] {
			return "is no test of the console"
		}
		return ""
	}
	if dot < 0 {
		return "is not of the form folder.TestName"
	}
	dir, rest := name[:dot], name[dot+1:]
	test, sub, isSub := strings.Cut(rest, "/")
	skipped, ok := h.tests[dir][test]
	switch {
	case !ok:
		return "does not exist"
	case skipped:
		return "can be skipped"
	case isSub && !h.texts[dir][sub] && !h.texts[dir+"/storetest"][sub]:
		return "has no such case"
	}
	return ""
}

func testsOfTheTree(t *testing.T) *testTree {
	t.Helper()
	h := &testTree{tests: map[string]map[string]bool{}, texts: map[string]map[string]bool{}}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel("..", path)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(rel))
		switch {
		case d.IsDir() && (d.Name() == "node_modules" || rel != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir():
			return nil
		case strings.HasSuffix(d.Name(), ".test.ts") && strings.HasPrefix(dir, "http/console/"):
			return h.addConsole(path)
		case strings.HasSuffix(d.Name(), "_test.go"), dir == "persistence/storetest" && strings.HasSuffix(d.Name(), ".go"):
			if dir == "." {
				dir = "main"
			}
			return h.addGo(path, dir)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func put[V any](m map[string]map[string]V, dir, name string, v V) {
	if m[dir] == nil {
		m[dir] = map[string]V{}
	}
	m[dir][name] = v
}

// addConsole reads the names of the console's tests: test('…', …).
func (h *testTree) addConsole(path string) error {
	text, err := os.ReadFile(path)
	for _, part := range strings.Split(string(text), "test('")[1:] {
		if name, _, ok := strings.Cut(part, "'"); ok {
			put(h.texts, "http/console", name, true)
		}
	}
	return err
}

func (h *testTree) addGo(path, dir string) error {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				put(h.texts, dir, strings.Trim(n.Value, "\"`"), true)
			}
		case *ast.FuncDecl:
			if name := n.Name.Name; n.Recv == nil && (strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz")) {
				put(h.tests, dir, name, n.Body != nil && skips(n.Body))
			}
		}
		return true
	})
	return nil
}

// skips says whether a test may skip itself.
func skips(body ast.Node) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			switch sel.Sel.Name {
			case "Skip", "Skipf", "SkipNow":
				found = true
			}
		}
		return true
	})
	return found
}

func coveragePage(chapters []chapter) string {
	total, whole, part := 0, 0, 0
	tests := map[string]bool{}
	for _, c := range chapters {
		for _, s := range c.sentences {
			total++
			switch {
			case s.open == "":
				whole++
			case len(s.tests) > 0:
				part++
			}
			for _, name := range s.tests {
				tests[name] = true
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Which test proves which sentence

Drawn from `+"`docs/coverage_*_test.go`"+`; do not edit, run `+"`make docs`"+`. The sentences are the specification's and the
rulebook's in short words of our own; an id stays what it is. The check behind this page fails when a named test is not there
or can be skipped, and when a sentence has neither a test nor a reason. `+"`make mutants`"+` asks the other way round: whether a changed
rule is noticed.

%d sentences: %d proven, %d proven in part, %d open; %d tests and cases.
`, total, whole, part, total-whole-part, len(tests))

	b.WriteString("\n## Open\n\n")
	none := true
	for _, c := range chapters {
		for _, s := range c.sentences {
			if s.open != "" {
				none = false
				in := ""
				if len(s.tests) > 0 {
					in = " (in part)"
				}
				fmt.Fprintf(&b, "- `%s`%s: %s *%s*\n", s.id, in, s.text, s.open)
			}
		}
	}
	if none {
		b.WriteString("Nothing.\n")
	}
	for _, c := range chapters {
		fmt.Fprintf(&b, "\n## %s\n\n| id | sentence | proven by |\n|---|---|---|\n", c.title)
		for _, s := range c.sentences {
			by := make([]string, len(s.tests))
			for i, name := range s.tests {
				by[i] = "`" + name + "`"
			}
			if s.open != "" {
				by = append(by, "*open: "+s.open+"*")
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.id, strings.ReplaceAll(s.text, "|", "/"), strings.Join(by, "<br>"))
		}
	}
	return b.String()
}
