package mutants

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// mutant is one change.
type mutant struct {
	Package string `json:"package"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	What    string `json:"what"` // stable while the rule exists, whatever its line number
	Fate    string `json:"fate"` // killed, killed by pictures, survived, equivalent, not built
	By      string `json:"by,omitempty"`

	env  string // selects a row of a table, or
	text []byte // the changed file
}

func (m *mutant) id() string { return m.File + ": " + m.What }

// pack is one package to mutate, without its tests.
type pack struct {
	path  string // of its folder, from the root
	name  string
	files []*source
	tests bool // it has any
	rapid bool // its tests accept the flags of rapid
}

type source struct {
	path string
	text []byte
	fset *token.FileSet
	tree *ast.File
}

// spared are packages below engine/ that are not part of the rulebook: the simulator, and the
// machinery of the tables.
var spared = []string{"engine/sim", "engine/fsm"}

// sparedFiles contain numbers that are tuned by measurement, not rules: what the forecast of pacing
// learns, and how eagerly it steers. Its hard limits (credit, ledgers, the decision) are not
// spared.
var sparedFiles = []string{"engine/pacing/control.go", "engine/pacing/forecast.go", "engine/pacing/gate.go",
	"engine/pacing/lines.go", "engine/pacing/model.go", "engine/pacing/talk.go"}

// packages finds the packages to mutate: all of engine, and http.
func packages(root string, only []string) ([]*pack, error) {
	var dirs []string
	err := filepath.WalkDir(filepath.Join(root, "engine"), func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() != "testdata" {
			rel, _ := filepath.Rel(root, p)
			dirs = append(dirs, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	dirs = append(dirs, "http")
	var out []*pack
	for _, dir := range dirs {
		if slices.Contains(spared, dir) || len(only) > 0 && !slices.Contains(only, dir) {
			continue
		}
		p, err := load(root, dir)
		if err != nil {
			return nil, err
		}
		if len(p.files) > 0 {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no package named %s", strings.Join(only, ", "))
	}
	return out, nil
}

func load(root, dir string) (*pack, error) {
	p := &pack{path: dir}
	entries, err := os.ReadDir(filepath.Join(root, dir))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		s := &source{path: path.Join(dir, e.Name()), fset: token.NewFileSet()}
		if s.text, err = os.ReadFile(filepath.Join(root, s.path)); err != nil { //nolint:gosec // a source of this tree
			return nil, err
		}
		if strings.HasSuffix(e.Name(), "_test.go") {
			p.tests = true
			p.rapid = p.rapid || bytes.Contains(s.text, []byte(`"pgregory.net/rapid"`))
			continue
		}
		if s.tree, err = parser.ParseFile(s.fset, s.path, s.text, parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		p.name = s.tree.Name.Name
		if slices.Contains(sparedFiles, s.path) {
			continue
		}
		p.files = append(p.files, s)
	}
	return p, nil
}

// editor changes a file's text by position.
type editor struct {
	text  []byte
	fset  *token.FileSet
	edits []edit
}

type edit struct {
	from, to int
	text     string
}

func (e *editor) insert(at token.Pos, text string) { e.replace(at, at, text) }

func (e *editor) replace(from, to token.Pos, text string) {
	e.edits = append(e.edits, edit{e.fset.Position(from).Offset, e.fset.Position(to).Offset, text})
}

func (e *editor) apply() []byte {
	sort.SliceStable(e.edits, func(i, j int) bool { return e.edits[i].from < e.edits[j].from })
	var b bytes.Buffer
	at := 0
	for _, d := range e.edits {
		b.Write(e.text[at:d.from])
		b.WriteString(d.text)
		at = d.to
	}
	b.Write(e.text[at:])
	return b.Bytes()
}

// finder collects the mutants of one file that change its text.
type finder struct {
	pkg  *pack
	file *source
	fun  string // the current function
	out  []*mutant
	seen map[string]int
}

func (f *finder) text(n ast.Node) string {
	a, b := f.file.fset.Position(n.Pos()).Offset, f.file.fset.Position(n.End()).Offset
	return string(f.file.text[a:b])
}

// add adds a mutant in which the node is replaced by text.
func (f *finder) add(n ast.Node, text, what string) {
	e := editor{text: f.file.text, fset: f.file.fset}
	e.replace(n.Pos(), n.End(), text)
	changed := e.apply()
	if _, err := format.Source(changed); err != nil {
		panic(fmt.Sprintf("%s: %s: %v", f.file.path, what, err)) // a bug in this program
	}
	if f.fun != "" {
		what = f.fun + ": " + what
	}
	if f.seen[what]++; f.seen[what] > 1 {
		what += fmt.Sprintf(" (#%d)", f.seen[what])
	}
	f.out = append(f.out, &mutant{Package: f.pkg.path, File: f.file.path, Line: f.file.fset.Position(n.Pos()).Line,
		What: what, text: changed})
}

func textMutants(pkg *pack) []*mutant {
	var out []*mutant
	for _, file := range pkg.files {
		f := &finder{pkg: pkg, file: file, seen: map[string]int{}}
		for _, d := range file.tree.Decls {
			f.decl(d)
		}
		out = append(out, f.out...)
	}
	return out
}

// httpLimits matches those constants of http that are limits; the others are buffer sizes,
// intervals and the like.
var httpLimits = regexp.MustCompile(`(Cap|Max|Min)$|^max[A-Z]`)

func (f *finder) decl(d ast.Decl) {
	switch d := d.(type) {
	case *ast.GenDecl:
		if d.Tok == token.CONST {
			for _, s := range d.Specs {
				f.constants(s.(*ast.ValueSpec))
			}
			return
		}
		if d.Tok == token.VAR && f.pkg.path == "engine/disposition" {
			f.responses(d)
		}
	case *ast.FuncDecl:
		if d.Body == nil || f.pkg.path == "http" {
			return
		}
		f.fun = d.Name.Name
		f.comparisons(d.Body)
		f.fun = ""
	}
}

func (f *finder) constants(s *ast.ValueSpec) {
	for i, x := range s.Values {
		name := s.Names[i].Name
		if !numeric(x) || f.pkg.path == "http" && !httpLimits.MatchString(name) {
			continue
		}
		t := f.text(x)
		if whole(x) {
			f.add(x, "("+t+") + 1", name+" = "+t+": one more")
			f.add(x, "("+t+") - 1", name+" = "+t+": one less")
		} else {
			f.add(x, "2 * ("+t+")", name+" = "+t+": twice")
			f.add(x, "("+t+") / 2", name+" = "+t+": half")
		}
	}
}

// numeric says that the expression contains a number, and neither iotas nor strings.
func numeric(x ast.Expr) bool {
	found, no := false, false
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			found = found || n.Kind == token.INT || n.Kind == token.FLOAT
			no = no || n.Kind == token.STRING || n.Kind == token.CHAR
		case *ast.Ident:
			no = no || n.Name == "iota"
		}
		return true
	})
	return found && !no
}

// whole says that the value is a count, not a duration or a fraction.
func whole(x ast.Expr) bool {
	yes := true
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			yes = yes && n.Kind == token.INT
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && id.Name == "time" {
				yes = false
			}
		}
		return true
	})
	return yes
}

var orders = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}

func (f *finder) comparisons(body ast.Node) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			// The bound of a loop is not a limit of the rulebook.
			if n.Init != nil {
				f.comparisons(n.Init)
			}
			f.comparisons(n.Body)
			return false
		case *ast.BinaryExpr:
			if op, ok := orders[n.Op]; ok {
				t := f.text(n)
				f.add(n, f.text(n.X)+" "+op+" "+f.text(n.Y), t+": "+op)
			}
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || len(n.Args) != 1 {
				return true
			}
			// Times are compared by their methods.
			x, y, t := f.text(sel.X), f.text(n.Args[0]), f.text(n)
			switch sel.Sel.Name {
			case "After":
				f.add(n, "!"+x+".Before("+y+")", t+": or equal")
			case "Before":
				f.add(n, "!"+x+".After("+y+")", t+": or equal")
			}
		}
		return true
	})
}
