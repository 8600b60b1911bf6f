package call

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"testing"
)

// Every effect of the attempt's machine is either carried out here or handed on, and only effects
// that shells know are handed on.
func TestEveryEffectOfTheAttemptIsKnown(t *testing.T) {
	parse := func(file string) *ast.File {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	var here, handedOn []string
	ast.Inspect(parse("carry.go"), func(n ast.Node) bool {
		if c, ok := n.(*ast.CaseClause); ok {
			for _, typ := range c.List {
				here = append(here, types.ExprString(typ))
			}
		}
		return true
	})
	for _, e := range Effects {
		handedOn = append(handedOn, fmt.Sprintf("%T", e))
	}
	for _, d := range parse("../attempt/event.go").Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Name.Name != "effect" {
			continue
		}
		name := "attempt." + types.ExprString(fn.Recv.List[0].Type)
		if name != "attempt.Record" && !slices.Contains(here, name) && !slices.Contains(handedOn, name) {
			t.Errorf("%s is neither carried out nor handed on", name)
		}
	}
}

func TestEveryTimerIsListedOnce(t *testing.T) {
	seen := map[any]bool{}
	for _, timer := range Timers {
		if seen[timer] {
			t.Errorf("%s twice", timer)
		}
		seen[timer] = true
	}
	if len(seen) != 10 {
		t.Errorf("%d timers; a shell has a place for each", len(seen))
	}
}
