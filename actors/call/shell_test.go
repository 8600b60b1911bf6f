package call_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"testing"

	"dialler/engine/call"
)

// An effect that no shell handles would be lost: every effect has a case, and every case an effect.
func TestTheShellsCarryOutEveryEffect(t *testing.T) {
	known := map[string][]string{} // by file
	for _, file := range []string{"shell.go", "../campaign/contact.go", "../dialout/call.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.TypeSwitchStmt)
			if !ok || !slices.Contains([]string{"do", "carryOut"}, enclosing(f, s)) {
				return true
			}
			for _, c := range s.Body.List {
				for _, typ := range c.(*ast.CaseClause).List {
					known[file] = append(known[file], types.ExprString(typ))
				}
			}
			return true
		})
	}
	shared, contact, dialout := known["shell.go"], known["../campaign/contact.go"], known["../dialout/call.go"]
	var all []string
	for _, e := range call.Effects {
		name := fmt.Sprintf("%T", e)
		all = append(all, name)
		_, toRun := e.(call.ToRun)
		if toRun && slices.Contains(contact, "call.ToRun") {
			continue
		}
		if !slices.Contains(slices.Concat(shared, contact, dialout), name) {
			t.Errorf("nobody carries out %s", name)
		}
	}
	for file, names := range known {
		for _, name := range names {
			if name != "call.ToRun" && !slices.Contains(all, name) {
				t.Errorf("%s carries out %s, which call.Effects does not list", file, name)
			}
		}
	}
	for _, name := range []string{"*call.Persist", "*call.ReleaseNumber", "*call.WhenSettled"} {
		if !slices.Contains(contact, name) || !slices.Contains(dialout, name) {
			t.Errorf("%s is not carried out for both", name)
		}
	}
}

// enclosing returns the name of the function around a node.
func enclosing(f *ast.File, n ast.Node) string {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Pos() <= n.Pos() && n.End() <= fn.End() {
			return fn.Name.Name
		}
	}
	return ""
}
