package mutants

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// The rows of transition tables are changed at the start of the program: the overlay adds a field
// for the line to fsm.Row, and a call of the schema to fsm.New.

//go:embed schema.go.txt
var schema string

const fsmTable = "engine/fsm/table.go"

// hasTable says that the package builds a transition table.
func hasTable(pkg *pack) bool {
	for _, f := range pkg.files {
		if strings.Contains(string(f.text), "fsm.New(") {
			return true
		}
	}
	return false
}

// schemaOverlay writes the overlay's files for a package with a table into dir, and returns the
// overlay.
func schemaOverlay(root, dir string, pkg *pack) (overlay, error) {
	o := overlay{}
	text, err := os.ReadFile(filepath.Join(root, fsmTable)) //nolint:gosec // a source of this tree
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, fsmTable, text, 0)
	if err != nil {
		return nil, err
	}
	e := editor{text: text, fset: fset}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if s, ok := n.Type.(*ast.StructType); ok && n.Name.Name == "Row" {
				e.insert(s.Fields.Opening+1, "\n\tLine string\n")
			}
		case *ast.FuncDecl:
			if n.Name.Name == "New" && n.Recv == nil {
				e.insert(n.Body.Lbrace+1, " rows = mutated(name, states, rows); ")
			}
		}
		return true
	})
	if len(e.edits) != 2 {
		return nil, fmt.Errorf("%s: type Row or function New was not found", fsmTable)
	}
	if err := o.put(root, dir, fsmTable, e.apply()); err != nil {
		return nil, err
	}
	if err := o.put(root, dir, "engine/fsm/mutant_schema.go", []byte(schema)); err != nil {
		return nil, err
	}
	at := false
	for _, f := range pkg.files {
		e := editor{text: f.text, fset: f.fset}
		markRows(&e, f)
		if len(e.edits) == 0 {
			continue
		}
		at = true
		if err := o.put(root, dir, f.path, e.apply()); err != nil {
			return nil, err
		}
	}
	if at {
		text := "package " + pkg.name + "\n\nfunc rowAt(line string, r row) row { r.Line = line; return r }\n"
		if err := o.put(root, dir, pkg.path+"/mutant_rows.go", []byte(text)); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// markRows wraps every row of a []row literal, and every row literal, in a call that records its
// line; the outermost call of a row wins.
func markRows(e *editor, f *source) {
	wrap := func(x ast.Expr, typ string) {
		pos := e.fset.Position(x.Pos())
		e.insert(x.Pos(), fmt.Sprintf("rowAt(%q, %s", fmt.Sprintf("%s:%d", f.path, pos.Line), typ))
		e.insert(x.End(), ")")
	}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		switch t := lit.Type.(type) {
		case *ast.Ident:
			if t.Name == "row" {
				wrap(lit, "")
			}
		case *ast.ArrayType:
			if id, ok := t.Elt.(*ast.Ident); ok && id.Name == "row" {
				for _, x := range lit.Elts {
					if c, ok := x.(*ast.CompositeLit); ok && c.Type == nil {
						wrap(c, "row")
					} else if !ok {
						wrap(x, "")
					}
				}
			}
		}
		return true
	})
}

// tableChange is one line of the list that the schema writes.
type tableChange struct {
	Table, Change, On, Guard, To, Line string
	Row                                int
	From                               []string
	Same                               bool
}

func (c *tableChange) mutant(pkg string) *mutant {
	guard := ""
	if c.Guard != "" {
		guard = " [" + c.Guard + "]"
	}
	where := fmt.Sprintf("%s on %s%s", strings.Join(c.From, "|"), c.On, guard)
	if c.To != "" {
		where += " → " + c.To
	}
	file, line, _ := strings.Cut(c.Line, ":")
	m := &mutant{Package: pkg, File: file, What: c.Table + " table: " + where + ": " + c.Change,
		env: fmt.Sprintf("MUTANT=%s\t%d\t%s", c.Table, c.Row, c.Change)}
	if c.Same {
		m.Fate = equivalent
	}
	_, _ = fmt.Sscan(line, &m.Line) // a row without a line is shown without one
	return m
}

// tableMutants asks the schema's binary for the rows.
func tableMutants(bin, dir, scratch, pkg string) ([]*mutant, error) {
	path := filepath.Join(scratch, "rows.json")
	_ = os.Remove(path) // of the previous package
	out, err := runTests(bin, dir, []string{"MUTANT_LIST=" + path}, listTimeout, "-test.run=^$")
	if err != nil {
		return nil, fmt.Errorf("%s: the tables cannot be listed: %w\n%s", pkg, err, out)
	}
	f, err := os.Open(path) //nolint:gosec // the scratch file of the lines above
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	var ms []*mutant
	for d := json.NewDecoder(f); d.More(); {
		var c tableChange
		if err := d.Decode(&c); err != nil {
			return nil, err
		}
		if strings.HasPrefix(c.Change, "not-in") && !thorough {
			continue
		}
		if "engine/"+c.Table == pkg { // a table of an imported package is not this package's
			ms = append(ms, c.mutant(pkg))
		}
	}
	return ms, nil
}
