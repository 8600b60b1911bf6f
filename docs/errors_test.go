package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dialler/engine"
)

// codesOf returns the error codes in the product: those passed to a constructor of engine, or in an
// engine.Error literal.
func codesOf(t *testing.T) (used map[string]string, texts map[string]bool) {
	t.Helper()
	used, texts = map[string]string{}, map[string]bool{}
	constants, named := map[string]string{}, map[string]string{}
	files := token.NewFileSet()
	text := func(e ast.Expr) (string, bool) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return "", false
		}
		s, err := strconv.Unquote(lit.Value)
		return s, err == nil
	}
	use := func(e ast.Expr) {
		where := files.Position(e.Pos()).String()
		switch e := e.(type) {
		case *ast.BasicLit:
			if code, ok := text(e); ok {
				used[code] = where
			}
		case *ast.Ident:
			named[e.Name] = where
		case *ast.SelectorExpr:
			named[e.Sel.Name] = where
		}
	}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || slices.Contains(
			[]string{"node_modules", "lab", "sim", "actortest", "storetest", "testdata", "dist"}, d.Name())):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "catalogue.go":
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if s, ok := text(n); ok {
					texts[s] = true
				}
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if i < len(n.Values) {
						if s, ok := text(n.Values[i]); ok {
							constants[name.Name] = s
						}
					}
				}
			case *ast.CallExpr:
				if makesError(n.Fun) && len(n.Args) > 0 {
					use(n.Args[0])
				}
			case *ast.CompositeLit:
				if of, ok := n.Type.(*ast.SelectorExpr); !ok || of.Sel.Name != "Error" {
					return true
				}
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Code" {
							use(kv.Value)
						}
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, where := range named {
		if code, ok := constants[name]; ok {
			used[code] = where
		}
	}
	return used, texts
}

// makesError says whether a function makes an error with its first argument as the code.
func makesError(fun ast.Expr) bool {
	names := []string{"Invalid", "NotFound", "Conflict", "TemporaryConflict", "Unavailable", "Forbidden"}
	switch fun := fun.(type) {
	case *ast.Ident:
		return fun.Name == "Forbidden"
	case *ast.SelectorExpr:
		of, ok := fun.X.(*ast.Ident)
		return ok && (of.Name == "engine" || of.Name == "wire" || of.Name == "failure" && fun.Sel.Name == "New") &&
			(slices.Contains(names, fun.Sel.Name) || fun.Sel.Name == "New")
	}
	return false
}

func TestEveryErrorCodeIsInTheCatalogueAndEveryEntryIsUsed(t *testing.T) {
	used, texts := codesOf(t)
	if len(used) < 150 {
		t.Fatalf("%d codes were found in the code", len(used))
	}
	for code, where := range used {
		if _, ok := engine.TextOf(code); !ok {
			t.Errorf("%s: %s is not in engine/catalogue.go", where, code)
		}
	}
	titles := map[string]string{}
	for i, e := range engine.Catalogue {
		if _, ok := used[e.Code]; !ok && !texts[e.Code] {
			t.Errorf("%s is in engine/catalogue.go and used nowhere", e.Code)
		}
		if i > 0 && engine.Catalogue[i-1].Code >= e.Code {
			t.Errorf("%s is not in its alphabetical place", e.Code)
		}
		if other, ok := titles[e.Title]; ok {
			t.Errorf("%s and %s have one title", e.Code, other)
		}
		titles[e.Title] = e.Code
		if e.Title == "" || strings.HasSuffix(e.Title, ".") || !strings.HasSuffix(e.Remedy, ".") ||
			strings.ToUpper(e.Remedy[:1]) != e.Remedy[:1] {
			t.Errorf("%s: a title without a full stop, a remedy that is a sentence", e.Code)
		}
	}
}

func TestThePageOfErrorsIsInStepWithTheCatalogue(t *testing.T) {
	var out strings.Builder
	out.WriteString(`# Errors

Written by ` + "`go test ./docs -update`" + ` from ` + "`engine/catalogue.go`" + `; do not edit.

An answer that refuses is a problem (RFC 9457): *code* is one of these and never changes its
meaning, *title* is the same for each code, *detail* may tell more. Programs go by *code*. Codes
of the start and of commands are printed on the terminal.

| code | what is wrong | what to do |
|---|---|---|
`)
	for _, e := range engine.Catalogue {
		out.WriteString("| `" + e.Code + "` | " + e.Title + " | " + e.Remedy + " |\n")
	}
	inStep(t, "errors.md", out.String())
}
