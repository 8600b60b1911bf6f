package docs

import (
	"bytes"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// testTree lists the existing tests and the declarations that each of them reaches.
type testTree struct {
	tests   map[string][]string // name → folders that have it
	decls   map[string]*declaration
	console map[string]bool // names of the console's tests
}

// declaration is a declaration in a package's tests, named folder.name or, for a method,
// folder.().name.
type declaration struct {
	uses  []string
	texts map[string]bool
	skips bool
}

var testName = regexp.MustCompile(`^(?:(.+?)/)?((?:Test|Fuzz)\w+)(?:/(.+))?$`)

func newTestTree() *testTree {
	return &testTree{tests: map[string][]string{}, decls: map[string]*declaration{}, console: map[string]bool{}}
}

// lacks says what is wrong with a test's name in an entry, "" when nothing is.
func (h *testTree) lacks(name string) string {
	if text, ok := strings.CutPrefix(name, "console: "); ok {
		if !h.console[text] {
			return "is no test of the console"
		}
		return ""
	}
	m := testName.FindStringSubmatch(name)
	if m == nil {
		return "is not of the form Test…, Test…/case or folder/Test…"
	}
	folder, test, text := m[1], m[2], m[3]
	folders := h.tests[test]
	if folder != "" { // one of several folders that have a test of this name
		folders = slices.DeleteFunc(slices.Clone(folders), func(f string) bool { return f != folder })
	}
	switch {
	case len(folders) == 0:
		return "is no test that `make test` runs"
	case len(folders) > 1:
		return "is the name of several tests: write folder/" + test + " with one of " + strings.Join(folders, ", ")
	}
	skips, has := false, false
	h.reach(folders[0]+"."+test, map[string]bool{}, func(d *declaration) {
		skips, has = skips || d.skips, has || d.texts[text]
	})
	switch {
	case skips:
		return "can be skipped"
	case text != "" && !has:
		return "has no case of this name"
	}
	return ""
}

func (h *testTree) reach(key string, seen map[string]bool, f func(*declaration)) {
	d := h.decls[key]
	if d == nil || seen[key] {
		return
	}
	seen[key] = true
	f(d)
	for _, use := range d.uses {
		h.reach(use, seen, f)
	}
}

// testsOfTheTree reads all test files, and the files of packages that help them.
func testsOfTheTree(t *testing.T) *testTree {
	t.Helper()
	h := newTestTree()
	helpers := map[string][]string{} // files of a folder that are not test files
	helps := map[string]bool{}
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != ".." && (d.Name() == "node_modules" || d.Name() == "testdata" || d.Name()[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, ".test.ts"):
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(file, "../")))
		switch {
		case strings.HasSuffix(file, ".test.ts"):
			for _, part := range strings.Split(string(text), "test('")[1:] {
				name, _, _ := strings.Cut(part, "'")
				h.console[name] = true
			}
			return nil
		case strings.HasSuffix(file, "_test.go"):
			return h.add(dir, file, text)
		}
		helpers[dir] = append(helpers[dir], file)
		helps[dir] = helps[dir] || bytes.Contains(text, []byte("\"testing\"\n"))
		return nil
	})
	for dir := range helps {
		if !helps[dir] {
			continue
		}
		for _, file := range helpers[dir] {
			text, e := os.ReadFile(file)
			if e == nil {
				e = h.add(dir, file, text)
			}
			if e != nil {
				err = e
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// runs says whether `make test` compiles a file: on Linux, with the race detector.
func runs(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if c.Pos() > file.Package || !constraint.IsGoBuild(c.Text) {
				continue
			}
			if x, err := constraint.Parse(c.Text); err == nil {
				return x.Eval(func(tag string) bool {
					known := []string{"linux", "unix", "amd64", "cgo", "race", "gc"}
					return slices.Contains(known, tag) || strings.HasPrefix(tag, "go1.")
				})
			}
		}
	}
	return true
}

func (h *testTree) add(dir, file string, text []byte) error {
	f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || !runs(f) {
		return err
	}
	imports := map[string]string{}
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		if from, ok := strings.CutPrefix(p, "dialler/"); ok {
			name := path.Base(p)
			if i.Name != nil {
				name = i.Name.Name
			}
			imports[name] = from
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = "()." + name
			} else if strings.HasSuffix(file, "_test.go") && isTest(d) {
				h.tests[name] = append(h.tests[name], dir)
			}
			h.declare(dir, name, d, imports)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok {
					for _, n := range v.Names {
						h.declare(dir, n.Name, v, imports)
					}
				}
			}
		}
	}
	return nil
}

// isTest says whether the go command runs a function as a test.
func isTest(d *ast.FuncDecl) bool {
	for prefix, kind := range map[string]string{"Test": "T", "Fuzz": "F"} {
		if p := d.Type.Params.List; strings.HasPrefix(d.Name.Name, prefix) && len(p) == 1 && len(p[0].Names) == 1 {
			if star, ok := p[0].Type.(*ast.StarExpr); ok {
				sel, ok := star.X.(*ast.SelectorExpr)
				return ok && sel.Sel.Name == kind
			}
		}
	}
	return false
}

func (h *testTree) declare(dir, name string, n ast.Node, imports map[string]string) {
	key := dir + "." + name
	d := h.decls[key]
	if d == nil { // methods with the same name count as one
		d = &declaration{texts: map[string]bool{}}
		h.decls[key] = d
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				d.texts[text] = true
			}
		case *ast.Ident:
			d.uses = append(d.uses, dir+"."+n.Name)
		case *ast.SelectorExpr:
			switch n.Sel.Name {
			case "Skip", "Skipf", "SkipNow":
				d.skips = true
			}
			d.uses = append(d.uses, dir+".()."+n.Sel.Name)
			x, _ := n.X.(*ast.Ident)
			for as, from := range imports {
				if x != nil && x.Name == as {
					d.uses = append(d.uses, from+"."+n.Sel.Name)
				}
				d.uses = append(d.uses, from+".()."+n.Sel.Name)
			}
		}
		return true
	})
}

func TestATestThatDoesNotRunOrMaySkipItselfProvesNothing(t *testing.T) {
	h := newTestTree()
	h.console["a word"] = true
	const imports = "package p\nimport (\"testing\"; \"dialler/help\")\n"
	for file, text := range map[string]string{
		"a/a_test.go": imports + `func TestPlain(t *testing.T) { t.Run("a case", nil) }
			func TestSkips(t *testing.T) { t.Skip() }
			func TestSkipsByAHelper(t *testing.T) { needsRoot(t) }
			func needsRoot(t testing.TB) { t.Skipf("") }
			func TestSkipsByAnotherPackage(t *testing.T) { help.Needs(t) }
			func TestOfASuite(t *testing.T) { help.Run(t) }
			func TestHelper(t *testing.T, n int) {}
			func (s suite) TestMethod(t *testing.T) {}
			func FuzzPlain(f *testing.F) {}
			func TestTwice(t *testing.T) {}`,
		"b/b_test.go":     imports + `func TestTwice(t *testing.T) {}`,
		"b/tag_test.go":   "//go:build soak\n\n" + imports + `func TestOnlyWithATag(t *testing.T) {}`,
		"b/quick_test.go": "//go:build !race\n\n" + imports + `func TestOnlyWithoutTheRaceDetector(t *testing.T) {}`,
		"b/linux_test.go": "//go:build linux && !never\n\n" + imports + `func TestOnLinux(t *testing.T) {}`,
		"help/help.go": imports + `func Needs(t testing.TB) { world{}.root(t) }
			func (w world) root(t testing.TB) { t.SkipNow() }
			func Run(t *testing.T) { for _, c := range cases { t.Run(c.name, nil) } }
			var cases = []struct{ name string }{{"a case of the suite"}}
			func TestNoTestFile(t *testing.T) {}`,
	} {
		if err := h.add(path.Dir(file), file, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"TestPlain", "TestPlain/a case", "FuzzPlain", "TestOfASuite/a case of the suite",
		"a/TestTwice", "b/TestTwice", "TestOnLinux", "console: a word"} {
		if why := h.lacks(name); why != "" {
			t.Errorf("%s %s", name, why)
		}
	}
	for name, want := range map[string]string{
		"TestGone": "is no test", "TestHelper": "is no test", "TestMethod": "is no test", "TestOnlyWithATag": "is no test",
		"TestOnlyWithoutTheRaceDetector": "is no test", "TestNoTestFile": "is no test", "b/TestPlain": "is no test",
		"TestTwice": "several tests",
		"TestSkips": "can be skipped", "TestSkipsByAHelper": "can be skipped", "TestSkipsByAnotherPackage": "can be skipped",
		"TestPlain/another case": "no case", "TestOfASuite/a case": "no case",
		"console: another word": "no test of the console",
	} {
		if why := h.lacks(name); !strings.Contains(why, want) {
			t.Errorf("%s: %q, want %q", name, why, want)
		}
	}
}
